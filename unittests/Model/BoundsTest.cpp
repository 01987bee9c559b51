//===- BoundsTest.cpp - Lower bounds --------------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Figures worked out by hand. That no plan goes below the bound is tested with
// the search, which knows the best plans.
//
//===----------------------------------------------------------------------===//

#include "TestProblems.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace chimera::model;

namespace {

TEST(LowerBound, IsCompulsoryForLargeMemories) {
  ChainProblem problem = makeChain({1, 512, 64, 64, 512});
  EXPECT_EQ(lowerBound(problem, 4 * 262144), 4 * 4 * 512 * 64);
}

TEST(LowerBound, OfChainAtTheSizeOfL1) {
  // z = 128 exceeds 0.918 sqrt(S): B1 = ML (1.837 z / sqrt(S) - 0.844).
  ChainProblem problem = makeChain({1, 512, 64, 64, 512});
  double elements =
      512 * 512 *
      (2 * std::sqrt(27.0 / 32) * 128 / std::sqrt(12288.0) - 27.0 / 32);
  EXPECT_EQ(lowerBound(problem, 4 * 12288), std::ceil(4 * elements));
  EXPECT_NEAR(elements / (4 * 512 * 64), 2.56, 0.01);
}

TEST(LowerBound, OfContraction) {
  // K <= 0.918 sqrt(S): MN (1 + K^2 / S).
  EXPECT_EQ(lowerBound(makeGemm(1, 512, 512, 64), 4 * 12288),
            std::ceil(4 * 512 * 512 * (1 + 64.0 * 64 / 12288)));
  // A large cube: 2 MNK / sqrt(S) - S or one of its refinements.
  double leading = 2 * std::pow(2048.0, 3) / std::sqrt(12288.0);
  double bound = lowerBound(makeGemm(1, 2048, 2048, 2048), 4 * 12288) / 4.0;
  EXPECT_GE(bound, leading - 12288);
  EXPECT_LE(bound, leading + 2048 * 2048);
}

TEST(LowerBound, SubtractsTheMemoryOncePerBatch) {
  int64_t one = lowerBound(makeGemm(1, 256, 256, 2048), 4 * 1024);
  int64_t eight = lowerBound(makeGemm(8, 256, 256, 2048), 4 * 1024);
  EXPECT_GE(eight, 8 * one - 8);
}

TEST(LowerBound, AddsWhatEpiloguesRead) {
  ChainProblem problem = makeChain({1, 512, 64, 64, 512});
  int64_t without = lowerBound(problem, 4 * 12288);
  ProblemBuilder builder;
  builder.problem = problem;
  TensorId mask = builder.tensor("mask", Role::Input, {1, 2});
  builder.problem.operators[0].epilogue.push_back(mask);
  EXPECT_EQ(lowerBound(builder.problem, 4 * 12288), without + 4 * 512 * 512);
}

TEST(LowerBound, OfLongerChainsIsCompulsory) {
  EXPECT_EQ(lowerBound(makeTriple(8, 8, 8, 8, 8), 64), 4 * 5 * 64);
}

} // namespace
