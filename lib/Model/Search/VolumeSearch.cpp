//===- VolumeSearch.cpp - Orders and tiles with least volume --------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The search is exact, because for a fixed loop tree
//  - the volume depends on the tiles through numbers of trips alone and grows
//    with each of them, so of all tiles with equal trips only the smallest is
//    of use (the lengths of windows depend on tiles in their own way: bounds
//    use the least there is, and where one grows with the tile, all are tried);
//  - the live set grows with each tile;
//  - a loop whose trips no tensor's volume counts is free: its smallest tile
//    leaves the most room for the others.
// So the tiles of all but one weighted loop are enumerated, largest first, cut
// off by the volume that the remaining loops' largest tiles would give, and the
// last one is found by bisection. A loop that makes one trip is not in the
// tree, hence every subset of loops is a sequence of its own.
//
// Two loops that are left have a closed form. Real tiles move no more than the
// whole ones among them, so a tree whose real tiles are not good enough is cut
// off, and the tiles next to them set a bar for the others. The bar is one byte
// above what they move: enumeration still finds the tiles that it would find
// without it, the first with the least volume, only sooner.
//
//===----------------------------------------------------------------------===//

#include "Search/VolumeSearch.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

#include <set>

using namespace llvm;
using namespace chimera::model;

//===----------------------------------------------------------------------===//
// Orders
//===----------------------------------------------------------------------===//

namespace {

/// Writes a loop tree as a list of numbers that is equal for equal trees.
void appendKey(const LoopNest &nest, std::vector<unsigned> &key) {
  for (const NestLoop &loop : nest.loops)
    key.push_back(loop.loop);
  key.push_back(~0u - nest.parts.size());
  for (const LoopNest &part : nest.parts) {
    key.push_back(part.size());
    appendKey(part, key);
  }
}

class OrderEnumerator {
public:
  OrderEnumerator(const ChainStructure &structure, const Schedule &schedule,
                  unsigned level, ArrayRef<LoopId> loops, bool recompute)
      : structure(structure), schedule(schedule), level(level), loops(loops),
        everyone(Group{0, static_cast<unsigned>(
                              structure.getProblem().operators.size() - 1)}
                     .set()) {
    for (LoopId loop : loops) {
      for (LoopId other : loops)
        if (other != loop && structure.areTwins(loop, other))
          twins[loop] |= bitOf(other);
      variants.push_back({loop, openTile, 0});
      if (recompute && canRecompute(loop))
        variants.push_back({loop, openTile, everyone});
    }
  }

  std::vector<LoopOrder> run() {
    extend();
    return std::move(orders);
  }

private:
  bool canRecompute(LoopId loop) const {
    const ChainProblem &problem = structure.getProblem();
    Group all{0, static_cast<unsigned>(problem.operators.size() - 1)};
    auto concerns = [&](unsigned op) {
      return structure.concerns(loop, op, all);
    };
    return !problem.isReduction(loop) &&
           !all_of(seq<unsigned>(0, problem.operators.size()), concerns);
  }

  bool areTwins(LoopId left, LoopId right) const {
    return contains(twins.lookup(left), right);
  }

  /// True if operators that were together in the loop of `entry` no longer are.
  bool havePartedSince(const LoopNest &nest, LoopId loop) const {
    bool isHere = any_of(
        nest.loops, [&](const NestLoop &other) { return other.loop == loop; });
    if (isHere)
      return any_of(nest.parts,
                    [](const LoopNest &part) { return !part.loops.empty(); });
    return any_of(nest.parts, [&](const LoopNest &part) {
      return havePartedSince(part, loop);
    });
  }

  /// Twins follow each other, in the order of the list, as long as operators
  /// stay together.
  bool mayFollow(LoopId loop, const LoopNest &tree) const {
    for (const TiledLoop &entry : current) {
      if (entry.loop == loop)
        return false;
      bool followsTwin = areTwins(current.back().loop, loop) &&
                         find(loops, current.back().loop) < find(loops, loop);
      if (areTwins(entry.loop, loop) && !followsTwin &&
          !havePartedSince(tree, entry.loop))
        return false;
    }
    return true;
  }

