//===- LoopTree.h - Loop trees of a known structure -------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_MODEL_SCHEDULE_LOOPTREE_H
#define CHIMERA_LIB_MODEL_SCHEDULE_LOOPTREE_H

#include "Problem/Structure.h"

namespace chimera::model {

/// The tile of a loop whose tile is not decided yet: it counts as a loop of
/// several trips.
inline constexpr int64_t openTile = 0;

/// `buildLoopTree` for many schedules of one problem.
LoopNest buildLoopTree(const ChainStructure &structure,
                       const Schedule &schedule, unsigned level);

/// `tilesAt` for many schedules of one problem.
llvm::SmallVector<int64_t, 8> tilesAt(const ChainStructure &structure,
                                      const Schedule &schedule, unsigned level,
                                      unsigned op);

/// `findRollingRange` for many schedules of one problem.
std::optional<RollingRange> findRollingRange(const ChainStructure &structure,
                                             const Schedule &schedule,
                                             const LoopNest &tree,
                                             TensorId tensor);

/// The parts that the split loop of `tree` makes; one if there is none.
int64_t countSplitParts(const ChainProblem &problem, const Schedule &schedule,
                        const LoopNest &tree);

/// The number of loops around both operators.
size_t commonDepth(const LoopNest &tree, unsigned op, unsigned other);

} // namespace chimera::model

#endif // CHIMERA_LIB_MODEL_SCHEDULE_LOOPTREE_H
