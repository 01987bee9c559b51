//===- VectorRows.cpp - Numbers of rows in memory -------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the columns of a softmax are shared out, each task leaves what it knows
// of its rows in memory, and another kernel reads what all have left. A number
// is a block there, as it is in UB: memory is written in blocks, and rows of
// several tasks follow each other.
//
// What a program has for each row, such as the sums of a softmax that is in
// memory, is a number behind the other there, and gets its block in UB.
//
//===----------------------------------------------------------------------===//

#include "VectorCode.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace chimera;
using namespace chimera::ascend;

bool VectorCode::isInMemoryOfRows(Value operand) {
  FailureOr<TileRef> tile = traceTile(code, operand);
  return succeeded(tile) && lowering.memoryOfRows.contains(tile->root);
}

LogicalResult VectorCode::prepareRowsInMemory(unsigned number, Access &access) {
  Value operand = kernel->getOperand(number);
  FailureOr<TileRef> tile = traceTile(code, operand);
  if (!isInMemoryOfRows(operand))
    return lowering.fail("what is known of rows depends on a tensor");
  // Rows of a group of heads have those of other queries between them.
  AffineMap map = kernel.getMaps()[number];
  for (unsigned index = 0; index < map.getNumResults(); ++index)
    if (rowLoop == map.getDimPosition(index) &&
        *llvm::max_element(kernel.getExtentsOf(*rowLoop)) > 1)
      access.rowsApart = getStride(*tile, tile->dims[index]);
  Type f32 = builder.getF32Type();
  access.kind = Access::Kind::Rows;
  access.place = lowering.places.allocate(
      Memory::UB, f32, maxRows * blockBytes, /*count=*/1,
      isOutput(number) ? Pipe::V : Pipe::MTE2,
      isOutput(number) ? Pipe::MTE3 : Pipe::V, /*isFilledOnce=*/false, number);
  access.address = getAddress(code, *access.place, code.number(0));
  Value first = getLinearOffset(code, *tile);
  if (numRows)
    first = code.add(first, code.mul(firstRow, access.rowsApart));
  access.inMemory = code.offset(
      UnrealizedConversionCastOp::create(
          builder, code.loc,
          PtrType::get(builder.getContext(), Memory::GM, f32), tile->root)
          .getResult(0),
      code.mul(first, blockElements));
  return success();
}

/// Brings numbers of rows from memory, and waits for room for those that leave.
void VectorCode::loadRows() {
  Value zero = code.number(0), one = code.number(1);
  for (auto [number, access] : llvm::enumerate(accesses)) {
    if (!access.inMemory)
      continue;
    waitFree(code, *access.place, zero);
    if (isOutput(number))
      continue;
    if (access.rowsApart == 1)
      code.copy(CopyKind::GmToUbuf, access.address, access.inMemory, one,
                rowsInMemory(), zero, zero);
    else
      code.copy(CopyKind::GmToUbuf, access.address, access.inMemory,
                rowsInMemory(), one, code.number(access.rowsApart - 1), zero);
    setFull(code, *access.place, zero);
    waitFull(code, *access.place, zero);
  }
}

void VectorCode::storeRows() {
  Value zero = code.number(0), one = code.number(1);
  for (auto [number, access] : llvm::enumerate(accesses)) {
    if (!access.inMemory)
      continue;
    if (isOutput(number)) {
      setFull(code, *access.place, zero);
      waitFull(code, *access.place, zero);
      if (access.rowsApart == 1)
        code.copy(CopyKind::UbufToGm, access.inMemory, access.address, one,
                  rowsInMemory(), zero, zero);
      else
        code.copy(CopyKind::UbufToGm, access.inMemory, access.address,
                  rowsInMemory(), one, zero, code.number(access.rowsApart - 1));
    }
    setFree(code, *access.place, zero);
  }
}

