//===- RowTiling.cpp - How operations outside chains run ------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// These operations wait for memory, so what counts is that all threads have
// something to do, that as much as possible happens to rows while they are
// close to the core, and that tasks are equal.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/RowTiling.h"

#include "Cost/CostModel.h"

#include "Chimera/Model/Report.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <tuple>

using namespace llvm;
using namespace chimera::model;

/// Elements that a part of a reduction has at least. Not a figure of one
/// machine, so that sums are the same on all.
static constexpr double leastElementsOfPart = 16 * 1024;
/// Rows that a task has at least, if there is room for them farther out. A
/// reduction adds up rows by turns; one at a time they wait for each other, for
/// the latency of an addition, which is four cycles on most cores.
static constexpr double leastRows = 4;
/// Of the level outside the innermost, what a task may take: the other half
/// holds the rows of the task before, on their way out.
static constexpr double passingShare = 0.5;
/// The share of threads that equal tasks have to keep busy, on average, to be
/// tasks for all of them.
static constexpr double busyShare = 0.8;
/// A result that takes more than this share of the outermost level leaves it
/// before anybody reads it, with what else was there: it is stored past it,
/// which saves reading each line before it is written. What stays takes 1.8
/// times as long that way (Zen 4).
static constexpr double keptShare = 0.5;
/// What is handed out and takes less than this share of the usable part of the
/// outermost level is still there for whoever reads it. It goes past that level
/// only if the program evicts it before it writes it again: copies of tensors
/// by themselves gain from 4.3 MiB on where 11.7 MiB are usable, and from 7 MiB
/// on if the copy is read at once (Zen 3).
static constexpr double handedShare = 0.25;
/// Memory hands out rows faster than columns of a few vectors, if these come
/// from there. What takes more than this share of the usable part of the
/// outermost level may: rows take 1.1 times as long as columns if it is in that
/// level after all, columns 1.5 to 3 times as long as rows if it is not, from
/// 16 MiB on of 32 (Zen 4).
static constexpr double columnShare = 0.5;
/// Of the innermost level, what the results of rows that are read at once take
/// at most: the rest is for the rows.
static constexpr double resultShare = 0.5;
/// Parts of a reduction to fewer than `leastRows` results: a few for each core
/// of most machines. Not a figure of one, so that sums are the same on all.
static constexpr double mostParts = 64;
/// Neighbours that a task takes at least of reductions along columns: two
/// threads that read shorter pieces of the same rows hinder each other.
static constexpr int64_t leastColumns = 256;
/// Elements that such a reduction has at least if it is cut into parts: fewer
/// are in a cache of one core, where columns are as fast as rows.
static constexpr double leastElementsOfColumns = 1024 * 1024;

//===----------------------------------------------------------------------===//
// Figures of a group
//===----------------------------------------------------------------------===//

/// Steps of the innermost loop over rows come in multiples of this.
static int64_t unitOf(const RowGroup &group, const Machine &machine) {
  return group.hasVectorsAlongRows ? std::max<int64_t>(1, machine.unit.lanes)
                                   : 1;
}

static int64_t countSteps(const RowGroup &group) {
  int64_t steps = 1;
  for (int64_t extent : group.extents)
    steps *= extent;
  return steps;
}

double chimera::model::shareOfOthers(const MemoryLevel &level,
                                     const Machine &machine, int64_t threads) {
  bool isShared = threads <= level.sharers || &level == machine.levels.begin();
  return isShared ? 0 : 1 - 1 / static_cast<double>(threads);
}

/// Seconds on `threads` threads, to tell microseconds from milliseconds: a
/// cycle for a vector of plain arithmetic, and all bytes from where they have
/// room together.
static double secondsOf(const RowGroup &group, const Machine &machine,
                        int64_t threads) {
  const VectorUnit &unit = machine.unit;
  double cycles = group.plainElements + group.functionElements *
                                            unit.exponentialCost /
                                            unit.fmaPerCycle;
  cycles /= static_cast<double>(std::max<int64_t>(1, unit.lanes) * threads);
  Stages stages;
  stages.add(cycles / unit.cyclesPerSecond);
  double bytes = group.rowBytes * static_cast<double>(countSteps(group));
  for (const MemoryLevel &level : machine.levels) {
    double missing = bytes > level.usableBytes()
                         ? 1
                         : shareOfOthers(level, machine, threads);
    stages.add(missing * bytes / bandwidthInto(level, threads));
  }
  double region = threads > 1 ? machine.overheads.regionSeconds : 0;
  return stages.total() + region;
}

