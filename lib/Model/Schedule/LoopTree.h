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

/// The loops around an operator.
struct Path {
  struct Step {
    LoopId loop = 0;
    int64_t tile = 1;
    /// The operators that the loop goes around.
    Group group;
    /// True for the last loop of its nest: inside, operators part.
    bool endsNest = false;
  };
  unsigned op = 0;
  llvm::SmallVector<Step, 12> steps;

  Path(const LoopNest &tree, unsigned op);
  Path() = default;

  /// Number of the loops that go around all of `operators`.
  unsigned commonDepth(OperatorSet operators) const;
};

/// A loop tree and what follows from it.
struct KnownTree {
  /// The loops of the schedule that it is made of.
  llvm::SmallVector<std::pair<TiledLoop, unsigned>, 16> entries;
  LoopNest nest;
  /// The loops around each operator, and the most iterations that are left of
  /// each loop at its blocks.
  std::vector<Path> paths;
  std::vector<llvm::SmallVector<int64_t, 16>> leaves;
};

/// The tree of `schedule` down to level `level`. Candidates in a row have most
/// of their levels in common, and each is looked at from many sides, so the
/// latest trees are kept.
std::shared_ptr<const KnownTree> findTree(const ChainStructure &structure,
                                          const Schedule &schedule,
                                          unsigned level);

/// `buildLoopTree` for many schedules of one problem, each looked at once.
LoopNest buildLoopTree(const ChainStructure &structure,
                       const Schedule &schedule, unsigned level);

/// The loops of code (see `leaveLoopsToKernels`).
LoopNest treeOfCode(const ChainStructure &structure, const Schedule &schedule);

/// True if operator `op` has the loops that Schedule::held asks for.
bool canHold(const ChainStructure &structure, const Schedule &schedule,
             unsigned op);

/// `addsUpInOrder` for many schedules of one problem.
bool addsUpInOrder(const ChainStructure &structure, const Schedule &schedule);

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
