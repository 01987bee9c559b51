//===- Families.h - The closed forms of one level ---------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_MODEL_CLOSEDFORM_FAMILIES_H
#define CHIMERA_LIB_MODEL_CLOSEDFORM_FAMILIES_H

#include "ClosedForm/TreeForm.h"

namespace chimera::model {

/// A family of orders: what stays where it is, and the loops from the outside
/// in. Loops that it does not name are whole.
struct OrderFamily {
  llvm::StringRef name;
  llvm::SmallVector<LoopId, 4> loops;
};

/// The families of `problem` without loops of one iteration, in the order of
/// docs/model.md; none if it has no closed form.
llvm::SmallVector<OrderFamily, 9> familiesOf(const ChainProblem &problem);

/// The loops that index every tensor.
llvm::SmallVector<LoopId, 4> batchLoopsOf(const ChainProblem &problem);

/// Finds the closed forms of one level.
class FamilySearch {
public:
  /// Searches level `level` of `schedule`; what the level's order holds already
  /// stays in front.
  FamilySearch(const ChainStructure &structure, const Schedule &schedule,
               unsigned level, int64_t capacityBytes, const Transfer &transfer,
               const TileLimits &limits);

  /// The closed form of `family`, or nothing if it does not fit or more than
  /// two loops decide.
  std::optional<ClosedForm> solve(const OrderFamily &family);
  /// The `most` of `families` that move least once their tiles are rounded,
  /// best first. Families are rounded by rising real volume, which rules out
  /// those that follow.
  llvm::SmallVector<ClosedForm, 3> best(llvm::ArrayRef<OrderFamily> families,
                                        size_t most);

private:
  /// An order with the real tiles that are best for it.
  struct Tree {
    llvm::SmallVector<LoopId, 4> loops;
    OrderFormula formula;
    /// The places of the loops whose trips volumes count; the others are free.
    llvm::SmallVector<unsigned, 2> weighted;
    TwoTileOptimum optimum;
  };

  std::optional<Tree> makeTree(llvm::ArrayRef<LoopId> loops);
  ClosedForm inReals(const OrderFamily &family, const Tree &tree) const;
  bool round(const Tree &tree, ClosedForm &result);
  void widenFreeLoops(const Tree &tree, ClosedForm &result);
  const UsefulTiles &usefulTiles(LoopId loop);

  const ChainStructure &structure;
  const ChainProblem &problem;
  Schedule schedule;
  unsigned level;
  int64_t capacityBytes;
  Transfer transfer;
  TileLimits limits;
  WindowTable windows;
  llvm::SmallVector<int64_t, 8> size;
  llvm::SmallVector<std::optional<UsefulTiles>, 8> useful;
};

} // namespace chimera::model

#endif // CHIMERA_LIB_MODEL_CLOSEDFORM_FAMILIES_H
