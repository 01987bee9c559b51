//===- IdealSearch.cpp - Ideals and what extends them ---------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Groups grow from one operator along dependences and shared tensors. What is
// added brings along the producers that the ideal lacks, so each step leads to
// a set that can run next, and every such set is reached.
//
//===----------------------------------------------------------------------===//

#include "Graph/IdealSearch.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace chimera::model;

Ideal Ideal::extendedBy(ArrayRef<OperatorId> members) const {
  Ideal extended;
  std::merge(others.begin(), others.end(), members.begin(), members.end(),
             std::back_inserter(extended.others));
  extended.firstMissing = firstMissing;
  auto *end = extended.others.begin();
  while (end != extended.others.end() && *end == extended.firstMissing)
    ++end, ++extended.firstMissing;
  extended.others.erase(extended.others.begin(), end);
  return extended;
}

//===----------------------------------------------------------------------===//
// Neighbourhood
//===----------------------------------------------------------------------===//

Neighbourhood::Neighbourhood(const OperatorGraph &graph, GroupPricer &pricer,
                             const PartitionLimits &limits)
    : pricer(pricer), uses(graph), sharersOf(graph.operators.size()),
      ancestors(graph.operators.size()), reached(graph.operators.size()) {
  for (auto [tensor, readers] : enumerate(uses.readers)) {
    if (graph.tensors[tensor].bytes() < limits.sharedBytes)
      continue;
    for (OperatorId reader : readers)
      for (OperatorId other : readers)
        if (other != reader)
          sharersOf[reader].push_back(other);
  }
  for (GroupMembers &sharers : sharersOf) {
    llvm::sort(sharers);
    sharers.erase(llvm::unique(sharers), sharers.end());
  }
  for (OperatorId op = 0; op < size(); ++op) {
    ancestors[op].resize(size());
    for (OperatorId producer : before(op)) {
      ancestors[op] |= ancestors[producer];
      ancestors[op].set(producer);
    }
  }
}

/// Both operators and all on paths between them.
GroupMembers Neighbourhood::getHull(OperatorId first, OperatorId second) const {
  auto [low, high] = std::minmax(first, second);
  GroupMembers hull{low};
  if (precedes(low, high))
    for (OperatorId op = low + 1; op < high; ++op)
      if (precedes(low, op) && precedes(op, high))
        hull.push_back(op);
  hull.push_back(high);
  return hull;
}

ArrayRef<OperatorId> Neighbourhood::reach(OperatorId op) {
  if (reached[op])
    return *reached[op];
  GroupMembers found{op};
  SmallDenseSet<OperatorId, 32> seen{op};
  for (size_t i = 0; i < found.size(); ++i) {
    OperatorId from = found[i];
    for (ArrayRef<OperatorId> next : {before(from), after(from), sharers(from)})
      for (OperatorId other : next)
        if (seen.insert(other).second && pricer.mayGrow(getHull(op, other)))
          found.push_back(other);
  }
  llvm::sort(found);
  reached[op] = std::move(found);
  return *reached[op];
}

bool Neighbourhood::isConnected(ArrayRef<OperatorId> members) const {
  GroupMembers found{members.front()};
  for (size_t i = 0; i < found.size(); ++i) {
    OperatorId from = found[i];
    for (ArrayRef<OperatorId> next : {before(from), after(from), sharers(from)})
      for (OperatorId other : next)
        if (binary_search(members, other) && !is_contained(found, other))
          found.push_back(other);
  }
  return found.size() == members.size();
}

//===----------------------------------------------------------------------===//
// Extensions
//===----------------------------------------------------------------------===//

/// Adds `op` and its producers that neither `ideal` nor `members` hold, which
/// stay sorted.
void ExtensionFinder::addMissingAncestors(const Ideal &ideal, OperatorId op,
                                          GroupMembers &members) const {
  GroupMembers added{op};
  for (size_t i = 0; i < added.size(); ++i)
    for (OperatorId producer : neighbours.before(added[i]))
      if (!ideal.contains(producer) && !binary_search(members, producer) &&
          !is_contained(added, producer))
        added.push_back(producer);
  members.append(added);
  llvm::sort(members);
}

/// Operators without which a group of the first missing operator might not be
/// able to run: missing producers of what may be in that group, or in a group
/// of such a producer. None depends on the first missing operator.
GroupMembers ExtensionFinder::findAwaited(const Ideal &ideal) {
  OperatorId first = ideal.firstMissing;
  GroupMembers awaited;
  SmallDenseSet<OperatorId, 32> seenAwaited, seenReached;
  SmallVector<OperatorId> reached{first};
  for (size_t i = 0; i < reached.size(); ++i)
    for (OperatorId member : neighbours.reach(reached[i])) {
      if (ideal.contains(member) || !seenReached.insert(member).second)
        continue;
      GroupMembers missing;
      addMissingAncestors(ideal, member, missing);
      for (OperatorId op : missing)
        if (op != member && op != first && !neighbours.precedes(first, op) &&
            seenAwaited.insert(op).second) {
          awaited.push_back(op);
          reached.push_back(op);
        }
    }
  return awaited;
}

/// Finds the groups that hold `seed` and neither `excluded` nor what depends on
/// it.
void ExtensionFinder::grow(const Ideal &ideal, OperatorId seed,
                           std::optional<OperatorId> excluded,
                           std::vector<GroupMembers> &found) {
  auto isExcluded = [&](OperatorId op) {
    return excluded && (op == *excluded || neighbours.precedes(*excluded, op));
  };
  std::vector<GroupMembers> open;
  auto visit = [&](GroupMembers members) {
    if (seen.size() > limits.mostExtensions) {
      wasCut = true;
      return;
    }
    if (any_of(members, isExcluded) || !seen.insert(members).second)
      return;
    // What cannot grow is legal at most alone.
    bool mayGrow = pricer.mayGrow(members);
    if (members.size() == 1 || (mayGrow && pricer.isLegal(members)))
      found.push_back(members);
    if (mayGrow)
      open.push_back(std::move(members));
  };
  visit({seed});
  // Single operators have been found by the time that a limit is reached.
  while (!open.empty() && seen.size() <= limits.mostExtensions) {
    GroupMembers members = std::move(open.back());
    open.pop_back();
    for (OperatorId from : members)
      for (ArrayRef<OperatorId> next :
           {neighbours.after(from), neighbours.sharers(from)})
        for (OperatorId op : next) {
          if (ideal.contains(op) || binary_search(members, op))
            continue;
          GroupMembers grown = members;
          addMissingAncestors(ideal, op, grown);
          visit(std::move(grown));
        }
  }
}

std::vector<GroupMembers> ExtensionFinder::find(const Ideal &ideal) {
  std::vector<GroupMembers> found;
  seen.clear();
  grow(ideal, ideal.firstMissing, std::nullopt, found);
  for (OperatorId op : findAwaited(ideal)) {
    bool isReady = all_of(neighbours.before(op), [&](OperatorId producer) {
      return ideal.contains(producer);
    });
    if (isReady)
      grow(ideal, op, ideal.firstMissing, found);
  }
  return found;
}
