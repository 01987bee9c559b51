//===- KernelContractions.cpp - Products on the cube unit -----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Factors come to L1, from there fractals to the cube unit, which adds up in
// L0C. A convolution is a product for each tap of its windows: rows are pixels,
// and those for a tap lie in L1 one pixel, 32 bytes, further on than those for
// the tap before, which is where a load may start. With a stride, pixels for
// one tap are brought next to each other.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

#include "Chimera/Model/Routes.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace chimera;
using namespace chimera::ascend;

/// The pixels of `matrix`, if it is what an image has under windows.
static std::optional<model::LineOfPixels>
readLine(const Matrix &matrix, const Taps &taps, AffineMap map) {
  if (!matrix.tile.showsWindows)
    return std::nullopt;
  model::LineOfPixels line;
  if (std::optional<unsigned> dim =
          findDim(matrix.tile, map, taps.columnLoop)) {
    line.taps = taps.columns;
    line.stride =
        getStride(matrix.tile, matrix.rowDim) / getStride(matrix.tile, *dim);
  }
  return line;
}

/// Rows in L1 of the parts of a line before `part`, and of that part.
static int64_t startOf(const Factor &factor, int64_t part) {
  return startOfPart(*factor.line, factor.pixels, part);
}
static int64_t pitchOf(const Factor &factor, int64_t part) {
  return startOf(factor, part + 1) - startOf(factor, part);
}

/// Rows that `factor` takes in L1: those of matrices for all taps, or of lines
/// for all rows of windows.
static int64_t getRows(const Factor &factor, const Taps &taps) {
  return factor.line ? taps.rows * startOf(factor, factor.line->numParts())
                     : taps.count() * factor.matrix.maxRows;
}

/// Copies what `factor` has for all taps.
void KernelLowering::copyTaps(const Factor &factor, const Taps &taps,
                              AffineMap map) {
  const Matrix &matrix = factor.matrix;
  if (taps.count() == 1)
    return copyInside(matrix, factor.address, factor.pitch);
  std::optional<unsigned> rowDim = findDim(matrix.tile, map, taps.rowLoop),
                          columnDim =
                              findDim(matrix.tile, map, taps.columnLoop);
  Value rows = code.number(matrix.rows());
  auto move = [&](Matrix &part, std::optional<unsigned> dim, Value by) {
    if (dim)
      part.tile.offsets[*dim] =
          getAsOpFoldResult(code.add(code.number(part.tile.offsets[*dim]), by));
  };
  code.loop(code.number(0), code.number(taps.rows), 1, [&](Value row) {
    int64_t count = factor.line ? factor.line->numParts() : taps.columns;
    for (int64_t column = 0; column < count; ++column) {
      Matrix part = matrix;
      move(part, rowDim, row);
      move(part, columnDim, code.number(column));
      if (factor.line)
        part.tile.sizes[part.rowDim] = getAsOpFoldResult(
            code.add(rows, code.number(factor.line->rowsOf(column, 0))));
      Factor tap = getTap(factor, taps, row, column);
      copyInside(part, tap.address, tap.pitch);
    }
  });
}

/// What `factor` has for one tap. The pixels of a line for taps that are
/// `stride` apart follow each other.
Factor KernelLowering::getTap(const Factor &factor, const Taps &taps, Value row,
                              int64_t column) {
  Factor tap = factor;
  if (!factor.line) {
    Value index = code.add(code.mul(row, taps.columns), code.number(column));
    int64_t elements = factor.matrix.maxRows * factor.matrix.maxColumns;
    tap.address = code.offset(factor.address, code.mul(index, elements));
    return tap;
  }
  const model::LineOfPixels &line = *factor.line;
  int64_t part = column % line.stride;
  tap.pitch = pitchOf(factor, part);
  int64_t start =
      startOf(factor, part) * factor.width + column / line.stride * fractal;
  Value first = code.add(code.mul(factor.firstColumn, tap.pitch),
                         code.mul(factor.firstPixel, fractal));
  int64_t elements = startOf(factor, line.numParts()) * factor.width;
  tap.address = code.offset(
      factor.start,
      code.add(code.add(code.mul(row, elements), first), code.number(start)));
  return tap;
}

