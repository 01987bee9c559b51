//===- ProgramEmitter.cpp - The code of one thread block ------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramEmitter.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SaveAndRestore.h"

#include <numeric>

using namespace mlir;
using namespace chimera;

/// Registers of a thread for the left operand of one mma.sync.
static constexpr int64_t lhsRegisters = 4;

LogicalResult ProgramEmitter::fail(const Twine &reason) {
  if (auto block = dyn_cast<BlockOp>(current))
    return refused.set(block.getStructuredOp(),
                       block.getOperatorName() + ": " + reason);
  return refused.set(current, reason);
}

LogicalResult ProgramEmitter::emit(Refusal &refusal) {
  current = program.getForall();
  kernel.createThread();
  chooseTile();
  shared.create();
  fillStatic();
  LogicalResult emitted = emitBody(*program.getForall().getBody());
  for (Operation &op :
       program.getForall().getTerminator().getBody()->getOperations())
    if (auto insert = dyn_cast<tensor::ParallelInsertSliceOp>(op);
        insert && succeeded(emitted))
      emitted = emitResult(insert);
  if (!kernel.problem.empty())
    emitted = fail(kernel.problem);
  refusal = refused;
  return success(succeeded(emitted) && refused.reason.empty());
}

static bool dependsOn(Value index, Value other) {
  if (index == other)
    return true;
  Operation *def = index.getDefiningOp();
  return def && llvm::any_of(def->getOperands(), [&](Value operand) {
           return operand.getType().isIndex() && dependsOn(operand, other);
         });
}

