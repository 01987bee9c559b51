//===- Schedule.cpp - Decide whether and how each chain is fused ----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The decision itself is the model's (model::judge). This pass builds the
// problem, asks, and writes the answer down: as a schedule, as a plan with the
// numbers behind it, and as remarks.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Report/PlanReportText.h"
#include "Form/JoinRows.h"
#include "Form/NormalizeChain.h"
#include "NamedRemarks.h"
#include "Schedule/SplitChain.h"

#include "Chimera/Chain/ScheduleConversion.h"
#include "Chimera/IR/MicroKernels.h"
#include "Chimera/Model/ClosedForm.h"
#include "Chimera/Model/PlanCache.h"
#include "Chimera/Report/PlanReport.h"
#include "Chimera/Target/Target.h"
#include "Chimera/Transforms/Passes.h"
#include "Chimera/Transforms/PlanChainAction.h"

#include "mlir/IR/Remarks.h"
#include "mlir/IR/Threading.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace chimera {
#define GEN_PASS_DEF_SCHEDULEPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;
using llvm::formatv;

/// Other loop orders that are reported.
static constexpr unsigned runnersUp = 3;

namespace {

/// What was planned before in a function, for each target and type of factors,
/// which make the machine. The options are those of the pass.
class PlanCaches {
public:
  model::PlanCache &get(TargetAttrInterface target, Type type,
                        const model::Machine &machine,
                        const model::SolveOptions &options) {
    std::unique_ptr<model::PlanCache> &cache =
        caches[{target, {type, machine.matrix ? 1u : 0u}}];
    if (!cache)
      cache = std::make_unique<model::PlanCache>(machine, options);
    return *cache;
  }

  /// Solves what is expected, on the threads of `context`: what takes longest
  /// first.
  void solveExpected(MLIRContext *context) {
    std::vector<model::PlanCache::Task> tasks;
    for (auto &[key, cache] : caches)
      cache->listExpected(tasks);
    llvm::sort(tasks, [](const auto &left, const auto &right) {
      return left.operators > right.operators;
    });
    parallelForEach(context, tasks, [](auto &task) { task.run(); });
  }

private:
  DenseMap<std::pair<Attribute, std::pair<Type, unsigned>>,
           std::unique_ptr<model::PlanCache>>
      caches;
};

struct SchedulePass : chimera::impl::SchedulePassBase<SchedulePass> {
  using Base::Base;
  void runOnOperation() override;
};

/// Decides for one chain.
class ChainScheduler {
public:
  /// No threads in `options` mean one per core of the target.
  ChainScheduler(ChainOp chain, FuseMode fuse, unsigned rank, bool allowsTF32,
                 const model::SolveOptions &options)
      : chain(chain), context(chain.getContext()), fuse(fuse), rank(rank),
        allowsTF32(allowsTF32), options(options) {}

  /// Lets `caches` expect what `run` will ask for.
  void announce(TargetAttrInterface target, PlanCaches &caches);
  LogicalResult run(TargetAttrInterface target, PlanCaches &caches);

private:
  LogicalResult read(TargetAttrInterface target, bool emitErrors);
  LogicalResult findUnit(TargetAttrInterface target, PlanCaches &caches);
  bool isForMatrix(const model::Machine &vectors, PlanCaches &caches,
                   TargetAttrInterface target);
  LogicalResult keepSchedule();
  void judge();
  void takeRunnerUp();
  std::vector<model::Segment> chooseSegments();
  std::vector<model::Segment> separateOperators() const;
  bool canSplit() const {
    return verdict.unfused.size() == analysis.operators.size();
  }
  bool isWhole(const model::Segment &segment) const {
    return segment.first == 0 && segment.last + 1 == analysis.operators.size();
  }

