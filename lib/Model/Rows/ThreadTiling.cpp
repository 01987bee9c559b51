//===- ThreadTiling.cpp - How threads of a GPU share rows -----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// There are few tilings, so all are priced. A block waits for its loads,
// computes, and waits for its threads at each reduction; in the meantime the
// memory works for the other blocks of the core. Little's law says how many
// bytes have to be on their way for the memory's full bandwidth.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/ThreadTiling.h"

#include "Cost/CostModel.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace llvm;
using namespace chimera::model;

/// Threads and blocks that a core has at most, and threads of a block (CUDA C++
/// Programming Guide, Compute Capabilities).
static constexpr int64_t threadsOfCore = 2048, blocksOfCore = 32,
                         threadsOfBlock = 1024;
/// Bytes that one instruction moves at most for a thread.
static constexpr int64_t mostAtOnce = 16;
/// Seconds from a load to its data from memory when that is busy, and of a
/// barrier with what is combined there.
static constexpr double memoryLatency = 800e-9, barrierSeconds = 60e-9;
/// Registers of a thread beside the numbers it holds: indices, addresses,
/// results on their way.
static constexpr int64_t otherRegisters = 28;
/// More held numbers than this make code that is longer than it is fast.
static constexpr int64_t mostHeld = 128;
/// Vectors that a loop over a row has on their way.
static constexpr int64_t unrolledSteps = 4;

int64_t chimera::model::countBlocks(const ThreadGroup &group,
                                    const ThreadTiling &tiling) {
  if (group.isTurned)
    return group.tiles;
  if (!group.reduces)
    return divideCeil(divideCeil(group.columns, tiling.vector),
                      tiling.threads() * tiling.steps);
  int64_t rows = group.isAcrossRows ? group.rows / tiling.vector : group.rows;
  return divideCeil(rows, tiling.rows);
}

int64_t chimera::model::countSteps(const ThreadGroup &group,
                                   const ThreadTiling &tiling) {
  int64_t vector = group.isAcrossRows ? 1 : tiling.vector;
  return divideCeil(group.columns, tiling.team * vector);
}

double chimera::model::countBytes(const ThreadAccess &access,
                                  const ThreadGroup &group,
                                  const ThreadTiling &tiling) {
  double shared = access.isAlongVector ? 1 : tiling.vector;
  double count = static_cast<double>(group.rows) / shared;
  // What belongs to a row every thread of the team asks for.
  if (access.isOfColumns)
    count *= static_cast<double>(group.columns);
  else if (group.isAcrossRows)
    count *= static_cast<double>(tiling.team);
  else
    count *= static_cast<double>(tiling.team) * shared;
  bool isAgain = tiling.home == RowHome::Memory && access.isOfColumns;
  return count * access.elementBytes * (isAgain ? access.passes : 1);
}

/// Loads that several passes need.
static int64_t countKeptLoads(const ThreadGroup &group) {
  return count_if(group.loads, [](const ThreadAccess &load) {
    return load.isOfColumns && load.isAlongVector && load.passes > 1;
  });
}

int64_t chimera::model::countSharedBytes(const ThreadGroup &group,
                                         const ThreadTiling &tiling) {
  constexpr int64_t wordBytes = 4, warp = 32;
  if (group.isTurned)
    return count_if(group.loads,
                    [](const ThreadAccess &load) { return load.isOfColumns; }) *
           turnedTile * (turnedTile + 1) * wordBytes;
  int64_t bytes = 0;
  // A number, of each row, for each warp or for each thread of the team.
  bool isInWarp =
      group.isAcrossRows ? tiling.threads() <= warp : tiling.team <= warp;
  if (group.reduces && !isInWarp) {
    int64_t width = group.isAcrossRows ? tiling.vector : 1;
    int64_t parts = group.isAcrossRows && tiling.rows >= warp
                        ? tiling.team
                        : tiling.threads() / warp;
    int64_t rows = group.isAcrossRows ? tiling.rows : 1;
    bytes += group.reductions * width * parts * rows * 2 * wordBytes;
  }
  if (tiling.home == RowHome::Shared)
    bytes += countKeptLoads(group) * tiling.threads() * tiling.steps *
             tiling.vector * wordBytes;
  return bytes;
}

