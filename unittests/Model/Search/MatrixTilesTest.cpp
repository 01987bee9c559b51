//===- MatrixTilesTest.cpp - Plans for a unit that multiplies tiles -------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels feed the unit from a cache. Reductions are cut into whole steps, of
// which the last may have fewer words.
//
//===----------------------------------------------------------------------===//

#include "TestProblems.h"

#include "gtest/gtest.h"

#include <random>

using namespace chimera::model;

namespace {

/// With a unit like AMX for numbers of two bytes.
Machine makeTiles() {
  Machine machine = makeZen5();
  MatrixUnit unit;
  unit.rows = unit.columns = 16;
  unit.depth = 32;
  unit.multiplyAddsPerCycle = 512;
  unit.latency = 52;
  unit.accumulatorBytes = 4096;
  unit.lhsBytes = unit.rhsBytes = 2048;
  unit.loadBytesPerCycle = 128;
  unit.storeBytesPerCycle = 64;
  unit.cyclesPerSecond = 2.2e9;
  unit.interleave = 2;
  machine.matrix = unit;
  return machine;
}

/// C[m,n] = A[m,k] * B[k,n] of two bytes, with sums of four; B is constant.
ChainProblem makeProduct(int64_t m, int64_t n, int64_t k) {
  ChainProblem problem = makeGemm(1, m, n, k);
  for (TensorId factor : {0, 1})
    problem.tensors[factor].elementBytes = 2;
  problem.tensors[1].isConstant = true;
  return problem;
}

std::optional<Plan> solveFor(const ChainProblem &problem,
                             const Machine &machine, int64_t threads) {
  SolveOptions options;
  options.threads = threads;
  return solve(problem, machine, options);
}

} // namespace

TEST(MatrixTiles, ReductionsAreCutIntoWholeSteps) {
  Machine machine = makeTiles();
  std::mt19937 random(3);
  auto draw = [&](int64_t most) {
    return std::uniform_int_distribution<int64_t>(1, most)(random);
  };
  for (int round = 0; round < 60; ++round) {
    int64_t steps = draw(80);
    ChainProblem problem =
        makeProduct(draw(600), draw(600), 32 * steps - draw(2) + 1);
    int64_t threads = draw(2);
    auto plan = solveFor(problem, machine, threads);
    ASSERT_TRUE(plan);
    std::string where = reproducer(problem, plan->schedule);
    EXPECT_EQ(llvm::toString(verify(problem, machine, plan->schedule)), "")
        << where;
    for (const LevelSchedule &level : plan->schedule.levels)
      for (const TiledLoop &entry : level.order)
        if (problem.isReduction(entry.loop))
          EXPECT_EQ(entry.tile % machine.matrix->depth, 0) << where;
    SolveOptions options;
    options.threads = threads;
    EXPECT_DOUBLE_EQ(price(problem, machine, plan->schedule, options).seconds,
                     plan->seconds)
        << where;
  }
}

/// Where kernels would come back to sums of many parts, they hold them: blocks
/// of any number of rows, one tile of registers after the other.
TEST(MatrixTiles, HoldSumsThroughTheReduction) {
  Machine machine = makeTiles();
  ChainProblem problem = makeProduct(512, 512, 2048);
  auto plan = solveFor(problem, machine, 1);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->schedule.held, 1u);
  EXPECT_EQ(plan->schedule.registerTile.broadcasts, 0);
  Schedule inBlocks = plan->schedule;
  inBlocks.held = 0;
  SolveOptions options;
  EXPECT_LT(plan->seconds, price(problem, machine, inBlocks, options).seconds);
  problem.tensors[1].isConstant = false;
  auto perCall = solveFor(problem, machine, 1);
  ASSERT_TRUE(perCall);
  EXPECT_EQ(perCall->schedule.held, 0u);
}

/// Eight parts of 30 rows take as many products as eight of 32. Where sums are
/// added to, each part sets the unit for 14 rows and back, once for each of two
/// blocks of the reduction.
TEST(MatrixTiles, AreSetToOtherSizesAtEdges) {
  Machine machine = makeTiles();
  auto computeSeconds = [&](int64_t parts, int64_t rows, int64_t depth) {
    ChainProblem problem = makeProduct(parts * rows, 64, 256);
    Schedule schedule;
    schedule.levels.resize(machine.levels.size());
    schedule.levels.back().order = {{3, depth}, {1, rows}};
    schedule.registerTile = {2, 2, 0, 1};
    return price(problem, machine, schedule, SolveOptions()).computeSeconds;
  };
  EXPECT_NEAR(computeSeconds(8, 30, 128) - computeSeconds(8, 32, 128),
              2 * 8 * 440 / 2.2e9, 1e-12);
  EXPECT_NEAR(computeSeconds(8, 30, 256), computeSeconds(8, 32, 256), 1e-12);
}
