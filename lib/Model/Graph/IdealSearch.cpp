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
#include "llvm/ADT/Sequence.h"

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

std::pair<unsigned, bool> GroupTable::insert(ArrayRef<OperatorId> added) {
  members.insert(members.end(), added.begin(), added.end());
  begins.push_back(members.size());
  auto [found, isNew] = ids.insert(size() - 1);
  if (!isNew) {
    begins.pop_back();
    members.resize(begins.back());
  }
  return {*found, isNew};
}

void GroupTable::clear() {
  ids.clear();
  members.clear();
  begins.resize(1);
}

//===----------------------------------------------------------------------===//
// Graph
//===----------------------------------------------------------------------===//

static void makeUnique(GroupMembers &members) {
  llvm::sort(members);
  members.erase(llvm::unique(members), members.end());
}

SearchGraph::SearchGraph(const OperatorGraph &graph, const GraphUses &uses,
                         ArrayRef<unsigned> blockOf,
                         const PartitionLimits &limits) {
  size_t numBlocks = blockOf.empty() ? 0 : *llvm::max_element(blockOf) + 1;
  before.resize(numBlocks);
  after.resize(numBlocks);
  sharers.resize(numBlocks);
  for (auto [op, block] : enumerate(blockOf))
    for (OperatorId producer : uses.before[op])
      if (blockOf[producer] != block) {
        before[block].push_back(blockOf[producer]);
        after[blockOf[producer]].push_back(block);
      }
  for (auto [tensor, users] : enumerate(uses.readers)) {
    if (graph.tensors[tensor].bytes() < limits.sharedBytes)
      continue;
    GroupMembers readers;
    for (OperatorId reader : users)
      readers.push_back(blockOf[reader]);
    makeUnique(readers);
    // Of too many readers, those that are close know each other.
    isComplete &= readers.size() <= limits.mostNeighbours;
    for (size_t i = 0; i < readers.size(); ++i)
      for (size_t j = i + 1;
           j < std::min(readers.size(), i + limits.mostNeighbours); ++j) {
        sharers[readers[i]].push_back(readers[j]);
        sharers[readers[j]].push_back(readers[i]);
      }
  }
  for (std::vector<GroupMembers> *lists : {&before, &after, &sharers})
    llvm::for_each(*lists, makeUnique);
}

//===----------------------------------------------------------------------===//
// Neighbourhood
//===----------------------------------------------------------------------===//

Neighbourhood::Neighbourhood(const SearchGraph &graph, GroupPricer &pricer,
                             const PartitionLimits &limits)
    : graph(graph), pricer(pricer), limits(limits), descendants(size()),
      alone(size()), reached(size()) {
  for (OperatorId op : reverse(seq<OperatorId>(size()))) {
    descendants[op].resize(size());
    for (OperatorId reader : after(op)) {
      descendants[op] |= descendants[reader];
      descendants[op].set(reader);
    }
    alone[op] = !pricer.mayGrow(op);
  }
}

/// Adds those of `candidates`, and of their readers, that run alone and wait
/// for nothing outside the ideal.
void Neighbourhood::addReadyAlone(Step &step, GroupMembers candidates) const {
  while (!candidates.empty()) {
    OperatorId op = candidates.pop_back_val();
    bool isReady = runsAlone(op) && !step.ideal.contains(op) &&
                   all_of(before(op), [&](OperatorId producer) {
                     return step.ideal.contains(producer);
                   });
    if (!isReady)
      continue;
    step.ideal = step.ideal.extendedBy(op);
    step.alone.push_back(op);
    candidates.append(after(op).begin(), after(op).end());
  }
}

Step Neighbourhood::start() const {
  GroupMembers sources;
  for (OperatorId op : reverse(seq<OperatorId>(size())))
    if (before(op).empty())
      sources.push_back(op);
  Step step;
  addReadyAlone(step, std::move(sources));
  return step;
}

Step Neighbourhood::extend(const Ideal &ideal,
                           ArrayRef<OperatorId> members) const {
  GroupMembers readers;
  for (OperatorId op : reverse(members))
    readers.append(after(op).begin(), after(op).end());
  Step step{ideal.extendedBy(members), {}};
  addReadyAlone(step, std::move(readers));
  return step;
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
      for (OperatorId other : next) {
        if (found.size() >= limits.mostNeighbours) {
          wasCut = true;
          break;
        }
        if (seen.insert(other).second && pricer.mayGrow(getHull(op, other)))
          found.push_back(other);
      }
  }
  llvm::sort(found);
  reached[op] = std::move(found);
  return *reached[op];
}

