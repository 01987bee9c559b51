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

#include <functional>
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

  /// Notes that the solution of `problem` will be asked for.
  void expect(const ChainProblem &problem, bool withRunnersUp);

  /// Solves one problem that is expected.
  struct Task {
    unsigned operators;
    std::function<void()> run;
  };

  /// Appends tasks for all that is expected and not solved yet. Several threads
  /// may run them, before anything else is asked of the cache.
  void listExpected(std::vector<Task> &tasks);

  /// Problems that were solved, not counting those that were alike.
  size_t size() const { return entries.size(); }

private:
  struct Entry {
    ChainProblem problem;
    bool hasRunnersUp;
    /// Missing as long as it is only expected.
    std::optional<Solution> solution;
  };

  /// True if what other kernels use between two runs makes no difference
  /// between problems that are alike.
  bool haveSameRoom(const ChainProblem &left, const ChainProblem &right) const;
  Entry &entryOf(const ChainProblem &problem, bool withRunnersUp);
  void complete(Entry &entry) const;

  Machine machine;
  SolveOptions options;
  /// By a hash of the sizes.
  std::unordered_multimap<size_t, Entry> entries;
};

/// Cuts the chain into kernels such that the predicted time is least.
Verdict judge(const ChainProblem &problem, PlanCache &cache);

/// Lets `cache` expect what `judge` will ask for.
void expectParts(const ChainProblem &problem, PlanCache &cache);

} // namespace chimera::model

#endif // CHIMERA_MODEL_PLANCACHE_H
