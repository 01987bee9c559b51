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
#include <cstdlib>

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

/// The least volume over all orders, all choices of loops that also go around
/// operators they do not concern, and all tiles; or `none`.
int64_t bruteForce(const ChainProblem &problem, int64_t capacity,
                   llvm::ArrayRef<int64_t> granularity,
                   Schedule *bestSchedule = nullptr) {
  OperatorSet everyone = (OperatorSet(1) << problem.operators.size()) - 1;
  llvm::SmallVector<LoopId, 6> loops;
  for (LoopId loop = 0; loop < problem.loops.size(); ++loop)
    if (problem.loops[loop].extent > 1)
      loops.push_back(loop);
  int64_t best = none;
  do {
    for (unsigned around = 0; around < 1u << loops.size(); ++around) {
      Schedule schedule;
      schedule.levels.emplace_back();
      bool isNew = true;
      for (const auto &[place, loop] : llvm::enumerate(loops)) {
        bool isAround = around >> place & 1;
        schedule.levels[0].order.push_back({loop, 1, isAround ? everyone : 0});
        // Around everybody it concerns anyway, or a reduction.
        isNew &=
            !isAround || !(problem.isShared(loop) || problem.isReduction(loop));
      }
      if (!isNew)
        continue;
      int64_t volume = bestTiles(problem, schedule, 0, capacity, granularity);
      if (volume < best && bestSchedule)
        *bestSchedule = schedule;
      best = std::min(best, volume);
    }
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
  ASSERT_LE(lowerBound(problem, capacity, /*recomputation=*/true), best)
      << where;
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

/// Evaluations that brute force takes.
double effortOf(const ChainProblem &problem) {
  double effort = 1, loops = 0;
  for (LoopId loop = 0; loop < problem.loops.size(); ++loop)
    if (int64_t extent = problem.loops[loop].extent; extent > 1) {
      effort *= extent * ++loops;
      if (!problem.isReduction(loop) && !problem.isShared(loop))
        effort *= 2;
    }
  return effort;
}

TEST(SolveVolume, IsOptimalForChainsOfAllKinds) {
  // CHIMERA_RANDOM_CASES=25000 compares 500.
  const char *more = std::getenv("CHIMERA_RANDOM_CASES");
  int rounds = more ? std::max(1, std::atoi(more) / 50) : 40;
  std::mt19937 random(11);
  int same = 0, found = 0;
  while (found < rounds) {
    ChainProblem problem = makeRandomProblem(random, 4);
    if (problem.operators.size() > 3 || effortOf(problem) > 3e5 ||
        effortOf(problem) < 100)
      continue;
    std::uniform_int_distribution<int64_t> pick(12, wholeBytes(problem));
    int64_t capacity = pick(random);
    llvm::SmallVector<int64_t, 8> granularity(problem.loops.size(), 1);
    Schedule bestOrder;
    int64_t best = bruteForce(problem, capacity, granularity, &bestOrder);
    if (best == none)
      continue;
    ++found;
    std::optional<Schedule> plan = solveVolume(problem, capacity, granularity);
    std::string where = "capacity " + std::to_string(capacity) + ", best " +
                        std::to_string(best) + ", " +
                        reproducer(problem, plan ? *plan : Schedule()) +
                        "instead of " + reproducer(problem, bestOrder);
    ASSERT_TRUE(plan) << where;
    Evaluation result = evaluate(problem, *plan, 0);
    ASSERT_LE(result.liveBytes, capacity) << where;
    EXPECT_LE(result.volumeBytes(), 1.01 * best) << where;
    same += result.volumeBytes() <= best;
    EXPECT_LE(lowerBound(problem, capacity, /*recomputation=*/true), best)
        << where;
  }
  EXPECT_GE(same, 0.99 * found);
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
