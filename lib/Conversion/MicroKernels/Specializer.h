//===- Specializer.h - Code for the extents that occur ----------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile at the edge of a loop has a size known at run time only; a micro
// kernel lists the sizes that occur. Each gets code of its own, chosen by
// comparison; any other size is computed by the kernel's naive semantics: slow,
// but right.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_MICROKERNELS_SPECIALIZER_H
#define CHIMERA_LIB_CONVERSION_MICROKERNELS_SPECIALIZER_H

#include "Chimera/IR/Chimera.h"

#include "mlir/IR/Builders.h"

namespace chimera {

/// Emits code for known extents, one per dimension, dynamic where any will do.
using EmitForExtents = llvm::function_ref<llvm::LogicalResult(
    mlir::OpBuilder &, llvm::ArrayRef<int64_t>)>;

/// True for dimensions whose extent does not have to be known.
using TakesAnyExtent = llvm::function_ref<bool(unsigned dim)>;

/// Emits code for `op`, by `emit` for every combination of listed extents of
/// dimensions that it does not take as they are, and by `emitOthers` for all
/// others. Dimensions that are open have the largest extent that is listed, all
/// of them, or are dynamic, all of them, if `takesOpen`.
llvm::LogicalResult specialize(mlir::OpBuilder &builder, MicroKernelOp op,
                               TakesAnyExtent takesAny, bool takesOpen,
                               EmitForExtents emit,
                               llvm::function_ref<void()> emitOthers);

/// Emits the naive semantics of `op`: a linalg.generic, after a fill with zero
/// if it overwrites.
void emitNaive(mlir::OpBuilder &builder, MicroKernelOp op);

} // namespace chimera

#endif // CHIMERA_LIB_CONVERSION_MICROKERNELS_SPECIALIZER_H