  void applyWhole(const model::Plan &plan);
  void applySegments(ArrayRef<model::Segment> segments);
  ChainOp withJoinedRows(ChainOp part) const;
  void planPart(ChainOp part, const model::Segment &segment);
  void attachPlan(ChainOp part, const ChainAnalysis &own,
                  const model::KernelReport &kernel) const;
  PlanAttr makePlan(Verdict kind, StringRef reason, int64_t operators,
                    const model::Plan &plan, double seconds,
                    double unfusedSeconds, ArrayRef<int64_t> unfused,
                    ArrayRef<int64_t> bound) const;

  PlanListener *findListener() const;
  bool isAnybodyListening() const {
    return findListener() || context->getRemarkEngine();
  }
  void describeChain();
  void describeAlternative();
  void noteSearch() const;
  void noteDecision() const;
  void noteFigures() const;
  void report(ChainOutcome outcome, const Twine &explanation);
  std::string comparePlans() const;
  std::string listKernels() const;

  ChainOp chain;
  MLIRContext *context;
  FuseMode fuse;
  /// The runner-up that is asked for; 0 for none.
  unsigned rank;
  bool allowsTF32;
  model::SolveOptions options;
  ChainAnalysis analysis;
  /// The type whose unit the chain is for.
  Type type;
  /// The types that products with code can be of.
  OperatorSupport support;
  model::Machine machine;
  model::PlanCache *cache = nullptr;
  model::Verdict verdict;
  /// What is said of the decision. Holds what there is to say when the chain
  /// may be gone.
  ChainPlan summary;
  Location loc = chain.getLoc();
};

} // namespace

//===----------------------------------------------------------------------===//
// The plan attribute
//===----------------------------------------------------------------------===//

static int64_t toNanoseconds(double seconds) {
  return static_cast<int64_t>(seconds * 1e9 + 0.5);
}

/// The plan of a kernel that runs `plan` and takes `seconds` with what runs
/// before the next one; `unfused` are the bytes per level of
/// separate operators, empty if there are no others to compare with; `bound`
/// are the I/O lower bounds.
PlanAttr ChainScheduler::makePlan(Verdict kind, StringRef reason,
                                  int64_t operators, const model::Plan &plan,
                                  double seconds, double unfusedSeconds,
                                  ArrayRef<int64_t> unfused,
                                  ArrayRef<int64_t> bound) const {
  SmallVector<LevelPlanAttr> levels;
  for (auto [index, level] : llvm::enumerate(plan.levels))
    levels.push_back(LevelPlanAttr::get(
        context, level.name, level.bytes,
        index < unfused.size() ? unfused[index] : level.bytes, bound[index],
        level.capacityBytes, level.liveBytes));
  return PlanAttr::get(context, kind, reason, operators, toNanoseconds(seconds),
                       toNanoseconds(unfusedSeconds), levels);
}

//===----------------------------------------------------------------------===//
// Remarks and reports
//===----------------------------------------------------------------------===//

PlanListener *ChainScheduler::findListener() const {
  return context->getLoadedDialect<ChimeraDialect>()
      ->getRegisteredInterface<PlanListener>();
}

/// Fills in what does not depend on the decision.
void ChainScheduler::describeChain() {
  loc->walk([&](Location part) {
    auto file = dyn_cast<FileLineColLoc>(part);
    if (!file)
      return WalkResult::advance();
    summary.file = file.getFilename().str();
    summary.line = file.getLine();
    summary.column = file.getColumn();
    return WalkResult::interrupt();
  });
  if (auto function = chain->getParentOfType<FunctionOpInterface>())
    summary.function = function.getName().str();
  summary.obstacle = getText(getObstacle(analysis, support), support);
  summary.problem = analysis.problem;
  summary.machine = machine;
  summary.threads = options.threads;
}

/// Plans the best that was not chosen.
void ChainScheduler::describeAlternative() {
  std::vector<model::Segment> others;
  if (summary.outcome == ChainOutcome::Fused)
    others = separateOperators();
  else if (verdict.fused && summary.outcome != ChainOutcome::Single)
    others.push_back({0, static_cast<unsigned>(analysis.operators.size() - 1),
                      *verdict.fused});
  for (const model::Segment &segment : others)
    summary.alternative.push_back(
        model::describeKernel(analysis.problem, machine, options, segment));
}

