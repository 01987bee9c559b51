//===- ParallelLoops.cpp - What a chain runs on several cores -------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The parallel loops of a chain as one scf.forall, and the second nest that
// combines the parts of a split reduction.
//
//===----------------------------------------------------------------------===//

#include "Tile/TreeBuilder.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace chimera;

/// The leading loops that the schedule runs in parallel.
Value TreeBuilder::buildParallel(const TreePosition &position,
                                 Value destination) {
  if (split)
    return buildSplit(position, destination);
  return buildForall(
      ArrayRef(tree.loops).take_front(schedule.numParallel), position,
      {destination}, [&](const TreePosition &inner, const Carried &tiles) {
        return buildNest(tree, schedule.numParallel, inner, tiles,
                         /*initialised=*/false);
      })[0];
}

/// Where the tile of carried value number `index` lies in the whole; with a
/// `part`, in that part's share.
TreeBuilder::Slice TreeBuilder::sliceAt(unsigned index,
                                        const TreePosition &position,
                                        OpFoldResult part) const {
  Slice slice;
  if (part) {
    slice.offsets.push_back(part);
    slice.sizes.push_back(OpBuilder(chain).getIndexAttr(1));
  }
  for (model::LoopId dim :
       blocks.madeDimsOf(getCarriedTensor(lastOperator(), index))) {
    slice.offsets.push_back(position.offsets[dim]);
    slice.sizes.push_back(position.getSliceSize(dim));
  }
  slice.strides.assign(slice.offsets.size(), OpBuilder(chain).getIndexAttr(1));
  return slice;
}

Value TreeBuilder::extract(Value value, const Slice &slice, bool isParted) {
  unsigned rank = slice.offsets.size() - isParted;
  auto type = tensor::ExtractSliceOp::inferCanonicalRankReducedResultType(
      rank, cast<RankedTensorType>(value.getType()), slice.sizes);
  return tensor::ExtractSliceOp::create(
      builder, loc(), type, value, slice.offsets, slice.sizes, slice.strides);
}

/// True if the iterations of a parallel loop are taken from both ends by turns.
bool TreeBuilder::isFolded(const model::NestLoop &loop) const {
  return blocks.getForms().folds && loop.loop == problem.bands[0].row;
}

/// Where the iteration of `loop` begins that `iv` is the number of, in steps of
/// the loop, if they are taken from both ends by turns.
Value TreeBuilder::fold(const model::NestLoop &loop,
                        const TreePosition &position, Value iv) {
  AffineExpr at, extent;
  bindSymbols(builder.getContext(), at, extent);
  AffineExpr task = at.floorDiv(loop.tile),
             last = extent.ceilDiv(loop.tile) - 1;
  auto apply = [&](AffineExpr expr) {
    return getValueOrCreateConstantIndexOp(
        builder, loc(),
        affine::makeComposedFoldedAffineApply(
            builder, loc(), expr, {iv, position.extents[loop.loop]}));
  };
  Value isEven = arith::CmpIOp::create(
      builder, loc(), arith::CmpIPredicate::eq, apply(task % 2),
      arith::ConstantIndexOp::create(builder, loc(), 0));
  return arith::SelectOp::create(builder, loc(), isEven,
                                 apply(task.floorDiv(2) * loop.tile),
                                 apply((last - task.floorDiv(2)) * loop.tile));
}

