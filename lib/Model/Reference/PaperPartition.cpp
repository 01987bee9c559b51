//===- PaperPartition.cpp - The partition as the paper has it -------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Algorithms 1 and 2 of Gao et al. and the cost between them. Names in comments
// are those of the paper.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/PaperPartition.h"

#include "Graph/FusionRules.h"
#include "Graph/Groups.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <limits>
#include <random>
#include <set>

using namespace llvm;
using namespace chimera::model;

/// As in TVM.
static constexpr size_t mostMembers = 256;

//===----------------------------------------------------------------------===//
// Algorithm 1
//===----------------------------------------------------------------------===//

namespace {

/// DFS(): the longest paths from one operator.
class PathSearch {
public:
  PathSearch(const GraphUses &uses, const RuleBook &rules, GroupPricer *pricer,
             size_t mostPaths)
      : uses(uses), rules(rules), pricer(pricer), mostPaths(mostPaths) {}

  std::vector<GroupMembers> run(OperatorId start) {
    visit({start}, rules.typeOf(start));
    return std::move(paths);
  }

private:
  void visit(const GroupMembers &path, FusedType type);

  const GraphUses &uses;
  const RuleBook &rules;
  GroupPricer *pricer;
  size_t mostPaths;
  std::vector<GroupMembers> paths;
};

} // namespace

void PathSearch::visit(const GroupMembers &path, FusedType type) {
  bool isLongest = true;
  for (OperatorId next : uses.after[path.back()]) {
    if (paths.size() >= mostPaths || path.size() >= mostMembers)
      break;
    std::optional<FusedType> joined = rules.join(type, path.back(), next);
    if (!joined)
      continue;
    GroupMembers longer = path;
    longer.push_back(next);
    if (pricer && !pricer->mayGrow(longer))
      continue;
    isLongest = false;
    visit(longer, *joined);
  }
  if (isLongest)
    paths.push_back(path);
}

std::vector<GroupMembers>
chimera::model::listLongestPaths(const OperatorGraph &graph, OperatorId start,
                                 FusionRules rules, size_t mostPaths) {
  GraphUses uses(graph);
  RuleBook book(graph, rules);
  return PathSearch(uses, book, nullptr, mostPaths).run(start);
}

//===----------------------------------------------------------------------===//
// Equations 6 and 7
//===----------------------------------------------------------------------===//

static double getMemory(const OperatorGraph &graph, const GraphUses &uses,
                        ArrayRef<unsigned> groupOf) {
  double bytes = 0;
  for (auto [tensor, producer] : enumerate(uses.producer)) {
    if (producer == GraphUses::none)
      continue;
    for (OperatorId reader : uses.readers[tensor])
      if (groupOf[reader] != groupOf[producer])
        bytes += graph.tensors[tensor].bytes();
  }
  return bytes;
}

double chimera::model::getFusedMemory(const OperatorGraph &graph,
                                      ArrayRef<unsigned> groupOf) {
  return getMemory(graph, GraphUses(graph), groupOf);
}

double chimera::model::getFusedImbalance(ArrayRef<unsigned> groupOf) {
  if (groupOf.empty())
    return 0;
  std::vector<double> sizes(*llvm::max_element(groupOf) + 1);
  for (unsigned group : groupOf)
    ++sizes[group];
  double mean = groupOf.size() / static_cast<double>(sizes.size());
  double sum = 0;
  for (double size : sizes)
    sum += (size - mean) * (size - mean);
  return sum / sizes.size();
}

//===----------------------------------------------------------------------===//
// Algorithm 2
//===----------------------------------------------------------------------===//

namespace {

/// A longest path, and which of its prefixes are legal groups.
struct CandidatePath {
  GroupMembers members;
  /// By the number of operators.
  SmallVector<bool, 8> isLegal;
};

class PaperPartitionSearch {
public:
  PaperPartitionSearch(const OperatorGraph &graph, GroupPricer &pricer,
                       const PaperOptions &options)
      : graph(graph), pricer(pricer), options(options), uses(graph),
        rules(graph, options.rules), best(uses), random(options.seed) {
    result.cost = std::numeric_limits<double>::infinity();
  }

