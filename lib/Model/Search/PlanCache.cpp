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

#include "Cost/CostModel.h"

#include "llvm/ADT/Hashing.h"

using namespace llvm;
using namespace chimera::model;

static size_t hashSizes(const ChainProblem &problem) {
  hash_code hash =
      hash_combine(problem.operators.size(), problem.tensors.size());
  for (const Loop &loop : problem.loops)
    hash = hash_combine(hash, loop.extent);
  return hash;
}

bool PlanCache::haveSameRoom(const ChainProblem &left,
                             const ChainProblem &right) const {
  if (left.otherBytes == right.otherBytes)
    return true;
  // What parts of the problem, and blocks of these, may add at most.
  double own = 0;
  for (const auto &[id, tensor] : enumerate(left.tensors))
    own += 2.0 * left.sizeOf(id) * tensor.elementBytes;
  return all_of(machine.levels, [&](const MemoryLevel &level) {
    auto isNothing = [&](const ChainProblem &problem) {
      return keepsAll(level, problem.otherBytes + own);
    };
    auto isTooMuch = [&](const ChainProblem &problem) {
      return problem.otherBytes > level.usableBytes();
    };
    return (isNothing(left) && isNothing(right)) ||
           (isTooMuch(left) && isTooMuch(right));
  });
}

PlanCache::Entry &PlanCache::entryOf(const ChainProblem &problem,
                                     bool withRunnersUp) {
  withRunnersUp &= options.runnersUp > 0;
  size_t hash = hashSizes(problem);
  auto [begin, end] = entries.equal_range(hash);
  for (auto known = begin; known != end; ++known) {
    Entry &entry = known->second;
    // Whoever finds other orders finds the same best plan.
    bool isEnough =
        entry.hasRunnersUp || !withRunnersUp || !entry.solution.has_value();
    if (!isEnough || !haveSameRoom(entry.problem, problem) ||
        !areAlike(entry.problem, problem))
      continue;
    entry.hasRunnersUp |= withRunnersUp;
    return entry;
  }
  return entries.emplace(hash, Entry{problem, withRunnersUp, std::nullopt})
      ->second;
}

void PlanCache::complete(Entry &entry) const {
  if (entry.solution)
    return;
  Solution &solution = entry.solution.emplace();
  solution.best =
      model::solve(entry.problem, machine, options,
                   entry.hasRunnersUp ? &solution.runnersUp : nullptr);
}

const Solution &PlanCache::solve(const ChainProblem &problem,
                                 bool withRunnersUp) {
  Entry &entry = entryOf(problem, withRunnersUp);
  complete(entry);
  return *entry.solution;
}

void PlanCache::expect(const ChainProblem &problem, bool withRunnersUp) {
  entryOf(problem, withRunnersUp);
}

void PlanCache::listExpected(std::vector<Task> &tasks) {
  for (auto &[hash, entry] : entries)
    if (!entry.solution)
      tasks.push_back({static_cast<unsigned>(entry.problem.operators.size()),
                       [this, expected = &entry] { complete(*expected); }});
}