FailureOr<Factor> KernelLowering::bringFactor(MicroKernelOp kernel,
                                              unsigned input,
                                              unsigned depthLoop,
                                              const Taps &taps) {
  Value value = kernel.getInputs()[input];
  Operation *position = findPosition(kernel, value);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(position);
  AffineMap map = kernel.getMaps()[input];
  FailureOr<Matrix> matrix = getMatrix(value, map, kernel, taps);
  if (failed(matrix))
    return failure();
  matrix->maxRows = llvm::alignTo(matrix->maxRows, side());
  matrix->maxColumns = llvm::alignTo(matrix->maxColumns, side());
  Factor factor;
  factor.matrix = *matrix;
  factor.rowsAreDepth = matrix->rowLoop == depthLoop;
  if (auto *buffer = buffers.find(matrix->tile.root); buffer != buffers.end()) {
    builder.setInsertionPoint(kernel);
    const TileRef &tile = matrix->tile;
    if (buffer->second.frame)
      return readFrame(buffer->second, factor, taps, map);
    factor.pitch = matrix->pitch();
    Value row = code.number(tile.offsets[matrix->rowDim]),
          column = code.number(tile.offsets[matrix->columnDim]);
    factor.address = code.offset(
        getAddress(code, buffer->second.place, code.number(0)),
        code.add(getLineStart(*matrix), code.add(code.mul(column, factor.pitch),
                                                 code.mul(row, side()))));
    return factor;
  }
  if (failed(checkCopies(*matrix)))
    return failure();
  factor.pitch = matrix->maxRows;
  factor.line = readLine(*matrix, taps, map);
  factor.pixels = matrix->maxRows;
  factor.width = matrix->maxColumns;
  Type type = asElement(matrix->tile.getRootType().getElementType());
  bool isRefilled = position->getParentOp() != tasks || isRepeated;
  Place place = places.allocate(Memory::L1, type,
                                getRows(factor, taps) * matrix->maxColumns *
                                    type.getIntOrFloatBitWidth() / 8,
                                isRefilled ? 2 : 1, Pipe::MTE2, Pipe::MTE1,
                                position->getParentOp() == tasks);
  Value slot = isRefilled ? getSlot(position) : code.number(0);
  factor.address = factor.start = getAddress(code, place, slot);
  factor.firstPixel = factor.firstColumn = code.number(0);
  waitFree(code, place, slot);
  copyTaps(factor, taps, map);
  setFull(code, place, slot);
  waitFull(code, place, slot);
  if (!place.isJoint)
    builder.setInsertionPointAfter(position);
  setFree(code, place, slot);
  return factor;
}

/// Loads the part of `factor` from `first` and `firstDepth` on: for the left
/// operand the fractals of one row group after the other, for the right one
/// those of one depth after the other, each with its depth in the direction
/// that the unit wants.
void KernelLowering::loadFactor(const Factor &factor, Value to, Value first,
                                Value extent, Value firstDepth, Value depth,
                                bool isLhs) {
  if (multipliesBytes() && factor.rowsAreDepth)
    return loadSquares(factor, to, first, extent, firstDepth, depth, isLhs);
  // Groups of columns are `groupStride` fractals apart, groups of rows one.
  int64_t groupStride = factor.pitch / fractal;
  int64_t depthStride = factor.rowsAreDepth ? 1 : groupStride,
          otherStride = factor.rowsAreDepth ? groupStride : 1;
  Value numOther = code.fractals(extent),
        numDepth = code.ceilDiv(depth, side());
  Value start = code.add(code.mul(code.div(first, fractal), otherStride),
                         code.mul(code.div(firstDepth, side()), depthStride));
  Value outer = isLhs ? numOther : numDepth,
        inner = isLhs ? numDepth : numOther;
  int64_t outerStride = isLhs ? otherStride : depthStride,
          innerStride = isLhs ? depthStride : otherStride;
  // Stored with the depth along columns, a fractal is as both want it: L0B has
  // the fractals of the right operand transposed.
  code.loop(code.number(0), outer, 1, [&](Value group) {
    Value place =
        code.offset(to, code.mul(code.mul(group, inner), fractal * side()));
    LoadOp::create(builder, code.loc, place, factor.address,
                   code.add(start, code.mul(group, outerStride)), inner,
                   code.number(innerStride), factor.rowsAreDepth);
  });
}

/// True if `value`, a tile or where one starts, is another one in other
/// iterations of `loop`.
static bool dependsOn(Value value, scf::ForOp loop) {
  if (value == loop.getInductionVar())
    return true;
  Operation *op = value.getDefiningOp();
  return op && llvm::any_of(op->getOperands(), [&](Value operand) {
           return dependsOn(operand, loop);
         });
}

