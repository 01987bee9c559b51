//===- SharePrepared.h - Prepared values in a host's memory -----*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_RUNNER_SHAREPREPARED_H
#define CHIMERA_LIB_RUNNER_SHAREPREPARED_H

#include "Chimera/Runner/Compiler.h"

#include "mlir/IR/BuiltinOps.h"

namespace llvm {
class Module;
} // namespace llvm

namespace chimera::runner {

/// Reads from `module`, which is in the LLVM dialect, what the preparations of
/// `functions` compute (`chimera.prepared`).
void readPrepared(mlir::ModuleOp module,
                  llvm::MutableArrayRef<Function> functions);

/// Lets the code find the prepared values of `function` through the addresses
/// in `<name>_prepared_memory`, which are those of the program's own memory at
/// first, and notes how many bytes they take. Fails if one is no global.
llvm::Error movePrepared(llvm::Module &module, Function &function);

} // namespace chimera::runner

#endif // CHIMERA_LIB_RUNNER_SHAREPREPARED_H
