//===- Tile.h - Which part of which tensor a kernel sees --------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Micro kernels work on memrefs, which are parts of others. Here they are
// traced to where they come from: an argument of the kernel, which is in GM, or
// a buffer of the schedule, which is to become tiles on chip. Windows show
// their pixels oftener than these are there: their dimensions are those of the
// view.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_TILE_H
#define CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_TILE_H

#include "Code.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace chimera::ascend {

/// A part of `root`: for each of the root's dimensions where it starts, how
/// many elements it takes, and whether the part still has the dimension. A root
/// of one dimension is a matrix of one row, whose dimension no part has.
struct TileRef {
  mlir::Value root;
  llvm::SmallVector<int64_t> shape;
  /// Elements from one index to the next, of each dimension.
  llvm::SmallVector<int64_t> strides;
  llvm::SmallVector<mlir::OpFoldResult> offsets, sizes;
  /// The root's dimension that each of the part's dimensions is.
  llvm::SmallVector<unsigned> dims;
  /// True if it is of windows over the root, or of what they show of another
  /// layout than row-major.
  bool showsWindows = false;

  bool isOnChip() const {
    return root.getDefiningOp<mlir::memref::AllocOp>() != nullptr;
  }
  mlir::MemRefType getRootType() const {
    return llvm::cast<mlir::MemRefType>(root.getType());
  }
};

/// The part that `memref` is. Fails if it is cut with strides or reshaped. A
/// root on chip is row-major, but windows may be in between; one in memory may
/// itself be a view of windows.
llvm::FailureOr<TileRef> traceTile(Code &code, mlir::Value memref);

/// The memory that `memref` is a part of.
mlir::Value getWhole(mlir::Value memref);

/// The element of the root at which `tile` starts.
mlir::Value getLinearOffset(Code &code, const TileRef &tile);

/// Elements from one index of the root's dimension `dim` to the next.
int64_t getStride(const TileRef &tile, unsigned dim);

} // namespace chimera::ascend

#endif // CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_TILE_H