/// Registers of a thread.
static int64_t countRegisters(const ThreadGroup &group,
                              const ThreadTiling &tiling) {
  bool holds = tiling.home == RowHome::Registers;
  int64_t steps = holds ? tiling.steps : std::min(tiling.steps, unrolledSteps);
  int64_t numbers = std::max<int64_t>(holds ? group.heldNumbers : 1, 1);
  return otherRegisters + numbers * steps * tiling.vector +
         group.reductions * tiling.vector;
}

/// Blocks that a core runs at a time.
static int64_t countResident(const ThreadGroup &group,
                             const ThreadTiling &tiling,
                             const Machine &machine) {
  int64_t warps = divideCeil(tiling.threads(), machine.groups->threads);
  int64_t blocks = std::min(
      {blocksOfCore, threadsOfCore / tiling.threads(),
       machine.groups->groupsWith(countRegisters(group, tiling)) / warps});
  if (int64_t shared = countSharedBytes(group, tiling))
    blocks = std::min(blocks, machine.levels.back().usableBytes() / shared);
  return blocks;
}

bool chimera::model::fits(const ThreadGroup &group, const ThreadTiling &tiling,
                          const Machine &machine) {
  int64_t registers = countRegisters(group, tiling);
  return tiling.threads() <= threadsOfBlock &&
         registers <= machine.groups->registersPerThread &&
         countResident(group, tiling, machine) >= 1;
}

/// How many times as many bytes as it asks for a group moves: memory comes in
/// whole sectors, of which runs across few rows leave some unused, and pages of
/// it are open for longer runs.
static double countWaste(const ThreadGroup &group, const ThreadTiling &tiling,
                         const MemoryLevel &level) {
  if (!group.isAcrossRows)
    return 1;
  int64_t bytes = mostAtOnce;
  for (const ThreadAccess &load : group.loads)
    if (load.isOfColumns)
      bytes = std::min(bytes, load.elementBytes);
  bytes *= tiling.vector * tiling.rows;
  return static_cast<double>(alignTo(bytes, 2 * level.burstBytes)) / bytes;
}

/// Bytes that a thread asks for at once, before it needs the first.
static double countOnTheirWay(const ThreadGroup &group,
                              const ThreadTiling &tiling) {
  int64_t steps = tiling.home == RowHome::Registers
                      ? tiling.steps
                      : std::min(tiling.steps, unrolledSteps);
  double bytes = 0;
  for (const ThreadAccess &load : group.loads)
    if (load.isOfColumns)
      bytes +=
          load.elementBytes * steps * (load.isAlongVector ? tiling.vector : 1);
  return std::max(bytes, 4.0);
}

double chimera::model::predictSeconds(const ThreadGroup &group,
                                      const ThreadTiling &tiling,
                                      const Machine &machine) {
  const MemoryLevel &outermost = machine.levels.front();
  const MemoryLevel &innermost = machine.levels.back();
  double blocks = static_cast<double>(countBlocks(group, tiling));
  double resident = static_cast<double>(countResident(group, tiling, machine));
  double cores = std::min<double>(machine.cores, blocks);
  double together = std::min(resident, std::ceil(blocks / machine.cores));

  // Loads stall while a block computes: half of them are on their way.
  double way = countOnTheirWay(group, tiling) * tiling.threads() * together;
  double rate = std::min({outermost.bytesPerSecond,
                          cores * outermost.bytesPerSecondPerCore,
                          cores * way / memoryLatency});
  double asked = 0;
  for (const ThreadAccess &load : group.loads)
    asked += countBytes(load, group, tiling);
  for (const ThreadAccess &store : group.stores)
    asked += countBytes(store, group, tiling);

  double vectors =
      static_cast<double>(group.rows) * group.columns / machine.unit.lanes;
  double cycles =
      vectors *
      (group.instructions + group.functions * machine.unit.exponentialCost) /
      machine.unit.fmaPerCycle;
  double accesses =
      static_cast<double>(group.loads.size() + group.stores.size()) *
      group.passes;
  cycles += vectors * accesses / (tiling.vector * machine.unit.loadsPerCycle);

  Stages stages;
  stages.add(group.bytes * countWaste(group, tiling, outermost) / rate);
  stages.add(asked / (cores * innermost.bytesPerSecondPerCore));
  stages.add(cycles / cores / machine.unit.cyclesPerSecond);
  // A block takes a while whatever it does, and each place has one after the
  // other.
  double inTurn = std::ceil(blocks / (machine.cores * resident));
  double barriers = tiling.team > machine.groups->threads ? barrierSeconds
                                                          : barrierSeconds / 4;
  double again = tiling.home == RowHome::Memory ? group.passes : 1;
  stages.add(inTurn * (again * memoryLatency + group.passes * barriers +
                       (tiling.steps - 1) * tiling.vector /
                           machine.unit.cyclesPerSecond));
  return stages.total() + machine.launchSeconds;
}

