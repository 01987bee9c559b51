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

#include "Chimera/Model/Machine.h"
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

/// The panels of a kernel for one row of digits, of which each place has a sum.
WordPanel panelOfDigits(const RegisterTile &tile);

/// True if kernels on `unit` multiply `rows` rows of `op` as digits: a single
/// one, which has nobody to share decoded factors with.
bool multipliesDigits(const Operator &op, const VectorUnit &unit, int64_t rows);

/// The most vectors of words that blocks of `op` are to have, if it reads words
/// for a few rows, else 0. Each block makes digits anew, so blocks of digits
/// have several panels.
int64_t vectorsOfWords(const ChainProblem &problem, const Operator &op,
                       const VectorUnit &unit, const RegisterTile &tile);

} // namespace chimera::model

#endif // CHIMERA_MODEL_WORDPANELS_H
