//===- FixSizes.h - Steps towards static shapes -----------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_SIZES_FIXSIZES_H
#define CHIMERA_LIB_TRANSFORMS_SIZES_FIXSIZES_H

#include "Chimera/Transforms/Sizes.h"

namespace chimera {

/// Gives arguments `sizes`, one for each of `groups`; the body still sees
/// dynamic dimensions.
void fixArguments(mlir::func::FuncOp function, llvm::ArrayRef<SizeGroup> groups,
                  llvm::ArrayRef<int64_t> sizes);

/// Carries what is known of sizes from operation to operation.
void propagateShapes(mlir::func::FuncOp function);

/// Returns what casts to dynamic sizes hide.
void fixResults(mlir::func::FuncOp function);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_SIZES_FIXSIZES_H
