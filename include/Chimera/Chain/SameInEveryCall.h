//===- SameInEveryCall.h - What is the same in every call -------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A value is the same in every call of a function if it is computed from
// constants and from arguments marked `chimera.constant` alone.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_CHAIN_SAMEINEVERYCALL_H
#define CHIMERA_CHAIN_SAMEINEVERYCALL_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SetVector.h"

namespace chimera {

/// The operations that compute `value`, operands first. Fails if `value` is not
/// the same in every call, or not computed at the top of its function.
llvm::FailureOr<llvm::SetVector<mlir::Operation *>>
findConstantComputation(mlir::Value value);

/// The arguments that `operations` read, each once, in that order.
llvm::SmallVector<mlir::BlockArgument>
findArguments(const llvm::SetVector<mlir::Operation *> &operations);

/// The arguments of its function that `value` is or is computed from, if it is
/// the same in every call; else none.
llvm::SmallVector<mlir::BlockArgument> findConstantArguments(mlir::Value value);

inline bool isSameInEveryCall(mlir::Value value) {
  return llvm::succeeded(findConstantComputation(value));
}

} // namespace chimera

#endif // CHIMERA_CHAIN_SAMEINEVERYCALL_H
