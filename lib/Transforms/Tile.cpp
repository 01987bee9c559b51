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
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/RegionUtils.h"

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
      read(op.output);
    }
  }

  /// Builds the tree before the chain and returns the chain's result.
  Value build();

private:
  using Body =
      llvm::function_ref<Value(const Position &position, Value destination)>;

  void separateCrossing(model::LoopNest &nest);
  Position start();
  Value buildParallel(const Position &position, Value destination);
  Value buildNest(const model::LoopNest &nest, unsigned depth,
                  const Position &position, Value destination,
                  bool initialised);
  Value buildParts(const model::LoopNest &nest, const Position &position,
                   Value destination, bool initialised);
  Value buildBuffer(unsigned op, const Position &position);
  Value buildLoop(const model::NestLoop &loop, const Position &position,
                  model::TensorId output, Value destination, Body body);

  Value buildFill(unsigned op, const Position &position, Value destination);
  Value buildContraction(unsigned op, const Position &position,
                         Value destination, bool initialised);
  Value buildEpilogue(unsigned op, const Position &position, Value destination);
  Value buildBlock(unsigned op, Value destination, ValueRange inputs,
                   ArrayAttr extents, bool isContraction,
                   llvm::function_ref<Value(OpBuilder &, ValueRange)> body);

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
  return buildNest(tree, 0, position, destination, /*initialised=*/false);
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
  Value result = buildNest(tree, schedule.numParallel, inner, tile,
                           /*initialised=*/false);
  builder.setInsertionPointToStart(forall.getTerminator().getBody());
  tensor::ParallelInsertSliceOp::create(builder, loc(), result, outerTile,
                                        offsets, sizes, strides);
  return forall.getResult(0);
}

/// A sequential loop that carries the tensor `output`, of which `destination`
/// is the part inside the enclosing loops.
Value TreeBuilder::buildLoop(const model::NestLoop &loop,
                             const Position &position, model::TensorId output,
                             Value destination, Body body) {
  Value lower = arith::ConstantIndexOp::create(builder, loc(), 0);
  Value step = arith::ConstantIndexOp::create(builder, loc(), loop.tile);
  Value upper = getValueOrCreateConstantIndexOp(builder, loc(),
                                                position.extents[loop.loop]);
  auto forOp =
      scf::ForOp::create(builder, loc(), lower, upper, step, destination);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(forOp.getBody());
  Value iv = forOp.getInductionVar(), carried = forOp.getRegionIterArg(0);
  Position inner = narrow(loop, position, iv);
  Value result;
  if (problem.indexes(output, loop.loop)) {
    Value tile = slice(output, carried, loop.loop, OpFoldResult(iv), inner);
    SmallVector<OpFoldResult> offsets, sizes, strides;
    describeSlice(output, loop.loop, OpFoldResult(iv), inner, offsets, sizes,
                  strides);
    result = tensor::InsertSliceOp::create(builder, loc(), body(inner, tile),
                                           carried, offsets, sizes, strides);
  } else {
    result = body(inner, carried);
  }
  scf::YieldOp::create(builder, loc(), result);
  return forOp.getResult(0);
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

/// The loops of `nest` from `depth` on and what is inside. `destination` takes
/// the output of the nest's last operator, which is `initialised` if a loop
/// outside has filled it already.
Value TreeBuilder::buildNest(const model::LoopNest &nest, unsigned depth,
                             const Position &position, Value destination,
                             bool initialised) {
  unsigned last = nest.lastOperator;
  bool isFinal = last == lastOperator();
  if (depth == nest.loops.size()) {
    if (!nest.parts.empty())
      return buildParts(nest, position, destination, initialised);
    Value result = buildContraction(last, position, destination, initialised);
    return isFinal && !initialised ? buildEpilogue(last, position, result)
                                   : result;
  }
  const model::NestLoop &loop = nest.loops[depth];
  // Accumulators live from outside their outermost reduction loop on.
  bool isOutermostReduction = !initialised && isReductionOf(last, loop.loop);
  if (isOutermostReduction)
    destination = buildFill(last, position, destination);
  bool nowInitialised = initialised || isOutermostReduction;
  Value result = buildLoop(loop, position, problem.operators[last].output,
                           destination, [&](const Position &inner, Value tile) {
                             return buildNest(nest, depth + 1, inner, tile,
                                              nowInitialised);
                           });
  return isOutermostReduction && isFinal ? buildEpilogue(last, position, result)
                                         : result;
}

/// The parts of a nest in turn, intermediates between them in buffers the size
/// the loops around leave them.
Value TreeBuilder::buildParts(const model::LoopNest &nest,
                              const Position &position, Value destination,
                              bool initialised) {
  Position current = position;
  for (const model::LoopNest &part : ArrayRef(nest.parts).drop_back()) {
    unsigned op = part.lastOperator;
    Value result = buildNest(part, 0, current, buildBuffer(op, position),
                             /*initialised=*/false);
    current.tensors[problem.operators[op].output] =
        buildEpilogue(op, current, result);
  }
  return buildNest(nest.parts.back(), 0, current, destination, initialised);
}

/// The buffer of an intermediate: created once for all iterations, cut down to
/// the extents of this one.
Value TreeBuilder::buildBuffer(unsigned op, const Position &position) {
  model::TensorId output = problem.operators[op].output;
  SmallVector<int64_t> shape;
  SmallVector<OpFoldResult> offsets, sizes, strides;
  for (model::LoopId dim : dimsOf(output))
    shape.push_back(*llvm::max_element(position.possible[dim]));
  describeSlice(output, problem.loops.size(), OpFoldResult(), position, offsets,
                sizes, strides);
  Value buffer;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(
        getBufferScope(builder.getInsertionBlock()->getParentOp()));
    buffer =
        tensor::EmptyOp::create(builder, loc(), shape, builder.getF32Type());
  }
  if (llvm::none_of(sizes, [](OpFoldResult size) { return isa<Value>(size); }))
    return buffer;
  return tensor::ExtractSliceOp::create(builder, loc(), buffer, offsets, sizes,
                                        strides);
}

