//===- StoreCodes.h - How codes of weights are stored -----------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_FORM_STORECODES_H
#define CHIMERA_LIB_TRANSFORMS_FORM_STORECODES_H

#include "Chimera/IR/ProductBody.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace chimera {

/// The integers of a quantized factor as the contraction reads them.
struct StoredCodes {
  enum class Form { AsGiven, Signed, Unsigned, Fields };

  /// What is read for each number, and how.
  mlir::Value tensor;
  mlir::AffineMap map;
  Form form = Form::AsGiven;
  /// The loop over the fields of a word, and their bits.
  unsigned fieldLoop = 0;
  int64_t fieldBits = 0;
  /// What is to be added to what is stored.
  int64_t least = 0;

  /// Bits of a code.
  int64_t bits() const;

  /// The number that `code`, an element of the tensor, stands for, but for
  /// `least`, in a contraction of which the body was `product`.
  mlir::Value createNumber(mlir::OpBuilder &body, const ProductBody &product,
                           mlir::Value code) const;
};

/// Stores the codes of `contraction`, of which the body is `product`, in words
/// of as few bits as they need. A vector of words takes less to decode than one
/// of bytes; these are for sums whose steps do not fill words. Where fields of
/// words get a loop of their own, `contraction` and `product` become what has
/// it. Fails if nothing that codes can be stored in holds them.
mlir::FailureOr<StoredCodes> storeCodes(mlir::RewriterBase &rewriter,
                                        mlir::linalg::GenericOp &contraction,
                                        ProductBody &product);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_FORM_STORECODES_H
