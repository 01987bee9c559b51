//===- Compiling.h - What all runs compile with -----------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_TOOLS_CHIMERA_RUN_COMPILING_H
#define CHIMERA_TOOLS_CHIMERA_RUN_COMPILING_H

#include "Options.h"

#include "Chimera/Runner/Compiler.h"
#include "Chimera/Runner/Remarks.h"

namespace chimera::run {

runner::CompileOptions getCompileOptions(const Options &options);

/// Refuses programs that would not fit before anything is allocated.
llvm::Error checkMemory(mlir::func::FuncOp function, const Options &options);

/// Makes the program of one of `options.processes` of `module`, which the front
/// end has been through: of `process`, or if that is negative, of any.
llvm::Error cutProgram(mlir::ModuleOp module, const Options &options,
                       int64_t threads, int64_t process);

/// A compiled program with what is known from compiling it.
struct Compiled {
  std::unique_ptr<runner::Program> program;
  double seconds = 0, objectSeconds = 0;
  /// What the compiler said about its decisions.
  std::vector<runner::Remark> remarks;
};

/// What was not taken is always shown, the rest if it is asked for.
std::vector<runner::Remark> selectRemarks(std::vector<runner::Remark> remarks,
                                          const Options &options);

/// Compiles, with the listener of `options` hearing of it.
llvm::Expected<Compiled> compileTimed(mlir::ModuleOp module,
                                      const runner::CompileOptions &options);

} // namespace chimera::run

#endif // CHIMERA_TOOLS_CHIMERA_RUN_COMPILING_H
