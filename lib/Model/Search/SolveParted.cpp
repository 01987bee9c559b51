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

#include "Search/Solver.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace chimera::model;

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
      size = std::min(size, index.extent(extents));
  };
  // What an operator of the chain made lies there as it was summed up.
  for (auto [access, original] : zip(alone.inputs, info.inputs))
    if (problem.tensors[original].role == Role::Intermediate)
      block.tensors[access].elementBytes =
          problem.tensors[original].heldBytes();
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

/// Gives the loops of operators that hold their sums in `schedule`, decided
/// down to `level`, the sides of its register tile, for which constants lie in
/// the order of reading.
void Solver::fitHeld(Schedule &schedule, unsigned level) const {
  for (TiledLoop &entry : schedule.levels[innermost()].order)
    for (const auto &[index, op] : enumerate(problem.operators)) {
      if (entry.operators != OperatorSet(1) << index ||
          !(schedule.held >> index & 1))
        continue;
      int64_t size = tilesAt(structure, schedule, level, index)[entry.loop];
      if (entry.loop == op.rowLoop)
        entry.tile = std::min(schedule.registerTile.rows, size);
      else if (entry.loop == op.vectorLoop)
        entry.tile =
            std::min(panelColumns(op, size, schedule.registerTile), size);
    }
}

/// Completes `schedule`, decided down to `level`, by the best plan of every
/// operator on its block.
void Solver::tryParted(Schedule schedule, unsigned level) {
  markParallel(schedule);
  SmallVector<RegisterTile, 2> tiles;
  OperatorSet held = 0;
  for (unsigned op = 0; op < problem.operators.size(); ++op) {
    const std::optional<Plan> &plan =
        planBlock(op, level, tilesAt(structure, schedule, level, op));
    if (!plan)
      return;
    for (const auto &[inner, order] : enumerate(plan->schedule.levels))
      for (const TiledLoop &entry : order.order)
        schedule.levels[level + 1 + inner].order.push_back(
            {problem.operators[op].loops[entry.loop], entry.tile,
             OperatorSet(1) << op});
    tiles.push_back(plan->schedule.registerTile);
    if (plan->schedule.held)
      held |= OperatorSet(1) << op;
  }
  // All operators use one register tile: that of any may be the best.
  for (const auto &[index, tile] : enumerate(tiles)) {
    schedule.registerTile = tile;
    bool isSeen = any_of(ArrayRef(tiles).take_front(index),
                         [&, current = &tile](const RegisterTile &other) {
                           return other.rows == current->rows &&
                                  other.vectors == current->vectors &&
                                  other.kernel == current->kernel;
                         });
    if (isSeen)
      continue;
    schedule.held = held;
    fitHeld(schedule, level);
    dropUnheld(schedule);
    pricePlan(schedule);
  }
}

void Solver::searchParted(const Schedule &schedule, unsigned level) {
  Schedule outer = schedule;
  outer.homes.assign(problem.tensors.size(), level);
  // Beyond this volume the level alone takes too long.
  Stages others;
  CostModel::Tasks tasks = costModel.tasksOf(schedule);
  others.add(costModel.leastSeconds(schedule) + leastPacking);
  double room = others.room(limit()) * costModel.bandwidth(tasks, level) +
                costModel.leavingBytes(level);
  int64_t bound = room < 1e18 ? static_cast<int64_t>(std::max(0.0, room))
                              : std::numeric_limits<int64_t>::max();
  LevelFormulas formulas(structure, outer, level,
                         transferInto(machine.levels[level], threads));
  for (const TileRule &rule : rulesAt(level))
    for (const LevelChoice &choice :
         leastChoices(formulas, schedule, tiledLoops, rule, bound)) {
      if (leastTimeWith(schedule, level, choice.volumeBytes) >= limit())
        break;
      Schedule next = outer;
      next.levels[level].order = choice.order;
      tryParted(next, level);
    }
}

/// Tiles around all operators for the sake of masks: those outside a band are
/// left out, the more the smaller they are.
void Solver::searchBands(const Schedule &schedule, unsigned level) {
  if (problem.bands.empty())
    return;
  LoopId row = problem.bands[0].row, column = problem.bands[0].column;
  auto isCut = [&](LoopId loop) {
    return any_of(schedule.levels[level].order,
                  [&](const TiledLoop &entry) { return entry.loop == loop; });
  };
  if (isCut(row) || isCut(column))
    return;
  SmallVector<int64_t, 8> size = leftBy(problem, schedule, level);
  for (int64_t rows : {48, 96, 192, 384})
    for (int64_t columns : {64, 128, 256}) {
      Schedule next = schedule;
      next.homes.assign(problem.tensors.size(), level);
      Order &order = next.levels[level].order;
      if (rows < size[row])
        order.push_back({row, rows});
      if (columns >= size[column])
        continue;
      order.push_back({column, columns});
      if (evaluateAt(next, level).liveBytes <=
          costModel.capacityAt(schedule, level))
        tryParted(next, level);
    }
}
