//===- TreeBuilder.cpp - Loops, tiles and parts of a chain ----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The sequential loops of a chain, the tiles they narrow tensors to, and the
// operators inside them.
//
//===----------------------------------------------------------------------===//

#include "Tile/TreeBuilder.h"

#include "NamedRemarks.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace chimera;

/// The loop tree of `schedule`, as code can be made of it.
static model::LoopNest buildTree(const model::ChainProblem &problem,
                                 const model::Schedule &schedule) {
  model::LoopNest tree =
      model::buildLoopTree(problem, schedule, schedule.levels.size() - 1);
  model::separateCrossing(problem, tree);
  model::leaveLoopsToKernels(problem, schedule, tree);
  return tree;
}

TreeBuilder::TreeBuilder(ChainOp chain, const ChainAnalysis &analysis,
                         const model::Schedule &schedule)
    : builder(chain), chain(chain), analysis(analysis),
      problem(analysis.problem), schedule(schedule),
      tree(buildTree(problem, schedule)),
      blocks(builder, chain, analysis, schedule),
      softmax(blocks, analysis, chain.getLoc()),
      stager(builder, blocks, analysis, schedule, chain.getLoc()),
      halos(builder, blocks, analysis, schedule, tree, chain.getLoc()),
      taps(builder, analysis, schedule, tree, chain.getLoc()),
      split(model::findSplit(problem, schedule, tree)) {}

//===----------------------------------------------------------------------===//
// Positions and slices
//===----------------------------------------------------------------------===//

TreePosition TreeBuilder::start() {
  TreePosition position;
  for (const model::Loop &loop : problem.loops) {
    position.offsets.push_back(builder.getIndexAttr(0));
    if (loop.isOpen) {
      position.extents.push_back(
          SizeOp::create(builder, loc(), builder.getIndexType(), loop.extent)
              .getResult());
      position.possible.push_back({anyExtent});
      continue;
    }
    position.extents.push_back(builder.getIndexAttr(loop.extent));
    position.possible.push_back({loop.extent});
  }
  for (Value value : analysis.tensors) {
    auto argument = dyn_cast<BlockArgument>(value);
    position.tensors.push_back(
        argument ? chain.getInputs()[argument.getArgNumber()] : Value());
  }
  llvm::SmallDenseSet<model::TensorId, 4> seen;
  for (const model::Operator &op : problem.operators)
    for (const model::Access &input : op.inputs)
      if (Value &value = position.tensors[input];
          value && seen.insert(input).second) {
        value = taps.buildPadding(input, value);
        if (hasWindows(input))
          value = blocks.buildWindows(input, value, position);
      }
  // Readers may leave the end of an image alone.
  halos.begin(position);
  taps.begin(position);
  SmallVector<LoopOffset> moved;
  halos.follow(tree, position, moved);
  llvm::erase_if(moved, [&](const LoopOffset &move) {
    return isConstantIntValue(position.extents[move.loop],
                              problem.loops[move.loop].extent);
  });
  sliceTensors(model::NestLoop(), moved, position);
  return position;
}

Value TreeBuilder::slice(Value value, ArrayRef<model::LoopId> dims,
                         ArrayRef<LoopOffset> moved,
                         const TreePosition &position) {
  SmallVector<OpFoldResult> offsets, sizes, strides;
  blocks.describeSlice(dims, moved, position, offsets, sizes, strides);
  return tensor::ExtractSliceOp::create(builder, loc(), value, offsets, sizes,
                                        strides);
}

/// Cuts the tensors at `position` down to the tile of `loop`.
void TreeBuilder::sliceTensors(const model::NestLoop &loop,
                               ArrayRef<LoopOffset> moved,
                               TreePosition &position) {
  for (auto [id, tensor] : llvm::enumerate(position.tensors)) {
    ArrayRef<model::LoopId> dims = blocks.dimsOf(id);
    bool isIndexed = llvm::any_of(moved, [&](const LoopOffset &move) {
      return llvm::is_contained(dims, move.loop);
    });
    if (tensor && isIndexed)
      tensor = position.panels.contains(id)
                   ? stager.slice(id, loop, moved, position)
                   : slice(tensor, dims, moved, position);
  }
}

