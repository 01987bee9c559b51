//===- SoftmaxExpression.h - Is an expression a softmax? --------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The second contraction's factor is one expression P of the scores. It has to
// be an exponential e = exp(y - shift), with factors and conditions that depend
// on the row alone around it: these move behind the contraction. The sum of a
// row and the product are both sums of e, so if the result has the degree zero
// in both together, as in product / sum, the shift cancels and the maximum can
// take its place; otherwise it has to be the maximum.
//
// All of that is decided on expressions, without a look at the operations.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_CHAIN_SOFTMAXEXPRESSION_H
#define CHIMERA_CHAIN_SOFTMAXEXPRESSION_H

#include "Chimera/Chain/ScalarExpressions.h"

namespace chimera {

/// An exponential of a score, shifted by what depends on its row alone.
struct ShiftedExponential {
  ExprId exponential = 0, score = 0;
  /// Rows below this are shifted by it instead of by what they hold: zero if
  /// nothing is subtracted from the score, c if max(maximum, c) is.
  std::optional<double> leastShift;
  /// True if what is subtracted from the score is its maximum.
  bool isShiftMaximum = false;
  /// True if that is finite where the whole row is minus infinity.
  bool isShiftFinite = false;
  /// What the difference is multiplied by.
  double exponentFactor = 1;
};

/// Finds the exponential inside `factor`, below what depends on the row.
std::optional<ShiftedExponential> findExponential(const ExprPool &pool,
                                                  ExprId factor);

/// The same softmax once it is written in the form of Softmax.h: the product of
/// the exponential, the sum of a row and its maximum.
struct SoftmaxParts {
  ExprId product = 0, sum = 0, maximum = 0;
};

/// Expresses `tail` by `parts`. It was written for the product with the whole
/// `factor`, in which `own` was found, where now only the exponential is.
/// Nothing if the rest cannot come behind the product, or if the shift matters
/// and is not the maximum.
std::optional<ExprId> moveBehindProduct(ExprPool &pool,
                                        const ShiftedExponential &own,
                                        const SoftmaxParts &parts,
                                        ExprId factor, ExprId tail);

} // namespace chimera

#endif // CHIMERA_CHAIN_SOFTMAXEXPRESSION_H