/// True if what `kernel` adds to has not been begun: in the first iteration of
/// all loops that come back to the same sums.
Value KernelLowering::isFirst(MicroKernelOp kernel, Value firstDepth) {
  Value zero = code.number(0);
  Value first = builder.createOrFold<arith::CmpIOp>(
      code.loc, arith::CmpIPredicate::eq, firstDepth, zero);
  FailureOr<TileRef> sums = traceTile(code, kernel.getOutput());
  const Buffer &buffer = buffers.find(sums->root)->second;
  if (kernel.getOverwrite() || buffer.kind == BufferKind::Tile)
    return first;
  MicroKernelOp fill = buffer.fill;
  for (Operation *op = kernel->getParentOp(); op != tasks;
       op = op->getParentOp()) {
    auto loop = cast<scf::ForOp>(op);
    if (fill && loop->isAncestor(fill))
      break;
    if (dependsOn(kernel.getOutput(), loop))
      continue;
    Value isStart =
        arith::CmpIOp::create(builder, code.loc, arith::CmpIPredicate::eq,
                              loop.getInductionVar(), loop.getLowerBound());
    first = builder.createOrFold<arith::AndIOp>(code.loc, first, isStart);
  }
  return first;
}

/// Where in L0C the sums of `matrix` from `column` on lie. Its rows are those
/// of the whole buffer, rounded up.
Value KernelLowering::getSums(const Matrix &matrix, Value column) {
  const Place &place = buffers.find(matrix.tile.root)->second.place;
  Value pitch = code.padded(code.number(matrix.rows()));
  Value start =
      code.add(code.number(matrix.tile.offsets[matrix.columnDim]), column);
  return code.offset(getAddress(code, place, code.number(0)),
                     code.add(getLineStart(matrix), code.mul(start, pitch)));
}

/// Where in UB the part `matrix` of a tile starts.
Value KernelLowering::getTileAddress(const Matrix &matrix) {
  const Place &place = buffers.find(matrix.tile.root)->second.place;
  return code.offset(
      getAddress(code, place, code.number(0)),
      code.mul(code.number(matrix.tile.offsets[matrix.columnDim]),
               pitchInUb(matrix)));
}

/// Moves what a contraction has left in `block` to the tile in UB that it is
/// for, or adds it.
void KernelLowering::moveSums(const Matrix &sums, const Place &block,
                              bool isAdded) {
  Value zero = code.number(0), one = code.number(1);
  Value rows = code.padded(code.number(sums.rows()));
  Value from = getAddress(code, block, zero), to = getTileAddress(sums);
  if (inLanes) {
    setFull(code, block, zero);
    waitFull(code, block, zero);
    moveSumsInLanes(sums, to, from, isAdded);
    setFree(code, block, zero);
    return;
  }
  auto [between, number] =
      isAdded ? takeScratch() : std::pair<Value, unsigned>();
  setFull(code, block, zero);
  waitFull(code, block, zero);
  Value middle = between;
  code.loop(zero, code.number(sums.columns()), fractal, [&](Value column) {
    Value group = code.offset(to, code.mul(column, sums.pitch()));
    code.copy(CopyKind::MatrixCcToUbuf, isAdded ? middle : group,
              code.offset(from, code.mul(column, rows)), one,
              code.div(rows, fractal), zero, zero);
    if (isAdded)
      VectorOp::create(builder, code.loc, VectorKind::Add, group,
                       ValueRange{group, middle}, Value(),
                       code.div(rows, fractal / 4), ArrayRef<int64_t>{1, 1, 1},
                       ArrayRef<int64_t>{8, 8, 8});
  });
  setFree(code, block, zero);
  if (isAdded)
    releaseScratch(number);
}

/// True if `loop` of `kernel` has one iteration.
static bool isSingle(MicroKernelOp kernel, unsigned loop) {
  SmallVector<int64_t> extents = kernel.getExtentsOf(loop);
  return *llvm::max_element(extents) == 1;
}

/// Which of the indices of `map`, of an image under windows, the rows of a tile
/// run along: the one that is longer than one, if there is one. The taps that
/// move along it come right behind.
static unsigned findRow(MicroKernelOp kernel, AffineMap map) {
  unsigned row = 0;
  bool isLong = false;
  for (unsigned index = 0; index + 1 < map.getNumResults(); ++index) {
    unsigned loop = map.getDimPosition(index);
    if (kernel.isReduction(loop) || (isLong && isSingle(kernel, loop)))
      continue;
    row = index;
    isLong |= !isSingle(kernel, loop);
  }
  return row;
}

