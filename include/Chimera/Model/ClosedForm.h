//===- ClosedForm.h - Tiles of two loops from formulas ----------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For two contractions in a row, C = A * B and E = C * D, nine families of
// orders matter, and for one contraction three. In each of them the volume
// falls with the tiles of two loops, and the live set grows with them, so that
// the best tiles in reals follow from the conditions of Karush, Kuhn and Tucker
// (equation 1 of the Chimera paper, HPCA 2023, whose closed form is one case;
// docs/model.md derives all). Rounded to neighbours that fit, they are a plan
// that takes microseconds to find and is mostly close to the best. Everything
// is in bytes, and tiles are in iterations.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_MODEL_CLOSEDFORM_H
#define CHIMERA_MODEL_CLOSEDFORM_H

#include "Chimera/Model/Machine.h"
#include "Chimera/Model/Schedule.h"

#include <optional>
#include <string>

namespace chimera::model {

//===----------------------------------------------------------------------===//
// Two tiles in reals
//===----------------------------------------------------------------------===//

/// The volume constantBytes + sum of bytesPerTrip * extent / tile of two loops,
/// where in each phase
///
///   perFirst * T1 + perSecond * T2 + perBoth * T1 * T2 + rest <= capacityBytes
struct TwoTileForm {
  struct Loop {
    /// Iterations; the least and the largest tile.
    double extent = 1, leastTile = 1, mostTile = 1;
    double bytesPerTrip = 0;
  };
  struct Phase {
    double perFirst = 0, perSecond = 0, perBoth = 0, rest = 0;
  };

  Loop first, second;
  double constantBytes = 0;
  /// One for each operator.
  llvm::SmallVector<Phase, 3> phases;
  double capacityBytes = 0;
};

struct TwoTileOptimum {
  double firstTile = 1, secondTile = 1;
  double bytes = 0;
};

/// The tiles with the least volume, exactly (up to rounding of doubles), or
/// nothing if the least tiles do not fit.
std::optional<TwoTileOptimum> minimize(const TwoTileForm &form);

//===----------------------------------------------------------------------===//
// Families of orders
//===----------------------------------------------------------------------===//

/// What a family of orders makes of a level.
struct ClosedForm {
  /// What stays where it is: "A and E stay", "tiles of C". Tensors are named
  /// as above, or A, B and C for one contraction.
  std::string family;
  /// The loops that decide, with their best tiles in reals, and the volume with
  /// these: what the family can reach at best.
  llvm::SmallVector<std::pair<LoopId, double>, 2> realTiles;
  double realBytes = 0;
  /// The tiles rounded to neighbours that fit, what they move, and what they
  /// need. Loops that are whole are left out; a batch goes outermost, an item
  /// at a time.
  llvm::SmallVector<TiledLoop, 6> order;
  int64_t bytes = 0, liveBytes = 0;
};

/// True if there are closed forms for `problem`: it is one contraction, or two
/// in a row, of tensors that are indexed by loops alone. Beside a batch each
/// loop has one of the parts that m, l, k and n have in two products.
bool hasClosedForm(const ChainProblem &problem);
/// The same for plans on `machine`: programs that move data by themselves or
/// hold it in registers of threads have room that the forms do not know.
bool hasClosedForm(const ChainProblem &problem, const Machine &machine);

/// The closed form with the least volume after rounding for a single level of
/// `usableBytes`; `granularity` is the smallest tile of each loop. Nothing if
/// there is none, or none fits.
std::optional<ClosedForm> solveClosedForm(const ChainProblem &problem,
                                          int64_t usableBytes,
                                          llvm::ArrayRef<int64_t> granularity);

/// Those of all families that fit, in the order of docs/model.md.
llvm::SmallVector<ClosedForm, 9>
solveClosedForms(const ChainProblem &problem, int64_t usableBytes,
                 llvm::ArrayRef<int64_t> granularity);

} // namespace chimera::model

#endif // CHIMERA_MODEL_CLOSEDFORM_H
