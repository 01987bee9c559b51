//===- DotProductTest.cpp - Plans for pairs of narrow numbers -------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instructions that multiply two neighbours along the reduction take half the
// time, where single elements lie side by side.
//
//===----------------------------------------------------------------------===//

#include "TestProblems.h"

#include "gtest/gtest.h"

using namespace chimera::model;

namespace {

/// With instructions for pairs, at the rate of multiply-adds.
Machine makePairs() {
  Machine machine = makeZen5();
  machine.unit.depth = 2;
  return machine;
}

double computeSecondsOf(const ChainProblem &problem, const Machine &machine) {
  SolveOptions options;
  options.threads = 1;
  auto plan = solve(problem, machine, options);
  EXPECT_TRUE(plan);
  return plan ? plan->computeSeconds : 0;
}

/// C[m,n] = A[m,k] * B[k,n] of two bytes; A may lie column by column.
ChainProblem makeProduct(int64_t k, bool isTransposed, int64_t columns = 64) {
  ProblemBuilder builder;
  LoopId row = builder.loop("m", 96), column = builder.loop("n", columns),
         sum = builder.loop("k", k);
  TensorId a = isTransposed ? builder.tensor("A", Role::Input, {sum, row}, 2)
                            : builder.tensor("A", Role::Input, {row, sum}, 2);
  TensorId b = builder.tensor("B", Role::Input, {sum, column}, 2);
  TensorId c = builder.tensor("C", Role::Output, {row, column});
  builder.contraction("gemm", {a, b}, c, row, column);
  return builder.problem;
}

TEST(DotProduct, TakesHalfTheSteps) {
  ChainProblem problem = makeProduct(512, /*isTransposed=*/false);
  double single = computeSecondsOf(problem, makeZen5());
  double pairs = computeSecondsOf(problem, makePairs());
  EXPECT_GT(pairs, 0.5 * single);
  EXPECT_LT(pairs, 0.55 * single);
}

TEST(DotProduct, AnOddStepTakesAsLongAsAPair) {
  Machine machine = makePairs();
  EXPECT_DOUBLE_EQ(
      computeSecondsOf(makeProduct(7, /*isTransposed=*/false), machine),
      computeSecondsOf(makeProduct(8, /*isTransposed=*/false), machine));
}

TEST(DotProduct, ElementsApartAreCopiedForManyColumns) {
  Machine machine = makePairs();
  double copied =
      computeSecondsOf(makeProduct(512, /*isTransposed=*/true), machine);
  EXPECT_GT(copied, computeSecondsOf(makeProduct(512, /*isTransposed=*/false),
                                     machine));
  EXPECT_LT(copied, computeSecondsOf(makeProduct(512, /*isTransposed=*/true),
                                     makeZen5()));
}

TEST(DotProduct, ElementsApartAreMultipliedOneByOneForFewColumns) {
  int64_t few = leastColumnsOfPairs(makeZen5().unit.lanes) - 1;
  ChainProblem problem = makeProduct(512, /*isTransposed=*/true, few);
  EXPECT_DOUBLE_EQ(computeSecondsOf(problem, makePairs()),
                   computeSecondsOf(problem, makeZen5()));
}

TEST(DotProduct, IntermediatesLieAsTheirReaderWants) {
  ChainProblem problem = makeChain({1, 96, 64, 512, 512});
  double single = computeSecondsOf(problem, makeZen5());
  EXPECT_LT(computeSecondsOf(problem, makePairs()), 0.56 * single);
}

TEST(DotProduct, DecodedFactorsAreMultipliedOneByOne) {
  ChainProblem problem = makeProduct(512, /*isTransposed=*/false);
  problem.operators[0].decodeInstructions = 2;
  EXPECT_DOUBLE_EQ(computeSecondsOf(problem, makePairs()),
                   computeSecondsOf(problem, makeZen5()));
}

TEST(DotProduct, OperatorsReadWhatIsSummedUpInFull) {
  // Scores of two bytes lie where four were summed up, and a block of them has
  // to fit as they lie: both products still get loops of their own.
  AttentionSizes sizes;
  sizes.heads = 8;
  sizes.m = sizes.l = 2048;
  sizes.k = sizes.n = 128;
  ChainProblem problem = makeAttention(sizes);
  for (Tensor &tensor : problem.tensors)
    if (tensor.role != Role::State)
      tensor.elementBytes = 2;
  for (Operator &op : problem.operators)
    problem.tensors[op.output].accumulatorBytes = 4;
  SolveOptions options;
  options.threads = 1;
  auto plan = solve(problem, makePairs(), options);
  ASSERT_TRUE(plan);
  EXPECT_TRUE(llvm::all_of(
      plan->schedule.levels.back().order,
      [](const TiledLoop &entry) { return entry.operators != 0; }));
}

} // namespace