/// Tells everybody who wants to know.
void ChainScheduler::report(ChainOutcome outcome, const Twine &explanation) {
  if (!isAnybodyListening())
    return;
  summary.outcome = outcome;
  summary.explanation = explanation.str();
  bool again =
      llvm::any_of(summary.kernels, [](const model::KernelReport &kernel) {
        return model::recomputes(kernel.problem, kernel.plan);
      });
  summary.bounds = model::findBounds(analysis.problem, machine, options, again);
  noteDecision();
  noteFigures();
  PlanListener *listener = findListener();
  if (!listener)
    return;
  describeAlternative();
  summary.verdict = verdict;
  listener->planned(std::move(summary));
}

/// Both plans in numbers: predicted times, and bytes per level.
std::string ChainScheduler::comparePlans() const {
  if (!canSplit())
    return formatv("fused {0:F1} us, separate operators have no plan",
                   verdict.fused->seconds * 1e6);
  std::string text =
      formatv("fused {0:F1} us, unfused {1:F1} us",
              verdict.fused->seconds * 1e6, verdict.unfusedSeconds * 1e6);
  for (auto [level, unfused] :
       llvm::zip_equal(verdict.fused->levels, verdict.unfusedBytes))
    text += formatv("; {0} {1} -> {2} bytes", level.name, unfused, level.bytes);
  return text;
}

/// `gemm0 > gemm1 | gemm2`.
std::string ChainScheduler::listKernels() const {
  SmallVector<std::string> kernels;
  for (const model::KernelReport &kernel : summary.kernels)
    kernels.push_back(report::listOperators(kernel.problem));
  return llvm::join(kernels, " | ");
}

void ChainScheduler::noteDecision() const {
  StringRef why = summary.explanation;
  double seconds = ChainPlan::secondsOf(summary.kernels) * 1e6;
  std::string numbers =
      verdict.fused ? " (" + comparePlans() + ")" : std::string();
  switch (summary.outcome) {
  case ChainOutcome::Single:
    remark::passed(loc, named("single"))
        << formatv("1 operator planned: {0} ({1:F1} us)", why, seconds).str();
    return;
  case ChainOutcome::Fused:
    remark::passed(loc, named("fused"))
        << formatv("{0} operators fused: {1}{2}", analysis.operators.size(),
                   why, numbers)
               .str();
    return;
  case ChainOutcome::Given:
    remark::passed(loc, named("given")) << "the given schedule is kept";
    return;
  case ChainOutcome::PartlyFused:
    remark::missed(loc, named("split"))
        << formatv("operators run as {0} kernels, {1}, in {2:F1} us: {3}{4}",
                   summary.kernels.size(), listKernels(), seconds, why, numbers)
               .str();
    return;
  case ChainOutcome::Split:
    remark::missed(loc, named("split"))
        << formatv("operators run one by one: {0}{1}", why, numbers).str();
    return;
  case ChainOutcome::Unfused:
    remark::missed(loc, named("unfused"))
        << formatv("operators left alone: {0}", why).str();
    return;
  }
}

void ChainScheduler::noteFigures() const {
  if (summary.kernels.empty())
    return;
  for (auto [index, bound] : llvm::enumerate(summary.bounds)) {
    int64_t bytes = ChainPlan::bytesOf(summary.kernels, index);
    remark::analysis(loc, named("bound"))
        << formatv("{0}: {1} bytes against a bound of {2}, ratio {3:F2} ({4})",
                   machine.levels[index].name, bytes, bound.bytes,
                   static_cast<double>(bytes) /
                       std::max<int64_t>(1, bound.bytes),
                   report::describeBound(bound))
               .str();
  }
  for (const model::Plan &plan : verdict.runnersUp)
    remark::analysis(loc, named("runner-up"))
        << formatv("{0}: {1:F1} us, {2}",
                   report::describeOrder(analysis.problem, plan.schedule),
                   plan.seconds * 1e6,
                   report::formatLoss(plan.seconds, verdict.fused->seconds))
               .str();
  for (const model::KernelReport &kernel : summary.kernels)
    if (std::string text =
            report::describeRecomputation(kernel.problem, kernel.plan);
        !text.empty())
      remark::analysis(loc, named("recomputed"))
          << report::listOperators(kernel.problem) + ": " + text;
}

