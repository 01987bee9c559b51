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
//    of use;
//  - the live set grows with each tile;
//  - a loop whose trips no tensor's volume counts is free: its smallest tile
//    leaves the most room for the others.
// So the tiles of all but one weighted loop are enumerated, largest first, cut
// off by the volume that the remaining loops' largest tiles would give, and the
// last one is found by bisection. A loop that makes one trip is not in the
// tree, hence every subset of loops is a sequence of its own.
//
//===----------------------------------------------------------------------===//

#include "VolumeSearch.h"

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
std::vector<unsigned> keyOf(const LoopTree &tree) {
  std::vector<unsigned> key;
  auto append = [&](ArrayRef<NestLoop> loops) {
    for (const NestLoop &loop : loops)
      key.push_back(loop.loop);
    key.push_back(~0u);
  };
  append(tree.shared);
  for (const auto &subtree : tree.subtrees)
    append(subtree);
  return key;
}

class OrderEnumerator {
public:
  OrderEnumerator(const ChainProblem &problem, const Schedule &schedule,
                  unsigned level, ArrayRef<LoopId> loops)
      : problem(problem), schedule(schedule), level(level), loops(loops) {}

  std::vector<LoopOrder> run() {
    extend();
    return std::move(orders);
  }

private:
  void extend() {
    LoopTree tree = buildLoopTree(problem, schedule, level);
    if (seen.insert(keyOf(tree)).second)
      orders.push_back(current);
    for (LoopId loop : loops) {
      if (is_contained(current, loop))
        continue;
      current.push_back(loop);
      schedule.levels[level].order.push_back({loop, 1});
      extend();
      schedule.levels[level].order.pop_back();
      current.pop_back();
    }
  }

  const ChainProblem &problem;
  Schedule schedule;
  unsigned level;
  ArrayRef<LoopId> loops;
  LoopOrder current;
  std::set<std::vector<unsigned>> seen;
  std::vector<LoopOrder> orders;
};

} // namespace

std::vector<LoopOrder>
chimera::model::enumerateOrders(const ChainProblem &problem,
                                const Schedule &schedule, unsigned level,
                                ArrayRef<LoopId> loops) {
  SmallVector<int64_t, 6> size = tilesAt(problem, schedule, level);
  LoopOrder divisible(loops);
  erase_if(divisible, [&](LoopId loop) { return size[loop] == 1; });
  return OrderEnumerator(problem, schedule, level, divisible).run();
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

VolumeSearch::VolumeSearch(const ChainProblem &problem,
                           const Schedule &schedule, unsigned level,
                           int64_t capacityBytes, ArrayRef<int64_t> granularity,
                           ArrayRef<int64_t> alignment)
    : sets(problem), schedule(schedule), level(level),
      capacityBytes(capacityBytes), granularity(granularity),
      alignment(alignment), size(tilesAt(problem, schedule, level)),
      tilesOfLoops(problem.loops.size()) {}

const VolumeSearch::Tiles &VolumeSearch::usefulTiles(LoopId loop) {
  Tiles &useful = tilesOfLoops[loop];
  if (!useful.areKnown)
    findTiles(loop, useful);
  useful.areKnown = true;
  return useful;
}

/// The smallest tile for every number of trips above one, down to the
/// granularity.
void VolumeSearch::findTiles(LoopId loop, Tiles &useful) const {
  int64_t whole = size[loop], last = whole;
  int64_t unit = alignment.empty() ? 1 : alignment[loop];
  for (int64_t trips = 2; last > granularity[loop];) {
    int64_t tile = alignTo(divideCeilSigned(whole, trips), unit);
    tile = std::max(tile, granularity[loop]);
    if (tile < last) {
      useful.tiles.push_back(tile);
      useful.trips.push_back(
          countTrips(sets.problem, schedule, level, loop, tile));
      last = tile;
    }
    if (last == 1 || last <= unit)
      break;
    // The next number of trips that a smaller tile can make.
    trips = std::max(trips + 1, divideCeilSigned(whole, last - 1));
  }
}

void VolumeSearch::choose(const Candidate &candidate, size_t index) {
  tiles[candidate.place] = candidate.useful->tiles[index];
  trips[candidate.place] = candidate.useful->trips[index];
}

void VolumeSearch::chooseSmallest(const Candidate &candidate) {
  choose(candidate, candidate.useful->tiles.size() - 1);
}

int64_t VolumeSearch::volumeNow() {
  products.assign(trips);
  return shape->volumeBytes(products);
}

bool VolumeSearch::fits() {
  products.assign(tiles);
  return shape->liveBytes(products) <= capacityBytes;
}

std::optional<LevelChoice> VolumeSearch::best(ArrayRef<LoopId> order,
                                              int64_t bound) {
  candidates.clear();
  tiles.assign(order.size(), 0);
  trips.assign(order.size(), 0);
  for (const auto &[place, loop] : enumerate(order)) {
    const Tiles &useful = usefulTiles(loop);
    if (useful.tiles.empty())
      return std::nullopt;
    candidates.push_back({loop, static_cast<unsigned>(place), &useful});
    chooseSmallest(candidates.back());
  }
  shape.emplace(sets, schedule, level, order, /*numbering=*/order);
  if (!fits())
    return std::nullopt;
  found = LevelChoice();
  found.volumeBytes = bound;
  findFreeLoops();
  // Free loops keep their smallest tile, weighted ones start with their
  // largest.
  auto *weighted = std::partition(
      candidates.begin(), candidates.end(),
      [](const Candidate &candidate) { return candidate.isFree; });
  search(ArrayRef(candidates).drop_front(weighted - candidates.begin()));
  if (found.volumeBytes == bound)
    return std::nullopt;
  widenFreeLoops();
  return found;
}

void VolumeSearch::findFreeLoops() {
  for (const Candidate &candidate : candidates)
    choose(candidate, 0);
  int64_t least = volumeNow();
  for (Candidate &candidate : candidates) {
    chooseSmallest(candidate);
    candidate.isFree = volumeNow() == least;
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
  const Candidate &candidate = weighted.front();
  for (size_t index = 0; index < candidate.useful->tiles.size(); ++index) {
    choose(candidate, index);
    if (volumeNow() >= found.volumeBytes)
      break;
    search(weighted.drop_front());
  }
  choose(candidate, 0);
}

void VolumeSearch::searchLast(const Candidate &candidate) {
  // The tiles that fit are a suffix of the list.
  size_t end = candidate.useful->tiles.size();
  auto tooLarge = [&](size_t index) {
    choose(candidate, index);
    return !fits();
  };
  size_t largest = *partition_point(seq<size_t>(0, end), tooLarge);
  if (largest < end) {
    choose(candidate, largest);
    int64_t volume = volumeNow();
    if (volume < found.volumeBytes)
      record(volume);
  }
  choose(candidate, 0);
}

/// Gives the room that is left to the free loops: their trips cost no volume,
/// but deeper blocks cost the micro kernel less.
void VolumeSearch::widenFreeLoops() {
  auto decided =
      MutableArrayRef<TiledLoop>(found.order).take_back(candidates.size());
  for (auto [tile, entry] : zip(tiles, decided))
    tile = entry.tile;
  for (const Candidate &candidate : candidates) {
    if (!candidate.isFree)
      continue;
    for (int64_t tile : candidate.useful->tiles) {
      tiles[candidate.place] = tile;
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
    found.order[prefix + candidate.place] = {candidate.loop,
                                             tiles[candidate.place]};
}
