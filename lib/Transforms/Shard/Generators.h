//===- Generators.h - What is made of nothing -------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_SHARD_GENERATORS_H
#define CHIMERA_LIB_TRANSFORMS_SHARD_GENERATORS_H

#include "mlir/IR/Operation.h"

namespace chimera {

/// True if `op` makes a tensor that every process can have any part of: one
/// without contents, of a single number, or a constant.
bool isGenerator(mlir::Operation *op);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_SHARD_GENERATORS_H
