//===- KernelLowering.cpp - Micro kernels to instructions -----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

#include "VectorCode.h"

#include "Chimera/IR/Relu.h"
#include "Chimera/Model/Routes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace chimera;
using namespace chimera::ascend;

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// The operation in `block` that `op` is or is nested in.
static Operation *findAncestor(Block *block, Operation *op) {
  return block->findAncestorOpInBlock(*op);
}

Block *ascend::findCommonBlock(ArrayRef<MicroKernelOp> ops) {
  Block *block = ops.front()->getBlock();
  while (!llvm::all_of(ops, [&](MicroKernelOp op) {
    return findAncestor(block, op) != nullptr;
  }))
    block = block->getParentOp()->getBlock();
  return block;
}

/// True if `kernel` writes the same number everywhere.
static bool isFill(MicroKernelOp kernel) {
  return kernel.getKind() == MicroKernelKind::Elementwise &&
         kernel.getInputs().empty() && kernel.getOutputs().size() == 1;
}

/// True if `kernel` makes zeros, or another number, of what is multiplied.
static bool isBorder(MicroKernelOp kernel) {
  return isFill(kernel) && getElementTypeOrSelf(kernel.getOutput()).isF16();
}

std::optional<Drain> KernelLowering::findDrain(MicroKernelOp kernel) const {
  if (isCoupled() || kernel.getKind() != MicroKernelKind::Elementwise ||
      kernel->getNumOperands() != 2 || kernel.getInputs().size() != 1)
    return std::nullopt;
  // What vector units have updated is with them.
  auto isUpdate = [&](MicroKernelOp other) {
    return other.getKind() != MicroKernelKind::Contraction && !isFill(other) &&
           llvm::any_of(other.getOutputs(), [&](Value output) {
             return getWhole(output) == getWhole(kernel.getInputs()[0]);
           });
  };
  if (llvm::any_of(kernels, isUpdate))
    return std::nullopt;
  Block &body = kernel.getBody().front();
  Drain drain;
  Value made = body.getTerminator()->getOperand(0);
  // To narrow zeros, or numbers above zero, makes such again: either is first.
  while (made != body.getArgument(0)) {
    Operation *op = made.getDefiningOp();
    if (auto narrow = dyn_cast_or_null<arith::TruncFOp>(op)) {
      made = narrow.getIn();
    } else if (Value number = getReluOperand(op)) {
      drain.hasRelu = true;
      made = number;
    } else {
      return std::nullopt;
    }
  }
  return drain;
}

bool KernelLowering::needsVectors(MicroKernelOp kernel) const {
  return kernel.getKind() != MicroKernelKind::Contraction && !isFill(kernel) &&
         !findDrain(kernel);
}

/// Loops alone around it, extents that are known, and factors that the cube
/// unit multiplies: what the lowering of `kernel` relies on.
LogicalResult KernelLowering::checkForm(MicroKernelOp kernel) {
  for (Operation *op = kernel->getParentOp(); op != tasks;
       op = op->getParentOp())
    if (!isa<scf::ForOp>(op))
      return fail("a micro kernel is inside '" + op->getName().getStringRef() +
                  "'");
  for (unsigned dim = 0; dim < kernel.getNumDims(); ++dim)
    if (kernel.getExtentsOf(dim).empty())
      return fail("a micro kernel does not say how large it gets");
  if (kernel.getKind() != MicroKernelKind::Contraction)
    return success();
  return success(
      succeeded(chooseFactors(kernel)) && succeeded(checkProduct(kernel)) &&
      succeeded(checkWindows(kernel, 0)) && succeeded(checkWindows(kernel, 1)));
}

