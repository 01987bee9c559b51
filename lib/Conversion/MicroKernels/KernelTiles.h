//===- KernelTiles.h - Blocks cut into a kernel's tiles ---------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel with tiles of one size computes the part of a block that consists of
// whole tiles. What is left at the edges becomes micro kernels of other
// implementations.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_MICROKERNELS_KERNELTILES_H
#define CHIMERA_LIB_CONVERSION_MICROKERNELS_KERNELTILES_H

#include "Chimera/IR/Chimera.h"

#include "mlir/IR/PatternMatch.h"

namespace chimera {

/// Emits `op`, whose extents are `extents`, in tiles of `tile` (dynamic for
/// dimensions that are not cut) by `kernel`. Appends the micro kernels of the
/// edges to `edges`; their implementation is what `op` has as `otherwise`.
llvm::LogicalResult emitInTiles(mlir::RewriterBase &rewriter, MicroKernelOp op,
                                MicroKernelAttrInterface kernel,
                                llvm::ArrayRef<int64_t> tile,
                                llvm::ArrayRef<int64_t> extents,
                                llvm::ArrayRef<PrefetchOp> prefetches,
                                llvm::SmallVectorImpl<MicroKernelOp> &edges);

} // namespace chimera

#endif // CHIMERA_LIB_CONVERSION_MICROKERNELS_KERNELTILES_H
