//===- SharedMemory.cpp - Tiles in shared memory --------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedMemory.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace chimera;

/// Copies of a thread from one tile that are straight code; of more, half as
/// many are an iteration of a loop. In a loop ptxas orders a cp.async after
/// what was read before, which takes as long as three loads from shared memory.
/// If each needs an address of its own, a quarter: these take registers.
static constexpr int64_t straightRounds = 32;
/// Threads that may be idle for whole rows in a round: one of so many.
static constexpr int64_t idleShare = 4;

/// Asynchronous copies have at least four bytes, of neighbours in memory. What
/// is less goes element by element.
static constexpr int64_t leastCopyBytes = 4;

/// Elements of `tile` that are copied at once.
static int64_t chooseWidth(const SharedTile &tile, const GlobalTile &from) {
  int64_t width = from.alignedElements(tile.chunkElements());
  bool isShort = width * tile.elementBytes < leastCopyBytes;
  return tile.isTurned || isShort ? 1 : width;
}

SharedMemory::CopyPlan::CopyPlan(const SharedTile &tile, Value stage,
                                 const GlobalTile &from, int64_t allThreads)
    : tile(tile), stage(stage), from(from), width(chooseWidth(tile, from)),
      threads(allThreads) {
  int64_t idle = allThreads % unitsPerRow();
  hasWholeRows = idle * idleShare <= allThreads;
  if (hasWholeRows)
    threads -= idle;
}

int64_t GlobalTile::alignedElements(int64_t limit) const {
  if (windows && !windows->hasPlainRows())
    return 1;
  int64_t pitch = memref.getType().getShape().back();
  int64_t common = std::gcd(std::gcd(pitch, divisor), limit);
  return common & -common;
}

GlobalTile::Element GlobalTile::at(KernelBuilder &kernel, unsigned rowDim,
                                   Value row, Value column) const {
  Element element;
  if (!windows) {
    element.indices = offsets;
    element.indices[rowDim] = kernel.add(element.indices[rowDim], row);
    element.indices.back() = kernel.add(element.indices.back(), column);
    return element;
  }
  for (const ImageWindows::Side &side : windows->sides)
    element.indices.push_back(kernel.constant(side.first));
  auto move = [&](unsigned dim, Value distance) {
    auto [along, step] = windows->steps[dim];
    element.indices[along] =
        kernel.add(element.indices[along], kernel.mul(distance, step));
  };
  // What differs from thread to thread comes last.
  for (auto [dim, offset] : llvm::enumerate(offsets))
    move(dim, offset);
  move(rowDim, row);
  move(rank() - 1, column);
  for (auto [index, side, extent] : llvm::zip_equal(
           element.indices, windows->sides, memref.getType().getShape())) {
    if (!side.isPadded)
      continue;
    Value isInside = kernel.isBelow(index, kernel.constant(extent));
    element.exists =
        element.exists ? kernel.both(element.exists, isInside) : isInside;
  }
  return element;
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
  whole = gpu::DynamicSharedMemoryOp::create(builder, kernel.loc, bytes);
  for (auto &[key, tile] : program.getTiles()) {
    auto type = MemRefType::get({tile.stages, tile.rows, tile.columns},
                                getElementTypeOrSelf(tile.source.getType()),
                                MemRefLayoutAttrInterface(), space);
    Place &place = places[&tile];
    place.memref =
        memref::ViewOp::create(builder, kernel.loc, type, whole,
                               kernel.constant(tile.byteOffset), ValueRange())
            .getResult();
    place.stage = kernel.constant(0);
  }
  int64_t offset = program.getTileBytes();
  if (kernel.layout.sharers > 1)
    kernel.scratch = viewRest(offset, program.getSharedBytes() - offset);
}

/// `bytes` from `offset` on as words of f32.
Value SharedMemory::viewRest(int64_t offset, int64_t bytes) {
  OpBuilder &builder = kernel.builder;
  auto space = cast<MemRefType>(whole.getType()).getMemorySpace();
  auto type = MemRefType::get({bytes / 4}, builder.getF32Type(),
                              MemRefLayoutAttrInterface(), space);
  return memref::ViewOp::create(builder, kernel.loc, type, whole,
                                kernel.constant(offset), ValueRange());
}

Value SharedMemory::viewAsWords() {
  return viewRest(0, program.getSharedBytes());
}

