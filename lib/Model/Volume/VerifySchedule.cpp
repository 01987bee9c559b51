//===- VerifySchedule.cpp - Checks of hand-written schedules --------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The checks that a schedule written by hand has to pass. Whether it fits the
// memory levels takes an evaluation, so they are above it.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/Algorithms.h"
#include "Schedule/LoopTree.h"
#include "Volume/Waves.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;
using namespace chimera::model;

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
  std::string checkTensors() const;
  std::string checkPacked() const;
  std::string checkRegisters() const;
  std::string checkStages() const;
  std::string checkKernel() const;
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
    error = checkTensors();
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
  unsigned numOperators = problem.operators.size();
  OperatorSet everyone = Group{0, numOperators - 1}.set();
  // What the levels so far leave of each loop to each operator.
  std::vector<SmallVector<int64_t, 6>> size(numOperators);
  for (auto &left : size)
    for (const Loop &loop : problem.loops)
      left.push_back(loop.extent);
  for (const LevelSchedule &level : schedule.levels) {
    SmallVector<OperatorSet, 6> seen(problem.loops.size(), 0);
    for (const TiledLoop &entry : level.order) {
      std::string where = "level '" + level.name + "': ";
      if (entry.loop >= problem.loops.size())
        return where + "unknown loop " + std::to_string(entry.loop);
      where += "loop '" + problem.loops[entry.loop].name + "' ";
      if (entry.operators & ~everyone)
        return where + "goes around an operator that there is not";
      OperatorSet around = entry.operators ? entry.operators : everyone;
      if (seen[entry.loop] & around)
        return where + "is listed twice";
      seen[entry.loop] |= around;
      if (entry.tile < 1)
        return where + "has tile " + std::to_string(entry.tile) +
               ", which is below 1";
      if (problem.loops[entry.loop].isWhole)
        return where + "is cut, but kernels take all of it at once";
      for (unsigned op = 0; op < numOperators; ++op) {
        if (!(around >> op & 1))
          continue;
        if (entry.tile > size[op][entry.loop])
          return where + "has tile " + std::to_string(entry.tile) +
                 ", but the level outside leaves only " +
                 std::to_string(size[op][entry.loop]);
        size[op][entry.loop] = entry.tile;
      }
    }
  }
  return "";
}

std::string ScheduleChecker::checkTensors() const {
  for (TensorId tensor : schedule.rolling) {
    if (tensor >= problem.tensors.size())
      return "rolling tensor " + std::to_string(tensor) + " is unknown";
    Role role = problem.tensors[tensor].role;
    if (role != Role::Input && role != Role::Intermediate)
      return "rolling tensor '" + problem.tensors[tensor].name +
             "' is neither an input nor an intermediate";
  }
  if (!schedule.homes.empty() &&
      schedule.homes.size() != problem.tensors.size())
    return "the schedule names the home levels of " +
           std::to_string(schedule.homes.size()) + " tensors of " +
           std::to_string(problem.tensors.size());
  for (unsigned home : schedule.homes)
    if (home >= schedule.levels.size())
      return "a tensor has unknown level " + std::to_string(home) +
             " for its home";
  return "";
}

