//===- HeldTest.cpp - Sums that registers keep ----------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels go down the rows of a block themselves where these are no tasks.
//
//===----------------------------------------------------------------------===//

#include "TestProblems.h"

#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

using namespace chimera::model;

namespace {

SolveOptions oneThread() {
  SolveOptions options;
  options.threads = 1;
  return options;
}

/// Eight lanes and 16 registers, as AVX2 has.
Machine makeSmallVectors() {
  Machine machine = makeZen5();
  machine.unit.lanes = 8;
  machine.unit.registers = 16;
  machine.levels.back().capacityBytes = 32768;
  machine.levels.back().ways = 8;
  return machine;
}

/// Rows of an image by constant filters, as a convolution of single pixels.
struct Pixels {
  ProblemBuilder builder;
  LoopId rows, row;

  Pixels(int64_t height, int64_t width)
      : rows(builder.loop("m", height)), row(builder.loop("m1", width)) {}

  TensorId image(llvm::StringRef name, Role role, LoopId channels) {
    return builder.tensor(name, role, {rows, row, channels});
  }
  void multiply(llvm::StringRef name, TensorId from, LoopId depth, TensorId to,
                LoopId filters) {
    TensorId constants = builder.tensor((name + " filters").str(), Role::Input,
                                        {depth, filters});
    builder.problem.tensors[constants].isConstant = true;
    builder.contraction(name, {from, constants}, to, row, filters);
  }
};

TEST(Held, KernelsGoDownTheRowsOfABlock) {
  Machine machine = makeSmallVectors();
  machine.levels.erase(machine.levels.begin(), machine.levels.end() - 1);
  Pixels pixels(2, 19);
  LoopId l = pixels.builder.loop("l", 256), k = pixels.builder.loop("k", 256);
  TensorId from = pixels.image("A", Role::Input, k);
  TensorId to = pixels.image("C", Role::Output, l);
  pixels.multiply("first", from, k, to, l);
  const ChainProblem &problem = pixels.builder.problem;
  auto plan = solve(problem, machine, oneThread());
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->schedule.held, 1u);
  EXPECT_EQ(toString(verify(problem, machine, plan->schedule)), "");
  // One thread has nothing of tasks that start a kernel for each of its tiles.
  Schedule tasks = plan->schedule;
  tasks.numParallel =
      llvm::count_if(tasks.levels.back().order,
                     [&](const TiledLoop &entry) { return entry.loop != k; });
  ASSERT_GT(tasks.numParallel, plan->schedule.numParallel);
  EXPECT_GT(price(problem, machine, tasks, oneThread()).seconds,
            1.05 * plan->seconds);
}

TEST(Held, BlocksOfSeveralOperatorsHoldTheirSums) {
  Machine machine = makeSmallVectors();
  Pixels pixels(56, 56);
  LoopId l = pixels.builder.loop("l", 256), k = pixels.builder.loop("k", 256),
         n = pixels.builder.loop("n", 64);
  TensorId from = pixels.image("A", Role::Input, k);
  TensorId between = pixels.image("C", Role::Intermediate, l);
  TensorId to = pixels.image("E", Role::Output, n);
  pixels.multiply("first", from, k, between, l);
  pixels.multiply("second", between, l, to, n);
  auto plan = solve(pixels.builder.problem, machine, oneThread());
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->schedule.held, 3u);
  EXPECT_EQ(toString(verify(pixels.builder.problem, machine, plan->schedule)),
            "");
}

} // namespace
