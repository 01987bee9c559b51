//===- JudgeTest.cpp - Chains that are better left in parts ---------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each reason not to fuse a chain to which it applies, with the figures
// that show it; and chains of which only a part is worth fusing.
//
//===----------------------------------------------------------------------===//

#include "TestProblems.h"

#include "Chimera/Model/PaperModel.h"
#include "Chimera/Model/Report.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace chimera::model;

namespace {

SolveOptions withThreads(int64_t threads) {
  SolveOptions options;
  options.threads = threads;
  return options;
}

/// Convolutions in a row of a square image, padded to keep its size.
ChainProblem
makeConvolutions(int64_t channels, int64_t edge,
                 llvm::ArrayRef<std::pair<int64_t, int64_t>> layers) {
  ConvSizes sizes;
  sizes.channels = channels;
  sizes.image = {edge, edge};
  sizes.channelsLast = true;
  for (auto [outputs, kernel] : layers) {
    ConvLayer layer;
    layer.channels = outputs;
    layer.kernel = kernel;
    layer.padding = kernel / 2;
    sizes.layers.push_back(layer);
  }
  return makeConvChain(sizes);
}

/// C6 of the paper's Table V.
ChainProblem makePointwiseThenWindow() {
  return makeConvolutions(64, 56, {{64, 1}, {64, 3}});
}

/// A machine whose only memory on chip has 48 KiB.
Machine makeSmall() {
  Machine machine = makeZen5();
  machine.name = "small";
  machine.levels = {machine.levels.back()};
  return machine;
}

/// A machine that has few units for its memories.
Machine makeComputeBound() {
  Machine machine = makeZen5();
  machine.unit.fmaPerCycle /= 4;
  return machine;
}

/// A machine of many cores.
Machine makeLarge(int64_t cores) {
  Machine machine = makeZen5();
  machine.cores = machine.levels[0].sharers = cores;
  for (MemoryLevel &level : machine.levels)
    level.bytesPerSecond = cores * level.bytesPerSecondPerCore;
  return machine;
}

std::string textOf(const Verdict &verdict, double figure) {
  if (verdict.unit == "s")
    return llvm::formatv("{0:F1} us", figure * 1e6);
  return std::to_string(static_cast<int64_t>(figure)) + " " + verdict.unit;
}

/// Each operator runs alone, for a reason that comes with two figures, the
/// first one worse, and both are in the text.
void expectSplit(const Verdict &verdict) {
  EXPECT_FALSE(verdict.fuse);
  EXPECT_EQ(verdict.segments.size(), verdict.unfused.size());
  EXPECT_DOUBLE_EQ(verdict.seconds, verdict.unfusedSeconds);
  if (verdict.fused) {
    EXPECT_GT(verdict.fused->seconds, verdict.unfusedSeconds);
  }
  std::string text = verdict.explain();
  EXPECT_EQ(text.find(describe(verdict.reason).str()), 0u) << text;
  EXPECT_FALSE(verdict.unit.empty()) << text;
  EXPECT_NE(text.find(textOf(verdict, verdict.figures[0]) + " against " +
                      textOf(verdict, verdict.figures[1])),
            std::string::npos)
      << text;
}

//===----------------------------------------------------------------------===//
// Chains from the paper and from networks
//===----------------------------------------------------------------------===//

TEST(JudgeUnfused, PointwiseBeforeWindow) {
  // The paper's own example of a chain that gains nothing. Two threads share a
  // row that each of them has to make.
  ChainProblem problem = makePointwiseThenWindow();
  Verdict verdict = judge(problem, makeComputeBound(), withThreads(2));
  ASSERT_TRUE(verdict.fused);
  EXPECT_LT(verdict.fused->levels[0].bytes, verdict.unfusedBytes[0]);
  expectSplit(verdict);
  EXPECT_EQ(verdict.reason, Reason::RecomputationCosts) << verdict.explain();
}

/// A 3x3 convolution with padding and `first` filters, and a 1x1 with `second`.
static ChainProblem makeWindowThenPointwise(int64_t channels, int64_t image,
                                            int64_t first, int64_t second) {
  ConvSizes sizes;
  sizes.channels = channels;
  sizes.image = {image, image};
  sizes.layers.resize(2);
  sizes.layers[0].channels = first;
  sizes.layers[0].kernel = 3;
  sizes.layers[0].padding = 1;
  sizes.layers[1].channels = second;
  sizes.channelsLast = true;
  return makeConvChain(sizes);
}

TEST(JudgeUnfused, ConvolutionsLimitedByArithmetic) {
  // To fuse moves half as much and is predicted to be a little faster, for what
  // is moved beside the arithmetic. It has more of that.
  Verdict verdict =
      judge(makeWindowThenPointwise(32, 112, 128, 192), makeZen5(), {});
  ASSERT_TRUE(verdict.fused);
  EXPECT_LT(verdict.fused->levels[0].bytes, verdict.unfusedBytes[0]);
  EXPECT_LT(verdict.fused->seconds, verdict.unfusedSeconds);
  EXPECT_GT(verdict.fused->seconds, 0.97 * verdict.unfusedSeconds);
  EXPECT_FALSE(verdict.fuse);
  EXPECT_EQ(verdict.reason, Reason::LessArithmetic) << verdict.explain();
  EXPECT_GT(verdict.figures[0], verdict.figures[1]);
  EXPECT_EQ(verdict.segments.size(), 2u);
}

TEST(JudgeUnfused, ConvolutionsThatTheOuterLevelHolds) {
  // To fuse is predicted to take one per cent less, and moves less into the
  // level that holds everything from call to call, but more from there.
  Verdict verdict =
      judge(makeWindowThenPointwise(160, 28, 208, 32), makeZen5(), {});
  ASSERT_TRUE(verdict.fused);
  EXPECT_LT(verdict.fused->seconds, verdict.unfusedSeconds);
  EXPECT_LT(verdict.fused->levels[0].bytes, verdict.unfusedBytes[0]);
  EXPECT_EQ(verdict.fused->levels[0].seconds, 0);
  EXPECT_GT(verdict.fused->levels[1].bytes, verdict.unfusedBytes[1]);
  EXPECT_FALSE(verdict.fuse);
  EXPECT_EQ(verdict.reason, Reason::SaferUnfused) << verdict.explain();
}

TEST(JudgeUnfused, LargeFeedForward) {
  for (int64_t hidden : {4096, 16384}) {
    ChainProblem problem = makeMlp(128, 4096, 4096, hidden);
    expectSplit(judge(problem, makeZen5(), withThreads(2)));
    expectSplit(judge(problem, makeComputeBound(), withThreads(2)));
  }
  Verdict verdict =
      judge(makeMlp(128, 4096, 4096, 4096), makeComputeBound(), withThreads(2));
  EXPECT_EQ(verdict.reason, Reason::ComputeBound) << verdict.explain();
  EXPECT_GT(verdict.figures[0], verdict.figures[1]);
}

TEST(JudgeUnfused, LargeSquaresInASmallMemory) {
  // Lines of rows of 2064 do not collide, so that bytes are all that a slow
  // memory takes time for.
  ChainProblem problem = makeMlp(2064, 2064, 2064, 2064);
  Machine machine = makeSmall();
  machine.levels[0].bytesPerSecondPerCore /= 16;
  machine.levels[0].bytesPerSecond /= 16;
  for (int64_t threads : {1, 2}) {
    Verdict verdict = judge(problem, machine, withThreads(threads));
    expectSplit(verdict);
    EXPECT_EQ(verdict.reason, Reason::MovesMore) << verdict.explain();
    EXPECT_EQ(verdict.level, "L1");
    ASSERT_TRUE(verdict.fused);
    EXPECT_EQ(verdict.figures[0], verdict.fused->levels[0].bytes);
    EXPECT_EQ(verdict.figures[1], verdict.unfusedBytes[0]);
    EXPECT_GT(verdict.figures[0], 1.2 * verdict.figures[1]);
  }
}

//===----------------------------------------------------------------------===//
// What lies between operators
//===----------------------------------------------------------------------===//

TEST(JudgeFused, SoftmaxInMemoryIsPriced) {
  // 16 MB of scores for each of four heads: written, read by the softmax,
  // written again and read, all on fresh pages.
  AttentionSizes sizes;
  sizes.heads = 4;
  sizes.m = sizes.l = 2048;
  sizes.k = sizes.n = 128;
  ChainProblem problem = makeAttention(sizes);
  Machine machine = makeZen5();
  machine.overheads.freshBytesPerSecond = 4e9;
  double scores = 4.0 * 4 * 2048 * 2048;
  double between = secondsAfter(problem, machine, 0, 0, withThreads(1));
  // Two buffers and a sum for each row; read once and written once, which takes
  // reading. Caches but the innermost overlap with the memory.
  double fresh = (2 * scores + 4.0 * 4 * 2048) / 4e9;
  EXPECT_GT(between, fresh + 3 * scores / 50e9);
  EXPECT_LT(between, fresh + 3 * scores / 50e9 * 1.4);
  EXPECT_EQ(secondsAfter(problem, machine, 1, 1, withThreads(1)), 0);
  EXPECT_EQ(secondsAfter(problem, machine, 0, 1, withThreads(1)), 0);
  Verdict verdict = judge(problem, machine, withThreads(1));
  EXPECT_TRUE(verdict.fuse);
  EXPECT_DOUBLE_EQ(verdict.unfusedSeconds, verdict.unfused[0].seconds +
                                               between +
                                               verdict.unfused[1].seconds);
}

TEST(JudgeFused, SoftmaxOfFewRowsWaitsForItself) {
  AttentionSizes sizes;
  sizes.heads = 2;
  sizes.m = 5;
  sizes.l = 16;
  sizes.k = sizes.n = 64;
  ChainProblem problem = makeAttention(sizes);
  Machine machine = makeZen5();
  const VectorUnit &unit = machine.unit;
  // Scores stay in the innermost cache. A maximum and a sum halve 16 lanes four
  // times in two instructions each. Those of the first of a thread's rows wait
  // for each other.
  double waiting = (2 * 8 + unit.exponentialCost) * unit.fmaLatency;
  auto others = [&](double rows) { return 2 * 8 * rows / unit.fmaPerCycle; };
  EXPECT_DOUBLE_EQ(secondsAfter(problem, machine, 0, 0, withThreads(1)),
                   (waiting + others(9)) / unit.cyclesPerSecond);
  EXPECT_DOUBLE_EQ(secondsAfter(problem, machine, 0, 0, withThreads(4)),
                   (waiting + others(1.5)) / unit.cyclesPerSecond);
}

//===----------------------------------------------------------------------===//
// Reasons
//===----------------------------------------------------------------------===//

TEST(JudgeUnfused, TooFewTasks) {
  // With a single row nothing but the reductions is left for threads, and both
  // operators share one of them only.
  Verdict verdict =
      judge(makeMlp(1, 4096, 4096, 4096), makeLarge(64), withThreads(64));
  expectSplit(verdict);
  EXPECT_EQ(verdict.reason, Reason::TooFewTasks) << verdict.explain();
  EXPECT_EQ(verdict.figures[0], 1);
  EXPECT_EQ(verdict.figures[1], 64);
}

TEST(JudgeUnfused, IntermediateTooLarge) {
  // A softmax that cannot be corrected needs all of a row of scores.
  AttentionSizes sizes;
  sizes.m = 256;
  sizes.l = 16384;
  sizes.k = sizes.n = 64;
  sizes.isOnline = false;
  Machine machine = makeSmall();
  Verdict verdict = judge(makeAttention(sizes), machine, withThreads(1));
  expectSplit(verdict);
  EXPECT_FALSE(verdict.fused);
  EXPECT_EQ(verdict.reason, Reason::IntermediateTooLarge) << verdict.explain();
  EXPECT_EQ(verdict.figures[0], 4 * 16384);
  EXPECT_EQ(verdict.figures[1], machine.levels[0].usableBytes());
  // The same scores, a few at a time.
  sizes.isOnline = true;
  Verdict online = judge(makeAttention(sizes), machine, withThreads(1));
  EXPECT_TRUE(online.fused);
  EXPECT_NE(online.reason, Reason::IntermediateTooLarge);
}

TEST(JudgeUnfused, LargeIntermediatesThatCanBeCutAreNotTooLarge) {
  // Three layers may not fit with windows this large, but a few pixels of what
  // is between them do.
  ChainProblem problem = makeConvolutions(64, 56, {{64, 1}, {64, 1}, {64, 5}});
  Verdict verdict = judge(problem, makeSmall(), withThreads(1));
  EXPECT_NE(verdict.reason, Reason::IntermediateTooLarge) << verdict.explain();
}

TEST(JudgeUnfused, RecomputationCosts) {
  // One row of the image for each thread, and three of the intermediate.
  ChainProblem problem = makeConvolutions(64, 28, {{64, 3}, {64, 3}});
  Verdict verdict = judge(problem, makeLarge(28), withThreads(28));
  expectSplit(verdict);
  EXPECT_EQ(verdict.reason, Reason::RecomputationCosts) << verdict.explain();
  ASSERT_TRUE(verdict.fused);
  EXPECT_GT(verdict.fused->multiplyAdds, problem.multiplyAdds());
  EXPECT_DOUBLE_EQ(verdict.figures[0], verdict.fused->computeSeconds);
  EXPECT_GT(verdict.figures[0], verdict.figures[1]);
}

//===----------------------------------------------------------------------===//
// Parts of chains
//===----------------------------------------------------------------------===//

/// Three operators of which two neighbours run as one kernel.
void expectPair(const ChainProblem &problem, const Machine &machine,
                unsigned pair) {
  Verdict verdict = judge(problem, machine, withThreads(1));
  EXPECT_FALSE(verdict.fuse);
  ASSERT_EQ(verdict.segments.size(), 2u) << verdict.explain();
  EXPECT_EQ(verdict.segments[0].first, 0u);
  EXPECT_EQ(verdict.segments[0].last, pair == 0 ? 1u : 0u);
  EXPECT_EQ(verdict.segments[1].first, verdict.segments[0].last + 1);
  EXPECT_EQ(verdict.segments[1].last, 2u);
  // Better than none and better than all, by more than rounding.
  EXPECT_LT(verdict.seconds, 0.99 * verdict.unfusedSeconds);
  if (verdict.fused) {
    EXPECT_LT(verdict.seconds, 0.99 * verdict.fused->seconds);
  }
  EXPECT_DOUBLE_EQ(verdict.seconds, verdict.segments[0].seconds() +
                                        verdict.segments[1].seconds());
  for (const Segment &segment : verdict.segments) {
    ChainProblem part = isolate(problem, segment.first, segment.last);
    EXPECT_EQ(llvm::toString(verify(part, machine, segment.plan.schedule)), "");
  }
}

TEST(JudgeParts, FusesThePairThatPays) {
  // Pointwise layers over few channels are limited by the memory; windows of
  // five rows and columns before or behind them would have to be made again.
  Machine machine = makeSmall();
  for (MemoryLevel &level : machine.levels) {
    level.bytesPerSecond /= 8;
    level.bytesPerSecondPerCore /= 8;
  }
  expectPair(makeConvolutions(16, 56, {{16, 1}, {16, 1}, {64, 5}}), machine, 0);
  expectPair(makeConvolutions(16, 56, {{64, 5}, {16, 1}, {16, 1}}), machine, 1);
}

//===----------------------------------------------------------------------===//
// Masks, and operators that cannot run alone
//===----------------------------------------------------------------------===//

/// Attention along rows of `keys`, and a projection of the result to `width`
/// columns.
ChainProblem makeProjectedAttention(int64_t keys, int64_t width) {
  ProblemBuilder builder;
  LoopId m = builder.loop("m", 256), l = builder.loop("l", keys),
         k = builder.loop("k", 64), n = builder.loop("n", 64),
         p = builder.loop("p", width);
  TensorId queries = builder.tensor("Q", Role::Input, {m, k}),
           transposed = builder.tensor("K", Role::Input, {l, k}),
           scores = builder.tensor("S", Role::Intermediate, {m, l}),
           values = builder.tensor("V", Role::Input, {l, n}),
           mixed = builder.tensor("O", Role::Intermediate, {m, n}),
           maximum = builder.tensor("max", Role::State, {m}),
           weights = builder.tensor("W", Role::Input, {n, p}),
           result = builder.tensor("Y", Role::Output, {m, p});
  Operator &first =
      builder.contraction("scores", {queries, transposed}, scores, m, l);
  first.hasEpilogue = true;
  first.epilogueCost = 12;
  Operator &second =
      builder.contraction("values", {scores, values}, mixed, m, n);
  second.hasEpilogue = true;
  second.states = {builder.access(maximum)};
  second.rescaledBy = l;
  builder.contraction("projection", {mixed, weights}, result, m, p);
  return builder.problem;
}

/// Three products of f16, the first of which is finished element by element.
ChainProblem makeNarrowTriple(int64_t m, int64_t small, int64_t large) {
  ChainProblem problem = makeTriple(m, small, small, large, large);
  for (Tensor &tensor : problem.tensors) {
    tensor.elementBytes = 2;
    if (tensor.role != Role::Input)
      tensor.accumulatorBytes = 4;
  }
  problem.operators[0].hasEpilogue = true;
  return problem;
}

/// A core whose vector unit hands what it has finished to the matrix unit, and
/// to nobody else.
Machine makeWithoutWayBack() {
  Machine machine = makeSmall();
  MemoryLevel &level = machine.levels[0];
  level.capacityBytes = 1 << 20;
  level.usableShare = 1;
  level.ways = 0;
  level.buffers = 2;
  MatrixUnit unit;
  unit.rows = unit.columns = unit.depth = 16;
  unit.multiplyAddsPerCycle = 4096;
  unit.lhsBytes = unit.rhsBytes = 32768;
  unit.accumulatorBytes = 262144;
  unit.loadBytesPerCycle = 512;
  unit.storeBytesPerCycle = 256;
  unit.cyclesPerSecond = 1e9;
  machine.matrix = unit;
  machine.buffers = {{"A", Buffer::Role::Lhs, 65536},
                     {"B", Buffer::Role::Rhs, 65536},
                     {"C", Buffer::Role::Sums, 262144},
                     {"V", Buffer::Role::Vectors, 262144}};
  machine.routes = {{"memory", "L1", 125e9},     {"memory", "V", 125e9},
                    {"L1", "A", 512e9},          {"L1", "B", 256e9},
                    {"C", "V", 256e9, true},     {"V", "L1", 128e9},
                    {"C", "memory", 128e9, true}};
  return machine;
}

TEST(JudgeParts, AreComparedWithWhereAnOperatorHasNoPlan) {
  // What the first product makes can only go on into the second one. The third
  // is large, and better off with tiles of its own.
  ChainProblem problem = makeNarrowTriple(4096, 64, 512);
  Verdict verdict = judge(problem, makeWithoutWayBack(), withThreads(1));
  EXPECT_EQ(verdict.unfused.size(), 2u);
  EXPECT_TRUE(verdict.unfusedBytes.empty());
  ASSERT_TRUE(verdict.fused);
  EXPECT_FALSE(verdict.fuse);
  ASSERT_EQ(verdict.segments.size(), 2u);
  EXPECT_EQ(verdict.segments[0].last, 1u);
  EXPECT_LT(verdict.seconds, verdict.fused->seconds);
  EXPECT_EQ(verdict.reason, Reason::MovesMore) << verdict.explain();
  EXPECT_EQ(verdict.figures[1], verdict.segments[0].plan.levels[0].bytes +
                                    verdict.segments[1].plan.levels[0].bytes);
}

TEST(JudgeParts, KeepTheMasksOfTheirSoftmax) {
  ChainProblem problem = makeProjectedAttention(512, 64);
  LoopId m = loopNamed(problem, "m"), l = loopNamed(problem, "l");
  Band band;
  band.row = m;
  band.column = l;
  band.most = 1;
  problem.bands = {band};
  ChainProblem pair = isolate(problem, 0, 1);
  ASSERT_EQ(pair.bands.size(), 1u);
  EXPECT_EQ(pair.bands[0].row, loopNamed(pair, "m"));
  EXPECT_EQ(pair.bands[0].column, loopNamed(pair, "l"));
  EXPECT_EQ(pair.bands[0].most, 1);
  ChainProblem whole = isolate(problem, 0, 2);
  EXPECT_TRUE(areAlike(isolate(whole, 0, 2), whole));
  EXPECT_EQ(whole.bands.size(), 1u);
  // Where the softmax is cut, scores are made and read in full.
  EXPECT_TRUE(isolate(problem, 0).bands.empty());
  EXPECT_TRUE(isolate(problem, 1, 2).bands.empty());
  EXPECT_TRUE(isolate(problem, 2).bands.empty());
}

TEST(Report, ComparesPlansWithClosedForms) {
  Machine machine = makeZen5();
  auto compare = [&](const ChainProblem &problem) {
    auto plan = solve(problem, machine, withThreads(1));
    EXPECT_TRUE(plan);
    return plan ? compareWithForm(problem, *plan) : std::nullopt;
  };
  // Everything fits the levels further out; rows of A and E stay in L1.
  auto found = compare(makeChain({8, 512, 64, 64, 512}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->level, 2u);
  EXPECT_EQ(found->form.family, "A and E stay");
  EXPECT_LE(found->form.realBytes, found->form.bytes);
  EXPECT_EQ(found->form.bytes, found->exactBytes);
  // Three contractions have no form.
  EXPECT_FALSE(compare(makeTriple(256, 64, 64, 64, 64)));
}

//===----------------------------------------------------------------------===//
// Beside the paper
//===----------------------------------------------------------------------===//

TEST(Volume, ExactTilesHalveTheClosedForm) {
  enum : LoopId { b, m, l, k, n };
  // One item of the paper's first case. All of its tensors but the intermediate
  // fit, and the closed form makes room for most of that instead.
  ChainProblem problem = makeChain({1, 512, 64, 64, 512});
  constexpr int64_t capacity = 256 << 10, alpha = 16;
  // Elements of four equal tensors, which are the bytes of one.
  constexpr int64_t compulsory = 4 * 512 * 64;
  auto exact = solveVolume(problem, 4 * capacity, {1, 1, 1, 1, 1});
  ASSERT_TRUE(exact);
  EXPECT_EQ(evaluate(problem, *exact, 0).volumeBytes(), 4 * compulsory);
  EXPECT_LE(evaluate(problem, *exact, 0).liveBytes, 4 * capacity);

  PaperClosedForm form =
      solvePaperClosedForm(512, 64, 64, 512, capacity, alpha);
  EXPECT_EQ(form.tileM, 496);
  EXPECT_EQ(form.tileL, 496);
  EXPECT_EQ(form.roundedVolume, 2 * compulsory);
  // Counted exactly, a quarter more: partial sums of the output come back.
  Schedule paper =
      singleLevel({{m, form.tileM}, {l, form.tileL}, {k, alpha}, {n, alpha}});
  EXPECT_EQ(evaluate(problem, paper, 0).volumeBytes(), 9 * compulsory);
}

} // namespace
