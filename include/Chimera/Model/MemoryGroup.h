//===- MemoryGroup.h - Operators that share loops over rows -----*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators that wait for memory run as one group if they can share loops over
// rows: neighbouring dimensions of what the last one makes. Each makes, in one
// iteration, what the next needs in the same, so that what lies between stays
// close to the core. What a group costs depends on its members alone: tensors
// that outgrow a level come from outside of it, whoever touched them before.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_MODEL_MEMORYGROUP_H
#define CHIMERA_MODEL_MEMORYGROUP_H

#include "Chimera/Model/Machine.h"
#include "Chimera/Model/Partition.h"
#include "Chimera/Model/RowTiling.h"

namespace chimera::model {

/// Why operators cannot share loops over rows.
enum class GroupRefusal {
  None,
  /// One of them is opaque.
  Opaque,
  /// One is a product or convolution, which chains are made of.
  Product,
  /// One only looks at a tensor under other indices, and does nothing.
  View,
  /// More than one of them makes nothing for the others.
  SeveralEnds,
  /// One turns columns into rows, which takes square tiles of its own.
  Turned,
  /// One makes something of which the rows are no rows of the end.
  NoCommonRows,
};

/// The reason in words, to follow "not one group: ".
llvm::StringRef describe(GroupRefusal refusal);

/// How a group runs, and what that costs.
struct MemoryGroup {
  /// The last operator.
  OperatorId end = 0;
  /// The dimensions of the end's last output that are loops over rows: the
  /// first one and their number, which is 0 of an operator that runs whole.
  unsigned firstDim = 0, numDims = 0;
  double seconds = 0;
  /// Bytes that a task touches of what depends on its rows.
  double taskBytes = 0;
  /// Bytes between memory and the outermost level: with each tensor read or
  /// written once, and in this group.
  double compulsoryBytes = 0, bytes = 0;
};

/// Finds out how operators of a graph run as groups. A graph keeps its
/// addresses while it is in use.
class MemoryGroupPlanner {
public:
  /// For `threads` threads of `machine`.
  MemoryGroupPlanner(const OperatorGraph &graph, const Machine &machine,
                     int64_t threads)
      : graph(graph), machine(machine), threads(threads), uses(graph) {}

  /// The cheapest way to run `members`, in ascending order, as one group. None
  /// if there is no way: then `refusal` says why.
  std::optional<MemoryGroup> plan(llvm::ArrayRef<OperatorId> members,
                                  GroupRefusal *refusal = nullptr) const;

  /// Seconds that the traffic with the outside and the arithmetic take at
  /// least, in whatever way `members` run.
  double bound(llvm::ArrayRef<OperatorId> members) const;

  const GraphUses &getUses() const { return uses; }

private:
  struct Traffic;
  /// What the code does at a time.
  struct Task {
    /// Bytes that it touches of all tensors that depend on the loops over rows.
    double bytes = 0;
    /// Cycles of all tasks beside those of vectors.
    double startCycles = 0;
  };

  Traffic getTraffic(llvm::ArrayRef<OperatorId> members) const;
  GroupRefusal findRefusal(llvm::ArrayRef<OperatorId> members) const;
  std::optional<OperatorId> findEnd(llvm::ArrayRef<OperatorId> members) const;
  bool cutsRows(llvm::ArrayRef<OperatorId> members,
                const MemoryGroup &group) const;
  double countSteps(const MemoryGroup &group) const;
  RowGroup getRowGroup(llvm::ArrayRef<OperatorId> members,
                       const MemoryGroup &group) const;
  double getSliceBytes(llvm::ArrayRef<OperatorId> members, double steps) const;
  Task getTask(llvm::ArrayRef<OperatorId> members, const RowGroup &rows,
               double steps, int64_t workers) const;
  double getSeconds(llvm::ArrayRef<OperatorId> members, const Task &task,
                    int64_t workers) const;
  void takeIfFaster(llvm::ArrayRef<OperatorId> members, MemoryGroup group,
                    MemoryGroup &best) const;
  double getCycles(llvm::ArrayRef<OperatorId> members, bool isBound) const;

  const OperatorGraph &graph;
  const Machine &machine;
  int64_t threads;
  GraphUses uses;
};

/// Prices groups of `MemoryGroupPlanner`. Products, opaque operators and views
/// run by themselves.
class MemoryGroupPricer : public GroupPricer {
public:
  MemoryGroupPricer(const OperatorGraph &graph, const Machine &machine,
                    int64_t threads);

  bool mayGrow(llvm::ArrayRef<OperatorId> members) override;
  bool isLegal(llvm::ArrayRef<OperatorId> members) override;
  double bound(llvm::ArrayRef<OperatorId> members) override;
  double cost(llvm::ArrayRef<OperatorId> members) override;

  const MemoryGroupPlanner &getPlanner() const { return planner; }

  /// Operators of one group, beside which a launch and another pass over memory
  /// cost next to nothing. It keeps the search linear in long programs.
  static constexpr size_t mostMembers = 64;

private:
  const OperatorGraph &graph;
  MemoryGroupPlanner planner;
  /// By operator: no group of several holds it.
  llvm::SmallVector<bool, 0> alone;
};

/// True if `op` only looks at a tensor under other indices: nothing moves.
bool isView(const GraphOperator &op);

} // namespace chimera::model

#endif // CHIMERA_MODEL_MEMORYGROUP_H