//===----------------------------------------------------------------------===//
// Leaves
//===----------------------------------------------------------------------===//

Value TreeBuilder::buildBlock(
    unsigned op, Value destination, ValueRange inputs, ArrayAttr extents,
    bool isContraction,
    llvm::function_ref<Value(OpBuilder &, ValueRange)> body) {
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
  auto block = BlockOp::create(builder, loc(), TypeRange(destination.getType()),
                               problem.operators[op].name, inputs, destination,
                               extents, registers, packed);
  OpBuilder::InsertionGuard guard(builder);
  Block &entry = block.getBody().emplaceBlock();
  for (Value operand : block->getOperands())
    entry.addArgument(operand.getType(), loc());
  builder.setInsertionPointToStart(&entry);
  Value result = body(builder, entry.getArguments());
  YieldOp::create(builder, loc(), result);
  return block.getResult(0);
}

static Value createZeroFill(OpBuilder &builder, Location loc, Value tensor) {
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0.0));
  return linalg::FillOp::create(builder, loc, zero, tensor).getResult(0);
}

Value TreeBuilder::buildFill(unsigned op, const Position &position,
                             Value destination) {
  ArrayRef<model::LoopId> outputDims = dimsOf(problem.operators[op].output);
  return buildBlock(op, destination, {}, extentsOf(outputDims, position),
                    /*isContraction=*/false,
                    [&](OpBuilder &inner, ValueRange arguments) {
                      return createZeroFill(inner, loc(), arguments.back());
                    });
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
          operands.back() = createZeroFill(inner, loc(), operands.back());
        linalg::LinalgOp contraction = chainOp.contraction;
        return mlir::clone(inner, contraction, operands.back().getType(),
                           operands)
            ->getResult(0);
      });
}

/// The elementwise operation after an operator, in place on the operator's
/// output. Scalars that its body captures become inputs; constants move inside.
Value TreeBuilder::buildEpilogue(unsigned op, const Position &position,
                                 Value destination) {
  linalg::GenericOp epilogue = analysis.operators[op].epilogue;
  if (!epilogue)
    return destination;
  Value finished = analysis.operators[op].contraction->getResult(0);
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(epilogue.getRegion(), captured);

  // The values the new body's arguments stand for: arguments of the old body,
  // then captured values, then the output.
  SmallVector<Value> inputs, sources;
  SmallVector<AffineMap> maps;
  unsigned nextTensor = 0;
  for (OpOperand *input : epilogue.getDpsInputOperands()) {
    if (input->get() == finished)
      continue;
    Value value = input->get();
    if (isa<RankedTensorType>(value.getType()))
      inputs.push_back(
          position.tensors[problem.operators[op].epilogue[nextTensor++]]);
    else
      inputs.push_back(
          chain.getInputs()[cast<BlockArgument>(value).getArgNumber()]);
    sources.push_back(epilogue.getMatchingBlockArgument(input));
    maps.push_back(epilogue.getMatchingIndexingMap(input));
  }
  SmallVector<Operation *> constants;
  for (Value value : captured) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      inputs.push_back(chain.getInputs()[argument.getArgNumber()]);
      sources.push_back(value);
      maps.push_back(
          AffineMap::get(epilogue.getNumLoops(), 0, builder.getContext()));
    } else {
      constants.push_back(value.getDefiningOp());
    }
  }
  AffineMap identity = builder.getMultiDimIdentityMap(epilogue.getNumLoops());
  maps.push_back(identity);

  auto buildBody = [&](OpBuilder &inner, ValueRange arguments) -> Value {
    auto generic = linalg::GenericOp::create(
        inner, loc(), arguments.back().getType(), arguments.drop_back(),
        arguments.back(), maps,
        SmallVector<utils::IteratorType>(epilogue.getNumLoops(),
                                         utils::IteratorType::parallel),
        [&](OpBuilder &body, Location, ValueRange scalars) {
          IRMapping mapping;
          for (Operation *constant : constants)
            body.clone(*constant, mapping);
          for (auto [source, scalar] : llvm::zip(sources, scalars))
            mapping.map(source, scalar);
          for (OpOperand *input : epilogue.getDpsInputOperands())
            if (input->get() == finished)
              mapping.map(epilogue.getMatchingBlockArgument(input),
                          scalars.back());
          for (Operation &nested : *epilogue.getBody())
            body.clone(nested, mapping);
        });
    return generic.getResult(0);
  };
  return buildBlock(op, destination, inputs,
                    extentsOf(analysis.operators[op].epilogueLoops, position),
                    /*isContraction=*/false, buildBody);
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