LogicalResult KernelLowering::collect() {
  tasks.getBody()->walk(
      [&](MicroKernelOp kernel) { kernels.push_back(kernel); });
  hasProducts = llvm::any_of(kernels, [](MicroKernelOp kernel) {
    return kernel.getKind() == MicroKernelKind::Contraction;
  });
  isMixed = !isCoupled() && hasProducts &&
            llvm::any_of(kernels, [&](MicroKernelOp kernel) {
              return needsVectors(kernel);
            });
  maxGroupRows = rowsInUb(1);
  OpBuilder::InsertionGuard guard(builder);
  for (MicroKernelOp kernel : kernels) {
    code.loc = kernel.getLoc();
    if (failed(checkForm(kernel)))
      return failure();
    builder.setInsertionPoint(kernel);
    for (OpOperand &operand : kernel->getOpOperands()) {
      if (!isa<MemRefType>(operand.get().getType()))
        continue;
      FailureOr<TileRef> tile = traceTile(code, operand.get());
      if (failed(tile))
        return fail("a tile is not a plain part of a row-major tensor");
      if (needsVectors(kernel))
        for (unsigned dim = 0; dim + 1 < kernel.getNumDims(); ++dim)
          for (int64_t extent : kernel.getExtentsOf(dim))
            maxGroupRows = std::max(maxGroupRows, rowsInUb(extent));
      if (!tile->isOnChip())
        continue;
      bool isOutput = operand.getOperandNumber() >= kernel.getInputs().size();
      if (tile->showsWindows &&
          (isOutput || failed(noteFrame(kernel, operand.getOperandNumber()))))
        return failure();
      Buffer &buffer = buffers[tile->root];
      if (!isOutput)
        buffer.readers.push_back(kernel);
      else if (isBorder(kernel))
        buffer.borders.push_back(kernel);
      else if (isFill(kernel))
        buffer.fill = kernel;
      else
        buffer.writers.push_back(kernel);
    }
  }
  inLanes = canRunInLanes();
  if (inLanes) {
    maxLanes = maxGroupRows;
    maxGroupRows = model::laneGroupRows(maxLanes);
  }
  const size_t groups = model::vectorGroups(isCoupled());
  while (hasVectors() && scratch.size() < groups)
    addScratch();
  for (auto &[root, buffer] : buffers) {
    code.loc = root.getLoc();
    if (failed(placeBuffer(root, buffer)))
      return failure();
  }
  return success();
}

/// True if a kernel takes what is in `root` for a matrix, beside something that
/// has a number for each of its rows.
bool KernelLowering::isMatrix(Value root, const Buffer &buffer) {
  auto takesMatrix = [&](MicroKernelOp kernel) {
    SmallVector<AffineMap> maps = kernel.getMaps();
    bool isWhole = false, hasRows = false;
    for (auto [operand, map] : llvm::zip_equal(kernel->getOperands(), maps)) {
      if (!isa<MemRefType>(operand.getType()))
        continue;
      bool hasAll = map.getNumResults() == kernel.getNumDims();
      isWhole |= hasAll && getWhole(operand) == root;
      hasRows |= !hasAll;
    }
    return isWhole && hasRows;
  };
  return llvm::any_of(buffer.writers, takesMatrix) ||
         llvm::any_of(buffer.readers, takesMatrix);
}

/// Sums that one kernel finishes stay in L0C until they are complete. What
/// several work on is in UB, with sums or without.
LogicalResult KernelLowering::chooseKind(Value root, Buffer &buffer) {
  auto isContraction = [](MicroKernelOp kernel) {
    return kernel.getKind() == MicroKernelKind::Contraction;
  };
  // A kernel that updates a buffer reads it.
  auto isRead = [&](MicroKernelOp writer) {
    return writer.getKind() == MicroKernelKind::Elementwise &&
           llvm::any_of(writer->getOpOperands(), [&](OpOperand &operand) {
             return getWhole(operand.get()) == root &&
                    !writer.getBody()
                         .front()
                         .getArgument(operand.getOperandNumber())
                         .use_empty();
           });
  };
  if (buffer.writers.empty() ||
      (buffer.readers.empty() && llvm::none_of(buffer.writers, isRead)))
    return fail("a buffer is written or read by nobody");
  bool isSum = llvm::any_of(buffer.writers, isContraction),
       isFactor = llvm::any_of(buffer.readers, isContraction);
  if (isSum && isFactor)
    return fail("sums are not narrowed before they are multiplied");
  if (isFactor) {
    buffer.kind = BufferKind::Factor;
    return llvm::all_of(buffer.readers, isContraction)
               ? success()
               : fail("a buffer is both multiplied and worked on element by "
                      "element");
  }
  if (!isSum)
    buffer.kind = isMatrix(root, buffer) ? BufferKind::Tile : BufferKind::Rows;
  else if (buffer.readers.size() > 1 ||
           !llvm::all_of(buffer.writers, isContraction))
    buffer.kind = BufferKind::Tile;
  if (buffer.kind == BufferKind::Tile && multipliesBytes())
    return fail("sums of bytes are worked on in several places");
  if (buffer.kind != BufferKind::Sums && !hasVectors())
    return fail("the vector units that would work on it are in other cores");
  return success();
}