  PaperPartition run();

private:
  /// One of the partitions that are tried, while it is made.
  struct Try {
    Groups groups;
    std::vector<bool> isFused;
  };

  size_t size() const { return graph.operators.size(); }
  void listCandidates();
  GroupMembers findLongest(const Try &current, OperatorId start) const;
  void fuse(Try &current, const GroupMembers &members) const;
  void fuseOthers(Try &current);
  void fuseSecond(Groups &groups);
  bool mayJoin(const Groups &groups, OperatorId first, OperatorId second) const;
  FusedType typeOf(const Groups &groups, OperatorId op) const;
  void tryFrom(OperatorId start);
  void weigh(const Groups &groups);

  const OperatorGraph &graph;
  GroupPricer &pricer;
  const PaperOptions &options;
  GraphUses uses;
  RuleBook rules;
  std::vector<std::vector<CandidatePath>> candidates;
  Groups best;
  PaperPartition result;
  std::mt19937 random;
};

} // namespace

void PaperPartitionSearch::listCandidates() {
  candidates.resize(size());
  for (OperatorId start : seq<OperatorId>(size()))
    for (GroupMembers &path :
         PathSearch(uses, rules, &pricer, options.mostPaths).run(start)) {
      CandidatePath candidate{std::move(path), {true, true}};
      for (size_t length = 2; length <= candidate.members.size(); ++length)
        candidate.isLegal.push_back(
            pricer.isLegal(ArrayRef(candidate.members).take_front(length)));
      candidates[start].push_back(std::move(candidate));
    }
}

/// findLongestPath(): the longest candidate from `start` without operators that
/// are in groups, and without cycles.
GroupMembers PaperPartitionSearch::findLongest(const Try &current,
                                               OperatorId start) const {
  GroupMembers longest{start};
  for (const CandidatePath &candidate : candidates[start]) {
    ArrayRef<OperatorId> free =
        ArrayRef(candidate.members).take_while([&](OperatorId op) {
          return !current.isFused[op];
        });
    for (; free.size() > longest.size(); free = free.drop_back())
      if (candidate.isLegal[free.size()] && !current.groups.makeCycle(free))
        longest.assign(free.begin(), free.end());
  }
  return longest;
}

void PaperPartitionSearch::fuse(Try &current,
                                const GroupMembers &members) const {
  current.groups.merge(members);
  for (OperatorId op : members)
    current.isFused[op] = true;
}

/// Other_Fuse_Search(): the longest candidate that is left, again and again; of
/// those of one length the first behind a random operator.
void PaperPartitionSearch::fuseOthers(Try &current) {
  // Operators by the lengths of their candidates, which only become shorter.
  std::vector<std::set<OperatorId>> byLength;
  auto insert = [&](OperatorId op) {
    size_t length = findLongest(current, op).size();
    if (byLength.size() <= length)
      byLength.resize(length + 1);
    byLength[length].insert(op);
  };
  for (OperatorId op : seq<OperatorId>(size()))
    if (!current.isFused[op])
      insert(op);
  OperatorId behind = random() % size();
  while (!byLength.empty()) {
    std::set<OperatorId> &longest = byLength.back();
    if (longest.empty()) {
      byLength.pop_back();
      continue;
    }
    auto found = longest.lower_bound(behind);
    OperatorId op = found == longest.end() ? *longest.begin() : *found;
    longest.erase(op);
    if (current.isFused[op])
      continue;
    GroupMembers members = findLongest(current, op);
    if (members.size() + 1 < byLength.size()) {
      byLength[members.size()].insert(op);
      continue;
    }
    fuse(current, members);
    behind = random() % size();
  }
}

