//===- Schedule.cpp - From orders to loop trees ---------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one place that knows how a list of tiled loops becomes a loop tree, and
// the checks that a schedule written by hand has to pass.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/Schedule.h"

#include "Chimera/Model/Algorithms.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;
using namespace chimera::model;

LoopTree chimera::model::buildLoopTree(const ChainProblem &problem,
                                       const Schedule &schedule,
                                       unsigned level) {
  SmallVector<int64_t, 6> size;
  for (const Loop &loop : problem.loops)
    size.push_back(loop.extent);

  LoopTree tree;
  tree.subtrees.resize(problem.operators.size());
  bool onSharedPath = true;
  for (unsigned index = 0; index <= level; ++index)
    for (const TiledLoop &entry : schedule.levels[index].order) {
      if (entry.tile >= size[entry.loop])
        continue;
      size[entry.loop] = entry.tile;
      NestLoop loop{entry.loop, entry.tile, index};
      onSharedPath = onSharedPath && problem.isShared(entry.loop);
      if (onSharedPath) {
        tree.shared.push_back(loop);
        continue;
      }
      for (auto [op, subtree] : zip(problem.operators, tree.subtrees))
        if (op.hasLoop(entry.loop))
          subtree.push_back(loop);
    }
  return tree;
}

SmallVector<int64_t, 6> chimera::model::tilesAt(const ChainProblem &problem,
                                                const Schedule &schedule,
                                                unsigned level) {
  SmallVector<int64_t, 6> tiles;
  for (const Loop &loop : problem.loops)
    tiles.push_back(loop.extent);
  for (unsigned index = 0; index <= level; ++index)
    for (const TiledLoop &entry : schedule.levels[index].order)
      tiles[entry.loop] = std::min(tiles[entry.loop], entry.tile);
  return tiles;
}

//===----------------------------------------------------------------------===//
// verify
//===----------------------------------------------------------------------===//

namespace {

/// Looks for the first thing that is wrong with a schedule. The steps are in
/// an order in which each may rely on those before it.
class ScheduleChecker {
public:
  ScheduleChecker(const ChainProblem &problem, const Machine &machine,
                  const Schedule &schedule)
      : problem(problem), machine(machine), schedule(schedule) {}

  /// An empty string if nothing is wrong.
  std::string run() const;
  std::string checkParallel() const;

private:
  std::string checkLevels() const;
  std::string checkOrders() const;
  std::string checkPacked() const;
  std::string checkRegisters() const;
  std::string checkCapacities() const;

  const ChainProblem &problem;
  const Machine &machine;
  const Schedule &schedule;
};

std::string ScheduleChecker::run() const {
  std::string error = checkLevels();
  if (error.empty())
    error = checkOrders();
  if (error.empty())
    error = checkParallel();
  if (error.empty())
    error = checkPacked();
  if (error.empty())
    error = checkRegisters();
  if (error.empty())
    error = checkCapacities();
  return error;
}

std::string ScheduleChecker::checkLevels() const {
  if (schedule.levels.size() != machine.levels.size())
    return "the schedule has " + std::to_string(schedule.levels.size()) +
           " levels, machine '" + machine.name + "' has " +
           std::to_string(machine.levels.size());
  for (auto [planned, present] : zip(schedule.levels, machine.levels))
    if (planned.name != present.name)
      return "unknown level '" + planned.name + "' where machine '" +
             machine.name + "' has level '" + present.name + "'";
  return "";
}

std::string ScheduleChecker::checkOrders() const {
  SmallVector<int64_t, 6> size;
  for (const Loop &loop : problem.loops)
    size.push_back(loop.extent);
  for (const LevelSchedule &level : schedule.levels) {
    SmallSet<LoopId, 6> seen;
    for (const TiledLoop &entry : level.order) {
      std::string where = "level '" + level.name + "': ";
      if (entry.loop >= problem.loops.size())
        return where + "unknown loop " + std::to_string(entry.loop);
      where += "loop '" + problem.loops[entry.loop].name + "' ";
      if (!seen.insert(entry.loop).second)
        return where + "is listed twice";
      if (entry.tile < 1)
        return where + "has tile " + std::to_string(entry.tile) +
               ", which is below 1";
      if (entry.tile > size[entry.loop])
        return where + "has tile " + std::to_string(entry.tile) +
               ", but the level outside leaves only " +
               std::to_string(size[entry.loop]);
      size[entry.loop] = entry.tile;
    }
  }
  return "";
}

std::string ScheduleChecker::checkParallel() const {
  if (schedule.levels.empty())
    return schedule.numParallel ? "parallel loops without levels" : "";
  LoopTree tree = buildLoopTree(problem, schedule, schedule.levels.size() - 1);
  int64_t numShared = tree.shared.size();
  if (schedule.numParallel < 0 || schedule.numParallel > numShared)
    return std::to_string(schedule.numParallel) +
           " parallel loops, but the order starts with " +
           std::to_string(numShared) + " loops shared by all operators";
  for (const NestLoop &loop :
       ArrayRef(tree.shared).take_front(schedule.numParallel))
    if (problem.isReduction(loop.loop))
      return "level '" + schedule.levels[loop.level].name + "': loop '" +
             problem.loops[loop.loop].name +
             "' is parallel, but an operator reduces over it";
  return "";
}

std::string ScheduleChecker::checkPacked() const {
  for (TensorId tensor : schedule.packed) {
    if (tensor >= problem.tensors.size())
      return "packed tensor " + std::to_string(tensor) + " is unknown";
    if (problem.tensors[tensor].role != Role::Input)
      return "packed tensor '" + problem.tensors[tensor].name +
             "' is not an input";
  }
  return "";
}

std::string ScheduleChecker::checkRegisters() const {
  const RegisterTile &tile = schedule.registerTile;
  std::string name = "register tile " + std::to_string(tile.rows) + "x" +
                     std::to_string(tile.vectors);
  if (tile.rows < 1 || tile.vectors < 1 || tile.broadcasts < 0 ||
      tile.depth < 1)
    return name + " with " + std::to_string(tile.broadcasts) +
           " broadcasts and depth " + std::to_string(tile.depth) +
           " has a figure out of range";
  int64_t used = tile.rows * tile.vectors + tile.vectors + tile.broadcasts;
  if (used > machine.unit.registers)
    return name + " needs " + std::to_string(used) + " registers of " +
           std::to_string(machine.unit.registers);
  return "";
}

std::string ScheduleChecker::checkCapacities() const {
  for (const auto &[index, level] : enumerate(machine.levels)) {
    int64_t live = evaluate(problem, schedule, index).liveBytes;
    if (live > level.usableBytes())
      return "level '" + level.name + "': the live set of " +
             std::to_string(live) + " bytes exceeds the usable " +
             std::to_string(level.usableBytes()) + " of " +
             std::to_string(level.capacityBytes) + " bytes";
  }
  return "";
}

} // namespace

static Error toError(const std::string &error) {
  if (error.empty())
    return Error::success();
  return createStringError(Twine(error));
}

Error chimera::model::verify(const ChainProblem &problem,
                             const Machine &machine, const Schedule &schedule) {
  return toError(ScheduleChecker(problem, machine, schedule).run());
}

Error chimera::model::verifyParallel(const ChainProblem &problem,
                                     const Schedule &schedule) {
  return toError(ScheduleChecker(problem, Machine(), schedule).checkParallel());
}