//===----------------------------------------------------------------------===//
// Decisions
//===----------------------------------------------------------------------===//

/// One segment per operator; empty if some operator has no plan.
std::vector<model::Segment> ChainScheduler::separateOperators() const {
  std::vector<model::Segment> segments;
  if (canSplit())
    for (auto [index, plan] : llvm::enumerate(verdict.unfused))
      segments.push_back({static_cast<unsigned>(index),
                          static_cast<unsigned>(index), plan,
                          model::secondsAfter(analysis.problem, machine, index,
                                              index, options)});
  return segments;
}

/// The kernels to make. Code can only be generated from chains with one result,
/// so what would need more runs operator by operator.
std::vector<model::Segment> ChainScheduler::chooseSegments() {
  if (fuse == FuseMode::Never && analysis.operators.size() > 1)
    return separateOperators();
  if (fuse == FuseMode::Always && verdict.fused)
    return {{0, static_cast<unsigned>(analysis.operators.size() - 1),
             *verdict.fused}};
  std::vector<model::Segment> single = separateOperators(), segments;
  ChainSplitter splitter(chain, analysis);
  for (const model::Segment &segment : verdict.segments) {
    bool isKept =
        isWhole(segment) || segment.first == segment.last ||
        !isLowerable(analysis) ||
        splitter.getResults({segment.first, segment.last + 1}).size() == 1;
    if (isKept) {
      segments.push_back(segment);
      continue;
    }
    if (single.empty())
      return {};
    segments.insert(segments.end(), single.begin() + segment.first,
                    single.begin() + segment.last + 1);
  }
  return segments;
}

/// The chain stays and becomes one kernel.
void ChainScheduler::applyWhole(const model::Plan &plan) {
  unsigned size = analysis.operators.size();
  chain.setScheduleAttr(convertSchedule(context, plan.schedule, analysis));
  std::string reason = model::describe(verdict.reason).str();
  std::string explanation = verdict.explain();
  if (size > 1 && !verdict.fuse)
    reason = explanation = "fused because asked to";
  chain.setPlanAttr(makePlan(
      size == 1 ? Verdict::Unfused : Verdict::Fused, reason, size, plan,
      plan.seconds, canSplit() ? verdict.unfusedSeconds : plan.seconds,
      canSplit() ? ArrayRef(verdict.unfusedBytes) : ArrayRef<int64_t>(),
      verdict.boundBytes));
  summary.kernels.push_back(model::describeKernel(
      analysis.problem, machine, options, {0, size - 1, plan}));
  report(size == 1 ? ChainOutcome::Single : ChainOutcome::Fused, explanation);
}

/// `part`, or a chain in its place in which rows are one that other operators
/// of the whole chain told apart.
ChainOp ChainScheduler::withJoinedRows(ChainOp part) const {
  if (part->getNumResults() != 1 || support.lanes <= 1)
    return part;
  OpBuilder builder(part);
  auto copy = cast<ChainOp>(builder.clone(*part));
  SmallVector<Value> results(part.getResults());
  FailureOr<bool> isJoined = joinRows(copy, results, support);
  if (failed(isJoined) || !*isJoined) {
    copy.erase();
    return part;
  }
  FormedChain formed = moveBoundaryOut(copy);
  FailureOr<ChainAnalysis> own =
      analyzeChain(formed.chain, /*emitErrors=*/false);
  if (failed(own) ||
      formed.results.front().getType() != results.front().getType()) {
    formed.erase();
    return part;
  }
  formed.chain->setDiscardableAttrs(part->getDiscardableAttrDictionary());
  part->replaceAllUsesWith(formed.results);
  part.erase();
  return formed.chain;
}

