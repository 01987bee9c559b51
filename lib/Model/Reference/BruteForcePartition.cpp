//===- BruteForcePartition.cpp - All partitions of a small graph ----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tries every partition, knows nothing of ideals, and shares no code with the
// search that it is there to check.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/Partition.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>
#include <map>

using namespace llvm;
using namespace chimera::model;

namespace {

class BruteForce {
public:
  BruteForce(const OperatorGraph &graph, GroupPricer &pricer,
             const PartitionLimits &limits, std::vector<double> *all)
      : graph(graph), pricer(pricer), limits(limits), all(all), uses(graph) {
    best.seconds = std::numeric_limits<double>::infinity();
  }

  Partition run() {
    assign(0);
    best.isProved = true;
    best.leastSeconds = best.seconds;
    return best;
  }

private:
  void assign(OperatorId op);
  void evaluate();
  double price(const GroupMembers &members);
  bool areAdjacent(OperatorId first, OperatorId second) const;
  bool isConnected(const GroupMembers &members) const;
  bool sortGroups(SmallVectorImpl<GroupMembers> &sorted) const;

  const OperatorGraph &graph;
  GroupPricer &pricer;
  const PartitionLimits &limits;
  std::vector<double> *all;
  GraphUses uses;
  SmallVector<GroupMembers, 0> groups;
  std::map<std::vector<OperatorId>, double> prices;
  Partition best;
};

} // namespace

bool BruteForce::areAdjacent(OperatorId first, OperatorId second) const {
  if (is_contained(uses.after[first], second) ||
      is_contained(uses.after[second], first))
    return true;
  return any_of(enumerate(uses.readers), [&](auto entry) {
    return graph.tensors[entry.index()].bytes() >= limits.sharedBytes &&
           is_contained(entry.value(), first) &&
           is_contained(entry.value(), second);
  });
}

bool BruteForce::isConnected(const GroupMembers &members) const {
  GroupMembers found{members.front()};
  for (size_t i = 0; i < found.size(); ++i)
    for (OperatorId other : members)
      if (!is_contained(found, other) && areAdjacent(found[i], other))
        found.push_back(other);
  return found.size() == members.size();
}

/// The cost of a group, infinite if it is none.
double BruteForce::price(const GroupMembers &members) {
  auto [known, isNew] = prices.try_emplace(
      std::vector<OperatorId>(members.begin(), members.end()),
      std::numeric_limits<double>::infinity());
  if (isNew && (members.size() == 1 ||
                (isConnected(members) && pricer.isLegal(members))))
    known->second = pricer.cost(members);
  return known->second;
}

/// Puts the groups into an order in which they can run. False if there is none.
bool BruteForce::sortGroups(SmallVectorImpl<GroupMembers> &sorted) const {
  SmallVector<bool> hasRun(graph.operators.size());
  SmallVector<const GroupMembers *> waiting;
  for (const GroupMembers &group : groups)
    waiting.push_back(&group);
  while (!waiting.empty()) {
    auto *ready = find_if(waiting, [&](const GroupMembers *group) {
      return all_of(*group, [&](OperatorId op) {
        return all_of(uses.before[op], [&](OperatorId producer) {
          return hasRun[producer] || is_contained(*group, producer);
        });
      });
    });
    if (ready == waiting.end())
      return false;
    for (OperatorId op : **ready)
      hasRun[op] = true;
    sorted.push_back(**ready);
    waiting.erase(ready);
  }
  return true;
}

void BruteForce::evaluate() {
  double seconds = 0;
  for (const GroupMembers &group : groups)
    seconds += price(group);
  SmallVector<GroupMembers, 0> sorted;
  bool isWanted = all ? std::isfinite(seconds) : seconds < best.seconds;
  if (!isWanted || !sortGroups(sorted))
    return;
  if (all)
    all->push_back(seconds);
  if (seconds >= best.seconds)
    return;
  best.seconds = seconds;
  best.groups = std::move(sorted);
}

/// Tries `op` and those behind it in each group there is and in new ones.
void BruteForce::assign(OperatorId op) {
  if (op == graph.operators.size())
    return evaluate();
  for (size_t i = 0, size = groups.size(); i < size; ++i) {
    groups[i].push_back(op);
    assign(op + 1);
    groups[i].pop_back();
  }
  groups.push_back({op});
  assign(op + 1);
  groups.pop_back();
}

Partition chimera::model::bruteForcePartition(const OperatorGraph &graph,
                                              GroupPricer &pricer,
                                              const PartitionLimits &limits,
                                              std::vector<double> *all) {
  return BruteForce(graph, pricer, limits, all).run();
}
