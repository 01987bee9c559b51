//===- Passes.h - From linalg to micro kernels ------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_TRANSFORMS_PASSES_H
#define CHIMERA_TRANSFORMS_PASSES_H

#include "Chimera/IR/Chimera.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Pass/Pass.h"

namespace chimera {

/// Who decides whether a chain is fused.
enum class FuseMode { Auto, Never, Always };

/// Where the tiles of a schedule come from.
enum class TileMode { Exact, ClosedForm };

/// How chimera-partition chooses groups.
enum class PartitionSearchKind { Exact, Greedy, Separate };

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "Chimera/Transforms/Passes.h.inc"

} // namespace chimera

#endif // CHIMERA_TRANSFORMS_PASSES_H
