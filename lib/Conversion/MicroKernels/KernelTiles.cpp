//===- KernelTiles.cpp - Blocks cut into a kernel's tiles -----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelTiles.h"

#include "Chimera/Conversion/KernelPrefetch.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace chimera;

namespace {

/// A part of the iteration space.
struct Box {
  SmallVector<OpFoldResult> offsets;
  SmallVector<int64_t> sizes;

  bool isEmpty() const { return llvm::is_contained(sizes, 0); }
};

class TileEmitter {
public:
  TileEmitter(RewriterBase &rewriter, MicroKernelOp op,
              MicroKernelAttrInterface kernel, ArrayRef<int64_t> tile,
              ArrayRef<int64_t> extents, ArrayRef<PrefetchOp> prefetches);

  LogicalResult emit(SmallVectorImpl<MicroKernelOp> &edges);

private:
  LogicalResult emitTiles(ArrayRef<unsigned> loops, Box box);
  LogicalResult emitTile(const Box &box);
  void fetchShare(const Box &box);
  MicroKernelOp createPart(const Box &box);
  Value slice(Value operand, AffineMap map, const Box &box);
  SmallVector<unsigned> orderLoops();
  bool cutsReduction();
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(rewriter, op.getLoc(), value);
  }

  RewriterBase &rewriter;
  MicroKernelOp op;
  MicroKernelAttrInterface kernel;
  SmallVector<int64_t> tile;
  ArrayRef<int64_t> extents;
  ArrayRef<PrefetchOp> prefetches;
  /// What whole tiles cover of each dimension.
  SmallVector<int64_t> covered;
  bool overwrites;
};

} // namespace

TileEmitter::TileEmitter(RewriterBase &rewriter, MicroKernelOp op,
                         MicroKernelAttrInterface kernel,
                         ArrayRef<int64_t> tile, ArrayRef<int64_t> extents,
                         ArrayRef<PrefetchOp> prefetches)
    : rewriter(rewriter), op(op), kernel(kernel), tile(tile), extents(extents),
      prefetches(prefetches), overwrites(op.getOverwrite()) {
  for (auto [size, extent] : llvm::zip_equal(this->tile, extents)) {
    if (ShapedType::isDynamic(size))
      size = extent;
    covered.push_back(extent / size * size);
  }
}

Value TileEmitter::slice(Value operand, AffineMap map, const Box &box) {
  if (!isa<MemRefType>(operand.getType()))
    return operand;
  SmallVector<OpFoldResult> offsets, sizes;
  for (unsigned i = 0; i < map.getNumResults(); ++i) {
    unsigned dim = map.getDimPosition(i);
    offsets.push_back(box.offsets[dim]);
    sizes.push_back(rewriter.getIndexAttr(box.sizes[dim]));
  }
  SmallVector<OpFoldResult> ones(sizes.size(), rewriter.getIndexAttr(1));
  return memref::SubViewOp::create(rewriter, op.getLoc(), operand, offsets,
                                   sizes, ones);
}

/// The micro kernel of `box`, without an implementation.
MicroKernelOp TileEmitter::createPart(const Box &box) {
  SmallVector<Value> operands;
  for (auto [map, operand] : llvm::zip_equal(op.getMaps(), op->getOperands()))
    operands.push_back(slice(operand, map, box));
  auto part = cast<MicroKernelOp>(rewriter.clone(*op));
  part.removeTapsAttr();
  part->setOperands(operands);
  part.removeExtentsAttr();
  part.removeImplementationAttr();
  part.removeOtherwiseAttr();
  part.setOverwrite(overwrites);
  return part;
}

/// True if several parts of a reduction add to the same results.
bool TileEmitter::cutsReduction() {
  return llvm::any_of(llvm::seq(op.getNumDims()), [&](unsigned dim) {
    return op.isReduction(dim) && tile[dim] != extents[dim];
  });
}

