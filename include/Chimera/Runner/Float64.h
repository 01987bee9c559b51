//===- Float64.h - f32 programs in f64 --------------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The reference for f32 results is the same program in f64.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_RUNNER_FLOAT64_H
#define CHIMERA_RUNNER_FLOAT64_H

#include "mlir/IR/BuiltinOps.h"

namespace chimera::runner {

/// Returns a copy of `module` with every f32, f16 and bf16 turned into f64:
/// types of values, functions and block arguments, and constants, which keep
/// their value. Conversions to f16 and bf16 still round, and nothing else does.
/// Null if the program depends on the width of such a type (it casts its bits,
/// say).
mlir::OwningOpRef<mlir::ModuleOp> convertToFloat64(mlir::ModuleOp module);

/// True if anything in `op` has a type made of `type`.
bool usesType(mlir::Operation *op, mlir::Type type);

} // namespace chimera::runner

#endif // CHIMERA_RUNNER_FLOAT64_H
