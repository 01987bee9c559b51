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

/// Who decides whether several processes share the work of a program.
enum class SplitMode { Auto, Always };

/// Whether exchanges between processes overlap with computing.
enum class OverlapMode { Auto, Never, Always };

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "Chimera/Transforms/Passes.h.inc"

/// Lets upstream's partitioning take operations that exported programs have and
/// that it does not know.
void registerShardingInterfaceExternalModels(mlir::DialectRegistry &registry);

} // namespace chimera

#endif // CHIMERA_TRANSFORMS_PASSES_H
