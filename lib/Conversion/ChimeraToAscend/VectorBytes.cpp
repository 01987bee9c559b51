//===- VectorBytes.cpp - Truth values in memory ---------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A mask that is a tensor lies in memory as bytes. A tile of it comes to UB at
// once, whole rows of blocks: a column group has half a block of each row.
// Where a group is worked on, the bytes of two become halves, and those of the
// one wanted become f32, which is then compared with zero like any number.
//
//===----------------------------------------------------------------------===//

#include "VectorCode.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace chimera;
using namespace chimera::ascend;

/// Bytes have no sign here: all that can be asked is whether they are zero.
LogicalResult VectorCode::checkBytes(unsigned number) {
  auto isTest = [](Operation *user) {
    auto compare = dyn_cast<arith::CmpIOp>(user);
    return compare && matchPattern(compare.getRhs(), m_Zero()) &&
           (compare.getPredicate() == arith::CmpIPredicate::ne ||
            compare.getPredicate() == arith::CmpIPredicate::eq);
  };
  if (llvm::all_of(kernel.getBody().front().getArgument(number).getUsers(),
                   isTest))
    return success();
  return lowering.fail("bytes are read as something else than truth values");
}

/// As many halves as there are `bytes`.
Value VectorCode::widenBytes(Value bytes, int64_t elements) {
  Type f16 = builder.getF16Type();
  Place place = lowering.places.allocate(Memory::UB, f16, elements * 2,
                                         /*count=*/1, Pipe::V, Pipe::V);
  Value halves = getAddress(code, place, code.number(0));
  VectorOp::create(builder, code.loc, VectorKind::WidenByte, halves, bytes,
                   Value(), code.number(elements / (2 * repeatElements)),
                   ArrayRef<int64_t>{1, 1}, ArrayRef<int64_t>{8, 4});
  return halves;
}

/// Rows that start with a block, one after the other: with one copy where there
/// is one for any number of bytes or they start whole blocks apart, else each
/// by itself, with the bytes that fill its last block.
void VectorCode::copyBytes(const Matrix &matrix, Value to) {
  const TileRef &tile = matrix.tile;
  int64_t stride = getStride(tile, matrix.rowDim);
  auto type = cast<PtrType>(to.getType());
  Value from = code.offset(
      UnrealizedConversionCastOp::create(
          builder, code.loc,
          PtrType::get(builder.getContext(), Memory::GM, type.getElementType()),
          tile.root)
          .getResult(0),
      getLinearOffset(code, tile));
  Value zero = code.number(0), one = code.number(1);
  Value rows = code.number(matrix.rows()),
        columns = code.number(matrix.columns());
  Value blocks = code.ceilDiv(columns, blockBytes);
  if (lowering.has(stringifyCopyKind(CopyKind::GmToUbufPad),
                   type.getElementType())) {
    // One row alone may be shorter than what is read of it.
    code.copy(CopyKind::GmToUbufPad, to, from, rows, columns,
              code.max(code.sub(code.number(stride), columns), 0),
              code.sub(code.number(blocksOfRow()), blocks));
    return;
  }
  if (stride % blockBytes == 0) {
    code.copy(CopyKind::GmToUbuf, to, from, rows, blocks,
              code.max(code.sub(code.number(stride / blockBytes), blocks), 0),
              code.sub(code.number(blocksOfRow()), blocks));
    return;
  }
  code.loop(zero, rows, 1, [&](Value row) {
    code.copy(CopyKind::GmToUbuf,
              code.offset(to, code.mul(row, blocksOfRow() * blockBytes)),
              code.offset(from, code.mul(row, stride)), one, blocks, zero,
              zero);
  });
}

/// Copies the rows of `matrix` that this core has. Where several share them, it
/// may have none.
void VectorCode::copyShare(Matrix &matrix, Value to) {
  if (!lowering.isMixed)
    return copyBytes(matrix, to);
  auto [first, count] = lowering.shareRows(code.number(matrix.rows()));
  OpFoldResult &offset = matrix.tile.offsets[matrix.rowDim];
  offset = getAsOpFoldResult(code.add(code.number(offset), first));
  matrix.tile.sizes[matrix.rowDim] = getAsOpFoldResult(count);
  OpBuilder::InsertionGuard guard(builder);
  code.goOnIfAny(count);
  copyBytes(matrix, to);
}

LogicalResult VectorCode::bringBytes(unsigned number, Access &access) {
  if (failed(checkBytes(number)))
    return failure();
  Value source = kernel->getOperand(number);
  Operation *position = lowering.findPosition(kernel, source);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(position);
  FailureOr<Matrix> matrix =
      lowering.getMatrix(source, kernel.getMaps()[number], kernel);
  if (failed(matrix) || failed(lowering.checkCopies(*matrix)))
    return failure();
  Place place = lowering.places.allocate(Memory::UB, builder.getI8Type(),
                                         maxRows * blocksOfRow() * blockBytes,
                                         /*count=*/1, Pipe::MTE2, Pipe::V);
  Value zero = code.number(0);
  access.kind = Access::Kind::Bytes;
  access.address = getAddress(code, place, zero);
  waitFree(code, place, zero);
  copyShare(*matrix, access.address);
  setFull(code, place, zero);
  waitFull(code, place, zero);
  builder.setInsertionPointAfter(position);
  setFree(code, place, zero);
  return success();
}

/// Column group `column`, as f32 in UB.
VectorCode::Operand VectorCode::readBytes(const Access &access, Value column) {
  Value halves = temporary(builder.getF16Type()), to = temporary();
  Value from = code.offset(access.address,
                           code.mul(code.div(column, blockBytes), blockBytes));
  int64_t next = groupRowsPerRepeat * blocksOfRow();
  auto widen = [&](Value result, Value bytes, Value repeat, int64_t distance) {
    VectorOp::create(builder, code.loc, VectorKind::WidenByte, result, bytes,
                     Value(), repeat, ArrayRef<int64_t>{1, blocksOfRow()},
                     ArrayRef<int64_t>{8, distance});
  };
  if (next <= maxRepeat) {
    widen(halves, from, repeats(Shape::Group), next);
  } else {
    // Farther apart than an instruction says.
    code.loop(code.number(0), repeats(Shape::Group), 1, [&](Value repeat) {
      widen(code.offset(halves, code.mul(repeat, 2 * repeatElements)),
            code.offset(from, code.mul(repeat, next * blockBytes)),
            code.number(1), 0);
    });
  }
  // Of the two blocks of halves of each row, the one of this group.
  VectorOp::create(builder, code.loc, VectorKind::Widen, to,
                   code.offset(halves, code.rem(column, blockBytes)), Value(),
                   repeats(Shape::Group), ArrayRef<int64_t>{1, 2},
                   ArrayRef<int64_t>{8, 8});
  release(halves);
  return {Shape::Group, to};
}
