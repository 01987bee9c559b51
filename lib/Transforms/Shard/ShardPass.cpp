//===- ShardPass.cpp - The program that each of several processes runs ----===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's passes cut a function; what is around them here is what they do
// not do: check their input, say what each process has, and get rid of `shard`.
//
//===----------------------------------------------------------------------===//

#include "Annotations.h"
#include "ChooseOverlap.h"
#include "ChooseSplit.h"
#include "LowerShard.h"
#include "NamedRemarks.h"
#include "PartsOfConstants.h"

#include "Chimera/IR/Collectives.h"
#include "Chimera/Target/Target.h"
#include "Chimera/Transforms/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Shard/Transforms/Passes.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/FormatVariadic.h"

namespace chimera {
#define GEN_PASS_DEF_SHARDPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

namespace {
/// Which part of each argument and result a process has.
struct Parts {
  SmallVector<PartAttr> arguments, results;
};
} // namespace

static PartAttr makePart(Value value, const shard::Sharding &sharding,
                         shard::GridOp grid) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getRank() == 0)
    return {};
  return PartAttr::get(grid.getContext(), type.getShape(),
                       chimera::getAxes(type, sharding), grid.getShape());
}

static Parts readParts(func::FuncOp function, shard::GridOp grid) {
  Parts parts;
  for (Value argument : function.getArguments()) {
    shard::Sharding sharding;
    if (!argument.use_empty())
      if (auto op = dyn_cast<shard::ShardOp>(*argument.user_begin()))
        sharding = shard::Sharding(op.getSharding());
    parts.arguments.push_back(makePart(argument, sharding, grid));
  }
  for (Value result :
       function.getBody().front().getTerminator()->getOperands()) {
    shard::Sharding sharding;
    if (auto op = result.getDefiningOp<shard::ShardOp>())
      sharding = shard::Sharding(op.getSharding());
    parts.results.push_back(makePart(result, sharding, grid));
  }
  return parts;
}

static void attachParts(func::FuncOp function, const Parts &parts) {
  StringRef name = ChimeraDialect::getPartAttrName();
  for (auto [index, part] : llvm::enumerate(parts.arguments))
    if (part)
      function.setArgAttr(index, name, part);
  for (auto [index, part] : llvm::enumerate(parts.results))
    if (part)
      function.setResultAttr(index, name, part);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct ShardPass : chimera::impl::ShardPassBase<ShardPass> {
  using Base::Base;

  void runOnOperation() override;

private:
  LogicalResult partition(func::FuncOp function, shard::GridOp grid,
                          ArrayRef<arith::ConstantOp> constants);
  LogicalResult cutAsAnnotated(func::FuncOp function);
  func::FuncOp cutAsChosen(func::FuncOp function, shard::GridOp grid,
                           const model::Machine &machine, std::string &text);
  void share(func::FuncOp function, shard::GridOp grid,
             const model::Machine &machine);
  LogicalResult run(func::FuncOp function,
                    llvm::function_ref<void(OpPassManager &)> add);
  LogicalResult verifyProcesses(shard::GridOp grid);
  double overlapExchanges(func::FuncOp function, const model::Machine &machine);
  int64_t getThreads(const model::Machine &machine) const {
    return threads == 0 ? machine.cores : threads;
  }
  void report(func::FuncOp function, const model::Machine &machine);
};
} // namespace

LogicalResult ShardPass::run(func::FuncOp function,
                             llvm::function_ref<void(OpPassManager &)> add) {
  OpPassManager passes(func::FuncOp::getOperationName());
  add(passes);
  return runPipeline(passes, function);
}

LogicalResult ShardPass::verifyProcesses(shard::GridOp grid) {
  int64_t count = 1;
  for (int64_t size : grid.getShape())
    count *= size;
  if (process >= count)
    return grid.emitError("has ") << count << " processes, but 'process' is "
                                  << int64_t(process) << ", counted from 0";
  if (processes == 0 || processes == count)
    return success();
  return grid.emitError("has ") << count << " processes, but 'processes' is "
                                << int64_t(processes) << "; change one of them";
}

static void addCleaning(OpPassManager &passes) {
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
}

/// Cuts a function that is annotated in full, whose last arguments are
/// `constants`.
LogicalResult ShardPass::partition(func::FuncOp function, shard::GridOp grid,
                                   ArrayRef<arith::ConstantOp> constants) {
  completeAnnotations(function, grid);
  if (failed(verifyBeforePartition(function, grid)))
    return failure();
  Parts parts = readParts(function, grid);
  if (failed(run(function, [](OpPassManager &passes) {
        passes.addPass(shard::createPartition());
      })))
    return failure();
  size_t numArguments = parts.arguments.size() - constants.size();
  putBackConstants(function, grid, constants,
                   ArrayRef(parts.arguments).drop_front(numArguments), process);
  parts.arguments.truncate(numArguments);
  if (failed(run(function, addCleaning)) || failed(lowerShard(function, grid)))
    return failure();
  // The start of a sum is zero on all processes, once both branches are.
  if (failed(run(function, [&](OpPassManager &passes) {
        addCleaning(passes);
        passes.addPass(createCanonicalizerPass());
      })))
    return failure();
  attachParts(function, parts);
  OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
  CheckGridOp::create(builder, function.getLoc(), grid.getShape());
  return success();
}