/// Fails if the windows that input `input` of `kernel` is, if it is windows,
/// are others than those that `LineOfPixels` describes.
LogicalResult KernelLowering::checkWindows(MicroKernelOp kernel,
                                           unsigned input) {
  builder.setInsertionPoint(kernel);
  FailureOr<TileRef> tile = traceTile(code, kernel.getInputs()[input]);
  if (failed(tile) || !tile->showsWindows)
    return success();
  AffineMap map = kernel.getMaps()[input];
  unsigned last = map.getNumResults() - 1;
  auto strideOf = [&](unsigned index) {
    return getStride(*tile, tile->dims[index]);
  };
  int64_t channels = tile->shape.back();
  for (unsigned index = 0; index < last; ++index)
    if (strideOf(index) < channels)
      return fail("the channels of an image are not its last dimension; "
                  "transpose it, filters need not be");
  if (!kernel.isReduction(map.getDimPosition(last)))
    return fail("each channel of an image has filters of its own, which are no "
                "matrix for the cube unit");
  unsigned numTaps = 0;
  for (unsigned index = 0; index < last; ++index) {
    if (!kernel.isReduction(map.getDimPosition(index)))
      continue;
    ++numTaps;
    if (index == 0 || kernel.isReduction(map.getDimPosition(index - 1)))
      return fail("windows are as high or as wide as their image, and do not "
                  "move along that side; give the image one more row or column "
                  "there, and leave out what that adds to the result");
    if (strideOf(index - 1) % strideOf(index) != 0)
      return fail("the taps of windows are dilated; write them as windows of "
                  "neighbours, with filters that are zero in between");
  }
  return numTaps <= 2 ? success()
                      : fail("windows have other dimensions than rows and "
                             "columns; add up convolutions in these two, one "
                             "for each tap along the others");
}

/// The loop that `kernel` reduces, of which `left` has the rows. Those over
/// taps of windows, which are all there, go to `taps`.
FailureOr<unsigned> KernelLowering::findReduction(MicroKernelOp kernel,
                                                  Value left, AffineMap map,
                                                  Taps &taps) {
  FailureOr<TileRef> tile = traceTile(code, left);
  if (failed(tile))
    return fail("an operand of a contraction is no plain part of a tensor");
  bool isImage = tile->showsWindows;
  unsigned last = map.getNumResults() - 1, row = findRow(kernel, map);
  SmallVector<unsigned> depths;
  unsigned depthLoop = 0;
  for (unsigned dim = 0; dim < kernel.getNumDims(); ++dim) {
    if (!kernel.isReduction(dim))
      continue;
    depthLoop = dim;
    SmallVector<int64_t> extents = kernel.getExtentsOf(dim);
    if (isSingle(kernel, dim))
      continue;
    if (!isImage || dim == map.getDimPosition(last)) {
      depths.push_back(dim);
      continue;
    }
    bool isOfRow = map.getDimPosition(row + 1) == dim;
    std::optional<unsigned> &loop = isOfRow ? taps.columnLoop : taps.rowLoop;
    if (loop || extents.size() != 1)
      return fail("a schedule cuts the taps of windows, of which tiles have to "
                  "have all");
    loop = dim;
    (isOfRow ? taps.columns : taps.rows) = extents.front();
  }
  if (depths.size() > 1)
    return fail("a contraction reduces several dimensions");
  if (isImage)
    return map.getDimPosition(last);
  return depths.empty() ? depthLoop : depths.front();
}

