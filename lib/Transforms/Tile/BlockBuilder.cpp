//===- BlockBuilder.cpp - What runs inside the loop tree ------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tile/BlockBuilder.h"

#include "Tile/RowPadding.h"

#include "Chimera/Chain/ScheduleConversion.h"
#include "Chimera/Model/Algorithms.h"
#include "Chimera/Model/Padding.h"
#include "Chimera/Transforms/BufferScope.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace chimera;

void chimera::addTileExtents(ArrayRef<int64_t> possible, int64_t tile,
                             int64_t first,
                             llvm::SmallSetVector<int64_t, 4> &values) {
  for (int64_t extent : possible) {
    if (extent == anyExtent || extent - first >= tile)
      values.insert(tile);
    if (extent % tile != 0)
      values.insert(extent % tile);
  }
  if (llvm::is_contained(possible, anyExtent) && tile > 1)
    values.insert(anyExtent);
}

BlockBuilder::BlockBuilder(OpBuilder &builder, ChainOp chain,
                           const ChainAnalysis &analysis,
                           const model::Schedule &schedule)
    : builder(builder), chain(chain), analysis(analysis),
      problem(analysis.problem), schedule(schedule),
      forms(schedule.blocks.value_or(model::BlockForms())),
      sumType(getNumberTypes(analysis.operators.front()).sum),
      dims(problem.tensors.size()), madeDims(problem.tensors.size()) {
  auto loopsOf = [](const model::Access &access) {
    SmallVector<model::LoopId, 4> loops;
    for (const model::Index &index : access.indices)
      for (const model::Term &term : index.terms)
        loops.push_back(term.loop);
    return loops;
  };
  auto read = [&](const model::Access &access) {
    dims[access] = loopsOf(access);
  };
  for (const model::Operator &op : problem.operators) {
    llvm::for_each(op.inputs, read);
    llvm::for_each(op.epilogue, read);
    llvm::for_each(op.states, read);
    read(op.output);
    madeDims[op.output] = loopsOf(op.output);
  }
}

//===----------------------------------------------------------------------===//
// Tiles and buffers
//===----------------------------------------------------------------------===//

OpFoldResult TreePosition::getSliceSize(model::LoopId loop) const {
  if (auto value = dyn_cast<Value>(extents[loop]))
    if (auto whole = value.getDefiningOp<SizeOp>())
      return Builder(whole).getIndexAttr(whole.getPlaceholder());
  return extents[loop];
}

void BlockBuilder::describeSlice(ArrayRef<model::LoopId> dims,
                                 ArrayRef<LoopOffset> moved,
                                 const TreePosition &position,
                                 SmallVectorImpl<OpFoldResult> &offsets,
                                 SmallVectorImpl<OpFoldResult> &sizes,
                                 SmallVectorImpl<OpFoldResult> &strides) const {
  for (model::LoopId dim : dims) {
    const auto *found = llvm::find_if(
        moved, [&](const LoopOffset &move) { return move.loop == dim; });
    offsets.push_back(found == moved.end()
                          ? OpFoldResult(builder.getIndexAttr(0))
                          : found->offset);
    sizes.push_back(position.getSliceSize(dim));
    strides.push_back(builder.getIndexAttr(1));
  }
}

Value BlockBuilder::buildWindows(const model::Access &access, Value source,
                                 const TreePosition &position) {
  SmallVector<int64_t> shape;
  SmallVector<AffineExpr> sums;
  auto type = cast<RankedTensorType>(source.getType());
  for (auto [index, size] : llvm::zip_equal(access.indices, type.getShape())) {
    AffineExpr sum = builder.getAffineConstantExpr(0);
    for (const model::Term &term : index.terms) {
      sum = sum + builder.getAffineDimExpr(shape.size()) * term.factor;
      int64_t most = *llvm::max_element(position.possible[term.loop]);
      // Loops over sizes that are not known index dimensions of their own.
      shape.push_back(most == anyExtent ? size : most);
    }
    sums.push_back(sum);
  }
  return WindowsOp::create(
      builder, loc(), RankedTensorType::get(shape, type.getElementType()),
      source, AffineMap::get(shape.size(), 0, sums, builder.getContext()));
}

