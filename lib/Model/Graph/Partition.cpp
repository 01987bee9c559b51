//===- Partition.cpp - The cheapest groups of a whole program -------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ideals and what extends them are found once and written down as a graph;
// the shortest path through it is searched as often as costs become known.
//
//===----------------------------------------------------------------------===//

#include "Graph/IdealSearch.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <limits>

using namespace llvm;
using namespace chimera::model;

GroupPricer::~GroupPricer() = default;

namespace {

/// A group that may occur in partitions, with what is known of its price.
struct PricedGroup {
  GroupMembers members;
  double seconds = 0;
  bool isExact = false;
};

/// A step from an ideal to a larger one.
struct Extension {
  unsigned group = 0;
  unsigned target = 0;
};

/// An ideal, in the order of sizes.
struct IdealNode {
  Ideal ideal;
  std::vector<Extension> extensions;
  /// The cheapest way from the empty ideal.
  double seconds = std::numeric_limits<double>::infinity();
  unsigned previous = 0, group = 0;
};

class PartitionSearch {
public:
  PartitionSearch(const OperatorGraph &graph, GroupPricer &pricer,
                  const PartitionLimits &limits)
      : pricer(pricer), limits(limits), neighbours(graph, pricer, limits),
        finder(neighbours, pricer, limits) {}

  Partition run();

private:
  void explore();
  void exploreIdeal(unsigned node);
  void dropWorst(std::vector<unsigned> &ofSize);
  unsigned getNode(const Ideal &ideal);
  unsigned getGroup(const GroupMembers &members);
  void searchPath();
  SmallVector<unsigned> getPath() const;
  void relax(unsigned node);

  GroupPricer &pricer;
  const PartitionLimits &limits;
  Neighbourhood neighbours;
  ExtensionFinder finder;
  std::vector<IdealNode> nodes;
  std::unordered_map<Ideal, unsigned, HashIdeal> nodeOf;
  /// Nodes by the size of their ideals.
  std::vector<std::vector<unsigned>> bySize;
  std::vector<PricedGroup> groups;
  std::unordered_map<GroupMembers, unsigned, HashMembers> groupOf;
  bool wasCut = false;
  size_t numExtensions = 0, numCosts = 0;
};

} // namespace

unsigned PartitionSearch::getNode(const Ideal &ideal) {
  auto [found, isNew] = nodeOf.try_emplace(ideal, nodes.size());
  if (isNew) {
    nodes.emplace_back().ideal = ideal;
    bySize[ideal.size()].push_back(found->second);
  }
  return found->second;
}

unsigned PartitionSearch::getGroup(const GroupMembers &members) {
  auto [found, isNew] = groupOf.try_emplace(members, groups.size());
  if (isNew)
    groups.push_back({members, pricer.bound(members)});
  return found->second;
}

void PartitionSearch::exploreIdeal(unsigned node) {
  // Nodes move when others are added.
  Ideal ideal = nodes[node].ideal;
  std::vector<Extension> extensions;
  for (const GroupMembers &members : finder.find(ideal))
    extensions.push_back(
        {getGroup(members), getNode(ideal.extendedBy(members))});
  numExtensions += extensions.size();
  nodes[node].extensions = std::move(extensions);
  relax(node);
}

/// Keeps the cheapest ideals of one size, by bounds.
void PartitionSearch::dropWorst(std::vector<unsigned> &ofSize) {
  if (nodes.size() <= limits.mostIdeals || ofSize.size() <= limits.keptIdeals)
    return;
  wasCut = true;
  std::nth_element(ofSize.begin(), ofSize.begin() + limits.keptIdeals,
                   ofSize.end(), [&](unsigned left, unsigned right) {
                     return nodes[left].seconds < nodes[right].seconds;
                   });
  ofSize.resize(limits.keptIdeals);
}

/// Finds the ideals that groups lead to.
void PartitionSearch::explore() {
  size_t numOperators = neighbours.size();
  bySize.resize(numOperators + 1);
  nodes[getNode(Ideal())].seconds = 0;
  for (size_t size = 0; size < numOperators; ++size) {
    dropWorst(bySize[size]);
    for (unsigned node : std::vector<unsigned>(bySize[size]))
      exploreIdeal(node);
  }
}

/// Offers the way through `node` to the ideals that extend it.
void PartitionSearch::relax(unsigned node) {
  for (const Extension &extension : nodes[node].extensions) {
    IdealNode &target = nodes[extension.target];
    double seconds = nodes[node].seconds + groups[extension.group].seconds;
    if (seconds >= target.seconds)
      continue;
    target.seconds = seconds;
    target.previous = node;
    target.group = extension.group;
  }
}

/// Finds the cheapest way to each ideal again.
void PartitionSearch::searchPath() {
  for (IdealNode &node : nodes)
    node.seconds = std::numeric_limits<double>::infinity();
  nodes[0].seconds = 0;
  for (const std::vector<unsigned> &ofSize : bySize)
    for (unsigned node : ofSize)
      relax(node);
}

/// The groups on the way to the whole graph, first to last.
SmallVector<unsigned> PartitionSearch::getPath() const {
  SmallVector<unsigned> path;
  for (unsigned node = bySize.back().front(); node != 0;
       node = nodes[node].previous)
    path.push_back(nodes[node].group);
  std::reverse(path.begin(), path.end());
  return path;
}

Partition PartitionSearch::run() {
  Partition partition;
  if (neighbours.size() == 0) {
    partition.isProved = true;
    return partition;
  }
  explore();
  while (true) {
    bool isExact = true;
    for (unsigned group : getPath()) {
      if (groups[group].isExact)
        continue;
      isExact = false;
      groups[group].seconds = pricer.cost(groups[group].members);
      groups[group].isExact = true;
      ++numCosts;
    }
    if (isExact)
      break;
    searchPath();
  }
  partition.seconds = nodes[bySize.back().front()].seconds;
  for (unsigned group : getPath())
    partition.groups.push_back(groups[group].members);
  partition.isProved = !wasCut && finder.isComplete();
  GroupMembers all;
  llvm::append_range(all, seq<OperatorId>(neighbours.size()));
  partition.leastSeconds =
      partition.isProved ? partition.seconds : pricer.bound(all);
  partition.numIdeals = nodes.size();
  partition.numExtensions = numExtensions;
  partition.numCosts = numCosts;
  return partition;
}

Partition chimera::model::findPartition(const OperatorGraph &graph,
                                        GroupPricer &pricer,
                                        const PartitionLimits &limits) {
  return PartitionSearch(graph, pricer, limits).run();
}

Partition chimera::model::separateOperators(const OperatorGraph &graph,
                                            GroupPricer &pricer) {
  Partition partition;
  for (OperatorId op = 0; op < graph.operators.size(); ++op) {
    partition.groups.push_back({op});
    partition.seconds += pricer.cost(op);
    ++partition.numCosts;
  }
  return partition;
}
