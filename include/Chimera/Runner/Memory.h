//===- Memory.h - How much memory there is ----------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program that needs more memory than there is should be refused before it
// runs: later the system kills the process without a word.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_RUNNER_MEMORY_H
#define CHIMERA_RUNNER_MEMORY_H

#include "llvm/ADT/StringRef.h"

namespace chimera::runner {

/// Bytes this process can still be given: the least of what the machine has
/// left and what each control group of the process, such as a container's, has
/// left. Infinite if the system does not say. Its files are read under `root`.
double getAvailableBytes(llvm::StringRef root = "/");

} // namespace chimera::runner

#endif // CHIMERA_RUNNER_MEMORY_H
