//===- BufferScope.h - Where buffers are created ----------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_TRANSFORMS_BUFFERSCOPE_H
#define CHIMERA_TRANSFORMS_BUFFERSCOPE_H

namespace mlir {
class Block;
class Operation;
} // namespace mlir

namespace chimera {

/// The block at whose start a buffer for `op` and what runs inside it is to be
/// created: the body of the closest parallel loop, since threads must not share
/// it, or of the function, so that sequential loops do not create it again.
/// `op` itself may be that loop or function.
mlir::Block *getBufferScope(mlir::Operation *op);

} // namespace chimera

#endif // CHIMERA_TRANSFORMS_BUFFERSCOPE_H
