//===- ProcessorCheck.h - Programs that know their processor ----*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_RUNNER_PROCESSORCHECK_H
#define CHIMERA_LIB_RUNNER_PROCESSORCHECK_H

#include "Chimera/Runner/Compiler.h"

namespace llvm {
class Function;
class MCSubtargetInfo;
class Module;
class TargetMachine;
} // namespace llvm

namespace chimera::runner {

/// The first of the features that code for `wanted` may use and `here` lacks,
/// as LLVM spells it; empty if there is none. Tiles are asked for where
/// `usesTiles`.
llvm::StringRef findLackingFeature(const llvm::MCSubtargetInfo &wanted,
                                   const llvm::MCSubtargetInfo &here,
                                   bool usesTiles);

/// Makes `function` code for any x86-64.
void setBaseline(llvm::Function &function);

/// Lets all functions of `module` that are called from outside, C interfaces
/// and packed wrappers, fail with a message on a processor without what code
/// for `machine` may use. For each of `functions`, `_mlir_packed_<name>_check`
/// does that and nothing else.
void addProcessorCheck(llvm::Module &module, const llvm::TargetMachine &machine,
                       llvm::ArrayRef<Function> functions);

} // namespace chimera::runner

#endif // CHIMERA_LIB_RUNNER_PROCESSORCHECK_H
