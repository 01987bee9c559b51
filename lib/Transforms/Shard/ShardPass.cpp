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
#include "LowerShard.h"

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

static remark::RemarkOpts named(StringRef name) {
  return remark::RemarkOpts::name(name).category("chimera-shard");
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// Upstream cuts no constants but splats: the others pass through its hands as
/// arguments, behind those of the function.
static SmallVector<arith::ConstantOp> takeConstants(func::FuncOp function) {
  SmallVector<arith::ConstantOp> taken;
  for (auto constant : function.getOps<arith::ConstantOp>()) {
    auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (isa<RankedTensorType>(constant.getType()) &&
        !(elements && elements.isSplat()))
      taken.push_back(constant);
  }
  for (arith::ConstantOp constant : taken) {
    unsigned index = function.getNumArguments();
    (void)function.insertArgument(index, constant.getType(), {},
                                  constant.getLoc());
    constant.replaceAllUsesWith(cast<Value>(function.getArgument(index)));
    constant->remove();
  }
  return taken;
}

/// Puts them back. They are whole on all processes.
static void putBackConstants(func::FuncOp function,
                             ArrayRef<arith::ConstantOp> taken) {
  Block &block = function.getBody().front();
  for (arith::ConstantOp constant : llvm::reverse(taken)) {
    unsigned last = function.getNumArguments() - 1;
    block.push_front(constant);
    function.getArgument(last).replaceAllUsesWith(constant);
    (void)function.eraseArgument(last);
  }
}

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

static Parts readParts(func::FuncOp function, unsigned numArguments,
                       shard::GridOp grid) {
  Parts parts;
  for (Value argument : function.getArguments().take_front(numArguments)) {
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
  LogicalResult cut(func::FuncOp function);
  LogicalResult run(func::FuncOp function,
                    llvm::function_ref<void(OpPassManager &)> add);
  LogicalResult verifyProcesses(shard::GridOp grid);
  void report(func::FuncOp function);
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
  if (processes == 0 || processes == count)
    return success();
  return grid.emitError("has ") << count << " processes, but 'processes' is "
                                << processes << "; change one of them";
}

/// Cuts a function that is annotated.
LogicalResult ShardPass::cut(func::FuncOp function) {
  shard::GridOp grid = findGrid(function);
  if (!grid || failed(verifyProcesses(grid)))
    return failure();
  auto clean = [](OpPassManager &passes) {
    passes.addPass(createCanonicalizerPass());
    passes.addPass(createCSEPass());
  };
  if (failed(run(function, clean)))
    return failure();
  unsigned numArguments = function.getNumArguments();
  SmallVector<arith::ConstantOp> constants = takeConstants(function);
  if (failed(verifyBeforePropagation(function, grid)) ||
      failed(run(function, [](OpPassManager &passes) {
        passes.addPass(shard::createShardingPropagation());
      })))
    return failure();
  completeAnnotations(function, grid);
  if (failed(verifyBeforePartition(function, grid)))
    return failure();
  Parts parts = readParts(function, numArguments, grid);
  if (failed(run(function, [](OpPassManager &passes) {
        passes.addPass(shard::createPartition());
      })))
    return failure();
  putBackConstants(function, constants);
  if (failed(run(function, clean)) || failed(lowerShard(function, grid)))
    return failure();
  // The start of a sum is zero on all processes, once both branches are.
  if (failed(run(function, [&](OpPassManager &passes) {
        clean(passes);
        passes.addPass(createCanonicalizerPass());
      })))
    return failure();
  attachParts(function, parts);
  OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
  CheckGridOp::create(builder, function.getLoc(), grid.getShape());
  ++numFunctions;
  return success();
}

/// Says what each collective moves and takes.
void ShardPass::report(func::FuncOp function) {
  function.walk([&](Operation *op) {
    std::optional<model::Collective> collective = getCollective(op);
    if (!collective)
      return;
    ++numCollectives;
    remark::analysis(op->getLoc(), named("collective"))
        << llvm::formatv(
               "{0} of {1} processes: {2} bytes from each, {3} on the "
               "wire",
               model::getName(collective->kind), collective->processes,
               collective->payloadBytes, getWireBytes(*collective))
               .str();
  });
}

void ShardPass::runOnOperation() {
  ModuleOp module = getOperation();
  if (processes < 0) {
    module.emitError("'processes' must not be negative, got ") << processes;
    return signalPassFailure();
  }
  if (failed(verifyPlanningOptions(module, target, threads)))
    return signalPassFailure();
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal() || !isAnnotated(function))
      continue;
    if (failed(cut(function)))
      return signalPassFailure();
    report(function);
  }
  for (auto grid : llvm::make_early_inc_range(module.getOps<shard::GridOp>()))
    grid.erase();
}
