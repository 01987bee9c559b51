//===- DecomposeSoftmax.h - Softmax as generic operations -------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_FORM_DECOMPOSESOFTMAX_H
#define CHIMERA_LIB_TRANSFORMS_FORM_DECOMPOSESOFTMAX_H

#include "mlir/IR/Operation.h"

namespace chimera {

/// Replaces every `linalg.softmax` on tensors inside `root` by
/// `linalg.generic`.
llvm::LogicalResult decomposeSoftmax(mlir::Operation *root);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_FORM_DECOMPOSESOFTMAX_H
