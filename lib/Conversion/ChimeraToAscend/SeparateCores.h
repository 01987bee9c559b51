//===- SeparateCores.h - A kernel of two kinds of cores ---------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the units are in cores of their own, a kernel is lowered as one program
// of all their instructions, in an order that is right. Each core then gets its
// part of it: the same loops, with its own instructions and the flags between
// the cores that it sets or waits for.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_SEPARATECORES_H
#define CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_SEPARATECORES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace chimera::ascend {

/// Removes what nobody uses any more: the memrefs of tiles, and loops without
/// instructions.
void removeDead(mlir::func::FuncOp kernel);

/// Makes two kernels of `kernel`, `<name>_cube` and `<name>_vector`, if it has
/// flags between cores.
void separateCores(mlir::func::FuncOp kernel);

} // namespace chimera::ascend

#endif // CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_SEPARATECORES_H
