//===- Surroundings.h - What makes and reads tensors of chains --*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_CHAIN_SURROUNDINGS_H
#define CHIMERA_CHAIN_SURROUNDINGS_H

#include "Chimera/IR/Chimera.h"

#include "mlir/IR/Value.h"

namespace chimera {

/// True if an operation that is no product writes `value` in every call, or
/// what `value` is a part of.
bool isMadeByPass(mlir::Value value);

/// True if `value` lies in a buffer that only kernels of the function write and
/// read: rows of any distance are right for them.
bool liesBetweenKernels(mlir::Value value);
/// The same of the result of `chain` that its body yields as `yielded`.
bool liesBetweenKernels(ChainOp chain, mlir::Value yielded);

} // namespace chimera

#endif // CHIMERA_CHAIN_SURROUNDINGS_H