ArrayAttr BlockBuilder::extentsOf(ArrayRef<model::LoopId> loops,
                                  const TreePosition &position) const {
  SmallVector<Attribute> extents;
  for (model::LoopId loop : loops)
    extents.push_back(builder.getI64ArrayAttr(position.possible[loop]));
  return builder.getArrayAttr(extents);
}

Value BlockBuilder::buildBuffer(model::TensorId tensor,
                                const TreePosition &position,
                                Type elementType) {
  SmallVector<int64_t> shape;
  SmallVector<OpFoldResult> offsets, sizes, strides;
  for (model::LoopId dim : madeDimsOf(tensor))
    shape.push_back(*llvm::max_element(position.possible[dim]));
  describeSlice(madeDimsOf(tensor), {}, position, offsets, sizes, strides);
  return createBuffer(shape, sizes, elementType ? elementType : sumType,
                      problem.tensors[tensor].role == model::Role::State
                          ? BufferKind::State
                          : BufferKind::Tile);
}

Value BlockBuilder::createBuffer(ArrayRef<int64_t> most,
                                 ArrayRef<OpFoldResult> sizes, Type elementType,
                                 BufferKind kind) {
  SmallVector<int64_t> shape(most);
  bool isPadded = false;
  if (forms.rows && shape.size() > 1 && kind != BufferKind::State) {
    auto [lineBytes, apart] = *forms.rows;
    int64_t row = padRow(alignRow(shape.back(), elementType, lineBytes),
                         elementType, apart, lineBytes);
    isPadded = row != shape.back();
    shape.back() = row;
  }
  Value buffer;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(
        getBufferScope(builder.getInsertionBlock()->getParentOp()));
    // As empty tensors, states would become one, as several have one shape, and
    // frames with what fills their borders, and padded buffers would become the
    // slice that is used of them.
    auto type = RankedTensorType::get(shape, elementType);
    if (kind != BufferKind::Tile || isPadded || !forms.rows)
      buffer = bufferization::AllocTensorOp::create(builder, loc(), type,
                                                    ValueRange());
    else
      buffer =
          tensor::EmptyOp::create(builder, loc(), shape, type.getElementType());
  }
  if (!isPadded &&
      llvm::none_of(sizes, [](OpFoldResult size) { return isa<Value>(size); }))
    return buffer;
  SmallVector<OpFoldResult> zeros(shape.size(), builder.getIndexAttr(0)),
      ones(shape.size(), builder.getIndexAttr(1));
  return tensor::ExtractSliceOp::create(builder, loc(), buffer, zeros, sizes,
                                        ones);
}

//===----------------------------------------------------------------------===//
// Fills and contractions
//===----------------------------------------------------------------------===//

/// The taps of operator `op` that lie on padding, if its kernels leave them out
/// by rows.
TapsAttr BlockBuilder::tapsOf(unsigned op) const {
  const model::Operator &description = problem.operators[op];
  model::LoopNest tree =
      model::buildLoopTree(problem, schedule, schedule.levels.size() - 1);
  model::leaveLoopsToKernels(problem, schedule, tree);
  auto path = model::pathOf(tree, op);
  auto toDim = [&](model::LoopId loop) {
    ArrayRef<model::LoopId> loops = analysis.operators[op].loops;
    return std::distance(loops.begin(), llvm::find(loops, loop));
  };
  for (const model::PaddedWindow &window :
       model::paddedWindowsOf(problem, description))
    if (model::leavesOutByRows(description, window, path))
      return TapsAttr::get(builder.getContext(), toDim(window.pixel),
                           toDim(window.tap), window.pixelFactor,
                           window.tapFactor, window.begin, window.end);
  return TapsAttr();
}

