//===- SeparateResults.cpp - A tensor of its own for every result ---------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function that returns one tensor twice has one buffer for two results. Once
// the caller allocates results, each needs its own.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Transforms/Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace chimera {
#define GEN_PASS_DEF_SEPARATERESULTSPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

namespace {
struct SeparateResultsPass
    : chimera::impl::SeparateResultsPassBase<SeparateResultsPass> {
  using Base::Base;

  void runOnOperation() override {
    getOperation()->walk([](func::ReturnOp op) {
      OpBuilder builder(op);
      llvm::SmallPtrSet<Value, 4> returned;
      for (OpOperand &operand : op->getOpOperands()) {
        auto type = dyn_cast<RankedTensorType>(operand.get().getType());
        if (!type || returned.insert(operand.get()).second)
          continue;
        operand.set(bufferization::AllocTensorOp::create(
            builder, op.getLoc(), type, /*dynamicSizes=*/ValueRange(),
            /*copy=*/operand.get()));
      }
    });
  }
};
} // namespace
