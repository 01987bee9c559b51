//===- VectorCode.cpp - Code for the vector unit --------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VectorCode.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace chimera;
using namespace chimera::ascend;

static int64_t getBytes(Type type) { return type.getIntOrFloatBitWidth() / 8; }

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// Gives a place back, if it is one.
void VectorCode::release(Value address) {
  auto found = taken.find(address);
  if (found == taken.end())
    return;
  lowering.releaseScratch(found->second);
  taken.erase(found);
}

/// Gives back the places of what `op` has read and nobody reads later, nor a
/// conversion of it, which has the same place.
void VectorCode::releaseUnused(Operation &op) {
  for (Value operand : op.getOperands()) {
    auto found = operands.find(operand);
    if (found == operands.end())
      continue;
    bool isRead = llvm::any_of(operands, [&](const auto &other) {
      return other.second.value == found->second.value &&
             llvm::any_of(other.first.getUsers(), [&](Operation *user) {
               return op.isBeforeInBlock(user);
             });
    });
    if (!isRead)
      release(found->second.value);
  }
}

/// The same before the groups, where what others read later is yet to be
/// computed.
void VectorCode::releaseDone(Operation &op) {
  for (Value operand : op.getOperands()) {
    Value place = getOperand(operand).value;
    bool isRead = llvm::any_of(operands, [&](const auto &other) {
      return other.second.value == place &&
             !llvm::all_of(other.first.getUsers(), [&](Operation *user) {
               return done.contains(user);
             });
    });
    if (!isRead)
      release(place);
  }
}

const KernelLowering::Buffer *VectorCode::getBuffer(Value operand) {
  FailureOr<TileRef> tile = traceTile(code, operand);
  if (failed(tile))
    return nullptr;
  auto found = lowering.buffers.find(tile->root);
  return found == lowering.buffers.end() ? nullptr : &found->second;
}

