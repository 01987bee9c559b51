//===- X86Intrinsics.h - Instructions without an operation ------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instructions, of AVX-512 where nothing else is said, that do in one step what
// takes several operations of the vector dialect. Vectors as long do not imply
// AVX-512: whoever calls has to know that it is there.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_X86INTRINSICS_H
#define CHIMERA_LIB_CONVERSION_X86INTRINSICS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace chimera {

/// True for vectors of 512 bits of f32, which the functions below take.
bool hasAvx512Form(mlir::Type type);

/// What vrangeps chooses of two numbers; of a number and a NaN, the number.
enum class RangeKind {
  /// Minus zero is less than zero.
  Minimum = 4,
  Maximum = 5,
  /// The smaller absolute value, with the sign of the first operand.
  Nearest = 2,
};
mlir::Value createRange(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value lhs, mlir::Value rhs, RangeKind range);

/// One over `value`, with a relative error of up to 2^-14 (vrcp14ps).
mlir::Value createReciprocal(mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::Value value);

/// What is left of `value` when the nearest integer is taken away; nothing of
/// what is infinite.
mlir::Value createFraction(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value value);

/// The integers of 32 bits nearest to `value`; the least one if there is none.
mlir::Value createRounded(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value value);

/// `value` times two to the power of `exponent`, rounded down if it is no
/// integer: infinity and zero where that is too large or too small.
mlir::Value createScale(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value value, mlir::Value exponent);

/// `sums`, 16 of f32, each with the products of two neighbours of `lhs` and
/// `rhs`, 32 of bf16, added to it. What is too small for a normal number counts
/// as zero.
mlir::Value createDotProducts(mlir::OpBuilder &builder, mlir::Location loc,
                              mlir::Value sums, mlir::Value lhs,
                              mlir::Value rhs);

/// `sums`, 16 of i32, each with the products of four neighbours of `positive`,
/// 64 bytes without a sign, and `other`, 64 with a sign, added to it. What does
/// not fit wraps around.
mlir::Value createByteDots(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value sums, mlir::Value positive,
                           mlir::Value other);

/// `sums`, 8 or, with AVX-512, 16 of i32, each with the products of two
/// neighbours of `lhs` and `rhs`, twice as many of i16, added to it.
mlir::Value createWordDots(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value sums, mlir::Value lhs, mlir::Value rhs);

/// `value`, 16 of f32, in bf16. What is too small for a normal number becomes
/// zero.
mlir::Value createBf16(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value value);

/// True if `value`, 16 of f32, has numbers too small for a normal one.
/// AVX-512DQ.
mlir::Value createHasDenormals(mlir::OpBuilder &builder, mlir::Location loc,
                               mlir::Value value);

/// What was stored past the caches before is seen by others before what is
/// stored after.
void fenceStores(mlir::OpBuilder &builder, mlir::Location loc);

/// What is read before stays before what is read after, which the compiler
/// would mix for the sake of latencies. No instruction.
void keepOrderOfReads(mlir::OpBuilder &builder, mlir::Location loc);

} // namespace chimera

#endif // CHIMERA_LIB_CONVERSION_X86INTRINSICS_H
