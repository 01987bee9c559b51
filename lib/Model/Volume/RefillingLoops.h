//===- RefillingLoops.h - Loops that fill tiles again -----------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiles of factors that a loop chooses are filled ahead, as far as the level
// has copies of them.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_MODEL_VOLUME_REFILLINGLOOPS_H
#define CHIMERA_LIB_MODEL_VOLUME_REFILLINGLOOPS_H

#include "Chimera/Model/Schedule.h"

#include "llvm/ADT/SmallVector.h"

namespace chimera::model {

/// A nest in a task whose loops choose tiles of factors.
struct RefillingLoops {
  /// Operators inside, and one with blocks in every iteration, for which tiles
  /// are filled.
  unsigned firstOperator = 0, lastOperator = 0, reader = 0;
  /// The most iterations from a start to an end.
  int64_t trips = 1;
};

/// Those of `tree`, the loops of `schedule`.
llvm::SmallVector<RefillingLoops, 3>
findRefillingLoops(const ChainProblem &problem, const Schedule &schedule,
                   const LoopNest &tree);

} // namespace chimera::model

#endif // CHIMERA_LIB_MODEL_VOLUME_REFILLINGLOOPS_H