LogicalResult TileEmitter::emit(SmallVectorImpl<MicroKernelOp> &edges) {
  // The body would see another place in a part, and parts are strided.
  if (!op.getBody().getOps<IndexOp>().empty() ||
      !llvm::all_of(op->getOperandTypes(), [](Type type) {
        auto memref = dyn_cast<MemRefType>(type);
        return !memref || memref.isStrided();
      }))
    return failure();
  if (overwrites && cutsReduction()) {
    Type type = getElementTypeOrSelf(op.getOutput());
    Value zero = arith::ConstantOp::create(rewriter, op.getLoc(),
                                           rewriter.getZeroAttr(type));
    linalg::FillOp::create(rewriter, op.getLoc(), zero, op.getOutput());
    overwrites = false;
  }
  OpFoldResult start = rewriter.getIndexAttr(0);
  Box box = {SmallVector<OpFoldResult>(extents.size(), start), covered};
  if (!box.isEmpty() && failed(emitTiles(orderLoops(), box)))
    return failure();
  // What whole tiles leave of one dimension, as far as they cover those before.
  for (unsigned dim = 0; dim < extents.size(); ++dim) {
    Box edge = {box.offsets, llvm::to_vector(extents)};
    std::copy_n(covered.begin(), dim, edge.sizes.begin());
    edge.offsets[dim] = rewriter.getIndexAttr(covered[dim]);
    edge.sizes[dim] = extents[dim] - covered[dim];
    if (edge.isEmpty())
      continue;
    MicroKernelOp part = createPart(edge);
    if (MicroKernelAttrInterface otherwise = op.getOtherwiseAttr())
      part.setImplementationAttr(otherwise);
    edges.push_back(part);
  }
  return success();
}

/// The dimensions from the outside in: those that are not cut but repeated,
/// then columns around rows, so that what columns share stays near, then the
/// reductions.
SmallVector<unsigned> TileEmitter::orderLoops() {
  SmallVector<unsigned> loops, tiled, reductions;
  AffineMap output = op.getMaps().back();
  for (unsigned i = 0; i < output.getNumResults(); ++i) {
    unsigned dim = output.getDimPosition(i);
    if (tile[dim] == 1)
      loops.push_back(dim);
    else
      tiled.insert(tiled.begin(), dim);
  }
  for (unsigned dim = 0; dim < op.getNumDims(); ++dim)
    if (op.isReduction(dim))
      reductions.push_back(dim);
  llvm::append_range(loops, tiled);
  llvm::append_range(loops, reductions);
  return loops;
}

LogicalResult TileEmitter::emitTiles(ArrayRef<unsigned> loops, Box box) {
  if (loops.empty())
    return emitTile(box);
  unsigned dim = loops.front();
  box.sizes[dim] = tile[dim];
  if (covered[dim] == tile[dim])
    return emitTiles(loops.drop_front(), box);
  auto loop = scf::ForOp::create(rewriter, op.getLoc(), constant(0),
                                 constant(covered[dim]), constant(tile[dim]));
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(loop.getBody());
  box.offsets[dim] = loop.getInductionVar();
  return emitTiles(loops.drop_front(), box);
}

LogicalResult TileEmitter::emitTile(const Box &box) {
  fetchShare(box);
  MicroKernelOp part = createPart(box);
  rewriter.setInsertionPoint(part);
  if (failed(kernel.emit(rewriter, part, box.sizes, {})))
    return failure();
  rewriter.setInsertionPointAfter(part);
  rewriter.eraseOp(part);
  return success();
}

/// Asks for what falls to the tile of `box`, numbered in the order of `box`'s
/// dimensions.
void TileEmitter::fetchShare(const Box &box) {
  if (prefetches.empty())
    return;
  Location loc = op.getLoc();
  PrefetchShare share;
  share.iteration = constant(0);
  share.tile = constant(0);
  for (unsigned dim = 0; dim < extents.size(); ++dim) {
    auto offset = dyn_cast<Value>(box.offsets[dim]);
    if (!offset)
      continue;
    int64_t trips = covered[dim] / tile[dim];
    share.tiles *= trips;
    Value number =
        arith::DivUIOp::create(rewriter, loc, offset, constant(tile[dim]));
    Value before =
        arith::MulIOp::create(rewriter, loc, share.tile, constant(trips));
    share.tile = arith::AddIOp::create(rewriter, loc, before, number);
  }
  emitPrefetches(rewriter, loc, prefetches, share);
}

LogicalResult chimera::emitInTiles(RewriterBase &rewriter, MicroKernelOp op,
                                   MicroKernelAttrInterface kernel,
                                   ArrayRef<int64_t> tile,
                                   ArrayRef<int64_t> extents,
                                   ArrayRef<PrefetchOp> prefetches,
                                   SmallVectorImpl<MicroKernelOp> &edges) {
  return TileEmitter(rewriter, op, kernel, tile, extents, prefetches)
      .emit(edges);
}
