//===- Judge.cpp - Fuse or not, and why -----------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fusion is a means, not an end. The fused plan competes with the best plans of
// the separate operators under the same model, and the figures of both are kept
// for the report.
//
//===----------------------------------------------------------------------===//

#include "Cost/CostModel.h"
#include "Volume/Evaluator.h"

#include "Chimera/Model/ChainLimits.h"
#include "Chimera/Model/MemoryPass.h"
#include "Chimera/Model/PlanCache.h"
#include "Chimera/Model/Routes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <limits>

using namespace llvm;
using namespace chimera::model;

StringRef chimera::model::describe(Reason reason) {
  switch (reason) {
  case Reason::SingleOperator:
    return "there is nothing to fuse it with";
  case Reason::SavesTraffic:
    return "the intermediate stays on chip";
  case Reason::SavesTime:
    return "one pass has less overhead than separate ones";
  case Reason::IntermediateTooLarge:
    return "the intermediate is too large for any level";
  case Reason::DoesNotFit:
    return "no fused plan fits the memory levels";
  case Reason::WritesPartOfBlock:
    return "memory is written in whole blocks, and rows of the result end "
           "within one";
  case Reason::RecomputationCosts:
    return "recomputing costs more than it saves";
  case Reason::ComputeBound:
    return "separate operators are limited by arithmetic anyway";
  case Reason::TooFewTasks:
    return "the shared loops make too few tasks";
  case Reason::MovesMore:
    return "a fused plan moves more";
  case Reason::UnfusedIsFaster:
    return "separate operators are predicted to be faster";
  case Reason::SaferFused:
    return "about as fast, and less moves";
  case Reason::SaferUnfused:
    return "about as fast, and a fused plan moves more";
  case Reason::LessArithmetic:
    return "limited by arithmetic, of which separate operators have less";
  }
  return "";
}

std::string Verdict::explain() const {
  std::string text = describe(reason).str();
  if (unit.empty())
    return text;
  auto show = [&](double figure) -> std::string {
    if (unit == "s")
      return formatv("{0:F1} us", figure * 1e6);
    return formatv("{0} {1}", static_cast<int64_t>(figure), unit);
  };
  text += ": " + show(figures[0]) + " against " + show(figures[1]);
  return level.empty() ? text : text + " into " + level;
}

/// Why operators without a plan are left alone: `otherwise`, unless main memory
/// cannot take what they make.
static Reason findReasonWithoutPlan(const ChainProblem &problem,
                                    const Machine &machine, Reason otherwise) {
  return writesWholeBlocks(problem, machine) ? otherwise
                                             : Reason::WritesPartOfBlock;
}

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

/// The operator outside `group` that corrects, as it goes, for the softmax of
/// what `op` in it makes.
static const Operator *findCutSoftmax(const ChainProblem &problem, unsigned op,
                                      Group group) {
  for (const auto &[index, reader] : enumerate(problem.operators))
    if (reader.rescaledBy && !group.has(index) &&
        is_contained(reader.inputs, problem.operators[op].output.tensor))
      return &reader;
  return nullptr;
}

/// Seconds that each of `workers` threads takes to bring together the lanes of
/// its rows for the states of `reader`. Instructions of one row, of its
/// exponential too, depend on each other; those of the next rows fill the gaps.
static double secondsToReduce(const ChainProblem &problem,
                              const Machine &machine, const Operator &reader,
                              double workers) {
  if (machine.levels.back().ways == 0)
    return 0;
  const VectorUnit &unit = machine.unit;
  double halving = lanesTogether(unit);
  double waiting = unit.exponentialCost, others = 0;
  for (const Access &state : reader.states) {
    waiting += halving;
    others += halving * std::max(0.0, problem.sizeOf(state) / workers - 1);
  }
  return (waiting * unit.fmaLatency + others / unit.fmaPerCycle) /
         unit.cyclesPerSecond;
}

