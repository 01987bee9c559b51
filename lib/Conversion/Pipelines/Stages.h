//===- Stages.h - What the pipelines of back ends share ---------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_PIPELINES_STAGES_H
#define CHIMERA_LIB_CONVERSION_PIPELINES_STAGES_H

#include "Chimera/Transforms/Passes.h"

namespace chimera {

/// Forms chains, plans and tiles them, with a buffer of its own for every
/// tensor.
void addTiling(mlir::OpPassManager &pm, const SchedulePassOptions &schedule);

/// Tensors to memrefs, with `outParams` results in memory that the caller
/// provides.
void addBufferization(mlir::OpPassManager &pm, bool outParams);

} // namespace chimera

#endif // CHIMERA_LIB_CONVERSION_PIPELINES_STAGES_H
