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

#include <unordered_map>
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

/// Dependences of a graph, and who may be in a group with whom.
class Neighbourhood {
public:
  Neighbourhood(const OperatorGraph &graph, GroupPricer &pricer,
                const PartitionLimits &limits);

  size_t size() const { return uses.before.size(); }
  llvm::ArrayRef<OperatorId> before(OperatorId op) const {
    return uses.before[op];
  }
  llvm::ArrayRef<OperatorId> after(OperatorId op) const {
    return uses.after[op];
  }
  /// Operators that read a large tensor that `op` reads.
  llvm::ArrayRef<OperatorId> sharers(OperatorId op) const {
    return sharersOf[op];
  }
  bool precedes(OperatorId first, OperatorId second) const {
    return ancestors[second].test(first);
  }
  /// Operators that may be in a group with `op`: the group would hold all
  /// operators on paths between both.
  llvm::ArrayRef<OperatorId> reach(OperatorId op);
  /// True if dependences and shared tensors join all of `members`.
  bool isConnected(llvm::ArrayRef<OperatorId> members) const;

private:
  GroupMembers getHull(OperatorId first, OperatorId second) const;

  GroupPricer &pricer;
  GraphUses uses;
  std::vector<GroupMembers> sharersOf;
  std::vector<llvm::BitVector> ancestors;
  std::vector<std::optional<GroupMembers>> reached;
};

/// Finds the groups that an ideal has to be extended by.
class ExtensionFinder {
public:
  ExtensionFinder(Neighbourhood &neighbours, GroupPricer &pricer,
                  const PartitionLimits &limits)
      : neighbours(neighbours), pricer(pricer), limits(limits) {}

  /// Legal groups; with each, the union with `ideal` is an ideal.
  std::vector<GroupMembers> find(const Ideal &ideal);
  /// False once some ideal had more extensions than the limit.
  bool isComplete() const { return !wasCut; }

private:
  GroupMembers findAwaited(const Ideal &ideal);
  void addMissingAncestors(const Ideal &ideal, OperatorId op,
                           GroupMembers &members) const;
  void grow(const Ideal &ideal, OperatorId seed,
            std::optional<OperatorId> excluded,
            std::vector<GroupMembers> &found);

  Neighbourhood &neighbours;
  GroupPricer &pricer;
  const PartitionLimits &limits;
  std::unordered_set<GroupMembers, HashMembers> seen;
  bool wasCut = false;
};

} // namespace chimera::model

#endif // CHIMERA_LIB_MODEL_GRAPH_IDEALSEARCH_H