double chimera::model::secondsAfter(const ChainProblem &problem,
                                    const Machine &machine, unsigned first,
                                    unsigned last,
                                    const SolveOptions &options) {
  Group group{first, last};
  ChainStructure structure(problem);
  auto bytesOf = [&](TensorId id) {
    return static_cast<double>(problem.sizeOf(id)) *
           problem.tensors[id].heldBytes();
  };
  auto workers = static_cast<double>(std::max<int64_t>(1, options.threads));
  MemoryPass pass;
  double reducing = 0;
  SmallVector<double> buffers;
  for (unsigned op = first; op <= last; ++op) {
    const Access &made = problem.operators[op].output;
    if (problem.tensors[made].role != Role::Intermediate ||
        group.covers(structure.readersOf(made)))
      continue;
    buffers.push_back(bytesOf(made));
    if (const Operator *reader = findCutSoftmax(problem, op, group)) {
      // Arithmetic is counted with what makes the scores; what is left is to
      // read them, to write the exponentials and to reduce each row.
      pass.readBytes += bytesOf(made);
      pass.writtenBytes += bytesOf(made);
      buffers.push_back(bytesOf(made));
      for (const Access &state : reader->states)
        buffers.push_back(bytesOf(state));
      reducing += secondsToReduce(problem, machine, *reader, workers);
    }
  }
  pass.freshBytes = freshBytes(buffers, machine);
  if (pass.readBytes == 0 && pass.freshBytes == 0)
    return 0;
  return secondsOf(pass, machine, options.threads) + reducing;
}

/// The problem of these operators as one kernel, if they can be one.
static std::optional<ChainProblem> partOf(const ChainProblem &problem,
                                          unsigned first, unsigned last) {
  if (last - first >= mostOperators)
    return std::nullopt;
  if (first == 0 && last + 1 == problem.operators.size())
    return problem;
  ChainProblem part = isolate(problem, first, last);
  // A stored intermediate that is read through windows, for example, is none.
  if (Error error = part.check()) {
    consumeError(std::move(error));
    return std::nullopt;
  }
  return part;
}

void chimera::model::expectParts(const ChainProblem &problem,
                                 PlanCache &cache) {
  unsigned size = problem.operators.size();
  for (unsigned first = 0; first < size; ++first)
    for (unsigned last = first; last < size; ++last)
      if (std::optional<ChainProblem> part = partOf(problem, first, last))
        cache.expect(*part, /*withRunnersUp=*/last + 1 - first == size);
}

namespace {

/// Finds the fastest way to cut a chain into kernels.
class Partitioner {
public:
  Partitioner(const ChainProblem &problem, PlanCache &cache)
      : problem(problem), cache(cache), machine(cache.getMachine()),
        options(cache.getOptions()), size(problem.operators.size()),
        solutions(size * size) {}

  /// The plan of these operators as one kernel; null if there is none.
  const Plan *planOf(unsigned first, unsigned last);
  void run(Verdict &verdict);
  /// Plans of the whole chain in other orders.
  ArrayRef<Plan> getRunnersUp();

private:
  const Solution &solutionOf(unsigned first, unsigned last);

  const ChainProblem &problem;
  PlanCache &cache;
  const Machine &machine;
  const SolveOptions &options;
  unsigned size;
  /// Null where nobody has asked yet.
  std::vector<const Solution *> solutions;
};

const Solution &Partitioner::solutionOf(unsigned first, unsigned last) {
  static const Solution none;
  bool isWhole = first == 0 && last + 1 == size;
  std::optional<ChainProblem> part = partOf(problem, first, last);
  return part ? cache.solve(*part, /*withRunnersUp=*/isWhole) : none;
}

const Plan *Partitioner::planOf(unsigned first, unsigned last) {
  const Solution *&solution = solutions[first * size + last];
  if (!solution)
    solution = &solutionOf(first, last);
  return solution->best ? &*solution->best : nullptr;
}

ArrayRef<Plan> Partitioner::getRunnersUp() {
  return solutionOf(0, size - 1).runnersUp;
}

void Partitioner::run(Verdict &verdict) {
  constexpr double never = std::numeric_limits<double>::infinity();
  // The fastest way to run the operators before each.
  SmallVector<double, 8> seconds(size + 1, never);
  SmallVector<unsigned, 8> start(size + 1, 0);
  seconds[0] = 0;
  for (unsigned end = 1; end <= size; ++end)
    for (unsigned first = end; first-- > 0;) {
      const Plan *plan = planOf(first, end - 1);
      if (!plan)
        continue;
      double total = seconds[first] + plan->seconds +
                     secondsAfter(problem, machine, first, end - 1, options);
      if (total >= seconds[end])
        continue;
      seconds[end] = total;
      start[end] = first;
    }
  if (seconds[size] == never)
    return;
  verdict.seconds = seconds[size];
  for (unsigned end = size; end > 0; end = start[end]) {
    unsigned first = start[end];
    verdict.segments.push_back(
        {first, end - 1, *planOf(first, end - 1),
         secondsAfter(problem, machine, first, end - 1, options)});
  }
  std::reverse(verdict.segments.begin(), verdict.segments.end());
}

} // namespace

