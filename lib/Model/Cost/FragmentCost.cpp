//===- FragmentCost.cpp - Arithmetic on registers of threads --------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A core runs as many tasks at a time as its registers and its memory have room
// for. Groups are dealt out to the units; a unit's groups take turns. Products
// and what is done element by element follow each other in a group, and tasks
// wait for their tiles, so that these times add up: with more groups on a unit
// they overlap less than one would hope, as measured (docs/model.md).
//
//===----------------------------------------------------------------------===//

#include "Cost/CostModel.h"

#include "Volume/RefillingLoops.h"

#include "Chimera/Model/Fragments.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace chimera::model;

/// A group that has a unit for itself waits for the results of its own
/// instructions: so much longer takes what is done element by element.
static constexpr double aloneFactor = 1.2;
/// Instructions to correct a vector of sums: one, and what it is waited for.
static constexpr double rescaleCost = 2;

/// Cycles that a core waits as a loop of one operator starts, inside another
/// loop: for its first tile, which nothing asked for ahead.
static constexpr double restartCycles = 500;

/// Cycles of a block of products in which groups that share columns tell each
/// other the maxima and the sums of their rows: twice a barrier, and to the
/// innermost level and back, 30 cycles each.
static constexpr double sharingCycles = 180;

/// Cycles in which what a task has written reaches all others, it counts
/// itself, and the first part arrives: three times through the level that all
/// share. Several parts are on their way at a time, so each takes a share of
/// that.
static constexpr double arrivalCycles = 2000, partCycles = 150;
/// Bytes in a cycle that one block reads of what the others have written, from
/// the level that all share.
static constexpr double combineBytesPerCycle = 12;

int64_t chimera::model::countResidents(const Machine &machine,
                                       const FragmentPlan &plan) {
  int64_t residents = machine.groups->groupsWith(plan.registers) / plan.groups;
  if (plan.factorBytes > 0)
    residents = std::min(residents, machine.levels.back().usableBytes() /
                                        plan.factorBytes);
  return std::max<int64_t>(1, residents);
}

/// What a loop with `parts` comes to in code, which has one size for all parts,
/// a multiple of `size`.
static double roundedUpTo(ArrayRef<Parts> parts, int64_t size) {
  return static_cast<double>(countOf(parts)) *
         alignTo(parts.front().size, size);
}

CostModel::Occupancy CostModel::occupancyOf(const Schedule &schedule) const {
  Occupancy occupancy;
  FragmentPlan plan = planFragments(problem, machine, schedule);
  if (!plan.obstacle.empty())
    return occupancy;
  int64_t units = machine.groups->units;
  occupancy.tasks =
      std::min(countResidents(machine, plan),
               divideCeilSigned(tasksOf(schedule).count, threads));
  int64_t groups = plan.groups * occupancy.tasks;
  occupancy.idle =
      static_cast<double>(divideCeilSigned(groups, units) * units) / groups;
  occupancy.waiting = groups <= units ? aloneFactor : 1;
  return occupancy;
}

CostModel::BlockCycles
CostModel::groupCycles(const Operator &op, ArrayRef<ArrayRef<Parts>> parts,
                       const RegisterTile &tile,
                       const Occupancy &occupancy) const {
  const MatrixUnit &unit = *machine.matrix;
  double repeats = 1, depth = 1, calls = 1;
  auto roundedUp = [&](LoopId loop, int64_t size) {
    return roundedUpTo(parts[loop], size);
  };
  for (LoopId loop : op.loops) {
    calls *= countOf(parts[loop]);
    if (loop == op.vectorLoop || loop == op.rowLoop)
      continue;
    if (op.output.hasLoop(loop) || isTap(problem, loop))
      repeats *= totalOf(parts[loop]);
    else
      depth *= roundedUp(loop, unit.depth);
  }
  double columns = roundedUp(op.vectorLoop, unit.columns);
  double rows = op.rowLoop == op.vectorLoop ? unit.rows
                                            : roundedUp(op.rowLoop, unit.rows);
  double products = repeats * rows * columns * depth /
                    (unit.multiplyAddsPerCycle * machine.groups->rate) *
                    occupancy.idle;
  // Each group loads all columns for the rows it has, and these rows, unless
  // they are in its registers.
  bool isLoaded = any_of(op.inputs, [&](const Access &input) {
    return problem.tensors[input].role != Role::Intermediate &&
           input.hasLoop(op.rowLoop) && !input.hasLoop(op.vectorLoop);
  });
  double loaded = columns * depth * rows / (tile.rows * unit.rows) +
                  (isLoaded ? rows * depth * countOf(parts[op.vectorLoop]) : 0);
  double loading = repeats * loaded *
                   problem.tensors[op.inputs.front()].elementBytes /
                   unit.loadBytesPerCycle;
  bool isShared = tile.depth > 1 && op.rescaledBy;
  double waiting =
      machine.overheads.blockCycles + (isShared ? sharingCycles : 0);
  return {calls,
          std::max(products, loading) + calls * waiting / occupancy.tasks};
}