/// `loops` as one scf.forall, of which each iteration updates its tiles of
/// `shared`: values that the last operator carries, or as many of them as the
/// split loop has parts.
TreeBuilder::Carried TreeBuilder::buildForall(ArrayRef<model::NestLoop> loops,
                                              const TreePosition &position,
                                              const Carried &shared,
                                              Body body) {
  SmallVector<OpFoldResult> lower, upper, step;
  for (const model::NestLoop &loop : loops) {
    lower.push_back(builder.getIndexAttr(0));
    upper.push_back(position.extents[loop.loop]);
    step.push_back(builder.getIndexAttr(loop.tile));
  }
  auto forall = scf::ForallOp::create(builder, loc(), lower, upper, step,
                                      shared, /*mapping=*/std::nullopt);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(forall.getBody());
  TreePosition inner = position;
  OpFoldResult part;
  for (auto [loop, iv] : llvm::zip_equal(loops, forall.getInductionVars())) {
    Value start = isFolded(loop) ? fold(loop, position, iv) : iv;
    inner = narrow(tree, loop, inner, start);
    if (problem.operators.back().rescaledBy != loop.loop)
      continue;
    AffineExpr first = builder.getAffineDimExpr(0);
    part = affine::makeComposedFoldedAffineApply(
        builder, loc(), first.floorDiv(loop.tile), {OpFoldResult(iv)});
  }
  // One slice from each shared tensor: what runs in parallel must not seem to
  // overlap.
  bool isParted = static_cast<bool>(part);
  SmallVector<Slice, 3> slices;
  Carried tiles;
  for (auto [index, whole] : llvm::enumerate(forall.getRegionIterArgs())) {
    slices.push_back(sliceAt(index, inner, part));
    tiles.push_back(extract(whole, slices.back(), isParted));
  }
  Carried results = body(inner, tiles);
  builder.setInsertionPointToStart(forall.getTerminator().getBody());
  for (auto [result, whole, slice] :
       llvm::zip_equal(results, forall.getRegionIterArgs(), slices))
    tensor::ParallelInsertSliceOp::create(builder, loc(), result, whole,
                                          slice.offsets, slice.sizes,
                                          slice.strides);
  return Carried(forall.getResults());
}

/// The parallel loops where one of them splits the reduction of a softmax, and
/// what makes one result of the parts.
Value TreeBuilder::buildSplit(const TreePosition &position, Value destination) {
  const model::NestLoop &loop = tree.loops[*split];
  int64_t numParts =
      llvm::divideCeil(problem.loops[loop.loop].extent, loop.tile);
  Carried parts;
  unsigned numCarried = 1 + problem.operators.back().states.size();
  for (unsigned index = 0; index < numCarried; ++index) {
    model::TensorId tensor = getCarriedTensor(lastOperator(), index);
    SmallVector<int64_t> shape = {numParts};
    llvm::append_range(shape, problem.tensors[tensor].shape);
    // Empty tensors of one shape would become one.
    parts.push_back(bufferization::AllocTensorOp::create(
        builder, loc(), RankedTensorType::get(shape, blocks.getSumType()),
        ValueRange()));
  }
  parts = buildForall(
      ArrayRef(tree.loops).take_front(schedule.numParallel), position, parts,
      [&](const TreePosition &inner, const Carried &tiles) {
        return buildNest(tree, schedule.numParallel, inner, tiles,
                         /*initialised=*/false);
      });
  SmallVector<model::NestLoop> others(
      ArrayRef(tree.loops).take_front(schedule.numParallel));
  others.erase(others.begin() + *split);
  auto combine = [&](const TreePosition &inner, const Carried &tiles) {
    return Carried{buildCombined(inner, parts, tiles[0])};
  };
  if (others.empty())
    return combine(position, {destination})[0];
  return buildForall(others, position, {destination}, combine)[0];
}

/// What `parts` have come to in one tile of the result, finished.
Value TreeBuilder::buildCombined(const TreePosition &position,
                                 const Carried &parts, Value destination) {
  unsigned last = lastOperator();
  Carried carried = {blocks.buildFill(last, problem.operators[last].output, 0,
                                      position,
                                      startSums(last, position, destination))};
  startStates(position, carried);
  Value zero = arith::ConstantIndexOp::create(builder, loc(), 0);
  Value one = arith::ConstantIndexOp::create(builder, loc(), 1);
  Value numParts = arith::ConstantIndexOp::create(
      builder, loc(), cast<RankedTensorType>(parts[0].getType()).getDimSize(0));
  auto forOp = scf::ForOp::create(builder, loc(), zero, numParts, one, carried);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(forOp.getBody());
    OpFoldResult part = forOp.getInductionVar();
    Carried own;
    for (auto [index, whole] : llvm::enumerate(parts))
      own.push_back(extract(whole, sliceAt(index, position, part),
                            /*isParted=*/true));
    Carried combined(forOp.getRegionIterArgs());
    softmax.combine(position, own, combined);
    scf::YieldOp::create(builder, loc(), combined);
  }
  TreePosition finished = position;
  for (unsigned index = 1; index < forOp.getNumResults(); ++index)
    finished.tensors[getCarriedTensor(last, index)] = forOp.getResult(index);
  return blocks.buildEpilogue(last, finished, forOp.getResult(0), destination);
}
