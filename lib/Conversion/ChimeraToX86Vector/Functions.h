//===- Functions.h - Functions of f32 vectors -------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A softmax is as fast as its exponentials, the layers between two products as
// the tanh or erf of their activation. The approximations of the math dialect
// take two to three times as many instructions as needed.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_FUNCTIONS_H
#define CHIMERA_LIB_CONVERSION_FUNCTIONS_H

#include "mlir/IR/Builders.h"

namespace chimera {

/// Emits `function`, an operation of one operand, of `operand`, a vector of
/// f32. Null if there is no approximation of our own: for all but exp, exp2,
/// tanh and erf. Of NaN all are NaN, and the limits at infinity are exact. With
/// `hasAvx512`, vectors of 512 bits use instructions of AVX-512. If the result
/// `isRounded` to the eight digits of bf16, exponentials have some more, not
/// all of f32.
mlir::Value emitFunction(mlir::OpBuilder &builder, mlir::Operation *function,
                         mlir::Value operand, bool hasAvx512, bool isRounded);

} // namespace chimera

#endif // CHIMERA_LIB_CONVERSION_FUNCTIONS_H
