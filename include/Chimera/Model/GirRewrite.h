//===- GirRewrite.h - Rules that rewrite a Gir ------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators that were expanded one by one store what they make and load it
// again behind a sync. The rules of PowerFusion take away what is not needed:
// syncs where nobody waits for anybody else, moves there and back, and the
// arithmetic between them.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_MODEL_GIRREWRITE_H
#define CHIMERA_MODEL_GIRREWRITE_H

#include "Chimera/Model/Gir.h"

namespace chimera::model {

enum class GirRule {
  // Sync insertion: what is exchanged takes place in the narrowest scope.
  /// A sync has no wider a scope than what it passes on; with that of a lane it
  /// vanishes.
  Narrow,
  /// Stages with the same tasks and no sync between them are one.
  Join,
  /// A tensor that only units or blocks exchange lies at the innermost level.
  Raise,

  // Merging: two moves become one or none.
  /// What a task has stored it need not load.
  Forward,
  /// What was loaded twice is loaded once.
  Share,
  /// What nobody loads is not stored.
  Drop,
  /// What was copied from a tensor to another is loaded from the first.
  Skip,
  /// What is turned twice is as it was.
  Unturn,

  // Swapping: arithmetic comes after moves.
  /// Past a store and the load behind it.
  SwapMove,
  /// Past a broadcast: there is more of it then.
  SwapBroadcast,
  /// Past a sync that turns runs into columns.
  SwapTurn,
  /// Past a maximum, if it is monotone.
  SwapReduce,
};

/// The sync insertion, merging and swapping of the paper.
enum class GirRuleKind { Insertion, Merging, Swapping };
GirRuleKind kindOf(GirRule rule);
llvm::StringRef describe(GirRule rule);

/// A rule and where it applies.
struct GirStep {
  GirRule rule = GirRule::Narrow;
  unsigned stage = 0;
  /// Nodes of the stage; `other` may be one of `otherStage`.
  size_t node = 0, other = 0;
  unsigned otherStage = 0;
};

/// All places at which rules apply.
std::vector<GirStep> findSteps(const Gir &gir);

/// The graph after a step, with homes for its values on `machine`, if there is
/// room.
std::optional<Gir> applyStep(const Gir &gir, const GirStep &step,
                             const Machine &machine);

/// What every step makes smaller, in lexicographic order, so that they end:
/// moves from and to memory, all moves, syncs that turn, stages, the scopes of
/// syncs, and how many nodes follow arithmetic.
llvm::SmallVector<int64_t, 6> measureOf(const Gir &gir);

/// The paper's Algorithm 1: inserts, swaps and merges until nothing can be
/// merged. A step is taken only if the graph does not get slower, a swap only
/// if with what it lets merge it gets faster.
Gir rewriteGir(Gir gir, const Machine &machine);

} // namespace chimera::model

#endif // CHIMERA_MODEL_GIRREWRITE_H
