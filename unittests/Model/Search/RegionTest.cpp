//===- RegionTest.cpp - Work that is worth starting threads for -----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans for several threads run on one if that takes hardly longer.
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

} // namespace