/// Cuts a function that somebody has annotated.
LogicalResult ShardPass::cutAsAnnotated(func::FuncOp function) {
  shard::GridOp grid = findGrid(function);
  if (!grid || failed(verifyProcesses(grid)) ||
      failed(run(function, addCleaning)))
    return failure();
  inlineNumbers(function);
  SmallVector<arith::ConstantOp> constants = takeConstants(function);
  copyGenerators(function);
  if (failed(verifyBeforePropagation(function, grid)) ||
      failed(run(function, [](OpPassManager &passes) {
        passes.addPass(shard::createShardingPropagation());
      })))
    return failure();
  return partition(function, grid, constants);
}

/// Cuts a copy of `function` as the model chooses. None if there is something
/// in it that cannot be cut, which `text` then says.
func::FuncOp ShardPass::cutAsChosen(func::FuncOp function, shard::GridOp grid,
                                    const model::Machine &machine,
                                    std::string &text) {
  func::FuncOp copy = function.clone();
  SymbolTable(getOperation()).insert(copy, Block::iterator(function));
  std::string obstacle;
  ScopedDiagnosticHandler handler(&getContext(), [&](Diagnostic &diagnostic) {
    bool isError = diagnostic.getSeverity() == DiagnosticSeverity::Error;
    if (isError && obstacle.empty())
      obstacle = diagnostic.str();
    return success(isError);
  });
  SplitSetting setting{grid, processes, machine, getThreads(machine)};
  bool isCut = succeeded(run(copy, addCleaning));
  SmallVector<arith::ConstantOp> constants;
  if (isCut) {
    constants = takeConstants(copy);
    prepareForSplit(copy);
    isCut = succeeded(verifyBeforePropagation(copy, grid));
  }
  if (isCut) {
    std::optional<std::string> chosen = annotateBestSplit(copy, setting);
    text = chosen.value_or("");
    isCut = chosen && succeeded(partition(copy, grid, constants));
  }
  if (isCut)
    return copy;
  text = obstacle.empty() ? "there is nothing to cut" : obstacle;
  copy.erase();
  return {};
}

/// Lets processes share `function` if that takes less time.
void ShardPass::share(func::FuncOp function, shard::GridOp grid,
                      const model::Machine &machine) {
  std::string text;
  func::FuncOp part = cutAsChosen(function, grid, machine, text);
  if (!part) {
    remark::missed(function.getLoc(), namedShard("split"))
        << llvm::formatv("every process computes all of '{0}': {1}",
                         function.getName(), text)
               .str();
    return;
  }
  int64_t count = getThreads(machine);
  double whole = priceFunction(function, machine, count),
         shared = priceFunction(part, machine, count);
  shared -= overlapExchanges(part, machine);
  std::string figures = llvm::formatv(
      "'{0}' takes {1:F1} us on {2} processes and {3:F1} us on one; {4}",
      function.getName(), shared * 1e6, int64_t(processes), whole * 1e6, text);
  if (shared >= whole && split == SplitMode::Auto) {
    remark::missed(function.getLoc(), namedShard("split"))
        << ("every process computes all: " + figures);
    part.erase();
    return;
  }
  remark::passed(function.getLoc(), namedShard("split")) << figures;
  StringAttr name = function.getSymNameAttr();
  function.erase();
  part.setSymNameAttr(name);
  report(part, machine);
  ++numFunctions;
}

/// Returns the seconds that it saves.
double ShardPass::overlapExchanges(func::FuncOp function,
                                   const model::Machine &machine) {
  Overlap chosen =
      chooseOverlap(function, machine, getThreads(machine), overlap);
  numOverlapped += chosen.numOverlapped;
  return chosen.savedSeconds;
}

/// Says what each collective moves and takes.
void ShardPass::report(func::FuncOp function, const model::Machine &machine) {
  function.walk([&](Operation *op) {
    std::optional<model::Collective> collective = getCollective(op);
    if (!collective)
      return;
    ++numCollectives;
    remark::analysis(op->getLoc(), namedShard("collective"))
        << llvm::formatv(
               "{0} of {1} processes: {2} bytes from each, {3} on the wire, "
               "{4:F1} us",
               model::getName(collective->kind), collective->processes,
               collective->payloadBytes, getWireBytes(*collective),
               machine.network.getSeconds(*collective) * 1e6)
               .str();
  });
}

void ShardPass::runOnOperation() {
  ModuleOp module = getOperation();
  if (processes < 0) {
    module.emitError("'processes' must not be negative, got ")
        << int64_t(processes);
    return signalPassFailure();
  }
  if (processes > 0 && process >= processes) {
    module.emitError("'process' is ")
        << int64_t(process) << ", but 'processes' is " << int64_t(processes)
        << ", and they are counted from 0";
    return signalPassFailure();
  }
  FailureOr<TargetAttrInterface> found = resolveTarget(module, target);
  if (failed(found) || failed(verifyPlanningOptions(module, target, threads)))
    return signalPassFailure();
  model::Machine machine = found->getCommonFigures();
  if (!machine.network.exists())
    machine.network = getSharedMemoryNetwork();
  SmallVector<func::FuncOp> open;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    if (!isAnnotated(function)) {
      open.push_back(function);
      continue;
    }
    if (failed(cutAsAnnotated(function)))
      return signalPassFailure();
    ++numFunctions;
    report(function, machine);
    overlapExchanges(function, machine);
  }
  if (processes > 1 && !open.empty()) {
    OpBuilder builder(module.getContext());
    auto grid =
        shard::GridOp::create(builder, module.getLoc(), "chimera_processes",
                              ArrayRef<int64_t>{processes});
    SymbolTable(module).insert(grid);
    for (func::FuncOp function : open)
      share(function, grid, machine);
  }
  for (auto grid : llvm::make_early_inc_range(module.getOps<shard::GridOp>()))
    grid.erase();
}