namespace {

/// Tries all tilings of a group.
class TilingSearch {
public:
  TilingSearch(const ThreadGroup &group, const Machine &machine)
      : group(group), machine(machine) {}

  ThreadTiling run();

private:
  void tryBlocks(int64_t vector);
  void tryHomes(ThreadTiling tiling);
  void take(const ThreadTiling &tiling);

  const ThreadGroup &group;
  const Machine &machine;
  ThreadTiling best;
  double seconds = std::numeric_limits<double>::infinity();
};

} // namespace

void TilingSearch::take(const ThreadTiling &tiling) {
  if (!fits(group, tiling, machine))
    return;
  double own = predictSeconds(group, tiling, machine);
  if (own >= seconds)
    return;
  seconds = own;
  best = tiling;
}

void TilingSearch::tryHomes(ThreadTiling tiling) {
  if (!group.reduces) {
    for (tiling.steps = 1; tiling.steps <= 8; tiling.steps *= 2)
      take(tiling);
    return;
  }
  tiling.steps = countSteps(group, tiling);
  int64_t held = std::max<int64_t>(group.heldNumbers, 1);
  if (held * tiling.steps * tiling.vector <= mostHeld)
    take(tiling);
  tiling.home = RowHome::Shared;
  if (countKeptLoads(group) > 0)
    take(tiling);
  tiling.home = RowHome::Memory;
  take(tiling);
}

/// Blocks of some warps, and rows by teams of all sizes.
void TilingSearch::tryBlocks(int64_t vector) {
  for (int64_t threads = 64; threads <= threadsOfBlock; threads *= 2) {
    ThreadTiling tiling;
    tiling.vector = vector;
    if (!group.reduces) {
      tiling.team = threads;
      tryHomes(tiling);
      continue;
    }
    for (tiling.team = 1; tiling.team <= threads; tiling.team *= 2) {
      tiling.rows = threads / tiling.team;
      tryHomes(tiling);
    }
  }
}

ThreadTiling TilingSearch::run() {
  if (group.isTurned) {
    best.team = turnedTile;
    best.rows = 8;
    best.steps = turnedTile / best.rows;
    return best;
  }
  int64_t least = mostAtOnce;
  for (const ThreadAccess &access : group.loads)
    least = std::min(least, access.elementBytes);
  for (const ThreadAccess &access : group.stores)
    least = std::min(least, access.elementBytes);
  for (int64_t vector = 1; vector <= group.mostVector; vector *= 2)
    if (vector * least <= mostAtOnce && vector <= 8)
      tryBlocks(vector);
  // Rows that nothing holds are read again.
  if (std::isinf(seconds)) {
    best.team = threadsOfBlock / 4;
    best.steps = countSteps(group, best);
    best.home = RowHome::Memory;
  }
  return best;
}

ThreadTiling chimera::model::planThreads(const ThreadGroup &group,
                                         const Machine &machine) {
  return TilingSearch(group, machine).run();
}
