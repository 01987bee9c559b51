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