/// The row of shared memory that row `row` of `tile` is: getColumnSlot, in
/// generated code, for each eight of a tile by slots.
Value SharedMemory::placeRow(const SharedTile &tile, Value row) {
  if (tile.layout != TileLayout::Slots)
    return row;
  Value within = kernel.rem(row, 8);
  Value slot =
      kernel.add(kernel.div(within, 2), kernel.mul(kernel.rem(within, 2), 4));
  return kernel.add(kernel.sub(row, within), slot);
}

/// The key of row `row` of shared memory.
Value SharedMemory::getKey(const SharedTile &tile, Value row) {
  Swizzle swizzle = tile.swizzle();
  if (swizzle.mask == 0)
    return kernel.constant(0);
  Value within = kernel.rem(row, bankGroups / swizzle.width);
  return kernel.mul(kernel.div(within, 1 << swizzle.shift), swizzle.width);
}

/// Where chunk `chunk` of row `row` of shared memory lies, as a chunk of that
/// row.
Value SharedMemory::swizzle(const SharedTile &tile, Value row, Value chunk) {
  if (tile.swizzle().mask == 0)
    return chunk;
  return kernel.exclusiveOr(chunk, getKey(tile, row));
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

void SharedMemory::commit() { kernel.commitCopies(); }

void SharedMemory::await(int64_t groups) {
  kernel.awaitCopies(groups);
  kernel.synchronize();
}

void SharedMemory::fill(const SharedTile &tile, Value stage,
                        const GlobalTile &from) {
  CopyPlan plan(tile, stage, from, kernel.layout.threads());
  auto copyAll = [&] {
    int64_t rounds = plan.units() / plan.threads;
    int64_t atOnce = plan.hasWholeRows ? straightRounds : straightRounds / 4;
    int64_t first = 0;
    if (rounds > atOnce) {
      first = rounds / (atOnce / 2) * (atOnce / 2);
      copyInLoop(plan, first, atOnce / 2);
    }
    for (int64_t round = first; round < rounds; ++round)
      copyRound(plan, kernel.constant(0), round);
    int64_t left = plan.units() % plan.threads;
    if (left != 0)
      kernel.createIf(kernel.isLess(kernel.thread, kernel.constant(left)),
                      [&] { copyRound(plan, kernel.constant(0), rounds); });
  };
  if (plan.threads == kernel.layout.threads())
    return copyAll();
  kernel.createIf(kernel.isLess(kernel.thread, kernel.constant(plan.threads)),
                  copyAll);
}

/// The first `rounds`, `step` in an iteration.
void SharedMemory::copyInLoop(const CopyPlan &plan, int64_t rounds,
                              int64_t step) {
  OpBuilder &builder = kernel.builder;
  auto loop =
      scf::ForOp::create(builder, kernel.loc, kernel.constant(0),
                         kernel.constant(rounds), kernel.constant(step));
  KernelBuilder::keepRolled(loop);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  for (int64_t round = 0; round < step; ++round)
    copyRound(plan, loop.getInductionVar(), round);
}

/// The unit of each thread in round `base` + `round`: units are counted row by
/// row, and neighbouring threads take neighbouring ones. `base` is a multiple
/// of rowsOfKeys. Where a round has whole rows, addresses of rounds differ by
/// constants.
void SharedMemory::copyRound(const CopyPlan &plan, Value base, int64_t round) {
  int64_t unitsPerRow = plan.unitsPerRow();
  if (plan.hasWholeRows) {
    int64_t rows = plan.threads / unitsPerRow, past = round * rows;
    Value row = kernel.add(kernel.div(kernel.thread, unitsPerRow),
                           kernel.constant(past % rowsOfKeys));
    Value down = kernel.add(kernel.mul(base, rows),
                            kernel.constant(past - past % rowsOfKeys));
    Value unit = kernel.rem(kernel.thread, unitsPerRow);
    return copyUnit(plan, row, down, kernel.mul(unit, plan.width));
  }
  Value unit = kernel.add(
      kernel.mul(kernel.add(base, kernel.constant(round)), plan.threads),
      kernel.thread);
  copyUnit(plan, kernel.div(unit, unitsPerRow), kernel.constant(0),
           kernel.mul(kernel.rem(unit, unitsPerRow), plan.width));
}

/// How many of the `width` elements from `row` and `column` on exist; null if
/// all do, for all rows and columns of `tile`. If it is given, `exists` says
/// whether those that the tile has are no padding.
Value SharedMemory::countValid(const SharedTile &tile, const GlobalTile &from,
                               Value row, Value column, int64_t width,
                               Value exists) {
  Value rows = from.sizes[tile.rowDim], columns = from.sizes.back();
  if (tile.isTurned)
    std::swap(rows, columns);
  bool hasRows = getConstantIntValue(rows) == tile.rows;
  bool hasColumns = getConstantIntValue(columns) == tile.columns;
  if (hasRows && hasColumns && !exists)
    return {};
  Value all = kernel.constant(width), none = kernel.constant(0);
  Value count = all;
  if (!hasColumns)
    count = kernel.min(kernel.max(kernel.sub(columns, column), none), all);
  if (!hasRows)
    count = kernel.select(kernel.isLess(row, rows), count, none);
  if (exists)
    count = kernel.select(exists, count, none);
  return count;
}

/// Copies the unit at `column` that is `down`, a multiple of rowsOfKeys, rows
/// below `row`: it has the key of that row.
void SharedMemory::copyUnit(const CopyPlan &plan, Value row, Value down,
                            Value column) {
  const SharedTile &tile = plan.tile;
  const GlobalTile &from = plan.from;
  OpBuilder &builder = kernel.builder;
  Place &place = places[&tile];
  int64_t chunkElements = tile.chunkElements();
  Value likeRow = placeRow(tile, row);
  Value ownRow = kernel.add(likeRow, down);
  Value chunk = swizzle(tile, likeRow, kernel.div(column, chunkElements));
  row = kernel.add(row, down);
  auto [source, exists] =
      from.at(kernel, tile.rowDim, tile.isTurned ? column : row,
              tile.isTurned ? row : column);
  Value within = kernel.rem(column, chunkElements);
  SmallVector<Value> destination = {
      plan.stage, ownRow, kernel.add(kernel.mul(chunk, chunkElements), within)};
  int64_t width = plan.width;
  Value valid = countValid(tile, from, row, column, width, exists);
  if (width * tile.elementBytes < leastCopyBytes)
    return copyElement(valid, from, source, place.memref, destination);
  UnitAttr bypass = width == chunkElements ? builder.getUnitAttr() : UnitAttr();
  auto token = nvgpu::DeviceAsyncTokenType::get(builder.getContext());
  nvgpu::DeviceAsyncCopyOp::create(builder, kernel.loc, token, place.memref,
                                   destination, from.memref, source,
                                   builder.getIndexAttr(width), valid, bypass);
}

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
                         MatrixOrder order, bool isTransposed, int64_t count) {
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
  Value column = kernel.mul(kernel.exclusiveOr(chunk, chunkInSquare),
                            tile.chunkElements());
  auto type = VectorType::get({count, 4 / tile.elementBytes},
                              getElementTypeOrSelf(tile.source));
  Place &place = places[&tile];
  kernel.reads.tiles.insert(&tile);
  return nvgpu::LdMatrixOp::create(
      builder, kernel.loc, type, place.memref,
      ValueRange{place.stage, kernel.add(row, rowInSquare), column},
      isTransposed, count);
}

Value SharedMemory::loadWords(const SharedTile &tile, Value row, Value column,
                              Value rowWithin, Value columnWithin,
                              int64_t count) {
  OpBuilder &builder = kernel.builder;
  Value ownRow = placeRow(tile, rowWithin);
  // The key changes the lowest of the squares' numbers: what is above them is
  // added to addresses that few squares have.
  Value key = kernel.mul(getKey(tile, ownRow), tile.chunkElements());
  Value low = kernel.rem(column, (tile.swizzle().mask + 1) * 8);
  Value ownColumn =
      kernel.add(kernel.add(kernel.exclusiveOr(low, key), columnWithin),
                 kernel.sub(column, low));
  Place &place = places[&tile];
  kernel.reads.tiles.insert(&tile);
  SmallVector<Value> at = {place.stage, kernel.add(row, ownRow), ownColumn};
  if (count == 1)
    return memref::LoadOp::create(builder, kernel.loc, place.memref, at);
  auto type = VectorType::get({count}, place.memref.getType().getElementType());
  auto load =
      vector::LoadOp::create(builder, kernel.loc, type, place.memref, at);
  load.setAlignment(count * tile.elementBytes);
  return load;
}
