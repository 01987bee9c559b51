//===- CanonicalOrder.h - An order that programs do not choose  -*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programs that differ in the order of operators alone get one order, so that
// what is found does not depend on theirs. It also keeps ideals narrow: a
// branch is followed to its end before another begins, and what runs alone
// comes at once, so that no branch stops halfway to wait for it.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_MODEL_GRAPH_CANONICALORDER_H
#define CHIMERA_LIB_MODEL_GRAPH_CANONICALORDER_H

#include "Chimera/Model/Partition.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <vector>

namespace chimera::model {

/// The operators of `graph`, each behind those that it reads from. What
/// `runsAlone`, in a group of its own, comes as soon as it can.
std::vector<OperatorId>
orderCanonically(const OperatorGraph &graph,
                 llvm::function_ref<bool(OperatorId)> runsAlone);

/// The graph with its operators in another order.
OperatorGraph reorder(const OperatorGraph &graph,
                      llvm::ArrayRef<OperatorId> order);

/// Prices groups of blocks of operators: what stands for one operator in the
/// search is a block of them in the program.
class BlockPricer : public GroupPricer {
public:
  BlockPricer(GroupPricer &pricer, std::vector<GroupMembers> blocks)
      : pricer(pricer), blocks(std::move(blocks)) {}

  bool mayGrow(llvm::ArrayRef<OperatorId> members) override {
    return pricer.mayGrow(expand(members));
  }
  bool isLegal(llvm::ArrayRef<OperatorId> members) override {
    return pricer.isLegal(expand(members));
  }
  double bound(llvm::ArrayRef<OperatorId> members) override {
    return pricer.bound(expand(members));
  }
  double cost(llvm::ArrayRef<OperatorId> members) override {
    return pricer.cost(expand(members));
  }
  /// The operators of `members`.
  GroupMembers expand(llvm::ArrayRef<OperatorId> members) const;

private:
  GroupPricer &pricer;
  std::vector<GroupMembers> blocks;
};

} // namespace chimera::model

#endif // CHIMERA_LIB_MODEL_GRAPH_CANONICALORDER_H
