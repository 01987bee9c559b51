//===- Groups.cpp - Groups of a partition while it is made ----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Searches the graph of groups, which is never written down.
//
//===----------------------------------------------------------------------===//

#include "Graph/Groups.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <cmath>
#include <queue>

using namespace llvm;
using namespace chimera::model;

Groups::Groups(const GraphUses &uses) : uses(&uses) {
  llvm::append_range(leader, seq<OperatorId>(uses.before.size()));
  for (OperatorId op : leader)
    members.push_back({op});
}

GroupMembers Groups::unite(ArrayRef<OperatorId> ops) const {
  GroupMembers united, leaders;
  for (OperatorId op : ops)
    leaders.push_back(leader[op]);
  llvm::sort(leaders);
  leaders.erase(llvm::unique(leaders), leaders.end());
  for (OperatorId group : leaders)
    united.append(members[group]);
  llvm::sort(united);
  return united;
}

bool Groups::makeCycle(ArrayRef<OperatorId> ops) const {
  GroupMembers united = unite(ops);
  std::vector<bool> seen(leader.size());
  std::vector<OperatorId> open;
  // True if `op`, or a group that waits for it, is waited for in turn.
  auto visitReaders = [&](OperatorId op, bool isInside) {
    for (OperatorId reader : uses->after[op]) {
      if (binary_search(united, reader)) {
        if (!isInside)
          return true;
        continue;
      }
      if (seen[leader[reader]])
        continue;
      seen[leader[reader]] = true;
      open.push_back(leader[reader]);
    }
    return false;
  };
  // A way back from the last operator would be a cycle as it is.
  for (OperatorId op : united)
    if (op != united.back() || united.size() > ops.size())
      visitReaders(op, true);
  while (!open.empty()) {
    OperatorId group = open.back();
    open.pop_back();
    for (OperatorId op : members[group])
      if (visitReaders(op, false))
        return true;
  }
  return false;
}

void Groups::merge(ArrayRef<OperatorId> ops) {
  GroupMembers united = unite(ops);
  for (OperatorId op : united) {
    members[op].clear();
    leader[op] = united.front();
  }
  members[united.front()] = std::move(united);
}

std::vector<unsigned> Groups::number() const {
  std::vector<unsigned> numbers(leader.size());
  unsigned numGroups = 0;
  for (auto [op, group] : enumerate(leader))
    numbers[op] = group == op ? numGroups++ : numbers[group];
  return numbers;
}

/// The groups' first operators, each behind those that its group waits for.
std::vector<OperatorId> Groups::sort() const {
  std::vector<unsigned> numAwaited(leader.size());
  for (OperatorId op : seq<OperatorId>(leader.size()))
    for (OperatorId producer : uses->before[op])
      numAwaited[leader[op]] += leader[producer] != leader[op];
  std::priority_queue<OperatorId, std::vector<OperatorId>, std::greater<>>
      ready;
  for (OperatorId op : seq<OperatorId>(leader.size()))
    if (leader[op] == op && numAwaited[op] == 0)
      ready.push(op);
  std::vector<OperatorId> sorted;
  while (!ready.empty()) {
    OperatorId group = ready.top();
    ready.pop();
    sorted.push_back(group);
    for (OperatorId op : members[group])
      for (OperatorId reader : uses->after[op])
        if (leader[reader] != group && --numAwaited[leader[reader]] == 0)
          ready.push(leader[reader]);
  }
  return sorted;
}

std::vector<unsigned> Groups::numberInOrder() const {
  std::vector<unsigned> numbers(leader.size());
  for (auto [number, group] : enumerate(sort()))
    for (OperatorId op : members[group])
      numbers[op] = number;
  return numbers;
}

Partition Groups::price(GroupPricer &pricer) const {
  Partition partition;
  auto add = [&](GroupMembers group, double seconds) {
    partition.groups.push_back(std::move(group));
    partition.seconds += seconds;
  };
  auto ask = [&](ArrayRef<OperatorId> group) {
    ++partition.numCosts;
    return pricer.cost(group);
  };
  for (OperatorId group : sort()) {
    double seconds = ask(members[group]);
    if (std::isfinite(seconds) || members[group].size() == 1) {
      add(members[group], seconds);
      continue;
    }
    for (OperatorId op : members[group])
      add({op}, ask(op));
  }
  return partition;
}