LogicalResult KernelLowering::placeBuffer(Value root, Buffer &buffer) {
  if (failed(chooseKind(root, buffer)))
    return failure();
  auto type = cast<MemRefType>(root.getType());
  ArrayRef<int64_t> shape = type.getShape();
  auto isSide = [](int64_t size) { return size != 1; };
  if (buffer.kind == BufferKind::Rows) {
    int64_t numRows = type.getNumElements();
    if (!type.getElementType().isF32() || llvm::count_if(shape, isSide) > 1)
      return fail("a buffer has several rows of numbers, or not in f32");
    buffer.place =
        places.allocate(Memory::UB, type.getElementType(), bytesOfRows(numRows),
                        /*count=*/1, Pipe::V, Pipe::V);
    return success();
  }
  if (shape.empty() || (buffer.kind == BufferKind::Tile &&
                        llvm::count_if(shape.drop_back(), isSide) > 1))
    return fail("a buffer holds several matrices");
  // Rows of the last side, one matrix behind the other.
  int64_t numRows = 1, numMatrices = 1;
  for (int64_t size : shape.drop_back())
    if (isSide(size)) {
      numMatrices *= numRows;
      numRows = size;
    }
  Type element = asElement(type.getElementType());
  int64_t rowSide =
      buffer.kind == BufferKind::Factor ? sideOf(element) : fractal;
  int64_t elements = numMatrices * llvm::alignTo(numRows, rowSide) *
                     llvm::alignTo(shape.back(), sideOf(element));
  if (buffer.frame)
    elements = buffer.frame->rows * buffer.frame->elements();
  int64_t bytes = elements * type.getElementTypeBitWidth() / 8;
  if (buffer.kind == BufferKind::Tile) {
    buffer.place =
        places.allocate(Memory::UB, type.getElementType(),
                        bytes / padToFractal(numRows) * rowsInUb(numRows),
                        /*count=*/1, Pipe::V, Pipe::V);
    return success();
  }
  // One fill and one use for each pair of flags.
  SmallVector<MicroKernelOp> all = buffer.writers;
  llvm::append_range(all, buffer.readers);
  Block *block = findCommonBlock(all);
  if (!findAncestor(block, buffer.writers.back())
           ->isBeforeInBlock(findAncestor(block, buffer.readers.front())))
    return fail("a buffer is filled again after it has been used");
  auto isOfVectors = [&](MicroKernelOp kernel) { return needsVectors(kernel); };
  bool isMade = llvm::any_of(buffer.writers, isOfVectors);
  if (!isCoupled() && isMade && buffer.frame)
    return fail("an image between windows passes vector units in other cores; "
                "plan the operators one by one (fuse=never)");
  if (isMade && !llvm::all_of(buffer.writers, isOfVectors))
    return fail("a factor comes from several cores");
  Pipe writer = isCoupled() ? Pipe::MTE3 : isMade ? Pipe::MTE2 : Pipe::FIX;
  buffer.place = buffer.kind == BufferKind::Sums
                     ? places.allocate(Memory::L0C, element, bytes,
                                       /*count=*/1, Pipe::M,
                                       isCoupled() ? Pipe::V : Pipe::FIX)
                     : places.allocate(Memory::L1, element, bytes,
                                       /*count=*/1, writer, Pipe::MTE1);
  if (!buffer.borders.empty())
    buffer.border = places.allocate(Memory::L1, type.getElementType(),
                                    /*bytes=*/0, /*count=*/1, Pipe::MTE2,
                                    Pipe::MTE1, block->getParentOp() == tasks);
  return success();
}

