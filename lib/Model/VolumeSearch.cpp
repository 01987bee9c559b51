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
    : problem(problem), schedule(schedule), level(level),
      capacityBytes(capacityBytes), granularity(granularity),
      alignment(alignment), size(tilesAt(problem, schedule, level)),
      prefix(schedule.levels[level].order) {}

/// The smallest tile for every number of trips above one, down to the
/// granularity.
SmallVector<int64_t, 16> VolumeSearch::usefulTiles(LoopId loop) const {
  SmallVector<int64_t, 16> tiles;
  int64_t whole = size[loop], last = whole;
  int64_t unit = alignment.empty() ? 1 : alignment[loop];
  for (int64_t trips = 2; last > granularity[loop];) {
    int64_t tile = alignTo(divideCeilSigned(whole, trips), unit);
    tile = std::max(tile, granularity[loop]);
    if (tile < last) {
      tiles.push_back(tile);
      last = tile;
    }
    if (last == 1 || last <= unit)
      break;
    // The next number of trips that a smaller tile can make.
    trips = std::max(trips + 1, divideCeilSigned(whole, last - 1));
  }
  return tiles;
}

Evaluation VolumeSearch::evaluateNow() const {
  return evaluate(problem, schedule, level);
}

bool VolumeSearch::fits() const {
  return evaluateNow().liveBytes <= capacityBytes;
}

std::optional<LevelChoice> VolumeSearch::best(ArrayRef<LoopId> order,
                                              int64_t bound) {
  auto &entries = schedule.levels[level].order;
  entries = prefix;
  for (LoopId loop : order)
    entries.push_back({loop, 0});
  candidates.clear();
  for (TiledLoop &entry : MutableArrayRef(entries).drop_front(prefix.size())) {
    Candidate candidate;
    candidate.entry = &entry;
    candidate.tiles = usefulTiles(entry.loop);
    if (candidate.tiles.empty())
      return std::nullopt;
    entry.tile = candidate.tiles.back();
    candidates.push_back(candidate);
  }
  if (!fits())
    return std::nullopt;
  found = LevelChoice();
  found.volumeBytes = bound;
  findFreeLoops();
  // Free loops keep their smallest tile, weighted ones start with their
  // largest.
  auto weighted = std::partition(
      candidates.begin(), candidates.end(),
      [](const Candidate &candidate) { return candidate.isFree; });
  search(MutableArrayRef(candidates).drop_front(weighted - candidates.begin()));
  if (found.volumeBytes == bound)
    return std::nullopt;
  widenFreeLoops();
  return found;
}

void VolumeSearch::findFreeLoops() {
  for (Candidate &candidate : candidates)
    candidate.entry->tile = candidate.tiles.front();
  int64_t least = evaluateNow().volumeBytes();
  for (Candidate &candidate : candidates) {
    candidate.entry->tile = candidate.tiles.back();
    candidate.isFree = evaluateNow().volumeBytes() == least;
    if (!candidate.isFree)
      candidate.entry->tile = candidate.tiles.front();
  }
}

/// On entry the free loops and the loops decided so far have their tiles, and
/// `weighted` have their largest ones; so it is on exit.
void VolumeSearch::search(MutableArrayRef<Candidate> weighted) {
  if (evaluateNow().volumeBytes() >= found.volumeBytes)
    return;
  if (weighted.empty()) {
    if (fits())
      record(evaluateNow().volumeBytes());
    return;
  }
  if (weighted.size() == 1)
    return searchLast(weighted.front());
  Candidate &candidate = weighted.front();
  for (int64_t tile : candidate.tiles) {
    candidate.entry->tile = tile;
    if (evaluateNow().volumeBytes() >= found.volumeBytes)
      break;
    search(weighted.drop_front());
  }
  candidate.entry->tile = candidate.tiles.front();
}

void VolumeSearch::searchLast(Candidate &candidate) {
  // The tiles that fit are a suffix of the list.
  auto tooLarge = [&](int64_t tile) {
    candidate.entry->tile = tile;
    return !fits();
  };
  auto largest = partition_point(candidate.tiles, tooLarge);
  if (largest != candidate.tiles.end()) {
    candidate.entry->tile = *largest;
    int64_t volume = evaluateNow().volumeBytes();
    if (volume < found.volumeBytes)
      record(volume);
  }
  candidate.entry->tile = candidate.tiles.front();
}

/// Gives the room that is left to the free loops: their trips cost no volume,
/// but deeper blocks cost the micro kernel less.
void VolumeSearch::widenFreeLoops() {
  auto &entries = schedule.levels[level].order;
  std::copy(found.order.begin(), found.order.end(), entries.begin());
  for (Candidate &candidate : candidates) {
    if (!candidate.isFree)
      continue;
    for (int64_t tile : candidate.tiles) {
      candidate.entry->tile = tile;
      if (fits())
        break;
    }
  }
  found.order = entries;
}

void VolumeSearch::record(int64_t volume) {
  found.order = schedule.levels[level].order;
  found.volumeBytes = volume;
}
