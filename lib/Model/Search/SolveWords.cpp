//===- SolveWords.cpp - Tiles for matrices of words -----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A few rows times a matrix of words take as long as reading the words. Panels
// as wide as what the kernel takes at once, one after the other, are read from
// the matrix's beginning to its end: one core of a Zen 5 guest reads words of
// bytes at 57 GB/s so, at 45 if it takes a part of each panel first, and at 25
// from wider panels, whose rows it reads in pieces.
//
//===----------------------------------------------------------------------===//

#include "Search/Solver.h"

#include "Chimera/Model/WordPanels.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace chimera::model;

/// The columns of panels of at most `most` vectors, the widest of which all
/// threads have about as many; 0 if there are none.
static int64_t chooseColumns(int64_t extent, int64_t lanes, int64_t most,
                             int64_t threads) {
  constexpr double mostUneven = 1.1;
  for (int64_t vectors = most; vectors > 0; --vectors) {
    int64_t panels = divideCeilSigned(extent, vectors * lanes);
    if (alignTo(panels, threads) <= mostUneven * panels)
      return vectors * lanes;
  }
  return 0;
}

std::optional<Schedule>
Solver::withPanelsOfWords(const Schedule &schedule) const {
  // Kernels of users, and sums that stay in registers, have their own tiles.
  if (problem.operators.size() != 1 || schedule.held ||
      !schedule.registerTile.kernel.empty())
    return std::nullopt;
  const Operator &op = problem.operators.front();
  LoopId loop = op.vectorLoop;
  const Access *operand = costModel.vectorOperand(op);
  int64_t vectors =
      vectorsOfWords(problem, op, machine.unit, schedule.registerTile);
  if (!operand || !problem.tensors[*operand].isConstant || vectors == 0)
    return std::nullopt;
  int64_t extent = problem.loops[loop].extent;
  int64_t columns = chooseColumns(extent, machine.unit.lanes, vectors, threads);
  if (columns == 0 || columns >= extent)
    return std::nullopt;
  Schedule inOrder = schedule;
  for (LevelSchedule &level : inOrder.levels)
    erase_if(level.order,
             [&](const TiledLoop &entry) { return entry.loop == loop; });
  auto &outermost = inOrder.levels.front().order;
  outermost.insert(outermost.begin(), TiledLoop{loop, columns});
  markParallel(inOrder);
  return inOrder;
}
