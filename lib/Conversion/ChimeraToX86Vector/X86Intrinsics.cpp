//===- X86Intrinsics.cpp - Instructions without an operation --------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "X86Intrinsics.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace chimera;

bool chimera::hasAvx512Form(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector && vector.getElementType().isF32() &&
         vector.getShape() == ArrayRef<int64_t>{16};
}

static Value createInteger(OpBuilder &builder, Location loc, unsigned width,
                           int64_t value) {
  return arith::ConstantIntOp::create(builder, loc,
                                      builder.getIntegerType(width), value);
}

/// Calls `name` with `operands` and what masked instructions take: a vector for
/// the lanes that are off, of which there are none, and a rounding mode, here
/// the current one.
static Value callUnmasked(OpBuilder &builder, Location loc, StringRef name,
                          SmallVector<Value> operands) {
  constexpr int64_t currentRounding = 4;
  Type type = operands.front().getType();
  operands.append({operands.front(), createInteger(builder, loc, 16, -1),
                   createInteger(builder, loc, 32, currentRounding)});
  return LLVM::CallIntrinsicOp::create(builder, loc, type,
                                       builder.getStringAttr(name), operands)
      .getResult(0);
}

Value chimera::createRange(OpBuilder &builder, Location loc, Value lhs,
                           Value rhs, RangeKind range) {
  Value choice = createInteger(builder, loc, 32, static_cast<int64_t>(range));
  return callUnmasked(builder, loc, "llvm.x86.avx512.mask.range.ps.512",
                      {lhs, rhs, choice});
}

Value chimera::createReciprocal(OpBuilder &builder, Location loc, Value value) {
  Value allLanes = createInteger(builder, loc, 16, -1);
  return LLVM::CallIntrinsicOp::create(
             builder, loc, value.getType(),
             builder.getStringAttr("llvm.x86.avx512.rcp14.ps.512"),
             ValueRange{value, value, allLanes})
      .getResult(0);
}

Value chimera::createFraction(OpBuilder &builder, Location loc, Value value) {
  // No bits behind the point stay; ties go to even numbers.
  Value kept = createInteger(builder, loc, 32, 0);
  return callUnmasked(builder, loc, "llvm.x86.avx512.mask.reduce.ps.512",
                      {value, kept});
}

Value chimera::createRounded(OpBuilder &builder, Location loc, Value value) {
  auto type = cast<VectorType>(value.getType()).clone(builder.getI32Type());
  Value nothing =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  Value allLanes = createInteger(builder, loc, 16, -1);
  Value asUsual = createInteger(builder, loc, 32, 4);
  return LLVM::CallIntrinsicOp::create(
             builder, loc, type,
             builder.getStringAttr("llvm.x86.avx512.mask.cvtps2dq.512"),
             ValueRange{value, nothing, allLanes, asUsual})
      .getResult(0);
}

Value chimera::createScale(OpBuilder &builder, Location loc, Value value,
                           Value exponent) {
  return callUnmasked(builder, loc, "llvm.x86.avx512.mask.scalef.ps.512",
                      {value, exponent});
}

Value chimera::createDotProducts(OpBuilder &builder, Location loc, Value sums,
                                 Value lhs, Value rhs) {
  return LLVM::CallIntrinsicOp::create(
             builder, loc, sums.getType(),
             builder.getStringAttr("llvm.x86.avx512bf16.dpbf16ps.512"),
             ValueRange{sums, lhs, rhs})
      .getResult(0);
}

Value chimera::createByteDots(OpBuilder &builder, Location loc, Value sums,
                              Value positive, Value other) {
  return LLVM::CallIntrinsicOp::create(
             builder, loc, sums.getType(),
             builder.getStringAttr("llvm.x86.avx512.vpdpbusd.512"),
             ValueRange{sums, positive, other})
      .getResult(0);
}

Value chimera::createWordDots(OpBuilder &builder, Location loc, Value sums,
                              Value lhs, Value rhs) {
  bool isLong = cast<VectorType>(sums.getType()).getNumElements() == 16;
  Value products =
      LLVM::CallIntrinsicOp::create(
          builder, loc, sums.getType(),
          builder.getStringAttr(isLong ? "llvm.x86.avx512.pmaddw.d.512"
                                       : "llvm.x86.avx2.pmadd.wd"),
          ValueRange{lhs, rhs})
          .getResult(0);
  Value added = arith::AddIOp::create(builder, loc, sums, products);
  // LLVM would add up products before it adds them to sums, which takes more
  // registers than there are. Its fence is for floats.
  auto floats = cast<VectorType>(added.getType()).clone(builder.getF32Type());
  Value fenced =
      LLVM::CallIntrinsicOp::create(
          builder, loc, floats, builder.getStringAttr("llvm.arithmetic.fence"),
          vector::BitCastOp::create(builder, loc, floats, added).getResult())
          .getResult(0);
  return vector::BitCastOp::create(builder, loc, added.getType(), fenced);
}

Value chimera::createBf16(OpBuilder &builder, Location loc, Value value) {
  auto type = cast<VectorType>(value.getType());
  return LLVM::CallIntrinsicOp::create(
             builder, loc, type.clone(builder.getBF16Type()),
             builder.getStringAttr("llvm.x86.avx512bf16.cvtneps2bf16.512"),
             value)
      .getResult(0);
}

Value chimera::createHasDenormals(OpBuilder &builder, Location loc,
                                  Value value) {
  auto type = cast<VectorType>(value.getType());
  // The bit of denormal numbers, Intel SDM, VFPCLASSPS.
  Value denormal = createInteger(builder, loc, 32, 0x20);
  Value lanes = LLVM::CallIntrinsicOp::create(
                    builder, loc, type.clone(builder.getI1Type()),
                    builder.getStringAttr("llvm.x86.avx512.fpclass.ps.512"),
                    ValueRange{value, denormal})
                    .getResult(0);
  Type bits = builder.getIntegerType(type.getNumElements());
  Value together = vector::BitCastOp::create(builder, loc,
                                             VectorType::get({1}, bits), lanes);
  Value mask = vector::ExtractOp::create(builder, loc, together, 0);
  Value none =
      arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(bits, 0));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, mask,
                               none);
}

void chimera::fenceStores(OpBuilder &builder, Location loc) {
  LLVM::CallIntrinsicOp::create(
      builder, loc, builder.getStringAttr("llvm.x86.sse.sfence"), ValueRange());
}

void chimera::keepOrderOfReads(OpBuilder &builder, Location loc) {
  LLVM::FenceOp::create(builder, loc, LLVM::AtomicOrdering::seq_cst,
                        "singlethread");
}
