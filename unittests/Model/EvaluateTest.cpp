//===- EvaluateTest.cpp - Volumes and live sets ---------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Known volumes of known orders, and the promise the model makes: the closed
// forms agree with a walk over every block, to the byte.
//
//===----------------------------------------------------------------------===//

#include "TestProblems.h"

#include "gtest/gtest.h"

using namespace chimera::model;

namespace {

enum : LoopId { b, m, l, k, n };
enum : TensorId { A, B, C, D, E };

void expectSimulated(const ChainProblem &problem, const Schedule &schedule,
                     unsigned level) {
  Evaluation closed = evaluate(problem, schedule, level);
  Evaluation walked = simulate(problem, schedule, level);
  std::string where =
      "level " + std::to_string(level) + " of " + reproducer(problem, schedule);
  ASSERT_EQ(closed.traffic.size(), walked.traffic.size()) << where;
  for (size_t tensor = 0; tensor < closed.traffic.size(); ++tensor) {
    ASSERT_EQ(closed.traffic[tensor].readBytes,
              walked.traffic[tensor].readBytes)
        << "reads of " << problem.tensors[tensor].name << ", " << where;
    ASSERT_EQ(closed.traffic[tensor].writeBytes,
              walked.traffic[tensor].writeBytes)
        << "writes of " << problem.tensors[tensor].name << ", " << where;
  }
  ASSERT_EQ(closed.liveBytes, walked.liveBytes) << where;
}

TEST(Evaluate, EqualsSimulationOnRandomSchedules) {
  std::mt19937 random(20);
  for (int round = 0; round < 10000; ++round) {
    ChainProblem problem = makeRandomProblem(random, 7);
    ASSERT_FALSE(static_cast<bool>(problem.check()));
    unsigned levels = 1 + round % 3;
    Schedule schedule = makeRandomSchedule(random, problem, levels);
    for (unsigned level = 0; level < levels; ++level) {
      expectSimulated(problem, schedule, level);
      if (HasFatalFailure())
        return;
    }
  }
}

TEST(Evaluate, ClipsEdges) {
  // 10 rows in parts of 4 and 17 columns in parts of 5: 3 and 4 trips.
  ChainProblem problem = makeChain({1, 10, 7, 6, 17});
  Evaluation result =
      evaluate(problem, singleLevel({{m, 4}, {l, 5}, {k, 2}, {n, 3}}), 0);
  EXPECT_EQ(result.traffic[A].readBytes, 4 * 10 * 6 * 4);
  EXPECT_EQ(result.traffic[B].readBytes, 4 * 6 * 17 * 3);
  EXPECT_EQ(result.traffic[C].readBytes, 0);
  EXPECT_EQ(result.traffic[D].readBytes, 4 * 17 * 7 * 3);
  EXPECT_EQ(result.traffic[E].writeBytes, 4 * 10 * 7 * 4);
  EXPECT_EQ(result.traffic[E].readBytes, 4 * 10 * 7 * 3);
}

TEST(Evaluate, CountsEdgePartsOfNestedTiles) {
  // l: 17 in parts of 8 (8, 8, 1), these in parts of 3: 3 + 3 + 1 trips.
  ChainProblem problem = makeChain({1, 4, 2, 6, 17});
  Schedule schedule;
  schedule.levels.resize(2);
  schedule.levels[0].order = {{l, 8}};
  schedule.levels[1].order = {{l, 3}, {k, 2}};
  EXPECT_EQ(evaluate(problem, schedule, 0).traffic[A].readBytes, 4 * 4 * 6);
  EXPECT_EQ(evaluate(problem, schedule, 1).traffic[A].readBytes, 4 * 4 * 6 * 7);
}

TEST(Evaluate, RowResidentOrderKeepsRowsOfInputAndOutput) {
  ChainProblem problem = makeChain({1, 64, 16, 16, 128});
  Evaluation result = evaluate(problem, singleLevel({{m, 8}, {l, 32}}), 0);
  int64_t compulsory = 4 * (64 * 16 + 64 * 16);
  EXPECT_EQ(result.volumeBytes(), compulsory + 8 * 4 * 2 * 16 * 128);
  // A, E and C with the larger of B and D.
  EXPECT_EQ(result.liveBytes, 4 * (8 * 16 + 8 * 16 + 8 * 32 + 16 * 32));
}

TEST(Evaluate, PrivateLoopOutsideKeepsTheWholeStrip) {
  ChainProblem problem = makeChain({1, 64, 16, 16, 128});
  Evaluation result =
      evaluate(problem, singleLevel({{m, 8}, {k, 4}, {l, 32}, {n, 4}}), 0);
  EXPECT_EQ(result.traffic[A].readBytes, 4 * 64 * 16);
  EXPECT_EQ(result.traffic[E].readBytes, 4 * 64 * 16 * 3);
  EXPECT_EQ(result.liveBytes, 4 * (8 * 128 + 8 * 4 + 4 * 32));
}

TEST(Evaluate, OneTripLoopsAreNoLoops) {
  ChainProblem problem = makeChain({1, 64, 16, 16, 128});
  Evaluation with =
      evaluate(problem, singleLevel({{k, 16}, {m, 8}, {n, 16}, {l, 32}}), 0);
  Evaluation without = evaluate(problem, singleLevel({{m, 8}, {l, 32}}), 0);
  EXPECT_EQ(with.volumeBytes(), without.volumeBytes());
  EXPECT_EQ(with.liveBytes, without.liveBytes);
}

TEST(Evaluate, InputOfTwoOperatorsIsReadOnceIfItStays) {
  ChainProblem problem = makeGate(8, 8, 8, 8);
  LoopId gm = loopNamed(problem, "m"), gk = loopNamed(problem, "k");
  EXPECT_EQ(evaluate(problem, singleLevel({{gm, 2}}), 0).traffic[0].readBytes,
            4 * 64);
  EXPECT_EQ(evaluate(problem, singleLevel({{gm, 2}, {gk, 4}}), 0)
                .traffic[0]
                .readBytes,
            2 * 4 * 64);
}

TEST(Evaluate, EpilogueOfSplitOutputPassesOnceMore) {
  ChainProblem problem = makeGemm(1, 8, 8, 8);
  problem.operators[0].hasEpilogue = true;
  LoopId gm = loopNamed(problem, "m"), gk = loopNamed(problem, "k");
  Evaluation inside = evaluate(problem, singleLevel({{gm, 4}, {gk, 4}}), 0);
  EXPECT_EQ(inside.traffic[2].readBytes, 0);
  EXPECT_EQ(inside.traffic[2].writeBytes, 256);
  Evaluation outside = evaluate(problem, singleLevel({{gk, 4}, {gm, 4}}), 0);
  EXPECT_EQ(outside.traffic[2].readBytes, 2 * 256);
  EXPECT_EQ(outside.traffic[2].writeBytes, 3 * 256);
}

TEST(Evaluate, IntermediatesTakeTheRoomTheWholeScheduleGivesThem) {
  ChainProblem problem = makeChain({2, 64, 16, 16, 128});
  Schedule schedule;
  schedule.levels.resize(2);
  schedule.levels[0].order = {{b, 1}};
  schedule.levels[1].order = {{l, 32}, {m, 8}};
  int64_t operands = 64 * 16 + 16 * 128;
  EXPECT_EQ(evaluate(problem, schedule, 0).liveBytes, 4 * (operands + 8 * 32));
  expectSimulated(problem, schedule, 0);
  expectSimulated(problem, schedule, 1);
}

} // namespace