std::string ScheduleChecker::checkParallel() const {
  if (schedule.levels.empty())
    return schedule.numParallel ? "parallel loops without levels" : "";
  LoopNest tree = buildLoopTree(problem, schedule, schedule.levels.size() - 1);
  int64_t numShared = tree.loops.size();
  if (schedule.numParallel < 0 || schedule.numParallel > numShared)
    return std::to_string(schedule.numParallel) +
           " parallel loops, but the order starts with " +
           std::to_string(numShared) + " loops shared by all operators";
  const Operator &last = problem.operators.back();
  std::optional<unsigned> split = findSplit(problem, schedule, tree);
  for (const auto &[place, loop] :
       enumerate(ArrayRef(tree.loops).take_front(schedule.numParallel))) {
    std::string where = "level '" + schedule.levels[loop.level].name +
                        "': loop '" + problem.loops[loop.loop].name +
                        "' is parallel, but ";
    for (const Operator &op : problem.operators)
      if (op.isReduction(loop.loop) && !(place == split && &op == &last))
        return where + "an operator reduces over it";
    for (const Operator &op : problem.operators)
      if (is_contained(op.completes, loop.loop))
        return where + "what follows an operator reduces over it";
    // Tasks are a grid, and parts of an edge are fewer than those of others.
    for (const NestLoop &outer : ArrayRef(tree.loops).take_front(place))
      if (outer.loop == loop.loop)
        return where + "it is so at a level outside already";
    if (place == split && problem.loops[loop.loop].isOpen)
      return where + "an operator reduces over it, in as many parts as there "
                     "are for an extent that is not known";
    if (!split || place == split)
      continue;
    // Whatever differs from part to part needs states of its own.
    for (const Access &state : last.states)
      if (!state.hasLoop(loop.loop))
        return where + "the parts of loop '" +
               problem.loops[tree.loops[*split].loop].name +
               "' beside it keep states for all of it";
  }
  for (const Access &operand : last.epilogue)
    if (split && problem.tensors[operand].role == Role::Intermediate)
      return "loop '" + problem.loops[tree.loops[*split].loop].name +
             "' is split, but what follows reads '" +
             problem.tensors[operand].name + "', which no part has whole";
  return "";
}

std::string ScheduleChecker::checkPacked() const {
  auto check = [&](ArrayRef<TensorId> tensors,
                   const std::string &what) -> std::string {
    for (TensorId tensor : tensors) {
      if (tensor >= problem.tensors.size())
        return what + " tensor " + std::to_string(tensor) + " is unknown";
      if (problem.tensors[tensor].role != Role::Input)
        return what + " tensor '" + problem.tensors[tensor].name +
               "' is not an input";
    }
    return "";
  };
  std::string error = check(schedule.packed, "packed");
  if (error.empty())
    error = check(schedule.staged, "staged");
  if (error.empty())
    error = check(schedule.prepacked, "prepacked");
  if (error.empty())
    error = toString(verifyPacked(problem, schedule));
  if (error.empty())
    error = toString(verifyPrepacked(problem, schedule));
  if (error.empty())
    error = toString(verifyHeld(problem, schedule));
  if (error.empty())
    error = toString(verifyBlocks(problem, schedule));
  for (TensorId tensor : schedule.staged)
    if (error.empty() && is_contained(schedule.packed, tensor))
      error = "tensor '" + problem.tensors[tensor].name +
              "' is both packed and staged";
  return error;
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
  if (std::string error = checkStages(); !error.empty())
    return error;
  if (!tile.kernel.empty())
    return checkKernel();
  int64_t used = tile.rows * tile.vectors + tile.vectors + tile.broadcasts;
  if (used > machine.unit.registers)
    return name + " needs " + std::to_string(used) + " registers of " +
           std::to_string(machine.unit.registers);
  return "";
}

std::string ScheduleChecker::checkStages() const {
  int64_t stages = schedule.registerTile.stages;
  if (stages == 0)
    return "";
  const MemoryLevel &level = machine.levels.back();
  if (stages >= level.buffers && stages <= level.mostCopies())
    return "";
  return "register tile with " + std::to_string(stages) + " stages: level '" +
         level.name + "' has " + std::to_string(level.buffers) + " to " +
         std::to_string(level.mostCopies()) + " copies of a tile";
}

/// A kernel sees to its registers by itself.
std::string ScheduleChecker::checkKernel() const {
  const RegisterTile &tile = schedule.registerTile;
  const KernelShape *kernel = findKernel(machine, tile);
  if (!kernel) {
    std::string known;
    for (const KernelShape &shape : machine.kernels)
      known += (known.empty() ? "there are '" : ", '") + shape.name + "'";
    return "no micro kernel is named '" + tile.kernel + "'; " +
           (known.empty() ? "there are none with tiles of their own" : known);
  }
  RegisterTile offered = kernelTile(machine.unit, *kernel);
  if (tile.rows == offered.rows && tile.vectors == offered.vectors)
    return "";
  return "micro kernel '" + tile.kernel + "' has a tile of " +
         std::to_string(offered.rows) + " rows and " +
         std::to_string(offered.vectors) + " vectors, not of " +
         std::to_string(tile.rows) + " and " + std::to_string(tile.vectors);
}

