//===- OpenLoopsTest.cpp - Schedules that hold for any extent -------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestProblems.h"

#include "gtest/gtest.h"

#include <random>

using namespace chimera::model;

namespace {

enum : LoopId { b, m, l, k, n };

bool holds(const ChainProblem &problem, const Schedule &schedule) {
  llvm::Error error = verifyOpen(problem, schedule);
  bool failed = static_cast<bool>(error);
  llvm::consumeError(std::move(error));
  return !failed;
}

/// The same problem as it may come: much longer along its open loops.
ChainProblem lengthen(ChainProblem problem) {
  for (Loop &loop : problem.loops)
    if (loop.isOpen)
      loop.extent *= 1000;
  return problem;
}

TEST(OpenLoops, ScheduleWithATileIsLeftAlone) {
  ChainProblem chain = makeChain({1, 64, 32, 16, 8});
  chain.loops[m].isOpen = true;
  Schedule schedule = singleLevel({{m, 16}, {l, 4}});
  EXPECT_TRUE(holds(chain, schedule));
  Schedule before = schedule;
  holdForAnyExtent(chain, schedule);
  EXPECT_EQ(schedule.levels[0].order, before.levels[0].order);
}

TEST(OpenLoops, WholeExtentBecomesATile) {
  ChainProblem chain = makeChain({1, 64, 32, 16, 8});
  Schedule schedule = singleLevel({{l, 4}});
  holdForAnyExtent(chain, schedule);
  EXPECT_EQ(schedule.levels[0].order.size(), 1u) << "no loop is open";
  chain.loops[m].isOpen = true;
  EXPECT_FALSE(holds(chain, schedule));
  holdForAnyExtent(chain, schedule);
  ASSERT_EQ(schedule.levels[0].order.size(), 2u);
  EXPECT_EQ(schedule.levels[0].order[0], (TiledLoop{m, 64}));
  EXPECT_TRUE(holds(chain, schedule));
}

/// Each operator has a tile of its own, but what is between them has none.
TEST(OpenLoops, IntermediatesNeedATileOfBothOperators) {
  ChainProblem chain = makeChain({1, 64, 32, 16, 8});
  chain.loops[m].isOpen = true;
  Schedule schedule = singleLevel({{m, 16, 1}, {m, 16, 2}});
  EXPECT_FALSE(holds(chain, schedule));
  holdForAnyExtent(chain, schedule);
  EXPECT_TRUE(holds(chain, schedule));
}

/// Tiles inside a reduction do not bound what is added up.
TEST(OpenLoops, SumsNeedATileOutsideTheReduction) {
  ChainProblem chain = makeGemm(1, 64, 32, 16);
  LoopId row = loopNamed(chain, "m"), sum = loopNamed(chain, "k");
  chain.loops[row].isOpen = true;
  Schedule schedule = singleLevel({{sum, 4}, {row, 16}});
  EXPECT_FALSE(holds(chain, schedule));
  holdForAnyExtent(chain, schedule);
  EXPECT_TRUE(holds(chain, schedule));
}

/// A kernel that holds its sums has the tile of rows inside, where it makes no
/// buffer smaller: the one for sums that are rounded when all are there.
TEST(OpenLoops, SumsThatKernelsHoldNeedATileIfTheyAreRounded) {
  ChainProblem chain = makeGemm(1, 256, 512, 512);
  const Operator &op = chain.operators.front();
  LoopId rows = op.rowLoop, columns = op.vectorLoop;
  LoopId reduction = *llvm::find_if(
      op.loops, [&](LoopId loop) { return op.isReduction(loop); });
  chain.loops[rows].isOpen = true;
  Schedule schedule = singleLevel({{columns, 64}, {rows, 6}, {reduction, 8}});
  schedule.held = 1;
  EXPECT_TRUE(holds(chain, schedule));
  Tensor &result = chain.tensors[op.output];
  result.elementBytes = 2;
  result.accumulatorBytes = 4;
  EXPECT_FALSE(holds(chain, schedule));
  holdForAnyExtent(chain, schedule);
  ASSERT_EQ(schedule.levels[0].order.size(), 4u);
  EXPECT_EQ(schedule.levels[0].order[0], (TiledLoop{rows, 256}));
  EXPECT_TRUE(holds(chain, schedule));
  // The tile may come right around the kernel's own, behind columns in
  // parallel.
  schedule = singleLevel({{columns, 64}, {rows, 6}, {reduction, 8}});
  schedule.held = 1;
  schedule.numParallel = 1;
  EXPECT_FALSE(holds(chain, schedule));
  holdForAnyExtent(chain, schedule);
  ASSERT_EQ(schedule.levels[0].order.size(), 4u);
  EXPECT_EQ(schedule.levels[0].order[1], (TiledLoop{rows, 256}));
  EXPECT_TRUE(holds(chain, schedule));
}

TEST(OpenLoops, ParallelLoopsStayInFront) {
  ChainProblem chain = makeChain({4, 64, 32, 16, 8});
  chain.loops[m].isOpen = true;
  Schedule schedule = singleLevel({{b, 1}, {l, 4}});
  schedule.numParallel = 1;
  holdForAnyExtent(chain, schedule);
  EXPECT_EQ(schedule.levels[0].order[0], (TiledLoop{b, 1}));
  EXPECT_EQ(schedule.levels[0].order[1], (TiledLoop{m, 64}));
  EXPECT_EQ(schedule.numParallel, 1);
}

/// Whatever the schedule, no block is longer than what was planned for once it
/// holds for any extent.
TEST(OpenLoops, BlocksOfRandomSchedulesAreBounded) {
  std::mt19937 random(25);
  unsigned open = 0;
  for (unsigned trial = 0; trial < 500; ++trial) {
    ChainProblem problem =
        makeChain({1 + int64_t(random() % 4), 24, 20, 12, 8});
    for (Loop &loop : problem.loops)
      loop.isOpen = random() % 3 == 0;
    Schedule schedule = makeRandomSchedule(random, problem, 1);
    schedule.numParallel = 0;
    holdForAnyExtent(problem, schedule);
    ASSERT_TRUE(holds(problem, schedule)) << reproducer(problem, schedule);
    ChainProblem longer = lengthen(problem);
    for (unsigned op = 0; op < problem.operators.size(); ++op) {
      auto tiles = tilesAt(longer, schedule, 0, op);
      for (LoopId loop : problem.operators[op].loops) {
        open += problem.loops[loop].isOpen;
        EXPECT_LE(tiles[loop], problem.loops[loop].extent);
      }
    }
  }
  EXPECT_GT(open, 500u);
}

/// How much longer `schedule` takes if the rows of `gemm` are open.
double lengthenByOpening(ChainProblem gemm, const Schedule &schedule) {
  SolveOptions options;
  options.threads = 2;
  Machine machine = makeZen5();
  machine.levels.erase(machine.levels.begin(), machine.levels.end() - 1);
  double known = price(gemm, machine, schedule, options).seconds;
  gemm.loops[loopNamed(gemm, "m")].isOpen = true;
  return price(gemm, machine, schedule, options).seconds / known;
}

/// Two tasks for any number of rows leave no thread with more than half. Six
/// for 256 rows are three for up to 128, of which one thread has two: 3/4 of
/// the work where the rows are an eighth, a quarter, 3/8 or half of what is
/// planned for, 2/3 at three quarters, and half at all.
TEST(OpenLoops, FewRowsAreSharedOut) {
  ChainProblem gemm = makeGemm(1, 256, 512, 512);
  LoopId rows = loopNamed(gemm, "m"), columns = loopNamed(gemm, "n");
  auto parallel = [&](llvm::SmallVector<TiledLoop> order) {
    Schedule schedule = singleLevel({});
    schedule.numParallel = order.size();
    schedule.registerTile = {8, 3, 2, 4};
    order.push_back({rows, 8});
    schedule.levels[0].order.assign(order.begin(), order.end());
    return schedule;
  };
  EXPECT_DOUBLE_EQ(lengthenByOpening(gemm, parallel({{columns, 256}})), 1);
  double share = (4 * 0.75 + 2.0 / 3 + 0.5) / 6;
  EXPECT_NEAR(lengthenByOpening(gemm, parallel({{rows, 128}, {columns, 192}})),
              share / 0.5, 0.02);
}

} // namespace
