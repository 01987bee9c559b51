//===- ProcessSession.h - One function run by processes ---------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every process makes its parts of the arguments, and gets the parts of all
// results. What several processes have of a result has to be the same bits; the
// first process compares the whole with the reference of the program that was
// not cut, for which it makes the whole arguments.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_TOOLS_CHIMERA_RUN_PROCESSSESSION_H
#define CHIMERA_TOOLS_CHIMERA_RUN_PROCESSSESSION_H

#include "Options.h"

#include "Chimera/Target/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace chimera::run {

/// Threads of each process: those that are asked for, else its share of the
/// target's cores.
int64_t getThreadsOfProcess(const Options &options, TargetAttrInterface target);

/// Compiles `module` for this process, one of `options.processes` that MPI has
/// started, runs its functions `entries` one after the other, checks and times
/// them.
llvm::Error runAsProcess(const Options &options, mlir::ModuleOp module,
                         llvm::ArrayRef<mlir::func::FuncOp> entries,
                         TargetAttrInterface target);

} // namespace chimera::run

#endif // CHIMERA_TOOLS_CHIMERA_RUN_PROCESSSESSION_H
