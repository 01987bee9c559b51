//===- WideFunctions.h - Functions of f32 computed in f64 -------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A power has an exponent of up to seven bits before the point, so its
// logarithm needs as many more than f32 has behind it; hyperbolic functions and
// their inverses subtract numbers that are nearly the same. In f64 both are
// plain polynomials, where two numbers of f32 for each would take as many
// instructions and more care. Angles are reduced by multiples of a right one,
// of which f32 has too few digits for positions in a sequence. libm, the
// alternative, takes one element at a time.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_WIDEFUNCTIONS_H
#define CHIMERA_LIB_CONVERSION_WIDEFUNCTIONS_H

#include "mlir/IR/Builders.h"

namespace chimera {

/// Emits `function` of `operands`, vectors of f32, with a relative error below
/// 1.2e-7 where the result is normal, and with C's results for zeros,
/// infinities and NaN. Null if it is none of powf, log10, sin, cos, tan, sinh,
/// cosh, asinh, acosh and atanh. Sines and cosines have an error of 1.3e-7,
/// tangents of 3e-7; beyond 2^45, where neighbours of f32 are many turns apart,
/// they are those of some other angle.
mlir::Value emitWideFunction(mlir::OpBuilder &builder,
                             mlir::Operation *function,
                             mlir::ValueRange operands);

} // namespace chimera

#endif // CHIMERA_LIB_CONVERSION_WIDEFUNCTIONS_H