  /// True if no order before has the same tree.
  bool isNew(const LoopNest &tree) {
    std::vector<unsigned> key;
    appendKey(tree, key);
    return seen.insert(std::move(key)).second;
  }

  void extend() {
    // Around one operator all loops stand as they are listed.
    LoopNest tree;
    bool isAlone = structure.getProblem().operators.size() == 1;
    if (!isAlone)
      tree = buildLoopTree(structure, schedule, level);
    if (isAlone || isNew(tree))
      orders.push_back(current);
    for (const TiledLoop &variant : variants) {
      if (!mayFollow(variant.loop, tree))
        continue;
      current.push_back(variant);
      schedule.levels[level].order.push_back(variant);
      extend();
      schedule.levels[level].order.pop_back();
      current.pop_back();
    }
  }

  const ChainStructure &structure;
  Schedule schedule;
  unsigned level;
  ArrayRef<LoopId> loops;
  OperatorSet everyone;
  llvm::SmallDenseMap<LoopId, LoopSet, 8> twins;
  LoopOrder variants, current;
  std::set<std::vector<unsigned>> seen;
  std::vector<LoopOrder> orders;
};

} // namespace

std::vector<LoopOrder>
chimera::model::enumerateOrders(const ChainStructure &structure,
                                const Schedule &schedule, unsigned level,
                                ArrayRef<LoopId> loops, bool recompute) {
  SmallVector<int64_t, 8> size =
      leftBy(structure.getProblem(), schedule, level);
  LoopList divisible;
  for (LoopId loop : loops)
    if (size[loop] > 1)
      divisible.push_back(loop);
  return OrderEnumerator(structure, schedule, level, divisible, recompute)
      .run();
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

Schedule LevelFormulas::scheduleWith(const LoopOrder &order) const {
  Schedule whole = schedule;
  append_range(whole.levels[level].order, order);
  return whole;
}

OrderFormula &LevelFormulas::formulaOf(const LoopOrder &order,
                                       ArrayRef<LoopId> loops) {
  std::unique_ptr<OrderFormula> &formula = formulas[&order];
  if (!formula)
    formula = std::make_unique<OrderFormula>(structure, scheduleWith(order),
                                             level, transfer, loops, windows);
  return *formula;
}

void LevelFormulas::addLive(OrderFormula &formula, const LoopOrder &order,
                            ArrayRef<LoopId> loops) {
  formula.addLive(scheduleWith(order), level, transfer, loops, windows);
}

VolumeSearch::VolumeSearch(LevelFormulas &formulas, int64_t capacityBytes,
                           const TileLimits &limits)
    : formulas(formulas), problem(formulas.structure.getProblem()),
      schedule(formulas.schedule), level(formulas.level),
      capacityBytes(capacityBytes), windows(formulas.windows), limits(limits),
      size(leftBy(problem, schedule, level)),
      tilesOfLoops(problem.loops.size()) {}

const UsefulTiles &VolumeSearch::usefulTiles(LoopId loop) {
  std::optional<UsefulTiles> &useful = tilesOfLoops[loop];
  if (!useful)
    useful =
        findUsefulTiles(problem, schedule, level, loop, size[loop], limits);
  return *useful;
}

void VolumeSearch::choose(const Candidate &candidate, size_t index) {
  setTile(candidate.place, candidate.useful->tiles[index]);
  trips[candidate.place] = candidate.useful->trips[index];
}

void VolumeSearch::setTile(unsigned place, int64_t tile) {
  tiles[place] = tile;
  auto tileOf = [&](LoopId loop) {
    return tiles[find(loopsOfOrder, loop) - loopsOfOrder.begin()];
  };
  for (unsigned window : shape->getWindows())
    if (windows.dependsOn(window, loopsOfOrder[place]))
      windowValues[window] = windows.valueOf(window, tileOf);
}

void VolumeSearch::chooseSmallest(const Candidate &candidate) {
  choose(candidate, candidate.useful->tiles.size() - 1);
}

/// A bound on the volume of all tiles that the undecided loops can have, which
/// have their largest now; the volume itself if there are none.
int64_t VolumeSearch::volumeNow() {
  products.assign(trips);
  if (!undecided || shape->getWindows().empty())
    return shape->volumeBytes(products, windowValues);
  for (unsigned window : shape->getWindows())
    if (!windows.isLargest(window))
      boundValues[window] = windows.dependsOnAny(window, undecided)
                                ? findLeastValue(window)
                                : windowValues[window];
  return shape->volumeBytes(products, boundValues);
}

/// The least length of `window` over all tiles of the loops it depends on,
/// which are the same in all orders.
int64_t VolumeSearch::findLeastValue(unsigned window) {
  leastValues.resize(windows.size());
  std::optional<int64_t> &least = leastValues[window];
  if (least)
    return *least;
  least = std::numeric_limits<int64_t>::max();
  SmallVector<int64_t, 6> chosen = tiles;
  auto tileOf = [&](LoopId loop) {
    return chosen[find(loopsOfOrder, loop) - loopsOfOrder.begin()];
  };
  auto tryAll = [&](unsigned place, auto &&self) -> void {
    if (place == loopsOfOrder.size()) {
      least = std::min(*least, windows.valueOf(window, tileOf));
      return;
    }
    if (!windows.dependsOn(window, loopsOfOrder[place]))
      return self(place + 1, self);
    for (int64_t tile : usefulTiles(loopsOfOrder[place]).tiles) {
      chosen[place] = tile;
      self(place + 1, self);
    }
  };
  tryAll(0, tryAll);
  return *least;
}

/// Compares the windows of neighbouring tiles. Where several tiles decide about
/// a window, nothing is said.
bool VolumeSearch::isMonotone(const Candidate &candidate) {
  LoopSet others = 0;
  for (LoopId loop : loopsOfOrder)
    if (loop != candidate.entry.loop)
      others |= bitOf(loop);
  for (unsigned window : shape->getWindows()) {
    if (!windows.dependsOn(window, candidate.entry.loop) ||
        windows.isLargest(window))
      continue;
    if (windows.dependsOnAny(window, others))
      return false;
    int64_t last = 0;
    for (int64_t tile : candidate.useful->tiles) {
      int64_t value = windows.valueOf(window, [&](LoopId) { return tile; });
      if (value < last)
        return false;
      last = value;
    }
  }
  return true;
}

bool VolumeSearch::fits() {
  products.assign(tiles);
  return shape->liveBytes(products, windowValues) <= capacityBytes;
}

std::optional<LevelChoice> VolumeSearch::best(const LoopOrder &order,
                                              int64_t bound) {
  candidates.clear();
  tiles.assign(order.size(), 0);
  trips.assign(order.size(), 0);
  loopsOfOrder.clear();
  for (const auto &[place, entry] : enumerate(order)) {
    const UsefulTiles &useful = usefulTiles(entry.loop);
    if (useful.tiles.empty())
      return std::nullopt;
    candidates.push_back({entry, static_cast<unsigned>(place), &useful});
    loopsOfOrder.push_back(entry.loop);
  }
  if (!canWinInOutline(order, bound))
    return std::nullopt;
  shape = &formulas.formulaOf(order, loopsOfOrder);
  // Those of other orders are not read.
  windowValues.resize(windows.size());
  boundValues.resize(windows.size());
  // All tiles have to be there before a window can be measured.
  for (const Candidate &candidate : candidates)
    tiles[candidate.place] = candidate.useful->tiles.back();
  for (const Candidate &candidate : candidates)
    chooseSmallest(candidate);
  found = LevelChoice();
  found.volumeBytes = bound;
  undecided = 0;
  for (Candidate &candidate : candidates)
    candidate.isMonotone = isMonotone(candidate);
  findFreeLoops();
  // Free loops keep their smallest tile, weighted ones start with their
  // largest.
  for (const Candidate &candidate : candidates)
    if (!candidate.isFree)
      undecided |= bitOf(candidate.entry.loop);
  auto *weighted = std::partition(
      candidates.begin(), candidates.end(),
      [](const Candidate &candidate) { return candidate.isFree; });
  if (volumeNow() >= bound || !smallestFit(order))
    return std::nullopt;
  search(ArrayRef(candidates).drop_front(weighted - candidates.begin()));
  if (found.volumeBytes == bound)
    return std::nullopt;
  widenFreeLoops();
  return found;
}

/// True if the smallest tiles of all loops have room.
bool VolumeSearch::smallestFit(const LoopOrder &order) {
  if (!shape->hasLive()) {
    formulas.addLive(*shape, order, loopsOfOrder);
    windowValues.resize(windows.size());
    boundValues.resize(windows.size());
  }
  SmallVector<int64_t, 6> chosen = tiles;
  for (const Candidate &candidate : candidates)
    setTile(candidate.place, candidate.useful->tiles.back());
  bool fit = fits();
  for (unsigned place = 0; place < chosen.size(); ++place)
    setTile(place, chosen[place]);
  return fit;
}

void VolumeSearch::findFreeLoops() {
  for (const Candidate &candidate : candidates)
    choose(candidate, 0);
  int64_t least = volumeNow();
  for (Candidate &candidate : candidates) {
    chooseSmallest(candidate);
    candidate.isFree = candidate.isMonotone && volumeNow() == least;
    if (!candidate.isFree)
      choose(candidate, 0);
  }
}

/// On entry the free loops and the loops decided so far have their tiles, and
/// `weighted` have their largest ones; so it is on exit.
void VolumeSearch::search(ArrayRef<Candidate> weighted) {
  if (volumeNow() >= found.volumeBytes)
    return;
  if (weighted.empty()) {
    if (fits())
      record(volumeNow());
    return;
  }
  if (weighted.size() == 1)
    return searchLast(weighted.front());
  if (!canWinInReals(weighted))
    return;
  const Candidate &candidate = weighted.front();
  undecided &= ~bitOf(candidate.entry.loop);
  for (size_t index = 0; index < candidate.useful->tiles.size(); ++index) {
    choose(candidate, index);
    if (volumeNow() < found.volumeBytes)
      search(weighted.drop_front());
    else if (candidate.isMonotone)
      break;
  }
  choose(candidate, 0);
  undecided |= bitOf(candidate.entry.loop);
}

/// The best real tiles of two loops if the others make `trips` and take the
/// room of `tiles`.
std::optional<TwoTileOptimum> VolumeSearch::bestInReals(
    ArrayRef<Monomial> volume, ArrayRef<SmallVector<Monomial, 6>> live,
    const Candidate &first, const Candidate &second,
    const SubsetProducts &trips, const SubsetProducts &tiles) const {
  auto loopOf = [&](const Candidate &candidate) {
    TwoTileForm::Loop loop;
    loop.extent = problem.loops[candidate.entry.loop].extent;
    loop.leastTile = candidate.useful->tiles.back();
    loop.mostTile = candidate.useful->tiles.front();
    return loop;
  };
  TwoTileForm form;
  form.first = loopOf(first);
  form.second = loopOf(second);
  form.capacityBytes = capacityBytes;
  addTerms(form, volume, live, first.place, second.place, trips, tiles);
  return minimize(form);
}

/// Real volumes that are above a whole one by no more than this share may be
/// equal; far above what doubles lose.
static constexpr double realMargin = 1e-9;

/// False if even the outline of `order` moves no less than `bound` bytes, which
/// takes a fraction of the time that its formula does.
bool VolumeSearch::canWinInOutline(const LoopOrder &order, int64_t bound) {
  if (!hasOutlines || candidates.size() < 2)
    return true;
  SmallVector<int64_t, 6> fewest, least;
  for (const Candidate &candidate : candidates) {
    fewest.push_back(candidate.useful->trips.front());
    least.push_back(candidate.useful->tiles.back());
  }
  TreeOutline outline =
      outlineOf(problem, schedule, level, formulas.transfer, order, size);
  LoopSet weighted = 0;
  for (const Monomial &term : outline.volume)
    weighted |= term.loops;
  SubsetProducts fewestTrips, leastTiles;
  fewestTrips.assign(fewest);
  leastTiles.assign(least);
  for (const Candidate &first : candidates)
    for (const Candidate &second : candidates) {
      bool isCounted =
          contains(weighted, first.place) || contains(weighted, second.place);
      if (first.place >= second.place || !isCounted)
        continue;
      std::optional<TwoTileOptimum> optimum = bestInReals(
          outline.volume, outline.live, first, second, fewestTrips, leastTiles);
      if (!optimum ||
          optimum->bytes * (1 - realMargin) > static_cast<double>(bound - 1))
        return false;
    }
  return true;
}

/// False if no tiles of the loops in `weighted`, which have their largest now,
/// fit and move less than the best found. For any two of them the closed form
/// is a bound if the others make their fewest trips and take their least room
/// (see `addTerms`). It knows no windows.
bool VolumeSearch::canWinInReals(ArrayRef<Candidate> weighted) {
  if (!shape->getWindows().empty())
    return true;
  SmallVector<int64_t, 6> least = tiles;
  for (const Candidate &candidate : weighted)
    least[candidate.place] = candidate.useful->tiles.back();
  SubsetProducts leastTiles;
  leastTiles.assign(least);
  products.assign(trips);
  for (size_t first = 0; first < weighted.size(); ++first)
    for (size_t second = first + 1; second < weighted.size(); ++second) {
      std::optional<TwoTileOptimum> optimum =
          bestInReals(shape->getVolume(), shape->getLive(), weighted[first],
                      weighted[second], products, leastTiles);
      if (!optimum || optimum->bytes * (1 - realMargin) >
                          static_cast<double>(found.volumeBytes - 1))
        return false;
      if (weighted.size() == 2)
        lowerBar(weighted[first], weighted[second], *optimum);
    }
  return true;
}

/// Tiles next to the best real ones say what the best move at most.
void VolumeSearch::lowerBar(const Candidate &first, const Candidate &second,
                            const TwoTileOptimum &optimum) {
  auto chooseBoth = [&](size_t left, size_t right) {
    choose(first, left);
    choose(second, right);
  };
  std::optional<RoundedTiles> rounded = roundToNeighbours(
      optimum, *first.useful, *second.useful,
      [&](size_t left, size_t right) {
        chooseBoth(left, right);
        return fits();
      },
      [&](size_t left, size_t right) {
        chooseBoth(left, right);
        products.assign(trips);
        return shape->volumeBytes(products, windowValues);
      });
  chooseBoth(0, 0);
  if (rounded)
    found.volumeBytes = std::min(found.volumeBytes, rounded->bytes + 1);
}

void VolumeSearch::searchLast(const Candidate &candidate) {
  undecided &= ~bitOf(candidate.entry.loop);
  // The tiles that fit are a suffix of the list.
  size_t end = candidate.useful->tiles.size();
  auto tooLarge = [&](size_t index) {
    choose(candidate, index);
    return !fits();
  };
  size_t largest = *partition_point(seq<size_t>(0, end), tooLarge);
  // Of these, the largest moves least, unless it takes in gaps.
  for (size_t index = largest; index < end; ++index) {
    choose(candidate, index);
    int64_t volume = volumeNow();
    if (volume < found.volumeBytes)
      record(volume);
    if (candidate.isMonotone)
      break;
  }
  choose(candidate, 0);
  undecided |= bitOf(candidate.entry.loop);
}

/// Gives the room that is left to the free loops: their trips cost no volume,
/// but deeper blocks cost the micro kernel less.
void VolumeSearch::widenFreeLoops() {
  auto decided =
      MutableArrayRef<TiledLoop>(found.order).take_back(candidates.size());
  for (const auto &[place, entry] : enumerate(decided))
    setTile(place, entry.tile);
  for (const Candidate &candidate : candidates) {
    if (!candidate.isFree)
      continue;
    for (int64_t tile : candidate.useful->tiles) {
      setTile(candidate.place, tile);
      if (fits())
        break;
    }
    decided[candidate.place].tile = tiles[candidate.place];
  }
}

void VolumeSearch::record(int64_t volume) {
  found.volumeBytes = volume;
  found.order = schedule.levels[level].order;
  size_t prefix = found.order.size();
  found.order.resize(prefix + candidates.size());
  for (const Candidate &candidate : candidates)
    found.order[prefix + candidate.place] = {candidate.entry.loop,
                                             tiles[candidate.place],
                                             candidate.entry.operators};
}
