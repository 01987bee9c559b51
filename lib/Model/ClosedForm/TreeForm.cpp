//===- TreeForm.cpp - The form of two loops of a tree ---------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ClosedForm/TreeForm.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace llvm;
using namespace chimera::model;

void chimera::model::addTerms(TwoTileForm &form, ArrayRef<Monomial> volume,
                              ArrayRef<SmallVector<Monomial, 6>> live,
                              unsigned first, unsigned second,
                              const SubsetProducts &trips,
                              const SubsetProducts &tiles) {
  LoopSet left = bitOf(first), right = bitOf(second), both = left | right;
  double perBothTrips = 0;
  for (const Monomial &term : volume) {
    double bytes = double(term.factor) * trips[term.loops & ~both];
    LoopSet counted = term.loops & both;
    (counted == both    ? perBothTrips
     : counted == left  ? form.first.bytesPerTrip
     : counted == right ? form.second.bytesPerTrip
                        : form.constantBytes) += bytes;
  }
  double fewestFirst = form.first.extent / form.first.mostTile,
         fewestSecond = form.second.extent / form.second.mostTile;
  form.first.bytesPerTrip += perBothTrips * fewestSecond;
  form.second.bytesPerTrip += perBothTrips * fewestFirst;
  form.constantBytes -= perBothTrips * fewestFirst * fewestSecond;
  for (ArrayRef<Monomial> terms : live) {
    TwoTileForm::Phase &phase = form.phases.emplace_back();
    for (const Monomial &term : terms) {
      double bytes = double(term.factor) * tiles[term.loops & ~both];
      LoopSet held = term.loops & both;
      (held == both    ? phase.perBoth
       : held == left  ? phase.perFirst
       : held == right ? phase.perSecond
                       : phase.rest) += bytes;
    }
  }
}

namespace {

/// The places of the useful tiles around `real`.
SmallVector<size_t, 2> neighboursOf(double real, const UsefulTiles &useful) {
  size_t below = llvm::partition_point(
                     useful.tiles, [&](int64_t tile) { return tile > real; }) -
                 useful.tiles.begin();
  SmallVector<size_t, 2> places;
  if (below > 0)
    places.push_back(below - 1);
  if (below < useful.size())
    places.push_back(below);
  return places;
}

} // namespace

std::optional<RoundedTiles> chimera::model::roundToNeighbours(
    const TwoTileOptimum &optimum, const UsefulTiles &first,
    const UsefulTiles &second, function_ref<bool(size_t, size_t)> fits,
    function_ref<int64_t(size_t, size_t)> bytesOf) {
  std::optional<RoundedTiles> best;
  auto consider = [&](size_t left, size_t right) {
    if (left == first.size() || right == second.size())
      return;
    int64_t bytes = bytesOf(left, right);
    if (!best || bytes < best->bytes)
      best = RoundedTiles{left, right, bytes};
  };
  for (size_t place : neighboursOf(optimum.firstTile, first))
    consider(place,
             *partition_point(seq<size_t>(0, second.size()), [&](size_t other) {
               return !fits(place, other);
             }));
  for (size_t place : neighboursOf(optimum.secondTile, second))
    consider(
        *partition_point(seq<size_t>(0, first.size()),
                         [&](size_t other) { return !fits(other, place); }),
        place);
  return best;
}