/// Gives `part`, which has the operators of `segment`, its schedule.
void ChainScheduler::planPart(ChainOp part, const model::Segment &segment) {
  FailureOr<ChainAnalysis> own = analyzeChain(part, /*emitErrors=*/false);
  model::KernelReport kernel =
      model::describeKernel(analysis.problem, machine, options, segment);
  if (succeeded(own))
    own->problem.otherBytes = kernel.problem.otherBytes;
  // Read by itself, a part can turn out to be a little different.
  if (succeeded(own) && !model::areAlike(own->problem, kernel.problem)) {
    if (const std::optional<model::Plan> &plan =
            cache->solve(own->problem, /*withRunnersUp=*/false).best) {
      unsigned end = own->operators.size();
      kernel = model::describeKernel(own->problem, machine, options,
                                     {0, end - 1, *plan});
      kernel.first = segment.first;
      kernel.last = segment.last;
      kernel.secondsAfter = segment.secondsAfter;
    } else {
      own = failure();
    }
  }
  if (succeeded(own))
    attachPlan(part, *own, kernel);
  summary.kernels.push_back(std::move(kernel));
}

void ChainScheduler::attachPlan(ChainOp part, const ChainAnalysis &own,
                                const model::KernelReport &kernel) const {
  unsigned size = own.operators.size();
  double unfusedSeconds = kernel.seconds();
  SmallVector<int64_t> unfused;
  if (size > 1 && canSplit()) {
    unfusedSeconds = 0;
    unfused.assign(machine.levels.size(), 0);
    for (unsigned op = kernel.first; op <= kernel.last; ++op) {
      unfusedSeconds +=
          verdict.unfused[op].seconds +
          model::secondsAfter(analysis.problem, machine, op, op, options);
      for (auto [total, level] :
           llvm::zip_equal(unfused, verdict.unfused[op].levels))
        total += level.bytes;
    }
  }
  StringRef reason = fuse == FuseMode::Never ? "not fused because asked to"
                     : size > 1              ? "part of a longer chain"
                                             : model::describe(verdict.reason);
  SmallVector<int64_t> bounds;
  for (const model::LevelReport &level : kernel.levels)
    bounds.push_back(level.bound.bytes);
  part.setScheduleAttr(convertSchedule(context, kernel.plan.schedule, own));
  part.setPlanAttr(makePlan(size > 1 ? Verdict::Fused : Verdict::Split, reason,
                            size, kernel.plan, kernel.seconds(), unfusedSeconds,
                            unfused, bounds));
}

/// Cuts the chain into one for each segment.
void ChainScheduler::applySegments(ArrayRef<model::Segment> segments) {
  SmallVector<OperatorRange> ranges;
  for (const model::Segment &segment : segments)
    ranges.push_back({segment.first, segment.last + 1});
  SmallVector<ChainOp> parts = ChainSplitter(chain, analysis).split(ranges);
  for (ChainOp &part : parts)
    part = withJoinedRows(part);
  for (auto [part, segment] : llvm::zip_equal(parts, segments))
    planPart(part, segment);
  bool isPartly = segments.size() < analysis.operators.size();
  report(isPartly ? ChainOutcome::PartlyFused : ChainOutcome::Split,
         fuse == FuseMode::Never ? "not fused because asked to"
                                 : verdict.explain());
}

/// A schedule written by hand is honoured if it can run, and priced for the
/// report.
LogicalResult ChainScheduler::keepSchedule() {
  FailureOr<model::Schedule> schedule =
      convertSchedule(chain, *chain.getSchedule(), analysis);
  if (failed(schedule))
    return failure();
  if (llvm::Error error = model::verify(analysis.problem, machine, *schedule))
    return chain.emitError("schedule cannot run on target '")
           << machine.name << "': " << llvm::toString(std::move(error));
  model::Plan plan =
      model::price(analysis.problem, machine, *schedule, options);
  unsigned size = analysis.operators.size();
  chain.setScheduleAttr(
      complete(*chain.getSchedule(), plan.schedule, analysis));
  chain.setPlanAttr(
      makePlan(Verdict::Fused, "the schedule was given", size, plan,
               plan.seconds, plan.seconds, {},
               model::lowerBounds(analysis.problem, machine, options)));
  summary.kernels.push_back(model::describeKernel(
      analysis.problem, machine, options, {0, size - 1, plan}));
  report(ChainOutcome::Given, "the schedule was given");
  return success();
}

