//===- Halo.cpp - Intermediates that are read through windows -------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tile/Halo.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace chimera;

using Places = SmallVector<TreePosition::Place>;

HaloBuilder::HaloBuilder(OpBuilder &builder, BlockBuilder &blocks,
                         const ChainAnalysis &analysis,
                         const model::Schedule &schedule,
                         const model::LoopNest &tree, Location loc)
    : builder(builder), blocks(blocks), analysis(analysis),
      problem(analysis.problem), loc(loc) {
  for (const model::DerivedLoop &entry : model::derivedLoopsIn(problem, tree)) {
    followed.insert(entry.loop);
    for (const model::Term &term : entry.needed.terms)
      followed.insert(term.loop);
  }
  for (const model::Operator &op : problem.operators)
    for (const model::Access &input : op.inputs)
      if (problem.tensors[input].role == model::Role::Intermediate &&
          blocks.dimsOf(input) != blocks.madeDimsOf(input))
        readings[input] = &input;
  for (model::TensorId tensor : schedule.rolling)
    if (auto range = model::findRollingRange(problem, schedule, tree, tensor))
      rolls.push_back({tensor, range->derived, range->nest, {}, {}, {}});
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

void HaloBuilder::begin(TreePosition &start) const {
  start.places.resize(problem.loops.size());
  for (model::LoopId loop : followed)
    start.places[loop].push_back({0, problem.loops[loop].extent});
}

/// Removes what is there more than once.
static void makeUnique(SmallVectorImpl<TreePosition::Place> &places) {
  auto toPair = [](const TreePosition::Place &place) {
    return std::make_pair(place.offset, place.extent);
  };
  llvm::sort(places, [&](const auto &left, const auto &right) {
    return toPair(left) < toPair(right);
  });
  places.erase(llvm::unique(places,
                            [&](const auto &left, const auto &right) {
                              return toPair(left) == toPair(right);
                            }),
               places.end());
}

void HaloBuilder::narrow(const model::LoopNest &nest,
                         const model::NestLoop &loop,
                         TreePosition &position) const {
  advance(nest, loop, position);
  Places inside;
  for (auto [offset, extent] : position.places[loop.loop])
    for (int64_t first = 0; first < extent; first += loop.tile)
      inside.push_back({offset + first, std::min(loop.tile, extent - first)});
  makeUnique(inside);
  position.places[loop.loop] = std::move(inside);
}

/// Where the hull of what is `needed` can be.
static Places placesOf(const model::Index &needed, ArrayRef<Places> ofLoops) {
  Places places = {{needed.offset, 1}};
  for (const model::Term &term : needed.terms) {
    Places sums;
    for (const TreePosition::Place &place : places)
      for (const TreePosition::Place &own : ofLoops[term.loop])
        sums.push_back({place.offset + term.factor * own.offset,
                        place.extent + term.factor * (own.extent - 1)});
    makeUnique(sums);
    places = std::move(sums);
  }
  return places;
}

/// What `place` has of `size` elements.
static TreePosition::Place clip(TreePosition::Place place, int64_t size) {
  int64_t begin = std::max<int64_t>(place.offset, 0);
  return {begin, std::min(size, place.offset + place.extent) - begin};
}

/// Notes what is new, in each iteration of `loop`, of intermediates that roll
/// along it: what the last iteration did not need.
void HaloBuilder::advance(const model::LoopNest &nest,
                          const model::NestLoop &loop,
                          TreePosition &position) const {
  if (&loop != &nest.loops.back())
    return;
  auto ranges = model::derivedLoopsIn(problem, nest);
  for (const Roll &roll : rolls) {
    if (roll.nest != &nest)
      continue;
    Places fresh;
    for (auto [offset, extent] : position.places[loop.loop]) {
      int64_t made = 0;
      for (int64_t first = 0; first < extent; first += loop.tile) {
        SmallVector<Places> places = position.places;
        places[loop.loop] = {
            {offset + first, std::min(loop.tile, extent - first)}};
        for (const auto &[derived, needed] : ranges) {
          places[derived] = placesOf(needed, places);
          for (TreePosition::Place &place : places[derived])
            place = clip(place, problem.loops[derived].extent);
        }
        for (auto [begin, size] : places[roll.derived]) {
          int64_t end = begin + size;
          begin = std::min(std::max(begin, made), end);
          fresh.push_back({begin, end - begin});
          made = std::max(made, end);
        }
      }
    }
    makeUnique(fresh);
    position.places[roll.derived] = std::move(fresh);
  }
}

HaloBuilder::Roll *HaloBuilder::findRoll(model::LoopId derived) {
  for (Roll &roll : rolls)
    if (roll.derived == derived && roll.buffer)
      return &roll;
  return nullptr;
}

HaloBuilder::Hull HaloBuilder::findHull(const model::Index &needed,
                                        const TreePosition &position) const {
  AffineExpr origin = builder.getAffineConstantExpr(needed.offset),
             extent = builder.getAffineConstantExpr(1);
  SmallVector<OpFoldResult> offsets, extents;
  for (auto [index, term] : llvm::enumerate(needed.terms)) {
    AffineExpr symbol = builder.getAffineSymbolExpr(index);
    origin = origin + symbol * term.factor;
    extent = extent + (symbol - 1) * term.factor;
    offsets.push_back(position.offsets[term.loop]);
    extents.push_back(position.extents[term.loop]);
  }
  return {affine::makeComposedFoldedAffineApply(builder, loc, origin, offsets),
          affine::makeComposedFoldedAffineApply(builder, loc, extent, extents)};
}

void HaloBuilder::follow(const model::LoopNest &nest, TreePosition &position,
                         SmallVectorImpl<LoopOffset> &moved) {
  AffineExpr first, second;
  bindSymbols(builder.getContext(), first, second);
  auto limit = [&](AffineExpr expr, AffineExpr bound) {
    return AffineMap::get(0, 2, {expr, bound}, builder.getContext());
  };
  for (const auto &[loop, needed] : model::derivedLoopsIn(problem, nest)) {
    const Roll *roll = findRoll(loop);
    int64_t whole = problem.loops[loop].extent;
    if (!roll) {
      position.places[loop] = placesOf(needed, position.places);
      for (TreePosition::Place &place : position.places[loop])
        place = clip(place, whole);
      makeUnique(position.places[loop]);
    }
    ArrayRef<TreePosition::Place> places = position.places[loop];
    // Where nothing is new nothing is computed.
    llvm::SmallSetVector<int64_t, 4> possible;
    for (const TreePosition::Place &place : places)
      if (place.extent > 0)
        possible.insert(place.extent);
    position.possible[loop] = possible.takeVector();

    Hull hull = findHull(needed, position);
    OpFoldResult before = position.offsets[loop];
    OpFoldResult begin = builder.getIndexAttr(places.front().offset);
    OpFoldResult end = affine::makeComposedFoldedAffineMin(
        builder, loc,
        limit(first + second, builder.getAffineConstantExpr(whole)),
        {hull.origin, hull.extent});
    if (places.size() > 1)
      begin = affine::makeComposedFoldedAffineMax(
          builder, loc, limit(first, builder.getAffineConstantExpr(0)),
          {hull.origin, OpFoldResult(builder.getIndexAttr(0))});
    if (places.size() > 1 && roll) {
      begin = affine::makeComposedFoldedAffineMax(
          builder, loc, limit(first, second),
          {begin, OpFoldResult(roll->made)});
      begin = affine::makeComposedFoldedAffineMin(
          builder, loc, limit(first, second), {begin, end});
    }
    position.offsets[loop] = begin;
    bool isFixed = llvm::all_of(places, [&](const TreePosition::Place &place) {
      return place.extent == places.front().extent;
    });
    position.extents[loop] =
        isFixed ? OpFoldResult(builder.getIndexAttr(position.possible[loop][0]))
                : affine::makeComposedFoldedAffineApply(
                      builder, loc, first - second, {end, begin});
    moved.push_back({loop, affine::makeComposedFoldedAffineApply(
                               builder, loc, first - second, {begin, before})});
  }
}

//===----------------------------------------------------------------------===//
// Rolling
//===----------------------------------------------------------------------===//

/// The most elements that what is `needed` spans.
int64_t HaloBuilder::mostOf(const model::Index &needed,
                            const TreePosition &position) const {
  int64_t most = 1;
  for (const model::Term &term : needed.terms)
    most +=
        term.factor * (*llvm::max_element(position.possible[term.loop]) - 1);
  return most;
}

SmallVector<int64_t>
HaloBuilder::shapeOfFrame(const model::Access &made,
                          const TreePosition &position) const {
  SmallVector<int64_t> shape;
  for (const model::Index &needed : readings.at(made.tensor)->indices)
    shape.push_back(mostOf(needed, position));
  return shape;
}

SmallVector<Value> HaloBuilder::startRolling(const model::LoopNest &nest,
                                             const model::NestLoop &loop,
                                             const TreePosition &position) {
  SmallVector<Value> values;
  if (&loop != &nest.loops.back())
    return values;
  TreePosition inner = position;
  for (int64_t &extent : inner.possible[loop.loop])
    extent = std::min(extent, loop.tile);
  for (const auto &[derived, needed] : model::derivedLoopsIn(problem, nest))
    inner.possible[derived] = {
        std::min(problem.loops[derived].extent, mostOf(needed, inner))};
  for (const Roll &roll : rolls) {
    if (roll.nest != &nest)
      continue;
    SmallVector<int64_t> shape =
        shapeOfFrame(problem.operators[nest.firstOperator].output, inner);
    values.push_back(blocks.createBuffer(
        shape, getAsIndexOpFoldResult(builder.getContext(), shape),
        getElementTypeOrSelf(analysis.tensors[roll.tensor]),
        BufferKind::Frame));
    Value nothing = arith::ConstantIndexOp::create(builder, loc, 0);
    values.append({nothing, nothing});
  }
  return values;
}

void HaloBuilder::beginRolling(const model::LoopNest &nest, ValueRange values) {
  if (values.empty())
    return;
  for (Roll &roll : rolls)
    if (roll.nest == &nest) {
      roll.buffer = values[0];
      roll.made = values[1];
      roll.origin = values[2];
      values = values.drop_front(3);
    }
}

SmallVector<Value> HaloBuilder::endRolling(const model::LoopNest &nest) {
  SmallVector<Value> values;
  for (Roll &roll : rolls)
    if (roll.nest == &nest && roll.buffer) {
      values.append({roll.buffer, roll.made, roll.origin});
      roll.buffer = Value();
    }
  return values;
}

/// Moves what the buffer of `roll` has of the image at `position` to where it
/// belongs now that the buffer begins at `origin`.
void HaloBuilder::keepRows(Roll &roll, unsigned dim, OpFoldResult origin,
                           const TreePosition &position) const {
  AffineExpr first, second;
  bindSymbols(builder.getContext(), first, second);
  auto subtract = [&](OpFoldResult from, OpFoldResult what) {
    return getValueOrCreateConstantIndexOp(
        builder, loc,
        affine::makeComposedFoldedAffineApply(builder, loc, first - second,
                                              {from, what}));
  };
  OpFoldResult begin = affine::makeComposedFoldedAffineMax(
      builder, loc,
      AffineMap::get(0, 1, {first, builder.getAffineConstantExpr(0)},
                     builder.getContext()),
      {origin});
  roll.buffer =
      ShiftOp::create(builder, loc, roll.buffer.getType(), roll.buffer, dim,
                      subtract(begin, roll.origin), subtract(begin, origin),
                      subtract(position.offsets[roll.derived], begin));
  roll.made = getValueOrCreateConstantIndexOp(
      builder, loc,
      affine::makeComposedFoldedAffineApply(
          builder, loc, first + second,
          {position.offsets[roll.derived], position.extents[roll.derived]}));
  roll.origin = getValueOrCreateConstantIndexOp(builder, loc, origin);
}

//===----------------------------------------------------------------------===//
// Frames
//===----------------------------------------------------------------------===//

/// Fills what lies between `lower` and `upper` along dimension `dim` of
/// `buffer` with zeros.
Value HaloBuilder::fillBorder(unsigned op, Value buffer, unsigned dim,
                              OpFoldResult lower, OpFoldResult upper) const {
  auto type = cast<RankedTensorType>(buffer.getType());
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  auto loop = scf::ForOp::create(
      builder, loc, getValueOrCreateConstantIndexOp(builder, loc, lower),
      getValueOrCreateConstantIndexOp(builder, loc, upper), one, buffer);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0)),
      ones(type.getRank(), builder.getIndexAttr(1)),
      sizes = getAsIndexOpFoldResult(builder.getContext(), type.getShape());
  offsets[dim] = loop.getInductionVar();
  sizes[dim] = builder.getIndexAttr(1);
  Value carried = loop.getRegionIterArg(0);
  Value line = tensor::ExtractSliceOp::create(builder, loc, carried, offsets,
                                              sizes, ones);
  Value zeros = blocks.buildZeros(op, line);
  Value filled = tensor::InsertSliceOp::create(builder, loc, zeros, carried,
                                               offsets, sizes, ones);
  scf::YieldOp::create(builder, loc, filled);
  return loop.getResult(0);
}

