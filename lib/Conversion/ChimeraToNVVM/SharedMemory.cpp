//===- SharedMemory.cpp - Tiles in shared memory --------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedMemory.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

#include <numeric>

using namespace mlir;
using namespace chimera;

/// Copies of a thread from one tile that may become straight code: addresses of
/// more take too many registers.
static constexpr int64_t maxUnrolledRounds = 8;

int64_t GlobalTile::alignedElements(int64_t limit) const {
  int64_t pitch = memref.getType().getShape().back();
  int64_t common = std::gcd(std::gcd(pitch, divisor), limit);
  return common & -common;
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

void SharedMemory::create() {
  if (program.getTiles().empty())
    return;
  OpBuilder &builder = kernel.builder;
  auto space = gpu::AddressSpaceAttr::get(builder.getContext(),
                                          gpu::AddressSpace::Workgroup);
  auto bytes = MemRefType::get({ShapedType::kDynamic}, builder.getI8Type(),
                               MemRefLayoutAttrInterface(), space);
  Value whole = gpu::DynamicSharedMemoryOp::create(builder, kernel.loc, bytes);
  for (auto &[source, tile] : program.getTiles()) {
    auto type = MemRefType::get({tile.stages, tile.rows, tile.columns},
                                getElementTypeOrSelf(source.getType()),
                                MemRefLayoutAttrInterface(), space);
    Place &place = places[source];
    place.memref =
        memref::ViewOp::create(builder, kernel.loc, type, whole,
                               kernel.constant(tile.byteOffset), ValueRange())
            .getResult();
    place.stage = kernel.constant(0);
  }
}

/// Where chunk `chunk` of row `row` lies, as a chunk of that row.
Value SharedMemory::swizzle(const SharedTile &tile, Value row, Value chunk) {
  Swizzle swizzle(tile.chunksPerRow());
  if (swizzle.mask == 0)
    return chunk;
  Value key = kernel.div(kernel.rem(row, bankGroups), 1 << swizzle.shift);
  return kernel.exclusiveOr(chunk, key);
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

void SharedMemory::commit() {
  NVVM::CpAsyncCommitGroupOp::create(kernel.builder, kernel.loc);
}

void SharedMemory::await(int64_t groups) {
  NVVM::CpAsyncWaitGroupOp::create(
      kernel.builder, kernel.loc,
      kernel.builder.getI32IntegerAttr(static_cast<int32_t>(groups)));
  synchronize();
}

void SharedMemory::synchronize() {
  gpu::BarrierOp::create(kernel.builder, kernel.loc);
}

void SharedMemory::fill(const SharedTile &tile, Value stage,
                        const GlobalTile &from) {
  int64_t width = from.alignedElements(chunkElements);
  int64_t units = tile.rows * tile.columns / width;
  int64_t threads = kernel.layout.threads();
  int64_t rounds = units / threads;
  OpBuilder &builder = kernel.builder;
  if (rounds > 0) {
    auto loop = scf::ForOp::create(builder, kernel.loc, kernel.constant(0),
                                   kernel.constant(rounds), kernel.constant(1));
    if (rounds > maxUnrolledRounds)
      KernelBuilder::keepRolled(loop);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value first = kernel.mul(loop.getInductionVar(), threads);
    copyUnit(tile, stage, from, kernel.add(first, kernel.thread), width);
  }
  if (units % threads == 0)
    return;
  Value left = kernel.constant(units % threads);
  kernel.createIf(kernel.isLess(kernel.thread, left), [&] {
    copyUnit(tile, stage, from, kernel.add(kernel.thread, rounds * threads),
             width);
  });
}

/// How many of the `width` elements from `row` and `column` on exist; null if
/// all do, for all rows and columns of `tile`.
Value SharedMemory::countValid(const SharedTile &tile, const GlobalTile &from,
                               Value row, Value column, int64_t width) {
  Value rows = from.sizes[tile.rowDim], columns = from.sizes.back();
  bool hasRows = getConstantIntValue(rows) == tile.rows;
  bool hasColumns = getConstantIntValue(columns) == tile.columns;
  if (hasRows && hasColumns)
    return {};
  Value all = kernel.constant(width), none = kernel.constant(0);
  Value count = all;
  if (!hasColumns)
    count = kernel.min(kernel.max(kernel.sub(columns, column), none), all);
  if (!hasRows)
    count = kernel.select(kernel.isLess(row, rows), count, none);
  return count;
}

/// Copies unit number `unit` of `width` elements, counted row by row.
void SharedMemory::copyUnit(const SharedTile &tile, Value stage,
                            const GlobalTile &from, Value unit, int64_t width) {
  OpBuilder &builder = kernel.builder;
  Place &place = places[tile.source];
  int64_t unitsPerRow = tile.columns / width;
  Value row = kernel.div(unit, unitsPerRow);
  Value column = kernel.mul(kernel.rem(unit, unitsPerRow), width);
  SmallVector<Value> source(from.offsets);
  source[tile.rowDim] = kernel.add(source[tile.rowDim], row);
  source.back() = kernel.add(source.back(), column);
  Value chunk = swizzle(tile, row, kernel.div(column, chunkElements));
  Value within = kernel.rem(column, chunkElements);
  SmallVector<Value> destination = {
      stage, row, kernel.add(kernel.mul(chunk, chunkElements), within)};
  Value valid = countValid(tile, from, row, column, width);
  if (width == 1)
    return copyElement(valid, from, source, place.memref, destination);
  UnitAttr bypass = width == chunkElements ? builder.getUnitAttr() : UnitAttr();
  auto token = nvgpu::DeviceAsyncTokenType::get(builder.getContext());
  nvgpu::DeviceAsyncCopyOp::create(builder, kernel.loc, token, place.memref,
                                   destination, from.memref, source,
                                   builder.getIndexAttr(width), valid, bypass);
}

/// Asynchronous copies have at least four bytes.
void SharedMemory::copyElement(Value valid, const GlobalTile &from,
                               ValueRange source, Value to,
                               ValueRange destination) {
  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc;
  auto load = [&] {
    return memref::LoadOp::create(builder, loc, from.memref, source);
  };
  if (!valid) {
    memref::StoreOp::create(builder, loc, load(), to, destination);
    return;
  }
  Type type = from.memref.getType().getElementType();
  Value isValid = kernel.isLess(kernel.constant(0), valid);
  auto ifOp = scf::IfOp::create(builder, loc, type, isValid,
                                /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    scf::YieldOp::create(builder, loc, load().getResult());
    builder.setInsertionPointToStart(ifOp.elseBlock());
    Value zero =
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
    scf::YieldOp::create(builder, loc, zero);
  }
  memref::StoreOp::create(builder, loc, ifOp.getResult(0), to, destination);
}

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

Value SharedMemory::load(const SharedTile &tile, Value row, Value chunk,
                         MatrixOrder order, bool isTransposed) {
  OpBuilder &builder = kernel.builder;
  // getLdmatrixAddress, in generated code.
  Value second = kernel.rem(kernel.div(kernel.lane, 8), 2);
  Value third = kernel.div(kernel.lane, 16);
  if (order == MatrixOrder::ByChunks)
    std::swap(second, third);
  Value rowInSquare =
      kernel.add(kernel.rem(kernel.lane, 8), kernel.mul(second, 8));
  // Before an even chunk is added: the one bit it leaves, and the key.
  Value chunkInSquare = swizzle(tile, rowInSquare, third);
  Value column =
      kernel.mul(kernel.exclusiveOr(chunk, chunkInSquare), chunkElements);
  auto type = VectorType::get({4, 2}, getElementTypeOrSelf(tile.source));
  Place &place = places[tile.source];
  return nvgpu::LdMatrixOp::create(
      builder, kernel.loc, type, place.memref,
      ValueRange{place.stage, kernel.add(row, rowInSquare), column},
      isTransposed, /*numTiles=*/4);
}