/// The register tile for operator `op`.
RegisterTileAttr BlockBuilder::registersOf(unsigned op) const {
  model::RegisterTile tile = schedule.registerTile;
  int64_t part =
      model::reductionPartOf(problem, problem.operators[op], tile.part);
  tile.part = part > model::reductionPart ? part : 0;
  return getRegisterTileAttr(builder.getContext(), tile);
}

SmallVector<Value>
BlockBuilder::buildBlock(unsigned op, ValueRange destinations,
                         ValueRange inputs, ArrayAttr extents,
                         bool isContraction, BlockBody body) {
  RegisterTileAttr registers;
  DenseI64ArrayAttr packed;
  PrefetchAttr prefetch;
  TapsAttr taps;
  if (isContraction) {
    taps = tapsOf(op);
    prefetch = getPrefetchAttr(builder.getContext(), forms.prefetch);
    registers = registersOf(op);
    SmallVector<int64_t> positions;
    for (auto [index, input] : llvm::enumerate(problem.operators[op].inputs))
      if (llvm::is_contained(schedule.packed, input))
        positions.push_back(index);
    if (!positions.empty())
      packed = builder.getDenseI64ArrayAttr(positions);
  }
  auto block = BlockOp::create(builder, loc(), destinations.getTypes(),
                               problem.operators[op].name, inputs, destinations,
                               extents, registers, packed, prefetch, taps,
                               /*streamed=*/false, /*rowwise=*/IntegerAttr());
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
  Value number =
      createNumber(builder, loc, getElementTypeOrSelf(tensor), value);
  return linalg::FillOp::create(builder, loc, number, tensor).getResult(0);
}

Value BlockBuilder::buildFill(unsigned op, model::TensorId tensor, double value,
                              const TreePosition &position, Value destination) {
  return buildBlock(
      op, destination, {}, extentsOf(madeDimsOf(tensor), position),
      /*isContraction=*/false, [&](OpBuilder &inner, ValueRange arguments) {
        return SmallVector<Value>{
            createFill(inner, loc(), value, arguments.back())};
      })[0];
}

/// The extents of a block that computes all of `tensor`, of a static shape.
static ArrayAttr getExtents(OpBuilder &builder, Value tensor) {
  SmallVector<Attribute> extents;
  for (int64_t size : cast<RankedTensorType>(tensor.getType()).getShape())
    extents.push_back(builder.getI64ArrayAttr(size));
  return builder.getArrayAttr(extents);
}

Value BlockBuilder::buildZeros(unsigned op, Value destination) {
  return buildBlock(op, destination, {}, getExtents(builder, destination),
                    /*isContraction=*/false,
                    [&](OpBuilder &inner, ValueRange arguments) {
                      return SmallVector<Value>{
                          createFill(inner, loc(), 0, arguments.back())};
                    })[0];
}

Value BlockBuilder::buildTranspose(unsigned op, Value source,
                                   ArrayRef<int64_t> permutation,
                                   Value destination) {
  return buildBlock(op, destination, source, getExtents(builder, destination),
                    /*isContraction=*/false,
                    [&](OpBuilder &inner, ValueRange arguments) {
                      return SmallVector<Value>{linalg::TransposeOp::create(
                                                    inner, loc(), arguments[0],
                                                    arguments[1], permutation)
                                                    ->getResult(0)};
                    })[0];
}

Value BlockBuilder::buildCopy(unsigned op, model::TensorId tensor,
                              const TreePosition &position, Value destination) {
  return buildBlock(
      op, destination, position.tensors[tensor],
      extentsOf(dimsOf(tensor), position),
      /*isContraction=*/false, [&](OpBuilder &inner, ValueRange arguments) {
        return SmallVector<Value>{
            linalg::CopyOp::create(inner, loc(), arguments[0], arguments[1])
                .getResult(0)};
      })[0];
}

