//===- Softmax.h - One form for a softmax in any spelling -------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two contractions with row reductions between them, as attention has them, are
// rewritten to
//
//   scores       contraction
//   score        elementwise, masks and all; absent if there is nothing to do
//   maximum      reduction of the score along rows
//   exponential  exp(score - maximum), be it to the base two or of a multiple,
//                or of the score alone where the maximum is minus infinity:
//                such a row has the sum zero
//   sum          reduction of the exponential
//   narrowed     the exponential in the type of the product's factors; absent
//                if that is the exponential's own
//   product      contraction of what came last
//   result       elementwise on the product, the sum and the maximum
//
// Everything that depends on rows alone, first of all the division by the sum,
// comes after the product, so the product can be corrected when another part of
// a row changes the maximum.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_CHAIN_SOFTMAX_H
#define CHIMERA_CHAIN_SOFTMAX_H

#include "Chimera/IR/Chimera.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace chimera {

/// The operations of a softmax in the form above.
struct Softmax {
  mlir::linalg::GenericOp maximum, exponential, sum;
  /// Null if the product's factors have the exponential's type.
  mlir::linalg::GenericOp narrowed;
};

/// The softmax of `score` in the form that `normalizeSoftmax` leaves; nothing
/// if that is not what its users are.
std::optional<Softmax> matchSoftmax(mlir::Value score);

} // namespace chimera

#endif // CHIMERA_CHAIN_SOFTMAX_H
