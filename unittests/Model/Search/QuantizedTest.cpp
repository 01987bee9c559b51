//===- QuantizedTest.cpp - Plans of contractions that decode --------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Weights in groups, eight codes to a word: loops that kernels want whole, and
// the time to decode.
//
//===----------------------------------------------------------------------===//

#include "TestProblems.h"

#include "Chimera/Model/WordPanels.h"

#include "gtest/gtest.h"

using namespace chimera::model;

namespace {

enum : LoopId { m, n, g, k, j };
enum : TensorId { X, W, S, Y };

constexpr int64_t words = 4, fields = 8;

/// Y[m,n] += X[m,g,k,j] * field j of W[g,k,n] * S[g,n], with groups of 32.
ChainProblem makeQuantized(int64_t rows, int64_t columns, int64_t groups) {
  ProblemBuilder builder;
  LoopId rowLoop = builder.loop("m", rows);
  LoopId columnLoop = builder.loop("n", columns);
  LoopId group = builder.loop("g", groups);
  LoopId word = builder.loop("k", words), field = builder.loop("j", fields);
  TensorId x = builder.tensor("X", Role::Input, {rowLoop, group, word, field});
  TensorId w = builder.tensor("W", Role::Input, {group, word, columnLoop});
  TensorId s = builder.tensor("S", Role::Input, {group, columnLoop});
  TensorId y = builder.tensor("Y", Role::Output, {rowLoop, columnLoop});
  builder
      .contraction("gemm", {x, w, s}, y, rows > 1 ? rowLoop : columnLoop,
                   columnLoop)
      .decodeInstructions = 2.2;
  builder.problem.loops[word].isWhole = true;
  builder.problem.loops[field].isWhole = true;
  builder.problem.tensors[w].isConstant = true;
  builder.problem.tensors[s].isConstant = true;
  return builder.problem;
}

SolveOptions withThreads(int64_t threads) {
  SolveOptions options;
  options.threads = threads;
  return options;
}

TEST(Quantized, LoopsThatKernelsWantWholeAreNotCut) {
  Machine machine = makeZen5();
  for (int64_t rows : {1, 5, 60, 512})
    for (int64_t threads : {1, 2, 7}) {
      ChainProblem problem = makeQuantized(rows, 1408, 40);
      ASSERT_EQ(llvm::toString(problem.check()), "");
      auto plan = solve(problem, machine, withThreads(threads));
      ASSERT_TRUE(plan);
      EXPECT_EQ(llvm::toString(verify(problem, machine, plan->schedule)), "");
      for (const LevelSchedule &level : plan->schedule.levels)
        for (const TiledLoop &entry : level.order)
          EXPECT_TRUE(entry.loop != k && entry.loop != j) << rows;
      for (unsigned level = 0; level < plan->levels.size(); ++level)
        EXPECT_EQ(plan->levels[level].bytes,
                  simulate(problem, plan->schedule, level,
                           transferInto(machine.levels[level], threads))
                      .volumeBytes());
    }
}

TEST(Quantized, SchedulesThatCutThemAreRefused) {
  Machine machine = makeZen5();
  ChainProblem problem = makeQuantized(4, 64, 2);
  auto plan = solve(problem, machine, withThreads(1));
  ASSERT_TRUE(plan);
  Schedule schedule = plan->schedule;
  schedule.levels.back().order.push_back({k, 2});
  EXPECT_EQ(llvm::toString(verify(problem, machine, schedule)),
            "level 'L1': loop 'k' is cut, but kernels take all of it at once");
}

TEST(Quantized, DecodingTakesTime) {
  Machine machine = makeZen5();
  for (int64_t rows : {1, 60}) {
    ChainProblem problem = makeQuantized(rows, 1408, 40);
    auto decoded = solve(problem, machine, withThreads(1));
    problem.operators[0].decodeInstructions = 0;
    auto plain = solve(problem, machine, withThreads(1));
    ASSERT_TRUE(decoded && plain);
    EXPECT_GT(decoded->computeSeconds, plain->computeSeconds);
    EXPECT_FALSE(areAlike(problem, makeQuantized(rows, 1408, 40)));
    // Many rows share what is decoded once.
    if (rows > 1)
      EXPECT_LT(decoded->computeSeconds, 1.2 * plain->computeSeconds);
  }
}

/// A row that is multiplied as digits has nothing to decode, and blocks of
/// several panels, since each makes digits anew.
TEST(Quantized, OneRowMayBeDigits) {
  Machine machine = makeZen5();
  ChainProblem problem = makeQuantized(1, 4096, 128);
  auto floats = solve(problem, machine, withThreads(1));
  machine.unit.hasByteDots = true;
  auto unable = solve(problem, machine, withThreads(1));
  problem.operators[0].digitInstructions = 0.8;
  EXPECT_FALSE(areAlike(problem, makeQuantized(1, 4096, 128)));
  auto digits = solve(problem, machine, withThreads(1));
  ASSERT_TRUE(floats && unable && digits);
  EXPECT_EQ(unable->computeSeconds, floats->computeSeconds);
  EXPECT_LT(digits->computeSeconds, floats->computeSeconds);

  const Operator &op = problem.operators[0];
  RegisterTile tile = {1, 14, 1, 4};
  // Of 29 registers two are digits and masks, and five belong to a vector.
  EXPECT_EQ(panelOfDigits(tile).vectors, 5);
  EXPECT_EQ(vectorsOfWords(problem, op, machine.unit, tile), 20);
  // Two sums for each vector, and one word.
  EXPECT_EQ(vectorsOfWords(problem, op, makeZen5().unit, tile), 8);
  EXPECT_TRUE(multipliesDigits(op, machine.unit, 1));
  EXPECT_FALSE(multipliesDigits(op, machine.unit, 2));
}

} // namespace