/// Says so if the chain has no closed form though one is wanted. Its parts may
/// have.
void ChainScheduler::noteSearch() const {
  if (options.tiles == model::TileSource::ClosedForm &&
      !model::hasClosedForm(analysis.problem, machine))
    remark::analysis(loc, named("tiles"))
        << "no closed form for all operators together: orders and tiles of "
           "such kernels are searched";
}

/// Puts the runner-up that is asked for in the place of the best plan.
void ChainScheduler::takeRunnerUp() {
  if (verdict.runnersUp.size() < rank) {
    remark::missed(loc, named("rank"))
        << formatv("there are {0} plans besides the best, which is kept",
                   verdict.runnersUp.size())
               .str();
    return;
  }
  model::Plan &best = *verdict.fused;
  std::swap(best, verdict.runnersUp[rank - 1]);
  best.schedule.blocks =
      model::chooseBlocks(analysis.problem, machine, best.schedule);
  if (verdict.segments.size() == 1) {
    verdict.seconds = best.seconds;
    verdict.segments.front().plan = best;
  }
}

void ChainScheduler::judge() {
  noteSearch();
  verdict = model::judge(analysis.problem, *cache);
  if (rank > 0)
    takeRunnerUp();
  std::vector<model::Segment> segments = chooseSegments();
  if (segments.empty())
    return report(ChainOutcome::Unfused, verdict.explain());
  if (isWhole(segments.front()))
    return applyWhole(segments.front().plan);
  applySegments(segments);
}

/// The type of the widest factor: what the others are computed in. Codes are
/// computed in none.
static Type getElementType(const ChainAnalysis &analysis) {
  Type widest;
  for (ChainOperator op : analysis.operators)
    for (Value input : op.contraction.getDpsInputs()) {
      Type type = getElementTypeOrSelf(input);
      bool isCode =
          type.isInteger() &&
          isa<FloatType>(getElementTypeOrSelf(op.contraction->getResult(0)));
      if (type.isIntOrFloat() && !isCode &&
          (!widest ||
           type.getIntOrFloatBitWidth() > widest.getIntOrFloatBitWidth()))
        widest = type;
    }
  if (!widest)
    return getWideType(analysis.operators.front().result.getContext());
  return widest;
}

/// True if the chain runs on the matrix unit of `machine` rather than on that
/// of `vectors`: because a schedule says so, or sooner by the model.
bool ChainScheduler::isForMatrix(const model::Machine &vectors,
                                 PlanCaches &caches,
                                 TargetAttrInterface target) {
  const model::ChainProblem &problem = analysis.problem;
  if (chain.getSchedule())
    return chain.getSchedule()->getRegisters().getBroadcasts() == 0;
  if (!model::runsOnTiles(problem))
    return false;
  auto secondsOf = [&](model::PlanCache &plans) {
    model::Verdict known = model::judge(problem, plans);
    return known.segments.empty() ? std::numeric_limits<double>::infinity()
                                  : known.seconds;
  };
  return secondsOf(*cache) <=
         secondsOf(caches.get(target, type, vectors, options));
}

/// Reads the chain and chooses the type whose unit it is for.
LogicalResult ChainScheduler::read(TargetAttrInterface target,
                                   bool emitErrors) {
  FailureOr<ChainAnalysis> read = analyzeChain(chain, emitErrors);
  if (failed(read))
    return failure();
  analysis = std::move(*read);
  type = getElementType(analysis);
  // A target without a unit for it has the one for f32.
  Type rounded = allowsTF32 ? getRoundedType(type) : Type();
  if (rounded && succeeded(target.getMachine(rounded)))
    type = rounded;
  return success();
}

