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

#include <cstdlib>

using namespace chimera::model;

namespace {

enum : LoopId { b, m, l, k, n };
enum : TensorId { A, B, C, D, E };

/// Where the closed form and the walk differ, or an empty string.
std::string differences(const ChainProblem &problem, const Evaluation &closed,
                        const Evaluation &walked) {
  std::string text;
  auto compare = [&](const std::string &what, int64_t left, int64_t right) {
    if (left != right)
      text += "  " + what + ": " + std::to_string(left) + " evaluated, " +
              std::to_string(right) + " simulated\n";
  };
  for (size_t id = 0; id < problem.tensors.size(); ++id) {
    const std::string &name = problem.tensors[id].name;
    compare("reads of " + name, closed.traffic[id].readBytes,
            walked.traffic[id].readBytes);
    compare("writes of " + name, closed.traffic[id].writeBytes,
            walked.traffic[id].writeBytes);
  }
  for (size_t op = 0; op < problem.operators.size(); ++op)
    compare("live at " + problem.operators[op].name, closed.liveAt[op],
            walked.liveAt[op]);
  compare("live set", closed.liveBytes, walked.liveBytes);
  return text;
}

void expectSimulated(const ChainProblem &problem, const Schedule &schedule,
                     unsigned level, const Transfer &transfer = {}) {
  Evaluation closed = evaluate(problem, schedule, level, transfer);
  Evaluation walked = simulate(problem, schedule, level, transfer);
  ASSERT_EQ(differences(problem, closed, walked), "")
      << "level " << level << ", units of " << transfer.unitBytes << ", "
      << transfer.buffers << " buffers" << reproducer(problem, schedule);
}

void expectSimulatedWork(const ChainProblem &problem,
                         const Schedule &schedule) {
  auto closed = countMultiplyAdds(problem, schedule);
  auto walked = simulateMultiplyAdds(problem, schedule);
  for (size_t op = 0; op < problem.operators.size(); ++op)
    ASSERT_EQ(closed[op], walked[op])
        << "multiply-adds of " << problem.operators[op].name
        << reproducer(problem, schedule);
}

/// The number of random cases, which the environment can raise.
int numRandomCases() {
  const char *text = std::getenv("CHIMERA_RANDOM_CASES");
  return text ? std::atoi(text) : 5000;
}

/// Makes the leading loops of `schedule` parallel: as many as may be, but no
/// more than `wanted`.
void parallelise(const ChainProblem &problem, Schedule &schedule,
                 int64_t wanted) {
  while (schedule.numParallel < wanted) {
    ++schedule.numParallel;
    if (llvm::Error reason = verifyParallel(problem, schedule)) {
      llvm::consumeError(std::move(reason));
      --schedule.numParallel;
      return;
    }
  }
}

TEST(Evaluate, EqualsSimulationOnRandomSchedules) {
  std::mt19937 random(20);
  auto oneOf = [&](std::initializer_list<int64_t> values) {
    return values.begin()[random() % values.size()];
  };
  for (int round = 0; round < numRandomCases(); ++round) {
    ChainProblem problem = makeRandomProblem(random, 6);
    unsigned levels = 1 + round % 3;
    Schedule schedule = makeRandomSchedule(random, problem, levels);
    llvm::Error error = problem.check();
    ASSERT_FALSE(static_cast<bool>(error))
        << llvm::toString(std::move(error)) << reproducer(problem, schedule);
    Transfer transfer{oneOf({1, 16, 64}), oneOf({1, 2}), oneOf({0, 1}) == 1,
                      oneOf({0, 1}) == 1};
    // As many parallel loops as may be, or fewer.
    int64_t wanted = oneOf({0, 1, 2, 3});
    parallelise(problem, schedule, wanted);
    for (unsigned level = 0; level < levels && !HasFatalFailure(); ++level)
      expectSimulated(problem, schedule, level, transfer);
    if (!HasFatalFailure())
      expectSimulatedWork(problem, schedule);
    ASSERT_FALSE(HasFatalFailure()) << "in round " << round;
  }
}

TEST(Evaluate, EqualsSimulationOnSplitReductions) {
  std::mt19937 random(21);
  auto upTo = [&](int64_t most) { return int64_t(1 + random() % most); };
  int numSplit = 0;
  for (int round = 0; round < numRandomCases() / 5; ++round) {
    AttentionSizes sizes;
    sizes.heads = upTo(3);
    sizes.queries = upTo(2);
    sizes.m = upTo(5);
    sizes.l = 1 + upTo(12);
    sizes.k = upTo(4);
    sizes.n = upTo(6);
    ChainProblem problem = makeAttention(sizes);
    LoopId along = loopNamed(problem, "l");
    // A residual, and a bias that not all parallel loops index.
    Operator &last = problem.operators.back();
    Access residual = last.output, bias = residual;
    residual.tensor = problem.tensors.size();
    bias.tensor = residual.tensor + 1;
    bias.indices.erase(bias.indices.begin(), bias.indices.begin() + upTo(3));
    for (const Access &operand : {residual, bias}) {
      Tensor tensor;
      tensor.name = operand.tensor == bias.tensor ? "bias" : "residual";
      for (const Index &index : operand.indices)
        tensor.shape.push_back(problem.loops[index.terms[0].loop].extent);
      problem.tensors.push_back(tensor);
      last.epilogue.push_back(operand);
    }
    problem.tensors[last.output].elementBytes = 2 * upTo(2);
    problem.tensors[last.output].accumulatorBytes = 4;
    unsigned levels = upTo(3), at = random() % levels;
    Schedule schedule = makeRandomSchedule(random, problem, levels);
    for (unsigned outside = 0; outside < at; ++outside)
      schedule.levels[outside].order.clear();
    auto &order = schedule.levels[at].order;
    llvm::erase_if(order,
                   [&](const TiledLoop &entry) { return entry.loop == along; });
    size_t place = std::min<size_t>(random() % 3, order.size());
    order.insert(order.begin() + place, {along, upTo(sizes.l - 1)});
    parallelise(problem, schedule, upTo(4));
    numSplit += findSplit(problem, schedule,
                          buildLoopTree(problem, schedule, levels - 1))
                    .has_value();
    Transfer transfer{int64_t(1) << random() % 6, upTo(2), random() % 2 == 0,
                      random() % 2 == 0};
    for (unsigned level = 0; level < levels && !HasFatalFailure(); ++level)
      expectSimulated(problem, schedule, level, transfer);
    ASSERT_FALSE(HasFatalFailure()) << "in round " << round;
  }
  EXPECT_GT(numSplit, numRandomCases() / 25);
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

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

/// Two convolutions with windows of three over 18 elements: 16, then 14.
ChainProblem makeTwoConvolutions() {
  ConvSizes sizes;
  sizes.channels = 4;
  sizes.image = {18};
  sizes.layers.resize(2);
  sizes.layers[0].channels = 8;
  sizes.layers[1].channels = 5;
  sizes.layers[0].kernel = sizes.layers[1].kernel = 3;
  return makeConvChain(sizes);
}

TEST(Evaluate, HaloIsReadAndComputedAgain) {
  // Halves of 7 outputs need 9 of 16 rows between, and 11 of 18 at the start.
  ChainProblem problem = makeTwoConvolutions();
  Schedule schedule = singleLevel({{loopNamed(problem, "y2"), 7}});
  Evaluation result = evaluate(problem, schedule, 0);
  auto readOf = [&](llvm::StringRef name) {
    return result.traffic[tensorNamed(problem, name)].readBytes;
  };
  EXPECT_EQ(readOf("X"), 4 * 4 * 2 * 11);
  EXPECT_EQ(readOf("W1"), 4 * 8 * 4 * 3);
  EXPECT_EQ(readOf("W2"), 4 * 5 * 8 * 3);
  EXPECT_EQ(readOf("T1"), 0);
  EXPECT_EQ(result.traffic[tensorNamed(problem, "Y")].writeBytes, 4 * 5 * 14);
  EXPECT_EQ(result.liveAt[0], 4 * (4 * 11 + 8 * 4 * 3 + 5 * 8 * 3 + 8 * 9));
  EXPECT_EQ(result.liveAt[1], 4 * (8 * 4 * 3 + 5 * 8 * 3 + 8 * 9 + 5 * 7));
  auto work = countMultiplyAdds(problem, schedule);
  EXPECT_EQ(work[0], 8 * 4 * 3 * 2 * 9);
  EXPECT_EQ(work[1], 5 * 8 * 3 * 14);
  expectSimulated(problem, schedule, 0);
  expectSimulatedWork(problem, schedule);
}

TEST(Evaluate, RollingBuffersKeepTheHalo) {
  ChainProblem problem = makeTwoConvolutions();
  Schedule schedule = singleLevel({{loopNamed(problem, "y2"), 7}});
  TensorId x = tensorNamed(problem, "X"), t = tensorNamed(problem, "T1");
  // 7 new rows of the second half are made from 9, and 2 of these are there.
  schedule.rolling = {t};
  EXPECT_EQ(evaluate(problem, schedule, 0).traffic[x].readBytes,
            4 * 4 * (11 + 9));
  EXPECT_EQ(countMultiplyAdds(problem, schedule)[0], 8 * 4 * 3 * 16);
  expectSimulated(problem, schedule, 0);
  expectSimulatedWork(problem, schedule);
  schedule.rolling = {x, t};
  EXPECT_EQ(evaluate(problem, schedule, 0).traffic[x].readBytes,
            4 * 4 * (11 + 7));
  expectSimulated(problem, schedule, 0);
}

TEST(Evaluate, OnlyTheLoopInsideRolls) {
  // Rows 0-11 of the image in the middle, then 8-15, in steps of 4 outputs.
  ChainProblem problem = makeTwoConvolutions();
  Schedule schedule;
  schedule.levels.resize(2);
  LoopId y2 = loopNamed(problem, "y2");
  schedule.levels[0].order = {{y2, 8}};
  schedule.levels[1].order = {{y2, 4}};
  TensorId x = tensorNamed(problem, "X"), t = tensorNamed(problem, "T1");
  schedule.rolling = {t};
  // 10 rows (6 and 4 new), then 8 (6 and 2 new).
  EXPECT_EQ(countMultiplyAdds(problem, schedule)[0], 8 * 4 * 3 * (10 + 8));
  EXPECT_EQ(evaluate(problem, schedule, 0).traffic[x].readBytes,
            4 * 4 * (12 + 10));
  EXPECT_EQ(evaluate(problem, schedule, 1).traffic[x].readBytes,
            4 * 4 * (8 + 6 + 8 + 4));
  expectSimulated(problem, schedule, 0);
  expectSimulated(problem, schedule, 1);
  expectSimulatedWork(problem, schedule);
}

TEST(Evaluate, PaddingIsNotMoved) {
  ConvSizes sizes;
  sizes.image = {8};
  sizes.layers.resize(1);
  sizes.layers[0].kernel = 3;
  sizes.layers[0].padding = 1;
  ChainProblem problem = makeConvChain(sizes);
  Schedule schedule = singleLevel({{loopNamed(problem, "y1"), 4}});
  EXPECT_EQ(evaluate(problem, schedule, 0).traffic[0].readBytes, 4 * (5 + 5));
  EXPECT_EQ(countMultiplyAdds(problem, schedule)[0], 8 * 3);
  expectSimulated(problem, schedule, 0);
}

TEST(Evaluate, StrideAndDilationSpreadTheWindow) {
  // Outputs 0-2 read 0, 2, 4 to 4, 6, 8; outputs 3-5 as much from 6 on.
  ConvSizes sizes;
  sizes.image = {15};
  sizes.layers.resize(1);
  sizes.layers[0].kernel = 3;
  sizes.layers[0].stride = 2;
  sizes.layers[0].dilation = 2;
  ChainProblem problem = makeConvChain(sizes);
  Schedule schedule = singleLevel({{loopNamed(problem, "y1"), 3}});
  EXPECT_EQ(evaluate(problem, schedule, 0).traffic[0].readBytes, 4 * (9 + 9));
  expectSimulated(problem, schedule, 0);
}

TEST(Evaluate, DepthwiseKeepsItsChannelsApart) {
  ConvSizes sizes;
  sizes.channels = 6;
  sizes.image = {10};
  sizes.layers.resize(2);
  sizes.layers[0].kernel = 3;
  sizes.layers[0].kind = ConvLayer::Depthwise;
  sizes.layers[1].channels = 4;
  ChainProblem problem = makeConvChain(sizes);
  // Two channels of the middle at a time: both operators share that loop.
  Schedule schedule = singleLevel({{loopNamed(problem, "c0"), 2}});
  Evaluation result = evaluate(problem, schedule, 0);
  EXPECT_EQ(result.traffic[tensorNamed(problem, "X")].readBytes, 4 * 6 * 10);
  EXPECT_EQ(result.liveAt[0], 4 * (2 * 10 + 2 * 3 + 2 * 8 + 4 * 8));
  expectSimulated(problem, schedule, 0);
}

//===----------------------------------------------------------------------===//
// Recomputation, homes, states
//===----------------------------------------------------------------------===//

TEST(Evaluate, RecomputesWhereALoopOfTheConsumerGoesAroundAll) {
  ChainProblem problem = makeChain({1, 8, 8, 8, 8});
  Schedule schedule = singleLevel({{n, 4, 3}, {m, 2}});
  Evaluation result = evaluate(problem, schedule, 0);
  EXPECT_EQ(result.traffic[A].readBytes, 2 * 4 * 64);
  EXPECT_EQ(result.traffic[B].readBytes, 4 * 64);
  EXPECT_EQ(result.traffic[D].readBytes, 4 * 64);
  EXPECT_EQ(result.traffic[E].writeBytes, 4 * 64);
  EXPECT_EQ(result.liveAt[0], 4 * (2 * 8 + 64 + 2 * 8 + 8 * 4));
  auto work = countMultiplyAdds(problem, schedule);
  EXPECT_EQ(work[0], 2 * 512);
  EXPECT_EQ(work[1], 512);
  expectSimulated(problem, schedule, 0);
  expectSimulatedWork(problem, schedule);
}

TEST(Evaluate, IntermediateMovesAtLevelsInsideItsHome) {
  ChainProblem problem = makeChain({1, 8, 8, 8, 8});
  problem.tensors[C].accumulatorBytes = 8;
  Schedule schedule;
  schedule.levels.resize(2);
  schedule.levels[0].order = {{m, 4}};
  schedule.levels[1].order = {{k, 2}, {l, 2}};
  schedule.homes = {0, 0, 0, 0, 0};
  Evaluation outside = evaluate(problem, schedule, 0);
  EXPECT_EQ(outside.traffic[C].readBytes + outside.traffic[C].writeBytes, 0);
  EXPECT_EQ(outside.liveAt[0], 4 * (4 * 8 + 64 + 64) + 8 * 4 * 8);
  // Four visits, of which three leave partial sums; then the consumer reads.
  Evaluation inside = evaluate(problem, schedule, 1);
  EXPECT_EQ(inside.traffic[C].writeBytes, 3 * 8 * 64 + 4 * 64);
  EXPECT_EQ(inside.traffic[C].readBytes, 3 * 8 * 64 + 4 * 64);
  expectSimulated(problem, schedule, 0);
  expectSimulated(problem, schedule, 1);
}

TEST(Evaluate, StoredIntermediateIsWrittenOnce) {
  ChainProblem problem = makeChain({1, 8, 8, 8, 8});
  problem.tensors[C].isStored = true;
  Schedule schedule = singleLevel({{m, 2}, {l, 4}});
  Evaluation result = evaluate(problem, schedule, 0);
  EXPECT_EQ(result.traffic[C].writeBytes, 4 * 64);
  EXPECT_EQ(result.traffic[C].readBytes, 0);
  expectSimulated(problem, schedule, 0);
}

TEST(Evaluate, StatesMoveWithTheOutputButAreNotWanted) {
  AttentionSizes sizes;
  sizes.m = sizes.l = 8;
  sizes.k = sizes.n = 4;
  ChainProblem problem = makeAttention(sizes);
  TensorId output = tensorNamed(problem, "O"),
           sum = tensorNamed(problem, "sum");
  LoopId am = loopNamed(problem, "m"), al = loopNamed(problem, "l");
  Schedule inside = singleLevel({{am, 4}, {al, 4}});
  Evaluation kept = evaluate(problem, inside, 0);
  EXPECT_EQ(kept.traffic[sum].readBytes + kept.traffic[sum].writeBytes, 0);
  EXPECT_EQ(kept.liveAt[1], 4 * (4 * 4 + 4 * 4 + 4 * 4 + 4 * 4 + 2 * 4));
  Schedule outside = singleLevel({{al, 4}, {am, 4}});
  Evaluation moved = evaluate(problem, outside, 0);
  EXPECT_EQ(moved.traffic[sum].readBytes, 4 * 8);
  EXPECT_EQ(moved.traffic[sum].writeBytes, 4 * 8);
  // One partial sum, and the division by the sums once all is there.
  EXPECT_EQ(moved.traffic[output].readBytes, 4 * 2 * 32);
  EXPECT_EQ(moved.traffic[output].writeBytes, 4 * 3 * 32);
  expectSimulated(problem, inside, 0);
  expectSimulated(problem, outside, 0);
}

TEST(Evaluate, PartsOfASplitReductionAreWrittenAndReadOnceMore) {
  AttentionSizes sizes;
  sizes.m = 2;
  sizes.l = 10;
  sizes.k = 3;
  sizes.n = 4;
  ChainProblem problem = makeAttention(sizes);
  TensorId query = tensorNamed(problem, "Q"), key = tensorNamed(problem, "K"),
           output = tensorNamed(problem, "O"),
           sum = tensorNamed(problem, "sum");
  LoopId am = loopNamed(problem, "m"), al = loopNamed(problem, "l");
  Schedule schedule = singleLevel({{al, 4}});
  schedule.numParallel = 1;
  Evaluation shared = evaluate(problem, schedule, 0);
  EXPECT_EQ(shared.traffic[query].readBytes, 4 * 2 * 3);
  EXPECT_EQ(shared.traffic[key].readBytes, 4 * 10 * 3);
  // Three parts, and what they are combined to.
  EXPECT_EQ(shared.traffic[output].readBytes, 4 * 3 * 2 * 4);
  EXPECT_EQ(shared.traffic[output].writeBytes, 4 * (3 + 1) * 2 * 4);
  EXPECT_EQ(shared.traffic[sum].readBytes, 4 * 3 * 2);
  EXPECT_EQ(shared.traffic[sum].writeBytes, 4 * 3 * 2);
  expectSimulated(problem, schedule, 0);
  // With memories of their own, each part reads the queries.
  Transfer isPrivate;
  isPrivate.isPrivate = true;
  EXPECT_EQ(evaluate(problem, schedule, 0, isPrivate).traffic[query].readBytes,
            4 * 3 * 2 * 3);
  expectSimulated(problem, schedule, 0, isPrivate);
  // Rows that come and go inside a part take the states along: five pieces of
  // the reduction, two of them the first of a part of several.
  schedule = singleLevel({{al, 4}});
  schedule.levels.emplace_back();
  schedule.levels[1].order = {{al, 2}, {am, 1}};
  schedule.numParallel = 1;
  Evaluation inside = evaluate(problem, schedule, 1);
  EXPECT_EQ(inside.traffic[output].writeBytes, 4 * (5 + 1) * 2 * 4);
  EXPECT_EQ(inside.traffic[output].readBytes, 4 * (2 + 3) * 2 * 4);
  EXPECT_EQ(inside.traffic[sum].writeBytes, 4 * 5 * 2);
  EXPECT_EQ(inside.traffic[sum].readBytes, 4 * (2 + 3) * 2);
  expectSimulated(problem, schedule, 1);
}

TEST(Evaluate, PartialSumsMoveInTheirOwnSize) {
  ChainProblem problem = makeGemm(1, 8, 8, 8);
  problem.tensors[2].elementBytes = 2;
  problem.tensors[2].accumulatorBytes = 4;
  LoopId gm = loopNamed(problem, "m"), gk = loopNamed(problem, "k");
  Evaluation result = evaluate(problem, singleLevel({{gk, 2}, {gm, 4}}), 0);
  EXPECT_EQ(result.traffic[2].readBytes, 3 * 4 * 64);
  EXPECT_EQ(result.traffic[2].writeBytes, 3 * 4 * 64 + 2 * 64);
}

//===----------------------------------------------------------------------===//
// Units and buffers
//===----------------------------------------------------------------------===//

TEST(Evaluate, PartsOfRowsTakeAllTheUnitsTheyTouch) {
  // Rows of 8 are two units of 4; parts of 3, 3 and 2 touch 1, 2 and 1.
  ChainProblem problem = makeGemm(1, 8, 8, 8);
  LoopId gk = loopNamed(problem, "k");
  Schedule schedule = singleLevel({{gk, 3}});
  Evaluation result = evaluate(problem, schedule, 0, {16, 1});
  EXPECT_EQ(result.traffic[0].readBytes, 8 * 4 * 16);
  EXPECT_EQ(result.traffic[1].readBytes, 8 * 2 * 16);
  // Every other element: a unit for each.
  problem.tensors[0].strides = {128, 16, 2};
  result = evaluate(problem, schedule, 0, {16, 1});
  EXPECT_EQ(result.traffic[0].readBytes, 64 * 16);
  expectSimulated(problem, schedule, 0, {16, 1});
}

TEST(Evaluate, TilesThatAreReplacedHaveTwoBuffers) {
  ChainProblem problem = makeChain({1, 8, 8, 8, 8});
  Schedule schedule = singleLevel({{m, 2}});
  Evaluation result = evaluate(problem, schedule, 0, {1, 2});
  EXPECT_EQ(result.liveAt[0], 4 * (2 * 2 * 8 + 64 + 64 + 2 * 8));
  EXPECT_EQ(result.liveAt[1], 4 * (2 * 2 * 8 + 64 + 64 + 2 * 8));
  expectSimulated(problem, schedule, 0, {1, 2});
}

} // namespace
