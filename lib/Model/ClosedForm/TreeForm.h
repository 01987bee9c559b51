//===- TreeForm.h - The form of two loops of a tree -------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the formula of a tree comes to if all but two of its loops have their
// tiles, and from there to whole tiles.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_MODEL_CLOSEDFORM_TREEFORM_H
#define CHIMERA_LIB_MODEL_CLOSEDFORM_TREEFORM_H

#include "Volume/OrderFormula.h"
#include "Volume/UsefulTiles.h"

#include "Chimera/Model/ClosedForm.h"

namespace chimera::model {

/// Adds to `form`, whose loops and capacity are given, what the sums `volume`
/// and `live` say of the loops numbered `first` and `second`. The others make
/// `trips`, where volume counts, and have `tiles`, where room does; a number
/// that no loop has stands for a loop of one trip.
///
/// A lower bound: no whole tiles up to the largest of each loop move less than
/// the real ones. Trips are no fewer than extent / tile, also inside other
/// levels; tiles may be any number in between; and where trips are multiplied
/// with each other, t1 t2 >= u1 t2 + u2 t1 - u1 u2 with u the fewest trips of
/// each. It is a lower bound for all tiles of the other loops if `trips` are
/// their fewest and `tiles` their smallest, since volume grows with every trip
/// and the live set with every tile.
void addTerms(TwoTileForm &form, llvm::ArrayRef<Monomial> volume,
              llvm::ArrayRef<llvm::SmallVector<Monomial, 6>> live,
              unsigned first, unsigned second, const SubsetProducts &trips,
              const SubsetProducts &tiles);

/// The best whole tiles next to real ones, by their places among the useful.
struct RoundedTiles {
  size_t first = 0, second = 0;
  int64_t bytes = 0;
};

/// Tries the useful tile above and the one below the best real tile of each
/// loop, with the largest of the other that fits beside it. `bytesOf` gives the
/// volume, `fits` says whether the live set has room; the latter holds for all
/// smaller tiles, too. Nothing if none fits.
std::optional<RoundedTiles>
roundToNeighbours(const TwoTileOptimum &optimum, const UsefulTiles &first,
                  const UsefulTiles &second,
                  llvm::function_ref<bool(size_t, size_t)> fits,
                  llvm::function_ref<int64_t(size_t, size_t)> bytesOf);

} // namespace chimera::model

#endif // CHIMERA_LIB_MODEL_CLOSEDFORM_TREEFORM_H