LogicalResult KernelLowering::lowerContraction(MicroKernelOp kernel) {
  SmallVector<AffineMap> maps = kernel.getMaps();
  builder.setInsertionPoint(kernel);
  FailureOr<Matrix> sums = getMatrix(kernel.getOutput(), maps[2], kernel);
  if (failed(sums))
    return fail("the result of a contraction is no matrix");
  auto place = buffers.find(sums->tile.root);
  if (place == buffers.end())
    return fail("sums have no place of their own: results must be narrower "
                "than f32");
  bool isTile = place->second.kind == BufferKind::Tile;
  if (!isConstantIntValue(sums->tile.offsets[sums->rowDim], 0))
    return fail("sums are cut by rows");
  // One operand has the rows, the other the columns of the result.
  unsigned lhsInput = maps[0].isFunctionOfDim(sums->columnLoop) ? 1 : 0;
  Taps taps;
  FailureOr<unsigned> found =
      findReduction(kernel, kernel.getInputs()[lhsInput], maps[lhsInput], taps);
  if (failed(found))
    return failure();
  unsigned depthLoop = *found;

  FailureOr<Factor> left = bringFactor(kernel, lhsInput, depthLoop, taps),
                    right = bringFactor(kernel, 1 - lhsInput, depthLoop, taps);
  auto isFactor = [&](const FailureOr<Factor> &factor,
                      std::optional<unsigned> loop) {
    return succeeded(factor) &&
           (factor->rowsAreDepth ? factor->matrix.columnLoop == loop
                                 : factor->matrix.rowLoop == loop &&
                                       factor->matrix.columnLoop == depthLoop);
  };
  if (!reason.empty())
    return failure();
  if (!isFactor(left, sums->rowLoop) || !isFactor(right, sums->columnLoop))
    return fail(
        "an operand of a contraction is no matrix with its columns next "
        "to each other");

  const int64_t bytes = factorType.getIntOrFloatBitWidth() / 8;
  std::optional<model::UnitSteps> steps = model::chooseUnitSteps(
      unit, llvm::alignTo(sums->maxRows, left->rowsAreDepth ? side() : fractal),
      llvm::alignTo(sums->maxColumns, side()),
      left->rowsAreDepth ? left->matrix.maxRows : left->matrix.maxColumns,
      bytes, /*isRepeated=*/taps.count() > 1);
  if (!steps)
    return fail("a tile has more rows than L0A takes");
  lhsBytes = std::max(lhsBytes, steps->lhsBytes);
  rhsBytes = std::max(rhsBytes, steps->rhsBytes);
  int64_t columns = steps->columns, depth = steps->depth;
  auto operandAt = [&](const Place &place, Value slot) {
    return code.address(place.memory, place.elementType,
                        code.mul(slot, place.memory == Memory::L0A
                                           ? unit.lhsBytes
                                           : unit.rhsBytes));
  };

  builder.setInsertionPoint(kernel);
  // Sums that are added up in UB have a place of their own in between.
  Place block;
  if (isTile) {
    block = places.allocate(Memory::L0C, builder.getF32Type(),
                            sums->maxRows * sums->maxColumns * sizeof(float),
                            /*count=*/1, Pipe::M,
                            isCoupled() ? Pipe::V : Pipe::FIX);
    waitFree(code, block, code.number(0));
  }
  Value m = code.number(sums->rows()), n = code.number(sums->columns());
  // A product of one row would take the row for plain numbers, not for part of
  // fractals. What the other rows hold is not used.
  bool hasSingleRow =
      !sums->rowLoop ||
      llvm::is_contained(kernel.getExtentsOf(*sums->rowLoop), 1);
  Value madRows = hasSingleRow ? code.padded(m) : m;
  Value k = code.number(left->rowsAreDepth ? left->matrix.rows()
                                           : left->matrix.columns());
  code.loop(code.number(0), n, columns, [&](Value column) {
    Value width = code.part(n, column, columns);
    // Squares of bytes, the last of which may go beyond the columns.
    if (multipliesBytes())
      width = code.mul(code.ceilDiv(width, side()), side());
    Value to = isTile ? code.offset(getAddress(code, block, code.number(0)),
                                    code.mul(column, code.padded(m)))
                      : getSums(*sums, column);
    auto multiply = [&](Value row, int64_t tapColumn) {
      Value tap = code.add(code.mul(row, taps.columns), code.number(tapColumn));
      bool isOne = taps.count() == 1;
      Factor rows = isOne ? *left : getTap(*left, taps, row, tapColumn),
             filter = isOne ? *right : getTap(*right, taps, row, tapColumn);
      Value before = code.mul(tap, code.ceilDiv(k, depth));
      code.loop(code.number(0), k, depth, [&](Value first) {
        Value extent = code.part(k, first, depth);
        Value slot = code.rem(code.add(code.div(first, depth), before), 2);
        waitFree(code, lhs, slot);
        Value a = operandAt(lhs, slot), b = operandAt(rhs, slot);
        loadFactor(rows, a, code.number(0), m, first, extent, /*isLhs=*/true);
        loadFactor(filter, b, column, width, first, extent, /*isLhs=*/false);
        setFull(code, lhs, slot);
        waitFull(code, lhs, slot);
        MadOp::create(builder, code.loc, to, a, b, madRows, extent, width,
                      isFirst(kernel, code.add(first, tap)));
        setFree(code, lhs, slot);
      });
    };
    auto multiplyRow = [&](Value row) {
      for (int64_t tapColumn = 0; tapColumn < taps.columns; ++tapColumn)
        multiply(row, tapColumn);
    };
    if (taps.rows == 1)
      multiplyRow(code.number(0));
    else
      code.loop(code.number(0), code.number(taps.rows), 1, multiplyRow);
  });
  if (isTile && isMixed)
    addSums(*sums, block, /*isAdded=*/!kernel.getOverwrite(), kernel);
  else if (isTile)
    moveSums(*sums, block, /*isAdded=*/!kernel.getOverwrite());
  return success();
}