/// Numbers for rows are all there, from the first row on.
LogicalResult KernelLowering::checkRows(Value operand) {
  FailureOr<TileRef> tile = traceTile(code, operand);
  return success(succeeded(tile) &&
                 llvm::all_of(tile->offsets, [](OpFoldResult offset) {
                   return isConstantIntValue(offset, 0);
                 }));
}

void KernelLowering::addScratch() {
  Type f32 = builder.getF32Type();
  scratch.push_back({places.allocate(
      Memory::UB, f32, maxGroupRows * fractal * f32.getIntOrFloatBitWidth() / 8,
      /*count=*/1, Pipe::V, Pipe::V)});
}

std::pair<Value, unsigned> KernelLowering::takeScratch(Type type) {
  auto *free =
      llvm::find_if(scratch, [](const auto &entry) { return !entry.isTaken; });
  if (free == scratch.end()) {
    addScratch();
    free = &scratch.back();
  }
  free->isTaken = true;
  Place place = free->place;
  if (type)
    place.elementType = type;
  return {getAddress(code, place, code.number(0)),
          static_cast<unsigned>(free - scratch.begin())};
}

/// A place for the numbers of rows, which take one half, and of columns.
Value KernelLowering::getNumbers() {
  if (!numbers)
    numbers = takeScratch().first;
  return numbers;
}

/// The numbers of the columns of a group, made once before all tasks.
Value KernelLowering::getColumnNumbers() {
  if (columnNumbers)
    return columnNumbers;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(tasks);
  columnNumbers =
      code.offset(getNumbers(), code.number(maxGroupRows * fractal / 2));
  if (inLanes)
    numberBlocks(columnNumbers);
  else
    numberLanes(columnNumbers);
  return columnNumbers;
}

Value KernelLowering::getRowNumbers() {
  if (rowNumbers)
    return rowNumbers;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(tasks);
  rowNumbers = getNumbers();
  if (inLanes)
    numberLanes(rowNumbers);
  else
    numberBlocks(rowNumbers);
  return rowNumbers;
}

/// One number after the other; in lanes those of all groups, each as often as a
/// repeat has room for it.
void KernelLowering::numberLanes(Value to) {
  const uint64_t first = inLanes ? 0x0001000100010001 : 1;
  for (int64_t lane = 0; lane < fractal; ++lane)
    fillLanes(to, static_cast<int64_t>(first << lane), lane);
  resetLanes();
  if (inLanes)
    countOn(to, fractal, maxLanes);
}

/// A block for each number: eight one by one, and those after them as many
/// more.
void KernelLowering::numberBlocks(Value to) {
  constexpr int64_t repeatRows = 8, blockElements = 8;
  constexpr int64_t block = 0xff;
  for (int64_t row = 0; row < repeatRows; ++row)
    fillLanes(to, block << (row * blockElements), row);
  resetLanes();
  countOn(to, repeatRows, maxGroupRows);
}

/// From one repeat of `count` numbers the ones after it, up to `last`.
void KernelLowering::countOn(Value to, int64_t count, int64_t last) {
  constexpr int64_t elements = 64;
  Value number = arith::ConstantOp::create(builder, code.loc,
                                           builder.getF32FloatAttr(count));
  for (int64_t first = count; first < last; first += count)
    VectorOp::create(
        builder, code.loc, VectorKind::Adds,
        code.offset(to, code.number(first / count * elements)),
        code.offset(to, code.number((first / count - 1) * elements)), number,
        code.number(1), ArrayRef<int64_t>{1, 1}, ArrayRef<int64_t>{8, 8});
}

/// Writes `number` to the lanes of one repeat that have a bit in `lanes`.
void KernelLowering::fillLanes(Value to, int64_t lanes, double number) {
  setLanes(0, lanes);
  VectorOp::create(builder, code.loc, VectorKind::Dup, to, ValueRange(),
                   arith::ConstantOp::create(builder, code.loc,
                                             builder.getF32FloatAttr(number)),
                   code.number(1), ArrayRef<int64_t>{1}, ArrayRef<int64_t>{8});
}

void KernelLowering::setLanes(int64_t high, int64_t low) {
  auto constant = [&](int64_t bits) {
    return arith::ConstantIntOp::create(builder, code.loc, builder.getI64Type(),
                                        bits)
        .getResult();
  };
  SetVectorMaskOp::create(builder, code.loc, constant(high), constant(low));
}

