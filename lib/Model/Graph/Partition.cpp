//===- Partition.cpp - The cheapest groups of a whole program -------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ideals and what extends them are found once and written down as a graph;
// the shortest path through it is searched as costs become known.
//
// Work is paid from a purse that each operator adds to. Most programs never
// empty it. Where one does, the purse pays for the ideals that save most and
// for a few groups of each, until it has recovered; then runs of one-to-one
// operators are tried as single operators as well.
//
//===----------------------------------------------------------------------===//

#include "Graph/CanonicalOrder.h"
#include "Graph/Groups.h"
#include "Graph/IdealSearch.h"

#include "Chimera/Model/MappingType.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <utility>

using namespace llvm;
using namespace chimera::model;

GroupPricer::~GroupPricer() = default;

static constexpr double infinity = std::numeric_limits<double>::infinity();

namespace {

/// What is known of a group's price.
struct Price {
  double seconds = 0;
  bool isExact = false;
};

/// A step from an ideal to a larger one.
struct Extension {
  unsigned group = 0;
  unsigned target = 0;
};

/// A step, seen from the larger ideal.
struct Arrival {
  unsigned source = 0;
  unsigned group = 0;
  /// At least, from the empty ideal.
  double seconds = 0;
};

/// One of the cheapest ways from the empty ideal to another.
struct Way {
  double seconds = 0;
  /// Equal for ways through the same groups, whatever their order.
  uint64_t groups = 0;
  /// The ideal before the last step, which of its ways leads there, and the
  /// last step's group.
  unsigned source = 0, rank = 0, group = 0;
};

/// An ideal.
struct IdealNode {
  Ideal ideal;
  std::vector<Extension> extensions;
  /// The cheapest way from the empty ideal, and its last step.
  double seconds = infinity;
  unsigned previous = 0, group = 0;
  /// What its operators take at least one by one.
  double aloneSeconds = 0;

  /// How much the cheapest way is below that.
  double savings() const { return aloneSeconds - seconds; }
};

class PartitionSearch {
public:
  PartitionSearch(const SearchGraph &graph, GroupPricer &pricer,
                  const PartitionLimits &limits)
      : pricer(pricer), limits(limits), neighbours(graph, pricer, limits),
        finder(neighbours, pricer, limits) {}

  /// The cheapest partitions, `count` at most.
  std::vector<Partition> run(size_t count);

private:
  void findCheapest();
  void explore();
  size_t exploreIdeal(unsigned node, size_t mostWork);
  void sortBySavings(std::vector<unsigned> &ofSize);
  unsigned getNode(const Ideal &ideal);
  unsigned getGroup(ArrayRef<OperatorId> members, double seconds);
  void makeExact(unsigned group);
  bool makePathExact();
  void relax(unsigned node);
  void searchPath();
  void searchOnce();
  void settle(unsigned node, std::vector<Arrival> arrivals);
  std::vector<double> findRests() const;
  unsigned lastNode() const { return bySize.back().front(); }
  SmallVector<unsigned> getPath() const;
  using WaysOfNodes = std::vector<std::vector<Way>>;
  WaysOfNodes findWays(size_t count) const;
  SmallVector<unsigned> getPath(const WaysOfNodes &ways, size_t rank) const;
  std::vector<SmallVector<unsigned>> findNextPaths(size_t count);
  Partition makePartition(ArrayRef<unsigned> path);

