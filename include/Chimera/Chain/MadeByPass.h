//===- MadeByPass.h - Tensors that are moved, not computed ------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_CHAIN_MADEBYPASS_H
#define CHIMERA_CHAIN_MADEBYPASS_H

#include "mlir/IR/Value.h"

namespace chimera {

/// True if an operation that is no product writes `value` in every call, or
/// what `value` is a part of.
bool isMadeByPass(mlir::Value value);

} // namespace chimera

#endif // CHIMERA_CHAIN_MADEBYPASS_H
