//===- TransposedPanels.cpp - Panels of transposed constants --------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tile/TransposedPanels.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace chimera;

namespace {
class TransposedPanels {
public:
  TransposedPanels(OpBuilder &builder, BlockBuilder &blocks, unsigned op,
                   linalg::TransposeOp transpose, int64_t columns)
      : builder(builder), blocks(blocks), op(op), loc(transpose.getLoc()),
        source(transpose.getInput()), order(transpose.getPermutation()),
        columns(columns) {}

  Value build();

private:
  /// A part of a tensor, of a panel's columns.
  struct Part {
    SmallVector<OpFoldResult> offsets, sizes, ones;
  };
  Part getPart(ArrayRef<int64_t> shape, int64_t dim, OpFoldResult offset,
               int64_t size) const;
  Value addWhole(Value panels, int64_t count);
  Value transposePanel(Value panels, OpFoldResult number, OpFoldResult first,
                       int64_t count, Part &place);

  RankedTensorType getSourceType() const {
    return cast<RankedTensorType>(source.getType());
  }

  OpBuilder &builder;
  BlockBuilder &blocks;
  unsigned op;
  Location loc;
  Value source;
  ArrayRef<int64_t> order;
  int64_t columns;
};
} // namespace

/// All of `shape`, but for `size` of dimension `dim` from `offset` on.
TransposedPanels::Part TransposedPanels::getPart(ArrayRef<int64_t> shape,
                                                 int64_t dim,
                                                 OpFoldResult offset,
                                                 int64_t size) const {
  Part part;
  part.offsets.assign(shape.size(), builder.getIndexAttr(0));
  part.sizes = getAsIndexOpFoldResult(builder.getContext(), shape);
  part.ones.assign(shape.size(), builder.getIndexAttr(1));
  part.offsets[dim] = offset;
  part.sizes[dim] = builder.getIndexAttr(size);
  return part;
}

/// The transpose of `count` columns from `first` on, which is panel `number`;
/// its place is `place`.
Value TransposedPanels::transposePanel(Value panels, OpFoldResult number,
                                       OpFoldResult first, int64_t count,
                                       Part &place) {
  Part from = getPart(getSourceType().getShape(), order.back(), first, count);
  Value part = tensor::ExtractSliceOp::create(
      builder, loc, source, from.offsets, from.sizes, from.ones);
  auto type = cast<RankedTensorType>(panels.getType());
  place = getPart(type.getShape(), /*dim=*/0, number, /*size=*/1);
  place.sizes.back() = builder.getIndexAttr(count);
  SmallVector<int64_t> shape(type.getShape().drop_front());
  shape.back() = count;
  Value into =
      tensor::ExtractSliceOp::create(builder, loc, type.clone(shape), panels,
                                     place.offsets, place.sizes, place.ones);
  return blocks.buildTranspose(op, part, order, into);
}

/// Adds the first `count` panels, which have all of their columns.
Value TransposedPanels::addWhole(Value panels, int64_t count) {
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1),
               end = builder.getIndexAttr(count);
  auto loop = scf::ForallOp::create(builder, loc, ArrayRef(zero), ArrayRef(end),
                                    ArrayRef(one), panels,
                                    /*mapping=*/std::nullopt);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value number = loop.getInductionVar(0), into = loop.getRegionIterArgs()[0];
  AffineExpr panel;
  bindDims(builder.getContext(), panel);
  OpFoldResult first = affine::makeComposedFoldedAffineApply(
      builder, loc, panel * columns, {OpFoldResult(number)});
  Part place;
  Value transposed = transposePanel(into, number, first, columns, place);
  builder.setInsertionPointToEnd(loop.getTerminator().getBody());
  tensor::ParallelInsertSliceOp::create(builder, loc, transposed, into,
                                        place.offsets, place.sizes, place.ones);
  return loop.getResult(0);
}

Value TransposedPanels::build() {
  ArrayRef<int64_t> sourceShape = getSourceType().getShape();
  int64_t whole = sourceShape[order.back()] / columns,
          rest = sourceShape[order.back()] % columns;
  SmallVector<int64_t> shape = {whole + (rest != 0)};
  for (int64_t dim : order.drop_back())
    shape.push_back(sourceShape[dim]);
  shape.push_back(columns);
  Value panels = tensor::EmptyOp::create(builder, loc, shape,
                                         getSourceType().getElementType());
  if (whole != 0)
    panels = addWhole(panels, whole);
  if (rest == 0)
    return panels;
  Part place;
  Value last =
      transposePanel(panels, builder.getIndexAttr(whole),
                     builder.getIndexAttr(whole * columns), rest, place);
  return tensor::InsertSliceOp::create(builder, loc, last, panels,
                                       place.offsets, place.sizes, place.ones);
}

Value chimera::buildTransposedPanels(OpBuilder &builder, BlockBuilder &blocks,
                                     unsigned op, linalg::TransposeOp transpose,
                                     int64_t columns) {
  return TransposedPanels(builder, blocks, op, transpose, columns).build();
}
