//===- EmitFile.h - What --emit writes ------------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_TOOLS_CHIMERA_RUN_EMITFILE_H
#define CHIMERA_TOOLS_CHIMERA_RUN_EMITFILE_H

#include "Options.h"

#include "Chimera/Runner/Compiler.h"

namespace chimera::run {

/// Writes what `options.emit` asks for of `module`, which stays as it is, to
/// where `options` say.
llvm::Error emitFile(const Options &options,
                     runner::CompileOptions compileOptions,
                     mlir::ModuleOp module, runner::CompileListener &listener);

} // namespace chimera::run

#endif // CHIMERA_TOOLS_CHIMERA_RUN_EMITFILE_H
