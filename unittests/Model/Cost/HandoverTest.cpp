//===- HandoverTest.cpp - Lines that change the core ----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What it takes a pass to write what threads other than its own read.
//
//===----------------------------------------------------------------------===//

#include "TestProblems.h"

#include "gtest/gtest.h"

using namespace chimera::model;

namespace {

enum : TensorId { A, B };
enum : LoopId { batch, m, n, k };

SolveOptions onThreads(int64_t threads) {
  SolveOptions options;
  options.threads = threads;
  return options;
}

/// Lines of `tensor` that each of `threads` waits for.
int64_t linesOf(TensorId tensor, llvm::ArrayRef<TiledLoop> parallel,
                int64_t threads, ChainProblem problem) {
  Machine machine = makeZen5();
  problem.tensors[tensor].isMadeByPass = true;
  Schedule schedule;
  schedule.levels.resize(machine.levels.size());
  schedule.levels[1].order.assign(parallel.begin(), parallel.end());
  schedule.levels[2].order = {{m, 8}, {n, 48}};
  schedule.numParallel = parallel.size();
  schedule.registerTile = {8, 3, 1, 4};
  auto secondsWith = [&](double handover) {
    machine.overheads.handoverSeconds = handover;
    return price(problem, machine, schedule, onThreads(threads)).seconds;
  };
  return std::lround(secondsWith(1) - secondsWith(0));
}

constexpr int64_t linesOfA = 192 * 128 * 4 / 64;

TEST(Handover, ThreadsOwnWhatLiesTogether) {
  ChainProblem problem = makeGemm(1, 192, 384, 128);
  // Threads read the rows that they have written.
  EXPECT_EQ(linesOf(A, {{m, 96}}, 2, problem), 0);
  EXPECT_EQ(linesOf(A, {{m, 48}, {n, 96}}, 4, problem), 0);
  // All of them read everything.
  EXPECT_EQ(linesOf(A, {{n, 192}}, 2, problem), linesOfA / 2);
  EXPECT_EQ(linesOf(A, {{n, 96}}, 4, problem), linesOfA * 3 / 4);
  EXPECT_EQ(linesOf(A, {{n, 192}, {m, 96}}, 2, problem), linesOfA / 2);
  // Two threads each read half, of which each of them has written half.
  EXPECT_EQ(linesOf(A, {{m, 96}, {n, 192}}, 4, problem), linesOfA / 4);
  // One thread has written what it reads.
  EXPECT_EQ(linesOf(A, {{n, 192}}, 1, problem), 0);
  // Half of all rows of B is not what lies together: half of that is foreign.
  EXPECT_EQ(linesOf(B, {{n, 192}}, 2, problem), 128 * 384 * 4 / 64 / 4);
}

TEST(Handover, LinesThatNoCacheHoldsAreNobodys) {
  // 64 MB: more than the outermost cache.
  ChainProblem problem = makeGemm(1, 4096, 384, 4096);
  EXPECT_EQ(linesOf(A, {{n, 192}}, 2, problem), 0);
}

TEST(Handover, PlansKeepThreadsInTheirRows) {
  Machine machine = makeZen5(), careless = machine;
  machine.overheads.handoverSeconds = 27e-9;
  careless.overheads.handoverSeconds = 0;
  unsigned others = 0;
  for (int64_t columns : {64, 384, 1536}) {
    ChainProblem problem = makeGemm(1, 192, columns, 256);
    problem.tensors[A].isMadeByPass = true;
    std::optional<Plan> plan = solve(problem, machine, onThreads(2));
    std::optional<Plan> other = solve(problem, careless, onThreads(2));
    ASSERT_TRUE(plan && other);
    Plan free = price(problem, careless, plan->schedule, onThreads(2));
    EXPECT_EQ(plan->seconds, free.seconds) << columns << " columns";
    Plan dear = price(problem, machine, other->schedule, onThreads(2));
    others += dear.seconds > other->seconds;
  }
  // Nothing else keeps them there.
  EXPECT_GT(others, 0u);
}

} // namespace
