//===- Roundings.h - Numbers rounded once -----------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program of narrow floats rounds what each of its operators yields. What is
// rounded, limited and rounded again needs to be rounded once: a rounding keeps
// the order of numbers, so the larger of two is rounded to the larger of both
// roundings.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_KERNELS_ROUNDINGS_H
#define CHIMERA_LIB_TRANSFORMS_KERNELS_ROUNDINGS_H

namespace mlir {
class Block;
} // namespace mlir

namespace chimera {

/// Rounds the maxima and minima in `body` instead of what they are of, and
/// nothing that has no digits to lose. All results are as before.
void joinRoundings(mlir::Block &body);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_KERNELS_ROUNDINGS_H