FusedType PaperPartitionSearch::typeOf(const Groups &groups,
                                       OperatorId op) const {
  ArrayRef<OperatorId> members = groups.membersOf(op);
  FusedType type = rules.typeOf(members.front());
  for (OperatorId member : members) {
    FusedType other = rules.typeOf(member);
    type = {combine(type.mapping, other.mapping).type,
            std::max(type.kind, other.kind)};
  }
  return type;
}

/// True if the rules let all readers of `first` in the group `second` follow
/// it.
bool PaperPartitionSearch::mayJoin(const Groups &groups, OperatorId first,
                                   OperatorId second) const {
  FusedType type = typeOf(groups, first);
  return all_of(groups.membersOf(first), [&](OperatorId producer) {
    return all_of(uses.after[producer], [&](OperatorId reader) {
      return groups.groupOf(reader) != groups.groupOf(second) ||
             rules.join(type, producer, reader);
    });
  });
}

/// Group_Fuse_Second(): one-to-one groups join a neighbour.
void PaperPartitionSearch::fuseSecond(Groups &groups) {
  auto joinIfAllowed = [&](OperatorId first, OperatorId second) {
    GroupMembers members = groups.unite({first, second});
    if (groups.groupOf(first) == groups.groupOf(second) ||
        members.size() > mostMembers || !mayJoin(groups, first, second) ||
        groups.makeCycle({first, second}) || !pricer.isLegal(members))
      return false;
    groups.merge({first, second});
    return true;
  };
  auto joinNeighbour = [&](const GroupMembers &members) {
    for (OperatorId op : members)
      for (OperatorId reader : uses.after[op])
        if (joinIfAllowed(op, reader))
          return;
    for (OperatorId op : members)
      for (OperatorId producer : uses.before[op])
        if (joinIfAllowed(producer, op))
          return;
  };
  for (OperatorId op : seq<OperatorId>(size()))
    if (groups.groupOf(op) == op &&
        typeOf(groups, op).mapping.mapping == MappingClass::OneToOne)
      joinNeighbour(GroupMembers(groups.membersOf(op)));
}

/// WeightFuse(): keeps the partition if it is the cheapest so far.
void PaperPartitionSearch::weigh(const Groups &groups) {
  std::vector<unsigned> fused = groups.number();
  double memory = getMemory(graph, uses, fused);
  double imbalance = getFusedImbalance(fused);
  double cost = options.alpha * memory + options.beta * imbalance;
  ++result.numTries;
  if (cost >= result.cost)
    return;
  best = groups;
  result.fused = std::move(fused);
  result.memory = memory;
  result.imbalance = imbalance;
  result.cost = cost;
}

/// One turn of Group_Fuse_Search(): the longest candidate of `start` is a
/// group.
void PaperPartitionSearch::tryFrom(OperatorId start) {
  Try current{Groups(uses), std::vector<bool>(size())};
  for (OperatorId op : seq<OperatorId>(size()))
    current.isFused[op] =
        rules.typeOf(op).mapping.mapping == MappingClass::NotFuse;
  fuse(current, findLongest(current, start));
  fuseOthers(current);
  fuseSecond(current.groups);
  weigh(current.groups);
}

PaperPartition PaperPartitionSearch::run() {
  listCandidates();
  SmallVector<OperatorId> starts;
  for (OperatorId op : seq<OperatorId>(size()))
    if (rules.typeOf(op).mapping.mapping != MappingClass::NotFuse)
      starts.push_back(op);
  if (starts.empty())
    weigh(best);
  // If there are too many, they are spread over the program.
  size_t numTries = std::min(options.mostTries, starts.size());
  for (size_t i : seq<size_t>(numTries))
    tryFrom(starts[i * starts.size() / numTries]);
  result.partition = best.price(pricer);
  return std::move(result);
}

PaperPartition chimera::model::searchAsPaper(const OperatorGraph &graph,
                                             GroupPricer &pricer,
                                             const PaperOptions &options) {
  return PaperPartitionSearch(graph, pricer, options).run();
}
