//===- Tile.cpp - Generate the loop tree of a chain -----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Applies a schedule and decides nothing. The loop tree is the model's own
// (model::buildLoopTree), so the blocks run as they were counted:
//
//   shared loops, parallel ones as one scf.forall
//     for every operator: its subtree, its blocks
//
// Each loop narrows the tensors it indexes to the tile inside it. Tiles at an
// edge are smaller, so their sizes are values; which extents occur is known and
// goes along as the `extents` of the blocks.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Transforms/BufferScope.h"
#include "Chimera/Transforms/ChainAnalysis.h"
#include "Chimera/Transforms/Passes.h"
#include "Chimera/Transforms/ScheduleConversion.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/RegionUtils.h"

#include <cmath>

namespace chimera {
#define GEN_PASS_DEF_TILEPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

namespace {

/// Where we are in the loop tree: how far each loop extends here, and the part
/// of each tensor that lies inside.
struct Position {
  /// Per loop of the problem: its extent here, and the values it can take.
  SmallVector<OpFoldResult> extents;
  SmallVector<SmallVector<int64_t>> possible;
  /// Per loop: where in the whole loop we are.
  SmallVector<OpFoldResult> offsets;
  /// Per tensor of the problem; null for intermediates not yet computed.
  SmallVector<Value> tensors;
};

class TreeBuilder {
public:
  TreeBuilder(ChainOp chain, const ChainAnalysis &analysis,
              const model::Schedule &schedule)
      : builder(chain), chain(chain), analysis(analysis),
        problem(analysis.problem), schedule(schedule),
        tree(model::buildLoopTree(problem, schedule,
                                  schedule.levels.size() - 1)) {
    separateCrossing(tree);
    dims.resize(problem.tensors.size());
    auto read = [&](const model::Access &access) {
      dims[access].clear();
      for (const model::Index &index : access.indices)
        dims[access].push_back(index.terms.front().loop);
    };
    for (const model::Operator &op : problem.operators) {
      llvm::for_each(op.inputs, read);
      llvm::for_each(op.epilogue, read);
      llvm::for_each(op.states, read);
      read(op.output);
    }
  }

  /// Builds the tree before the chain and returns the chain's result.
  Value build();

private:
  /// What a nest updates: the output of its last operator and, from where it is
  /// initialised on, the states that operator keeps.
  using Carried = SmallVector<Value, 3>;
  using Body = llvm::function_ref<Carried(const Position &position,
                                          const Carried &carried)>;

  void separateCrossing(model::LoopNest &nest);
  Position start();
  Value buildParallel(const Position &position, Value destination);
  Carried buildNest(const model::LoopNest &nest, unsigned depth,
                    const Position &position, Carried carried,
                    bool initialised);
  Carried buildParts(const model::LoopNest &nest, const Position &position,
                     Carried carried, bool initialised);
  Value buildBuffer(model::TensorId tensor, const Position &position);
  Carried buildLoop(const model::LoopNest &nest, const model::NestLoop &loop,
                    const Position &position, const Carried &carried,
                    Body body);
  std::pair<Value, Value> getBounds(const model::LoopNest &nest,
                                    const model::NestLoop &loop,
                                    const Position &position);
  model::TensorId getCarriedTensor(unsigned op, unsigned index) const;

  Value buildFill(unsigned op, model::TensorId tensor, double value,
                  const Position &position, Value destination);
  Value buildContraction(unsigned op, const Position &position,
                         Value destination, bool initialised);
  Value buildEpilogue(unsigned op, const Position &position, Value destination);
  void addStates(unsigned op, const Position &position, Carried &carried);
  std::pair<Value, Value> buildScore(unsigned op, const Position &position,
                                     Value score, Value maximum,
                                     model::TensorId rows);
  void correct(unsigned op, unsigned reader, const Position &position,
               Value highest, Carried &carried);
  Value finishScore(unsigned op, const Position &position, Value score,
                    bool isCorrected, Carried &carried);
  SmallVector<Value> buildBlock(
      unsigned op, ValueRange destinations, ValueRange inputs,
      ArrayAttr extents, bool isContraction,
      llvm::function_ref<SmallVector<Value>(OpBuilder &, ValueRange)> body);
  /// A tile that a generic operation reads or updates.
  struct Operand {
    Value value;
    AffineMap map;
  };
  Operand atLoops(Value value, model::TensorId tensor,
                  ArrayRef<model::LoopId> loops);
  SmallVector<Value> buildGeneric(
      unsigned op, ArrayRef<model::LoopId> loops, const Position &position,
      ArrayRef<Operand> inputs, ArrayRef<Operand> outputs,
      llvm::function_ref<SmallVector<Value>(OpBuilder &, ValueRange)> body);

  /// What an elementwise operation needs from outside its body.
  struct Epilogue {
    linalg::GenericOp op;
    Value finished;
    /// What is read, and the value in the body that it stands for.
    SmallVector<Operand> inputs;
    SmallVector<Value> sources;
    SmallVector<Operation *> constants;
    /// The dimensions whose first index is an input, after the others.
    SmallVector<unsigned> shifted;
  };
  Epilogue readEpilogue(unsigned op, const Position &position);
  Value cloneEpilogue(const Epilogue &epilogue, OpBuilder &body,
                      ValueRange scalars, Value element);
  Value getTile(Value value, const Position &position) const;

