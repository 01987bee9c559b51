//===- UsefulTiles.cpp - Tiles worth trying -------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Volume/UsefulTiles.h"
#include "Volume/OrderFormula.h"

#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace chimera::model;

UsefulTiles chimera::model::findUsefulTiles(const ChainProblem &problem,
                                            const Schedule &schedule,
                                            unsigned level, LoopId loop,
                                            int64_t whole,
                                            const TileLimits &limits) {
  UsefulTiles useful;
  int64_t last = whole, unit = limits.unitOf(loop);
  int64_t least = limits.granularity[loop];
  for (int64_t trips = 2; last > least;) {
    int64_t tile = alignTo(divideCeilSigned(whole, trips), unit);
    tile = std::max(tile, least);
    if (tile < last) {
      useful.tiles.push_back(tile);
      useful.trips.push_back(countTrips(problem, schedule, level, loop, tile));
      last = tile;
    }
    if (last == 1 || last <= unit)
      break;
    // The next number of trips that a smaller tile can make.
    trips = std::max(trips + 1, divideCeilSigned(whole, last - 1));
  }
  return useful;
}
