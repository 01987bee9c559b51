//===- ThreadsTest.cpp - What threads are started for ---------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans for several threads: what runs on one anyway, and how even the others
// are.
//
//===----------------------------------------------------------------------===//

#include "TestProblems.h"

#include "gtest/gtest.h"

using namespace chimera::model;

namespace {

Plan planFor(int64_t rows, double region, int64_t threads) {
  Machine machine = makeZen5();
  machine.overheads.regionSeconds = region;
  SolveOptions options;
  options.threads = threads;
  std::optional<Plan> plan = solve(makeGemm(1, rows, 64, 64), machine, options);
  EXPECT_TRUE(plan);
  return *plan;
}

TEST(Region, SmallWorkStaysOnOneThread) {
  // 48 rows take a microsecond or two.
  Plan serial = planFor(48, 2e-6, 2), alone = planFor(48, 2e-6, 1);
  EXPECT_EQ(serial.schedule.numParallel, 0);
  EXPECT_EQ(serial.tasks, 1);
  EXPECT_NEAR(serial.seconds, alone.seconds, 0.05 * alone.seconds);
  EXPECT_GT(planFor(48, 0, 2).tasks, 1);
}

TEST(Region, ThreadsWinMoreThanTheyTakeToStart) {
  constexpr double region = 1e-6;
  bool isSerial = true;
  for (int64_t rows = 16; rows <= 1024; rows *= 2) {
    Plan plan = planFor(rows, region, 2), alone = planFor(rows, region, 1);
    if (plan.tasks > 1)
      EXPECT_LT(plan.seconds + region, alone.seconds) << rows << " rows";
    // More work is not for fewer threads.
    EXPECT_LE(plan.tasks == 1, isSerial) << rows << " rows";
    isSerial = plan.tasks == 1;
  }
  EXPECT_FALSE(isSerial);
}

TEST(Threads, RowsOfAThreadAreCutAgain) {
  // Three heads are 1.5 for each thread: rows have to be cut as well, evenly,
  // and again for the second level, as they are on one thread.
  AttentionSizes sizes;
  sizes.heads = 3;
  sizes.m = sizes.l = 3238;
  sizes.k = sizes.n = 64;
  SolveOptions options;
  auto secondsOn = [&](int64_t threads) {
    options.threads = threads;
    return solve(makeAttention(sizes), makeZen5(), options)->seconds;
  };
  EXPECT_LT(secondsOn(2), 0.52 * secondsOn(1));
}

} // namespace
