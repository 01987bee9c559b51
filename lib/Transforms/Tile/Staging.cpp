//===- Staging.cpp - Copies of inputs on their way in ---------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tile/Staging.h"

#include "Tile/TransposedPanels.h"

#include "Chimera/Transforms/BufferScope.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace chimera;

/// The loops at the end of `nest` that operator `op` runs in, from loop `depth`
/// of the nest on.
static SmallVector<model::NestLoop> loopsInside(const model::LoopNest &nest,
                                                unsigned depth, unsigned op) {
  return llvm::to_vector(ArrayRef(model::pathOf(nest, op)).drop_front(depth));
}

void Stager::stage(const model::LoopNest &nest, unsigned depth,
                   TreePosition &position) {
  unsigned innermost = schedule.levels.size() - 1;
  for (unsigned op = nest.firstOperator; op <= nest.lastOperator; ++op)
    for (const model::Access &input : problem.operators[op].inputs) {
      model::TensorId tensor = input;
      if (!llvm::is_contained(schedule.staged, tensor) ||
          position.staged.contains(tensor))
        continue;
      SmallVector<model::NestLoop> inside = loopsInside(nest, depth, op);
      if (llvm::any_of(inside, [&](const model::NestLoop &loop) {
            return loop.level < innermost && problem.indexes(tensor, loop.loop);
          }))
        continue;
      model::LoopId last = blocks.dimsOf(tensor).back();
      auto columns = llvm::find_if(inside, [&](const model::NestLoop &loop) {
        return loop.loop == last && last == problem.operators[op].vectorLoop;
      });
      position.staged.insert(tensor);
      if (columns == inside.end()) {
        position.tensors[tensor] = copyPlain(op, tensor, position);
        continue;
      }
      position.tensors[tensor] =
          copyToPanels(op, tensor, columns->tile, position);
      position.panels[tensor] = columns->tile;
    }
}

/// Where an element of `numbers` stands in panels of `columns` columns each.
static AffineMapAttr getPlacesInPanels(Value numbers, int64_t columns) {
  auto places = AffineMap::getMultiDimIdentityMap(
      cast<RankedTensorType>(numbers.getType()).getRank(),
      numbers.getContext());
  SmallVector<AffineExpr> indices(places.getResults());
  AffineExpr column = indices.back();
  indices.back() = column % columns;
  indices.insert(indices.begin(), column.floorDiv(columns));
  return AffineMapAttr::get(AffineMap::get(
      places.getNumDims(), /*symbolCount=*/0, indices, numbers.getContext()));
}

/// The transpose that computes `numbers` once, of a static shape, or null.
static linalg::TransposeOp getTranspose(Value numbers) {
  auto prepare = numbers.getDefiningOp<PrepareOp>();
  if (!prepare || !cast<RankedTensorType>(numbers.getType()).hasStaticShape())
    return linalg::TransposeOp();
  return prepare.getSource().getDefiningOp<linalg::TransposeOp>();
}

void Stager::prepack(TreePosition &position) {
  for (unsigned op = 0; op < problem.operators.size(); ++op)
    for (const model::Access &input : problem.operators[op].inputs) {
      model::TensorId tensor = input;
      if (!llvm::is_contained(schedule.prepacked, tensor))
        continue;
      int64_t columns = *model::prepackedColumns(problem, schedule, op, input);
      Value numbers = position.tensors[tensor];
      linalg::TransposeOp transpose = getTranspose(numbers);
      Value panels = transpose ? buildTransposedPanels(builder, blocks, op,
                                                       transpose, columns)
                               : copyToPanels(op, tensor, columns, position);
      position.tensors[tensor] =
          PrepareOp::create(builder, loc, panels.getType(), panels, numbers,
                            getPlacesInPanels(numbers, columns));
      position.panels[tensor] = columns;
      position.staged.insert(tensor);
    }
}

Value Stager::copyPlain(unsigned op, model::TensorId tensor,
                        const TreePosition &position) {
  return blocks.buildCopy(op, tensor, position,
                          blocks.buildBuffer(tensor, position));
}