//===----------------------------------------------------------------------===//
// Reasons
//===----------------------------------------------------------------------===//

/// Bytes of the largest intermediate's smallest buffer: one iteration of every
/// loop that can go around its users.
static int64_t leastBufferBytes(const ChainProblem &problem) {
  Schedule schedule;
  schedule.levels.emplace_back();
  ChainStructure structure(problem);
  auto &order = schedule.levels[0].order;
  for (LoopId loop = 0; loop < problem.loops.size(); ++loop)
    if (!structure.isDerived(loop))
      order.push_back({loop, 1, 0});
  // Loops of single operators part the others from them.
  unsigned last = problem.operators.size() - 1;
  auto keyOf = [&](const TiledLoop &entry) {
    auto users = count_if(seq(last + 1), [&](unsigned op) {
      return structure.concerns(entry.loop, op, {0, last});
    });
    return std::make_pair(-users, entry.loop);
  };
  sort(order, [&](const TiledLoop &left, const TiledLoop &right) {
    return keyOf(left) < keyOf(right);
  });
  int64_t largest = 0;
  Evaluator evaluator(structure, schedule, 0, Transfer());
  evaluator.countLive(
      [&](const Evaluator::Parts &parts, OperatorSet, bool isHome) {
        if (isHome)
          largest = std::max(largest, evaluator.bytesOfLargest(parts));
      });
  return largest;
}

namespace {

/// Finds what speaks for a verdict, and the figures that show it.
class Explainer {
public:
  Explainer(const ChainProblem &problem, const Machine &machine,
            const SolveOptions &options, Verdict &verdict)
      : problem(problem), machine(machine), options(options), verdict(verdict) {
  }

  void explainFused();
  void explainUnfused();

private:
  void explainMissing();
  std::vector<Plan> alternative() const;
  void because(Reason reason, double first, double second, StringRef unit,
               StringRef level = "") {
    verdict.reason = reason;
    verdict.figures[0] = first;
    verdict.figures[1] = second;
    verdict.unit = unit.str();
    verdict.level = level.str();
  }

