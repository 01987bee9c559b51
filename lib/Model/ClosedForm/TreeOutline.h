//===- TreeOutline.h - What a tree moves and holds at least -----*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The formula of a tree takes ten microseconds. Most trees are so much worse
// than the best that a glance at their order shows it: which loops replace
// which tensor, and what the operators' own tiles take.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_MODEL_CLOSEDFORM_TREEOUTLINE_H
#define CHIMERA_LIB_MODEL_CLOSEDFORM_TREEOUTLINE_H

#include "Volume/OrderFormula.h"

namespace chimera::model {

/// Sums that volume and live sets are no less than, over the trips and tiles of
/// the loops of an order by their places.
struct TreeOutline {
  llvm::SmallVector<Monomial, 6> volume;
  llvm::SmallVector<llvm::SmallVector<Monomial, 6>, 3> live;
};

/// The outline of level `level` of `schedule` with the loops of `order` at its
/// end, if `left` is what is left of each loop by what the schedule holds
/// already. Of products of tensors that are indexed by loops alone:
///
/// - An input comes in once for each trip of the loops around its operator that
///   do not index it and have one that does inside; one that several operators
///   read counts for the first. An output goes out as often, and comes back
///   once less, unless its reduction may be split. Loops of other levels, loops
///   around operators that they do not concern, epilogues, states and
///   intermediates can only add to that, and so can units.
/// - While an operator runs, the tiles that it reads and writes are there, each
///   as large as its loops leave it. An intermediate whose home is further
///   inside counts nothing, nor do results where the level holds none.
TreeOutline outlineOf(const ChainProblem &problem, const Schedule &schedule,
                      unsigned level, const Transfer &transfer,
                      llvm::ArrayRef<TiledLoop> order,
                      llvm::ArrayRef<int64_t> left);

} // namespace chimera::model

#endif // CHIMERA_LIB_MODEL_CLOSEDFORM_TREEOUTLINE_H
