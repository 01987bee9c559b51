//===- Registration.h - Whether the dialect came with its models *- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pass loads the dialects it depends on, but not the models of interfaces and
// the micro kernels that `registerAllDialects` adds to them. A tool that has
// Chimera's passes alone would plan without kernels and fail far from the
// cause.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_IR_REGISTRATION_H
#define CHIMERA_IR_REGISTRATION_H

#include "mlir/IR/Operation.h"
#include "llvm/Support/LogicalResult.h"

namespace chimera {

/// Fails, with an error on `op`, if the context of `op` lacks the models of
/// interfaces of Chimera's dialect.
llvm::LogicalResult verifyRegistration(mlir::Operation *op);

} // namespace chimera

#endif // CHIMERA_IR_REGISTRATION_H
