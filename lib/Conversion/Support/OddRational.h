//===- OddRational.h - Odd functions as quotients ---------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// No target has an instruction for tanh or erf in f32. Formulas by way of the
// exponential subtract it from one, which leaves nothing of small results. A
// quotient of polynomials has the same relative error everywhere, and all back
// ends use the same one.
//
// Coefficients are our own: they minimise the greatest relative error up to the
// limit, by least squares with weights adapted until the error is level; then
// they are rounded to f32.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_SUPPORT_ODDRATIONAL_H
#define CHIMERA_LIB_CONVERSION_SUPPORT_ODDRATIONAL_H

#include "llvm/ADT/ArrayRef.h"

namespace chimera {

/// x P(x^2) / Q(x^2), with x brought no further from zero than `limit`, from
/// where on the result is one. Coefficients of the lowest powers come first.
struct OddRational {
  double limit;
  llvm::ArrayRef<double> numerator, denominator;
};

namespace detail {
inline constexpr double tanhNumerator[] = {
    1.0, 0.13387541472911835, 0.0035033372696489096, 2.0737177692353725e-05,
    1.3533741238802577e-08};
inline constexpr double tanhDenominator[] = {
    1.0, 0.467208594083786, 0.025906434282660484, 0.00032983298297040164,
    7.849487246858189e-07};
inline constexpr double erfNumerator[] = {
    1.1283791065216064,   0.1904076486825943,     0.05274888500571251,
    0.003765668487176299, 0.00028488397947512567, 2.0500797290878836e-06};
inline constexpr double erfDenominator[] = {1.0,
                                            0.5020771026611328,
                                            0.11410960555076599,
                                            0.01496932003647089,
                                            0.0011625482002273202,
                                            3.809170448221266e-05};
} // namespace detail

/// Relative error below 3.1e-7 in f32 with exact division.
inline OddRational getTanh() {
  return {8.9, detail::tanhNumerator, detail::tanhDenominator};
}

/// Relative error below 3.5e-7 in f32 with exact division.
inline OddRational getErf() {
  return {3.92, detail::erfNumerator, detail::erfDenominator};
}

} // namespace chimera

#endif // CHIMERA_LIB_CONVERSION_SUPPORT_ODDRATIONAL_H
