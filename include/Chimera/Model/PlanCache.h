//===- PlanCache.h - Plans of problems solved before ------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Networks repeat their layers, and the ways to cut a long chain repeat parts
// of it. Whoever plans many problems on one machine keeps the solutions: of
// problems that are alike, the first is solved.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_MODEL_PLANCACHE_H
#define CHIMERA_MODEL_PLANCACHE_H

#include "Chimera/Model/Algorithms.h"
#include "Chimera/Model/Machine.h"

#include <unordered_map>

namespace chimera::model {

/// What `solve` finds for a problem.
struct Solution {
  std::optional<Plan> best;
  /// Plans of other orders, best first.
  llvm::SmallVector<Plan, 4> runnersUp;
};

/// Solutions on one machine, with the same options. `solve` is deterministic
/// and knows no names, so that a plan does not depend on what else was planned.
class PlanCache {
public:
  PlanCache(const Machine &machine, const SolveOptions &options)
      : machine(machine), options(options) {}

  const Machine &getMachine() const { return machine; }
  const SolveOptions &getOptions() const { return options; }

  /// The solution of `problem`, with as many runners-up as the options ask for
  /// if `withRunnersUp`. Stays valid as long as the cache.
  const Solution &solve(const ChainProblem &problem, bool withRunnersUp);

  /// Problems that were solved, not counting those that were alike.
  size_t size() const { return entries.size(); }

private:
  struct Entry {
    ChainProblem problem;
    bool hasRunnersUp;
    Solution solution;
  };

  Machine machine;
  SolveOptions options;
  /// By a hash of the sizes.
  std::unordered_multimap<size_t, Entry> entries;
};

/// Cuts the chain into kernels such that the predicted time is least.
Verdict judge(const ChainProblem &problem, PlanCache &cache);

} // namespace chimera::model

#endif // CHIMERA_MODEL_PLANCACHE_H
