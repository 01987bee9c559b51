//===- PlanCacheTest.cpp - Problems that are alike are solved once --------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What comes from the cache has to be what a search would find, whatever was
// planned before.
//
//===----------------------------------------------------------------------===//

#include "TestProblems.h"

#include "Chimera/Model/PlanCache.h"

#include "gtest/gtest.h"

#include <thread>

using namespace chimera::model;

namespace {

SolveOptions withRunnersUp(unsigned runnersUp) {
  SolveOptions options;
  options.runnersUp = runnersUp;
  return options;
}

void expectSame(const Plan &left, const Plan &right) {
  ASSERT_EQ(left.schedule.levels.size(), right.schedule.levels.size());
  for (unsigned level = 0; level < left.schedule.levels.size(); ++level) {
    EXPECT_EQ(left.schedule.levels[level].order,
              right.schedule.levels[level].order);
  }
  EXPECT_EQ(left.seconds, right.seconds);
}

TEST(PlanCacheTest, SolvesWhatIsAlikeOnce) {
  PlanCache cache(makeZen5(), withRunnersUp(0));
  ChainProblem problem = makeChain({1, 64, 64, 64, 64});
  const Solution &first = cache.solve(problem, /*withRunnersUp=*/false);
  ASSERT_TRUE(first.best);
  problem.tensors.front().name = "another";
  problem.loops.front().name = "b2";
  EXPECT_EQ(&cache.solve(problem, /*withRunnersUp=*/false), &first);
  EXPECT_EQ(cache.size(), 1u);
}

TEST(PlanCacheTest, TellsApartWhatHasOtherPlans) {
  PlanCache cache(makeZen5(), withRunnersUp(2));
  ChainProblem problem = makeChain({1, 64, 64, 64, 64});
  EXPECT_TRUE(cache.solve(problem, /*withRunnersUp=*/false).runnersUp.empty());
  EXPECT_EQ(cache.solve(problem, /*withRunnersUp=*/true).runnersUp.size(), 2u);
  EXPECT_EQ(cache.size(), 2u);
  // The same sizes: what else the caches have to keep, and what is constant.
  problem.otherBytes = 1 << 20;
  cache.solve(problem, /*withRunnersUp=*/false);
  EXPECT_EQ(cache.size(), 3u);
  problem.tensors.front().isConstant = true;
  cache.solve(problem, /*withRunnersUp=*/false);
  EXPECT_EQ(cache.size(), 4u);
}

TEST(PlanCacheTest, JudgesAsWithoutIt) {
  Machine machine = makeZen5();
  SolveOptions options = withRunnersUp(2);
  PlanCache cache(machine, options);
  for (int64_t rows : {64, 48, 64, 2048, 48}) {
    ChainProblem problem = makeMlp(rows, 256, 1024, 256);
    Verdict kept = judge(problem, cache);
    Verdict fresh = judge(problem, machine, options);
    EXPECT_EQ(kept.explain(), fresh.explain());
    EXPECT_EQ(kept.seconds, fresh.seconds);
    ASSERT_EQ(kept.segments.size(), fresh.segments.size());
    for (unsigned i = 0; i < kept.segments.size(); ++i)
      expectSame(kept.segments[i].plan, fresh.segments[i].plan);
    ASSERT_EQ(kept.runnersUp.size(), fresh.runnersUp.size());
    for (unsigned i = 0; i < kept.runnersUp.size(); ++i)
      expectSame(kept.runnersUp[i], fresh.runnersUp[i]);
  }
  // Three sizes, of each both operators, and both together.
  EXPECT_EQ(cache.size(), 9u);
}

TEST(PlanCacheTest, SolvesOnSeveralThreadsWhatIsExpected) {
  Machine machine = makeZen5();
  SolveOptions options = withRunnersUp(2);
  PlanCache cache(machine, options);
  std::vector<ChainProblem> problems;
  for (int64_t rows : {64, 48, 64, 2048})
    problems.push_back(makeMlp(rows, 256, 1024, 256));
  for (const ChainProblem &problem : problems)
    expectParts(problem, cache);
  std::vector<PlanCache::Task> tasks;
  cache.listExpected(tasks);
  ASSERT_EQ(tasks.size(), 9u);
  std::vector<std::thread> threads;
  for (PlanCache::Task &task : tasks)
    threads.emplace_back(task.run);
  for (std::thread &thread : threads)
    thread.join();

  tasks.clear();
  cache.listExpected(tasks);
  EXPECT_TRUE(tasks.empty());
  for (const ChainProblem &problem : problems) {
    Verdict kept = judge(problem, cache);
    Verdict fresh = judge(problem, machine, options);
    EXPECT_EQ(kept.explain(), fresh.explain());
    EXPECT_EQ(kept.seconds, fresh.seconds);
  }
  // Nothing that was not expected was asked for.
  EXPECT_EQ(cache.size(), 9u);
}

} // namespace
