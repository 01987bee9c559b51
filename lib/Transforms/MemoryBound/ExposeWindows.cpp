//===- ExposeWindows.cpp - Pooling as a reduction -------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryBound/ExposeWindows.h"

#include "Chimera/Chain/OpKinds.h"
#include "Chimera/IR/Chimera.h"

using namespace mlir;
using namespace chimera;

/// True if code can be made of `op` but for its windows.
static bool isReductionOfWindows(linalg::LinalgOp op) {
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  return op.hasPureTensorSemantics() && !multipliesTensors(op) &&
         op.getNumReductionLoops() > 0 && hasScalarBody(op) &&
         !op.hasIndexSemantics() &&
         llvm::all_of(op->getOperandTypes(), isStaticAndNotEmpty) &&
         llvm::all_of(op.getDpsInputOperands(),
                      [&](OpOperand *input) {
                        return isSumOfLoops(op.getMatchingIndexingMap(input),
                                            extents);
                      }) &&
         llvm::any_of(op.getIndexingMapsArray(), [](AffineMap map) {
           return !map.isProjectedPermutation();
         });
}

/// `input` as `op` reads it, with a dimension for each loop: those of a window
/// before the one that moves it, which vectors may run along.
static std::pair<Value, AffineMap>
buildView(OpBuilder &builder, linalg::LinalgOp op, OpOperand *input) {
  AffineMap map = op.getMatchingIndexingMap(input);
  if (map.isProjectedPermutation())
    return {input->get(), map};
  SmallVector<int64_t> extents = op.getStaticLoopRanges(), shape;
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  SmallVector<AffineExpr> sums, loops;
  // Loops of one iteration are loops of the view, too.
  SmallVector<int64_t> none(extents.size(), ShapedType::kDynamic);
  for (AffineExpr expr : map.getResults()) {
    AffineIndex index = *linearize(expr, none);
    llvm::sort(index.terms, [&](auto left, auto right) {
      auto rank = [&](unsigned loop) {
        bool moves = iterators[loop] == utils::IteratorType::parallel;
        return std::make_pair(moves, loop);
      };
      return rank(left.first) < rank(right.first);
    });
    AffineExpr sum = builder.getAffineConstantExpr(0);
    for (auto [loop, factor] : index.terms) {
      sum = sum + builder.getAffineDimExpr(shape.size()) * factor;
      shape.push_back(extents[loop]);
      loops.push_back(builder.getAffineDimExpr(loop));
    }
    sums.push_back(sum);
  }
  Value view = WindowsOp::create(
      builder, op.getLoc(),
      RankedTensorType::get(shape, getElementTypeOrSelf(input->get())),
      input->get(),
      AffineMap::get(shape.size(), 0, sums, builder.getContext()));
  return {view, AffineMap::get(extents.size(), 0, loops, builder.getContext())};
}

LogicalResult chimera::exposeWindows(RewriterBase &rewriter,
                                     linalg::LinalgOp op) {
  if (!isReductionOfWindows(op))
    return failure();
  rewriter.setInsertionPoint(op);
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  SmallVector<BlockArgument> read;
  for (OpOperand *input : op.getDpsInputOperands()) {
    BlockArgument element = op.getMatchingBlockArgument(input);
    if (element.use_empty())
      continue;
    auto [view, map] = buildView(rewriter, op, input);
    inputs.push_back(view);
    maps.push_back(map);
    read.push_back(element);
  }
  for (OpOperand &init : op.getDpsInitsMutable()) {
    maps.push_back(op.getMatchingIndexingMap(&init));
    read.push_back(op.getMatchingBlockArgument(&init));
  }
  auto generic = linalg::GenericOp::create(
      rewriter, op.getLoc(), op->getResultTypes(), inputs, op.getDpsInits(),
      maps, op.getIteratorTypesArray(),
      [&](OpBuilder &body, Location, ValueRange elements) {
        IRMapping mapping;
        mapping.map(read, elements);
        for (Operation &nested : *op.getBlock())
          body.clone(nested, mapping);
      });
  rewriter.replaceOp(op, generic);
  return success();
}
