//===- UsefulTiles.h - Tiles worth trying -----------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_MODEL_VOLUME_USEFULTILES_H
#define CHIMERA_LIB_MODEL_VOLUME_USEFULTILES_H

#include "Chimera/Model/Schedule.h"

namespace chimera::model {

/// Tiles of a loop, largest first, and the trips that each makes.
struct UsefulTiles {
  llvm::SmallVector<int64_t, 16> tiles, trips;

  bool empty() const { return tiles.empty(); }
  size_t size() const { return tiles.size(); }
};

/// The tiles that a level may have.
struct TileLimits {
  /// The smallest tile of each loop, and what its tiles are multiples of; no
  /// alignment: of anything.
  llvm::ArrayRef<int64_t> granularity, alignment;

  int64_t unitOf(LoopId loop) const {
    return alignment.empty() ? 1 : alignment[loop];
  }
};

/// The smallest tile for every number of trips above one that level `level` of
/// `schedule` can give `loop`, of which the levels outside leave `whole`: only
/// trips count for volumes, and smaller tiles take less room.
UsefulTiles findUsefulTiles(const ChainProblem &problem,
                            const Schedule &schedule, unsigned level,
                            LoopId loop, int64_t whole,
                            const TileLimits &limits);

} // namespace chimera::model

#endif // CHIMERA_LIB_MODEL_VOLUME_USEFULTILES_H
