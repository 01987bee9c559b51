//===- SplitGathers.cpp - Gathered rows as copies -------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An embedding reads, element by element, which row of a table it is about,
// asserts that there is such a row, and loads an element of it. Assertions keep
// LLVM from doing that once per row and from vectorising the rest. So loops go
// over rows, and what is left of each is a copy.
//
//===----------------------------------------------------------------------===//

#include "Buffers/SplitGathers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace chimera;

Value chimera::sliceRows(OpBuilder &builder, Location loc, Value buffer,
                         ValueRange indices) {
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0)),
      sizes = memref::getMixedSizes(builder, loc, buffer),
      ones(type.getRank(), builder.getIndexAttr(1));
  for (auto [dim, index] : llvm::enumerate(indices)) {
    offsets[dim] = index;
    sizes[dim] = builder.getIndexAttr(1);
  }
  MemRefType result = memref::SubViewOp::inferRankReducedResultType(
      type.getShape().drop_front(indices.size()), type, offsets, sizes, ones);
  return memref::SubViewOp::create(builder, loc, result, buffer, offsets, sizes,
                                   ones);
}

/// The load of the only element that `op` hands on, from a buffer outside.
static memref::LoadOp findLoad(linalg::GenericOp op) {
  auto load = op.getBody()
                  ->getTerminator()
                  ->getOperand(0)
                  .getDefiningOp<memref::LoadOp>();
  bool isOutside =
      load && !op.getRegion().isAncestor(load.getMemRef().getParentRegion());
  return isOutside && load->hasOneUse() ? load : memref::LoadOp();
}

/// The first of the last loops of `op` that run along a row from its start to
/// its end, and do nothing else.
static int64_t findRowLoops(linalg::GenericOp op, memref::LoadOp load) {
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  ArrayRef<int64_t> shape = load.getMemRefType().getShape();
  int64_t first = op.getNumLoops(), dim = load.getMemRefType().getRank();
  auto isAlong = [&](int64_t loop, Value index) {
    auto along = index.getDefiningOp<linalg::IndexOp>();
    return along && static_cast<int64_t>(along.getDim()) == loop &&
           along->hasOneUse();
  };
  while (first > 0 && dim > 0 && shape[dim - 1] == extents[first - 1] &&
         isAlong(first - 1, load.getIndices()[dim - 1])) {
    --first;
    --dim;
  }
  return first;
}

/// True if `op` of a body asks for nothing but numbers of loops before `row`,
/// and can be done once for all elements of a row.
static bool isSameAlongRow(Operation &op, int64_t row) {
  if (auto index = dyn_cast<linalg::IndexOp>(op))
    return static_cast<int64_t>(index.getDim()) < row;
  return op.getNumRegions() == 0 &&
         (isa<cf::AssertOp, memref::LoadOp>(op) || isMemoryEffectFree(&op));
}

/// True if every operation of `op` other than `load` and its indices along the
/// row is the same for a whole row.
static bool isGather(linalg::GenericOp op, memref::LoadOp load, int64_t row) {
  auto ofRow = load.getIndices().take_back(op.getNumLoops() - row);
  for (Operation &inner : op.getBody()->without_terminator())
    if (&inner != load && !isSameAlongRow(inner, row) &&
        !(inner.getNumResults() == 1 &&
          llvm::is_contained(ofRow, inner.getResult(0))))
      return false;
  if (!op.getBody()->getArguments().back().use_empty())
    return false;
  for (OpOperand *input : op.getDpsInputOperands())
    for (AffineExpr index : op.getMatchingIndexingMap(input).getResults()) {
      auto dim = dyn_cast<AffineDimExpr>(index);
      if (!dim || static_cast<int64_t>(dim.getPosition()) >= row)
        return false;
    }
  return true;
}

/// One row: the body of `op` at `indices` of the loops before it, up to `load`.
static void copyRow(OpBuilder &builder, linalg::GenericOp op,
                    memref::LoadOp load, ValueRange indices) {
  Location loc = op.getLoc();
  IRMapping values;
  for (OpOperand *input : op.getDpsInputOperands()) {
    Value element = input->get();
    if (isa<MemRefType>(element.getType())) {
      SmallVector<Value> at;
      for (AffineExpr index : op.getMatchingIndexingMap(input).getResults())
        at.push_back(indices[cast<AffineDimExpr>(index).getPosition()]);
      element = memref::LoadOp::create(builder, loc, element, at);
    }
    values.map(op.getMatchingBlockArgument(input), element);
  }
  for (Operation &inner : op.getBody()->without_terminator()) {
    auto index = dyn_cast<linalg::IndexOp>(inner);
    if (&inner == load || (index && index.getDim() >= indices.size()))
      continue;
    if (index)
      values.map(index.getResult(), indices[index.getDim()]);
    else
      builder.clone(inner, values);
  }
  size_t leading =
      load.getIndices().size() - (op.getNumLoops() - indices.size());
  SmallVector<Value> place;
  for (Value index : load.getIndices().take_front(leading))
    place.push_back(values.lookupOrDefault(index));
  memref::CopyOp::create(builder, loc,
                         sliceRows(builder, loc, load.getMemRef(), place),
                         sliceRows(builder, loc, op.getDpsInits()[0], indices));
}

void chimera::splitGather(linalg::GenericOp op) {
  if (!op.hasPureBufferSemantics() || op.getNumDpsInits() != 1 ||
      op.getNumParallelLoops() != op.getNumLoops() ||
      !op.getIndexingMapsArray().back().isIdentity())
    return;
  // Of a row without elements nothing is asserted.
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  if (ShapedType::isDynamicShape(extents) || llvm::is_contained(extents, 0))
    return;
  memref::LoadOp load = findLoad(op);
  int64_t row = load ? findRowLoops(op, load) : 0;
  if (row == 0 || row == op.getNumLoops() || !isGather(op, load, row))
    return;
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto constant = [&](int64_t number) {
    return arith::ConstantIndexOp::create(builder, loc, number).getResult();
  };
  SmallVector<Value> lower(row, constant(0)), upper, step(row, constant(1));
  for (int64_t extent : ArrayRef(extents).take_front(row))
    upper.push_back(constant(extent));
  scf::buildLoopNest(builder, loc, lower, upper, step,
                     [&](OpBuilder &inner, Location, ValueRange indices) {
                       copyRow(inner, op, load, indices);
                     });
  op.erase();
}
