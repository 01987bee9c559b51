//===- Prefetch.cpp - What the next iteration reads -----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernels/Prefetch.h"

#include "Chimera/IR/ElementBytes.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace chimera;

/// What cuts `source` out of a larger tensor, sources first: slices and the
/// arithmetic of their offsets and sizes.
static SetVector<Operation *> getCuts(Value source) {
  SetVector<Operation *> cuts;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitUsesFromAbove = false;
  options.filter = [](Operation *op) {
    return isa<tensor::ExtractSliceOp>(op) ||
           (op->getNumRegions() == 0 && isPure(op) &&
            op->getNumResults() == 1 && op->getResult(0).getType().isIndex());
  };
  if (failed(getBackwardSlice(source, &cuts, options)))
    cuts.clear();
  return cuts;
}

/// The operations among `cuts` that `iv` changes, in order.
static SmallVector<Operation *> getChanged(const SetVector<Operation *> &cuts,
                                           Value iv) {
  llvm::SmallPtrSet<Operation *, 8> known;
  SmallVector<Operation *> changed;
  for (Operation *op : cuts)
    if (llvm::any_of(op->getOperands(), [&](Value operand) {
          return operand == iv || known.contains(operand.getDefiningOp());
        })) {
      known.insert(op);
      changed.push_back(op);
    }
  return changed;
}

Value chimera::getNextIteration(OpBuilder &builder, LoopLikeOpInterface loop) {
  Location loc = loop.getLoc();
  auto get = [&](std::optional<SmallVector<OpFoldResult>> values) {
    return getValueOrCreateConstantIndexOp(builder, loc, values->back());
  };
  Value iv = loop.getLoopInductionVars()->back();
  Value next =
      arith::AddIOp::create(builder, loc, iv, get(loop.getLoopSteps()));
  Value isLeft = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                       next, get(loop.getLoopUpperBounds()));
  return arith::SelectOp::create(builder, loc, isLeft, next, iv);
}

Ahead chimera::moveAhead(OpBuilder &builder, Value source,
                         ArrayRef<int64_t> bounds, Value iv, Value iteration) {
  SmallVector<Operation *> changed = getChanged(getCuts(source), iv);
  if (changed.empty())
    return Ahead();
  IRMapping mapping;
  mapping.map(iv, iteration);
  for (Operation *op : changed)
    builder.clone(*op, mapping);
  return {mapping.lookup(source), llvm::to_vector(bounds)};
}

Value chimera::getUncut(Value source, ArrayRef<int64_t> bounds) {
  while (auto slice = source.getDefiningOp<tensor::ExtractSliceOp>()) {
    // Of a slice of all there is it does not matter how much that is.
    bool isAll = slice.getSourceType() == slice.getType() &&
                 llvm::all_of(slice.getMixedOffsets(), isZeroInteger);
    if (slice.getSourceType().getShape() != bounds && !isAll)
      break;
    source = slice.getSource();
  }
  return source;
}

Ahead chimera::findAhead(OpBuilder &builder, Value source,
                         ArrayRef<int64_t> bounds) {
  SetVector<Operation *> cuts = getCuts(source);
  Operation *around = builder.getInsertionBlock()->getParentOp();
  for (auto loop = dyn_cast<scf::ForOp>(around); loop;
       loop = dyn_cast<scf::ForOp>(loop->getParentOp())) {
    Value iv = loop.getInductionVar();
    if (!getChanged(cuts, iv).empty())
      return moveAhead(builder, source, bounds, iv,
                       getNextIteration(builder, loop));
  }
  return Ahead();
}

/// True if all of the last dimension of what `tile` is cut from is in it.
static bool hasWholeRows(Value tile) {
  int64_t size = cast<RankedTensorType>(tile.getType()).getShape().back();
  while (auto slice = tile.getDefiningOp<tensor::ExtractSliceOp>()) {
    tile = slice.getSource();
    if (slice.getSourceType().getShape().back() != size ||
        slice.getType().getShape().back() != size)
      return false;
  }
  return !ShapedType::isDynamic(size);
}

