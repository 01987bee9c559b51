//===- EmulatedTiles.h - What the instructions of AMX do --------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_RUNNER_EMULATEDTILES_H
#define CHIMERA_LIB_RUNNER_EMULATEDTILES_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

namespace chimera::runner {

/// Calls `define` with the name and the address of each function that
/// `chimera-emulate-tiles` lets programs call.
void forEachEmulatedTileFunction(
    llvm::function_ref<void(llvm::StringRef, void *)> define);

} // namespace chimera::runner

#endif // CHIMERA_LIB_RUNNER_EMULATEDTILES_H
