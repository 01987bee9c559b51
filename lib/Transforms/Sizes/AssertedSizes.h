//===- AssertedSizes.h - Sizes that a program says are equal ----*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_SIZES_ASSERTEDSIZES_H
#define CHIMERA_LIB_TRANSFORMS_SIZES_ASSERTEDSIZES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace chimera {

/// Gives numbers that `function`, whose arguments have placeholders for sizes,
/// asserts to be one of its sizes the form of that size.
void takeAssertedSizes(mlir::func::FuncOp function);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_SIZES_ASSERTEDSIZES_H