/// Gives the body of `op`, a copy of `original`, constants of its own: those
/// around the original go with the chain.
static void copyConstants(OpBuilder &builder, linalg::LinalgOp original,
                          linalg::LinalgOp op) {
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(original->getRegions(), captured);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(op.getBlock());
  for (Value value : captured)
    if (Operation *definition = value.getDefiningOp();
        definition && definition->hasTrait<OpTrait::ConstantLike>())
      replaceAllUsesInRegionWith(
          value, builder.clone(*definition)->getResult(0), op->getRegion(0));
}

/// `contraction` on `operands`, inputs indexed by `maps`. The last inputs say
/// where the dimensions `shifted` start.
static Operation *cloneContraction(OpBuilder &builder,
                                   linalg::LinalgOp contraction,
                                   ValueRange operands,
                                   ArrayRef<AffineMap> maps,
                                   ArrayRef<unsigned> shifted) {
  auto generic = linalg::GenericOp::create(
      builder, contraction.getLoc(), operands.back().getType(),
      operands.drop_back(), operands.back(), maps,
      contraction.getIteratorTypesArray());
  IRMapping mapping;
  contraction->getRegion(0).cloneInto(&generic.getRegion(), mapping);
  Block &body = *generic.getBlock();
  SmallVector<linalg::IndexOp> indices(body.getOps<linalg::IndexOp>());
  for (unsigned dim : shifted) {
    BlockArgument first =
        body.insertArgument(body.getNumArguments() - 1, builder.getIndexType(),
                            contraction.getLoc());
    for (linalg::IndexOp index : indices) {
      if (index.getDim() != dim)
        continue;
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointAfter(index);
      auto moved = arith::AddIOp::create(builder, index.getLoc(), index, first);
      index.getResult().replaceAllUsesExcept(moved, moved);
    }
  }
  return generic;
}

/// The dimensions, `loops`, whose position the body of `op` asks for and does
/// not count from zero at `position`.
static SmallVector<unsigned> getShiftedDims(linalg::LinalgOp op,
                                            ArrayRef<model::LoopId> loops,
                                            const TreePosition &position) {
  SmallVector<unsigned> shifted;
  for (auto [dim, loop] : llvm::enumerate(loops)) {
    bool isUsed = llvm::any_of(
        op.getBlock()->getOps<linalg::IndexOp>(),
        [dim = dim](linalg::IndexOp index) { return index.getDim() == dim; });
    if (isUsed && !isConstantIntValue(position.offsets[loop], 0))
      shifted.push_back(dim);
  }
  return shifted;
}

Value BlockBuilder::buildContraction(unsigned op, const TreePosition &position,
                                     Value destination, bool initialised) {
  const ChainOperator &chainOp = analysis.operators[op];
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (const model::Access &input : problem.operators[op].inputs) {
    inputs.push_back(position.tensors[input]);
    maps.push_back(atLoops(inputs.back(), input, chainOp.loops).map);
  }
  SmallVector<unsigned> shifted =
      getShiftedDims(chainOp.contraction, chainOp.loops, position);
  for (unsigned dim : shifted) {
    inputs.push_back(getValueOrCreateConstantIndexOp(
        builder, loc(), position.offsets[chainOp.loops[dim]]));
    maps.push_back(
        AffineMap::get(chainOp.loops.size(), 0, builder.getContext()));
  }
  return buildBlock(
      op, destination, inputs, extentsOf(chainOp.loops, position),
      /*isContraction=*/true, [&](OpBuilder &inner, ValueRange arguments) {
        SmallVector<Value> operands(arguments);
        if (!initialised)
          operands.back() = createFill(inner, loc(), 0, operands.back());
        linalg::LinalgOp contraction = chainOp.contraction;
        Operation *copy = nullptr;
        if (shifted.empty() &&
            !llvm::any_of(problem.operators[op].inputs, hasWindows)) {
          copy = mlir::clone(inner, contraction, operands.back().getType(),
                             operands);
        } else {
          maps.push_back(contraction.getIndexingMapsArray().back());
          copy = cloneContraction(inner, contraction, operands, maps, shifted);
        }
        copyConstants(inner, contraction, cast<linalg::LinalgOp>(copy));
        return SmallVector<Value>(copy->getResults());
      })[0];
}