//===----------------------------------------------------------------------===//
// Extensions
//===----------------------------------------------------------------------===//

/// Adds `op` and its producers that neither `ideal` nor `members` hold, which
/// stay sorted.
void ExtensionFinder::addMissingAncestors(const Ideal &ideal, OperatorId op,
                                          GroupMembers &members) const {
  GroupMembers added{op};
  auto add = [&](OperatorId missing) {
    auto *place = llvm::lower_bound(members, missing);
    if (place != members.end() && *place == missing)
      return false;
    members.insert(place, missing);
    return true;
  };
  add(op);
  for (size_t i = 0; i < added.size(); ++i)
    for (OperatorId producer : neighbours.before(added[i]))
      if (!ideal.contains(producer) && add(producer))
        added.push_back(producer);
}

/// Operators without which a group of the first missing operator might not be
/// able to run: missing producers of what may be in that group, or in a group
/// of such a producer. None depends on the first missing operator.
GroupMembers ExtensionFinder::findAwaited(const Ideal &ideal) {
  OperatorId first = ideal.firstMissing;
  GroupMembers awaited;
  if (ideal.others.size() == neighbours.countIndependent(first))
    return awaited;
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

/// Looks at a set whose union with the ideal is an ideal.
void ExtensionFinder::visit(ArrayRef<OperatorId> members,
                            std::optional<OperatorId> excluded) {
  bool isExcluded =
      excluded && any_of(members, [&](OperatorId op) {
        return op == *excluded || neighbours.precedes(*excluded, op);
      });
  if (isExcluded)
    return;
  auto [set, isNew] = sets.insert(members);
  if (!isNew)
    return;
  // What cannot grow is legal at most alone.
  bool mayGrow = pricer.mayGrow(members);
  if (!mayGrow && members.size() > 1)
    return;
  double seconds = pricer.bound(members), savings = -seconds;
  for (OperatorId op : members)
    savings += alone[op];
  if (members.size() == 1 || pricer.isLegal(members))
    found.push_back({set, seconds});
  if (mayGrow)
    open.push({savings, set});
}

/// Looks at `members` with `op` and what it waits for, as far as the limits
/// allow.
void ExtensionFinder::growBy(const Ideal &ideal, OperatorId op,
                             const GroupMembers &members,
                             std::optional<OperatorId> excluded) {
  if (ideal.contains(op) || binary_search(members, op))
    return;
  if (work >= mostWork || sets.size() > limits.mostExtensions) {
    wasCut = true;
    return;
  }
  GroupMembers grown = members;
  addMissingAncestors(ideal, op, grown);
  work += grown.size();
  visit(grown, excluded);
}

/// Finds the groups that hold `seed` and neither `excluded` nor what depends on
/// it.
void ExtensionFinder::grow(const Ideal &ideal, OperatorId seed,
                           std::optional<OperatorId> excluded) {
  open = {};
  visit({seed}, excluded);
  while (!open.empty()) {
    GroupMembers members(sets[open.top().set]);
    open.pop();
    for (OperatorId from : members)
      for (ArrayRef<OperatorId> next :
           {neighbours.after(from), neighbours.sharers(from)})
        for (OperatorId op : next)
          growBy(ideal, op, members, excluded);
    if (work >= mostWork || sets.size() > limits.mostExtensions) {
      wasCut |= !open.empty();
      return;
    }
  }
}

ExtensionFinder::ExtensionFinder(Neighbourhood &neighbours, GroupPricer &pricer,
                                 const PartitionLimits &limits)
    : neighbours(neighbours), pricer(pricer), limits(limits) {
  for (OperatorId op : seq<OperatorId>(neighbours.size()))
    alone.push_back(pricer.bound(op));
}

const std::vector<FoundGroup> &ExtensionFinder::find(const Ideal &ideal,
                                                     size_t mostWork) {
  this->mostWork = mostWork;
  work = 0;
  found.clear();
  sets.clear();
  grow(ideal, ideal.firstMissing, std::nullopt);
  for (OperatorId op : findAwaited(ideal)) {
    if (work >= mostWork) {
      wasCut = true;
      break;
    }
    bool isReady = all_of(neighbours.before(op), [&](OperatorId producer) {
      return ideal.contains(producer);
    });
    if (isReady)
      grow(ideal, op, ideal.firstMissing);
  }
  return found;
}