/// Puts the flags of `buffer` around those who fill and those who use it.
void KernelLowering::separate(const Buffer &buffer) {
  if (!buffer.place.needsFlags())
    return;
  if (buffer.border)
    separateBorder(buffer);
  SmallVector<MicroKernelOp> all = buffer.writers;
  llvm::append_range(all, buffer.readers);
  Block *block = findCommonBlock(all);
  Value slot = code.number(0);
  builder.setInsertionPoint(findAncestor(block, buffer.writers.front()));
  waitFree(code, buffer.place, slot);
  builder.setInsertionPointAfter(findAncestor(block, buffer.writers.back()));
  setFull(code, buffer.place, slot);
  builder.setInsertionPoint(findAncestor(block, buffer.readers.front()));
  waitFull(code, buffer.place, slot);
  builder.setInsertionPointAfter(findAncestor(block, buffer.readers.back()));
  setFree(code, buffer.place, slot);
}

/// Lets loads for products wait until the border is there, and the border until
/// loads are done with what was there before.
void KernelLowering::separateBorder(const Buffer &buffer) {
  SmallVector<MicroKernelOp> all = buffer.borders;
  llvm::append_range(all, buffer.writers);
  llvm::append_range(all, buffer.readers);
  Block *block = findCommonBlock(all);
  const Place &border = *buffer.border;
  Value slot = code.number(0);
  builder.setInsertionPoint(findAncestor(block, buffer.borders.front()));
  waitFree(code, border, slot);
  builder.setInsertionPointAfter(findAncestor(block, buffer.borders.back()));
  setFull(code, border, slot);
  waitFull(code, border, slot);
  if (!border.isJoint)
    builder.setInsertionPointAfter(findAncestor(block, buffer.readers.back()));
  setFree(code, border, slot);
}

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

/// True if `offset`, a sum of where loops are, is always a multiple of `side`.
static bool isMultipleOf(int64_t side, OpFoldResult offset) {
  if (std::optional<int64_t> constant = getConstantIntValue(offset))
    return *constant % side == 0;
  auto value = cast<Value>(offset);
  if (auto sum = value.getDefiningOp<arith::AddIOp>())
    return isMultipleOf(side, sum.getLhs()) && isMultipleOf(side, sum.getRhs());
  if (auto product = value.getDefiningOp<arith::MulIOp>())
    return isMultipleOf(side, product.getLhs()) ||
           isMultipleOf(side, product.getRhs());
  auto argument = dyn_cast<BlockArgument>(value);
  auto loop = argument
                  ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp())
                  : scf::ForOp();
  return loop && value == loop.getInductionVar() &&
         isMultipleOf(side, loop.getLowerBound()) &&
         isMultipleOf(side, loop.getStep());
}

FailureOr<Matrix> KernelLowering::getMatrix(Value value, AffineMap map,
                                            MicroKernelOp kernel,
                                            const Taps &taps) {
  FailureOr<TileRef> tile = traceTile(code, value);
  if (failed(tile) || tile->dims.empty())
    return failure();
  auto extentOf = [&](unsigned index) {
    SmallVector<int64_t> extents =
        kernel.getExtentsOf(map.getDimPosition(index));
    return extents.empty() ? ShapedType::kDynamic : *llvm::max_element(extents);
  };
  Matrix matrix;
  matrix.columnDim = tile->dims.back();
  if (matrix.columnDim + 1 != tile->sizes.size())
    return failure();
  unsigned last = tile->dims.size() - 1;
  matrix.columnLoop = map.getDimPosition(last);
  matrix.maxColumns = extentOf(last);
  // The rows are the one other dimension that is more than one element.
  std::optional<unsigned> row;
  unsigned single = 0;
  for (unsigned index = 0; index < last; ++index) {
    if (taps.areLoop(map.getDimPosition(index)))
      continue;
    single = index;
    if (extentOf(index) == 1)
      continue;
    if (row)
      return failure();
    row = index;
  }
  if (last == 0) {
    // The root has one dimension more, of which this is one index.
    matrix.rowDim = matrix.columnDim - 1;
    matrix.maxRows = 1;
  } else {
    unsigned index = row.value_or(single);
    matrix.rowDim = tile->dims[index];
    matrix.rowLoop = map.getDimPosition(index);
    matrix.maxRows = extentOf(index);
  }
  if (ShapedType::isDynamic(matrix.maxRows) ||
      ShapedType::isDynamic(matrix.maxColumns))
    return failure();
  // In lanes, factors in memory alone are as the program has them.
  bool isTransposed =
      inLanes &&
      (tile->isOnChip() || kernel.getKind() != MicroKernelKind::Contraction);
  if (isTransposed && !matrix.rowLoop)
    return failure();
  // On chip, parts are found by whole fractals.
  unsigned groupDim = isTransposed ? matrix.rowDim : matrix.columnDim;
  if (tile->isOnChip() &&
      !isMultipleOf(sideOf(tile->getRootType().getElementType()),
                    tile->offsets[groupDim]))
    return failure();
  matrix.maxRows = padToFractal(matrix.maxRows);
  matrix.maxColumns = padToFractal(matrix.maxColumns);
  matrix.tile = std::move(*tile);
  if (!isTransposed)
    return matrix;
  return matrix.transposed();
}

