//===- MaskedTasksTest.cpp - What masks leave to threads ------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The work of tasks along the rows of a mask, in the order in which threads
// take them.
//
//===----------------------------------------------------------------------===//

#include "TestProblems.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <vector>

using namespace chimera::model;

namespace {

constexpr int64_t rowTile = 48, columnTile = 64;

ChainProblem makeCausal(int64_t heads, int64_t length) {
  AttentionSizes sizes;
  sizes.heads = heads;
  sizes.m = sizes.l = length;
  sizes.k = sizes.n = 64;
  ChainProblem problem = makeAttention(sizes);
  Band band;
  band.row = loopNamed(problem, "m");
  band.column = loopNamed(problem, "l");
  band.most = 1;
  problem.bands = {band};
  return problem;
}

/// The share of all work that the busiest thread has, as the model prices it.
double shareOf(const ChainProblem &problem, int64_t threads, bool folds,
               bool inTurn = false) {
  Machine machine = makeZen5();
  // Programs of such cores deal out the tasks.
  if (inTurn)
    machine.levels.back().ways = 0;
  LoopId heads = loopNamed(problem, "h"), rows = loopNamed(problem, "m"),
         columns = loopNamed(problem, "l");
  Schedule schedule;
  schedule.levels.resize(machine.levels.size());
  schedule.levels[0].order = {{heads, 1}, {rows, rowTile}};
  schedule.levels[2].order = {{columns, columnTile}};
  schedule.numParallel = problem.loops[heads].extent > 1 ? 2 : 1;
  schedule.registerTile = {6, 4, 2, 4};
  schedule.blocks = BlockForms();
  schedule.blocks->folds = folds;
  auto secondsOn = [&](int64_t threads) {
    SolveOptions options;
    options.threads = threads;
    return price(problem, machine, schedule, options).computeSeconds;
  };
  return secondsOn(threads) / secondsOn(1);
}

/// The same by going over every row, where each thread has neighbouring tasks.
double countedShare(int64_t heads, int64_t length, int64_t threads,
                    bool folds) {
  std::vector<int64_t> firsts;
  for (int64_t low = 0, high = (length - 1) / rowTile; low <= high;) {
    firsts.push_back(low++ * rowTile);
    if (folds && low <= high)
      firsts.push_back(high-- * rowTile);
  }
  int64_t numTasks = heads * firsts.size(), all = 0, busiest = 0, task = 0;
  for (int64_t thread = 0; thread < threads; ++thread) {
    int64_t own = 0;
    for (int64_t left = (numTasks + threads - 1 - thread) / threads; left > 0;
         --left, ++task) {
      int64_t first = firsts[task % firsts.size()];
      int64_t end = std::min(first + rowTile, length);
      for (int64_t row = first; row < end; ++row)
        own +=
            std::min((end + columnTile - 1) / columnTile * columnTile, length);
    }
    all += own;
    busiest = std::max(busiest, own);
  }
  return static_cast<double>(busiest) / all;
}

TEST(MaskedTasks, TheBusiestThreadIsCounted) {
  for (int64_t heads : {1, 3})
    for (int64_t length : {480, 1000})
      for (int64_t threads : {2, 3, 8})
        for (bool folds : {false, true})
          EXPECT_NEAR(shareOf(makeCausal(heads, length), threads, folds),
                      countedShare(heads, length, threads, folds), 1e-9)
              << heads << " heads of " << length << " on " << threads;
}

/// Where threads take turns with the tasks.
double countedShareInTurn(int64_t heads, int64_t length, int64_t threads) {
  std::vector<int64_t> own(threads);
  int64_t all = 0, task = 0;
  for (int64_t head = 0; head < heads; ++head)
    for (int64_t first = 0; first < length; first += rowTile, ++task) {
      int64_t end = std::min(first + rowTile, length);
      int64_t columns =
          std::min((end + columnTile - 1) / columnTile * columnTile, length);
      own[task % threads] += (end - first) * columns;
      all += (end - first) * columns;
    }
  return static_cast<double>(*std::max_element(own.begin(), own.end())) / all;
}

TEST(MaskedTasks, CoresThatTakeTurnsAreCounted) {
  for (int64_t heads : {1, 3})
    for (int64_t length : {480, 1000})
      for (int64_t threads : {2, 3, 8})
        EXPECT_NEAR(shareOf(makeCausal(heads, length), threads,
                            /*folds=*/false, /*inTurn=*/true),
                    countedShareInTurn(heads, length, threads), 1e-9)
            << heads << " heads of " << length << " on " << threads;
}

TEST(MaskedTasks, TasksFromBothEndsAreEven) {
  ChainProblem problem = makeCausal(1, 1920);
  EXPECT_GT(shareOf(problem, 2, /*folds=*/false), 0.72);
  EXPECT_LT(shareOf(problem, 2, /*folds=*/true), 0.51);
  EXPECT_GT(shareOf(problem, 4, /*folds=*/false), 0.41);
  EXPECT_LT(shareOf(problem, 4, /*folds=*/true), 0.26);
}

TEST(MaskedTasks, PlansFoldThem) {
  SolveOptions options;
  options.threads = 2;
  Machine machine = makeZen5();
  for (int64_t length : {200, 457, 1024}) {
    std::optional<Plan> plan = solve(makeCausal(1, length), machine, options);
    ASSERT_TRUE(plan);
    EXPECT_TRUE(plan->schedule.blocks->folds);
  }
  // Folded or not, two heads are one for each thread.
  ChainProblem heads = makeCausal(2, 457);
  double onTwo = solve(heads, machine, options)->seconds;
  options.threads = 1;
  EXPECT_LT(onTwo, 0.51 * solve(heads, machine, options)->seconds);
}

} // namespace