/// Copies `count` numbers of `root`, from `offset` on.
void VectorCode::copyLine(Value to, Value root, Value offset, Value count) {
  Type type = cast<PtrType>(to.getType()).getElementType();
  Value zero = code.number(0), one = code.number(1);
  Value from = code.offset(
      UnrealizedConversionCastOp::create(
          builder, code.loc,
          PtrType::get(builder.getContext(), Memory::GM, type), root)
          .getResult(0),
      offset);
  Value bytes = code.mul(count, type.getIntOrFloatBitWidth() / 8);
  if (lowering.has(stringifyCopyKind(CopyKind::GmToUbufPad), type))
    code.copy(CopyKind::GmToUbufPad, to, from, one, bytes, zero, zero);
  else
    code.copy(CopyKind::GmToUbuf, to, from, one,
              code.ceilDiv(bytes, blockBytes), zero, zero);
}

/// Fills a block of `to` with each of the numbers from `from` on, for `count`
/// rows: sums of one element move it where no instruction spreads numbers.
void VectorCode::spreadNumbers(Value to, Value from, Value count) {
  Value repeat = code.div(count, blockElements);
  if (lowering.has("vbrcb", builder.getF32Type())) {
    BroadcastOp::create(builder, code.loc, to, from, repeat);
    return;
  }
  for (int64_t row = 0; row < blockElements; ++row) {
    lowering.setLanes(0, int64_t(1) << row);
    for (int64_t element = 0; element < blockElements; ++element)
      ReduceOp::create(
          builder, code.loc, ReduceKind::AddAll,
          code.offset(to, code.number(row * blockElements + element)), from,
          repeat, /*blocks=*/1, /*repeats=*/1,
          builder.getI64IntegerAttr(blockElements * blockElements));
  }
  lowering.resetLanes();
}

/// Brings a tensor that has rows only into UB, a block of f32 for each number.
LogicalResult VectorCode::bringNumbers(unsigned number, Access &access) {
  Value source = kernel->getOperand(number);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(lowering.findPosition(kernel, source));
  FailureOr<TileRef> tile = traceTile(code, source);
  if (failed(tile))
    return lowering.fail("an operand is not a plain part of a tensor");
  Type type = tile->getRootType().getElementType(), f32 = builder.getF32Type();
  if (tile->isOnChip() || (!type.isF16() && !type.isF32()))
    return lowering.fail("an operand of an elementwise operation is neither "
                         "f16 nor f32, or made by another one");
  Value zero = code.number(0), first = zero, count = code.number(1);
  if (rowLoop) {
    unsigned dim = *kernel.getMaps()[number].getResultPosition(
        builder.getAffineDimExpr(*rowLoop));
    if (getStride(*tile, tile->dims[dim]) != 1)
      return lowering.fail("numbers of rows are not next to each other in "
                           "memory");
    count = code.number(tile->sizes[tile->dims[dim]]);
  }
  Value padded = code.padded(count);
  if (lowering.isMixed) {
    std::tie(first, count) = lowering.shareRows(count);
    padded = padShare(count);
  }
  int64_t elements = llvm::alignTo(maxRows, repeatElements);
  Place place = lowering.places.allocate(
      Memory::UB, type, elements * type.getIntOrFloatBitWidth() / 8, 1,
      Pipe::MTE2, Pipe::V, /*isFilledOnce=*/false, number);
  Place spread = lowering.places.allocate(Memory::UB, f32, maxRows * blockBytes,
                                          1, Pipe::V, Pipe::V);
  std::optional<Place> wide;
  if (!type.isF32())
    wide = lowering.places.allocate(Memory::UB, f32, elements * sizeof(float),
                                    1, Pipe::V, Pipe::V);
  access.kind = Access::Kind::Rows;
  access.address = getAddress(code, spread, zero);
  if (mayHaveNoRows())
    code.goOnIfAny(count);
  waitFree(code, place, zero);
  Value to = getAddress(code, place, zero);
  copyLine(to, tile->root, code.add(getLinearOffset(code, *tile), first),
           count);
  setFull(code, place, zero);
  waitFull(code, place, zero);
  Value numbers = to;
  if (wide) {
    numbers = getAddress(code, *wide, zero);
    VectorOp::create(builder, code.loc, VectorKind::Widen, numbers, to, Value(),
                     code.number(elements / repeatElements),
                     ArrayRef<int64_t>{1, 1}, ArrayRef<int64_t>{8, 4});
  }
  spreadNumbers(access.address, numbers, padded);
  setFree(code, place, zero);
  return success();
}