Ahead chimera::joinShortRows(OpBuilder &builder, Ahead ahead) {
  constexpr int64_t shortRow = 16;
  int64_t rank = ahead.bounds.size();
  Type element = getElementTypeOrSelf(ahead.tile);
  if (rank < 3 || ahead.bounds.back() * bytesOf(element) > shortRow ||
      !hasWholeRows(ahead.tile))
    return ahead;
  SmallVector<ReassociationIndices> groups;
  for (int64_t dim = 0; dim + 1 < rank; ++dim)
    groups.push_back({dim});
  groups.back().push_back(rank - 1);
  int64_t words = ahead.bounds.pop_back_val();
  ahead.bounds.back() *= words;
  ahead.tile = tensor::CollapseShapeOp::create(builder, ahead.tile.getLoc(),
                                               ahead.tile, groups);
  return ahead;
}

/// At most `size` elements of dimension `dim` from `start` on, or as many as
/// are left.
static Ahead cutAhead(OpBuilder &builder, const Ahead &ahead, unsigned dim,
                      OpFoldResult start, int64_t size) {
  Location loc = ahead.tile.getLoc();
  MLIRContext *context = builder.getContext();
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(builder, loc, ahead.tile);
  SmallVector<OpFoldResult> offsets(sizes.size(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> ones(sizes.size(), builder.getIndexAttr(1));
  AffineExpr extent, first;
  bindSymbols(context, extent, first);
  offsets[dim] = affine::makeComposedFoldedAffineMin(
      builder, loc, AffineMap::get(0, 2, {extent - 1, first}, context),
      {sizes[dim], start});
  sizes[dim] = affine::makeComposedFoldedAffineMin(
      builder, loc,
      AffineMap::get(0, 2,
                     {extent - first, getAffineConstantExpr(size, context)},
                     context),
      {sizes[dim], offsets[dim]});
  Ahead part = {tensor::ExtractSliceOp::create(builder, loc, ahead.tile,
                                               offsets, sizes, ones),
                ahead.bounds};
  part.bounds[dim] = std::min(part.bounds[dim], size);
  return part;
}

/// The share of the iteration at `iv` of a loop of up to `trips` steps of
/// `step`.
static Ahead shareAhead(OpBuilder &builder, const Ahead &ahead, Value iv,
                        int64_t step, int64_t trips) {
  // Lines lie along the last dimension: cut across the longest other one.
  if (trips <= 1 || ahead.bounds.size() < 2)
    return ahead;
  unsigned dim =
      std::distance(ahead.bounds.begin(),
                    llvm::max_element(ArrayRef(ahead.bounds).drop_back()));
  int64_t share = llvm::divideCeilSigned(ahead.bounds[dim], trips);
  AffineExpr place;
  bindSymbols(builder.getContext(), place);
  OpFoldResult start = affine::makeComposedFoldedAffineApply(
      builder, ahead.tile.getLoc(), place.floorDiv(step) * share,
      {OpFoldResult(iv)});
  return cutAhead(builder, ahead, dim, start, share);
}

/// The most iterations that `loop` has; none if that is not known.
static std::optional<int64_t> getMostTrips(scf::ForOp loop) {
  std::optional<int64_t> step = getConstantIntValue(loop.getStep());
  FailureOr<int64_t> end = ValueBoundsConstraintSet::computeConstantBound(
      presburger::BoundType::UB, loop.getUpperBound(),
      /*stopCondition=*/nullptr, /*closedUB=*/true);
  if (!step || failed(end))
    return std::nullopt;
  return llvm::divideCeilSigned(*end, *step);
}

void chimera::letFetch(MicroKernelOp kernel, Ahead ahead, Operation *outside) {
  SmallVector<scf::ForOp> loops;
  for (Operation *around = kernel->getParentOp(); around != outside;
       around = around->getParentOp()) {
    auto loop = dyn_cast<scf::ForOp>(around);
    if (!loop || !getMostTrips(loop))
      return;
    loops.push_back(loop);
  }
  OpBuilder builder(kernel);
  for (scf::ForOp loop : llvm::reverse(loops))
    ahead =
        shareAhead(builder, ahead, loop.getInductionVar(),
                   *getConstantIntValue(loop.getStep()), *getMostTrips(loop));
  PrefetchOp::create(builder, kernel.getLoc(), ahead.tile, ahead.bounds);
}
