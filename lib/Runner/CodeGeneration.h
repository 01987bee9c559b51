//===- CodeGeneration.h - From the LLVM dialect to LLVM IR --*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_RUNNER_CODEGENERATION_H
#define CHIMERA_LIB_RUNNER_CODEGENERATION_H

#include "Chimera/Runner/Compiler.h"

namespace chimera::runner {

/// Optimised LLVM IR of `module`, which is in the LLVM dialect, for `machine`.
/// The functions of `interface` get the form in which programs call them.
llvm::Expected<LoweredModule>
generateLLVM(mlir::ModuleOp module, ModuleInterface interface,
             std::unique_ptr<llvm::TargetMachine> machine,
             const CompileOptions &options);

} // namespace chimera::runner

#endif // CHIMERA_LIB_RUNNER_CODEGENERATION_H