/// Fills what lies outside the `size` elements of the image along dimension
/// `dim` of `buffer`, which is at `hull` there, as `needed`.
Value HaloBuilder::fillBorders(unsigned op, Value buffer, unsigned dim,
                               const Hull &hull, const model::Index &needed,
                               int64_t size,
                               const TreePosition &position) const {
  bool begins = false, ends = false;
  for (auto [offset, extent] : placesOf(needed, position.places)) {
    begins |= offset < 0;
    ends |= offset + extent > size;
  }
  AffineExpr first, second;
  bindSymbols(builder.getContext(), first, second);
  auto bounds = [&](AffineExpr left, AffineExpr right) {
    return AffineMap::get(0, 2, {left, right}, builder.getContext());
  };
  SmallVector<OpFoldResult> range = {hull.origin, hull.extent};
  if (begins)
    buffer = fillBorder(op, buffer, dim, builder.getIndexAttr(0),
                        affine::makeComposedFoldedAffineMax(
                            builder, loc,
                            bounds(-first, builder.getAffineConstantExpr(0)),
                            range));
  if (ends)
    buffer = fillBorder(op, buffer, dim,
                        affine::makeComposedFoldedAffineMin(
                            builder, loc, bounds(size - first, second), range),
                        hull.extent);
  return buffer;
}

