//===- SplitModule.h - Modules that are compiled at the same time -*- C++ -*-=//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM compiles a module on one thread. The functions of a program that cannot
// be copied into one another, which are its kernels, are as well compiled in
// modules of their own.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_RUNNER_SPLITMODULE_H
#define CHIMERA_LIB_RUNNER_SPLITMODULE_H

#include "llvm/IR/Module.h"

#include <memory>
#include <vector>

namespace chimera::runner {

/// Moves functions out of `module` into new modules of the same context. How
/// many there are, and which function is in which, depends on `module` alone.
/// What one module uses of another becomes a hidden symbol; linked together,
/// they are the program that `module` was.
std::vector<std::unique_ptr<llvm::Module>> splitModule(llvm::Module &module);

} // namespace chimera::runner

#endif // CHIMERA_LIB_RUNNER_SPLITMODULE_H
