//===- VolumeSearchTest.cpp - Least volumes against brute force -----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The search cuts corners that ought to be safe to cut. Trying every order with
// every tile says whether they were, and gives the best plans that the lower
// bound must stay below.
//
//===----------------------------------------------------------------------===//

#include "TestProblems.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace chimera::model;

namespace {

constexpr int64_t none = std::numeric_limits<int64_t>::max();

/// The least volume over all tiles of `schedule`'s order from `index` on.
int64_t bestTiles(const ChainProblem &problem, Schedule &schedule, size_t index,
                  int64_t capacity, llvm::ArrayRef<int64_t> granularity) {
  auto &order = schedule.levels[0].order;
  if (index == order.size()) {
    Evaluation result = evaluate(problem, schedule, 0);
    return result.liveBytes <= capacity ? result.volumeBytes() : none;
  }
  int64_t best = none;
  LoopId loop = order[index].loop;
  int64_t extent = problem.loops[loop].extent;
  for (int64_t tile = std::min(granularity[loop], extent); tile <= extent;
       ++tile) {
    order[index].tile = tile;
    best = std::min(
        best, bestTiles(problem, schedule, index + 1, capacity, granularity));
  }
  return best;
}

/// The least volume over all orders and tiles, or `none`.
int64_t bruteForce(const ChainProblem &problem, int64_t capacity,
                   llvm::ArrayRef<int64_t> granularity) {
  llvm::SmallVector<LoopId, 6> loops;
  for (LoopId loop = 0; loop < problem.loops.size(); ++loop)
    if (problem.loops[loop].extent > 1)
      loops.push_back(loop);
  int64_t best = none;
  do {
    Schedule schedule;
    schedule.levels.emplace_back();
    for (LoopId loop : loops)
      schedule.levels[0].order.push_back({loop, 1});
    best =
        std::min(best, bestTiles(problem, schedule, 0, capacity, granularity));
  } while (std::next_permutation(loops.begin(), loops.end()));
  return best;
}

int64_t wholeBytes(const ChainProblem &problem) {
  int64_t bytes = 0;
  for (TensorId tensor = 0; tensor < problem.tensors.size(); ++tensor)
    bytes += problem.sizeOf(tensor) * problem.tensors[tensor].elementBytes;
  return bytes;
}

void expectOptimal(const ChainProblem &problem, int64_t capacity,
                   llvm::ArrayRef<int64_t> granularity) {
  int64_t best = bruteForce(problem, capacity, granularity);
  std::optional<Schedule> found = solveVolume(problem, capacity, granularity);
  std::string where = "capacity " + std::to_string(capacity) + ", " +
                      reproducer(problem, found ? *found : Schedule());
  ASSERT_EQ(found.has_value(), best != none) << where;
  if (!found)
    return;
  Evaluation result = evaluate(problem, *found, 0);
  ASSERT_EQ(result.volumeBytes(), best) << where;
  ASSERT_LE(result.liveBytes, capacity) << where;
  ASSERT_LE(lowerBound(problem, capacity), best) << where;
}

/// Random problems of one kind with capacities that bite.
template <typename Make>
void compare(int rounds, int64_t maxExtent, int64_t maxGranularity, Make make) {
  std::mt19937 random(7);
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round < rounds; ++round) {
    ChainProblem problem = make([&] { return pick(1, maxExtent); });
    if (round % 3 == 0)
      for (Tensor &tensor : problem.tensors)
        tensor.elementBytes = int64_t(1) << pick(0, 2);
    llvm::SmallVector<int64_t, 6> granularity;
    for (size_t loop = 0; loop < problem.loops.size(); ++loop)
      granularity.push_back(pick(1, maxGranularity));
    expectOptimal(problem, pick(12, wholeBytes(problem)), granularity);
    if (testing::Test::HasFatalFailure())
      return;
  }
}

TEST(SolveVolume, IsOptimalForContractions) {
  compare(200, 10, 3, [](auto extent) {
    return makeGemm(1, extent(), extent(), extent());
  });
}

TEST(SolveVolume, IsOptimalForChains) {
  compare(150, 5, 2, [](auto extent) {
    return makeMlp(extent(), extent(), extent(), extent());
  });
}

TEST(SolveVolume, IsOptimalForLongerChains) {
  compare(6, 9, 1, [](auto extent) {
    return makeMlp(extent(), extent(), extent(), extent());
  });
}

TEST(SolveVolume, IsOptimalForBatches) {
  compare(8, 4, 1, [](auto extent) {
    return makeChain({extent(), extent(), extent(), extent(), extent()});
  });
}

TEST(SolveVolume, IsOptimalForGates) {
  compare(60, 5, 1, [](auto extent) {
    return makeGate(extent(), extent(), extent(), extent());
  });
}

TEST(SolveVolume, KnownOptima) {
  llvm::SmallVector<int64_t, 6> granularity = {1, 16, 16, 16, 16};
  // Volume over compulsory volume, for K = N = 64.
  auto ratio = [&](int64_t sm, int64_t sl, int64_t elements) {
    ChainProblem problem = makeChain({1, sm, 64, 64, sl});
    std::optional<Schedule> found =
        solveVolume(problem, 4 * elements, granularity);
    return evaluate(problem, *found, 0).volumeBytes() /
           (4.0 * 2 * (sm + sl) * 64);
  };
  EXPECT_DOUBLE_EQ(ratio(512, 512, 262144), 1);
  EXPECT_DOUBLE_EQ(ratio(512, 512, 12288), 4);
  EXPECT_DOUBLE_EQ(ratio(1024, 512, 262144), 1);
  EXPECT_NEAR(ratio(1024, 512, 12288), 5.33, 0.01);
}

TEST(SolveVolume, SaysThatNothingFits) {
  EXPECT_FALSE(solveVolume(makeGemm(1, 8, 8, 8), 11, {1, 1, 1, 1}));
  EXPECT_TRUE(solveVolume(makeGemm(1, 8, 8, 8), 12, {1, 1, 1, 1}));
}

} // namespace
