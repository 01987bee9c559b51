//===- JobPoolTest.cpp - Waiting threads work too -------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JobPool.h"

#include "gtest/gtest.h"

#include <atomic>

using namespace chimera::runner;

namespace {

/// Tasks that make tasks and wait for them: `width` each, `depth` times.
void spread(JobPool &pool, unsigned width, unsigned depth,
            std::atomic<unsigned> &count) {
  ++count;
  if (depth == 0)
    return;
  llvm::ThreadPoolTaskGroup group(pool);
  for (unsigned i = 0; i < width; ++i)
    group.async([&] { spread(pool, width, depth - 1, count); });
  group.wait();
}

TEST(JobPoolTest, RunsTasksOfTasks) {
  for (unsigned jobs : {1u, 2u, 7u}) {
    JobPool pool(jobs);
    EXPECT_EQ(pool.getMaxConcurrency(), jobs);
    std::atomic<unsigned> count{0};
    spread(pool, /*width=*/4, /*depth=*/4, count);
    EXPECT_EQ(count, 1u + 4 + 16 + 64 + 256) << jobs;
  }
}

TEST(JobPoolTest, EndsWhenAllIsDone) {
  std::atomic<unsigned> count{0};
  {
    JobPool pool(2);
    for (unsigned i = 0; i < 100; ++i)
      pool.async([&] { ++count; });
  }
  EXPECT_EQ(count, 100u);
}

TEST(JobPoolTest, WaitsForAGroupAlone) {
  // Nobody but the thread that waits can run tasks.
  JobPool pool(1);
  bool isOtherDone = false, isOwnDone = false;
  pool.async([&] { isOtherDone = true; });
  llvm::ThreadPoolTaskGroup group(pool);
  group.async([&] { isOwnDone = true; });
  group.wait();
  EXPECT_TRUE(isOwnDone);
  EXPECT_FALSE(isOtherDone);
  pool.wait();
  EXPECT_TRUE(isOtherDone);
}

} // namespace