TreePosition TreeBuilder::narrow(const model::LoopNest &nest,
                                 const model::NestLoop &loop,
                                 const TreePosition &position, Value offset,
                                 int64_t first, ArrayRef<int64_t> sizes,
                                 Value end) {
  TreePosition inner = position;
  ++inner.depth;
  SmallVector<int64_t> &possible = inner.possible[loop.loop];
  bool isAny = llvm::is_contained(possible, anyExtent);
  llvm::SmallSetVector<int64_t, 4> values(sizes.begin(), sizes.end());
  if (sizes.empty())
    addTileExtents(possible, loop.tile, first, values);
  else if (isAny && loop.tile > 1)
    values.insert(anyExtent);
  possible = llvm::to_vector(values);
  AffineExpr outer, own;
  bindDims(builder.getContext(), outer, own);
  inner.offsets[loop.loop] = affine::makeComposedFoldedAffineApply(
      builder, loc(), outer + own, {position.offsets[loop.loop], offset});

  OpFoldResult &extent = inner.extents[loop.loop];
  if (possible.size() == 1) {
    extent = builder.getIndexAttr(possible.front());
  } else {
    AffineExpr size, iv, last;
    bindSymbols(builder.getContext(), size, iv, last);
    SmallVector<AffineExpr> limits = {size - iv,
                                      builder.getAffineConstantExpr(loop.tile)};
    SmallVector<OpFoldResult> operands = {extent, offset};
    if (!sizes.empty()) {
      int64_t unit = model::clippedSize(loop.tile, 1);
      limits.push_back((last - iv).ceilDiv(unit) * unit);
      operands.push_back(end);
    }
    extent = affine::makeComposedFoldedAffineMin(
        builder, loc(),
        AffineMap::get(0, operands.size(), limits, builder.getContext()),
        operands);
  }
  SmallVector<LoopOffset> moved = {{loop.loop, offset}};
  halos.narrow(nest, loop, inner);
  taps.follow(loop.loop, inner, moved);
  halos.follow(nest, inner, moved);
  sliceTensors(loop, moved, inner);
  return inner;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Says which intermediates the schedule lets roll where code cannot.
void TreeBuilder::noteHalos() {
  for (model::TensorId tensor : schedule.rolling)
    if (halos.isReadThroughWindows(tensor) && !halos.isKept(tensor))
      remark::missed(loc(), named("halo"))
          << remark::add("the halo of '{0}' is computed again: a tensor rolls "
                         "along the last loop around those who use it, if its "
                         "operator comes first there and no other loop moves "
                         "the windows",
                         problem.tensors[tensor].name);
}

Value TreeBuilder::build() {
  noteHalos();
  TreePosition position = start();
  stager.prepack(position);
  auto resultType = cast<RankedTensorType>(chain.getResult(0).getType());
  Value destination = tensor::EmptyOp::create(
      builder, loc(), resultType.getShape(), resultType.getElementType());
  if (schedule.numParallel > 0)
    return buildParallel(position, destination);
  return buildNest(tree, 0, position, {destination}, /*initialised=*/false)[0];
}

/// The tensor that value number `index` carried for operator `op` is.
model::TensorId TreeBuilder::getCarriedTensor(unsigned op,
                                              unsigned index) const {
  const model::Operator &description = problem.operators[op];
  return index == 0 ? model::TensorId(description.output)
                    : model::TensorId(description.states[index - 1]);
}

/// A sequential loop around `nest` that carries tensors, of which `carried` are
/// the parts inside the enclosing loops.
TreeBuilder::Carried TreeBuilder::buildLoop(const model::LoopNest &nest,
                                            const model::NestLoop &loop,
                                            const TreePosition &position,
                                            const Bounds &bounds,
                                            const Carried &carried, Body body) {
  SmallVector<int64_t> sizes;
  if (blocks.getForms().clips && bounds.isMasked && nest.size() > 1)
    sizes = model::clippedSizes(problem, schedule, nest.lastOperator,
                                position.depth + 1, loop.loop);
  Value lower = getValueOrCreateConstantIndexOp(builder, loc(), bounds.lower);
  Value upper = getValueOrCreateConstantIndexOp(builder, loc(), bounds.upper);
  Value step = arith::ConstantIndexOp::create(builder, loc(), loop.tile);
  SmallVector<Value> starts(carried.begin(), carried.end());
  llvm::append_range(starts, halos.startRolling(nest, loop, position));
  auto forOp = scf::ForOp::create(builder, loc(), lower, upper, step, starts);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(forOp.getBody());
  Value iv = forOp.getInductionVar();
  ValueRange values = forOp.getRegionIterArgs();
  halos.beginRolling(nest, values.drop_front(carried.size()));
  values = values.take_front(carried.size());
  TreePosition inner =
      narrow(nest, loop, position, iv, bounds.first, sizes, upper);
  LoopOffset own = {loop.loop, OpFoldResult(iv)};
  Carried tiles;
  for (auto [index, value] : llvm::enumerate(values)) {
    model::TensorId tensor = getCarriedTensor(nest.lastOperator, index);
    ArrayRef<model::LoopId> dims = blocks.madeDimsOf(tensor);
    bool isIndexed = llvm::is_contained(dims, loop.loop);
    tiles.push_back(isIndexed ? slice(value, dims, own, inner) : value);
  }
  Carried results = body(inner, tiles);
  for (auto [index, value] : llvm::enumerate(values)) {
    model::TensorId tensor = getCarriedTensor(nest.lastOperator, index);
    ArrayRef<model::LoopId> dims = blocks.madeDimsOf(tensor);
    if (!llvm::is_contained(dims, loop.loop))
      continue;
    SmallVector<OpFoldResult> offsets, sizes, strides;
    blocks.describeSlice(dims, own, inner, offsets, sizes, strides);
    results[index] = tensor::InsertSliceOp::create(
        builder, loc(), results[index], value, offsets, sizes, strides);
  }
  llvm::append_range(results, halos.endRolling(nest));
  scf::YieldOp::create(builder, loc(), results);
  return Carried(forOp.getResults().take_front(carried.size()));
}

/// The loops of `nest` from `depth` on and what is inside. What is carried is
/// `initialised` if a loop outside has filled it already.
TreeBuilder::Carried TreeBuilder::buildNest(const model::LoopNest &nest,
                                            unsigned depth,
                                            const TreePosition &outside,
                                            Carried carried, bool initialised) {
  TreePosition position = outside;
  stager.stage(nest, depth, position);
  unsigned last = nest.lastOperator;
  // The parts of a split reduction are no result yet.
  bool isFinal = last == lastOperator() && !split && !isPartial;
  if (depth == nest.loops.size()) {
    if (!nest.parts.empty())
      return buildParts(nest, position, carried, initialised);
    Value place = carried[0];
    carried[0] = blocks.buildContraction(
        last, position, initialised ? place : startSums(last, position, place),
        initialised);
    if (isFinal && !initialised)
      carried[0] = blocks.buildEpilogue(last, position, carried[0], place);
    return carried;
  }
  const model::NestLoop &loop = nest.loops[depth];
  // Accumulators live from outside their outermost reduction loop on.
  bool isOutermostReduction = !initialised && isReductionOf(last, loop.loop);
  Value place = carried[0];
  Bounds bounds = {builder.getIndexAttr(0), position.extents[loop.loop]};
  if (isOutermostReduction && nest.size() == 1 &&
      (blocks.getForms().ahead >> last & 1)) {
    Value zero = arith::ConstantIndexOp::create(builder, loc(), 0);
    TreePosition ahead = narrow(nest, loop, position, zero);
    ahead.possible[loop.loop] = {loop.tile};
    llvm::SaveAndRestore<bool> partial(isPartial, true);
    carried =
        buildNest(nest, depth + 1, ahead, {startSums(last, position, place)},
                  /*initialised=*/false);
    bounds.first = loop.tile;
    bounds.lower = builder.getIndexAttr(bounds.first);
  } else if (isOutermostReduction) {
    carried[0] = blocks.buildFill(last, problem.operators[last].output, 0,
                                  position, startSums(last, position, place));
    if (makesExponentials(nest))
      startStates(position, carried);
  }
  bool nowInitialised = initialised || isOutermostReduction;
  if (isSkipping(nest, depth, nowInitialised)) {
    bounds = getBounds(loop, position);
    if (nest.size() == 1 && !nowInitialised)
      carried = fillAround(nest, loop, position, bounds, carried);
  }
  Carried results = buildLoop(
      nest, loop, position, bounds, carried,
      [&](const TreePosition &inner, const Carried &tiles) {
        return buildNest(nest, depth + 1, inner, tiles, nowInitialised);
      });
  if (!isOutermostReduction)
    return results;
  TreePosition finished = position;
  for (unsigned index = 1; index < results.size(); ++index)
    finished.tensors[getCarriedTensor(last, index)] = results[index];
  if (!split)
    results.truncate(1);
  if (isFinal)
    results[0] = blocks.buildEpilogue(last, finished, results[0], place);
  return results;
}

/// True if the states of the last operator belong to `nest`: it has that
/// operator and the one that makes the exponentials.
bool TreeBuilder::makesExponentials(const model::LoopNest &nest) const {
  if (!nest.has(lastOperator()))
    return false;
  for (unsigned op = nest.firstOperator; op < nest.lastOperator; ++op)
    if (analysis.operators[op].exponential)
      return true;
  return false;
}

/// From here on the last operator's states are carried, too. Where there is
/// place for them already, they start there.
void TreeBuilder::startStates(const TreePosition &position, Carried &carried) {
  if (carried.size() == 1)
    llvm::append_range(carried, softmax.createStates(lastOperator(), position));
  llvm::copy(softmax.clearStates(lastOperator(), position,
                                 ArrayRef(carried).drop_front()),
             carried.begin() + 1);
}

/// Where operator `op` adds up what is to end up in `place`: there, unless it
/// is of a narrower type.
Value TreeBuilder::startSums(unsigned op, const TreePosition &position,
                             Value place) {
  if (getElementTypeOrSelf(place) == blocks.getSumType())
    return place;
  return blocks.buildBuffer(problem.operators[op].output, position);
}

/// What `nest` makes as those see it who read it through windows.
Value TreeBuilder::buildUnderWindows(const model::LoopNest &nest,
                                     const TreePosition &position) {
  unsigned op = nest.lastOperator;
  model::TensorId output = problem.operators[op].output;
  return halos.buildWindows(op, position, [&](Value place) {
    bool isInPlace = getElementTypeOrSelf(place) == blocks.getSumType();
    Value sums = isInPlace ? place : blocks.buildBuffer(output, position);
    sums = buildNest(nest, 0, position, {sums}, /*initialised=*/false)[0];
    return blocks.buildEpilogue(op, position, sums, place);
  });
}

/// The parts of a nest in turn, intermediates between them in buffers the size
/// the loops around leave them.
TreeBuilder::Carried TreeBuilder::buildParts(const model::LoopNest &nest,
                                             const TreePosition &position,
                                             Carried carried,
                                             bool initialised) {
  TreePosition current = position;
  unsigned last = nest.lastOperator;
  for (const model::LoopNest &part : ArrayRef(nest.parts).drop_back()) {
    unsigned op = part.lastOperator;
    model::TensorId output = problem.operators[op].output;
    if (halos.isReadThroughWindows(output)) {
      current.tensors[output] = buildUnderWindows(part, current);
      continue;
    }
    Value result =
        buildNest(part, 0, current, {blocks.buildBuffer(output, position)},
                  /*initialised=*/false)[0];
    if (!analysis.operators[op].exponential) {
      current.tensors[output] =
          blocks.buildEpilogue(op, current, result, /*destination=*/Value());
      continue;
    }
    if (!initialised)
      startStates(position, carried);
    current.tensors[output] =
        softmax.finishScore(op, current, result, initialised, carried);
    for (unsigned index = 1; index < carried.size(); ++index)
      current.tensors[getCarriedTensor(last, index)] = carried[index];
  }
  const model::LoopNest &part = nest.parts.back();
  if (makesExponentials(part))
    return buildNest(part, 0, current, carried, initialised);
  carried[0] = buildNest(part, 0, current, {carried[0]}, initialised)[0];
  if (!initialised && !split)
    carried.truncate(1);
  return carried;
}
