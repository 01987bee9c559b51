//===- NumberTypes.h - The types of numbers ---------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which number types code is generated from: what a contraction multiplies,
// what it adds up in and what its results are, and how such numbers are
// written, added and multiplied. Only this file, targets and back ends name
// types; whoever else needs one asks here.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_IR_NUMBERTYPES_H
#define CHIMERA_IR_NUMBERTYPES_H

#include "mlir/IR/Builders.h"

#include <optional>

namespace chimera {

/// The number types of a contraction: what it multiplies, what products are
/// added up in, and what the finished sums are stored in.
struct NumberTypes {
  mlir::Type factor, sum, result;
};

/// The type of sums of floats. Everything element by element is computed in it,
/// too.
mlir::Type getWideType(mlir::MLIRContext *context);

/// The types that factors can have, the widest first.
llvm::SmallVector<mlir::Type> getFactorTypes(mlir::MLIRContext *context);

bool canBeFactor(mlir::Type type);
/// True for what numbers of a quantized factor are stored in.
bool canBeCode(mlir::Type type);
/// True for integers whose products are added up as integers.
bool canBeIntegerFactor(mlir::Type type);
/// True for sums of floats.
bool canBeSum(mlir::Type type);
/// True for what sums can be converted to once they are finished.
bool canBeResult(mlir::Type type);
/// True for floats with fewer bits than sums have.
bool isNarrowFloat(mlir::Type type);

/// The type in which products of `factor`, a float or an integer, are added up.
mlir::Type getSumType(mlir::Type factor);

/// The type with fewer digits that matrix units multiply numbers of `factor`
/// in, where a program permits it; null if there is none.
mlir::Type getRoundedType(mlir::Type factor);

/// The nearest number to `number` that `type`, a float, has.
double roundTo(mlir::Type type, double number);

//===----------------------------------------------------------------------===//
// How computations are written
//===----------------------------------------------------------------------===//

/// A constant of `type`, a float.
mlir::Value createNumber(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Type type, double number);
mlir::Value createSum(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value lhs, mlir::Value rhs);
mlir::Value createProduct(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value lhs, mlir::Value rhs);
/// `value` in `type`, which is narrower.
mlir::Value createNarrowed(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Type type, mlir::Value value);
/// Lets the conversion that yields `narrowed` make zeros of denormal numbers,
/// as the instructions do that multiply them; and whether it may.
void setFlushesDenormals(mlir::Value narrowed);
bool flushesDenormals(mlir::Value narrowed);
/// `value` with no more digits than `type`, which is narrower, in its own type.
mlir::Value createRounded(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Type type, mlir::Value value);

//===----------------------------------------------------------------------===//
// How computations are read
//===----------------------------------------------------------------------===//

/// True for the zero that sums start from, as a number or a tensor of it. A
/// negative zero is another number.
bool isZero(mlir::Value value);
/// What is added, or multiplied, if `value` is a sum or product of floats.
using ValuePair = std::pair<mlir::Value, mlir::Value>;
std::optional<ValuePair> matchSum(mlir::Value value);
std::optional<ValuePair> matchProduct(mlir::Value value);
/// What `value` was before it was converted to a wider type, if it was.
mlir::Value skipWidening(mlir::Value value);

} // namespace chimera

#endif // CHIMERA_IR_NUMBERTYPES_H
