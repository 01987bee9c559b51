//===- Tile.cpp - Which part of which tensor a kernel sees ----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tile.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace chimera;
using namespace chimera::ascend;

FailureOr<TileRef> ascend::traceTile(Code &code, Value memref) {
  if (auto cast = memref.getDefiningOp<memref::CastOp>())
    return traceTile(code, cast.getSource());
  if (auto subview = memref.getDefiningOp<memref::SubViewOp>()) {
    FailureOr<TileRef> tile = traceTile(code, subview.getSource());
    if (failed(tile) ||
        !llvm::all_of(subview.getMixedStrides(), [](OpFoldResult stride) {
          return isConstantIntValue(stride, 1);
        }))
      return failure();
    llvm::SmallBitVector dropped = subview.getDroppedDims();
    SmallVector<unsigned> dims;
    for (auto [index, dim] : llvm::enumerate(tile->dims)) {
      Value start = code.number(subview.getMixedOffsets()[index]);
      tile->offsets[dim] =
          getAsOpFoldResult(code.add(code.number(tile->offsets[dim]), start));
      tile->sizes[dim] = subview.getMixedSizes()[index];
      if (!dropped[index])
        dims.push_back(dim);
    }
    tile->dims = dims;
    return tile;
  }
  auto type = dyn_cast<MemRefType>(memref.getType());
  auto windows = memref.getDefiningOp<memref::ReinterpretCastOp>();
  Value root = windows ? windows.getSource() : memref;
  bool isOnChip = root.getDefiningOp<memref::AllocOp>() != nullptr;
  bool isRoot = isOnChip || isa<BlockArgument>(memref);
  if (!type || !isRoot || !type.hasStaticShape())
    return failure();
  TileRef tile;
  tile.root = root;
  int64_t offset = 0;
  if (failed(type.getStridesAndOffset(tile.strides, offset)) || offset != 0 ||
      llvm::any_of(tile.strides, ShapedType::isDynamic) ||
      (isOnChip && !tile.getRootType().getLayout().isIdentity()))
    return failure();
  tile.showsWindows = !type.getLayout().isIdentity();
  bool isRow = type.getRank() == 1;
  if (isRow) {
    tile.shape.push_back(1);
    tile.strides.insert(tile.strides.begin(), type.getDimSize(0));
  }
  llvm::append_range(tile.shape, type.getShape());
  for (auto [dim, size] : llvm::enumerate(tile.shape)) {
    tile.offsets.push_back(code.builder.getIndexAttr(0));
    tile.sizes.push_back(code.builder.getIndexAttr(size));
    if (!isRow || dim > 0)
      tile.dims.push_back(dim);
  }
  return tile;
}

Value ascend::getWhole(Value memref) {
  while (auto subview = memref.getDefiningOp<memref::SubViewOp>())
    memref = subview.getSource();
  return memref;
}

int64_t ascend::getStride(const TileRef &tile, unsigned dim) {
  return tile.strides[dim];
}

Value ascend::getLinearOffset(Code &code, const TileRef &tile) {
  Value sum = code.number(0);
  for (auto [dim, offset] : llvm::enumerate(tile.offsets))
    sum = code.add(sum, code.mul(code.number(offset), getStride(tile, dim)));
  return sum;
}
