//===- KernelPrefetch.cpp - What kernels fetch for later ------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Conversion/KernelPrefetch.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace chimera;

namespace {

/// The prefetches of one tile.
class PrefetchEmitter {
public:
  PrefetchEmitter(OpBuilder &builder, Location loc, PrefetchOp prefetch,
                  const PrefetchShare &share)
      : builder(builder), loc(loc), prefetch(prefetch), share(share) {}

  void emit() {
    auto type = dyn_cast<MemRefType>(prefetch.getSource().getType());
    if (!type || prefetch.getBounds().size() < 2)
      return;
    countIterations();
    if (isGapless() || !emitBlocks())
      emitEvenly();
  }

private:
  void emitEvenly();
  bool emitBlocks();
  void emitLine(Value row, Value line);

  void countIterations();
  bool isGapless();
  int64_t lineElements();
  /// Lines that a row of the tile takes.
  int64_t countLines() {
    return llvm::divideCeilSigned(prefetch.getBounds().back(), lineElements());
  }
  int64_t countRows() {
    return prefetch.getBounds()[prefetch.getBounds().size() - 2];
  }
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  Value add(Value index, int64_t offset) {
    if (offset == 0)
      return index;
    return arith::AddIOp::create(builder, loc, index, constant(offset));
  }
  Value scale(Value value, int64_t factor) {
    return arith::MulIOp::create(builder, loc, value, constant(factor));
  }

  OpBuilder &builder;
  Location loc;
  PrefetchOp prefetch;
  PrefetchShare share;
  /// The first dimensions of what is fetched that are as long as the loops
  /// around: each of their iterations fetches matrices of its own.
  size_t following = 0;
};

} // namespace

int64_t PrefetchEmitter::lineElements() {
  return share.lineBytes * 8 /
         getElementTypeOrSelf(prefetch.getSource()).getIntOrFloatBitWidth();
}

/// True if the rows of the tile follow each other without a gap.
bool PrefetchEmitter::isGapless() {
  auto type = cast<MemRefType>(prefetch.getSource().getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  return succeeded(type.getStridesAndOffset(strides, offset)) &&
         strides.back() == 1 &&
         strides[strides.size() - 2] == prefetch.getBounds().back();
}

/// Iterations of loops that no dimension follows are parts of the tile's.
void PrefetchEmitter::countIterations() {
  ArrayRef<int64_t> matrices = prefetch.getBounds().drop_back(2);
  size_t both = std::min(matrices.size(), share.outer.size());
  while (following < both &&
         matrices[following] == share.outer[following].second)
    ++following;
  int64_t inside = share.iterations;
  for (auto [iv, trips] :
       llvm::reverse(ArrayRef(share.outer).drop_front(following))) {
    share.iteration =
        arith::AddIOp::create(builder, loc, scale(iv, inside), share.iteration);
    inside *= trips;
  }
  share.iterations = inside;
}

/// Each tile of the kernel takes as many of the lines as the others. Within the
/// tile, lines follow the iterations.
void PrefetchEmitter::emitEvenly() {
  int64_t lines = countLines();
  int64_t inAll =
      isGapless()
          ? llvm::divideCeilSigned(countRows() * prefetch.getBounds().back(),
                                   lineElements())
          : lines * countRows();
  int64_t count = llvm::divideCeilSigned(inAll, share.tiles * share.iterations);
  Value iteration = arith::AddIOp::create(
      builder, loc, scale(share.tile, share.iterations), share.iteration);
  Value first = scale(iteration, count), width = constant(lines);
  for (int64_t i = 0; i < count; ++i) {
    Value line = add(first, i);
    if (isGapless())
      emitLine(constant(0), line);
    else
      emitLine(arith::DivUIOp::create(builder, loc, line, width),
               arith::RemUIOp::create(builder, loc, line, width));
  }
}

/// Each tile of the kernel takes some of the columns, of some of the rows where
/// there are more tiles than columns: an address is one addition. Fails if that
/// leaves tiles without a part, and shifts are enough to find one for them.
bool PrefetchEmitter::emitBlocks() {
  int64_t lines = countLines();
  int64_t tilesOfColumn = std::max<int64_t>(1, share.tiles / lines);
  int64_t columnsOfTile = llvm::divideCeilSigned(lines, share.tiles);
  int64_t rows = llvm::divideCeilSigned(countRows(), tilesOfColumn);
  int64_t rowsOfIteration = llvm::divideCeilSigned(rows, share.iterations);
  bool someAreIdle = share.tiles * columnsOfTile > lines * tilesOfColumn;
  if (someAreIdle && llvm::isPowerOf2_64(lines))
    return false;
  Value parts = constant(tilesOfColumn);
  Value column = scale(arith::DivUIOp::create(builder, loc, share.tile, parts),
                       columnsOfTile);
  Value part = arith::RemUIOp::create(builder, loc, share.tile, parts);
  Value row = arith::AddIOp::create(builder, loc, scale(part, rows),
                                    scale(share.iteration, rowsOfIteration));
  for (int64_t i = 0; i < rowsOfIteration; ++i)
    for (int64_t j = 0; j < columnsOfTile; ++j)
      emitLine(add(row, i), add(column, j));
  return true;
}

/// Asks for line `line` of row `row`. What is outside the tile is harmless.
void PrefetchEmitter::emitLine(Value row, Value line) {
  size_t rank = prefetch.getBounds().size();
  SmallVector<Value> position(rank, constant(0));
  for (size_t dim = 0; dim < following; ++dim)
    position[dim] = share.outer[dim].first;
  position[rank - 2] = row;
  position.back() = scale(line, lineElements());
  // Into the second level: the first is for what is used now.
  memref::PrefetchOp::create(builder, loc, prefetch.getSource(), position,
                             /*isWrite=*/false, /*localityHint=*/2,
                             /*isDataCache=*/true);
}

void chimera::emitPrefetches(OpBuilder &builder, Location loc,
                             ArrayRef<PrefetchOp> prefetches,
                             const PrefetchShare &share) {
  for (PrefetchOp prefetch : prefetches)
    PrefetchEmitter(builder, loc, prefetch, share).emit();
}
