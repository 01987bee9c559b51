//===- VectorIntegers.cpp - Sums of bytes, and bytes made of them ---------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums of bytes come as integers and are f32 from then on. Bytes that are made
// are whole numbers in f32 first, then halves, which hold these exactly, and
// bytes of halves: there is no conversion that rounds once and limits. A block
// has two column groups of bytes, which wait for each other as halves.
//
//===----------------------------------------------------------------------===//

#include "VectorCode.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>

using namespace mlir;
using namespace chimera;
using namespace chimera::ascend;

/// Integers are only turned into floats here.
LogicalResult VectorCode::checkSums(unsigned number) {
  if (!getElementTypeOrSelf(kernel->getOperand(number)).isInteger(32) ||
      llvm::all_of(kernel.getBody().front().getArgument(number).getUsers(),
                   llvm::IsaPred<arith::SIToFPOp>))
    return success();
  return lowering.fail(
      "sums of bytes are worked on as integers; turn them into "
      "f32 first");
}

/// Sums as f32, which those of more than 24 bits are rounded to.
VectorCode::Operand VectorCode::widenSums(Operand sums) {
  if (!cast<PtrType>(sums.value.getType()).getElementType().isInteger(32))
    return sums;
  Value to = temporary();
  emitUnary(VectorKind::WidenInteger, to, sums.value);
  return {Shape::Group, to};
}

/// True if `value` is a whole number, or none.
static bool isWhole(Value value) {
  FloatAttr number;
  if (matchPattern(value, m_Constant(&number)))
    return number.getValueAsDouble() == std::trunc(number.getValueAsDouble());
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<math::RoundEvenOp>(op))
    return true;
  return isa_and_nonnull<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
                         arith::MinNumFOp>(op) &&
         isWhole(op->getOperand(0)) && isWhole(op->getOperand(1));
}

/// A whole number, which stays f32 until bytes are made of it.
FailureOr<VectorCode::Operand> VectorCode::emitToInteger(arith::FPToSIOp op) {
  if (!llvm::all_of(op->getUsers(), llvm::IsaPred<YieldOp, arith::SIToFPOp>)) {
    lowering.reason = "an elementwise operation makes integers of floats and "
                      "computes with them; do it in f32";
    return failure();
  }
  Operand from = asGroup(getOperand(op.getIn()));
  if (isWhole(op.getIn()))
    return from;
  Operand to{Shape::Group, temporary()};
  emitUnary(VectorKind::Truncate, to.value, from.value);
  return to;
}

/// A place for blocks of bytes, and one for the halves that they are made of.
LogicalResult VectorCode::prepareByteResult(unsigned number, Access &access) {
  const Matrix &matrix = access.matrix;
  Type type = lowering.asElement(matrix.tile.getRootType().getElementType());
  access.kind = Access::Kind::Result;
  if (!matrix.tile.isOnChip()) {
    if (failed(lowering.checkStore(kernel, matrix)))
      return failure();
    shareRows(access.matrix);
  } else {
    access.exchange = lowering.makeExchange(
        kernel, type,
        matrix.maxRows * llvm::alignTo(matrix.maxColumns, blockBytes),
        CoreKind::Vector, Pipe::MTE3, Pipe::MTE2);
  }
  int64_t elements = maxRows * blockBytes;
  access.place = lowering.places.allocate(
      Memory::UB, type, elements, maxColumns > blockBytes ? 2 : 1, Pipe::V,
      Pipe::MTE3, /*isFilledOnce=*/false, number);
  Type f16 = builder.getF16Type();
  access.halves = lowering.places.allocate(
      Memory::UB, f16, elements * f16.getIntOrFloatBitWidth() / 8,
      /*count=*/1, Pipe::V, Pipe::V);
  return success();
}

bool VectorCode::makesBytes() const {
  return llvm::any_of(
      accesses, [](const Access &access) { return access.halves.has_value(); });
}

/// Puts `value`, column group `column`, into its half of each row.
void VectorCode::addToBytes(const Access &access, Operand value, Value column) {
  Value halves = code.offset(getAddress(code, *access.halves, code.number(0)),
                             code.rem(column, blockBytes));
  VectorOp::create(builder, code.loc, VectorKind::Narrow, halves, value.value,
                   Value(), repeats(Shape::Group), ArrayRef<int64_t>{2, 1},
                   ArrayRef<int64_t>{8, 8});
}

/// Makes bytes of the two column groups from `column` on, and hands them on.
void VectorCode::writeBytes(Value column) {
  Value slot = code.rem(code.div(column, blockBytes), 2);
  for (const Access &access : accesses) {
    if (!access.halves)
      continue;
    waitFree(code, *access.place, slot);
    VectorOp::create(builder, code.loc, VectorKind::NarrowToByte,
                     getAddress(code, *access.place, slot),
                     getAddress(code, *access.halves, code.number(0)), Value(),
                     repeats(Shape::Group), ArrayRef<int64_t>{1, 1},
                     ArrayRef<int64_t>{4, 8});
    write(access, column, slot);
  }
}
