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
// numbers behind it, and as a remark.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/Algorithms.h"
#include "Chimera/Target/Target.h"
#include "Chimera/Transforms/ChainAnalysis.h"
#include "Chimera/Transforms/Passes.h"
#include "Chimera/Transforms/ScheduleConversion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/Support/FormatVariadic.h"

#include <chrono>

namespace chimera {
#define GEN_PASS_DEF_SCHEDULEPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

namespace {

/// What the model says of a chain on a machine, with the time it took to say
/// so.
struct Decision {
  const model::Machine &machine;
  model::SolveOptions options;
  model::Verdict verdict;
  std::chrono::nanoseconds planningTime;

  /// True if every operator can run by itself.
  bool canSplit(const ChainAnalysis &analysis) const {
    return verdict.unfused.size() == analysis.operators.size();
  }
};

struct SchedulePass : chimera::impl::SchedulePassBase<SchedulePass> {
  using Base::Base;
  void runOnOperation() override;

private:
  LogicalResult schedule(ChainOp chain);
  LogicalResult keepSchedule(ChainOp chain, const ChainAnalysis &analysis,
                             const model::Machine &machine,
                             const model::SolveOptions &options);
  void applyFused(ChainOp chain, const ChainAnalysis &analysis,
                  const Decision &decision);
  void applySplit(ChainOp chain, const ChainAnalysis &analysis,
                  const Decision &decision);
};

} // namespace

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

static int64_t toNanoseconds(double seconds) {
  return static_cast<int64_t>(seconds * 1e9 + 0.5);
}

/// The plan of a kernel that runs `plan`; `unfused` are the bytes per level of
/// separate operators, empty if there are no others to compare with; `bound`
/// are the I/O lower bounds.
static PlanAttr makePlan(MLIRContext *context, Verdict verdict,
                         StringRef reason, int64_t operators,
                         const model::Plan &plan, double unfusedSeconds,
                         std::chrono::nanoseconds planningTime,
                         ArrayRef<int64_t> unfused, ArrayRef<int64_t> bound) {
  SmallVector<LevelPlanAttr> levels;
  for (auto [index, level] : llvm::enumerate(plan.levels))
    levels.push_back(LevelPlanAttr::get(
        context, level.name, level.bytes,
        index < unfused.size() ? unfused[index] : level.bytes, bound[index],
        level.capacityBytes, level.liveBytes));
  return PlanAttr::get(
      context, verdict, reason, operators, toNanoseconds(plan.seconds),
      toNanoseconds(unfusedSeconds), planningTime.count(), levels);
}

static remark::RemarkOpts named(StringRef name) {
  return remark::RemarkOpts::name(name).category("chimera");
}

/// Both plans in numbers: predicted times, and bytes per level.
static std::string comparePlans(const Decision &decision,
                                const ChainAnalysis &analysis) {
  const model::Verdict &verdict = decision.verdict;
  if (!decision.canSplit(analysis))
    return llvm::formatv("fused {0:F1} us, separate operators do not fit",
                         verdict.fused->seconds * 1e6);
  std::string text =
      llvm::formatv("fused {0:F1} us, unfused {1:F1} us",
                    verdict.fused->seconds * 1e6, verdict.unfusedSeconds * 1e6);
  for (auto [level, unfused] :
       llvm::zip_equal(verdict.fused->levels, verdict.unfusedBytes))
    text += llvm::formatv("; {0} {1} -> {2} bytes", level.name, unfused,
                          level.bytes);
  return text;
}

//===----------------------------------------------------------------------===//
// Decisions
//===----------------------------------------------------------------------===//

void SchedulePass::applyFused(ChainOp chain, const ChainAnalysis &analysis,
                              const Decision &decision) {
  const model::Verdict &verdict = decision.verdict;
  const model::Plan &plan = *verdict.fused;
  chain.setScheduleAttr(
      convertSchedule(&getContext(), plan.schedule, analysis));
  StringRef reason =
      verdict.fuse ? model::describe(verdict.reason) : "fused because asked to";
  bool canSplit = decision.canSplit(analysis);
  chain.setPlanAttr(makePlan(
      &getContext(), Verdict::Fused, reason, analysis.operators.size(), plan,
      canSplit ? verdict.unfusedSeconds : plan.seconds, decision.planningTime,
      canSplit ? ArrayRef(verdict.unfusedBytes) : ArrayRef<int64_t>(),
      verdict.boundBytes));
  remark::passed(chain.getLoc(), named("fused"))
      << llvm::formatv("{0} operators fused: {1} ({2})",
                       analysis.operators.size(), reason,
                       comparePlans(decision, analysis))
             .str();
}

/// Moves operator `index` of `chain` into a chain of its own, which reads what
/// the operators before it, already moved, have produced.
static ChainOp isolateOperator(OpBuilder &builder, ChainOp chain,
                               const ChainAnalysis &analysis, unsigned index,
                               IRMapping &produced) {
  ChainOperator op = analysis.operators[index];
  SmallVector<Operation *> operations;
  operations.push_back(op.contraction);
  if (op.epilogue)
    operations.push_back(op.epilogue);

  // Fills, empty tensors and constants are cloned along; everything else the
  // operator reads becomes an input.
  llvm::SetVector<Value> inputs;
  llvm::SetVector<Operation *> cloned;
  std::function<void(Value)> visit = [&](Value value) {
    Operation *definition = value.getDefiningOp();
    if (definition && llvm::is_contained(operations, definition))
      return;
    if (!definition || produced.contains(value)) {
      inputs.insert(value);
      return;
    }
    for (Value operand : definition->getOperands())
      visit(operand);
    cloned.insert(definition);
  };
  for (Operation *operation : operations) {
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(operation->getRegions(), captured);
    for (Value operand : operation->getOperands())
      visit(operand);
    for (Value value : captured)
      visit(value);
  }

  SmallVector<Value> operands;
  for (Value input : inputs) {
    if (auto argument = dyn_cast<BlockArgument>(input))
      operands.push_back(chain.getInputs()[argument.getArgNumber()]);
    else
      operands.push_back(produced.lookup(input));
  }
  auto single = ChainOp::create(builder, chain.getLoc(),
                                op.getResult().getType(), operands,
                                /*schedule=*/nullptr, /*plan=*/nullptr);
  OpBuilder::InsertionGuard guard(builder);
  Block &body = single.getBody().emplaceBlock();
  IRMapping mapping;
  for (Value input : inputs)
    mapping.map(input, body.addArgument(input.getType(), input.getLoc()));
  builder.setInsertionPointToStart(&body);
  for (Operation *operation : cloned)
    builder.clone(*operation, mapping);
  for (Operation *operation : operations)
    builder.clone(*operation, mapping);
  YieldOp::create(builder, chain.getLoc(), mapping.lookup(op.getResult()));
  produced.map(op.getResult(), single.getResult(0));
  return single;
}

void SchedulePass::applySplit(ChainOp chain, const ChainAnalysis &analysis,
                              const Decision &decision) {
  const model::Verdict &verdict = decision.verdict;
  StringRef reason = fuse == FuseMode::Never ? "not fused because asked to"
                                             : model::describe(verdict.reason);
  OpBuilder builder(chain);
  IRMapping produced;
  for (auto [index, plan] : llvm::enumerate(verdict.unfused)) {
    ChainOp single = isolateOperator(builder, chain, analysis, index, produced);
    FailureOr<ChainAnalysis> own = analyzeChain(single);
    assert(succeeded(own) && "an operator of a chain is a chain");
    single.setScheduleAttr(convertSchedule(&getContext(), plan.schedule, *own));
    single.setPlanAttr(makePlan(
        &getContext(), Verdict::Split, reason, 1, plan, plan.seconds,
        decision.planningTime, {},
        model::lowerBounds(own->problem, decision.machine, decision.options)));
  }
  std::string numbers = verdict.fused
                            ? " (" + comparePlans(decision, analysis) + ")"
                            : std::string();
  remark::missed(chain.getLoc(), named("split"))
      << "operators run one by one: " + reason.str() + numbers;
  chain.getResult(0).replaceAllUsesWith(
      produced.lookup(ChainOperator(analysis.operators.back()).getResult()));
  chain.erase();
}

/// A schedule written by hand is honoured if it can run, and priced for the
/// report.
LogicalResult SchedulePass::keepSchedule(ChainOp chain,
                                         const ChainAnalysis &analysis,
                                         const model::Machine &machine,
                                         const model::SolveOptions &options) {
  FailureOr<model::Schedule> schedule =
      convertSchedule(chain, *chain.getSchedule(), analysis);
  if (failed(schedule))
    return failure();
  if (llvm::Error error = model::verify(analysis.problem, machine, *schedule))
    return chain.emitError("schedule cannot run on target '")
           << machine.name << "': " << llvm::toString(std::move(error));
  model::Plan plan =
      model::price(analysis.problem, machine, *schedule, options);
  chain.setPlanAttr(
      makePlan(&getContext(), Verdict::Fused, "the schedule was given",
               analysis.operators.size(), plan, plan.seconds,
               std::chrono::nanoseconds(0), {},
               model::lowerBounds(analysis.problem, machine, options)));
  remark::passed(chain.getLoc(), named("given"))
      << "the given schedule is kept";
  return success();
}

LogicalResult SchedulePass::schedule(ChainOp chain) {
  FailureOr<TargetAttrInterface> targetAttr = resolveTarget(chain, target);
  if (failed(targetAttr))
    return failure();
  FailureOr<model::Machine> machine =
      targetAttr->getMachine(Float32Type::get(&getContext()));
  if (failed(machine))
    return chain.emitError("target has no unit for f32");
  FailureOr<ChainAnalysis> analysis = analyzeChain(chain);
  if (failed(analysis))
    return failure();
  model::SolveOptions options;
  options.threads = threads > 0 ? int64_t(threads) : machine->cores;
  if (chain.getSchedule())
    return keepSchedule(chain, *analysis, *machine, options);

  auto begin = std::chrono::steady_clock::now();
  Decision decision{*machine, options, {}, {}};
  decision.verdict = model::judge(analysis->problem, *machine, options);
  decision.planningTime = std::chrono::steady_clock::now() - begin;

  const model::Verdict &verdict = decision.verdict;
  bool wanted =
      fuse == FuseMode::Always || (fuse == FuseMode::Auto && verdict.fuse);
  if (verdict.fused && wanted)
    applyFused(chain, *analysis, decision);
  else if (decision.canSplit(*analysis))
    applySplit(chain, *analysis, decision);
  else
    remark::missed(chain.getLoc(), named("unfused"))
        << "operators left alone: " + model::describe(verdict.reason).str();
  return success();
}

void SchedulePass::runOnOperation() {
  // A wrong option is an error even where there is nothing to plan.
  if (failed(resolveTarget(getOperation(), target)))
    return signalPassFailure();
  if (threads < 0) {
    getOperation()->emitError("'threads' must not be negative, got ")
        << int64_t(threads);
    return signalPassFailure();
  }
  SmallVector<ChainOp> chains;
  getOperation()->walk([&](ChainOp chain) { chains.push_back(chain); });
  for (ChainOp chain : chains)
    if (failed(schedule(chain)))
      return signalPassFailure();
}
