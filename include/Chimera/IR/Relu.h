//===- Relu.h - Zero for negative numbers -----------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A ReLU is cheap where sums leave a matrix unit: some hardware does it on the
// way. So the model, which prices it, and the back end, which emits it, have to
// see the same.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_IR_RELU_H
#define CHIMERA_IR_RELU_H

#include "mlir/IR/Operation.h"

namespace chimera {

/// The number of which `op`, a scalar operation, makes zero if it is negative;
/// none if `op` does anything else. What is no number stays none with
/// `arith.maximumf` and becomes zero with `arith.maxnumf`.
mlir::Value getReluOperand(mlir::Operation *op);

} // namespace chimera

#endif // CHIMERA_IR_RELU_H
