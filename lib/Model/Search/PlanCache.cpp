//===- PlanCache.cpp - Plans of problems solved before --------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Problems are compared as a whole; the hash only has to tell most of them
// apart.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/PlanCache.h"

#include "llvm/ADT/Hashing.h"

using namespace llvm;
using namespace chimera::model;

static size_t hashSizes(const ChainProblem &problem) {
  hash_code hash = hash_combine(problem.operators.size(),
                                problem.tensors.size(), problem.otherBytes);
  for (const Loop &loop : problem.loops)
    hash = hash_combine(hash, loop.extent);
  return hash;
}

const Solution &PlanCache::solve(const ChainProblem &problem,
                                 bool withRunnersUp) {
  withRunnersUp &= options.runnersUp > 0;
  size_t hash = hashSizes(problem);
  auto [begin, end] = entries.equal_range(hash);
  for (auto known = begin; known != end; ++known) {
    const Entry &entry = known->second;
    if (entry.hasRunnersUp == withRunnersUp &&
        entry.problem.otherBytes == problem.otherBytes &&
        areAlike(entry.problem, problem))
      return entry.solution;
  }
  Entry entry{problem, withRunnersUp, {}};
  entry.solution.best =
      model::solve(problem, machine, options,
                   withRunnersUp ? &entry.solution.runnersUp : nullptr);
  return entries.emplace(hash, std::move(entry))->second.solution;
}
