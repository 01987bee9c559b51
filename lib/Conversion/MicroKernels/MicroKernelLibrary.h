//===- MicroKernelLibrary.h - Micro kernels that a program brings -*- C++
//-*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions that are micro kernels wait in a module of their own for the place
// where they are used: no pass over the program's functions sees them.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_MICROKERNELS_MICROKERNELLIBRARY_H
#define CHIMERA_LIB_CONVERSION_MICROKERNELS_MICROKERNELLIBRARY_H

#include "mlir/IR/BuiltinOps.h"

namespace chimera {

/// The module with the micro kernels of `program`; created if there is none.
mlir::ModuleOp getMicroKernelLibrary(mlir::ModuleOp program);

/// Removes the micro kernels of `root` once they are where they are used.
void removeMicroKernelLibrary(mlir::Operation *root);

} // namespace chimera

#endif // CHIMERA_LIB_CONVERSION_MICROKERNELS_MICROKERNELLIBRARY_H
