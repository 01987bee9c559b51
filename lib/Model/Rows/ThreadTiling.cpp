//===- ThreadTiling.cpp - How threads of a GPU share rows -----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// There are few tilings, so all are priced. A thread of a block goes through
// its steps one after the other, each of which waits, and in the meantime the
// memory works for the other blocks of the core. Little's law says how many
// bytes have to be on their way for the memory's full bandwidth.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/ThreadTiling.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>

using namespace llvm;
using namespace chimera::model;

/// Threads and blocks that a core has at most, and threads of a block (CUDA C++
/// Programming Guide, Compute Capabilities).
static constexpr int64_t threadsOfCore = 2048, blocksOfCore = 32,
                         threadsOfBlock = 1024;
/// Bytes that one instruction moves at most for a thread.
static constexpr int64_t mostAtOnce = 16;
/// Seconds from a load to its data from memory when that is busy.
static constexpr double memoryLatency = 800e-9;
/// Seconds of a step of a pass, of each of its elements, and of a warp to
/// begin, to combine and to end; and the part of a block's time that nothing
/// hides. With the exponent of `join` they are fitted to 610 tilings of
/// LayerNorm, RMSNorm and row sums on an H200 (benchmarks/nvidia/tilings).
static constexpr double stepSeconds = 67e-9, elementSeconds = 1e-9,
                        warpSeconds = 10e-9, exposedBlock = 0.45;
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

/// Threads that ask for what belongs to a row: those of its team that have a
/// part. Without reductions there is one row, and each of its vectors asks, as
/// does each element behind the last whole one.
static int64_t countAsking(const ThreadGroup &group,
                           const ThreadTiling &tiling) {
  if (!group.reduces)
    return group.columns / tiling.vector + group.columns % tiling.vector;
  int64_t vector = group.isAcrossRows ? 1 : tiling.vector;
  return std::min<int64_t>(tiling.team, divideCeil(group.columns, vector));
}

double chimera::model::countBytes(const ThreadAccess &access,
                                  const ThreadGroup &group,
                                  const ThreadTiling &tiling) {
  double shared = access.isAlongVector ? 1 : tiling.vector;
  double count = static_cast<double>(group.rows) / shared;
  if (access.isOfColumns)
    count *= static_cast<double>(group.columns);
  else
    count *= static_cast<double>(countAsking(group, tiling)) *
             (group.isAcrossRows ? 1 : shared);
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
  double bytes = 0;
  for (const ThreadAccess &load : group.loads)
    if (load.isOfColumns)
      bytes += load.elementBytes * tiling.steps *
               (load.isAlongVector ? tiling.vector : 1);
  return std::max(bytes, 4.0);
}

/// Bytes a second that come from memory.
static double getRate(const ThreadGroup &group, const ThreadTiling &tiling,
                      const Machine &machine, double cores, double together) {
  const MemoryLevel &outermost = machine.levels.front();
  double rate = std::min(outermost.bytesPerSecond,
                         cores * outermost.bytesPerSecondPerCore);
  // What reduces waits in its steps instead.
  if (group.reduces)
    return rate;
  double way = countOnTheirWay(group, tiling) * tiling.threads() * together;
  return std::min(rate, cores * way / memoryLatency);
}

/// Seconds of a core for what comes from nearer than memory: what is asked for
/// again from the level before it, and rows in shared memory.
static double getSecondsNearby(const ThreadGroup &group,
                               const ThreadTiling &tiling,
                               const Machine &machine, double cores) {
  constexpr double wordBytes = 4;
  double again = 0;
  ThreadTiling once = tiling;
  once.home = RowHome::Registers;
  for (const ThreadAccess &load : group.loads)
    again += countBytes(load, group, tiling) - countBytes(load, group, once);
  double seconds =
      again / (cores * machine.levels.front().bytesPerSecondPerCore);
  if (tiling.home == RowHome::Shared)
    seconds += wordBytes * countKeptLoads(group) * group.passes *
               static_cast<double>(group.rows) * group.columns /
               (cores * machine.levels.back().bytesPerSecondPerCore);
  return seconds;
}

/// The time of parts that hide each other, but not where one is about as long
/// as another.
static double join(std::initializer_list<double> parts) {
  constexpr double exponent = 2.25;
  double sum = 0;
  for (double part : parts)
    sum += std::pow(part, exponent);
  return std::pow(sum, 1 / exponent);
}

double chimera::model::predictSeconds(const ThreadGroup &group,
                                      const ThreadTiling &tiling,
                                      const Machine &machine) {
  double blocks = static_cast<double>(countBlocks(group, tiling));
  double resident = static_cast<double>(countResident(group, tiling, machine));
  double cores = std::min<double>(machine.cores, blocks);
  double together = std::min(resident, std::ceil(blocks / machine.cores));

  double memory = group.bytes *
                  countWaste(group, tiling, machine.levels.front()) /
                  getRate(group, tiling, machine, cores, together);

  double elements = static_cast<double>(group.rows) * group.columns;
  double vectors = elements / machine.unit.lanes;
  double accesses =
      static_cast<double>(group.loads.size() + group.stores.size()) *
      group.passes;
  double cycles =
      vectors *
          (group.instructions +
           group.functions * machine.unit.exponentialCost) /
          machine.unit.fmaPerCycle +
      vectors * accesses / (tiling.vector * machine.unit.loadsPerCycle);
  double arithmetic = cycles / cores / machine.unit.cyclesPerSecond;

  // A block takes a while whatever it does, and each place of a core has one
  // after the other.
  double warps = static_cast<double>(
      divideCeil(tiling.threads(), machine.groups->threads));
  double block = static_cast<double>(group.passes * tiling.steps) *
                     (stepSeconds + elementSeconds * tiling.vector) +
                 warpSeconds * warps;
  // A block of few steps is mostly a wait for its first loads.
  if (!group.reduces)
    block += memoryLatency;
  double inTurn = std::max(blocks / (machine.cores * resident), 1.0);
  double waiting =
      inTurn * block + getSecondsNearby(group, tiling, machine, cores);
  return join({memory, arithmetic, waiting}) + exposedBlock * block +
         machine.launchSeconds;
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