/// Row by row, and in each row panel by panel.
Value Stager::copyToPanels(unsigned op, model::TensorId tensor, int64_t columns,
                           const TreePosition &position) {
  ArrayRef<model::LoopId> dims = blocks.dimsOf(tensor);
  Value source = position.tensors[tensor];
  auto most = [&](model::LoopId loop) {
    return *llvm::max_element(position.possible[loop]);
  };
  SmallVector<int64_t> shape = {
      llvm::divideCeilSigned(most(dims.back()), columns)};
  for (model::LoopId dim : dims.drop_back())
    shape.push_back(most(dim));
  shape.push_back(columns);
  Value buffer;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(
        getBufferScope(builder.getInsertionBlock()->getParentOp()));
    buffer = tensor::EmptyOp::create(builder, loc, shape,
                                     getElementTypeOrSelf(source));
  }

  TreePosition inner = position;
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  SmallVector<Value> lower(dims.size(), zero), upper, step;
  for (model::LoopId dim : dims) {
    int64_t size = dim == dims.back() ? columns : 1;
    upper.push_back(
        getValueOrCreateConstantIndexOp(builder, loc, position.extents[dim]));
    step.push_back(arith::ConstantIndexOp::create(builder, loc, size));
    llvm::SmallSetVector<int64_t, 4> possible;
    addTileExtents(position.possible[dim], size, /*first=*/0, possible);
    inner.possible[dim] = llvm::to_vector(possible);
    inner.extents[dim] = builder.getIndexAttr(size);
  }
  scf::LoopNest loops = scf::buildLoopNest(
      builder, loc, lower, upper, step, buffer,
      [&](OpBuilder &, Location, ValueRange ivs,
          ValueRange carried) -> scf::ValueVector {
        model::LoopId last = dims.back();
        AffineExpr size, iv;
        bindSymbols(builder.getContext(), size, iv);
        if (inner.possible[last].size() > 1)
          inner.extents[last] = affine::makeComposedFoldedAffineMin(
              builder, loc,
              AffineMap::get(
                  0, 2, {size - iv, builder.getAffineConstantExpr(columns)},
                  builder.getContext()),
              {position.extents[last], OpFoldResult(ivs.back())});
        else
          inner.extents[last] = builder.getIndexAttr(inner.possible[last][0]);
        SmallVector<OpFoldResult> offsets, sizes;
        for (auto [dim, index] : llvm::zip_equal(dims, ivs)) {
          offsets.push_back(index);
          sizes.push_back(inner.extents[dim]);
        }
        SmallVector<OpFoldResult> ones(dims.size(), builder.getIndexAttr(1));
        inner.tensors[tensor] = tensor::ExtractSliceOp::create(
            builder, loc, source, offsets, sizes, ones);
        OpFoldResult panel = affine::makeComposedFoldedAffineApply(
            builder, loc, iv.floorDiv(columns),
            {OpFoldResult(ivs.back()), OpFoldResult(ivs.back())});
        offsets.back() = builder.getIndexAttr(0);
        offsets.insert(offsets.begin(), panel);
        sizes.insert(sizes.begin(), builder.getIndexAttr(1));
        ones.push_back(builder.getIndexAttr(1));
        auto type = cast<RankedTensorType>(inner.tensors[tensor].getType());
        Value to = tensor::ExtractSliceOp::create(
            builder, loc, type, carried[0], offsets, sizes, ones);
        Value copy = blocks.buildCopy(op, tensor, inner, to);
        return {tensor::InsertSliceOp::create(builder, loc, copy, carried[0],
                                              offsets, sizes, ones)};
      });
  return loops.results[0];
}

Value Stager::slice(model::TensorId tensor, const model::NestLoop &loop,
                    ArrayRef<LoopOffset> moved, TreePosition &position) {
  Value value = position.tensors[tensor];
  ArrayRef<model::LoopId> dims = blocks.dimsOf(tensor);
  int64_t columns = position.panels[tensor];
  SmallVector<OpFoldResult> offsets, sizes, ones;
  blocks.describeSlice(dims, moved, position, offsets, sizes, ones);
  OpFoldResult offset = offsets.back();
  ones.push_back(builder.getIndexAttr(1));
  offsets.back() = builder.getIndexAttr(0);
  if (loop.loop != dims.back()) {
    // All panels, as wide as they are.
    offsets.insert(offsets.begin(), builder.getIndexAttr(0));
    sizes.insert(sizes.begin(),
                 tensor::getMixedSize(builder, loc, value, /*dim=*/0));
    sizes.back() = builder.getIndexAttr(columns);
    return tensor::ExtractSliceOp::create(builder, loc, value, offsets, sizes,
                                          ones);
  }
  AffineExpr start;
  bindSymbols(builder.getContext(), start);
  offsets.insert(offsets.begin(),
                 affine::makeComposedFoldedAffineApply(
                     builder, loc, start.floorDiv(columns), {offset}));
  if (loop.tile > columns && loop.tile % columns == 0) {
    sizes.insert(sizes.begin(),
                 affine::makeComposedFoldedAffineApply(
                     builder, loc, start.ceilDiv(columns), {sizes.back()}));
    sizes.back() = builder.getIndexAttr(columns);
    return tensor::ExtractSliceOp::create(builder, loc, value, offsets, sizes,
                                          ones);
  }
  position.panels.erase(tensor);
  if (loop.tile != columns)
    return Value();
  SmallVector<int64_t> shape;
  for (OpFoldResult size : sizes)
    shape.push_back(getConstantIntValue(size).value_or(ShapedType::kDynamic));
  sizes.insert(sizes.begin(), builder.getIndexAttr(1));
  return tensor::ExtractSliceOp::create(
      builder, loc, RankedTensorType::get(shape, getElementTypeOrSelf(value)),
      value, offsets, sizes, ones);
}