/// `kernel`, or the outermost loop around it over which `value` stays the same.
Operation *KernelLowering::findPosition(MicroKernelOp kernel, Value value) {
  Operation *position = kernel;
  while (position->getParentOp() != tasks) {
    auto loop = cast<scf::ForOp>(position->getParentOp());
    if (!loop.isDefinedOutsideOfLoop(value))
      break;
    position = loop;
  }
  return position;
}

/// The place, of two, that is filled in this iteration of the loop around
/// `position`.
Value KernelLowering::getSlot(Operation *position) {
  auto loop = cast<scf::ForOp>(position->getParentOp());
  Value iv = loop.getInductionVar();
  if (loop == tasks)
    return code.rem(builder.createOrFold<arith::DivSIOp>(code.loc, iv, cores),
                    2);
  Value trip = builder.createOrFold<arith::DivSIOp>(
      code.loc, code.sub(iv, loop.getLowerBound()), loop.getStep());
  return code.rem(trip, 2);
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

LogicalResult KernelLowering::lower(MicroKernelOp kernel) {
  code.loc = kernel.getLoc();
  if (kernel.getKind() == MicroKernelKind::Contraction)
    return lowerContraction(kernel);
  if (isFill(kernel))
    return lowerFill(kernel);
  if (!needsVectors(kernel))
    return lowerDrain(kernel);
  return VectorCode(*this, kernel).emit();
}

/// A number everywhere in a tile. Sums in L0C start from zero by themselves.
LogicalResult KernelLowering::lowerFill(MicroKernelOp kernel) {
  builder.setInsertionPoint(kernel);
  FailureOr<TileRef> tile = traceTile(code, kernel.getOutput());
  auto found = buffers.find(tile->root);
  if (isBorder(kernel) && found != buffers.end())
    return lowerBorder(kernel, *tile, found->second);
  Value number = kernel.getBody().front().getTerminator()->getOperand(0);
  FloatAttr constant;
  if (found != buffers.end() && found->second.kind == BufferKind::Sums)
    return matchPattern(number, m_PosZeroFloat()) ||
                   matchPattern(number, m_Zero())
               ? success()
               : fail("sums do not start from zero");
  if (found == buffers.end() || found->second.kind == BufferKind::Factor ||
      !matchPattern(number, m_Constant(&constant)))
    return fail("a tile is filled that is neither sums nor worked on element "
                "by element");
  const Buffer &buffer = found->second;
  number = arith::ConstantOp::create(
      builder, code.loc,
      FloatAttr::get(constant.getType(),
                     getNumber(constant.getValueAsDouble())));
  auto fillFrom = [&](Value address, Value repeat) {
    VectorOp::create(builder, code.loc, VectorKind::Dup, address, ValueRange(),
                     number, repeat, ArrayRef<int64_t>{1},
                     ArrayRef<int64_t>{8});
  };
  if (buffer.kind == BufferKind::Rows) {
    Value address = getAddress(code, buffer.place, code.number(0));
    constexpr int64_t repeatBytes = 8 * blockBytes;
    fillFrom(address,
             code.number(bytesOfRows(tile->getRootType().getNumElements()) /
                         repeatBytes));
    return success();
  }
  FailureOr<Matrix> matrix =
      getMatrix(kernel.getOutput(), kernel.getMaps()[0], kernel);
  if (failed(matrix))
    return fail("what is filled is no matrix");
  Value address = getTileAddress(*matrix);
  constexpr int64_t rowsPerRepeat = 4;
  if (inLanes && matrix->maxRows / rowsPerRepeat > maxRepeat)
    return fail("a tile has more rows than one instruction takes");
  int64_t pitch = pitchInUb(*matrix);
  Value rows =
      isMixed ? code.number(pitch) : code.padded(code.number(matrix->rows()));
  code.loop(code.number(0), code.number(matrix->columns()), fractal,
            [&](Value column) {
              fillFrom(code.offset(address, code.mul(column, pitch)),
                       code.div(rows, rowsPerRepeat));
            });
  return success();
}

SmallVector<std::pair<Memory, int64_t>> KernelLowering::getRoom() const {
  SmallVector<std::pair<Memory, int64_t>> room = {{Memory::L0A, lhsBytes},
                                                  {Memory::L0B, rhsBytes}};
  for (Memory memory : {Memory::L1, Memory::L0C, Memory::UB})
    room.push_back({memory, places.getUsed(memory)});
  return room;
}

SmallVector<MemRefType> KernelLowering::getWorkspaces() {
  SmallVector<MemRefType> types;
  for (const Workspace &workspace : workspaces) {
    // Memory does not know of signs.
    Type type = workspace.type;
    if (type.isInteger())
      type = builder.getIntegerType(type.getIntOrFloatBitWidth());
    types.push_back(MemRefType::get({numBlocks, workspace.elements}, type));
  }
  return types;
}

/// All places are free before the first task and after the last one.
void KernelLowering::finish() {
  bool hasJoint = llvm::any_of(
      places.getAll(), [](const Place &place) { return place.isJoint; });
  if (hasJoint && numTasks > 1) {
    builder.setInsertionPoint(tasks.getBody()->getTerminator());
    PipeBarrierOp::create(builder, tasks.getLoc(), Pipe::All);
  }
  builder.setInsertionPoint(tasks);
  for (const Place &place : places.getAll())
    startFree(code, place);
  builder.setInsertionPointAfter(tasks);
  for (const Place &place : places.getAll())
    endFree(code, place);
  finishExchanges();
  for (MicroKernelOp kernel : llvm::reverse(kernels))
    kernel.erase();
}

double KernelLowering::getNumber(double number) const {
  return saturate(architecture, number);
}

/// Fails if the architecture lacks an instruction that has been emitted.
LogicalResult KernelLowering::checkInstructions() {
  std::string missing;
  tasks->getParentOfType<func::FuncOp>().walk([&](Operation *op) {
    missing = findMissing(architecture, op);
    if (missing.empty())
      return WalkResult::advance();
    code.loc = op->getLoc();
    return WalkResult::interrupt();
  });
  return missing.empty() ? success() : fail(missing);
}

LogicalResult KernelLowering::run(Refusal &refusal) {
  auto attempt = [&] {
    if (failed(collect()))
      return failure();
    lhs = places.allocate(Memory::L0A, asElement(factorType), 0, 2, Pipe::MTE1,
                          Pipe::M);
    rhs = places.allocate(Memory::L0B, asElement(factorType), 0, 2, Pipe::MTE1,
                          Pipe::MTE1);
    for (auto &[root, buffer] : buffers)
      separate(buffer);
    for (MicroKernelOp kernel : kernels)
      if (failed(lower(kernel)))
        return failure();
    code.loc = tasks.getLoc();
    if (const size_t groups = model::vectorGroups(isCoupled());
        scratch.size() > groups)
      return fail("an elementwise operation works with " +
                  Twine(scratch.size()) + " column groups at once, there are " +
                  Twine(groups));
    if (!places.getFailure().empty())
      return fail(places.getFailure());
    if (!reason.empty())
      return failure();
    return checkInstructions();
  };
  if (failed(attempt())) {
    refusal = {code.loc, reason};
    return failure();
  }
  finish();
  return success();
}
