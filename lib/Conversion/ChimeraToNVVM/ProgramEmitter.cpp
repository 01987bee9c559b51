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
#include "mlir/Dialect/MemRef/IR/MemRef.h"
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
  LogicalResult emitted = emitTile(program.getForall());
  if (program.getCombination() && succeeded(emitted))
    emitted = emitCombination();
  if (!kernel.problem.empty())
    emitted = fail(kernel.problem);
  refusal = refused;
  return success(succeeded(emitted) && refused.reason.empty());
}

/// One iteration of `forall`: what its body computes, and stores.
LogicalResult ProgramEmitter::emitTile(scf::ForallOp forall) {
  if (failed(emitBody(*forall.getBody())))
    return failure();
  for (Operation &op : forall.getTerminator().getBody()->getOperations())
    if (auto insert = dyn_cast<tensor::ParallelInsertSliceOp>(op);
        insert && failed(emitResult(insert)))
      return failure();
  return success();
}

/// The number of the block's tile, which it shares with those that make the
/// other parts.
Value ProgramEmitter::getTileNumber() {
  scf::ForallOp forall = program.getForall();
  Value number = kernel.constant(0);
  for (unsigned loop = 0; loop < forall.getRank(); ++loop) {
    if (loop == program.getCombination().split)
      continue;
    Value offset = kernel.sub(indices.get(kernel, forall.getInductionVar(loop)),
                              kernel.value(forall.getMixedLowerBound()[loop]));
    number = kernel.add(
        kernel.mul(number, *getTrips(forall, loop)),
        kernel.div(offset, *getConstantIntValue(forall.getMixedStep()[loop])));
  }
  return number;
}

/// The last block of a tile makes one result of all parts, in their order.
LogicalResult ProgramEmitter::emitCombination() {
  const Combination &combination = program.getCombination();
  scf::ForallOp forall = combination.forall;
  llvm::SaveAndRestore<Operation *> inside(current, forall);
  Value isLast = kernel.arrive(counters, getTileNumber(), combination.numParts);
  for (unsigned loop = 0; loop < forall.getRank(); ++loop) {
    unsigned own = loop + (loop >= combination.split ? 1 : 0);
    indices.set(forall.getInductionVar(loop),
                indices.get(kernel, program.getForall().getInductionVar(own)));
  }
  LogicalResult emitted = success();
  kernel.createIf(isLast, [&] { emitted = emitTile(forall); });
  return emitted;
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
/// start first, so that what is left in the end is short; later parts do not.
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
    bool isOfParts = program.getCombination() &&
                     i == static_cast<int64_t>(program.getCombination().split);
    if (!isOfParts && growsWith(forall.getInductionVar(i)))
      own = kernel.sub(kernel.constant(trips - 1), own);
    indices.set(forall.getInductionVar(i),
                kernel.add(kernel.mul(own, step), lower));
    block = kernel.div(block, trips);
  }
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Makes `tile`, of what `slice` is, one of what it is taken from. Only in
/// front, and of a whole tensor, may dimensions be `dropped`: those of parts.
LogicalResult ProgramEmitter::enter(GlobalTile &tile,
                                    OffsetSizeAndStrideOpInterface slice,
                                    const llvm::SmallBitVector &dropped,
                                    const ProgramIndices &at) {
  MemRefType type = tile.memref.getType();
  unsigned numDropped = dropped.count();
  unsigned rank = tile.rank() + numDropped;
  bool isLeading = dropped.find_last() + 1 == static_cast<int>(numDropped);
  if (!slice.hasUnitStride() || dropped.size() != rank || !isLeading ||
      (numDropped > 0 && (tile.windows || type.getRank() != rank)))
    return fail("a slice drops dimensions or leaves out elements");
  OpBuilder &builder = kernel.builder;
  SmallVector<OpFoldResult> offsets, sizes,
      strides(type.getRank(), builder.getIndexAttr(1));
  for (auto [index, offset] : llvm::enumerate(slice.getMixedOffsets())) {
    if (index < numDropped)
      offsets.push_back(at.get(kernel, offset));
    else
      tile.offsets[index - numDropped] =
          kernel.add(tile.offsets[index - numDropped], at.get(kernel, offset));
  }
  tile.divisor =
      std::gcd(tile.divisor, getDivisor(slice.getMixedOffsets().back()));
  if (numDropped == 0)
    return success();
  ArrayRef<int64_t> shape = type.getShape().drop_front(numDropped);
  offsets.append(shape.size(), builder.getIndexAttr(0));
  sizes.assign(numDropped, builder.getIndexAttr(1));
  llvm::append_range(sizes, getAsIndexOpFoldResult(type.getContext(), shape));
  auto part = memref::SubViewOp::inferRankReducedResultType(
      shape, type, offsets, sizes, strides);
  tile.memref = memref::SubViewOp::create(builder, loc(), part, tile.memref,
                                          offsets, sizes, strides);
  return success();
}

