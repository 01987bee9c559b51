//===- MaskedLoops.cpp - Loops without the tiles that masks rule out ------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which loops leave out the tiles where a mask is false everywhere, from where
// to where they run, and what is written where they do not.
//
//===----------------------------------------------------------------------===//

#include "Tile/TreeBuilder.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"

using namespace mlir;
using namespace chimera;

/// True if loop number `depth` of `nest` leaves out the tiles that masks do.
/// Around several operators that is the loop that rescales what the last one
/// has; around the maker or the reader of exponentials alone it is the
/// innermost loop of a mask. The reader's accumulators have to be `initialised`
/// outside.
bool TreeBuilder::isSkipping(const model::LoopNest &nest, unsigned depth,
                             bool initialised) const {
  const model::Operator &last = problem.operators[nest.lastOperator];
  model::LoopId own = nest.loops[depth].loop;
  if (nest.size() > 1)
    return last.rescaledBy == own;
  auto isOfMask = [&](const model::NestLoop &loop) {
    return llvm::any_of(problem.bands, [&](const model::Band &band) {
      return band.row == loop.loop || band.column == loop.loop;
    });
  };
  if (!blocks.getForms().clips || !isOfMask(nest.loops[depth]) ||
      llvm::any_of(ArrayRef(nest.loops).drop_front(depth + 1), isOfMask))
    return false;
  return analysis.operators[nest.lastOperator].exponential ||
         (last.rescaledBy && initialised);
}

/// From where to where `loop` runs: not over tiles that masks rule out for all
/// of `position`.
TreeBuilder::Bounds TreeBuilder::getBounds(const model::NestLoop &loop,
                                           const TreePosition &position) {
  Bounds bounds = {builder.getIndexAttr(0), position.extents[loop.loop]};
  // Of what tasks share, the first may be all that a mask leaves.
  auto isShared = [&](model::LoopId id) {
    return split && tree.loops[*split].loop == id;
  };
  AffineExpr own, other, size, limit;
  bindSymbols(builder.getContext(), own, other, size, limit);
  for (const model::Band &band : problem.bands) {
    bool isColumn = band.column == loop.loop;
    if (!isColumn && band.row != loop.loop)
      continue;
    // Columns from row + least to row + most count, for some row in the tile:
    // rows from column - most + 1 to column - least, for some column.
    std::optional<AffineExpr> begin, end;
    if (band.least)
      (isColumn ? begin : end) =
          isColumn ? other + *band.least : other + size - *band.least;
    if (band.most)
      (isColumn ? end : begin) =
          isColumn ? other + size - 1 + *band.most : other + 1 - *band.most;
    model::LoopId across = isColumn ? band.row : band.column;
    auto limitTo = [&](AffineExpr expr) {
      return AffineMap::get(0, 4, {limit, expr}, builder.getContext());
    };
    auto getOperands = [&](OpFoldResult bound) {
      return SmallVector<OpFoldResult>{position.offsets[loop.loop],
                                       position.offsets[across],
                                       position.extents[across], bound};
    };
    if (end) {
      bounds.isMasked = true;
      bounds.upper = affine::makeComposedFoldedAffineMin(
          builder, loc(), limitTo(*end - own), getOperands(bounds.upper));
      // A back end may count loops without a sign.
      int64_t first = isColumn ? *band.most : 1 - *band.least;
      if (first < 0 || isShared(loop.loop))
        bounds.upper = affine::makeComposedFoldedAffineMax(
            builder, loc(),
            AffineMap::get(0, 1, {builder.getAffineConstantExpr(0), own},
                           builder.getContext()),
            {bounds.upper});
    }
    if (begin)
      bounds.lower = affine::makeComposedFoldedAffineMax(
          builder, loc(),
          limitTo((*begin - own).floorDiv(loop.tile) * loop.tile),
          getOperands(bounds.lower));
  }
  return bounds;
}

/// Fills the tiles of a contraction that `loop` leaves out before and behind
/// `bounds`: what comes after it reads them, if only to replace them.
TreeBuilder::Carried TreeBuilder::fillAround(const model::LoopNest &nest,
                                             const model::NestLoop &loop,
                                             const TreePosition &position,
                                             const Bounds &bounds,
                                             Carried carried) {
  unsigned op = nest.lastOperator;
  OpFoldResult zero = builder.getIndexAttr(0),
               whole = position.extents[loop.loop];
  AffineExpr bound, extent;
  bindSymbols(builder.getContext(), bound, extent);
  OpFoldResult before = affine::makeComposedFoldedAffineMin(
      builder, loc(),
      AffineMap::get(0, 2, {bound, extent}, builder.getContext()),
      {bounds.lower, whole});
  OpFoldResult behind = affine::makeComposedFoldedAffineMax(
      builder, loc(),
      AffineMap::get(0, 1,
                     {builder.getAffineConstantExpr(0),
                      bound.ceilDiv(loop.tile) * loop.tile},
                     builder.getContext()),
      {bounds.upper});
  for (const Bounds &part : {Bounds{zero, before}, Bounds{behind, whole}})
    if (part.lower != part.upper)
      carried = buildLoop(
          nest, loop, position, part, carried,
          [&](const TreePosition &inner, const Carried &tiles) {
            return Carried{blocks.buildFill(op, problem.operators[op].output, 0,
                                            inner, tiles[0])};
          });
  return carried;
}
