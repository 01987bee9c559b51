//===- MemoryGroups.h - The groups of a program -----------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_MEMORYGROUPS_H
#define CHIMERA_LIB_CONVERSION_MEMORYGROUPS_H

#include "Chimera/IR/Chimera.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/BuiltinOps.h"

namespace chimera {

using MemoryOps = llvm::SmallVector<mlir::linalg::LinalgOp>;

/// The operations that `chimera.group` puts into one group each and that wait
/// for memory, in order.
llvm::SmallVector<MemoryOps> collectMemoryGroups(mlir::ModuleOp module);

/// Moves what depends on a member and stands between members behind the last.
/// Fails if something has effects that this would change.
llvm::LogicalResult closeRanks(llvm::ArrayRef<mlir::linalg::LinalgOp> members);

/// What the group's last operation has as #chimera.thread_tiling, if anything.
ThreadTilingAttr getThreadTiling(mlir::Operation *op);

} // namespace chimera

#endif // CHIMERA_LIB_CONVERSION_MEMORYGROUPS_H
