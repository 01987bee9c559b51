//===- IdealSearch.h - Ideals and what extends them -------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which operators can be in one group as far as dependences tell, and the
// groups that an ideal can be extended by.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_MODEL_GRAPH_IDEALSEARCH_H
#define CHIMERA_LIB_MODEL_GRAPH_IDEALSEARCH_H

#include "Chimera/Model/Partition.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/Hashing.h"

#include <queue>
#include <tuple>
#include <unordered_set>
#include <vector>

namespace chimera::model {

struct HashMembers {
  size_t operator()(const GroupMembers &members) const {
    return llvm::hash_combine_range(members.begin(), members.end());
  }
};

/// An ideal: all operators before `firstMissing`, which is not in it, and some
/// behind.
struct Ideal {
  OperatorId firstMissing = 0;
  /// In ascending order.
  GroupMembers others;

  bool contains(OperatorId op) const {
    return op < firstMissing || llvm::binary_search(others, op);
  }
  size_t size() const { return firstMissing + others.size(); }
  /// The ideal with `members` as well.
  Ideal extendedBy(llvm::ArrayRef<OperatorId> members) const;
  bool operator==(const Ideal &other) const {
    return firstMissing == other.firstMissing && others == other.others;
  }
};

struct HashIdeal {
  size_t operator()(const Ideal &ideal) const {
    return llvm::hash_combine(ideal.firstMissing, HashMembers()(ideal.others));
  }
};

/// Sets of operators, each once.
class GroupTable {
public:
  GroupTable() : ids(16, Hash{this}, Equal{this}) {}
  GroupTable(const GroupTable &) = delete;
  GroupTable &operator=(const GroupTable &) = delete;

  size_t size() const { return begins.size() - 1; }
  llvm::ArrayRef<OperatorId> operator[](unsigned id) const {
    return llvm::ArrayRef(members).slice(begins[id],
                                         begins[id + 1] - begins[id]);
  }
  /// The number of the set, and whether it is new.
  std::pair<unsigned, bool> insert(llvm::ArrayRef<OperatorId> added);
  void clear();

private:
  struct Hash {
    GroupTable *table;
    size_t operator()(unsigned id) const {
      return llvm::hash_combine_range((*table)[id]);
    }
  };
  struct Equal {
    GroupTable *table;
    bool operator()(unsigned left, unsigned right) const {
      return (*table)[left] == (*table)[right];
    }
  };

  /// Those of all sets in a row.
  std::vector<OperatorId> members;
  std::vector<size_t> begins{0};
  std::unordered_set<unsigned, Hash, Equal> ids;
};

/// Who reads from whom, and who reads a common tensor, operator by operator or
/// block by block.
struct SearchGraph {
  SearchGraph(const OperatorGraph &graph, const GraphUses &uses,
              llvm::ArrayRef<unsigned> blockOf, const PartitionLimits &limits);

  std::vector<GroupMembers> before, after, sharers;
  /// False if a tensor has so many readers that some of them were left out.
  bool isComplete = true;
};

/// An ideal, and the operators that it has more than another because they run
/// alone, in an order in which they can run.
struct Step {
  Ideal ideal;
  GroupMembers alone;
};

/// Dependences of a graph, and who may be in a group with whom.
class Neighbourhood {
public:
  Neighbourhood(const SearchGraph &graph, GroupPricer &pricer,
                const PartitionLimits &limits);

  size_t size() const { return graph.before.size(); }
  llvm::ArrayRef<OperatorId> before(OperatorId op) const {
    return graph.before[op];
  }
  llvm::ArrayRef<OperatorId> after(OperatorId op) const {
    return graph.after[op];
  }
  /// Operators that read a large tensor that `op` reads.
  llvm::ArrayRef<OperatorId> sharers(OperatorId op) const {
    return graph.sharers[op];
  }
  bool precedes(OperatorId first, OperatorId second) const {
    return descendants[first].test(second);
  }
  /// True if no group of several holds `op`.
  bool runsAlone(OperatorId op) const { return alone.test(op); }
  /// The operators that run alone and wait for nothing else.
  Step start() const;
  /// `ideal` with `members`, and then with all that runs alone and waits for
  /// nothing more. To run it at once loses nothing: any order of groups stays
  /// one if what is ready moves forward.
  Step extend(const Ideal &ideal, llvm::ArrayRef<OperatorId> members) const;
  /// The number of operators behind `op` that do not depend on it.
  size_t countIndependent(OperatorId op) const {
    return size() - 1 - op - descendants[op].count();
  }
  /// Operators that may be in a group with `op`: the group would hold all
  /// operators on paths between both.
  llvm::ArrayRef<OperatorId> reach(OperatorId op);
  /// False once an operator could be in a group with too many.
  bool isComplete() const { return graph.isComplete && !wasCut; }

private:
  GroupMembers getHull(OperatorId first, OperatorId second) const;
  void addReadyAlone(Step &step, GroupMembers candidates) const;

  const SearchGraph &graph;
  GroupPricer &pricer;
  const PartitionLimits &limits;
  std::vector<llvm::BitVector> descendants;
  llvm::BitVector alone;
  std::vector<std::optional<GroupMembers>> reached;
  bool wasCut = false;
};

/// A group that an ideal can be extended by.
struct FoundGroup {
  /// In ExtensionFinder::sets.
  unsigned set = 0;
  /// What it takes at least.
  double seconds = 0;
};

/// Finds the groups that an ideal has to be extended by, those first that save
/// most by their bounds.
class ExtensionFinder {
public:
  ExtensionFinder(Neighbourhood &neighbours, GroupPricer &pricer,
                  const PartitionLimits &limits);

  /// Legal groups; with each, the union with `ideal` is an ideal. They stay
  /// until the next call. Looks at sets of no more than `mostWork` operators in
  /// all, and at the first missing operator alone in any case.
  const std::vector<FoundGroup> &find(const Ideal &ideal, size_t mostWork);
  llvm::ArrayRef<OperatorId> membersOf(FoundGroup group) const {
    return sets[group.set];
  }
  /// Operators of the sets that the last call looked at.
  size_t getWork() const { return work; }
  /// What an operator takes at least by itself.
  double aloneSeconds(OperatorId op) const { return alone[op]; }
  /// False once some ideal had more extensions than the limits allow.
  bool isComplete() const { return !wasCut; }

private:
  /// A set that may become a larger group.
  struct Growing {
    /// Seconds that it saves.
    double savings = 0;
    unsigned set = 0;

    bool operator<(const Growing &other) const {
      return std::tie(savings, set) < std::tie(other.savings, other.set);
    }
  };

  GroupMembers findAwaited(const Ideal &ideal);
  void addMissingAncestors(const Ideal &ideal, OperatorId op,
                           GroupMembers &members) const;
  void grow(const Ideal &ideal, OperatorId seed,
            std::optional<OperatorId> excluded);
  void growBy(const Ideal &ideal, OperatorId op, const GroupMembers &members,
              std::optional<OperatorId> excluded);
  void visit(llvm::ArrayRef<OperatorId> members,
             std::optional<OperatorId> excluded);

  Neighbourhood &neighbours;
  GroupPricer &pricer;
  const PartitionLimits &limits;
  std::vector<double> alone;
  GroupTable sets;
  std::vector<FoundGroup> found;
  std::priority_queue<Growing> open;
  size_t work = 0, mostWork = 0;
  bool wasCut = false;
};

} // namespace chimera::model

#endif // CHIMERA_LIB_MODEL_GRAPH_IDEALSEARCH_H
