//===- Prefetch.h - What the next iteration reads ---------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A copy waits for memory, and the arithmetic waits for the copy. What the next
// iteration copies is known, so the kernels of this one can ask for it: each
// for its share, so that all of it is asked for once and evenly.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_KERNELS_PREFETCH_H
#define CHIMERA_LIB_TRANSFORMS_KERNELS_PREFETCH_H

#include "Chimera/IR/Chimera.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

namespace chimera {

/// Part of what is to be fetched, with the largest extents it can have.
struct Ahead {
  mlir::Value tile;
  llvm::SmallVector<int64_t> bounds;

  explicit operator bool() const { return static_cast<bool>(tile); }
};

/// What `source`, which has at most the extents `bounds`, is cut from, if that
/// has no more: a tile of taps that is smaller at the border of an image. The
/// next iteration of a loop that moves such a tile reads nothing else.
mlir::Value getUncut(mlir::Value source, llvm::ArrayRef<int64_t> bounds);

/// `source`, a slice, as the next iteration of the innermost sequential loop
/// around that changes it cuts it; in the last one as it is. Null if there is
/// none. `bounds` are the largest extents that `source` has.
Ahead findAhead(mlir::OpBuilder &builder, mlir::Value source,
                llvm::ArrayRef<int64_t> bounds);

/// `source`, a slice that changes with the loop variable `iv`, as it is where
/// that is `iteration`. Null if it does not change.
Ahead moveAhead(mlir::OpBuilder &builder, mlir::Value source,
                llvm::ArrayRef<int64_t> bounds, mlir::Value iv,
                mlir::Value iteration);

/// The variable of `loop` in its next iteration, or in this one if it is the
/// last. Of several variables the last one.
mlir::Value getNextIteration(mlir::OpBuilder &builder,
                             mlir::LoopLikeOpInterface loop);

/// Rows that are a word of an interleaved operand are joined with the dimension
/// before, so that lines can be shared out.
Ahead joinShortRows(mlir::OpBuilder &builder, Ahead ahead);

/// Lets `kernel` fetch its share of `ahead`: each iteration of the loops
/// between it and `outside` takes a part. Nothing if one of them is not an
/// scf.for or has no known most iterations.
void letFetch(MicroKernelOp kernel, Ahead ahead, mlir::Operation *outside);

/// Bytes that kernels may ask for of what the next part of a loop reads. Those
/// that are not listed may ask for nothing.
using PartBytes = llvm::DenseMap<mlir::Operation *, int64_t>;

/// Where a loop in `root` has several parts with contractions in its body, one
/// after the other, lets the kernels of each ask for what the next part reads
/// that is new in the loop's iteration; those of the last part for what the
/// first one reads in the next iteration. If that is more than `partBytes` lets
/// one of the kernels ask for, they ask for none of it.
void fetchForNextPart(mlir::Operation *root, const PartBytes &partBytes);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_KERNELS_PREFETCH_H
