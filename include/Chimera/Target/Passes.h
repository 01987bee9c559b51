//===- Passes.h - Passes about targets --------------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_TARGET_PASSES_H
#define CHIMERA_TARGET_PASSES_H

#include "Chimera/IR/Chimera.h"

#include "mlir/Pass/Pass.h"

namespace chimera {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "Chimera/Target/Passes.h.inc"

} // namespace chimera

#endif // CHIMERA_TARGET_PASSES_H
