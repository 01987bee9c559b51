//===- SplitLoop.cpp - One loop as several --------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Form/SplitLoop.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace chimera;

/// `value` with each dimension that `map` indexes by `loop` as `sizes`.
static Value expandAlong(RewriterBase &rewriter, Location loc, Value value,
                         AffineMap map, unsigned loop,
                         ArrayRef<int64_t> sizes) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape;
  SmallVector<ReassociationIndices> groups;
  for (auto [dim, index] : llvm::enumerate(map.getResults())) {
    ReassociationIndices &group = groups.emplace_back();
    ArrayRef<int64_t> own = type.getShape().slice(dim, 1);
    for (int64_t size : index.isFunctionOfDim(loop) ? sizes : own) {
      group.push_back(shape.size());
      shape.push_back(size);
    }
  }
  return tensor::ExpandShapeOp::create(rewriter, loc, type.clone(shape), value,
                                       groups);
}

FailureOr<linalg::GenericOp> chimera::splitLoop(RewriterBase &rewriter,
                                                linalg::GenericOp op,
                                                unsigned loop,
                                                ArrayRef<int64_t> sizes) {
  MLIRContext *context = op.getContext();
  unsigned more = sizes.size() - 1, numLoops = op.getNumLoops() + more;
  auto numberOf = [&](unsigned old) { return old > loop ? old + more : old; };
  SmallVector<AffineExpr> numbers;
  for (unsigned old = 0; old < op.getNumLoops(); ++old)
    numbers.push_back(getAffineDimExpr(numberOf(old), context));
  for (AffineMap map : op.getIndexingMapsArray())
    for (AffineExpr index : map.getResults())
      if (index.isFunctionOfDim(loop) && !isa<AffineDimExpr>(index))
        return failure();

  for (linalg::IndexOp index : op.getBlock()->getOps<linalg::IndexOp>())
    if (index.getDim() == loop)
      return failure();

  rewriter.setInsertionPoint(op);
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    SmallVector<AffineExpr> indices;
    for (AffineExpr index : map.getResults()) {
      indices.push_back(index.replaceDims(numbers));
      if (index.isFunctionOfDim(loop))
        for (unsigned part = 1; part <= more; ++part)
          indices.push_back(getAffineDimExpr(loop + part, context));
    }
    maps.push_back(AffineMap::get(numLoops, 0, indices, context));
    if (op.isDpsInit(&operand))
      continue;
    inputs.push_back(map.isFunctionOfDim(loop)
                         ? expandAlong(rewriter, op.getLoc(), operand.get(),
                                       map, loop, sizes)
                         : operand.get());
  }
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  iterators.insert(iterators.begin() + loop, more, iterators[loop]);
  auto split =
      linalg::GenericOp::create(rewriter, op.getLoc(), op->getResultTypes(),
                                inputs, op.getOutputs(), maps, iterators);
  rewriter.inlineRegionBefore(op.getRegion(), split.getRegion(),
                              split.getRegion().begin());
  for (linalg::IndexOp index : split.getBlock()->getOps<linalg::IndexOp>())
    index.setDim(numberOf(index.getDim()));
  rewriter.replaceOp(op, split);
  return split;
}
