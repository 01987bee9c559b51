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

#ifndef CHIMERA_LIB_MODEL_SEARCH_VOLUMESEARCH_H
#define CHIMERA_LIB_MODEL_SEARCH_VOLUMESEARCH_H

#include "ClosedForm/TreeForm.h"
#include "ClosedForm/TreeOutline.h"
#include "Volume/OrderFormula.h"

#include "llvm/ADT/DenseMap.h"

#include <limits>
#include <memory>
#include <vector>

namespace chimera::model {

/// Loops with open tiles.
using LoopOrder = llvm::SmallVector<TiledLoop, 6>;
using LoopList = llvm::SmallVector<LoopId, 6>;

/// Every sequence of some of `loops` at the end of level `level`, one for each
/// distinct loop tree. The empty sequence comes first. Twins (see
/// ChainStructure) stay side by side. With `recompute`, loops that do not
/// concern all operators also go around all of them.
std::vector<LoopOrder> enumerateOrders(const ChainStructure &structure,
                                       const Schedule &schedule, unsigned level,
                                       llvm::ArrayRef<LoopId> loops,
                                       bool recompute = false);

struct LevelChoice {
  llvm::SmallVector<TiledLoop, 6> order;
  int64_t volumeBytes = std::numeric_limits<int64_t>::max();
  /// Settles ties between choices; whoever collects them numbers them.
  size_t index = 0;
};

/// The formulas of orders at the end of one level, for searches that differ in
/// what tiles they allow.
class LevelFormulas {
public:
  LevelFormulas(const ChainStructure &structure, const Schedule &schedule,
                unsigned level, const Transfer &transfer)
      : structure(structure), schedule(schedule), level(level),
        transfer(transfer), windows(structure) {}

  /// The formula of `order`, which stays where it is. Bit i of its sets stands
  /// for loop `loops[i]`, those of the order.
  OrderFormula &formulaOf(const LoopOrder &order, llvm::ArrayRef<LoopId> loops);
  /// Completes `formula`, the one of `order`, which has the volume alone at
  /// first: most orders move too much whatever they hold.
  void addLive(OrderFormula &formula, const LoopOrder &order,
               llvm::ArrayRef<LoopId> loops);

  const ChainStructure &structure;
  const Schedule schedule;
  const unsigned level;
  const Transfer transfer;
  WindowTable windows;

private:
  Schedule scheduleWith(const LoopOrder &order) const;

  llvm::DenseMap<const LoopOrder *, std::unique_ptr<OrderFormula>> formulas;
};

/// Finds the tiles with least volume for the orders of one level.
class VolumeSearch {
public:
  /// Searches the level of `formulas`; what its order holds already stays in
  /// front.
  VolumeSearch(LevelFormulas &formulas, int64_t capacityBytes,
               const TileLimits &limits);

  /// The tiles for `order` that fit and move less than `bound` bytes, or
  /// nothing.
  std::optional<LevelChoice> best(const LoopOrder &order, int64_t bound);

private:
  struct Candidate {
    TiledLoop entry;
    /// The loop's place in the order.
    unsigned place = 0;
    const UsefulTiles *useful = nullptr;
    bool isFree = false;
    /// True if no length of a window grows with the tile. It does if tiles
    /// take in what lies between windows that do not touch.
    bool isMonotone = true;
  };

  const UsefulTiles &usefulTiles(LoopId loop);
  void choose(const Candidate &candidate, size_t index);
  void setTile(unsigned place, int64_t tile);
  void chooseSmallest(const Candidate &candidate);
  int64_t findLeastValue(unsigned window);
  bool isMonotone(const Candidate &candidate);
  int64_t volumeNow();
  bool fits();
  void findFreeLoops();
  bool smallestFit(const LoopOrder &order);
  void search(llvm::ArrayRef<Candidate> weighted);
  bool canWinInReals(llvm::ArrayRef<Candidate> weighted);
  std::optional<TwoTileOptimum>
  bestInReals(llvm::ArrayRef<Monomial> volume,
              llvm::ArrayRef<llvm::SmallVector<Monomial, 6>> live,
              const Candidate &first, const Candidate &second,
              const SubsetProducts &trips, const SubsetProducts &tiles) const;
  bool canWinInOutline(const LoopOrder &order, int64_t bound);
  void lowerBar(const Candidate &first, const Candidate &second,
                const TwoTileOptimum &optimum);
  void searchLast(const Candidate &candidate);
  void widenFreeLoops();
  void record(int64_t volume);

  LevelFormulas &formulas;
  const ChainProblem &problem;
  const Schedule &schedule;
  unsigned level;
  int64_t capacityBytes;
  WindowTable &windows;
  bool hasOutlines = problem.consistsOfProducts();
  TileLimits limits;
  llvm::SmallVector<int64_t, 6> size;
  llvm::SmallVector<std::optional<UsefulTiles>, 6> tilesOfLoops;
  /// The order at hand: what it moves and holds, and the tiles chosen now.
  OrderFormula *shape = nullptr;
  llvm::SmallVector<Candidate, 6> candidates;
  LoopList loopsOfOrder;
  llvm::SmallVector<int64_t, 6> tiles, trips;
  /// What the tiles make of the windows.
  llvm::SmallVector<int64_t, 16> windowValues;
  /// The least value of each window over all tiles, where it is known, and the
  /// loops of the order whose tiles are not decided.
  llvm::SmallVector<std::optional<int64_t>, 16> leastValues;
  /// The former or, where tiles are not decided, the latter.
  llvm::SmallVector<int64_t, 16> boundValues;
  LoopSet undecided = 0;
  SubsetProducts products;
  LevelChoice found;
};

} // namespace chimera::model

#endif // CHIMERA_LIB_MODEL_SEARCH_VOLUMESEARCH_H
