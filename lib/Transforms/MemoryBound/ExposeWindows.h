//===- ExposeWindows.h - Pooling as a reduction -----------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pooling is a reduction of what lies in each window. With a dimension of its
// own for each loop of a window, as `chimera.windows` gives it, it is one for
// everything that knows reductions along rows or columns.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_MEMORYBOUND_EXPOSEWINDOWS_H
#define CHIMERA_LIB_TRANSFORMS_MEMORYBOUND_EXPOSEWINDOWS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace chimera {

/// Replaces `op` by a `linalg.generic` that sees its inputs through windows, if
/// some of these are indexed by sums of loops and it is no product. Inputs that
/// only give a window its size go. Fails, having changed nothing, for
/// everything else.
llvm::LogicalResult exposeWindows(mlir::RewriterBase &rewriter,
                                  mlir::linalg::LinalgOp op);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_MEMORYBOUND_EXPOSEWINDOWS_H