double CostModel::restartCyclesOf(const LoopNest &tree) const {
  SmallVector<int64_t, 6> sizes;
  for (const Loop &loop : problem.loops)
    sizes.push_back(loop.extent);
  double iterations = 1;
  for (const NestLoop &loop : tree.loops) {
    iterations *= divideCeilSigned(sizes[loop.loop], loop.tile);
    sizes[loop.loop] = loop.tile;
  }
  return iterations * restartCycles *
         count_if(tree.parts,
                  [](const LoopNest &part) { return !part.loops.empty(); });
}

/// A tile is asked for as many iterations ahead as there are copies beside the
/// one in use: the tasks of a core work on these iterations while it arrives,
/// and wait together for the rest of its latency. Those that are asked for
/// together arrive together.
double CostModel::arrivalCyclesOf(const Schedule &schedule,
                                  const LoopNest &tree,
                                  ArrayRef<BlockCycles> blocks,
                                  const Occupancy &occupancy) const {
  const MemoryLevel &level = machine.levels.back();
  if (level.latencyCycles == 0)
    return 0;
  // With a single copy, only other tasks have something to do.
  int64_t stages = schedule.registerTile.stagesIn(level);
  double hiding = stages > 1 ? stages - 1 : 1 - 1.0 / occupancy.tasks;
  double cycles = 0;
  for (const RefillingLoops &loops :
       findRefillingLoops(problem, schedule, tree)) {
    double inside = 0;
    for (unsigned op = loops.firstOperator; op <= loops.lastOperator; ++op)
      inside += blocks[op].cycles;
    double iterations = blocks[loops.reader].count;
    double hidden = hiding * occupancy.tasks * inside / iterations;
    int64_t waits = stages > 1 ? divideCeilSigned(loops.trips, stages - 1) - 1
                               : loops.trips;
    cycles += iterations / loops.trips * waits *
              std::max(0.0, level.latencyCycles - hidden) / occupancy.tasks;
  }
  return cycles;
}

double CostModel::groupEpilogueShare(const Operator &op,
                                     ArrayRef<ArrayRef<Parts>> parts) const {
  const MatrixUnit &unit = *machine.matrix;
  double share = roundedUpTo(parts[op.vectorLoop], unit.columns) /
                 totalOf(parts[op.vectorLoop]);
  if (op.rowLoop != op.vectorLoop)
    share *=
        roundedUpTo(parts[op.rowLoop], unit.rows) / totalOf(parts[op.rowLoop]);
  return share;
}

double CostModel::groupEpilogueCycles(const Operator &op) const {
  if (!op.hasEpilogue && op.epilogue.empty())
    return 0;
  const VectorUnit &unit = machine.unit;
  double vectors = static_cast<double>(problem.sizeOf(op.output)) / unit.lanes;
  double instructions =
      op.epilogueCost + op.epilogueExponentials * unit.exponentialCost;
  return vectors * (instructions / unit.fmaPerCycle +
                    op.epilogue.size() / unit.loadsPerCycle);
}

double CostModel::groupRescaleCycles(const Operator &op, int64_t parts) const {
  double vectors =
      static_cast<double>(problem.sizeOf(op.output)) / machine.unit.lanes;
  return (parts - 1) * vectors * rescaleCost / machine.unit.fmaPerCycle;
}

/// Tiles are combined beside each other: of so few that they are split, each
/// has a core for itself.
double CostModel::groupCombineCycles(const Schedule &schedule,
                                     int64_t parts) const {
  const TensorId output = problem.operators.back().output;
  double elements = static_cast<double>(problem.sizeOf(output) * parts) /
                    tasksOf(schedule).count;
  double bytes = elements * problem.tensors[output].heldBytes();
  return arrivalCycles + parts * (partCycles + bytes / combineBytesPerCycle);
}
