//===- WordPanels.h - Words of codes for a few rows -------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels for a few rows multiply the fields of words where they are. How many
// vectors of words they take at once is for them and for the search to agree
// on: panels of another width come from memory in pieces.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_MODEL_WORDPANELS_H
#define CHIMERA_MODEL_WORDPANELS_H

#include "Chimera/Model/Problem.h"
#include "Chimera/Model/Schedule.h"

namespace chimera::model {

struct WordPanel {
  /// Vectors of words that are read at once.
  int64_t vectors = 0;
  /// Sums of each row and vector that fields are added to by turns.
  int64_t sets = 1;
};

/// The panels of a kernel for `rows` rows with the registers of `tile`, which
/// hold words, sums, the elements of the rows and what is on its way between
/// them. No vectors if these are not few rows: what is done once for each costs
/// as much as what is done for each vector.
WordPanel panelOfWords(const RegisterTile &tile, int64_t rows);

/// The same for `op`; no vectors if it does not read words for a few rows.
WordPanel panelOfWords(const ChainProblem &problem, const Operator &op,
                       const RegisterTile &tile);

} // namespace chimera::model

#endif // CHIMERA_MODEL_WORDPANELS_H
