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

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace chimera {
#define GEN_PASS_DEF_DECOMPOSESOFTMAXPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

LogicalResult chimera::decomposeSoftmax(Operation *root) {
  IRRewriter rewriter(root->getContext());
  WalkResult result = root->walk([&](linalg::SoftmaxOp op) {
    if (!op.hasPureTensorSemantics())
      return WalkResult::advance();
    rewriter.setInsertionPoint(op);
    FailureOr<SmallVector<Value>> results = op.decomposeOperation(rewriter);
    if (failed(results))
      return WalkResult(op.emitOpError("cannot be decomposed"));
    rewriter.replaceOp(op, *results);
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

namespace {
struct DecomposeSoftmaxPass
    : chimera::impl::DecomposeSoftmaxPassBase<DecomposeSoftmaxPass> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(decomposeSoftmax(getOperation())))
      signalPassFailure();
  }
};
} // namespace