/// Where the result of `op` goes: into the tile or the rows that it becomes if
/// nobody reads those any more, else a place for a while.
Value VectorCode::getDestination(Operation &op) {
  Block &body = kernel.getBody().front();
  for (auto [index, yielded] :
       llvm::enumerate(body.getTerminator()->getOperands())) {
    unsigned number = kernel.getInputs().size() + index;
    const Access &access = accesses[number];
    bool isTile = access.kind == Access::Kind::Tile,
         isRows = access.kind == Access::Kind::Rows && !columnLoop;
    if (yielded != op.getResult(0) || (!isTile && !isRows))
      continue;
    Value former = body.getArgument(number);
    if (llvm::any_of(former.getUsers(),
                     [&](Operation *user) { return op.isBeforeInBlock(user); }))
      continue;
    if (isRows)
      return access.address;
    inPlace[&op] = number;
    if (lowering.inLanes)
      return locateInLanes(access);
    return code.offset(access.address,
                       code.mul(current, lowering.pitchInUb(access.matrix)));
  }
  return temporary();
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// The sides of what the kernel runs over: those of its result or, if it leaves
/// rows alone, of a tile that it reads.
LogicalResult VectorCode::findSides() {
  auto isRows = [&](Value operand) {
    const KernelLowering::Buffer *buffer = getBuffer(operand);
    return buffer ? buffer->kind == KernelLowering::BufferKind::Rows
                  : isInMemoryOfRows(operand);
  };
  SmallVector<unsigned> candidates;
  unsigned numInputs = kernel.getInputs().size();
  for (unsigned number = numInputs; number < kernel->getNumOperands(); ++number)
    candidates.push_back(number);
  for (unsigned number = 0; number < numInputs; ++number)
    if (getBuffer(kernel->getOperand(number)))
      candidates.push_back(number);
  for (unsigned number : candidates) {
    Value operand = kernel->getOperand(number);
    if (isRows(operand))
      continue;
    FailureOr<Matrix> matrix =
        lowering.getMatrix(operand, kernel.getMaps()[number], kernel);
    if (failed(matrix))
      return lowering.fail("the result of an elementwise operation is no "
                           "matrix");
    if (lowering.inLanes)
      matrix = matrix->transposed();
    rowLoop = matrix->rowLoop;
    columnLoop = matrix->columnLoop;
    maxRows = matrix->maxRows;
    maxColumns = matrix->maxColumns;
    rows = code.padded(code.number(matrix->rows()));
    columns = code.number(matrix->columns());
    takeShare(code.number(matrix->rows()));
    return success();
  }
  // One number for each row: the one dimension that is more than one element.
  FailureOr<TileRef> tile = traceTile(code, kernel.getOutputs()[0]);
  AffineMap map = kernel.getMaps()[numInputs];
  if (map.getNumResults() == 0) {
    maxRows = fractal;
    rows = code.number(fractal);
    exactRows = code.number(1);
    takeShare(code.number(1));
    return success();
  }
  unsigned dim = map.getNumResults() - 1;
  for (unsigned index = 0; index < map.getNumResults(); ++index)
    if (*llvm::max_element(kernel.getExtentsOf(map.getDimPosition(index))) > 1)
      dim = index;
  rowLoop = map.getDimPosition(dim);
  maxRows = padToFractal(*llvm::max_element(kernel.getExtentsOf(*rowLoop)));
  exactRows = code.number(tile->sizes[tile->dims[dim]]);
  rows = code.padded(exactRows);
  takeShare(exactRows);
  return success();
}

/// Brings the elements of a tensor that has columns only into UB, as f32.
LogicalResult VectorCode::bringColumns(unsigned number, Access &access) {
  Value source = kernel->getOperand(number);
  OpBuilder::InsertionGuard guard(builder);
  Operation *position = lowering.findPosition(kernel, source);
  builder.setInsertionPoint(position);
  FailureOr<TileRef> traced = traceTile(code, source);
  if (failed(traced))
    return lowering.fail("an operand is not a plain part of a tensor");
  const TileRef &tile = *traced;
  Type type = tile.getRootType().getElementType();
  bool isByte = type.isInteger(8);
  if (tile.isOnChip() || (!type.isF16() && !type.isF32() && !isByte))
    return lowering.fail("an operand of an elementwise operation is neither "
                         "f16 nor f32, or made by another one");
  if (isByte && failed(checkBytes(number)))
    return failure();
  int64_t elements =
      llvm::alignTo(maxColumns, isByte ? 2 * repeatElements : repeatElements);
  Value zero = code.number(0);
  Value count = code.number(tile.sizes[tile.dims.back()]);
  Place place = lowering.places.allocate(
      Memory::UB, type, elements * getBytes(type), 1, Pipe::MTE2, Pipe::V,
      /*isFilledOnce=*/false, number);
  Value to = getAddress(code, place, zero);
  waitFree(code, place, zero);
  copyLine(to, tile.root, getLinearOffset(code, tile), count);
  setFull(code, place, zero);
  waitFull(code, place, zero);
  Value halves = isByte ? widenBytes(to, elements) : to;
  Place wide = lowering.places.allocate(
      Memory::UB, builder.getF32Type(),
      elements * getBytes(builder.getF32Type()), 1, Pipe::V, Pipe::V);
  access.address = getAddress(code, wide, zero);
  Value repeat = code.number(elements / repeatElements);
  if (!type.isF32())
    VectorOp::create(builder, code.loc, VectorKind::Widen, access.address,
                     halves, Value(), repeat, ArrayRef<int64_t>{1, 1},
                     ArrayRef<int64_t>{8, 4});
  else
    VectorOp::create(builder, code.loc, VectorKind::Adds, access.address, to,
                     asNumber(0), repeat, ArrayRef<int64_t>{1, 1},
                     ArrayRef<int64_t>{8, 8});
  setFree(code, place, zero);
  access.kind = Access::Kind::Columns;
  return success();
}

/// What comes from memory or is handed on has places for column groups.
LogicalResult VectorCode::prepareMoved(unsigned number, Access &access) {
  Type type = access.matrix.tile.getRootType().getElementType();
  bool isResult = isOutput(number);
  bool isOnChip = access.matrix.tile.isOnChip();
  if (isResult && isOnChip && type != lowering.factorType)
    return lowering.fail("what an elementwise operation makes for a product is "
                         "not of the type that is multiplied");
  if (!type.isF16() && !type.isF32())
    return lowering.fail("an elementwise operation reads or makes numbers that "
                         "are neither f16 nor f32");
  // Rows leave as rows.
  if (failed(!isOnChip && isResult
                 ? lowering.checkStore(kernel, lowering.inLanes
                                                   ? access.matrix.transposed()
                                                   : access.matrix)
                 : success(isOnChip ||
                           succeeded(lowering.checkCopies(access.matrix)))))
    return failure();
  access.kind = isResult ? Access::Kind::Result : Access::Kind::Memory;
  if (!isOnChip)
    shareRows(access.matrix);
  else if (numRows)
    access.exchange = lowering.makeExchange(
        kernel, type, access.matrix.maxRows * access.matrix.maxColumns,
        CoreKind::Vector, Pipe::MTE3, Pipe::MTE2);
  int64_t elements = maxRows * fractal, count = groupPlaces();
  if (lowering.inLanes && isOnChip) {
    elements = groupRows() * fractal;
    count = 2;
  } else if (lowering.inLanes) {
    elements = maxColumns * fractal;
    count = maxRows > fractal ? 2 : 1;
  }
  access.place = lowering.places.allocate(
      Memory::UB, type, elements * getBytes(type), count,
      isResult ? Pipe::V : Pipe::MTE2, isResult ? Pipe::MTE3 : Pipe::V,
      /*isFilledOnce=*/false, number);
  return success();
}

LogicalResult VectorCode::prepareOperand(unsigned number) {
  using Kind = Access::Kind;
  Value operand = kernel->getOperand(number);
  AffineMap map = kernel.getMaps()[number];
  Access &access = accesses[number];
  if (operand.getType().isIndex()) {
    access.kind = Kind::Scalar;
    access.address = asScalar(operand);
    return success();
  }
  if (!isa<MemRefType>(operand.getType()))
    return lowering.fail("an elementwise operation reads a value that is "
                         "neither a tensor nor an index");
  const KernelLowering::Buffer *buffer = getBuffer(operand);
  if (buffer && buffer->kind == KernelLowering::BufferKind::Rows) {
    if ((columnLoop && map.isFunctionOfDim(*columnLoop)) ||
        failed(lowering.checkRows(operand)))
      return lowering.fail("what is known of rows is cut, or spread over "
                           "columns");
    access.kind = Kind::Rows;
    access.address = getAddress(code, buffer->place, code.number(0));
    return success();
  }
  if (!columnLoop)
    return prepareRowsInMemory(number, access);
  bool hasRows = rowLoop && map.isFunctionOfDim(*rowLoop),
       hasColumns = map.isFunctionOfDim(*columnLoop);
  if (!isOutput(number) && !buffer && !hasRows && hasColumns) {
    if (map.getDimPosition(map.getNumResults() - 1) != *columnLoop)
      return lowering.fail("columns of an operand are not next to each other");
    return bringColumns(number, access);
  }
  if (!isOutput(number) && !buffer && !hasColumns && !lowering.inLanes) {
    if (rowLoop && !hasRows)
      return lowering.fail("a number in memory is the same for several rows: "
                           "it has to be a row or a column of them");
    return bringNumbers(number, access);
  }
  FailureOr<Matrix> matrix = lowering.getMatrix(operand, map, kernel);
  auto hasSides = [&](const Matrix &own) {
    return own.rowLoop == rowLoop && own.columnLoop == *columnLoop;
  };
  if (failed(matrix) ||
      !hasSides(lowering.inLanes ? matrix->transposed() : *matrix))
    return lowering.fail("an elementwise operation reads a tile of another "
                         "shape, or transposed");
  access.matrix = *matrix;
  if (buffer && buffer->kind == KernelLowering::BufferKind::Tile) {
    if (!isConstantIntValue(matrix->tile.offsets[matrix->rowDim], 0))
      return lowering.fail("a tile in UB is cut by rows");
    access.kind = Kind::Tile;
    access.address = lowering.getTileAddress(*matrix);
    return success();
  }
  bool isByte = getElementTypeOrSelf(operand.getType()).isInteger(8);
  if (isByte && isOutput(number) && lowering.multipliesBytes())
    return prepareByteResult(number, access);
  if (!buffer && isByte)
    return isOutput(number) ? lowering.fail("an elementwise operation makes "
                                            "bytes")
                            : bringBytes(number, access);
  if (isOutput(number) || !buffer)
    return prepareMoved(number, access);
  if (buffer->kind != KernelLowering::BufferKind::Sums)
    return lowering.fail("an elementwise operation reads what another one "
                         "made");
  if (failed(checkSums(number)))
    return failure();
  access.kind = Kind::Sums;
  if (numRows)
    access.place = lowering.places.allocate(
        Memory::UB, matrix->tile.getRootType().getElementType(),
        maxRows * fractal * sizeof(float), groupPlaces(), Pipe::MTE2, Pipe::V,
        /*isFilledOnce=*/false, number);
  return success();
}

/// Outputs of rows are reductions if there are columns.
LogicalResult VectorCode::prepareReductions() {
  if (!columnLoop)
    return success();
  Block &body = kernel.getBody().front();
  for (auto [index, yielded] :
       llvm::enumerate(body.getTerminator()->getOperands())) {
    unsigned number = kernel.getInputs().size() + index;
    if (accesses[number].kind != Access::Kind::Rows)
      continue;
    Reduction reduction;
    reduction.state = accesses[number].address;
    reduction.combiner = yielded.getDefiningOp();
    Value former = body.getArgument(number);
    bool isCombiner =
        isa_and_nonnull<arith::MaximumFOp, arith::MaxNumFOp, arith::AddFOp>(
            reduction.combiner) &&
        llvm::is_contained(reduction.combiner->getOperands(), former) &&
        former.hasOneUse() && yielded.hasOneUse();
    if (!isCombiner)
      return lowering.fail("rows are reduced in a way the vector unit has no "
                           "code for");
    reduction.isMaximum = !isa<arith::AddFOp>(reduction.combiner);
    reduction.element = reduction.combiner->getOperand(
        reduction.combiner->getOperand(0) == former ? 1 : 0);
    reductions.push_back(reduction);
  }
  return success();
}

LogicalResult VectorCode::prepare() {
  numOutputs = kernel.getOutputs().size();
  if (failed(findSides()))
    return failure();
  if (groupRows() / groupRowsPerRepeat > maxRepeat)
    return lowering.fail("a tile has more rows than one instruction takes");
  accesses.resize(kernel->getNumOperands());
  for (unsigned number = 0; number < accesses.size(); ++number)
    if (failed(prepareOperand(number)))
      return failure();
  return prepareReductions();
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// Column group `column` of an operand, as f32 in UB.
VectorCode::Operand VectorCode::readGroup(const Access &access, Value column,
                                          Value slot) {
  using Kind = Access::Kind;
  if (lowering.inLanes)
    return readInLanes(access);
  const Matrix &matrix = access.matrix;
  Value zero = code.number(0), one = code.number(1);
  switch (access.kind) {
  case Kind::Columns:
    return {Shape::Columns, code.offset(access.address, column)};
  case Kind::Rows:
    return {Shape::Rows, access.address};
  case Kind::Tile:
    return {Shape::Group,
            code.offset(access.address,
                        code.mul(column, lowering.pitchInUb(matrix)))};
  case Kind::Sums: {
    if (access.exchange)
      return takeOver(access, column, slot);
    Value to = temporary();
    code.copy(CopyKind::MatrixCcToUbuf, to, lowering.getSums(matrix, column),
              one, code.div(rows, fractal), zero, zero);
    return {Shape::Group, to};
  }
  case Kind::Bytes:
    return readBytes(access, column);
  case Kind::Scalar:
    return {Shape::Number, access.address};
  case Kind::Memory:
  case Kind::Result:
    break;
  }
  Type type = matrix.tile.getRootType().getElementType();
  Matrix group = matrix;
  OpFoldResult &offset = group.tile.offsets[matrix.columnDim],
               &size = group.tile.sizes[matrix.columnDim];
  Value whole = code.number(matrix.columns());
  offset = code.add(code.number(offset), column);
  size = code.part(whole, column, fractal);
  Value from = getAddress(code, *access.place, slot);
  waitFree(code, *access.place, slot);
  lowering.copyFromMemory(group, from, maxRows);
  setFull(code, *access.place, slot);
  waitFull(code, *access.place, slot);
  Value to = temporary();
  if (type.isF16())
    VectorOp::create(builder, code.loc, VectorKind::Widen, to, from, Value(),
                     repeats(Shape::Group), ArrayRef<int64_t>{1, 1},
                     ArrayRef<int64_t>{8, 4});
  else
    emitScalar(VectorKind::Adds, to, from, 0);
  setFree(code, *access.place, slot);
  return {Shape::Group, to};
}

/// Hands column group `column` of a row of pixels on to windows: with a stride,
/// the pixels of each part one by one.
void VectorCode::writeFrame(const Matrix &output,
                            const KernelLowering::Buffer &buffer, Value from,
                            Value column) {
  int64_t stride = buffer.frame->line.stride;
  Value start =
      code.add(code.number(output.tile.offsets[output.columnDim]), column);
  Value zero = code.number(0), one = code.number(1);
  lowering.forEachPart(
      output, buffer, [&](Value first, Value count, Value to, int64_t pitch) {
        code.copy(CopyKind::UbufToCbuf, code.offset(to, code.mul(start, pitch)),
                  code.offset(from, code.mul(first, fractal)),
                  stride == 1 ? one : count, stride == 1 ? count : one,
                  code.number(stride - 1), zero);
      });
}

/// Hands column group `column` of a result on.
void VectorCode::write(const Access &access, Value column, Value slot) {
  const Matrix &output = access.matrix;
  Value from = getAddress(code, *access.place, slot);
  Value zero = code.number(0), one = code.number(1);
  const TileRef &tile = output.tile;
  Type type = lowering.asElement(tile.getRootType().getElementType());
  // Bytes are written two groups at once.
  int64_t bytes = getBytes(type), width = std::max(fractal, blockBytes / bytes);
  auto buffer = lowering.buffers.find(tile.root);
  setFull(code, *access.place, slot);
  waitFull(code, *access.place, slot);
  if (buffer != lowering.buffers.end() && buffer->second.frame) {
    writeFrame(output, buffer->second, from, column);
  } else if (access.exchange) {
    code.copy(CopyKind::UbufToGm,
              code.offset(lowering.locate(*access.exchange),
                          code.add(code.mul(column, output.maxRows),
                                   code.mul(firstRow, width))),
              from, one, numRows, zero, zero);
  } else if (buffer != lowering.buffers.end()) {
    int64_t pitch = output.pitch();
    Value start = code.add(code.number(tile.offsets[output.columnDim]), column);
    Value row = code.number(tile.offsets[output.rowDim]);
    Value to = code.offset(
        getAddress(code, buffer->second.place, zero),
        code.add(lowering.getLineStart(output),
                 code.add(code.mul(start, pitch), code.mul(row, fractal))));
    code.copy(CopyKind::UbufToCbuf, to, from, one, rows, zero, zero);
  } else {
    Value to = code.offset(
        UnrealizedConversionCastOp::create(
            builder, code.loc,
            PtrType::get(builder.getContext(), Memory::GM, type), tile.root)
            .getResult(0),
        code.add(getLinearOffset(code, tile), column));
    int64_t blocks = width * bytes / blockBytes,
            rowBytes = getStride(tile, output.rowDim) * bytes;
    Value rowsOfResult = code.number(output.rows());
    if (lowering.has(stringifyCopyKind(CopyKind::UbufToGmPad), type)) {
      Value length = code.mul(code.part(columns, column, width), bytes);
      code.copy(
          CopyKind::UbufToGmPad, to, from, rowsOfResult, length,
          code.max(code.sub(code.number(rowBytes), length), 0),
          code.sub(code.number(blocks), code.ceilDiv(length, blockBytes)));
    } else {
      code.copy(CopyKind::UbufToGm, to, from, rowsOfResult, code.number(blocks),
                zero, code.number(rowBytes / blockBytes - blocks));
    }
  }
  setFree(code, *access.place, slot);
}

/// What the body yields for an output that is a matrix.
LogicalResult VectorCode::writeGroup(unsigned output, Value column,
                                     Value slot) {
  unsigned number = kernel.getInputs().size() + output;
  const Access &access = accesses[number];
  Value yielded = kernel.getBody().front().getTerminator()->getOperand(output);
  Operand value = getOperand(yielded);
  if (value.shape == Shape::Number)
    return lowering.fail("the result of an elementwise operation does not "
                         "depend on a matrix");
  value = asGroup(value);
  if (lowering.inLanes)
    return writeInLanes(access, yielded, value, slot);
  if (access.kind == Access::Kind::Tile) {
    Value to = code.offset(access.address,
                           code.mul(column, lowering.pitchInUb(access.matrix)));
    auto found = inPlace.find(yielded.getDefiningOp());
    if (found == inPlace.end() || found->second != number)
      emitScalar(VectorKind::Adds, to, value.value, 0);
    return success();
  }
  if (access.halves) {
    addToBytes(access, value, column);
    return success();
  }
  waitFree(code, *access.place, slot);
  Value to = getAddress(code, *access.place, slot);
  if (cast<PtrType>(to.getType()).getElementType().isF32())
    emitScalar(VectorKind::Adds, to, value.value, 0);
  else
    VectorOp::create(builder, code.loc, VectorKind::Narrow, to, value.value,
                     Value(), repeats(Shape::Group), ArrayRef<int64_t>{1, 1},
                     ArrayRef<int64_t>{4, 8});
  write(access, column, slot);
  return success();
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Combines a group with what there is of those before. Of one at an edge only
/// the columns that exist take part.
void VectorCode::accumulate(const Reduction &reduction, Value column,
                            bool isEdge) {
  Value group = asGroup(getOperand(reduction.element)).value;
  Type i64 = builder.getI64Type();
  auto constant = [&](int64_t value) {
    return arith::ConstantIntOp::create(builder, code.loc, i64, value)
        .getResult();
  };
  if (isEdge) {
    // The same bits for each of the four rows of a repeat.
    constexpr int64_t everyRow = 0x0001000100010001;
    Value width = builder.createOrFold<arith::IndexCastOp>(
        code.loc, i64, code.sub(columns, column));
    Value bits = builder.createOrFold<arith::SubIOp>(
        code.loc,
        builder.createOrFold<arith::ShLIOp>(code.loc, constant(1), width),
        constant(1));
    Value mask =
        builder.createOrFold<arith::MulIOp>(code.loc, bits, constant(everyRow));
    SetVectorMaskOp::create(builder, code.loc, constant(0), mask);
  }
  emitPlain(reduction.isMaximum ? VectorKind::Max : VectorKind::Add,
            reduction.group, reduction.group, group);
  if (isEdge)
    lowering.resetLanes();
}

/// Combines the columns of the group that is left, and that with what was known
/// of the rows.
void VectorCode::finish(const Reduction &reduction) {
  VectorKind kind = reduction.isMaximum ? VectorKind::Max : VectorKind::Add;
  Value block = temporary(), all = temporary();
  VectorOp::create(
      builder, code.loc, kind, block,
      ValueRange{reduction.group,
                 code.offset(reduction.group, code.number(blockElements))},
      Value(), repeats(Shape::Rows), ArrayRef<int64_t>{1, 2, 2},
      ArrayRef<int64_t>{8, 16, 16});
  ReduceKind reduce = reduction.isMaximum ? ReduceKind::Max : ReduceKind::Add;
  if (lowering.has(stringifyReduceKind(reduce), builder.getF32Type())) {
    ReduceOp::create(builder, code.loc, reduce, all, block,
                     repeats(Shape::Rows), /*blocks=*/1, /*repeats=*/8,
                     /*distance=*/IntegerAttr());
    BroadcastOp::create(builder, code.loc, block, all, repeats(Shape::Rows));
    std::swap(block, all);
  } else {
    reduceBlocks(reduction.isMaximum, all, block);
  }
  emitPlain(kind, reduction.state, reduction.state, all, Shape::Rows);
  release(block);
  release(all);
}

/// Combines the elements of each block of `from`, which is lost, and fills the
/// block of `to` with the result, where no instruction reduces or spreads
/// blocks: sums of repeats of which one block takes part, or one element, which
/// they thus move.
void VectorCode::reduceBlocks(bool isMaximum, Value to, Value from) {
  // Of each row, what is in `lanes` to one element.
  auto addUp = [&](int64_t element, int64_t lanes) {
    lowering.setLanes(0, lanes);
    constexpr int64_t most = maxRepeat / fractal * fractal;
    code.loop(code.number(0), rows, most, [&](Value row) {
      Value first = code.mul(row, blockElements);
      ReduceOp::create(builder, code.loc, ReduceKind::AddAll,
                       code.offset(to, code.add(first, code.number(element))),
                       code.offset(from, first), code.part(rows, row, most),
                       /*blocks=*/1,
                       /*repeats=*/1, builder.getI64IntegerAttr(blockElements));
    });
  };
  int64_t result = (1 << blockElements) - 1;
  if (isMaximum) {
    // The second half of what is left beside the first one.
    constexpr int64_t everyBlock = 0x0101010101010101;
    for (int64_t half = blockElements / 2; half > 0; half /= 2) {
      for (int64_t element = 0; element < half; ++element)
        addUp(element, int64_t(1) << (element + half));
      lowering.setLanes(0, everyBlock * ((1 << half) - 1));
      emitPlain(VectorKind::Max, from, from, to, Shape::Rows);
    }
    result = 1;
  }
  for (int64_t element = 0; element < blockElements; ++element)
    addUp(element, result);
  lowering.resetLanes();
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

/// Computes what depends on rows alone. If nothing else does, that is all.
LogicalResult VectorCode::emitRows() {
  Block &body = kernel.getBody().front();
  loadRows();
  for (auto [number, access] : llvm::enumerate(accesses))
    if (access.kind == Access::Kind::Rows)
      operands[body.getArgument(number)] = {Shape::Rows, access.address};
    else if (access.kind == Access::Kind::Scalar)
      operands[body.getArgument(number)] = {Shape::Number, access.address};
  auto isRowsOnly = [&](Operation &op) {
    if (auto index = dyn_cast<IndexOp>(op))
      return index.getDim() != columnLoop;
    return llvm::all_of(op.getOperands(), [&](Value value) {
      Operand operand = getOperand(value);
      return operand.shape == Shape::Rows ||
             (operand.shape == Shape::Number &&
              (operands.contains(value) || matchPattern(value, m_Constant())));
    });
  };
  for (Operation &op : body.without_terminator()) {
    if (matchPattern(&op, m_Constant()) || !isRowsOnly(op))
      continue;
    FailureOr<Operand> result = emitOperation(op);
    if (failed(result))
      return failure();
    operands[op.getResult(0)] = *result;
    done.insert(&op);
    releaseDone(op);
  }
  std::swap(kept, taken);
  if (columnLoop)
    return success();
  for (auto [index, yielded] :
       llvm::enumerate(body.getTerminator()->getOperands())) {
    const Access &access = accesses[kernel.getInputs().size() + index];
    Operand value = getOperand(yielded);
    if (value.shape == Shape::Number)
      return lowering.fail("what is known of rows is a number");
    value = asShape(value, Shape::Rows);
    if (value.value != access.address)
      emitScalar(VectorKind::Adds, access.address, value.value, 0, Shape::Rows);
  }
  storeRows();
  return success();
}

LogicalResult VectorCode::emitGroup(Value column, bool isEdge) {
  current = column;
  Value number = code.div(column, fractal);
  if (lowering.inLanes)
    number = code.add(number, code.div(part.first, groupRows()));
  Value slot = code.rem(number, 2);
  Block &body = kernel.getBody().front();
  for (auto [number, access] : llvm::enumerate(accesses)) {
    BlockArgument argument = body.getArgument(number);
    if (access.kind != Access::Kind::Result &&
        access.kind != Access::Kind::Scalar && !argument.use_empty())
      operands[argument] = readGroup(access, column, slot);
  }
  for (Operation &op : body.without_terminator()) {
    auto *reduction = llvm::find_if(reductions, [&](const Reduction &entry) {
      return entry.combiner == &op;
    });
    if (reduction != reductions.end()) {
      if (lowering.inLanes)
        accumulateInLanes(*reduction);
      else
        accumulate(*reduction, column, isEdge);
      continue;
    }
    if (matchPattern(&op, m_Constant()) || done.contains(&op))
      continue;
    FailureOr<Operand> result = emitOperation(op);
    if (failed(result))
      return failure();
    operands[op.getResult(0)] = *result;
    releaseUnused(op);
  }
  for (unsigned output = 0; output < numOutputs; ++output) {
    bool isMatrix =
        accesses[kernel.getInputs().size() + output].kind != Access::Kind::Rows;
    if (isMatrix && failed(writeGroup(output, column, slot)))
      return failure();
  }
  for (const auto &[place, own] : inUse)
    setFree(code, place, own);
  inUse.clear();
  for (const auto &[address, number] : taken)
    lowering.releaseScratch(number);
  taken.clear();
  return success();
}

LogicalResult VectorCode::emitGroups() {
  for (Reduction &reduction : reductions) {
    reduction.group = temporary();
    if (!lowering.inLanes)
      dup(reduction.group, getStart(reduction));
  }
  for (const auto &[address, number] : taken)
    kept[address] = number;
  taken.clear();
  if (lowering.inLanes)
    return emitInLanes();
  LogicalResult result = success();
  auto emitUpTo = [&](Value first, Value last, bool isEdge) {
    code.loop(first, last, fractal, [&](Value column) {
      if (succeeded(result))
        result = emitGroup(column, isEdge);
    });
  };
  // Elements beyond the columns do no harm, except to what rows add up to.
  bool hasEdge = !reductions.empty() &&
                 llvm::any_of(kernel.getExtentsOf(*columnLoop),
                              [](int64_t extent) { return extent % fractal; });
  if (makesBytes()) {
    code.loop(code.number(0), columns, blockBytes, [&](Value first) {
      emitUpTo(first,
               code.min(code.add(first, code.number(blockBytes)), columns),
               /*isEdge=*/false);
      writeBytes(first);
    });
  } else if (hasEdge) {
    Value whole = code.mul(code.div(columns, fractal), fractal);
    emitUpTo(code.number(0), whole, /*isEdge=*/false);
    emitUpTo(whole, columns, /*isEdge=*/true);
  } else {
    emitUpTo(code.number(0), columns, /*isEdge=*/false);
  }
  if (failed(result))
    return failure();
  for (const Reduction &reduction : reductions)
    finish(reduction);
  return success();
}

LogicalResult VectorCode::emit() {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(kernel);
  if (failed(prepare()))
    return failure();
  openExchanges();
  if (mayHaveNoRows())
    code.goOnIfAny(numRows);
  if (failed(emitRows()) || (columnLoop && failed(emitGroups())))
    return failure();
  builder.setInsertionPoint(kernel);
  closeExchanges();
  for (const auto &[address, number] : kept)
    lowering.releaseScratch(number);
  return success();
}