bool chimera::model::isWorthThreads(const RowGroup &group,
                                    const Machine &machine, int64_t threads) {
  return threads > 1 &&
         secondsOf(group, machine, threads) < secondsOf(group, machine, 1);
}

static double passingBytes(const Machine &machine) {
  size_t size = machine.levels.size();
  return machine.levels[size > 1 ? size - 2 : 0].usableBytes() * passingShare;
}

/// True if `tasks` equal tasks leave hardly any of `threads` threads idle.
static bool keepsBusy(double tasks, int64_t threads) {
  return tasks >= busyShare * threads * std::ceil(tasks / threads);
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

int64_t chimera::model::countTasks(ArrayRef<int64_t> extents,
                                   ArrayRef<int64_t> tiles) {
  int64_t tasks = 1;
  for (auto [extent, tile] : zip_equal(extents, tiles))
    tasks *= divideCeilSigned(extent, tile);
  return tasks;
}

/// The sides of a tile of a copy that turns columns into rows: the tile lies
/// twice in the innermost level, once in each direction, in whole lines.
static int64_t sideOfTurnedTile(const RowGroup &group, const Machine &machine) {
  const MemoryLevel &innermost = machine.levels.back();
  int64_t line = std::max<int64_t>(1, innermost.lineBytes / group.elementBytes);
  double side = std::sqrt(innermost.usableBytes() / 2 / group.elementBytes);
  return std::max<int64_t>(line, alignDown(static_cast<int64_t>(side), line));
}

/// True if what the operations share are columns, of which neighbours lie next
/// to each other, and not rows.
static bool isPanel(const RowGroup &group) {
  return group.hasVectorsAlongRows && !group.cutsRows &&
         group.numOperations > 1;
}

/// How many columns a task takes: memory is to hand out runs that it hands out
/// fast, and what the operations leave for each other stays in the outermost
/// level.
static double columnsOfPanel(const RowGroup &group, const Machine &machine) {
  double run = machine.overheads.shortRunBytes / group.elementBytes;
  double kept = machine.levels.front().usableBytes() * keptShare /
                std::max(1.0, group.rowBytes) / machine.cores;
  double unit = unitOf(group, machine);
  return std::max(unit, std::floor(std::min(run, kept) / unit) * unit);
}

/// True if `member` is to read rows from their beginnings to their ends.
static bool readsRowwise(const RowMember &member, const Machine &machine) {
  const MemoryLevel &outermost = machine.levels.front();
  return outermost.ways > 0 &&
         member.columnBytes > outermost.usableBytes() * columnShare;
}

/// True if nothing of what `group` reads so has to stay in a cache.
static bool readsOnceRowwise(const RowGroup &group, const Machine &machine) {
  return group.members.size() == 1 &&
         readsRowwise(group.members.front(), machine);
}

/// Operations that follow each other want rows in the innermost level, unless
/// those are too few. One alone reads them once. What it adds up in a cache
/// stays in the innermost level.
double chimera::model::rowsOfTask(const RowGroup &group,
                                  const Machine &machine) {
  double unit = unitOf(group, machine);
  if (isPanel(group))
    return columnsOfPanel(group, machine);
  double bytes = std::max(1.0, group.rowBytes);
  double many = passingBytes(machine) / bytes;
  double rows = machine.levels.back().usableBytes() / bytes;
  if (group.hasVectorsAlongRows && readsOnceRowwise(group, machine))
    return std::max(unit, std::floor(machine.levels.back().usableBytes() *
                                     resultShare / group.elementBytes));
  double least = std::max(leastRows, unit);
  if (group.numOperations == 1)
    rows = many;
  else if (rows < least)
    rows = std::min(least, many);
  return std::max(rows, unit);
}

/// Evens out the tiles of a loop of `extent` that has `others` times as many
/// tasks as trips: the same number for each thread, and no smaller one at the
/// end if that can be.
static int64_t balance(int64_t tile, int64_t extent, int64_t others,
                       int64_t threads, int64_t unit) {
  int64_t trips = divideCeilSigned(extent, tile);
  for (int64_t more = trips; more < trips + threads && more <= extent; ++more)
    if (keepsBusy(static_cast<double>(more) * others, threads)) {
      trips = more;
      break;
    }
  tile = alignTo(divideCeilSigned(extent, trips), unit);
  for (int64_t even = tile; even > tile / 2; even -= unit)
    if (extent % even == 0)
      return even;
  return std::min(tile, extent);
}

double chimera::model::streamedBytes(const Machine &machine) {
  const MemoryLevel &outermost = machine.levels.front();
  return outermost.ways > 0 ? outermost.capacityBytes * keptShare
                            : std::numeric_limits<double>::infinity();
}

/// True if a line that goes past the caches is written by several vectors.
static bool hasManyVectors(const Machine &machine) {
  constexpr int64_t laneBytes = 4;
  return machine.levels.back().lineBytes > machine.unit.lanes * laneBytes;
}

/// Square tiles along the two loops of a copy that turns columns into rows. Or
/// rows of the input, as many as fill lines of the result, where these go past
/// the caches: nothing has to stay in one, and memory reads on in few rows.
static void tileTurned(const RowGroup &group, const Machine &machine,
                       RowTiling &tiling) {
  if (!tiling.streamed.empty() && hasManyVectors(machine)) {
    int64_t line = std::max<int64_t>(1, machine.levels.back().lineBytes /
                                            group.elementBytes);
    tiling.tiles[*group.turned] = group.extents[*group.turned];
    tiling.tiles.back() = std::min(line, group.extents.back());
    return;
  }
  int64_t side = sideOfTurnedTile(group, machine);
  for (size_t row : {*group.turned, group.extents.size() - 1})
    tiling.tiles[row] = std::min(side, group.extents[row]);
}

//===----------------------------------------------------------------------===//
// What goes past the caches
//===----------------------------------------------------------------------===//

/// True if vectors of `result` start at multiples of their size in each row, as
/// they have to in order to go past the caches.
static bool hasAlignedRows(const RowResult &result, const Machine &machine) {
  return result.rowElements % std::max<int64_t>(1, machine.unit.lanes) == 0;
}

/// True if no cache keeps `result` until it is read, or written again.
static bool leavesCaches(const RowResult &result, const RowGroup &group,
                         const Machine &machine) {
  double kept = streamedBytes(machine);
  if (!hasAlignedRows(result, machine))
    return false;
  if (result.isReadLater || !std::isfinite(kept))
    return result.bytes > kept;
  double usable = machine.levels.front().usableBytes();
  return result.bytes > kept ||
         (group.programBytes > usable && result.bytes > usable * handedShare);
}

/// Finds results that are to go past the caches although members read them. A
/// sum of them stores them: it has nothing else to store, and of several
/// results that go past the caches at the same time none gets its lines filled.
static void chooseLate(size_t member, const RowResult &result,
                       RowTiling &tiling) {
  for (size_t sum : result.sums) {
    bool isFree = none_of(tiling.late, [&](std::pair<int64_t, int64_t> pair) {
      return pair.second == static_cast<int64_t>(sum);
    });
    if (!isFree)
      continue;
    tiling.late.emplace_back(member, sum);
    return;
  }
}

static void chooseStores(const RowGroup &group, const Machine &machine,
                         RowTiling &tiling) {
  for (auto [number, member] : enumerate(group.members)) {
    bool arePassed = all_of(member.results, [](const RowResult &result) {
      return result.isReadOutside && !result.isReadByMembers;
    });
    auto leaves = [&](const RowResult &result) {
      return result.isReadOutside && leavesCaches(result, group, machine);
    };
    if (arePassed && any_of(member.results, leaves))
      tiling.streamed.push_back(number);
    for (const RowResult &result : member.results)
      if (result.isReadByMembers && leaves(result))
        chooseLate(number, result, tiling);
  }
}

/// Where results go past the caches, what tasks read may come from memory as
/// well. The last readers that have something else to do than to wait for it
/// ask for what the next task reads.
static void chooseAhead(const RowGroup &group, const Machine &machine,
                        RowTiling &tiling) {
  bool isStreamed = !tiling.streamed.empty() || !tiling.late.empty();
  if (!isStreamed || countTasks(group.extents, tiling.tiles) == 1)
    return;
  for (auto [number, member] : enumerate(group.members))
    if (member.ownBytes > streamedBytes(machine))
      tiling.ahead.push_back(number);
}

/// Finds the members that read rows: half as many at once as a processor reads
/// ahead in, which leaves it some for the next ones.
static void chooseRowwise(const RowGroup &group, const Machine &machine,
                          RowTiling &tiling) {
  int64_t rows = std::max<int64_t>(2, machine.overheads.followedRows / 2);
  for (auto [number, member] : enumerate(group.members))
    if (readsRowwise(member, machine))
      tiling.rowwise.emplace_back(number, rows);
}

/// Cuts `group` into tasks: inner loops whole as long as a task has room for
/// more, the next one in tiles, those outside step by step.
static RowTiling chooseTiling(const RowGroup &group, const Machine &machine,
                              int64_t threads) {
  RowTiling tiling;
  chooseStores(group, machine, tiling);
  chooseRowwise(group, machine, tiling);
  tiling.isParallel = isWorthThreads(group, machine, threads);
  int64_t wanted = tiling.isParallel ? threads : 1;
  int64_t groupUnit = unitOf(group, machine), others = countSteps(group);
  // Every thread gets something to do.
  double share = std::ceil(static_cast<double>(others) / wanted);
  double rows =
      std::max<double>(std::min(rowsOfTask(group, machine), share), groupUnit);
  tiling.tiles.assign(group.extents.size(), 1);
  if (group.turned)
    tileTurned(group, machine, tiling);
  for (size_t row = group.turned ? 0 : group.extents.size(); row-- > 0;) {
    int64_t extent = group.extents[row];
    int64_t unit = row + 1 == group.extents.size() ? groupUnit : 1;
    others /= extent;
    if (rows >= extent) {
      tiling.tiles[row] = extent;
      rows /= extent;
      continue;
    }
    int64_t tile =
        std::max<int64_t>(unit, alignDown(static_cast<int64_t>(rows), unit));
    tiling.tiles[row] = balance(tile, extent, others, wanted, unit);
    break;
  }
  tiling.isParallel &= countTasks(group.extents, tiling.tiles) > 1;
  chooseAhead(group, machine, tiling);
  return tiling;
}

//===----------------------------------------------------------------------===//
// Parts of reductions
//===----------------------------------------------------------------------===//

int64_t chimera::model::countParts(const ReductionFigures &reduction) {
  int64_t together = std::clamp<int64_t>(reduction.columns, 1, leastColumns);
  int64_t tasks = reduction.steps / together;
  if (tasks >= leastRows ||
      (together > 1 && reduction.elements < leastElementsOfColumns))
    return 1;
  double wanted = std::ceil(mostParts / tasks);
  double most = std::min<double>(reduction.extent,
                                 reduction.elements / leastElementsOfPart);
  return std::max<int64_t>(1, std::min(wanted, most));
}

//===----------------------------------------------------------------------===//
// The best group
//===----------------------------------------------------------------------===//

RowPlan chimera::model::planRows(ArrayRef<RowGroup> groups,
                                 const Machine &machine, int64_t threads) {
  assert(!groups.empty() && "nothing to choose from");
  auto scoreOf = [&](const RowGroup &group) {
    double unit = unitOf(group, machine);
    bool isBusy = !isWorthThreads(group, machine, threads) ||
                  keepsBusy(countSteps(group) / unit, threads);
    bool fits = group.rowBytes * unit <= passingBytes(machine) ||
                readsOnceRowwise(group, machine);
    return std::make_tuple(isBusy, group.numOperations,
                           group.turned.has_value(), fits, !group.cutsRows,
                           group.extents.size());
  };
  const RowGroup *best =
      max_element(groups, [&](const RowGroup &left, const RowGroup &right) {
        return scoreOf(left) < scoreOf(right);
      });
  return {static_cast<size_t>(best - groups.begin()),
          chooseTiling(*best, machine, threads)};
}
