//===- Machines.h - LLVM targets for Chimera targets ------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_RUNNER_MACHINES_H
#define CHIMERA_LIB_RUNNER_MACHINES_H

#include "Chimera/Runner/Compiler.h"

namespace chimera::runner {

/// The code generator for `options`: the target's for compiled programs, this
/// machine's for references.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(mlir::ModuleOp module, const CompileOptions &options);

} // namespace chimera::runner

#endif // CHIMERA_LIB_RUNNER_MACHINES_H
