//===- InitAll.h - Register everything --------------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_INITALL_H
#define CHIMERA_INITALL_H

#include "mlir/IR/DialectRegistry.h"

namespace chimera {

/// Chimera's back ends, behind those that a program has registered. The
/// functions below call it.
void registerAllBackEnds();

/// The dialect with its interfaces, the upstream dialects and interfaces that
/// Chimera's passes and pipelines need, and what the back ends bring that are
/// registered by now. Enough for a program that embeds
/// Chimera; chimera-opt registers all of upstream besides.
void registerAllDialects(mlir::DialectRegistry &registry);

/// All passes and pipelines, by name.
void registerAllPasses();

} // namespace chimera

#endif // CHIMERA_INITALL_H