/// True if how long a thread block's loops run depends on `place`, of which
/// masks leave the more the larger it is.
bool ProgramEmitter::growsWith(Value place) {
  return program.getForall()
      .walk([&](scf::ForOp loop) {
        return dependsOn(loop.getUpperBound(), place) ? WalkResult::interrupt()
                                                      : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The iteration of the parallel loops that this thread block runs: the last
/// loop's iterations lie next to each other. Where later ones take longer they
/// start first, so that what is left in the end is short.
void ProgramEmitter::chooseTile() {
  scf::ForallOp forall = program.getForall();
  Value block =
      gpu::BlockIdOp::create(kernel.builder, loc(), gpu::Dimension::x);
  for (int64_t i = forall.getRank() - 1; i >= 0; --i) {
    int64_t lower = *getConstantIntValue(forall.getMixedLowerBound()[i]);
    int64_t upper = *getConstantIntValue(forall.getMixedUpperBound()[i]);
    int64_t step = *getConstantIntValue(forall.getMixedStep()[i]);
    int64_t trips = llvm::divideCeil(upper - lower, step);
    Value own = i == 0 ? block : kernel.rem(block, trips);
    if (growsWith(forall.getInductionVar(i)))
      own = kernel.sub(kernel.constant(trips - 1), own);
    indices.set(forall.getInductionVar(i),
                kernel.add(kernel.mul(own, step), lower));
    block = kernel.div(block, trips);
  }
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Where `tensor`, a tile of a tensor from outside, is for the indices `at`.
FailureOr<GlobalTile> ProgramEmitter::locate(Value tensor,
                                             const ProgramIndices &at) {
  Value root = program.findGlobal(tensor);
  GlobalTile tile;
  tile.memref =
      dyn_cast_if_present<TypedValue<MemRefType>>(memrefs.lookup(root));
  if (!tile.memref)
    return fail("a tensor from outside has no place in memory");
  ArrayRef<int64_t> shape = tile.memref.getType().getShape();
  for (int64_t extent : shape) {
    tile.offsets.push_back(kernel.constant(0));
    tile.sizes.push_back(kernel.constant(extent));
  }
  bool isNarrowed = false;
  while (tensor != root) {
    if (auto slice = tensor.getDefiningOp<tensor::ExtractSliceOp>()) {
      if (slice.getDroppedDims().any() || !slice.hasUnitStride())
        return fail("a slice drops dimensions or leaves out elements");
      for (unsigned i = 0; i < tile.rank(); ++i) {
        tile.offsets[i] = kernel.add(
            tile.offsets[i], at.get(kernel, slice.getMixedOffsets()[i]));
        if (!isNarrowed)
          tile.sizes[i] = at.get(kernel, slice.getMixedSizes()[i]);
      }
      tile.divisor =
          std::gcd(tile.divisor, getDivisor(slice.getMixedOffsets().back()));
      isNarrowed = true;
      tensor = slice.getSource();
    } else if (auto insert = tensor.getDefiningOp<tensor::InsertSliceOp>()) {
      tensor = insert.getDest();
    } else if (auto loop = tensor.getDefiningOp<scf::ForOp>()) {
      tensor = loop.getInits()[cast<OpResult>(tensor).getResultNumber()];
    } else {
      auto argument = cast<BlockArgument>(tensor);
      auto around = cast<scf::ForOp>(argument.getOwner()->getParentOp());
      tensor = around.getTiedLoopInit(argument)->get();
    }
  }
  return tile;
}

FailureOr<Fragment> ProgramEmitter::getFragment(Value tensor) {
  auto found = values.find(tensor);
  if (found != values.end())
    return found->second;
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  Operation *def = tensor.getDefiningOp();
  if (!def || !isEmptyTensor(def) || !type)
    return fail("a value that is neither computed nor loaded");
  if (type.getRank() + 1 == program.getRank())
    return Fragment::ofRows(type.getElementType(), kernel.layout.rowTiles);
  if (type.getRank() != program.getRank() ||
      ShapedType::isDynamic(type.getShape().back()))
    return fail("a value that is neither computed nor loaded");
  return Fragment(type.getElementType(), kernel.layout.rowTiles,
                  llvm::divideCeil(type.getShape().back(), mmaColumns));
}

/// The columns, in units of mma.sync, of a part of a value in registers: the
/// first and how many.
FailureOr<std::pair<int64_t, int64_t>>
ProgramEmitter::getColumnTiles(OffsetSizeAndStrideOpInterface op,
                               const Fragment &whole) {
  SmallVector<OpFoldResult> offsets = op.getMixedOffsets();
  for (OpFoldResult offset : ArrayRef(offsets).drop_back())
    if (!matchPattern(indices.get(kernel, offset), m_Zero()))
      return fail("a value in registers is cut into rows");
  Value first = indices.get(kernel, offsets.back());
  Value count = indices.get(kernel, op.getMixedSizes().back());
  std::optional<int64_t> start = getConstantIntValue(first);
  if (!start || *start % mmaColumns != 0)
    return fail("a value in registers is cut at columns that are no multiple "
                "of 8");
  std::optional<int64_t> columns = getConstantIntValue(count);
  int64_t left = whole.columnTiles - *start / mmaColumns;
  if (!columns && *start != 0)
    return fail("a value in registers is cut into parts of unknown size");
  int64_t tiles = columns ? llvm::divideCeil(*columns, mmaColumns) : left;
  return std::pair(*start / mmaColumns, std::min(tiles, left));
}

/// Fails unless `op` takes all of a number for each row.
LogicalResult ProgramEmitter::checkRows(OffsetSizeAndStrideOpInterface op) {
  for (OpFoldResult offset : op.getMixedOffsets())
    if (!matchPattern(indices.get(kernel, offset), m_Zero()))
      return fail("a value in registers is cut into rows");
  return success();
}

LogicalResult ProgramEmitter::emitSlice(tensor::ExtractSliceOp op) {
  if (!program.isLocal(op.getSource()))
    return success();
  FailureOr<Fragment> whole = getFragment(op.getSource());
  if (failed(whole))
    return failure();
  if (whole->isRows) {
    values[op.getResult()] = *whole;
    return checkRows(op);
  }
  auto columns = getColumnTiles(op, *whole);
  if (failed(columns))
    return failure();
  auto [first, count] = *columns;
  Fragment part(whole->elementType, whole->rowTiles, count);
  for (int64_t row = 0; row < part.rowTiles; ++row)
    for (int64_t column = 0; column < count; ++column)
      part.at(row, column) = whole->at(row, first + column);
  values[op.getResult()] = part;
  return success();
}

LogicalResult ProgramEmitter::emitInsert(tensor::InsertSliceOp op) {
  if (!program.isLocal(op.getSource()))
    return success();
  if (op.getSourceType().getRank() != op.getDestType().getRank())
    return fail("a slice drops dimensions or leaves out elements");
  FailureOr<Fragment> part = getFragment(op.getSource());
  if (failed(part))
    return failure();
  if (!program.isLocal(op.getDest())) {
    // The place of the slice, which is a tile of the destination's.
    FailureOr<GlobalTile> to = locate(op.getDest(), indices);
    if (failed(to))
      return failure();
    for (unsigned i = 0; i < to->rank(); ++i) {
      OpFoldResult offset = op.getMixedOffsets()[i];
      to->offsets[i] = kernel.add(to->offsets[i], indices.get(kernel, offset));
      to->sizes[i] = indices.get(kernel, op.getMixedSizes()[i]);
    }
    to->divisor =
        std::gcd(to->divisor, getDivisor(op.getMixedOffsets().back()));
    fragments.store(*part, *to);
    return success();
  }
  FailureOr<Fragment> whole = getFragment(op.getDest());
  if (failed(whole))
    return failure();
  if (whole->isRows) {
    values[op.getResult()] = *part;
    return checkRows(op);
  }
  auto columns = getColumnTiles(op, *whole);
  if (failed(columns))
    return failure();
  auto [first, count] = *columns;
  for (int64_t row = 0; row < part->rowTiles; ++row)
    for (int64_t column = 0; column < std::min(count, part->columnTiles);
         ++column)
      whole->at(row, first + column) = part->at(row, column);
  values[op.getResult()] = *whole;
  return success();
}

/// What was computed goes to the tile of the result; what was inserted piece by
/// piece is there already.
LogicalResult ProgramEmitter::emitResult(tensor::ParallelInsertSliceOp op) {
  if (!program.isLocal(op.getSource()))
    return success();
  FailureOr<Fragment> part = getFragment(op.getSource());
  FailureOr<GlobalTile> to = locate(op.getDest(), indices);
  if (failed(part) || failed(to))
    return failure();
  if (op.getSourceType().getRank() != static_cast<int64_t>(to->rank()))
    return fail("a slice drops dimensions or leaves out elements");
  for (unsigned i = 0; i < to->rank(); ++i) {
    to->offsets[i] = indices.get(kernel, op.getMixedOffsets()[i]);
    to->sizes[i] = indices.get(kernel, op.getMixedSizes()[i]);
  }
  to->divisor = getDivisor(op.getMixedOffsets().back());
  fragments.store(*part, *to);
  return success();
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

LogicalResult ProgramEmitter::emitBody(Block &body) {
  for (Operation &op : body.without_terminator())
    if (failed(emitOperation(op)))
      return failure();
  return success();
}

LogicalResult ProgramEmitter::emitOperation(Operation &op) {
  llvm::SaveAndRestore<Operation *> inside(current, &op);
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](BlockOp block) { return emitBlock(block); })
      .Case([&](scf::ForOp loop) { return emitLoop(loop); })
      .Case([&](tensor::ExtractSliceOp slice) { return emitSlice(slice); })
      .Case([&](tensor::InsertSliceOp insert) { return emitInsert(insert); })
      .Default([&](Operation *other) -> LogicalResult {
        if (isEmptyTensor(other))
          return success();
        // Indices are computed where they are needed.
        bool isScalar =
            llvm::none_of(other->getResultTypes(), llvm::IsaPred<ShapedType>);
        if (isScalar && isMemoryEffectFree(other) &&
            other->getNumRegions() == 0)
          return success();
        return fail("'" + other->getName().getStringRef() +
                    "' is not supported");
      });
}

LogicalResult ProgramEmitter::emitBlock(BlockOp block) {
  if (const Contraction *contraction = program.getContraction(block))
    return emitContraction(*contraction);
  linalg::LinalgOp op = block.getStructuredOp();
  if (auto fill = dyn_cast<linalg::FillOp>(op.getOperation()))
    return emitFill(block, fill);
  if (auto generic = dyn_cast<linalg::GenericOp>(op.getOperation()))
    return emitElementwise(block, generic);
  return fail("'" + op->getName().getStringRef() + "' is not supported");
}

LogicalResult ProgramEmitter::emitFill(BlockOp block, linalg::FillOp fill) {
  auto type = cast<RankedTensorType>(block.getResult(0).getType());
  bool isRows = type.getRank() + 1 == program.getRank();
  auto extents = getExtents(block, std::max<int64_t>(type.getRank() - 1, 0));
  TypedAttr number;
  if ((type.getRank() != program.getRank() && !isRows) || !extents ||
      !matchPattern(fill.getInputs()[0], m_Constant(&number)))
    return fail("a fill must be a matrix of a constant");
  int64_t rowTiles = kernel.layout.rowTiles;
  Fragment fragment =
      isRows ? Fragment::ofRows(type.getElementType(), rowTiles)
             : Fragment(type.getElementType(), rowTiles,
                        llvm::divideCeil(extents->first, mmaColumns));
  Value part = arith::ConstantOp::create(
      kernel.builder, loc(),
      DenseElementsAttr::get(fragment.partType(), Attribute(number)));
  llvm::fill(fragment.parts, part);
  values[block.getResult(0)] = fragment;
  return success();
}

LogicalResult ProgramEmitter::checkRegisters(int64_t registers) {
  const model::ThreadGroups &groups = program.getLimits().groups;
  int64_t needed =
      carriedRegisters + registers +
      model::registersBesideTiles(groups, kernel.layout.rowTiles, lhsRegisters);
  int64_t available = groups.availableRegisters(kernel.layout.warps);
  if (needed <= available)
    return success();
  refused.isOfRegisters = true;
  return fail(
      llvm::formatv("tiles take about {0} registers of each of {1} threads, "
                    "which have {2}; cut columns into smaller ones",
                    needed, kernel.layout.threads(), available)
          .str());
}

LogicalResult ProgramEmitter::emitContraction(const Contraction &contraction) {
  BlockOp block = contraction.block;
  Fragment sums(kernel.builder.getF32Type(), kernel.layout.rowTiles,
                llvm::divideCeil(contraction.columns, mmaColumns));
  int64_t registers = 0;
  if (contraction.startsFromZero) {
    if (!program.isCarried(block.getOutputs()[0]))
      registers += sums.registers();
  } else {
    FailureOr<Fragment> before = getFragment(block.getOutputs()[0]);
    if (failed(before))
      return failure();
    // At an edge there may be less.
    if (before->columnTiles > sums.columnTiles)
      return fail("sums have more columns than their block");
    sums = *before;
  }
  fragments.complete(sums);
  const SharedTile &rhs = program.getTile(contraction.rhs);
  ensureFilled(rhs);
  if (!program.isLocal(contraction.lhs.value)) {
    const SharedTile &lhs = program.getTile(contraction.lhs);
    ensureFilled(lhs);
    fragments.multiply(sums, lhs, rhs, contraction);
  } else {
    FailureOr<Fragment> lhs = getFragment(contraction.lhs.value);
    FailureOr<GlobalTile> right = locate(contraction.rhs.value, indices);
    if (failed(lhs) || failed(right))
      return failure();
    registers += lhs->registers();
    Value depth = contraction.rhs.isTransposed
                      ? right->sizes.back()
                      : right->sizes[contraction.rhs.rowDim];
    fragments.multiply(sums, *lhs, rhs, contraction, depth);
  }
  values[block.getResult(0)] = sums;
  return checkRegisters(registers);
}

LogicalResult
ProgramEmitter::readOperands(BlockOp block, linalg::GenericOp op,
                             SmallVectorImpl<ElementwiseOperand> &operands) {
  for (OpOperand &operand : op->getOpOperands()) {
    ElementwiseOperand &description = operands.emplace_back();
    description.map = op.getMatchingIndexingMap(&operand);
    bool isUsed = op.payloadUsesValueFromOperand(&operand);
    Value outside = getOutside(block, operand.get());
    if (!isUsed)
      continue;
    if (!outside)
      return fail("an operand is computed inside the block");
    if (!isa<ShapedType>(outside.getType())) {
      description.scalar = indices.get(kernel, outside);
      if (!kernel.problem.empty())
        return failure();
    } else if (!program.isLocal(outside)) {
      FailureOr<GlobalTile> tile = locate(outside, indices);
      if (failed(tile))
        return failure();
      description.tile = *tile;
      if (!description.map.isProjectedPermutation())
        return fail("an operand is indexed by more than dimensions");
    } else {
      FailureOr<Fragment> fragment = getFragment(outside);
      if (failed(fragment))
        return failure();
      bool isSpread =
          fragment->isRows &&
          description.map == getRowMap(op.getNumLoops(), op.getContext());
      if (!description.map.isIdentity() && !isSpread)
        return fail("a value in registers is read in another order");
      description.fragment = *fragment;
    }
  }
  return success();
}

/// The extent that the last dimension of `tensor`, a value in registers, has
/// here; nothing if that is not known.
OpFoldResult ProgramEmitter::getColumns(Value tensor) {
  while (true) {
    auto type = cast<RankedTensorType>(tensor.getType());
    if (!type.isDynamicDim(type.getRank() - 1))
      return kernel.builder.getIndexAttr(type.getShape().back());
    Operation *def = tensor.getDefiningOp();
    if (auto argument = dyn_cast<BlockArgument>(tensor)) {
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      if (!loop)
        return {};
      tensor = loop.getTiedLoopInit(argument)->get();
    } else if (auto slice = dyn_cast<tensor::ExtractSliceOp>(def)) {
      return slice.getMixedSizes().back();
    } else if (auto insert = dyn_cast<tensor::InsertSliceOp>(def)) {
      tensor = insert.getDest();
    } else if (auto loop = dyn_cast<scf::ForOp>(def)) {
      tensor = loop.getInits()[cast<OpResult>(tensor).getResultNumber()];
    } else if (auto block = dyn_cast<BlockOp>(def)) {
      tensor = block.getOutputs()[cast<OpResult>(tensor).getResultNumber()];
    } else if (isEmptyTensor(def)) {
      return def->getOperands().back();
    } else {
      return {};
    }
  }
}

/// The columns of the tile that `op` works on.
FailureOr<ColumnRange>
ProgramEmitter::readColumns(BlockOp block, linalg::GenericOp op,
                            ArrayRef<ElementwiseOperand> operands) {
  auto extents = getExtents(block, op.getNumLoops() - 1);
  if (!extents)
    return fail("extents are not known");
  ColumnRange columns;
  columns.tiles = llvm::divideCeil(extents->first, mmaColumns);
  columns.least = extents->second;
  for (auto [operand, inside] : llvm::zip_equal(operands, op->getOperands())) {
    if (!operand.fragment || operand.fragment->isRows)
      continue;
    columns.tiles = std::min(columns.tiles, operand.fragment->columnTiles);
    OpFoldResult present = getColumns(getOutside(block, inside));
    if (present && !columns.present)
      columns.present = indices.get(kernel, present);
  }
  bool isReduced = op.getNumReductionLoops() > 0;
  if (isReduced && !columns.present &&
      columns.least < columns.tiles * mmaColumns)
    return fail("it is not known how many columns there are");
  return columns;
}

LogicalResult ProgramEmitter::emitElementwise(BlockOp block,
                                              linalg::GenericOp op) {
  int64_t rank = program.getRank(), numLoops = op.getNumLoops();
  bool isRows = numLoops + 1 == rank;
  if (numLoops != rank && !isRows)
    return fail("an elementwise operation must work on matrices");
  SmallVector<ElementwiseOperand, 2> operands;
  if (failed(readOperands(block, op, operands)))
    return failure();
  FailureOr<ColumnRange> columns = ColumnRange();
  if (!isRows)
    columns = readColumns(block, op, operands);
  if (failed(columns))
    return failure();
  for (ElementwiseOperand &operand : operands)
    if (operand.fragment)
      fragments.complete(*operand.fragment);
  FailureOr<SmallVector<Fragment>> made =
      ElementwiseBuilder(kernel, op, operands, isRows, *columns).run(refused);
  if (failed(made))
    return failure();
  for (auto [result, fragment] : llvm::zip_equal(block.getResults(), *made))
    values[result] = fragment;
  return success();
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Starts the copies of tiles that are the same for the whole program.
void ProgramEmitter::fillStatic() {
  for (auto &[key, tile] : program.getTiles()) {
    if (tile.home)
      continue;
    FailureOr<GlobalTile> from = locate(tile.source, indices);
    if (failed(from))
      continue;
    shared.fill(tile, kernel.constant(0), *from);
    isStaticPending = true;
  }
  if (isStaticPending)
    shared.commit();
}

/// Waits for `tile` if no loop has done so.
void ProgramEmitter::ensureFilled(const SharedTile &tile) {
  if (tile.home || !isStaticPending)
    return;
  shared.await(0);
  isStaticPending = false;
}

/// Starts the copies for the iteration at `index`, if there is one.
void ProgramEmitter::fillAt(StreamingLoop &loop, Value index, Value stage) {
  kernel.createIf(kernel.isLess(index, loop.upper), [&] {
    ProgramIndices there = indices;
    there.set(loop.op.getInductionVar(), index);
    for (const SharedTile *tile : loop.tiles)
      if (FailureOr<GlobalTile> from = locate(tile->source, there);
          succeeded(from))
        shared.fill(*tile, stage, *from);
  });
}

void ProgramEmitter::startStreaming(StreamingLoop &loop) {
  if (loop.tiles.empty() || loop.ahead() == 0)
    return;
  // Threads may be in the last iteration of this loop's previous run.
  if (depth > 0)
    shared.synchronize();
  for (int64_t stage = 0; stage < loop.ahead(); ++stage) {
    fillAt(loop, kernel.add(loop.lower, stage * loop.step),
           kernel.constant(stage));
    shared.commit();
  }
}

/// At the start of the iteration at `index`.
void ProgramEmitter::advance(StreamingLoop &loop, Value index) {
  if (loop.tiles.empty())
    return;
  Value trip = kernel.div(kernel.sub(index, loop.lower), loop.step);
  Value place = kernel.rem(trip, loop.stages);
  if (loop.ahead() == 0) {
    shared.synchronize();
    fillAt(loop, index, place);
    shared.commit();
    shared.await(0);
  } else {
    shared.await(loop.ahead() - 1);
    Value next = kernel.add(index, loop.ahead() * loop.step);
    fillAt(loop, next, kernel.rem(kernel.add(trip, loop.ahead()), loop.stages));
    shared.commit();
  }
  isStaticPending = false;
  for (const SharedTile *tile : loop.tiles)
    shared.use(*tile, place);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

LogicalResult ProgramEmitter::emitLoop(scf::ForOp op) {
  StreamingLoop loop;
  loop.op = op;
  std::optional<int64_t> step = getConstantIntValue(op.getStep());
  if (!step || !op.getStep().getType().isIndex())
    return fail("a loop's step is not known");
  loop.step = *step;
  loop.lower = indices.get(kernel, op.getLowerBound());
  loop.upper = indices.get(kernel, op.getUpperBound());
  for (auto &[key, tile] : program.getTiles())
    if (tile.home == op) {
      loop.tiles.push_back(&tile);
      loop.stages = tile.stages;
    }
  int64_t carriedBefore = carriedRegisters;
  SmallVector<Value> inits;
  for (Value init : op.getInits()) {
    if (!program.isLocal(init))
      continue;
    FailureOr<Fragment> fragment = getFragment(init);
    if (failed(fragment))
      return failure();
    if (!program.isCarried(init))
      carriedRegisters += fragment->registers();
  }
  startStreaming(loop);
  bool wasPending = isStaticPending;
  ++depth;
  LogicalResult emitted =
      program.mustUnroll(op) ? unroll(loop) : emitRolled(loop);
  --depth;
  isStaticPending = wasPending;
  carriedRegisters = carriedBefore;
  return emitted;
}

/// Gives the arguments of the loop's body the parts `values`, one after the
/// other.
void ProgramEmitter::bindArguments(scf::ForOp op, ValueRange parts) {
  for (auto [argument, init] :
       llvm::zip_equal(op.getRegionIterArgs(), op.getInits())) {
    if (!program.isLocal(init))
      continue;
    FailureOr<Fragment> fragment = getFragment(init);
    size_t count = fragment->parts.size();
    llvm::copy(parts.take_front(count), fragment->parts.begin());
    parts = parts.drop_front(count);
    values[argument] = *fragment;
  }
}

/// The parts of what an iteration hands on.
FailureOr<SmallVector<Value>> ProgramEmitter::takeYielded(scf::ForOp op) {
  SmallVector<Value> parts;
  for (auto [init, yielded] :
       llvm::zip_equal(op.getInits(), op.getYieldedValues())) {
    if (program.isLocal(init) != program.isLocal(yielded))
      return fail("a loop carries a value that changes its place");
    if (!program.isLocal(init))
      continue;
    FailureOr<Fragment> before = getFragment(init);
    FailureOr<Fragment> after = getFragment(yielded);
    if (failed(after) || before->parts.size() != after->parts.size() ||
        before->elementType != after->elementType)
      return fail("a loop carries a value that changes its shape");
    fragments.complete(*after);
    llvm::append_range(parts, after->parts);
  }
  return parts;
}

LogicalResult ProgramEmitter::unroll(StreamingLoop &loop) {
  scf::ForOp op = loop.op;
  std::optional<int64_t> lower = getConstantIntValue(loop.lower);
  std::optional<int64_t> upper = getConstantIntValue(loop.upper);
  if (!lower || !upper)
    return fail("a loop over parts of values in registers has bounds that are "
                "not known");
  SmallVector<Value> parts;
  for (Value init : op.getInits())
    if (program.isLocal(init))
      llvm::append_range(parts, getFragment(init)->parts);
  for (int64_t index = *lower; index < *upper; index += loop.step) {
    bindArguments(op, parts);
    indices.set(op.getInductionVar(), kernel.constant(index));
    advance(loop, kernel.constant(index));
    if (failed(emitBody(*op.getBody())))
      return failure();
    FailureOr<SmallVector<Value>> yielded = takeYielded(op);
    if (failed(yielded))
      return failure();
    parts = *yielded;
  }
  bindArguments(op, parts);
  for (auto [argument, result] :
       llvm::zip_equal(op.getRegionIterArgs(), op.getResults()))
    if (values.contains(argument))
      values[result] = Fragment(values[argument]);
  return success();
}

LogicalResult ProgramEmitter::emitRolled(StreamingLoop &loop) {
  scf::ForOp op = loop.op;
  SmallVector<Value> inits;
  for (Value init : op.getInits()) {
    if (!program.isLocal(init))
      continue;
    FailureOr<Fragment> fragment = getFragment(init);
    fragments.complete(*fragment);
    llvm::append_range(inits, fragment->parts);
  }
  auto newLoop =
      scf::ForOp::create(kernel.builder, loc(), loop.lower, loop.upper,
                         kernel.constant(loop.step), inits);
  // Tiles are as large as registers allow: two iterations at a time are too
  // much.
  if (!loop.tiles.empty())
    KernelBuilder::keepRolled(newLoop);
  {
    OpBuilder::InsertionGuard guard(kernel.builder);
    kernel.builder.setInsertionPointToStart(newLoop.getBody());
    indices.set(op.getInductionVar(), newLoop.getInductionVar());
    bindArguments(op, newLoop.getRegionIterArgs());
    advance(loop, newLoop.getInductionVar());
    if (failed(emitBody(*op.getBody())))
      return failure();
    FailureOr<SmallVector<Value>> yielded = takeYielded(op);
    if (failed(yielded))
      return failure();
    // A loop that carries nothing has its terminator already.
    if (!inits.empty())
      scf::YieldOp::create(kernel.builder, loc(), *yielded);
  }
  bindArguments(op, newLoop.getResults());
  for (auto [argument, result] :
       llvm::zip_equal(op.getRegionIterArgs(), op.getResults()))
    if (values.contains(argument))
      values[result] = Fragment(values[argument]);
  return success();
}
