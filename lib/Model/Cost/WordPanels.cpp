//===- WordPanels.cpp - Words of codes for a few rows ---------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/WordPanels.h"

#include "llvm/ADT/STLExtras.h"

using namespace chimera::model;

WordPanel chimera::model::panelOfWords(const RegisterTile &tile, int64_t rows) {
  // Two sums for each vector of a row, where there are not enough of them to
  // hide latencies.
  int64_t sets = rows == 1 ? 2 : 1;
  int64_t registers = tile.rows * tile.vectors + tile.vectors + tile.broadcasts;
  int64_t vectors = (registers - rows - 2) / (rows * sets + 1);
  if (vectors <= rows)
    return {};
  return {vectors, sets};
}

/// True if `op` finds the fields of words by a loop that the words do not have.
static bool readsWords(const ChainProblem &problem, const Operator &op) {
  auto codes = llvm::find_if(op.inputs, [&](const Access &input) {
    return input.hasLoop(op.vectorLoop);
  });
  return op.decodeInstructions > 0 && codes != op.inputs.end() &&
         llvm::any_of(op.loops, [&](LoopId loop) {
           return problem.loops[loop].isWhole && !codes->hasLoop(loop);
         });
}

WordPanel chimera::model::panelOfWords(const ChainProblem &problem,
                                       const Operator &op,
                                       const RegisterTile &tile) {
  bool hasRows = op.rowLoop != op.vectorLoop;
  if (!readsWords(problem, op) || (hasRows && problem.loops[op.rowLoop].isOpen))
    return {};
  int64_t rows = hasRows ? problem.loops[op.rowLoop].extent : 1;
  return rows <= tile.rows ? panelOfWords(tile, rows) : WordPanel();
}
