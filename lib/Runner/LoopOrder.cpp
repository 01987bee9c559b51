//===- LoopOrder.cpp - Order of plain loops -------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopOrder.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"

using namespace mlir;

/// Operands that are contiguous or do not move along dimension `dim`.
static unsigned countContiguous(linalg::LinalgOp op, unsigned dim) {
  unsigned count = 0;
  for (AffineMap map : op.getIndexingMapsArray()) {
    ArrayRef<AffineExpr> indices = map.getResults();
    if (!indices.empty())
      indices = indices.drop_back();
    count += llvm::none_of(
        indices, [&](AffineExpr index) { return index.isFunctionOfDim(dim); });
  }
  return count;
}

static unsigned findInnermost(linalg::LinalgOp op) {
  unsigned best = op.getNumLoops() - 1, bestCount = 0;
  for (unsigned dim = 0; dim < op.getNumLoops(); ++dim) {
    unsigned count = countContiguous(op, dim);
    // Of equals the longer loop, as short ones (the taps of a convolution) gain
    // nothing.
    if (count < bestCount)
      continue;
    if (count > bestCount ||
        op.getStaticLoopRanges()[dim] > op.getStaticLoopRanges()[best]) {
      best = dim;
      bestCount = count;
    }
  }
  return best;
}

void chimera::runner::orderLoops(ModuleOp module) {
  SmallVector<linalg::LinalgOp> ops;
  module.walk([&](linalg::LinalgOp op) {
    if (linalg::isaContractionOpInterface(op) ||
        linalg::isaConvolutionOpInterface(op))
      ops.push_back(op);
  });
  IRRewriter rewriter(module.getContext());
  for (linalg::LinalgOp op : ops) {
    unsigned innermost = findInnermost(op);
    SmallVector<unsigned> order;
    for (unsigned dim = 0; dim < op.getNumLoops(); ++dim)
      if (dim != innermost)
        order.push_back(dim);
    order.push_back(innermost);
    rewriter.setInsertionPoint(op);
    FailureOr<linalg::GenericOp> generic =
        linalg::generalizeNamedOp(rewriter, op);
    if (failed(generic)) {
      auto already = dyn_cast<linalg::GenericOp>(op.getOperation());
      if (!already)
        continue;
      generic = already;
    }
    rewriter.setInsertionPoint(*generic);
    (void)linalg::interchangeGenericOp(rewriter, *generic, order);
  }
}
