//===- Streams.cpp - Results that go past the caches ----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A store past the caches takes a whole vector at a place that is a multiple of
// its size, or the processor traps. Strides say that rows start at such places
// if the first one does, and that is seen when the code runs.
//
//===----------------------------------------------------------------------===//

#include "MicroKernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace chimera;

/// Bytes of a vector of 32-bit lanes times what `type` has.
static int64_t bytesOfVector(Type type, const VectorFigures &figures) {
  return figures.lanes * type.getIntOrFloatBitWidth() / 8;
}

/// True if vectors along the last dimension of `type` start at multiples of
/// their size in each row, if they do in the first one.
static bool keepsAlignment(MemRefType type, const VectorFigures &figures) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)) || strides.empty() ||
      strides.back() != 1)
    return false;
  return llvm::all_of(ArrayRef(strides).drop_back(), [&](int64_t stride) {
    return !ShapedType::isDynamic(stride) && stride % figures.lanes == 0;
  });
}

/// The address of the first element of `memref`.
static Value emitAddress(OpBuilder &builder, Location loc, Value memref,
                         int64_t elementBytes) {
  auto parts = memref::ExtractStridedMetadataOp::create(builder, loc, memref);
  Value base =
      memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, memref);
  Value bytes = arith::ConstantIndexOp::create(builder, loc, elementBytes);
  Value offset = arith::MulIOp::create(builder, loc, parts.getOffset(), bytes);
  return arith::AddIOp::create(builder, loc, base, offset);
}

Value chimera::emitMayStream(OpBuilder &builder, MicroKernelOp op,
                             const VectorFigures &figures) {
  if (!op.getStreamed())
    return {};
  SmallVector<AffineMap> maps = op.getMaps();
  SmallVector<Value> written;
  for (auto [output, map] : llvm::zip_equal(
           op.getOutputs(), ArrayRef(maps).take_back(op.getOutputs().size())))
    if (map.getNumResults() == op.getNumDims())
      written.push_back(output);
  auto canStream = [&](Value output) {
    auto type = cast<MemRefType>(output.getType());
    return type.getElementType().isIntOrFloat() &&
           type.getElementTypeBitWidth() % 8 == 0 &&
           keepsAlignment(type, figures);
  };
  if (written.empty() || !llvm::all_of(written, canStream))
    return {};
  Location loc = op.getLoc();
  Value places;
  int64_t size = 1;
  for (Value output : written) {
    Type type = getElementTypeOrSelf(output);
    size = std::max(size, bytesOfVector(type, figures));
    Value address =
        emitAddress(builder, loc, output, type.getIntOrFloatBitWidth() / 8);
    places =
        places ? arith::OrIOp::create(builder, loc, places, address) : address;
  }
  Value mask = arith::ConstantIndexOp::create(builder, loc, size - 1);
  Value rest = arith::AndIOp::create(builder, loc, places, mask);
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, rest,
                               zero);
}
