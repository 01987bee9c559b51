//===- SplitGathers.h - Gathered rows as copies -----------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_BUFFERS_SPLITGATHERS_H
#define CHIMERA_LIB_TRANSFORMS_BUFFERS_SPLITGATHERS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace chimera {

/// The part of `buffer` at `indices` of its first dimensions.
mlir::Value sliceRows(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value buffer, mlir::ValueRange indices);

/// Makes `op` loops over rows, each of which is found and checked once and
/// copied, if it gathers whole rows of a buffer.
void splitGather(mlir::linalg::GenericOp op);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_BUFFERS_SPLITGATHERS_H