/// Finds the unit for the chain, if the target has one.
LogicalResult ChainScheduler::findUnit(TargetAttrInterface target,
                                       PlanCaches &caches) {
  FailureOr<model::Machine> figures = getMachine(chain, target, type);
  if (failed(figures))
    return failure();
  machine = std::move(*figures);
  if (options.threads == 0)
    options.threads = machine.cores;
  if (isAnybodyListening())
    options.runnersUp = runnersUp;
  options.runnersUp = std::max(options.runnersUp, rank);
  cache = &caches.get(target, type, machine, options);
  return success();
}

void ChainScheduler::announce(TargetAttrInterface target, PlanCaches &caches) {
  if (chain.getSchedule() || failed(read(target, /*emitErrors=*/false)) ||
      failed(findUnit(target, caches)))
    return;
  const model::ChainProblem &problem = analysis.problem;
  FailureOr<model::Machine> vectors = getVectorMachine(chain, target, type);
  if (succeeded(vectors))
    model::expectParts(problem, caches.get(target, type, *vectors, options));
  if (failed(vectors) || model::runsOnTiles(problem))
    model::expectParts(problem, *cache);
}

LogicalResult ChainScheduler::run(TargetAttrInterface target,
                                  PlanCaches &caches) {
  if (failed(read(target, /*emitErrors=*/true)))
    return failure();
  summary.elementType = llvm::formatv("{0}", type).str();
  support = getOperatorSupport(chain, target);
  if (failed(findUnit(target, caches))) {
    if (auto named = dyn_cast<TargetAttr>(target))
      machine.name = named.getName().str();
    describeChain();
    report(
        ChainOutcome::Unfused,
        formatv("target '{0}' has no unit for {1}", machine.name, type).str());
    return success();
  }
  FailureOr<model::Machine> vectors = getVectorMachine(chain, target, type);
  if (succeeded(vectors) && !isForMatrix(*vectors, caches, target)) {
    machine = std::move(*vectors);
    cache = &caches.get(target, type, machine, options);
    remark::analysis(chain.getLoc(), named("unit"))
        << "planned for vectors: "
        << (model::runsOnTiles(analysis.problem)
                ? "the matrix unit is predicted to take longer, or the "
                  "schedule says so"
                : "the matrix unit takes no open columns or sums, padded "
                  "windows or quantized factors");
  }
  describeChain();
  if (chain.getSchedule())
    return keepSchedule();
  judge();
  return success();
}

void SchedulePass::runOnOperation() {
  if (failed(verifyPlanningOptions(getOperation(), target, threads)))
    return signalPassFailure();
  model::SolveOptions wanted;
  wanted.threads = threads;
  wanted.isExhaustive = exhaustive;
  if (tiles == TileMode::ClosedForm)
    wanted.tiles = model::TileSource::ClosedForm;
  SmallVector<std::pair<ChainOp, TargetAttrInterface>> chains;
  WalkResult targets = getOperation()->walk([&](ChainOp chain) {
    if (newOnly && chain.getSchedule())
      return WalkResult::advance();
    FailureOr<TargetAttrInterface> resolved = resolveTarget(chain, target);
    if (failed(resolved))
      return WalkResult::interrupt();
    chains.emplace_back(chain, *resolved);
    return WalkResult::advance();
  });
  if (targets.wasInterrupted())
    return signalPassFailure();
  PlanCaches caches;
  for (auto [chain, resolved] : chains)
    ChainScheduler(chain, fuse, rank, tf32, wanted).announce(resolved, caches);
  caches.solveExpected(&getContext());
  for (auto &[chain, resolved] : chains) {
    ChainScheduler scheduler(chain, fuse, rank, tf32, wanted);
    LogicalResult planned = success();
    auto plan = [&, found = resolved] {
      planned = scheduler.run(found, caches);
    };
    getContext().executeAction<PlanChainAction>(plan,
                                                IRUnit(chain.getOperation()));
    if (failed(planned))
      return signalPassFailure();
  }
}