HaloBuilder::Frame HaloBuilder::buildFrame(unsigned op,
                                           const TreePosition &position) {
  const model::Access &made = problem.operators[op].output;
  ArrayRef<model::Index> read = readings.at(made.tensor)->indices;
  ArrayRef<model::LoopId> dims = blocks.madeDimsOf(made);
  AffineExpr first, second;
  bindSymbols(builder.getContext(), first, second);
  Frame frame;
  SmallVector<Hull> hulls;
  for (auto [place, needed] : llvm::enumerate(read)) {
    model::LoopId loop = dims[place];
    hulls.push_back(findHull(needed, position));
    frame.offsets.push_back(affine::makeComposedFoldedAffineApply(
        builder, loc, first - second,
        {position.offsets[loop], hulls.back().origin}));
    frame.sizes.push_back(position.getSliceSize(loop));
    frame.strides.push_back(builder.getIndexAttr(1));
    if (Roll *roll = findRoll(loop)) {
      keepRows(*roll, place, hulls.back().origin, position);
      frame.buffer = roll->buffer;
    }
  }
  if (!frame.buffer) {
    SmallVector<int64_t> shape = shapeOfFrame(made, position);
    frame.buffer = blocks.createBuffer(
        shape, getAsIndexOpFoldResult(builder.getContext(), shape),
        getElementTypeOrSelf(analysis.tensors[made.tensor]), BufferKind::Frame);
  }
  for (auto [dim, needed] : llvm::enumerate(read))
    if (!(needed == model::Index(dims[dim])))
      frame.buffer = fillBorders(op, frame.buffer, dim, hulls[dim], needed,
                                 problem.tensors[made].shape[dim], position);
  return frame;
}