  const ChainProblem &problem;
  const Machine &machine;
  const SolveOptions &options;
  Verdict &verdict;
};

void Explainer::explainFused() {
  verdict.reason = Reason::SavesTraffic;
  if (verdict.unfusedBytes.empty())
    return;
  const LevelCost &slowest = verdict.fused->levels.front();
  if (slowest.bytes < verdict.unfusedBytes.front())
    because(Reason::SavesTraffic, verdict.unfusedBytes.front(), slowest.bytes,
            "bytes", slowest.name);
  else
    because(Reason::SavesTime, verdict.unfusedSeconds, verdict.fused->seconds,
            "s");
}

void Explainer::explainMissing() {
  int64_t least = leastBufferBytes(problem), most = 0;
  for (const MemoryLevel &level : machine.levels)
    most = std::max(most, level.usableBytes());
  verdict.reason = findReasonWithoutPlan(problem, machine, Reason::DoesNotFit);
  if (least > most)
    because(Reason::IntermediateTooLarge, least, most, "bytes");
}

/// What the fused plan is compared with: separate operators or, if not all of
/// them have a plan by themselves, the parts that were chosen.
std::vector<Plan> Explainer::alternative() const {
  if (verdict.unfused.size() == problem.operators.size())
    return {verdict.unfused.begin(), verdict.unfused.end()};
  std::vector<Plan> plans;
  for (const Segment &segment : verdict.segments)
    plans.push_back(segment.plan);
  return plans;
}

void Explainer::explainUnfused() {
  if (!verdict.fused)
    return explainMissing();
  const Plan &fused = *verdict.fused;
  const auto *slowest = max_element(
      fused.levels, [](const LevelCost &left, const LevelCost &right) {
        return left.seconds < right.seconds;
      });
  double seconds = 0, compute = 0, transfer = 0;
  int64_t bytes = 0, tasks = std::numeric_limits<int64_t>::max();
  for (const Plan &plan : alternative()) {
    seconds += plan.seconds;
    compute += plan.computeSeconds;
    bytes += plan.levels[slowest - fused.levels.begin()].bytes;
    tasks = std::min(tasks, plan.tasks);
    double longest = 0;
    for (const LevelCost &level : plan.levels)
      longest = std::max(longest, level.seconds);
    transfer += longest;
  }
  if (fused.multiplyAdds > problem.multiplyAdds() &&
      fused.computeSeconds > compute)
    return because(Reason::RecomputationCosts, fused.computeSeconds, compute,
                   "s");
  if (fused.tasks < options.threads && fused.tasks < tasks)
    return because(Reason::TooFewTasks, fused.tasks, options.threads, "tasks");
  // What is moved behind arithmetic decides nothing; what waits on routes of
  // its own is not in the seconds of levels.
  bool isHidden = machine.routes.empty() && compute > transfer &&
                  fused.computeSeconds > slowest->seconds;
  if (slowest->bytes > bytes && !isHidden)
    return because(Reason::MovesMore, slowest->bytes, bytes, "bytes",
                   slowest->name);
  if (compute > transfer)
    return because(Reason::ComputeBound, compute, transfer, "s");
  because(Reason::UnfusedIsFaster, fused.seconds, seconds, "s");
}

} // namespace

//===----------------------------------------------------------------------===//
// The verdict
//===----------------------------------------------------------------------===//

/// One segment per operator.
static SmallVector<Segment, 2> segmentsOf(const ChainProblem &problem,
                                          const Machine &machine,
                                          const SolveOptions &options,
                                          ArrayRef<Plan> plans) {
  SmallVector<Segment, 2> segments;
  for (const auto &[index, plan] : enumerate(plans)) {
    unsigned op = index;
    segments.push_back(
        {op, op, plan, secondsAfter(problem, machine, op, op, options)});
  }
  return segments;
}

/// The kernels that compete with a single one: those of the fastest partition
/// or, where that is a single one, separate operators.
static SmallVector<Segment, 2> rivalsOf(const ChainProblem &problem,
                                        const Machine &machine,
                                        const SolveOptions &options,
                                        const Verdict &verdict) {
  if (verdict.segments.size() > 1)
    return verdict.segments;
  if (verdict.unfusedBytes.empty())
    return {};
  return segmentsOf(problem, machine, options, verdict.unfused);
}

/// True if moving takes so little beside the arithmetic of `plan` that it makes
/// no difference if it takes twice as long.
static bool isLimitedByArithmetic(const Plan &plan) {
  return all_of(plan.levels, [&](const LevelCost &level) {
    return 2 * level.seconds <= plan.computeSeconds;
  });
}

/// The same of what the caches hold from call to call, where nothing comes from
/// outside: time into the innermost level of convolutions, else bytes that
/// pass from operator to operator.
static double exposureInCaches(const Plan &plan, bool hasWindows) {
  return hasWindows ? plan.levels.back().seconds
                    : static_cast<double>(plan.levels.front().bytes);
}