  GroupPricer &pricer;
  const PartitionLimits &limits;
  Neighbourhood neighbours;
  ExtensionFinder finder;
  std::vector<IdealNode> nodes;
  std::unordered_map<Ideal, unsigned, HashIdeal> nodeOf;
  /// Nodes by the size of their ideals.
  std::vector<std::vector<unsigned>> bySize;
  GroupTable groups;
  std::vector<Price> prices;
  /// What the cheapest path whose groups all have exact costs takes.
  double leastExact = infinity;
  bool wasCut = false;
  size_t numExtensions = 0, numCosts = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// Ideals
//===----------------------------------------------------------------------===//

unsigned PartitionSearch::getNode(const Ideal &ideal) {
  auto [found, isNew] = nodeOf.try_emplace(ideal, nodes.size());
  if (isNew) {
    nodes.emplace_back().ideal = ideal;
    bySize[ideal.size()].push_back(found->second);
  }
  return found->second;
}

unsigned PartitionSearch::getGroup(ArrayRef<OperatorId> members,
                                   double seconds) {
  auto [group, isNew] = groups.insert(members);
  if (isNew)
    prices.push_back({seconds});
  return group;
}

/// Returns how much work it was, in operators of sets that were looked at. A
/// step takes about as long as so many.
size_t PartitionSearch::exploreIdeal(unsigned node, size_t mostWork) {
  constexpr size_t workPerStep = 32;
  // Nodes move when others are added.
  Ideal ideal = nodes[node].ideal;
  double aloneSeconds = nodes[node].aloneSeconds;
  std::vector<Extension> extensions;
  const std::vector<FoundGroup> &allFound = finder.find(ideal, mostWork);
  size_t work = finder.getWork();
  for (FoundGroup found : allFound) {
    ArrayRef<OperatorId> members = finder.membersOf(found);
    unsigned target = getNode(neighbours.extend(ideal, members).ideal);
    extensions.push_back({getGroup(members, found.seconds), target});
    work += workPerStep + nodes[target].ideal.others.size();
    nodes[target].aloneSeconds = aloneSeconds;
    for (OperatorId op : members)
      nodes[target].aloneSeconds += finder.aloneSeconds(op);
  }
  numExtensions += extensions.size();
  nodes[node].extensions = std::move(extensions);
  relax(node);
  return work;
}

/// Puts the ideals of one size that save most first, by bounds, and drops those
/// beyond the limits.
void PartitionSearch::sortBySavings(std::vector<unsigned> &ofSize) {
  llvm::sort(ofSize, [&](unsigned left, unsigned right) {
    return std::make_pair(-nodes[left].savings(), left) <
           std::make_pair(-nodes[right].savings(), right);
  });
  if (nodes.size() <= limits.mostIdeals || ofSize.size() <= limits.keptIdeals)
    return;
  wasCut = true;
  ofSize.resize(limits.keptIdeals);
}

/// Finds the ideals that groups lead to.
void PartitionSearch::explore() {
  size_t numOperators = neighbours.size();
  bySize.resize(numOperators + 1);
  nodes[getNode(neighbours.start().ideal)].seconds = 0;
  size_t purse = limits.mostWork;
  for (size_t size = 0; size < numOperators; ++size) {
    purse += limits.workPerOperator;
    sortBySavings(bySize[size]);
    size_t numExplored = 0;
    for (unsigned node : std::vector<unsigned>(bySize[size])) {
      // The first ideal leads on whatever is left.
      if (purse == 0 && numExplored > 0)
        break;
      size_t work =
          exploreIdeal(node, std::max(purse, limits.workPerOperator) / 4);
      purse -= std::min(purse, work);
      ++numExplored;
    }
    wasCut |= numExplored < bySize[size].size();
    bySize[size].resize(numExplored);
  }
}

//===----------------------------------------------------------------------===//
// Paths
//===----------------------------------------------------------------------===//

/// Offers the way through `node` to the ideals that extend it.
void PartitionSearch::relax(unsigned node) {
  for (const Extension &extension : nodes[node].extensions) {
    IdealNode &target = nodes[extension.target];
    double seconds = nodes[node].seconds + prices[extension.group].seconds;
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
    node.seconds = infinity;
  nodes[0].seconds = 0;
  for (const std::vector<unsigned> &ofSize : bySize)
    for (unsigned node : ofSize)
      relax(node);
}

/// The groups on the way to the whole graph, first to last.
SmallVector<unsigned> PartitionSearch::getPath() const {
  SmallVector<unsigned> path;
  for (unsigned node = lastNode(); node != 0; node = nodes[node].previous)
    path.push_back(nodes[node].group);
  std::reverse(path.begin(), path.end());
  return path;
}

void PartitionSearch::makeExact(unsigned group) {
  if (prices[group].isExact)
    return;
  prices[group] = {pricer.cost(groups[group]), true};
  ++numCosts;
}

/// Asks for the costs on the cheapest path. True if they all were known.
bool PartitionSearch::makePathExact() {
  size_t numKnown = numCosts;
  double seconds = 0;
  for (unsigned group : getPath()) {
    makeExact(group);
    seconds += prices[group].seconds;
  }
  leastExact = std::min(leastExact, seconds);
  return numCosts == numKnown;
}

/// What it takes at least from each ideal to the whole graph.
std::vector<double> PartitionSearch::findRests() const {
  std::vector<double> rests(nodes.size(), infinity);
  rests[lastNode()] = 0;
  for (const std::vector<unsigned> &ofSize : reverse(bySize))
    for (unsigned node : ofSize)
      for (const Extension &extension : nodes[node].extensions)
        rests[node] = std::min(rests[node], prices[extension.group].seconds +
                                                rests[extension.target]);
  return rests;
}

/// Finds the cheapest way to `node` of those that `arrivals` end, asking for no
/// more costs than that takes.
void PartitionSearch::settle(unsigned node, std::vector<Arrival> arrivals) {
  llvm::sort(arrivals, [](const Arrival &left, const Arrival &right) {
    return std::tie(left.seconds, left.source, left.group) <
           std::tie(right.seconds, right.source, right.group);
  });
  for (const Arrival &arrival : arrivals) {
    if (arrival.seconds >= nodes[node].seconds)
      break;
    makeExact(arrival.group);
    double seconds =
        nodes[arrival.source].seconds + prices[arrival.group].seconds;
    if (seconds >= nodes[node].seconds)
      continue;
    nodes[node].seconds = seconds;
    nodes[node].previous = arrival.source;
    nodes[node].group = arrival.group;
  }
}

/// Finds the cheapest path with exact costs in one go, smaller ideals first,
/// leaving out what leads to no path as cheap as the best that is known.
void PartitionSearch::searchOnce() {
  std::vector<double> rests = findRests();
  std::vector<std::vector<Arrival>> arrivals(nodes.size());
  for (IdealNode &node : nodes)
    node.seconds = infinity;
  nodes[0].seconds = 0;
  // Sums in another order may differ in the last digits.
  double most = leastExact * (1 + 1e-9);
  for (const std::vector<unsigned> &ofSize : bySize)
    for (unsigned node : ofSize) {
      settle(node, std::exchange(arrivals[node], {}));
      for (const Extension &extension : nodes[node].extensions) {
        double seconds = nodes[node].seconds + prices[extension.group].seconds;
        if (seconds + rests[extension.target] <= most)
          arrivals[extension.target].push_back(
              {node, extension.group, seconds});
      }
    }
}

/// Finds the cheapest path.
void PartitionSearch::findCheapest() {
  // To search the path anew asks for the fewest costs, but looks at each step
  // every time.
  explore();
  bool isExact = makePathExact();
  for (size_t steps = 0; steps < limits.mostSteps && !isExact;
       steps += numExtensions) {
    searchPath();
    isExact = makePathExact();
  }
  if (!isExact)
    searchOnce();
}

//===----------------------------------------------------------------------===//
// The next best paths
//===----------------------------------------------------------------------===//

/// A number for a group, such that sums of them stand for sets of groups.
static uint64_t mix(uint64_t group) {
  group += 0x9e3779b97f4a7c15;
  group = (group ^ (group >> 30)) * 0xbf58476d1ce4e5b9;
  group = (group ^ (group >> 27)) * 0x94d049bb133111eb;
  return group ^ (group >> 31);
}

/// Adds `way` to `ways`, which are sorted and `count` at most, if it is one of
/// the cheapest and goes through other groups than they do.
static void offer(std::vector<Way> &ways, const Way &way, size_t count) {
  if (!std::isfinite(way.seconds) || any_of(ways, [&](const Way &known) {
        return known.groups == way.groups;
      }))
    return;
  auto place = llvm::upper_bound(ways, way, [](const Way &one, const Way &two) {
    return one.seconds < two.seconds;
  });
  ways.insert(place, way);
  if (ways.size() > count)
    ways.pop_back();
}

/// The `count` cheapest ways to each ideal, by what is known of costs.
PartitionSearch::WaysOfNodes PartitionSearch::findWays(size_t count) const {
  WaysOfNodes ways(nodes.size());
  ways.front().emplace_back();
  for (const std::vector<unsigned> &ofSize : bySize)
    for (unsigned node : ofSize)
      for (const Extension &extension : nodes[node].extensions)
        for (auto [rank, way] : enumerate(ways[node])) {
          unsigned group = extension.group;
          offer(ways[extension.target],
                {way.seconds + prices[group].seconds, way.groups + mix(group),
                 node, static_cast<unsigned>(rank), group},
                count);
        }
  return ways;
}

SmallVector<unsigned> PartitionSearch::getPath(const WaysOfNodes &ways,
                                               size_t rank) const {
  SmallVector<unsigned> path;
  for (unsigned node = lastNode(); node != 0;) {
    const Way &way = ways[node][rank];
    path.push_back(way.group);
    node = way.source;
    rank = way.rank;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

/// The `count` cheapest paths, by exact costs unless that takes too many steps.
std::vector<SmallVector<unsigned>>
PartitionSearch::findNextPaths(size_t count) {
  std::vector<SmallVector<unsigned>> paths;
  bool isExact = false;
  for (size_t steps = 0; !isExact; steps += numExtensions * count) {
    WaysOfNodes ways = findWays(count);
    paths.clear();
    for (size_t rank : seq(ways[lastNode()].size()))
      paths.push_back(getPath(ways, rank));
    size_t numKnown = numCosts;
    for (ArrayRef<unsigned> path : paths)
      llvm::for_each(path, [&](unsigned group) { makeExact(group); });
    isExact = numCosts == numKnown || steps > limits.mostSteps;
  }
  return paths;
}

/// The groups of `path`, and between them what runs alone.
Partition PartitionSearch::makePartition(ArrayRef<unsigned> path) {
  Partition partition;
  auto add = [&](unsigned group) {
    makeExact(group);
    partition.groups.push_back(GroupMembers(groups[group]));
    partition.seconds += prices[group].seconds;
  };
  Step step = neighbours.start();
  auto addAlone = [&] {
    for (OperatorId op : step.alone)
      add(getGroup(op, finder.aloneSeconds(op)));
  };
  addAlone();
  for (unsigned group : path) {
    add(group);
    step = neighbours.extend(step.ideal, groups[group]);
    addAlone();
  }
  partition.isProved =
      !wasCut && finder.isComplete() && neighbours.isComplete();
  partition.numIdeals = nodes.size();
  partition.numExtensions = numExtensions;
  partition.numCosts = numCosts;
  return partition;
}

std::vector<Partition> PartitionSearch::run(size_t count) {
  findCheapest();
  SmallVector<unsigned> cheapest = getPath();
  std::vector<Partition> partitions{makePartition(cheapest)};
  if (count == 1)
    return partitions;
  llvm::sort(cheapest);
  for (SmallVector<unsigned> &path : findNextPaths(count)) {
    Partition partition = makePartition(path);
    llvm::sort(path);
    if (path != cheapest && partitions.size() < count)
      partitions.push_back(std::move(partition));
  }
  return partitions;
}

//===----------------------------------------------------------------------===//
// Whole programs
//===----------------------------------------------------------------------===//

namespace {

/// A program in canonical order. Prices are asked for in the program's own.
class OrderedProgram {
public:
  OrderedProgram(const OperatorGraph &program, GroupPricer &pricer,
                 const PartitionLimits &limits)
      : order(orderCanonically(
            program, [&](OperatorId op) { return !pricer.mayGrow(op); })),
        graph(reorder(program, order)), uses(graph), programPricer(pricer),
        limits(limits) {}

  std::vector<Partition> findCheapest(size_t count);

private:
  std::vector<unsigned> separate() const;
  std::vector<unsigned> contractRuns(GroupPricer &pricer) const;
  std::vector<GroupMembers> listBlocks(ArrayRef<unsigned> blockOf) const;
  std::vector<Partition> search(ArrayRef<unsigned> blockOf, size_t count);

  std::vector<OperatorId> order;
  OperatorGraph graph;
  GraphUses uses;
  GroupPricer &programPricer;
  const PartitionLimits &limits;
};

} // namespace

std::vector<unsigned> OrderedProgram::separate() const {
  std::vector<unsigned> blockOf(order.size());
  std::iota(blockOf.begin(), blockOf.end(), 0);
  return blockOf;
}

/// The block of each operator if one-to-one operators are one with those that
/// alone read them, as long as that is legal. Blocks are small, so that groups
/// of some of them have about any size.
std::vector<unsigned> OrderedProgram::contractRuns(GroupPricer &pricer) const {
  constexpr size_t mostMembers = 16;
  auto isOneToOne = [&](OperatorId op) {
    return classify(graph.operators[op]).mapping == MappingClass::OneToOne;
  };
  Groups groups(uses);
  for (OperatorId op : seq<OperatorId>(order.size())) {
    bool isResult = any_of(graph.operators[op].outputs, [&](TensorId output) {
      return graph.tensors[output].isResult;
    });
    if (uses.after[op].size() != 1 || isResult || !isOneToOne(op) ||
        !isOneToOne(uses.after[op].front()))
      continue;
    GroupMembers pair{op, uses.after[op].front()};
    GroupMembers run = groups.unite(pair);
    if (run.size() <= mostMembers && pricer.isLegal(run))
      groups.merge(pair);
  }
  return groups.numberInOrder();
}

/// The operators of the program in each block.
std::vector<GroupMembers>
OrderedProgram::listBlocks(ArrayRef<unsigned> blockOf) const {
  std::vector<GroupMembers> blocks(*llvm::max_element(blockOf) + 1);
  for (auto [op, block] : enumerate(blockOf))
    blocks[block].push_back(order[op]);
  return blocks;
}

/// The cheapest partitions that leave blocks whole, in terms of the program.
/// Blocks are numbered in an order in which they can run.
std::vector<Partition> OrderedProgram::search(ArrayRef<unsigned> blockOf,
                                              size_t count) {
  std::vector<GroupMembers> blocks = listBlocks(blockOf);
  // Work is counted in blocks.
  PartitionLimits blockLimits = limits;
  blockLimits.mostWork = limits.mostWork * blocks.size() / order.size();
  SearchGraph blockGraph(graph, uses, blockOf, limits);
  BlockPricer pricer(programPricer, std::move(blocks));
  std::vector<Partition> partitions =
      PartitionSearch(blockGraph, pricer, blockLimits).run(count);
  for (Partition &partition : partitions)
    for (GroupMembers &group : partition.groups)
      group = pricer.expand(group);
  return partitions;
}

/// True if both have the same groups, in whatever order.
static bool areAlike(const Partition &left, const Partition &right) {
  SmallVector<GroupMembers, 0> ofLeft = left.groups, ofRight = right.groups;
  llvm::sort(ofLeft);
  llvm::sort(ofRight);
  return ofLeft == ofRight;
}

/// If the program is too much for the search, the best of several.
std::vector<Partition> OrderedProgram::findCheapest(size_t count) {
  std::vector<Partition> best = search(separate(), count);
  Partition &first = best.front();
  first.leastSeconds = first.seconds;
  if (first.isProved)
    return best;
  BlockPricer pricer(programPricer, listBlocks(separate()));
  Partition looked = first;
  auto offer = [&](Partition other) {
    looked.numIdeals += other.numIdeals;
    looked.numExtensions += other.numExtensions;
    looked.numCosts += other.numCosts;
    bool isKnown = any_of(
        best, [&](const Partition &known) { return areAlike(known, other); });
    if (isKnown)
      return;
    auto place = llvm::upper_bound(
        best, other, [](const Partition &one, const Partition &two) {
          return one.seconds < two.seconds;
        });
    best.insert(place, std::move(other));
  };
  std::vector<unsigned> blockOf = contractRuns(pricer);
  if (*llvm::max_element(blockOf) + 1 < order.size())
    llvm::for_each(search(blockOf, count), offer);
  Partition greedy = partitionGreedily(graph, pricer);
  for (GroupMembers &group : greedy.groups)
    group = pricer.expand(group);
  offer(std::move(greedy));
  best.resize(std::min(best.size(), count));
  GroupMembers all;
  llvm::append_range(all, seq<OperatorId>(order.size()));
  for (Partition &partition : best) {
    partition.isProved = false;
    partition.leastSeconds = programPricer.bound(all);
    partition.numIdeals = looked.numIdeals;
    partition.numExtensions = looked.numExtensions;
    partition.numCosts = looked.numCosts;
  }
  return best;
}

std::vector<Partition>
chimera::model::findPartitions(const OperatorGraph &graph, GroupPricer &pricer,
                               size_t count, const PartitionLimits &limits) {
  assert(count > 0 && "no partition is asked for");
  if (!graph.operators.empty())
    return OrderedProgram(graph, pricer, limits).findCheapest(count);
  Partition nothing;
  nothing.isProved = true;
  return {nothing};
}

Partition chimera::model::findPartition(const OperatorGraph &graph,
                                        GroupPricer &pricer,
                                        const PartitionLimits &limits) {
  return findPartitions(graph, pricer, /*count=*/1, limits).front();
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
