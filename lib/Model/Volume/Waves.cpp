//===- Waves.cpp - What tasks that run at the same time share -------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Volume/Waves.h"

#include "Schedule/LoopTree.h"

#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace chimera::model;

bool chimera::model::servesWaves(const Machine &machine, unsigned level) {
  return machine.startsTasksInOrder() && level + 1 < machine.levels.size();
}

Schedule chimera::model::scheduleOfWaves(const ChainStructure &structure,
                                         const Schedule &schedule,
                                         unsigned level, int64_t tasks,
                                         bool streams) {
  std::shared_ptr<const KnownTree> known =
      findTree(structure, schedule, schedule.levels.size() - 1);
  const LoopNest &tree = known->nest;
  ArrayRef<NestLoop> parallel =
      ArrayRef(tree.loops)
          .take_front(
              std::min<size_t>(schedule.numParallel, tree.loops.size()));
  SmallVector<int64_t, 6> sizes, trips;
  for (const Loop &loop : structure.getProblem().loops)
    sizes.push_back(loop.extent);
  for (const NestLoop &loop : parallel) {
    trips.push_back(divideCeilSigned(sizes[loop.loop], loop.tile));
    sizes[loop.loop] = loop.tile;
  }
  // Loops that a wave has all of.
  size_t around = parallel.size();
  while (around > 0 && tasks >= trips[around - 1])
    tasks = divideCeilSigned(tasks, trips[--around]);

  // One wave follows the other.
  Schedule waves = schedule;
  waves.numParallel = 0;
  for (LevelSchedule &outer :
       MutableArrayRef(waves.levels).take_front(level + 1))
    outer.order.clear();
  auto &order = waves.levels[level].order;
  for (const NestLoop &loop : parallel.take_front(around))
    order.push_back({loop.loop, loop.tile});
  if (around > 0)
    order.back().tile *= tasks;
  if (streams)
    for (const NestLoop &loop :
         ArrayRef(tree.loops).drop_front(parallel.size()))
      order.push_back({loop.loop, loop.tile});
  return waves;
}
