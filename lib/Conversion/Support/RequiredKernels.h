//===- RequiredKernels.h - Where a kernel is missing ------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_SUPPORT_REQUIREDKERNELS_H
#define CHIMERA_LIB_CONVERSION_SUPPORT_REQUIREDKERNELS_H

#include "mlir/IR/BuiltinOps.h"

namespace chimera {

/// Fails, with an error for each, if contractions or convolutions of `module`
/// are outside of all blocks and micro kernels: no chain took them, so that
/// nothing would make kernels of them.
llvm::LogicalResult checkNoContractionIsLeft(mlir::ModuleOp module);

} // namespace chimera

#endif // CHIMERA_LIB_CONVERSION_SUPPORT_REQUIREDKERNELS_H