/// The whole of `frame`, with what `compute` makes in its place, unless there
/// is nothing new.
Value HaloBuilder::computeIn(unsigned op, const Frame &frame,
                             const TreePosition &position,
                             llvm::function_ref<Value(Value)> compute) {
  auto build = [&](Value buffer) -> Value {
    Value place = tensor::ExtractSliceOp::create(
        builder, loc, buffer, frame.offsets, frame.sizes, frame.strides);
    return tensor::InsertSliceOp::create(builder, loc, compute(place), buffer,
                                         frame.offsets, frame.sizes,
                                         frame.strides);
  };
  std::optional<model::LoopId> mayBeDone;
  for (model::LoopId loop : blocks.madeDimsOf(problem.operators[op].output))
    if (llvm::any_of(position.places[loop],
                     [](auto place) { return place.extent == 0; }))
      mayBeDone = loop;
  if (!mayBeDone)
    return build(frame.buffer);
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value isNew =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                            getValueOrCreateConstantIndexOp(
                                builder, loc, position.extents[*mayBeDone]),
                            zero);
  auto ifOp = scf::IfOp::create(builder, loc, frame.buffer.getType(), isNew,
                                /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(ifOp.elseBlock());
  scf::YieldOp::create(builder, loc, frame.buffer);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  scf::YieldOp::create(builder, loc, build(frame.buffer));
  return ifOp.getResult(0);
}

Value HaloBuilder::buildWindows(unsigned op, const TreePosition &position,
                                llvm::function_ref<Value(Value)> compute) {
  model::TensorId output = problem.operators[op].output;
  const model::Access &reading = *readings.at(output);
  Value whole = computeIn(op, buildFrame(op, position), position, compute);
  for (Roll &roll : rolls)
    if (roll.tensor == output && roll.buffer)
      roll.buffer = whole;
  Value windows = blocks.buildWindows(reading, whole, position);
  SmallVector<OpFoldResult> offsets, sizes, strides;
  blocks.describeSlice(blocks.dimsOf(reading), {}, position, offsets, sizes,
                       strides);
  if (llvm::none_of(sizes, [](OpFoldResult size) { return isa<Value>(size); }))
    return windows;
  return tensor::ExtractSliceOp::create(builder, loc, windows, offsets, sizes,
                                        strides);
}
