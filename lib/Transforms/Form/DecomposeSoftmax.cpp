//===- DecomposeSoftmax.cpp - Softmax as generic operations ---------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `linalg.softmax` is no structured operation: no pass of upstream lowers it to
// loops. It can take itself apart, and that is what has to happen first.
//
//===----------------------------------------------------------------------===//

#include "Form/DecomposeSoftmax.h"

#include "Chimera/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace chimera {
#define GEN_PASS_DEF_DECOMPOSESOFTMAXPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

/// Takes apart all softmaxes in `root`; `finish` is told of each, and of the
/// operation that its result comes from.
static LogicalResult
decompose(Operation *root,
          llvm::function_ref<void(linalg::SoftmaxOp, Operation *)> finish) {
  IRRewriter rewriter(root->getContext());
  WalkResult result = root->walk([&](linalg::SoftmaxOp op) {
    if (!op.hasPureTensorSemantics())
      return WalkResult::advance();
    rewriter.setInsertionPoint(op);
    FailureOr<SmallVector<Value>> results = op.decomposeOperation(rewriter);
    if (failed(results))
      return WalkResult(op.emitOpError("cannot be decomposed"));
    finish(op, results->front().getDefiningOp());
    rewriter.replaceOp(op, *results);
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult chimera::decomposeSoftmax(Operation *root) {
  return decompose(root, [](linalg::SoftmaxOp, Operation *) {});
}

/// Multiplies by the reciprocal of a row's sum, which is one division for all
/// of the row. Sums are between one and the length of the row, or no numbers.
/// In narrow floats a second rounding would count.
static void divideOncePerRow(linalg::SoftmaxOp op, Operation *result) {
  auto generic = dyn_cast_if_present<linalg::GenericOp>(result);
  bool isAlongRows =
      static_cast<int64_t>(op.getDimension()) == op.getInputOperandRank() - 1;
  bool isPrecise = op.getOutputOperandType().getElementTypeBitWidth() >= 32;
  if (!generic || !isAlongRows || !isPrecise)
    return;
  for (auto division :
       llvm::make_early_inc_range(generic.getBody()->getOps<arith::DivFOp>())) {
    OpBuilder builder(division);
    Location loc = division.getLoc();
    Type type = division.getType();
    Value one =
        arith::ConstantOp::create(builder, loc, builder.getFloatAttr(type, 1));
    Value share = arith::DivFOp::create(builder, loc, one, division.getRhs());
    Value product =
        arith::MulFOp::create(builder, loc, division.getLhs(), share);
    division.replaceAllUsesWith(product);
    division.erase();
  }
}

namespace {
struct DecomposeSoftmaxPass
    : chimera::impl::DecomposeSoftmaxPassBase<DecomposeSoftmaxPass> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(decompose(getOperation(), divideOncePerRow)))
      signalPassFailure();
  }
};
} // namespace
