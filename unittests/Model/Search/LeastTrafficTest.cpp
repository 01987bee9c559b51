//===- LeastTrafficTest.cpp - Plans where all time is traffic -------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A machine with one slow level, for which nothing counts but bytes: there the
// plan has to move no more than the search for the least volume says.
//
//===----------------------------------------------------------------------===//

#include "TestProblems.h"

#include "gtest/gtest.h"

#include <cstdlib>

using namespace chimera::model;

namespace {

/// A vector unit whose arithmetic takes no time worth mentioning, beside a
/// memory of its own that fills slowly.
Machine makeSlowMemory(int64_t usableBytes) {
  Machine machine = makeZen5();
  MemoryLevel level;
  level.name = "L1";
  level.capacityBytes = usableBytes;
  level.usableShare = 1;
  level.bytesPerSecondPerCore = level.bytesPerSecond = 1e9;
  machine.levels = {level};
  machine.unit.cyclesPerSecond = 1e18;
  machine.cores = 1;
  return machine;
}

/// What the plan moves, in multiples of the least volume.
double excessOf(const ChainProblem &problem, int64_t usableBytes) {
  llvm::SmallVector<int64_t, 6> granularity(problem.loops.size(), 1);
  std::optional<Schedule> least =
      solveVolume(problem, usableBytes, granularity);
  auto plan = solve(problem, makeSlowMemory(usableBytes), SolveOptions());
  EXPECT_TRUE(least && plan) << reproducer(problem, Schedule());
  if (!least || !plan)
    return 1;
  EXPECT_LE(plan->levels[0].liveBytes, usableBytes);
  return double(plan->levels[0].bytes) /
         evaluate(problem, *least, 0).volumeBytes();
}

TEST(LeastTraffic, IsReachedWhereListsOfTilesLose) {
  EXPECT_LE(excessOf(makeMlp(48, 128, 32, 96), 8 << 10), 1.01);
  EXPECT_LE(excessOf(makeMlp(100, 128, 100, 100), 16 << 10), 1.01);
  EXPECT_LE(excessOf(makeMlp(48, 24, 64, 64), 8 << 10), 1.01);
}

TEST(LeastTraffic, IsReachedOnRandomPairs) {
  // CHIMERA_RANDOM_CASES=1000 compares 1,000.
  const char *more = std::getenv("CHIMERA_RANDOM_CASES");
  int rounds = more ? std::max(1, std::atoi(more)) : 200;
  std::mt19937 random(5);
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  double most = 1;
  int above = 0;
  for (int round = 0; round < rounds; ++round) {
    ChainProblem problem =
        makeMlp(pick(16, 256), pick(16, 256), pick(16, 256), pick(16, 256));
    int64_t usableBytes = pick(4, 64) << 10;
    double excess = excessOf(problem, usableBytes);
    most = std::max(most, excess);
    above += excess > 1.01;
    EXPECT_LE(excess, 1.01)
        << usableBytes << " bytes, " << reproducer(problem, Schedule());
  }
  RecordProperty("AboveOnePercent", above);
  RecordProperty("Most", std::to_string(most));
}

} // namespace
