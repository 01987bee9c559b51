//===- BoundsTest.cpp - Lower bounds --------------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Figures worked out by hand, and no random schedule of a random problem below
// its bound. That no good plan goes below it is tested with the search, which
// knows the best plans.
//
//===----------------------------------------------------------------------===//

#include "TestProblems.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace chimera::model;

namespace {

/// All figures below are in elements of four bytes.
Bound boundOf(const ChainProblem &problem, int64_t capacity,
              bool recomputation = false, int64_t memories = 1) {
  BoundOptions options;
  options.recomputation = recomputation;
  options.memories = memories;
  return findBound(problem, 4 * capacity, options);
}

double elementsOf(const Bound &bound) { return bound.bytes / 4.0; }

/// The lemma's function, written down as in docs/model.md.
double psi(double work, double free, double capacity) {
  double c = std::sqrt(27.0 / 32);
  if (work <= c * free * std::sqrt(capacity))
    return work * work / (free * capacity);
  return 2 * c * work / std::sqrt(capacity) - c * c * free;
}

/// `boundOf` over the compulsory volume.
double timesCompulsory(const ChainProblem &problem, int64_t capacity) {
  return elementsOf(boundOf(problem, capacity)) /
         elementsOf(boundOf(problem, int64_t(1) << 40));
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

TEST(LowerBound, IsCompulsoryForLargeMemories) {
  Bound bound = boundOf(makeChain({1, 512, 64, 64, 512}), 262144);
  EXPECT_EQ(bound.bytes, 4 * 4 * 512 * 64);
  EXPECT_EQ(bound.kind, BoundKind::Compulsory);
  EXPECT_EQ(bound.term, BoundTerm::Compulsory);
}

TEST(LowerBound, OfContraction) {
  // K <= 0.918 sqrt(S): MN (1 + K^2 / S).
  Bound bound = boundOf(makeGemm(1, 512, 512, 64), 12288);
  EXPECT_EQ(bound.bytes, std::ceil(4 * 512 * 512 * (1 + 64.0 * 64 / 12288)));
  EXPECT_EQ(bound.kind, BoundKind::Contraction);
  EXPECT_EQ(bound.term, BoundTerm::B1);
  // A large cube: 2 MNK / sqrt(S) - S or one of its refinements.
  double leading = 2 * std::pow(2048.0, 3) / std::sqrt(12288.0);
  double cube = elementsOf(boundOf(makeGemm(1, 2048, 2048, 2048), 12288));
  EXPECT_GE(cube, leading - 12288);
  EXPECT_LE(cube, leading + 2048 * 2048);
}

TEST(LowerBound, SubtractsTheMemoryOncePerBatch) {
  int64_t one = lowerBound(makeGemm(1, 256, 256, 2048), 4 * 1024);
  int64_t eight = lowerBound(makeGemm(8, 256, 256, 2048), 4 * 1024);
  EXPECT_GE(eight, 8 * one - 8);
}

TEST(LowerBound, OfSeveralMemories) {
  ChainProblem problem = makeGemm(1, 2048, 2048, 2048);
  double one = elementsOf(boundOf(problem, 12288));
  double four = elementsOf(boundOf(problem, 12288, false, 4));
  EXPECT_GE(four, one - 3 * 12288 - 1);
  EXPECT_LE(four, one);
  EXPECT_GT(four, elementsOf(boundOf(problem, 4 * 12288)));
}

TEST(LowerBound, CountsMixedElementSizesInBytes) {
  ChainProblem problem = makeGemm(1, 512, 512, 64);
  problem.tensors[0].elementBytes = problem.tensors[1].elementBytes = 1;
  problem.tensors[2].elementBytes = 1;
  problem.tensors[2].accumulatorBytes = 4;
  // The smaller size of a result counts: all elements have one byte.
  EXPECT_EQ(lowerBound(problem, 12288),
            std::ceil(512 * 512 * (1 + 64.0 * 64 / 12288)));
  // Two sizes: a window may overshoot by an element.
  problem.tensors[2].elementBytes = 4;
  double work = 512.0 * 512 * 64 * 2, output = 4 * 512 * 512;
  EXPECT_EQ(lowerBound(problem, 12288),
            std::ceil(output + psi(work, output, 12292) - 4));
}

//===----------------------------------------------------------------------===//
// Chains
//===----------------------------------------------------------------------===//

TEST(LowerBound, OfChainAtTheSizeOfL1) {
  // z = 128 exceeds 0.918 sqrt(S): B1 = ML (1.837 z / sqrt(S) - 0.844).
  Bound bound = boundOf(makeChain({1, 512, 64, 64, 512}), 12288);
  double elements =
      512 * 512 *
      (2 * std::sqrt(27.0 / 32) * 128 / std::sqrt(12288.0) - 27.0 / 32);
  EXPECT_EQ(bound.bytes, std::ceil(4 * elements));
  EXPECT_EQ(bound.kind, BoundKind::Chain);
  EXPECT_EQ(bound.term, BoundTerm::B1);
}

TEST(LowerBound, OfChainsInMultiplesOfTheCompulsoryVolume) {
  struct Case {
    ChainSizes sizes;
    int64_t capacity;
    double ratio;
  };
  const Case cases[] = {{{1, 512, 64, 64, 512}, 12288, 2.56},
                        {{1, 512, 64, 64, 512}, 262144, 1.00},
                        {{1, 1024, 64, 64, 512}, 12288, 3.43},
                        {{1, 1024, 64, 64, 512}, 262144, 1.00},
                        {{1, 4096, 128, 128, 4096}, 12288, 28.9},
                        {{1, 4096, 128, 128, 4096}, 262144, 2.00},
                        {{1, 16384, 128, 128, 16384}, 116224, 18.04},
                        {{1, 2048, 2048, 2048, 2048}, 12288, 18.2},
                        {{1, 2048, 2048, 2048, 2048}, 262144, 3.73},
                        {{1, 128, 4096, 4096, 16384}, 262144, 1.04}};
  for (const Case &it : cases)
    EXPECT_NEAR(timesCompulsory(makeChain(it.sizes), it.capacity), it.ratio,
                0.005 * std::max(1.0, it.ratio / 3))
        << it.sizes.m << " " << it.sizes.n << " " << it.capacity;
}

TEST(LowerBound, OfChainWithFewRowsFreesTheWeights) {
  EXPECT_EQ(boundOf(makeMlp(128, 4096, 4096, 16384), 262144).term,
            BoundTerm::B4);
}

TEST(LowerBound, OfAttention) {
  // n x d: 4 n^2 d^2 / S while S exceeds 4.74 d^2.
  AttentionSizes sizes;
  sizes.m = sizes.l = 4096;
  sizes.k = sizes.n = 64;
  Bound bound = boundOf(makeAttention(sizes), 32768);
  EXPECT_EQ(elementsOf(bound), 4.0 * 4096 * 4096 * 64 * 64 / 32768);
  EXPECT_EQ(bound.kind, BoundKind::Attention);
  EXPECT_EQ(bound.term, BoundTerm::B1);
}

TEST(LowerBound, OfAttentionStacksTheQueriesOfAHead) {
  AttentionSizes grouped, stacked;
  grouped.m = 512;
  grouped.queries = 8;
  stacked.m = 4096;
  for (AttentionSizes *sizes : {&grouped, &stacked}) {
    sizes->heads = 2;
    sizes->l = 4096;
    sizes->k = sizes->n = 64;
  }
  EXPECT_EQ(boundOf(makeAttention(grouped), 12288).bytes,
            boundOf(makeAttention(stacked), 12288).bytes);
}

TEST(LowerBound, AddsWhatEpiloguesRead) {
  ChainProblem problem = makeChain({1, 512, 64, 64, 512});
  int64_t without = lowerBound(problem, 4 * 12288);
  ProblemBuilder builder;
  builder.problem = problem;
  TensorId mask = builder.array("mask", Role::Input, {512, 512});
  builder.problem.operators[0].epilogue.push_back({mask, {1, 2}});
  EXPECT_EQ(lowerBound(builder.problem, 4 * 12288), without + 4 * 512 * 512);
}

TEST(LowerBound, AddsIntermediatesThatAreStored) {
  ChainProblem problem = makeChain({1, 512, 64, 64, 512});
  int64_t without = lowerBound(problem, 4 * 12288);
  problem.tensors[2].isStored = true;
  EXPECT_EQ(lowerBound(problem, 4 * 12288), without + 4 * 512 * 512);
}

TEST(LowerBound, AllowsForRecomputation) {
  // K = 32 and N = 288 with S = 2^17: making C again pays, 4 MLKN / S.
  ChainProblem problem = makeChain({1, 4096, 288, 32, 8192});
  double area = 4096.0 * 8192;
  EXPECT_EQ(elementsOf(boundOf(problem, 1 << 17)),
            area * 320 * 320 / (1 << 17));
  EXPECT_EQ(elementsOf(boundOf(problem, 1 << 17, true)),
            std::max(area * 4 * 32 * 288 / (1 << 17), (4096.0 + 8192) * 320));
  // N <= K: nothing changes.
  problem = makeChain({1, 4096, 64, 64, 4096});
  EXPECT_EQ(boundOf(problem, 1 << 17, true).bytes,
            boundOf(problem, 1 << 17).bytes);
}

TEST(LowerBound, IsNearlyReachedByRowsOfAttention) {
  AttentionSizes sizes;
  sizes.m = sizes.l = 4096;
  sizes.k = sizes.n = 64;
  ChainProblem problem = makeAttention(sizes);
  Schedule schedule = singleLevel(
      {{loopNamed(problem, "m"), 250}, {loopNamed(problem, "l"), 1}});
  Evaluation rows = evaluate(problem, schedule, 0);
  double bound = lowerBound(problem, rows.liveBytes);
  EXPECT_GE(rows.volumeBytes(), bound);
  EXPECT_LE(rows.volumeBytes(), 1.2 * bound);
}

TEST(LowerBound, IsNearlyReachedByRecomputation) {
  ChainProblem problem = makeChain({1, 16384, 288, 32, 8192});
  Schedule schedule = singleLevel({{loopNamed(problem, "m"), 2048},
                                   {loopNamed(problem, "n"), 32, 3},
                                   {loopNamed(problem, "l"), 1}});
  Evaluation again = evaluate(problem, schedule, 0);
  double bound = lowerBound(problem, again.liveBytes, true);
  EXPECT_GE(again.volumeBytes(), bound);
  EXPECT_LE(again.volumeBytes(), 1.3 * bound);
  // Nobody gets there who makes everything only once.
  EXPECT_LT(again.volumeBytes(), lowerBound(problem, again.liveBytes));
}

//===----------------------------------------------------------------------===//
// Longer chains and gates
//===----------------------------------------------------------------------===//

TEST(LowerBound, CutsLongChainsIntoGroups) {
  // The first two products are an attention of 4096 x 4096 scores, the third
  // is small: their group's bound less what they make, plus the third's.
  ChainProblem problem = makeTriple(4096, 4096, 128, 128, 16);
  double pair = psi(4096.0 * 4096 * 256, 4096.0 * 4096, 12288);
  Bound bound = boundOf(problem, 12288);
  EXPECT_GE(elementsOf(bound), pair - 4096 * 128 + 128 * 16 + 4096 * 16 - 1);
  EXPECT_GE(bound.bytes, lowerBound(problem, 4 * 12288, true));
  // Three large products: better than any two of them.
  problem = makeTriple(1024, 1024, 1024, 1024, 1024);
  double cube = std::pow(1024.0, 3), square = 1024 * 1024;
  bound = boundOf(problem, 4096);
  EXPECT_GE(elementsOf(bound), 3 * 2 * cube / 64 - 4096 - 2 * square - 1);
  EXPECT_GT(bound.looseness, 1);
}

TEST(LowerBound, OfGate) {
  // Few columns: Psi(ML (sqrt(2) K + N), ML).
  Bound bound = boundOf(makeGate(4096, 32, 32, 4096), 65536);
  double area = 4096.0 * 4096, depth = std::sqrt(2.0) * 32 + 32;
  EXPECT_NEAR(elementsOf(bound), area * depth * depth / 65536, 1);
  EXPECT_EQ(bound.kind, BoundKind::Gate);
  // Many: 2 ML (2K + N) / sqrt(S) - 3 ML - S.
  bound = boundOf(makeGate(2048, 2048, 2048, 2048), 4096);
  area = 2048.0 * 2048;
  EXPECT_GE(elementsOf(bound), 2 * area * 3 * 2048 / 64 - 3 * area - 4096 - 1);
  // The positions may become free again if they are made anew.
  EXPECT_LT(lowerBound(makeGate(4096, 32, 32, 4096), 4 * 65536, true),
            lowerBound(makeGate(4096, 32, 32, 4096), 4 * 65536));
}

TEST(LowerBound, IsCompulsoryWithoutStructure) {
  // A matrix times itself: both factors are one tensor.
  ProblemBuilder builder;
  LoopId m = builder.loop("m", 256), n = builder.loop("n", 256),
         k = builder.loop("k", 256);
  TensorId a = builder.array("A", Role::Input, {256, 256});
  TensorId c = builder.tensor("C", Role::Output, {m, n});
  builder.operation("square", {Access{a, {m, k}}, Access{a, {k, n}}},
                    builder.access(c), m, n);
  Bound bound = boundOf(builder.problem, 256);
  EXPECT_EQ(elementsOf(bound), 2 * 256 * 256);
  EXPECT_EQ(bound.looseness, 0);
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

ChainProblem makeConv(int64_t channels, int64_t image, ConvLayer layer) {
  ConvSizes sizes;
  sizes.channels = channels;
  sizes.image = {image, image};
  sizes.layers = {layer};
  return makeConvChain(sizes);
}

TEST(LowerBound, OfConvolution) {
  // 3 x 3: nine places of a window see an input element.
  ChainProblem problem = makeConv(64, 66, {ConvLayer::Dense, 64, 3});
  Bound bound = boundOf(problem, 4096);
  double work = 64.0 * 64 * 64 * 64 * 9 / 3, output = 64.0 * 64 * 64;
  EXPECT_EQ(bound.kind, BoundKind::Convolution);
  EXPECT_NEAR(elementsOf(bound),
              std::max({output + psi(work, output, 4096), 2 * work / 64 - 4096,
                        64.0 * 66 * 66 + psi(work, 64.0 * 66 * 66, 4096),
                        64.0 * 64 * 9 + psi(work, 64.0 * 64 * 9, 4096)}),
              1);
}

TEST(LowerBound, OfConvolutionsThatAreContractions) {
  // Windows of one element, or that do not overlap: each input element is used
  // in one place. What the stride skips is not read.
  int64_t gemm = lowerBound(makeGemm(1, 32 * 32, 128, 128), 4 * 1024);
  EXPECT_EQ(lowerBound(makeConv(128, 32, {ConvLayer::Dense, 128, 1}), 4096),
            gemm);
  EXPECT_EQ(lowerBound(makeConv(128, 63, {ConvLayer::Dense, 128, 1, 2}), 4096),
            gemm);
  EXPECT_EQ(lowerBound(makeConv(8, 128, {ConvLayer::Dense, 128, 4, 4}), 4096),
            gemm);
  EXPECT_EQ(boundOf(makeConv(8, 128, {ConvLayer::Dense, 128, 4, 4}), 1024).kind,
            BoundKind::Contraction);
  // One place only: a dot product for each output channel.
  EXPECT_EQ(lowerBound(makeConv(64, 4, {ConvLayer::Dense, 64, 4}), 4096),
            lowerBound(makeGemm(1, 1, 64, 64 * 16), 4096));
}

TEST(LowerBound, CountsNoPadding) {
  // 3 x 3 on one element with a border: only the middle of a window counts.
  ChainProblem problem = makeConv(64, 1, {ConvLayer::Dense, 64, 3, 1, 1, 1});
  EXPECT_EQ(elementsOf(boundOf(problem, 64)), 64 + 64 + 64 * 64);
}

TEST(LowerBound, OfConvolutionChain) {
  ConvSizes sizes;
  sizes.channels = 16;
  sizes.image = {66, 66};
  sizes.layers = {{ConvLayer::Dense, 128, 1}, {ConvLayer::Dense, 16, 3}};
  ChainProblem problem = makeConvChain(sizes);
  Bound bound = boundOf(problem, 1 << 13);
  double image = 66 * 66, out = 64 * 64;
  double work = image * 128 * 16 + out * 16 * 128 * 9 / 3;
  EXPECT_EQ(bound.kind, BoundKind::ConvolutionChain);
  EXPECT_GE(elementsOf(bound) + 1, psi(work, image * 128, 1 << 13));
  // Halos may be computed again.
  EXPECT_LE(boundOf(problem, 1 << 13, true).bytes, bound.bytes);
}

TEST(LowerBound, LeavesOutWhatALaterStrideSkips) {
  // The second layer takes every other row and column of the first.
  ConvSizes sizes;
  sizes.channels = 4;
  sizes.image = {9, 9};
  sizes.layers = {{ConvLayer::Dense, 4, 1}, {ConvLayer::Dense, 4, 1, 2}};
  EXPECT_EQ(elementsOf(boundOf(makeConvChain(sizes), 1 << 20)),
            2 * 4 * 25 + 2 * 16);
}

//===----------------------------------------------------------------------===//
// Machines and random schedules
//===----------------------------------------------------------------------===//

TEST(LowerBound, OfMachineLevels) {
  ChainProblem problem = makeChain({8, 512, 64, 64, 512});
  SolveOptions options;
  options.threads = 2;
  auto bounds = findBounds(problem, makeZen5(), options);
  ASSERT_EQ(bounds.size(), 3u);
  int64_t registers = 32 * 16 * 4, l1 = 48 << 10, l2 = 1 << 20, l3 = 32 << 20;
  // The two threads share the L3 and have an L2 and an L1 each.
  BoundOptions two;
  two.memories = 2;
  EXPECT_EQ(bounds[0].bytes,
            findBound(problem, l3 + 2 * (l2 + l1 + registers)).bytes);
  EXPECT_EQ(bounds[1].bytes,
            findBound(problem, l2 + l1 + registers, two).bytes);
  EXPECT_EQ(bounds[2].bytes, findBound(problem, l1 + registers, two).bytes);
}

/// True if a convolution may skip elements of an intermediate: then a schedule
/// may do without some of the work and do other work twice, which its number of
/// multiply-adds does not tell.
bool skipsElements(const ChainProblem &problem) {
  auto skips = [&](const Index &index) {
    int64_t stride = 1, step = 1, taps = 1;
    for (const Term &term : index.terms)
      if (term.factor > 1)
        stride = term.factor;
      else
        step = 0, taps = problem.loops[term.loop].extent;
    return index.terms.size() > 2 || (stride > 1 && (step || taps < stride));
  };
  for (const Operator &op : problem.operators)
    for (const Access &input : op.inputs)
      if (problem.tensors[input.tensor].role == Role::Intermediate &&
          llvm::any_of(input.indices, skips))
        return true;
  return false;
}

bool computesAgain(const ChainProblem &problem, const Schedule &schedule) {
  Schedule unscheduled;
  unscheduled.levels.resize(1);
  for (auto [mine, once] : llvm::zip(countMultiplyAdds(problem, schedule),
                                     countMultiplyAdds(problem, unscheduled)))
    if (mine > once)
      return true;
  return skipsElements(problem);
}

/// A memory just large enough for the schedule cannot make do with less.
void checkSchedule(const ChainProblem &problem, const Schedule &schedule) {
  bool again = computesAgain(problem, schedule);
  for (unsigned level = 0; level < schedule.levels.size(); ++level) {
    Evaluation evaluation = evaluate(problem, schedule, level);
    ASSERT_GE(evaluation.volumeBytes(),
              lowerBound(problem, evaluation.liveBytes, again))
        << reproducer(problem, schedule) << "level " << level;
  }
}

TEST(LowerBound, HoldsForRandomSchedules) {
  for (unsigned seed = 0; seed < 4000; ++seed) {
    std::mt19937 random(seed);
    ChainProblem problem = makeRandomProblem(random, seed % 2 ? 8 : 24);
    for (unsigned count = 0; count < 10; ++count) {
      checkSchedule(problem,
                    makeRandomSchedule(random, problem, 1 + count % 2));
      if (HasFatalFailure())
        FAIL() << "seed " << seed;
    }
  }
}

TEST(LowerBound, WithRecomputationIsNeverHigher) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    std::mt19937 random(seed);
    ChainProblem problem = makeRandomProblem(random, 64);
    int64_t capacity = int64_t(64) << seed % 12;
    EXPECT_LE(lowerBound(problem, capacity, true),
              lowerBound(problem, capacity));
  }
}

TEST(LowerBound, FallsWithTheCapacity) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    ChainProblem problem = makeRandomProblem(random, 64);
    for (int64_t capacity = 64; capacity < 1 << 18; capacity *= 2)
      EXPECT_LE(lowerBound(problem, 2 * capacity),
                lowerBound(problem, capacity));
  }
}

} // namespace