/// Where `tensor`, a tile of a tensor from outside, is for the indices `at`.
FailureOr<GlobalTile> ProgramEmitter::locate(Value tensor,
                                             const ProgramIndices &at) {
  Value root = program.findGlobal(tensor);
  GlobalTile tile;
  tile.windows = ImageWindows::find(root);
  tile.memref = dyn_cast_if_present<TypedValue<MemRefType>>(
      memrefs.lookup(tile.windows ? tile.windows->image : root));
  if (!tile.memref)
    return fail("a tensor from outside has no place in memory");
  ArrayRef<int64_t> shape =
      tile.windows ? cast<RankedTensorType>(root.getType()).getShape()
                   : tile.memref.getType().getShape();
  int64_t rank = cast<RankedTensorType>(tensor.getType()).getRank();
  for (int64_t extent : shape.take_back(rank)) {
    tile.offsets.push_back(kernel.constant(0));
    tile.sizes.push_back(kernel.constant(extent));
  }
  bool isNarrowed = false;
  while (tensor != root) {
    if (auto slice = tensor.getDefiningOp<tensor::ExtractSliceOp>()) {
      if (failed(enter(tile, slice, slice.getDroppedDims(), at)))
        return failure();
      SmallVector<OpFoldResult> sizes = slice.getMixedSizes();
      for (auto [own, size] :
           llvm::zip_equal(tile.sizes, ArrayRef(sizes).take_back(tile.rank())))
        if (!isNarrowed)
          own = at.get(kernel, size);
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
  int64_t rank = op.getSourceType().getRank();
  to->offsets.resize(rank);
  to->sizes.clear();
  SmallVector<OpFoldResult> sizes = op.getMixedSizes();
  for (OpFoldResult size : ArrayRef(sizes).take_back(rank))
    to->sizes.push_back(indices.get(kernel, size));
  if (failed(enter(*to, op, op.getDroppedDims(), indices)))
    return failure();
  if (part->isRows)
    fragments.storeRows(*part, *to);
  else
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
  Fragment sums(contraction.sumType, kernel.layout.rowTiles,
                contraction.columnTiles());
  sums.isShared = contraction.columnSharers > 1;
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
  if (contraction.depthSharers > 1 &&
      !program.isCarried(block.getOutputs()[0]) && failed(addSharers(sums)))
    return failure();
  values[block.getResult(0)] = sums;
  return checkRegisters(registers);
}

LogicalResult ProgramEmitter::addSharers(Fragment &sums) {
  if (isStaticPending)
    shared.await(0);
  isStaticPending = false;
  if (succeeded(fragments.addSharers(sums, program.getTileBytes())))
    return success();
  return fail("sums of warps that share rows do not fit shared memory");
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
      if (tile->windows)
        return fail("an operand of what is done element by element is read "
                    "through windows");
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
    if (operand.fragment->isShared)
      columns.sharers = kernel.layout.sharers;
    columns.tiles = std::min(columns.tiles, operand.fragment->columnTiles);
    OpFoldResult present = getColumns(getOutside(block, inside));
    if (present && !columns.present)
      columns.present = indices.get(kernel, present);
  }
  if (columns.sharers > 1)
    columns.first = kernel.mul(kernel.sharer, columns.tiles * mmaColumns);
  bool isReduced = op.getNumReductionLoops() > 0;
  if (isReduced && !columns.present &&
      columns.least < columns.sharers * columns.tiles * mmaColumns)
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
