//===- SplitLoop.h - One loop as several ------------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_FORM_SPLITLOOP_H
#define CHIMERA_LIB_TRANSFORMS_FORM_SPLITLOOP_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace chimera {

/// Replaces `op` by the same with loop `loop`, over which it sums, as nested
/// loops of `sizes`, whose product the extent is, the outermost first. What it
/// reads along the loop is expanded. Fails if an index is computed from the
/// loop rather than the loop itself, or if the body asks where it is.
mlir::FailureOr<mlir::linalg::GenericOp>
splitLoop(mlir::RewriterBase &rewriter, mlir::linalg::GenericOp op,
          unsigned loop, llvm::ArrayRef<int64_t> sizes);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_FORM_SPLITLOOP_H
