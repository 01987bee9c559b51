//===- NarrowChains.h - Chains for matrix units -----------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the pipelines of machines with matrix units start with.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_REGISTRATION_NARROWCHAINS_H
#define CHIMERA_LIB_REGISTRATION_NARROWCHAINS_H

#include "Chimera/Transforms/Passes.h"

namespace chimera {

/// Forms chains, of narrow operands too, plans and tiles them, with a buffer of
/// its own for every tensor.
void addNarrowTiling(mlir::OpPassManager &pm,
                     const SchedulePassOptions &schedule);

} // namespace chimera

#endif // CHIMERA_LIB_REGISTRATION_NARROWCHAINS_H