/// Where times say nothing, takes the plan that loses less if they are wrong:
/// that whose transfers take less, unless it has windows, is limited by
/// arithmetic and has more of that. True if it changes the verdict.
static bool decideTie(const ChainProblem &problem, const Machine &machine,
                      const SolveOptions &options, Verdict &verdict) {
  if (!verdict.fused)
    return false;
  SmallVector<Segment, 2> rivals = rivalsOf(problem, machine, options, verdict);
  if (rivals.empty())
    return false;
  const Plan &fused = *verdict.fused;
  double seconds = 0, compute = 0, exposed = 0, inCaches = 0;
  bool hasWindows = !problem.consistsOfProducts();
  // Of convolutions the price of a fused plan leaves out what halos take, and
  // sets of a cache that a few channels of many share.
  bool isArithmetic = hasWindows && isLimitedByArithmetic(fused);
  for (const Segment &rival : rivals) {
    seconds += rival.seconds();
    compute += rival.plan.computeSeconds;
    exposed += exposureOf(rival.plan) + rival.secondsAfter;
    inCaches += exposureInCaches(rival.plan, hasWindows);
    isArithmetic &= isLimitedByArithmetic(rival.plan);
  }
  double error = timeError * std::min(fused.seconds, seconds);
  // What is between separate operators passes from core to core: for minutes at
  // a time, C2 in parts took two cores of a Zen 5 guest twice as long.
  double spare = options.threads > 1 ? error : 0;
  bool computesMore = isArithmetic && compute + spare < fused.computeSeconds;
  double less = exposed - exposureOf(fused);
  if (less == 0)
    less = inCaches - exposureInCaches(fused, hasWindows);
  bool isFused = verdict.segments.size() == 1;
  if (std::abs(fused.seconds - seconds) > error || less == 0 ||
      isFused == (less > 0 && !computesMore))
    return false;
  verdict.unit = "s";
  if (isFused) {
    verdict.reason =
        computesMore ? Reason::LessArithmetic : Reason::SaferUnfused;
    verdict.figures[0] = computesMore ? fused.computeSeconds : fused.seconds;
    verdict.figures[1] = computesMore ? compute : seconds;
    verdict.segments = std::move(rivals);
    verdict.seconds = seconds;
    return true;
  }
  verdict.reason = Reason::SaferFused;
  verdict.figures[0] = seconds;
  verdict.figures[1] = fused.seconds;
  unsigned last = problem.operators.size() - 1;
  verdict.segments.assign({{0, last, fused}});
  verdict.seconds = fused.seconds;
  return true;
}

Verdict chimera::model::judge(const ChainProblem &problem, PlanCache &cache) {
  const Machine &machine = cache.getMachine();
  const SolveOptions &options = cache.getOptions();
  Verdict verdict;
  verdict.boundBytes = lowerBounds(problem, machine, options);
  Partitioner partitioner(problem, cache);
  unsigned size = problem.operators.size();
  if (const Plan *whole = partitioner.planOf(0, size - 1))
    verdict.fused = *whole;
  for (unsigned op = 0; op < size; ++op)
    if (const Plan *plan = partitioner.planOf(op, op)) {
      verdict.unfusedSeconds +=
          plan->seconds + secondsAfter(problem, machine, op, op, options);
      verdict.unfused.push_back(*plan);
    }
  bool canSplit = verdict.unfused.size() == size;
  if (canSplit) {
    verdict.unfusedBytes.assign(machine.levels.size(), 0);
    for (const Plan &plan : verdict.unfused)
      for (auto [total, level] : zip(verdict.unfusedBytes, plan.levels))
        total += level.bytes;
  }
  partitioner.run(verdict);
  llvm::append_range(verdict.runnersUp, partitioner.getRunnersUp());
  if (size == 1) {
    verdict.fuse = verdict.fused.has_value();
    verdict.reason = Reason::SingleOperator;
    if (!verdict.fuse)
      verdict.reason = findReasonWithoutPlan(problem, machine, verdict.reason);
    return verdict;
  }
  bool isTie = decideTie(problem, machine, options, verdict);
  verdict.fuse = verdict.fused && verdict.segments.size() == 1;
  if (isTie)
    return verdict;
  Explainer explainer(problem, machine, options, verdict);
  if (verdict.fuse)
    explainer.explainFused();
  else
    explainer.explainUnfused();
  return verdict;
}

Verdict chimera::model::judge(const ChainProblem &problem,
                              const Machine &machine,
                              const SolveOptions &options) {
  PlanCache cache(machine, options);
  return judge(problem, cache);
}