std::string ScheduleChecker::checkCapacities() const {
  Schedule complete = schedule;
  if (complete.homes.empty()) {
    SmallVector<int64_t, 4> usable;
    for (const MemoryLevel &level : machine.levels)
      usable.push_back(level.usableBytes());
    complete.homes =
        findHomes(problem, machine, schedule, usable, machine.cores);
  }
  for (const auto &[index, level] : enumerate(machine.levels)) {
    if (servesWaves(machine, index))
      continue;
    int64_t live =
        evaluate(problem, complete, index,
                 transferInto(machine, complete, index, machine.cores))
            .liveBytes;
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

/// Inputs of operators that are `tensor`, epilogues included.
static int64_t countReads(const ChainProblem &problem, TensorId tensor) {
  auto isTensor = [&](const Access &access) { return access == tensor; };
  int64_t reads = 0;
  for (const Operator &op : problem.operators)
    reads += count_if(op.inputs, isTensor) + count_if(op.epilogue, isTensor);
  return reads;
}

std::optional<int64_t>
chimera::model::prepackedColumns(const ChainProblem &problem,
                                 const Schedule &schedule, unsigned op,
                                 const Access &access) {
  LoopId columns = problem.operators[op].vectorLoop;
  if (problem.tensors[access].role != Role::Input ||
      !all_of(access.indices,
              [&](const Index &index) {
                return index.isLoop() &&
                       !problem.loops[index.terms[0].loop].isOpen;
              }) ||
      access.indices.empty() || !access.indices.back().hasLoop(columns) ||
      countReads(problem, access) != 1)
    return std::nullopt;
  SmallVector<int64_t, 3> tiles = {problem.loops[columns].extent};
  for (const LevelSchedule &level : schedule.levels)
    for (const TiledLoop &entry : level.order)
      if (entry.loop == columns && entry.tile < tiles.back() &&
          (entry.operators == 0 || entry.operators >> op & 1))
        tiles.push_back(entry.tile);
  int64_t innermost = tiles.back();
  if (tiles.size() == 1 ||
      any_of(ArrayRef(tiles).drop_front(),
             [&](int64_t tile) { return tile % innermost != 0; }))
    return std::nullopt;
  return innermost;
}

Error chimera::model::verifyPacked(const ChainProblem &problem,
                                   const Schedule &schedule) {
  auto isReadAlongVectors = [&](TensorId tensor) {
    return any_of(problem.operators, [&](const Operator &op) {
      return any_of(op.inputs, [&](const Access &input) {
        return input == tensor && input.hasLoop(op.vectorLoop);
      });
    });
  };
  for (TensorId tensor : schedule.packed)
    if (!isReadAlongVectors(tensor))
      return createStringError(
          "tensor '" + problem.tensors[tensor].name +
          "' cannot be packed: no operator reads vectors of it, and single "
          "elements are read where they lie; take it off the list");
  return Error::success();
}

Error chimera::model::verifyPrepacked(const ChainProblem &problem,
                                      const Schedule &schedule) {
  for (TensorId tensor : schedule.prepacked) {
    bool isPossible = false;
    for (const auto &[index, op] : enumerate(problem.operators))
      for (const Access &input : op.inputs)
        isPossible |= input == tensor &&
                      prepackedColumns(problem, schedule, index, input);
    if (!isPossible)
      return createStringError(
          "tensor '" + problem.tensors[tensor].name +
          "' cannot be prepacked: it must be read once, vectors must lie along "
          "its last dimension, and the tiles of that loop must be multiples of "
          "the innermost one, which must be smaller than the loop");
  }
  return Error::success();
}
