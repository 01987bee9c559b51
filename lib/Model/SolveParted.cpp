//===- SolveParted.cpp - Operators that part at an outer level ------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An intermediate need not fit the innermost level to stay on chip. If a level
// further out holds it, the operators can run one after the other there, each
// with the tiles that suit it: what is left is one operator, one block and
// fewer levels, a problem the solver knows.
//
//===----------------------------------------------------------------------===//

#include "Solver.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace chimera::model;

/// Tiles of outer levels are not worth distinguishing below this size.
static constexpr int64_t outerGranularity = 16;

/// Elements that one dimension of a block takes.
static int64_t extentOf(const Index &index, ArrayRef<int64_t> sizes) {
  int64_t extent = 1;
  for (const Term &term : index.terms)
    extent += term.factor * (sizes[term.loop] - 1);
  return extent;
}

const std::optional<Plan> &Solver::planBlock(unsigned op, unsigned level,
                                             ArrayRef<int64_t> sizes) {
  const Operator &info = problem.operators[op];
  SmallVector<int64_t, 10> key = {op, level};
  for (LoopId loop : info.loops)
    key.push_back(sizes[loop]);
  auto [entry, isNew] = blockPlans.try_emplace(std::move(key));
  if (!isNew)
    return entry->second;
  // Loops come in the operator's order, see isolate.
  ChainProblem block = isolate(problem, op);
  SmallVector<int64_t, 8> extents;
  for (auto [loop, original] : zip(block.loops, info.loops)) {
    loop.extent = sizes[original];
    extents.push_back(loop.extent);
  }
  Operator &alone = block.operators.front();
  auto shrink = [&](const Access &access) {
    for (auto [size, index] : zip(block.tensors[access].shape, access.indices))
      size = std::min(size, extentOf(index, extents));
  };
  for_each(alone.inputs, shrink);
  for_each(alone.epilogue, shrink);
  shrink(alone.output);
  Machine inside = machine;
  inside.levels.erase(inside.levels.begin(), inside.levels.begin() + level + 1);
  inside.launchSeconds = 0;
  SolveOptions forBlocks;
  forBlocks.isExhaustive = isExhaustive;
  if (Error error = block.check())
    consumeError(std::move(error));
  else
    entry->second = solve(block, inside, forBlocks);
  return entry->second;
}

/// Completes `schedule`, decided down to `level`, by the best plan of every
/// operator on its block.
void Solver::tryParted(Schedule schedule, unsigned level) {
  markParallel(schedule);
  SmallVector<RegisterTile, 2> tiles;
  for (unsigned op = 0; op < problem.operators.size(); ++op) {
    const std::optional<Plan> &plan =
        planBlock(op, level, tilesAt(problem, schedule, level, op));
    if (!plan)
      return;
    for (const auto &[inner, order] : enumerate(plan->schedule.levels))
      for (const TiledLoop &entry : order.order)
        schedule.levels[level + 1 + inner].order.push_back(
            {problem.operators[op].loops[entry.loop], entry.tile,
             OperatorSet(1) << op});
    tiles.push_back(plan->schedule.registerTile);
  }
  // All operators use one register tile: that of any may be the best.
  for (const auto &[index, tile] : enumerate(tiles)) {
    schedule.registerTile = tile;
    bool isSeen = any_of(ArrayRef(tiles).take_front(index),
                         [&, current = &tile](const RegisterTile &other) {
                           return other.rows == current->rows &&
                                  other.vectors == current->vectors;
                         });
    if (!isSeen)
      pricePlan(schedule);
  }
}

void Solver::searchParted(const Schedule &schedule, unsigned level) {
  int64_t capacity = pricer.capacityAt(schedule, level);
  Schedule outer = schedule;
  outer.homes.assign(problem.tensors.size(), level);
  LoopList loops;
  for (LoopId loop : tiledLoops)
    if (none_of(schedule.levels[level].order,
                [&](const TiledLoop &entry) { return entry.loop == loop; }))
      loops.push_back(loop);
  SmallVector<int64_t, 6> granularity(problem.loops.size(), outerGranularity);
  SmallVector<int64_t, 6> alignment;
  for (LoopId loop = 0; loop < problem.loops.size(); ++loop)
    alignment.push_back(std::max<int64_t>(1, tileUnit(loop)));
  VolumeSearch search(structure, outer, level, capacity,
                      transferInto(machine.levels[level], threads), granularity,
                      alignment);
  // Beyond this volume the level alone takes too long.
  Stages others;
  int64_t tasks = pricer.countTasks(schedule);
  others.add(pricer.leastSeconds(schedule) + leastPacking);
  double room = others.room(limit()) * pricer.bandwidth(tasks, level);
  int64_t bound = room < 1e18 ? std::max<int64_t>(0, room)
                              : std::numeric_limits<int64_t>::max();
  std::vector<LevelChoice> choices;
  for (const LoopOrder &order : ordersOf(schedule, level, loops))
    if (auto choice = search.best(order, bound)) {
      choice->index = choices.size();
      choices.push_back(*choice);
    }
  keepLeast(choices, schedule);
  for (const LevelChoice &choice : choices) {
    if (leastTimeWith(schedule, level, choice.volumeBytes) >= limit())
      break;
    Schedule next = outer;
    next.levels[level].order = choice.order;
    tryParted(next, level);
  }
}