  /// Narrows `position` to the tile that `loop` has at `offset`.
  Position narrow(const model::NestLoop &loop, const Position &position,
                  Value offset);
  /// The slice of `tensor` with loop `loop` reduced to `extent` at `offset`.
  Value slice(model::TensorId tensor, Value value, model::LoopId loop,
              OpFoldResult offset, const Position &position);
  /// The position of `tensor`'s elements in a slice at `offset` of `loop`.
  void describeSlice(model::TensorId tensor, model::LoopId loop,
                     OpFoldResult offset, const Position &position,
                     SmallVectorImpl<OpFoldResult> &offsets,
                     SmallVectorImpl<OpFoldResult> &sizes,
                     SmallVectorImpl<OpFoldResult> &strides);

  unsigned lastOperator() const { return problem.operators.size() - 1; }
  bool isReductionOf(unsigned op, model::LoopId loop) const {
    return problem.operators[op].isReduction(loop);
  }
  /// The loop of each dimension of `tensor`; chains that reach this pass index
  /// all of them plainly and alike.
  ArrayRef<model::LoopId> dimsOf(model::TensorId tensor) const {
    return dims[tensor];
  }
  ArrayAttr extentsOf(ArrayRef<model::LoopId> loops, const Position &position);
  Location loc() { return chain.getLoc(); }

