//===- KernelPrefetch.h - What kernels fetch for later ----------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A `chimera.prefetch` names a tile that is read after the kernel behind it.
// The kernel's code asks for a part of it in each of its iterations, a line at
// a time: a burst would fill the queue that its own loads need.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_CONVERSION_KERNELPREFETCH_H
#define CHIMERA_CONVERSION_KERNELPREFETCH_H

#include "Chimera/IR/Chimera.h"

#include "mlir/IR/Builders.h"

namespace chimera {

/// What part of all iterations of a kernel the one at hand is.
struct PrefetchShare {
  /// Tiles, and iterations of each.
  int64_t tiles = 1, iterations = 1;
  /// The numbers of those at hand, of type index.
  mlir::Value tile, iteration;
  /// The loops around these iterations that a reduction has: where they are,
  /// and the most iterations that each has.
  llvm::SmallVector<std::pair<mlir::Value, int64_t>, 2> outer;
  /// Bytes that one prefetch brings.
  int64_t lineBytes = 64;
};

/// Asks for the share of each of `prefetches`.
void emitPrefetches(mlir::OpBuilder &builder, mlir::Location loc,
                    llvm::ArrayRef<PrefetchOp> prefetches,
                    const PrefetchShare &share);

} // namespace chimera

#endif // CHIMERA_CONVERSION_KERNELPREFETCH_H