//===----------------------------------------------------------------------===//
// Elementwise operations
//===----------------------------------------------------------------------===//

BlockBuilder::Operand
BlockBuilder::atLoops(Value value, model::TensorId tensor,
                      ArrayRef<model::LoopId> loops) const {
  SmallVector<AffineExpr> results;
  for (model::LoopId dim : dimsOf(tensor))
    results.push_back(builder.getAffineDimExpr(
        std::distance(loops.begin(), llvm::find(loops, dim))));
  return {value,
          AffineMap::get(loops.size(), 0, results, builder.getContext())};
}

SmallVector<Value> BlockBuilder::buildGeneric(
    unsigned op, ArrayRef<model::LoopId> loops, const TreePosition &position,
    ArrayRef<Operand> inputs, ArrayRef<Operand> outputs, BlockBody body) {
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
Value BlockBuilder::getTile(Value value, const TreePosition &position) const {
  auto tensor = llvm::find(analysis.tensors, value);
  if (tensor != analysis.tensors.end())
    return position.tensors[std::distance(analysis.tensors.begin(), tensor)];
  return ChainOp(chain).getInputs()[cast<BlockArgument>(value).getArgNumber()];
}

BlockBuilder::Epilogue
BlockBuilder::readEpilogue(unsigned op, const TreePosition &position) {
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
    Operation *definition = value.getDefiningOp();
    if (!isTensor && definition) {
      epilogue.constants.push_back(definition);
      continue;
    }
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
  ArrayRef<model::LoopId> loops = analysis.operators[op].epilogueLoops;
  epilogue.shifted = getShiftedDims(
      cast<linalg::LinalgOp>(epilogue.op.getOperation()), loops, position);
  for (unsigned dim : epilogue.shifted)
    epilogue.inputs.push_back(
        {getValueOrCreateConstantIndexOp(builder, loc(),
                                         position.offsets[loops[dim]]),
         scalar});
  return epilogue;
}

Value BlockBuilder::cloneEpilogue(const Epilogue &epilogue, OpBuilder &body,
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
    else if (Value constant = mapping.lookupOrNull(input->get()))
      mapping.map(op.getMatchingBlockArgument(input), constant);
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

Value BlockBuilder::buildEpilogue(unsigned op, const TreePosition &position,
                                  Value sums, Value destination) {
  if (!analysis.operators[op].epilogue)
    return sums;
  Epilogue epilogue = readEpilogue(op, position);
  AffineMap identity =
      builder.getMultiDimIdentityMap(epilogue.op.getNumLoops());
  Type type = getElementTypeOrSelf(epilogue.op.getResult(0));
  bool isInPlace = type == getElementTypeOrSelf(sums);
  SmallVector<Operand> inputs = epilogue.inputs;
  if (isInPlace)
    destination = sums;
  else
    inputs.push_back({sums, identity});
  if (!destination)
    destination = buildBuffer(problem.operators[op].output, position, type);
  // What is finished comes last in the one case, before last in the other.
  return buildGeneric(op, analysis.operators[op].epilogueLoops, position,
                      inputs, Operand{destination, identity},
                      [&](OpBuilder &body, ValueRange scalars) {
                        Value finished = isInPlace ? scalars.back()
                                                   : scalars.drop_back().back();
                        return SmallVector<Value>{
                            cloneEpilogue(epilogue, body, scalars, finished)};
                      })[0];
}
