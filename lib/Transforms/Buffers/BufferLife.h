//===- BufferLife.h - From where to where a buffer is used ------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_BUFFERS_BUFFERLIFE_H
#define CHIMERA_LIB_TRANSFORMS_BUFFERS_BUFFERLIFE_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace chimera {

/// A buffer of static shape that one block creates and frees.
struct BufferLife {
  mlir::memref::AllocOp alloc;
  mlir::memref::DeallocOp dealloc;
  /// The operation of the block that uses it last, itself or in a region.
  mlir::Operation *last = nullptr;
};

/// The life of `alloc`. Nothing if its end is not known: it is not freed in its
/// block, or something else may refer to it.
std::optional<BufferLife> findLife(mlir::memref::AllocOp alloc);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_BUFFERS_BUFFERLIFE_H
