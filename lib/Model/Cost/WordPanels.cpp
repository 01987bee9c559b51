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

WordPanel chimera::model::panelOfDigits(const RegisterTile &tile) {
  constexpr int64_t places = 4;
  int64_t registers = tile.rows * tile.vectors + tile.vectors + tile.broadcasts;
  // Digits and what fields are selected by take a register each.
  int64_t vectors = (registers - 2) / (places + 1);
  return {std::max<int64_t>(1, vectors), places};
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

bool chimera::model::multipliesDigits(const Operator &op,
                                      const VectorUnit &unit, int64_t rows) {
  return rows == 1 && unit.hasByteDots && op.digitInstructions > 0;
}

int64_t chimera::model::vectorsOfWords(const ChainProblem &problem,
                                       const Operator &op,
                                       const VectorUnit &unit,
                                       const RegisterTile &tile) {
  // In groups of 32, blocks of one panel took 12 % longer and of two 4 % (Zen
  // 4).
  constexpr int64_t panelsOfDigits = 4;
  bool hasRows = op.rowLoop != op.vectorLoop;
  if (!readsWords(problem, op) || (hasRows && problem.loops[op.rowLoop].isOpen))
    return 0;
  int64_t rows = hasRows ? problem.loops[op.rowLoop].extent : 1;
  if (multipliesDigits(op, unit, rows))
    return panelsOfDigits * panelOfDigits(tile).vectors;
  return rows <= tile.rows ? panelOfWords(tile, rows).vectors : 0;
}