  OpBuilder builder;
  ChainOp chain;
  const ChainAnalysis &analysis;
  const model::ChainProblem &problem;
  const model::Schedule &schedule;
  model::LoopNest tree;
  /// Per tensor: the loops of its dimensions.
  std::vector<SmallVector<model::LoopId, 4>> dims;
};

} // namespace

//===----------------------------------------------------------------------===//
// Positions and slices
//===----------------------------------------------------------------------===//

Position TreeBuilder::start() {
  Position position;
  for (const model::Loop &loop : problem.loops) {
    position.extents.push_back(builder.getIndexAttr(loop.extent));
    position.possible.push_back({loop.extent});
    position.offsets.push_back(builder.getIndexAttr(0));
  }
  for (Value value : analysis.tensors) {
    auto argument = dyn_cast<BlockArgument>(value);
    position.tensors.push_back(
        argument ? chain.getInputs()[argument.getArgNumber()] : Value());
  }
  return position;
}

void TreeBuilder::describeSlice(model::TensorId tensor, model::LoopId loop,
                                OpFoldResult offset, const Position &position,
                                SmallVectorImpl<OpFoldResult> &offsets,
                                SmallVectorImpl<OpFoldResult> &sizes,
                                SmallVectorImpl<OpFoldResult> &strides) {
  for (model::LoopId dim : dimsOf(tensor)) {
    offsets.push_back(dim == loop ? offset
                                  : OpFoldResult(builder.getIndexAttr(0)));
    sizes.push_back(position.extents[dim]);
    strides.push_back(builder.getIndexAttr(1));
  }
}

Value TreeBuilder::slice(model::TensorId tensor, Value value,
                         model::LoopId loop, OpFoldResult offset,
                         const Position &position) {
  SmallVector<OpFoldResult> offsets, sizes, strides;
  describeSlice(tensor, loop, offset, position, offsets, sizes, strides);
  return tensor::ExtractSliceOp::create(builder, loc(), value, offsets, sizes,
                                        strides);
}

Position TreeBuilder::narrow(const model::NestLoop &loop,
                             const Position &position, Value offset) {
  Position inner = position;
  SmallVector<int64_t> &possible = inner.possible[loop.loop];
  llvm::SmallSetVector<int64_t, 4> values;
  for (int64_t extent : possible) {
    if (extent >= loop.tile)
      values.insert(loop.tile);
    if (extent % loop.tile != 0)
      values.insert(extent % loop.tile);
  }
  possible = llvm::to_vector(values);
  AffineExpr outer, own;
  bindDims(builder.getContext(), outer, own);
  inner.offsets[loop.loop] = affine::makeComposedFoldedAffineApply(
      builder, loc(), outer + own, {position.offsets[loop.loop], offset});

  OpFoldResult &extent = inner.extents[loop.loop];
  if (possible.size() == 1) {
    extent = builder.getIndexAttr(possible.front());
  } else {
    AffineExpr size, iv;
    bindSymbols(builder.getContext(), size, iv);
    AffineMap left = AffineMap::get(
        0, 2, {size - iv, builder.getAffineConstantExpr(loop.tile)},
        builder.getContext());
    extent = affine::makeComposedFoldedAffineMin(builder, loc(), left,
                                                 {extent, offset});
  }
  for (auto [id, tensor] : llvm::enumerate(inner.tensors))
    if (tensor && problem.indexes(id, loop.loop))
      tensor = slice(id, tensor, loop.loop, offset, inner);
  return inner;
}

ArrayAttr TreeBuilder::extentsOf(ArrayRef<model::LoopId> loops,
                                 const Position &position) {
  SmallVector<Attribute> extents;
  for (model::LoopId loop : loops)
    extents.push_back(builder.getI64ArrayAttr(position.possible[loop]));
  return builder.getArrayAttr(extents);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

Value TreeBuilder::build() {
  Position position = start();
  auto resultType = cast<RankedTensorType>(chain.getResult(0).getType());
  Value destination = tensor::EmptyOp::create(
      builder, loc(), resultType.getShape(), resultType.getElementType());
  if (schedule.numParallel > 0)
    return buildParallel(position, destination);
  return buildNest(tree, 0, position, {destination}, /*initialised=*/false)[0];
}

/// The leading loops that the schedule runs in parallel, as one scf.forall.
Value TreeBuilder::buildParallel(const Position &position, Value destination) {
  model::TensorId output = problem.operators.back().output;
  SmallVector<OpFoldResult> lower, upper, step;
  for (const model::NestLoop &loop :
       ArrayRef(tree.loops).take_front(schedule.numParallel)) {
    lower.push_back(builder.getIndexAttr(0));
    upper.push_back(position.extents[loop.loop]);
    step.push_back(builder.getIndexAttr(loop.tile));
  }
  auto forall = scf::ForallOp::create(builder, loc(), lower, upper, step,
                                      destination, /*mapping=*/std::nullopt);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(forall.getBody());

  Position inner = position;
  Value outerTile = forall.getRegionIterArgs()[0], tile = outerTile;
  SmallVector<OpFoldResult> offsets(dimsOf(output).size(),
                                    builder.getIndexAttr(0));
  for (auto [loop, iv] : llvm::zip(tree.loops, forall.getInductionVars())) {
    inner = narrow(loop, inner, iv);
    if (!problem.indexes(output, loop.loop))
      continue;
    tile = slice(output, tile, loop.loop, OpFoldResult(iv), inner);
    for (auto [dim, offset] : llvm::zip_equal(dimsOf(output), offsets))
      if (dim == loop.loop)
        offset = iv;
  }
  // One slice from the shared tensor: what runs in parallel must not seem to
  // overlap.
  SmallVector<OpFoldResult> sizes, strides;
  for (model::LoopId dim : dimsOf(output)) {
    sizes.push_back(inner.extents[dim]);
    strides.push_back(builder.getIndexAttr(1));
  }
  tile = tensor::ExtractSliceOp::create(builder, loc(), outerTile, offsets,
                                        sizes, strides);
  Value result = buildNest(tree, schedule.numParallel, inner, {tile},
                           /*initialised=*/false)[0];
  builder.setInsertionPointToStart(forall.getTerminator().getBody());
  tensor::ParallelInsertSliceOp::create(builder, loc(), result, outerTile,
                                        offsets, sizes, strides);
  return forall.getResult(0);
}

/// The tensor that value number `index` carried for operator `op` is.
model::TensorId TreeBuilder::getCarriedTensor(unsigned op,
                                              unsigned index) const {
  const model::Operator &description = problem.operators[op];
  return index == 0 ? model::TensorId(description.output)
                    : model::TensorId(description.states[index - 1]);
}

/// From where to where `loop` runs: not over tiles that a mask rules out for
/// all rows.
std::pair<Value, Value> TreeBuilder::getBounds(const model::LoopNest &nest,
                                               const model::NestLoop &loop,
                                               const Position &position) {
  OpFoldResult lower = builder.getIndexAttr(0);
  OpFoldResult upper = position.extents[loop.loop];
  const model::Operator &last = problem.operators[nest.lastOperator];
  if (nest.size() > 1 && last.rescaledBy == loop.loop) {
    MLIRContext *context = builder.getContext();
    AffineExpr row, rows, column, limit;
    bindSymbols(context, row, rows, column, limit);
    for (const model::Band &band : problem.bands) {
      if (band.column != loop.loop)
        continue;
      // Columns from row + least to row + most count, for some row in the tile.
      auto getOperands = [&](OpFoldResult limit) {
        return SmallVector<OpFoldResult>{position.offsets[band.row],
                                         position.extents[band.row],
                                         position.offsets[band.column], limit};
      };
      if (band.most)
        upper = affine::makeComposedFoldedAffineMin(
            builder, loc(),
            AffineMap::get(0, 4, {limit, row + rows - 1 + *band.most - column},
                           context),
            getOperands(upper));
      if (band.least) {
        AffineExpr first = row + *band.least - column;
        lower = affine::makeComposedFoldedAffineMax(
            builder, loc(),
            AffineMap::get(0, 4, {limit, first.floorDiv(loop.tile) * loop.tile},
                           context),
            getOperands(lower));
      }
    }
  }
  return {getValueOrCreateConstantIndexOp(builder, loc(), lower),
          getValueOrCreateConstantIndexOp(builder, loc(), upper)};
}

/// A sequential loop around `nest` that carries tensors, of which `carried` are
/// the parts inside the enclosing loops.
TreeBuilder::Carried TreeBuilder::buildLoop(const model::LoopNest &nest,
                                            const model::NestLoop &loop,
                                            const Position &position,
                                            const Carried &carried, Body body) {
  auto [lower, upper] = getBounds(nest, loop, position);
  Value step = arith::ConstantIndexOp::create(builder, loc(), loop.tile);
  auto forOp = scf::ForOp::create(builder, loc(), lower, upper, step, carried);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(forOp.getBody());
  Value iv = forOp.getInductionVar();
  Position inner = narrow(loop, position, iv);
  Carried tiles;
  for (auto [index, value] : llvm::enumerate(forOp.getRegionIterArgs())) {
    model::TensorId tensor = getCarriedTensor(nest.lastOperator, index);
    bool isIndexed = llvm::is_contained(dimsOf(tensor), loop.loop);
    tiles.push_back(
        isIndexed ? slice(tensor, value, loop.loop, OpFoldResult(iv), inner)
                  : value);
  }
  Carried results = body(inner, tiles);
  for (auto [index, value] : llvm::enumerate(forOp.getRegionIterArgs())) {
    model::TensorId tensor = getCarriedTensor(nest.lastOperator, index);
    if (!llvm::is_contained(dimsOf(tensor), loop.loop))
      continue;
    SmallVector<OpFoldResult> offsets, sizes, strides;
    describeSlice(tensor, loop.loop, OpFoldResult(iv), inner, offsets, sizes,
                  strides);
    results[index] = tensor::InsertSliceOp::create(
        builder, loc(), results[index], value, offsets, sizes, strides);
  }
  scf::YieldOp::create(builder, loc(), results);
  return Carried(forOp.getResults());
}

/// True if an output of a part of `nest` is read outside that part, though it
/// is not the part's last one.
static bool crossesPart(const model::ChainProblem &problem,
                        const model::LoopNest &part) {
  for (unsigned op = part.firstOperator; op < part.lastOperator; ++op)
    for (auto [index, reader] : llvm::enumerate(problem.operators)) {
      auto reads = [&, output = problem.operators[op].output.tensor](
                       const model::Access &access) {
        return access == output;
      };
      if (!part.has(index) && (llvm::any_of(reader.inputs, reads) ||
                               llvm::any_of(reader.epilogue, reads)))
        return true;
    }
  return false;
}

/// A part of the tree hands on one tensor. Operators of a part that would hand
/// on several get loops of their own: as many blocks, larger buffers.
void TreeBuilder::separateCrossing(model::LoopNest &nest) {
  std::vector<model::LoopNest> parts;
  for (model::LoopNest &part : nest.parts) {
    if (!crossesPart(problem, part)) {
      separateCrossing(part);
      parts.push_back(part);
      continue;
    }
    for (unsigned op = part.firstOperator; op <= part.lastOperator; ++op) {
      model::LoopNest alone;
      alone.firstOperator = alone.lastOperator = op;
      for (const model::NestLoop &loop : model::pathOf(part, op))
        alone.loops.push_back(loop);
      parts.push_back(alone);
    }
  }
  nest.parts = std::move(parts);
}

/// The loops of `nest` from `depth` on and what is inside. What is carried is
/// `initialised` if a loop outside has filled it already.
TreeBuilder::Carried TreeBuilder::buildNest(const model::LoopNest &nest,
                                            unsigned depth,
                                            const Position &position,
                                            Carried carried, bool initialised) {
  unsigned last = nest.lastOperator;
  bool isFinal = last == lastOperator();
  if (depth == nest.loops.size()) {
    if (!nest.parts.empty())
      return buildParts(nest, position, carried, initialised);
    carried[0] = buildContraction(last, position, carried[0], initialised);
    if (isFinal && !initialised)
      carried[0] = buildEpilogue(last, position, carried[0]);
    return carried;
  }
  const model::NestLoop &loop = nest.loops[depth];
  // Accumulators live from outside their outermost reduction loop on.
  bool isOutermostReduction = !initialised && isReductionOf(last, loop.loop);
  if (isOutermostReduction) {
    carried[0] = buildFill(last, problem.operators[last].output, 0, position,
                           carried[0]);
    if (nest.size() > 1)
      addStates(last, position, carried);
  }
  bool nowInitialised = initialised || isOutermostReduction;
  Carried results = buildLoop(nest, loop, position, carried,
                              [&](const Position &inner, const Carried &tiles) {
                                return buildNest(nest, depth + 1, inner, tiles,
                                                 nowInitialised);
                              });
  if (!isOutermostReduction)
    return results;
  Position finished = position;
  for (unsigned index = 1; index < results.size(); ++index)
    finished.tensors[getCarriedTensor(last, index)] = results[index];
  results.truncate(1);
  if (isFinal)
    results[0] = buildEpilogue(last, finished, results[0]);
  return results;
}

/// The parts of a nest in turn, intermediates between them in buffers the size
/// the loops around leave them.
TreeBuilder::Carried TreeBuilder::buildParts(const model::LoopNest &nest,
                                             const Position &position,
                                             Carried carried,
                                             bool initialised) {
  Position current = position;
  unsigned last = nest.lastOperator;
  for (const model::LoopNest &part : ArrayRef(nest.parts).drop_back()) {
    unsigned op = part.lastOperator;
    model::TensorId output = problem.operators[op].output;
    Value result = buildNest(part, 0, current, {buildBuffer(output, position)},
                             /*initialised=*/false)[0];
    if (!analysis.operators[op].exponential) {
      current.tensors[output] = buildEpilogue(op, current, result);
      continue;
    }
    if (!initialised)
      addStates(last, position, carried);
    current.tensors[output] =
        finishScore(op, current, result, initialised, carried);
    for (unsigned index = 1; index < carried.size(); ++index)
      current.tensors[getCarriedTensor(last, index)] = carried[index];
  }
  carried[0] =
      buildNest(nest.parts.back(), 0, current, {carried[0]}, initialised)[0];
  if (!initialised)
    carried.truncate(1);
  return carried;
}

/// The buffer of an intermediate or state: created once for all iterations, cut
/// down to the extents of this one.
Value TreeBuilder::buildBuffer(model::TensorId tensor,
                               const Position &position) {
  SmallVector<int64_t> shape;
  SmallVector<OpFoldResult> offsets, sizes, strides;
  for (model::LoopId dim : dimsOf(tensor))
    shape.push_back(*llvm::max_element(position.possible[dim]));
  describeSlice(tensor, problem.loops.size(), OpFoldResult(), position, offsets,
                sizes, strides);
  Value buffer;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(
        getBufferScope(builder.getInsertionBlock()->getParentOp()));
    // Several states have one shape: as empty tensors they would become one.
    auto type = RankedTensorType::get(shape, builder.getF32Type());
    if (problem.tensors[tensor].role == model::Role::State)
      buffer = bufferization::AllocTensorOp::create(builder, loc(), type,
                                                    ValueRange());
    else
      buffer =
          tensor::EmptyOp::create(builder, loc(), shape, type.getElementType());
  }
  if (llvm::none_of(sizes, [](OpFoldResult size) { return isa<Value>(size); }))
    return buffer;
  return tensor::ExtractSliceOp::create(builder, loc(), buffer, offsets, sizes,
                                        strides);
}

//===----------------------------------------------------------------------===//
// Leaves
//===----------------------------------------------------------------------===//

SmallVector<Value> TreeBuilder::buildBlock(
    unsigned op, ValueRange destinations, ValueRange inputs, ArrayAttr extents,
    bool isContraction,
    llvm::function_ref<SmallVector<Value>(OpBuilder &, ValueRange)> body) {
  RegisterTileAttr registers;
  DenseI64ArrayAttr packed;
  if (isContraction) {
    registers =
        getRegisterTileAttr(builder.getContext(), schedule.registerTile);
    SmallVector<int64_t> positions;
    for (auto [index, input] : llvm::enumerate(problem.operators[op].inputs))
      if (llvm::is_contained(schedule.packed, input))
        positions.push_back(index);
    if (!positions.empty())
      packed = builder.getDenseI64ArrayAttr(positions);
  }
  auto block = BlockOp::create(builder, loc(), destinations.getTypes(),
                               problem.operators[op].name, inputs, destinations,
                               extents, registers, packed);
  OpBuilder::InsertionGuard guard(builder);
  Block &entry = block.getBody().emplaceBlock();
  for (Value operand : block->getOperands())
    entry.addArgument(operand.getType(), loc());
  builder.setInsertionPointToStart(&entry);
  YieldOp::create(builder, loc(), body(builder, entry.getArguments()));
  return SmallVector<Value>(block.getResults());
}

static Value createFill(OpBuilder &builder, Location loc, double value,
                        Value tensor) {
  Value number = arith::ConstantOp::create(
      builder, loc, builder.getFloatAttr(builder.getF32Type(), value));
  return linalg::FillOp::create(builder, loc, number, tensor).getResult(0);
}

Value TreeBuilder::buildFill(unsigned op, model::TensorId tensor, double value,
                             const Position &position, Value destination) {
  return buildBlock(op, destination, {}, extentsOf(dimsOf(tensor), position),
                    /*isContraction=*/false,
                    [&](OpBuilder &inner, ValueRange arguments) {
                      return SmallVector<Value>{
                          createFill(inner, loc(), value, arguments.back())};
                    })[0];
}

Value TreeBuilder::buildContraction(unsigned op, const Position &position,
                                    Value destination, bool initialised) {
  const ChainOperator &chainOp = analysis.operators[op];
  SmallVector<Value> inputs;
  for (const model::Access &input : problem.operators[op].inputs)
    inputs.push_back(position.tensors[input]);
  return buildBlock(
      op, destination, inputs, extentsOf(chainOp.loops, position),
      /*isContraction=*/true, [&](OpBuilder &inner, ValueRange arguments) {
        SmallVector<Value> operands(arguments);
        if (!initialised)
          operands.back() = createFill(inner, loc(), 0, operands.back());
        linalg::LinalgOp contraction = chainOp.contraction;
        return SmallVector<Value>(
            mlir::clone(inner, contraction, operands.back().getType(), operands)
                ->getResults());
      })[0];
}

//===----------------------------------------------------------------------===//
// Elementwise operations
//===----------------------------------------------------------------------===//

/// `value`, a tile of `tensor`, as part of an operation over `loops`.
TreeBuilder::Operand TreeBuilder::atLoops(Value value, model::TensorId tensor,
                                          ArrayRef<model::LoopId> loops) {
  SmallVector<AffineExpr> results;
  for (model::LoopId dim : dimsOf(tensor))
    results.push_back(builder.getAffineDimExpr(
        std::distance(loops.begin(), llvm::find(loops, dim))));
  return {value,
          AffineMap::get(loops.size(), 0, results, builder.getContext())};
}

/// A block with one generic operation over `loops`, which reduces along those
/// that do not index all outputs.
SmallVector<Value> TreeBuilder::buildGeneric(
    unsigned op, ArrayRef<model::LoopId> loops, const Position &position,
    ArrayRef<Operand> inputs, ArrayRef<Operand> outputs,
    llvm::function_ref<SmallVector<Value>(OpBuilder &, ValueRange)> body) {
  SmallVector<AffineMap> maps;
  SmallVector<Value> read, updated;
  for (const Operand &input : inputs) {
    read.push_back(input.value);
    maps.push_back(input.map);
  }
  SmallVector<utils::IteratorType> iterators(loops.size(),
                                             utils::IteratorType::parallel);
  for (const Operand &output : outputs) {
    updated.push_back(output.value);
    maps.push_back(output.map);
    for (unsigned dim = 0; dim < loops.size(); ++dim)
      if (!output.map.isFunctionOfDim(dim))
        iterators[dim] = utils::IteratorType::reduction;
  }
  return buildBlock(
      op, updated, read, extentsOf(loops, position), /*isContraction=*/false,
      [&](OpBuilder &inner, ValueRange arguments) {
        ValueRange outs = arguments.take_back(outputs.size());
        auto generic = linalg::GenericOp::create(
            inner, loc(), outs.getTypes(), arguments.drop_back(outputs.size()),
            outs, maps, iterators,
            [&](OpBuilder &nested, Location, ValueRange scalars) {
              linalg::YieldOp::create(nested, loc(), body(nested, scalars));
            });
        return SmallVector<Value>(generic.getResults());
      });
}

/// The part of what the chain calls `value` that lies at `position`.
Value TreeBuilder::getTile(Value value, const Position &position) const {
  auto tensor = llvm::find(analysis.tensors, value);
  if (tensor != analysis.tensors.end())
    return position.tensors[std::distance(analysis.tensors.begin(), tensor)];
  return ChainOp(chain).getInputs()[cast<BlockArgument>(value).getArgNumber()];
}

TreeBuilder::Epilogue TreeBuilder::readEpilogue(unsigned op,
                                                const Position &position) {
  Epilogue epilogue;
  epilogue.op = analysis.operators[op].epilogue;
  epilogue.finished = analysis.operators[op].contraction->getResult(0);
  unsigned numLoops = epilogue.op.getNumLoops();
  AffineMap scalar = AffineMap::get(numLoops, 0, builder.getContext());
  unsigned nextTensor = 0;
  for (OpOperand *input : epilogue.op.getDpsInputOperands()) {
    Value value = input->get();
    if (value == epilogue.finished)
      continue;
    bool isState = llvm::any_of(problem.operators[op].states,
                                [&](const model::Access &state) {
                                  return analysis.tensors[state] == value;
                                });
    bool isTensor = isa<RankedTensorType>(value.getType());
    Value tile =
        isTensor && !isState
            ? position.tensors[problem.operators[op].epilogue[nextTensor++]]
            : getTile(value, position);
    epilogue.inputs.push_back(
        {tile, epilogue.op.getMatchingIndexingMap(input)});
    epilogue.sources.push_back(epilogue.op.getMatchingBlockArgument(input));
  }
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(epilogue.op.getRegion(), captured);
  for (Value value : captured) {
    if (!isa<BlockArgument>(value)) {
      epilogue.constants.push_back(value.getDefiningOp());
      continue;
    }
    epilogue.inputs.push_back({getTile(value, position), scalar});
    epilogue.sources.push_back(value);
  }
  for (auto [dim, loop] :
       llvm::enumerate(analysis.operators[op].epilogueLoops)) {
    bool isUsed = llvm::any_of(
        epilogue.op.getBlock()->getOps<linalg::IndexOp>(),
        [dim = dim](linalg::IndexOp index) { return index.getDim() == dim; });
    if (!isUsed || isConstantIntValue(position.offsets[loop], 0))
      continue;
    epilogue.shifted.push_back(dim);
    epilogue.inputs.push_back({getValueOrCreateConstantIndexOp(
                                   builder, loc(), position.offsets[loop]),
                               scalar});
  }
  return epilogue;
}

/// Copies the body of `epilogue`, which works on `element`. Scalars from
/// outside are inputs, constants move inside, and indices count from where we
/// are.
Value TreeBuilder::cloneEpilogue(const Epilogue &epilogue, OpBuilder &body,
                                 ValueRange scalars, Value element) {
  IRMapping mapping;
  linalg::GenericOp op = epilogue.op;
  for (Operation *constant : epilogue.constants)
    body.clone(*constant, mapping);
  for (auto [source, scalar] : llvm::zip(epilogue.sources, scalars))
    mapping.map(source, scalar);
  for (OpOperand *input : op.getDpsInputOperands())
    if (input->get() == epilogue.finished)
      mapping.map(op.getMatchingBlockArgument(input), element);
  for (Operation &nested : op.getBlock()->without_terminator()) {
    Operation *copy = body.clone(nested, mapping);
    auto index = dyn_cast<linalg::IndexOp>(copy);
    if (!index)
      continue;
    auto shifted = llvm::find(epilogue.shifted, index.getDim());
    if (shifted == epilogue.shifted.end())
      continue;
    Value first = scalars[epilogue.sources.size() +
                          std::distance(epilogue.shifted.begin(), shifted)];
    mapping.map(nested.getResult(0),
                arith::AddIOp::create(body, loc(), index, first).getResult());
  }
  return mapping.lookupOrDefault(op.getBlock()->getTerminator()->getOperand(0));
}

/// The elementwise operation after an operator, in place on the operator's
/// output.
Value TreeBuilder::buildEpilogue(unsigned op, const Position &position,
                                 Value destination) {
  if (!analysis.operators[op].epilogue)
    return destination;
  Epilogue epilogue = readEpilogue(op, position);
  AffineMap identity =
      builder.getMultiDimIdentityMap(epilogue.op.getNumLoops());
  return buildGeneric(op, analysis.operators[op].epilogueLoops, position,
                      epilogue.inputs, Operand{destination, identity},
                      [&](OpBuilder &body, ValueRange scalars) {
                        return SmallVector<Value>{cloneEpilogue(
                            epilogue, body, scalars, scalars.back())};
                      })[0];
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// The exponential of a softmax, as `op` has it, for `score` in a row with
/// `maximum`.
static Value cloneExponential(OpBuilder &builder, const ChainOperator &op,
                              Value score, Value maximum) {
  linalg::GenericOp exponential = op.exponential, rows = op.maximum;
  IRMapping mapping;
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(exponential.getRegion(), captured);
  for (Value constant : captured)
    builder.clone(*constant.getDefiningOp(), mapping);
  for (OpOperand *input : exponential.getDpsInputOperands()) {
    bool isMaximum = input->get() == rows.getResult(0);
    mapping.map(exponential.getMatchingBlockArgument(input),
                isMaximum ? maximum : score);
  }
  Block *body = exponential.getBlock();
  for (Operation &nested : body->without_terminator())
    builder.clone(nested, mapping);
  return mapping.lookup(body->getTerminator()->getOperand(0));
}

/// The combination of what a reduction has, `own`, with the next element.
static Value createMaximum(OpBuilder &builder, Location loc, Value own,
                           Value element) {
  return arith::MaximumFOp::create(builder, loc, own, element,
                                   arith::FastMathFlags::nnan);
}

/// Lets operator `op` keep states from here on: rows of which nothing is known.
void TreeBuilder::addStates(unsigned op, const Position &position,
                            Carried &carried) {
  double neutral[] = {-INFINITY, 0};
  for (auto [index, state] : llvm::enumerate(problem.operators[op].states))
    carried.push_back(buildFill(op, state, neutral[index], position,
                                buildBuffer(state, position)));
}

/// Finishes the elements of a tile of scores, and the maximum of its rows.
std::pair<Value, Value> TreeBuilder::buildScore(unsigned op,
                                                const Position &position,
                                                Value score, Value maximum,
                                                model::TensorId rows) {
  model::TensorId scores = problem.operators[op].output;
  ArrayRef<model::LoopId> loops = dimsOf(scores);
  if (!analysis.operators[op].epilogue) {
    maximum = buildGeneric(op, loops, position, atLoops(score, scores, loops),
                           atLoops(maximum, rows, loops),
                           [&](OpBuilder &body, ValueRange scalars) {
                             return SmallVector<Value>{createMaximum(
                                 body, loc(), scalars[1], scalars[0])};
                           })[0];
    return {score, maximum};
  }
  Epilogue epilogue = readEpilogue(op, position);
  SmallVector<Value> results = buildGeneric(
      op, loops, position, epilogue.inputs,
      {atLoops(score, scores, loops), atLoops(maximum, rows, loops)},
      [&](OpBuilder &body, ValueRange scalars) {
        ValueRange own = scalars.take_back(2);
        Value element = cloneEpilogue(epilogue, body, scalars, own[0]);
        return SmallVector<Value>{element,
                                  createMaximum(body, loc(), own[1], element)};
      });
  return {results[0], results[1]};
}

/// Brings maximum and sum of rows, and what operator `reader` has accumulated,
/// in line with the `highest` scores of another tile of operator `op`.
void TreeBuilder::correct(unsigned op, unsigned reader,
                          const Position &position, Value highest,
                          Carried &carried) {
  const model::Operator &description = problem.operators[reader];
  model::TensorId state = description.states[0], output = description.output;
  ArrayRef<model::LoopId> rows = dimsOf(state), products = dimsOf(output);
  SmallVector<Value> results = buildGeneric(
      reader, rows, position, atLoops(highest, state, rows),
      {atLoops(carried[1], state, rows), atLoops(carried[2], state, rows),
       atLoops(buildBuffer(state, position), state, rows)},
      [&](OpBuilder &body, ValueRange scalars) {
        Value maximum = createMaximum(body, loc(), scalars[1], scalars[0]);
        Value factor =
            cloneExponential(body, analysis.operators[op], scalars[1], maximum);
        Value sum = arith::MulFOp::create(body, loc(), scalars[2], factor);
        return SmallVector<Value>{maximum, sum, factor};
      });
  carried[1] = results[0];
  carried[2] = results[1];
  carried[0] = buildGeneric(reader, products, position,
                            atLoops(results[2], state, products),
                            atLoops(carried[0], output, products),
                            [&](OpBuilder &body, ValueRange scalars) {
                              return SmallVector<Value>{arith::MulFOp::create(
                                  body, loc(), scalars[1], scalars[0])};
                            })[0];
}

/// Turns a tile of scores, fresh from the contraction, into exponentials, and
/// brings the states of its reader up to date. What the reader has accumulated
/// `isCorrected`, if it has something yet.
Value TreeBuilder::finishScore(unsigned op, const Position &position,
                               Value score, bool isCorrected,
                               Carried &carried) {
  unsigned reader = 0;
  while (problem.operators[reader].states.empty())
    ++reader;
  model::TensorId scores = problem.operators[op].output;
  model::TensorId most = problem.operators[reader].states[0];
  ArrayRef<model::LoopId> elements = dimsOf(scores);
  Value &maximum = carried[1], &sum = carried[2];
  Value highest = maximum;
  if (isCorrected)
    highest = buildFill(reader, most, -INFINITY, position,
                        buildBuffer(most, position));
  std::tie(score, highest) = buildScore(op, position, score, highest, most);
  if (isCorrected)
    correct(op, reader, position, highest, carried);
  else
    maximum = highest;

  SmallVector<Value> results = buildGeneric(
      op, elements, position, atLoops(maximum, most, elements),
      {atLoops(score, scores, elements), atLoops(sum, most, elements)},
      [&](OpBuilder &body, ValueRange scalars) {
        Value exponential = cloneExponential(body, analysis.operators[op],
                                             scalars[1], scalars[0]);
        Value added =
            arith::AddFOp::create(body, loc(), scalars[2], exponential);
        return SmallVector<Value>{exponential, added};
      });
  sum = results[1];
  return results[0];
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Puts the operators of `chain` back in its place.
static void putBack(ChainOp chain) {
  Block &body = chain.getBody().front();
  for (auto [argument, input] :
       llvm::zip_equal(body.getArguments(), chain.getInputs()))
    argument.replaceAllUsesWith(input);
  Operation *yield = body.getTerminator();
  for (auto [result, value] :
       llvm::zip_equal(chain.getResults(), yield->getOperands()))
    result.replaceAllUsesWith(value);
  chain->getBlock()->getOperations().splice(Block::iterator(chain),
                                            body.getOperations(), body.begin(),
                                            Block::iterator(yield));
  chain.erase();
}

namespace {
struct TilePass : chimera::impl::TilePassBase<TilePass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<ChainOp> chains;
    getOperation()->walk([&](ChainOp chain) { chains.push_back(chain); });
    for (ChainOp chain : chains) {
      if (dissolve || !chain.getSchedule()) {
        putBack(chain);
        continue;
      }
      FailureOr<ChainAnalysis> analysis = analyzeChain(chain);
      if (failed(analysis))
        return signalPassFailure();
      if (!isLowerable(*analysis)) {
        remark::missed(
            chain.getLoc(),
            remark::RemarkOpts::name("not-lowered").category("chimera"))
            << "planned, but left to other passes: " + analysis->obstacle;
        putBack(chain);
        continue;
      }
      FailureOr<model::Schedule> schedule =
          convertSchedule(chain, *chain.getSchedule(), *analysis);
      if (failed(schedule))
        return signalPassFailure();
      // The schedule may be written by hand and never have met a target.
      if (llvm::Error error =
              model::verifyParallel(analysis->problem, *schedule)) {
        chain.emitError("schedule cannot run: ")
            << llvm::toString(std::move(error));
        return signalPassFailure();
      }
      Value result = TreeBuilder(chain, *analysis, *schedule).build();
      chain.getResult(0).replaceAllUsesWith(result);
      chain.erase();
    }
  }
};
} // namespace
