//===- FloatFunctions.h - Functions of numbers, on vectors ------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is done of `math` without a library: functions that the GPU has, or that
// are quotients of polynomials.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_FLOATFUNCTIONS_H
#define CHIMERA_LIB_CONVERSION_FLOATFUNCTIONS_H

#include "../Support/OddRational.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace chimera {

inline constexpr double log2OfE = 1.4426950408889634;

/// Functions of f32, in vectors of up to two dimensions.
class FloatFunctions {
public:
  FloatFunctions(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  /// What `op` computes of `operands`; null if it is none of the functions.
  mlir::Value map(mlir::Operation &op, mlir::ValueRange operands);

  /// The same number everywhere.
  mlir::Value number(double value, mlir::Type vector);
  /// An intrinsic of numbers, for each element of vectors.
  mlir::Value mapElements(llvm::StringRef intrinsic, mlir::ValueRange vectors);
  mlir::Value exp2(mlir::Value exponent);
  mlir::Value exp(mlir::Value value);
  mlir::Value divide(mlir::Value left, mlir::Value right,
                     mlir::arith::FastMathFlags flags);

private:
  mlir::Value oddRational(mlir::Value value, const OddRational &function);

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace chimera

#endif // CHIMERA_LIB_CONVERSION_FLOATFUNCTIONS_H
