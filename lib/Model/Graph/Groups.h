//===- Groups.h - Groups of a partition while it is made ------ -*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which operator is in which group, whether groups wait for each other, and in
// which order they can run.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_MODEL_GRAPH_GROUPS_H
#define CHIMERA_LIB_MODEL_GRAPH_GROUPS_H

#include "Chimera/Model/Partition.h"

#include <vector>

namespace chimera::model {

/// Operators in groups, each by itself at first.
class Groups {
public:
  explicit Groups(const GraphUses &uses);

  /// The first operator of a group stands for it.
  OperatorId groupOf(OperatorId op) const { return leader[op]; }
  llvm::ArrayRef<OperatorId> membersOf(OperatorId op) const {
    return members[leader[op]];
  }
  bool isAlone(OperatorId op) const { return membersOf(op).size() == 1; }
  /// All operators of the groups of `ops`.
  GroupMembers unite(llvm::ArrayRef<OperatorId> ops) const;
  /// True if as one group the groups of `ops` would have to run before and
  /// after some other group.
  bool makeCycle(llvm::ArrayRef<OperatorId> ops) const;
  void merge(llvm::ArrayRef<OperatorId> ops);
  /// The group of each operator, numbered in the order of first operators.
  std::vector<unsigned> number() const;
  /// The group of each operator, numbered in an order in which they can run.
  std::vector<unsigned> numberInOrder() const;
  /// The groups in an order in which they can run, with what they take. Groups
  /// that turn out not to be able to run are taken apart.
  Partition price(GroupPricer &pricer) const;

private:
  std::vector<OperatorId> sort() const;

  const GraphUses *uses;
  std::vector<OperatorId> leader;
  std::vector<GroupMembers> members;
};

} // namespace chimera::model

#endif // CHIMERA_LIB_MODEL_GRAPH_GROUPS_H
