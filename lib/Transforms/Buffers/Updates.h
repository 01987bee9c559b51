//===- Updates.h - What is an update of what --------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_BUFFERS_UPDATES_H
#define CHIMERA_LIB_TRANSFORMS_BUFFERS_UPDATES_H

#include "mlir/IR/Value.h"

namespace chimera {

/// The operand that `result` is an update of, if its operation says so.
mlir::OpOperand *getUpdated(mlir::OpResult result);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_BUFFERS_UPDATES_H
