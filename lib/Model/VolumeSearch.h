//===- VolumeSearch.h - Orders and tiles with least volume ------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One level at a time: given the levels outside, which orders are there, and
// which tiles move the least through this level?
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_MODEL_VOLUMESEARCH_H
#define CHIMERA_LIB_MODEL_VOLUMESEARCH_H

#include "Chimera/Model/Algorithms.h"

#include <limits>
#include <vector>

namespace chimera::model {

using LoopOrder = llvm::SmallVector<LoopId, 6>;

/// Every sequence of some of `loops` at the end of level `level`, one for each
/// distinct loop tree. The empty sequence comes first.
std::vector<LoopOrder> enumerateOrders(const ChainProblem &problem,
                                       const Schedule &schedule, unsigned level,
                                       llvm::ArrayRef<LoopId> loops);

struct LevelChoice {
  llvm::SmallVector<TiledLoop, 6> order;
  int64_t volumeBytes = std::numeric_limits<int64_t>::max();
  /// Settles ties between choices; whoever collects them numbers them.
  size_t index = 0;
};

/// Finds the tiles with least volume for the orders of one level.
class VolumeSearch {
public:
  /// Searches level `level` of `schedule`; what the level's order holds already
  /// stays in front. No tile is smaller than the loop's `granularity`, and each
  /// is a multiple of its `alignment`, if that is given.
  VolumeSearch(const ChainProblem &problem, const Schedule &schedule,
               unsigned level, int64_t capacityBytes,
               llvm::ArrayRef<int64_t> granularity,
               llvm::ArrayRef<int64_t> alignment = {});

  /// The tiles for `order` that fit and move less than `bound` bytes, or
  /// nothing.
  std::optional<LevelChoice> best(llvm::ArrayRef<LoopId> order, int64_t bound);

private:
  struct Candidate {
    TiledLoop *entry = nullptr;
    /// Useful tiles, largest first.
    llvm::SmallVector<int64_t, 16> tiles;
    bool isFree = false;
  };

  llvm::SmallVector<int64_t, 16> usefulTiles(LoopId loop) const;
  Evaluation evaluateNow() const;
  bool fits() const;
  void findFreeLoops();
  void search(llvm::MutableArrayRef<Candidate> weighted);
  void searchLast(Candidate &candidate);
  void widenFreeLoops();
  void record(int64_t volume);

  const ChainProblem &problem;
  Schedule schedule;
  unsigned level;
  int64_t capacityBytes;
  llvm::ArrayRef<int64_t> granularity, alignment;
  llvm::SmallVector<int64_t, 6> size;
  llvm::SmallVector<TiledLoop, 6> prefix;
  std::vector<Candidate> candidates;
  LevelChoice found;
};

} // namespace chimera::model

#endif // CHIMERA_LIB_MODEL_VOLUMESEARCH_H
