//===- ProductBody.h - What a contraction adds up ---------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A contraction adds up products of two factors. A factor may be quantized: in
// memory it is a code, a small integer, of which a number is made,
//
//   (number - zero) * scale
//
// where zero and scale are the same for many codes: for a row of weights, or
// for a group of 32 to 128 of them. The number is the code itself, converted,
// or some of its bits.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_IR_PRODUCTBODY_H
#define CHIMERA_IR_PRODUCTBODY_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

#include <optional>

namespace chimera {

/// The body of a contraction, in the terms above. Values are those of the body.
struct ProductBody {
  /// The element of the factor that is multiplied as it is, but for its type.
  mlir::BlockArgument factor;
  /// The element of the other factor: a float, or a code.
  mlir::BlockArgument code;
  /// What `code` stands for; `code` itself, but for its type, unless it is
  /// quantized. Depends on nothing else but positions.
  mlir::Value number;
  /// Null if there is none. They depend on arguments that nothing else depends
  /// on.
  mlir::Value zero, scale;

  /// How integers that are multiplied with each other are extended.
  bool isFactorUnsigned = false, isCodeUnsigned = false;

  /// True if integers are multiplied and added up as such.
  bool isInteger() const;
  /// True if `code` is one.
  bool isQuantized() const;
};

/// `body`, of a structured operation or a micro kernel, if it adds a product to
/// its last argument and yields the sum.
std::optional<ProductBody> matchProductBody(mlir::Block &body);

/// Some bits of a code as a number: those from `bits` times the position in
/// dimension `dim` on, which are `bits` as well, without a sign.
struct BitField {
  mlir::BlockArgument code;
  unsigned dim = 0;
  unsigned bits = 0;
};

/// The field of `code` at the position in dimension `dim` of the structured
/// operation that is built, in the type of sums.
mlir::Value createBitField(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value code, unsigned dim, unsigned bits);

/// `number` as bits of a code, if it is written as createBitField writes it.
std::optional<BitField> matchBitField(mlir::Value number);

} // namespace chimera

#endif // CHIMERA_IR_PRODUCTBODY_H
