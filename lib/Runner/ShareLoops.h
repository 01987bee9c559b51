//===- ShareLoops.h - What each thread has of a parallel loop ---*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_RUNNER_SHARELOOPS_H
#define CHIMERA_LIB_RUNNER_SHARELOOPS_H

namespace llvm {
class Module;
} // namespace llvm

namespace chimera::runner {

/// Lets threads find their shares of parallel loops by themselves, unless the
/// host has a runtime of ours (runtime/chimera_runtime.h), which is asked as
/// before.
void shareLoops(llvm::Module &module);

} // namespace chimera::runner

#endif // CHIMERA_LIB_RUNNER_SHARELOOPS_H
