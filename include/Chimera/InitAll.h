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

/// The dialect with its interfaces, and the upstream dialects and interfaces
/// that Chimera's passes and pipelines need. Enough for a program that embeds
/// Chimera; chimera-opt registers all of upstream besides.
void registerAllDialects(mlir::DialectRegistry &registry);

/// All passes and pipelines, by name.
void registerAllPasses();

} // namespace chimera

#endif // CHIMERA_INITALL_H
