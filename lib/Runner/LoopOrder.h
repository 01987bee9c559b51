//===- LoopOrder.h - Order of plain loops -----------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_RUNNER_LOOPORDER_H
#define CHIMERA_LIB_RUNNER_LOOPORDER_H

#include "mlir/IR/BuiltinOps.h"

namespace chimera::runner {

/// Puts the loop along which most operands are contiguous innermost in every
/// contraction and convolution of `module` (linalg on tensors). References stay
/// plain loops, but walk memory as caches and vectors like it.
void orderLoops(mlir::ModuleOp module);

} // namespace chimera::runner

#endif // CHIMERA_LIB_RUNNER_LOOPORDER_H
