//===- OpenLoops.cpp - Schedules that hold for any extent -----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A schedule is found for the extents that are planned for. Code for any needs
// a loop with a tile for each loop that is open, whether or not the extent that
// is planned for is one tile, so that no buffer is as large as the extent.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/Schedule.h"

#include "Schedule/LoopTree.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;
using namespace chimera::model;

/// `problem` where open loops are longer than any tile.
static ChainProblem lengthen(const ChainProblem &problem) {
  constexpr int64_t many = int64_t(1) << 40;
  ChainProblem longer = problem;
  for (Loop &loop : longer.loops)
    if (loop.isOpen)
      loop.extent = many;
  return longer;
}

/// The loop tree of `schedule` where open loops have more trips than one.
static LoopNest buildOpenTree(const ChainProblem &problem,
                              const Schedule &schedule) {
  return buildLoopTree(lengthen(problem), schedule, schedule.levels.size() - 1);
}

/// The loops around buffers: a kernel that holds its sums has the last loops,
/// and leaves sums that are to be rounded for all rows.
static LoopNest buildTreeOfBuffers(const ChainProblem &problem,
                                   const Schedule &schedule) {
  Schedule rounding = schedule;
  for (auto [index, op] : enumerate(problem.operators)) {
    const Tensor &output = problem.tensors[op.output];
    if (output.heldBytes() == output.elementBytes)
      rounding.held &= ~(OperatorSet(1) << index);
  }
  LoopNest tree = buildOpenTree(problem, schedule);
  leaveLoopsToKernels(lengthen(problem), rounding, tree);
  return tree;
}

static bool hasLoop(ArrayRef<NestLoop> loops, LoopId loop) {
  return any_of(loops, [&](const NestLoop &own) { return own.loop == loop; });
}

/// True if a tile of `loop` is left of what operator number `index` adds up,
/// and of what it hands on, wherever that has a buffer.
static bool isCutFor(const ChainProblem &problem, const LoopNest &tree,
                     unsigned index, LoopId loop) {
  const Operator &op = problem.operators[index];
  SmallVector<NestLoop, 12> path = pathOf(tree, index);
  const auto *reduction = find_if(path, [&](const NestLoop &own) {
    return own.loop != loop && op.isReduction(own.loop);
  });
  if (!hasLoop(ArrayRef(path.begin(), reduction), loop))
    return false;
  for (auto [reader, info] : enumerate(problem.operators)) {
    auto reads = [&](const Access &access) {
      return access == op.output.tensor && access.hasLoop(loop);
    };
    if (!any_of(info.inputs, reads) && !any_of(info.epilogue, reads))
      continue;
    size_t common = commonDepth(tree, index, reader);
    if (!hasLoop(ArrayRef(path).take_front(common), loop))
      return false;
  }
  return true;
}

static bool isCut(const ChainProblem &problem, const Schedule &schedule,
                  LoopId loop) {
  LoopNest tree = buildTreeOfBuffers(problem, schedule);
  for (unsigned index = 0; index < problem.operators.size(); ++index)
    if (problem.operators[index].hasLoop(loop) &&
        !isCutFor(problem, tree, index, loop))
      return false;
  return true;
}

/// Puts a loop over tiles of what is planned for behind the parallel loops,
/// around `operators` or those that it concerns.
static void addLoop(const ChainProblem &problem, Schedule &schedule,
                    LoopId loop, OperatorSet operators) {
  TiledLoop added;
  added.loop = loop;
  added.tile = problem.loops[loop].extent;
  added.operators = operators;
  // It may be there, but too far inside.
  for (LevelSchedule &level : schedule.levels)
    erase_if(level.order, [&](const TiledLoop &entry) {
      return entry.loop == loop && entry.tile == added.tile;
    });
  LoopNest tree = buildOpenTree(problem, schedule);
  size_t numParallel =
      std::min<size_t>(schedule.numParallel, tree.loops.size());
  if (numParallel == 0) {
    auto &order = schedule.levels.front().order;
    order.insert(order.begin(), added);
    return;
  }
  const NestLoop &last = tree.loops[numParallel - 1];
  auto &order = schedule.levels[last.level].order;
  auto place = find_if(order, [&](const TiledLoop &entry) {
    return entry.loop == last.loop && entry.tile == last.tile;
  });
  order.insert(place == order.end() ? place : std::next(place), added);
}

void chimera::model::holdForAnyExtent(const ChainProblem &problem,
                                      Schedule &schedule) {
  if (none_of(problem.loops, [](const Loop &loop) { return loop.isOpen; }))
    return;
  for (unsigned index = 0; index < problem.operators.size(); ++index) {
    const Operator &op = problem.operators[index];
    if (any_of(op.loops, [&](LoopId loop) {
          return problem.loops[loop].isOpen && op.isReduction(loop);
        }))
      schedule.held &= ~(OperatorSet(1) << index);
  }
  // The parts of a reduction that is split have buffers for each.
  LoopNest tree = buildOpenTree(problem, schedule);
  if (std::optional<unsigned> split = findSplit(problem, schedule, tree);
      split && problem.loops[tree.loops[*split].loop].isOpen)
    schedule.numParallel = *split;
  // Each is put in front of those before it, which it may have to be inside of:
  // a reduction of one operator inside the loops over what that makes. Where
  // that would part operators that share an intermediate, the loop goes around
  // all of them: what it does not concern is computed again in each of its
  // tiles.
  size_t numLoops = problem.loops.size();
  OperatorSet all = (OperatorSet(1) << problem.operators.size()) - 1;
  for (size_t round = 0; round < numLoops; ++round)
    for (bool isReduction : {true, false})
      for (LoopId loop = numLoops; loop-- > 0;)
        if (problem.loops[loop].isOpen &&
            problem.isReduction(loop) == isReduction &&
            !isCut(problem, schedule, loop))
          addLoop(problem, schedule, loop, round == 0 ? 0 : all);
}

Error chimera::model::verifyOpen(const ChainProblem &problem,
                                 const Schedule &schedule) {
  for (LoopId loop = 0; loop < problem.loops.size(); ++loop)
    if (problem.loops[loop].isOpen && !isCut(problem, schedule, loop))
      return createStringError(
          "loop '" + problem.loops[loop].name +
          "' may have any extent, and buffers would be as large: it needs a "
          "tile outside the loops over what operators add up, and around all "
          "operators that share an intermediate along it");
  return Error::success();
}
