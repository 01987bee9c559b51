//===- PaperModelTest.cpp - Table III -------------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The paper's evaluator has to give the paper's table, and to differ from the
// exact one where the paper's assumptions do not hold.
//
//===----------------------------------------------------------------------===//

#include "TestProblems.h"

#include "gtest/gtest.h"

using namespace chimera::model;

namespace {

enum : LoopId { b, m, l, k, n };
enum : TensorId { A, B, C, D, E };

TEST(PaperModel, ReproducesTableIII) {
  std::mt19937 random(3);
  auto pick = [&](int64_t high) {
    return std::uniform_int_distribution<int64_t>(1, high)(random);
  };
  for (int round = 0; round < 500; ++round) {
    // The table's formulas suppose that tiles divide extents.
    int64_t tm = pick(64), tl = pick(64), tk = pick(64), tn = pick(64);
    int64_t rm = pick(20), rl = pick(20), rk = pick(20), rn = pick(20);
    int64_t sm = tm * rm, sl = tl * rl, sk = tk * rk, sn = tn * rn;
    ChainProblem problem = makeChain({1, sm, sn, sk, sl});
    PaperEstimate paper =
        evaluatePaper(problem, {b, m, l, k, n}, {1, tm, tl, tk, tn});
    EXPECT_EQ(paper.movement[A], sm * sk * rl);
    EXPECT_EQ(paper.movement[B], sk * sl * rm);
    EXPECT_EQ(paper.movement[C], 0);
    EXPECT_EQ(paper.movement[D], sn * sl * rm);
    EXPECT_EQ(paper.movement[E], sm * sn * rl);
    EXPECT_EQ(paper.footprint[A], tm * tk);
    EXPECT_EQ(paper.footprint[B], tk * tl);
    EXPECT_EQ(paper.footprint[C], tm * tl);
    EXPECT_EQ(paper.footprint[D], tl * tn);
    EXPECT_EQ(paper.footprint[E], tm * tn);
    EXPECT_EQ(paper.volume,
              sm * sk * rl + sk * sl * rm + sn * sl * rm + sm * sn * rl);
    EXPECT_EQ(paper.memoryUsage, std::max(tm * tk + tk * tl + tm * tl,
                                          tm * tl + tl * tn + tm * tn));
  }
}

TEST(PaperModel, CountsLoopsThatMakeOneTrip) {
  // With k and n in full, the exact model keeps A and E over the loop l.
  ChainProblem problem = makeChain({1, 512, 64, 64, 512});
  PaperEstimate paper =
      evaluatePaper(problem, {b, m, l, k, n}, {1, 64, 64, 64, 64});
  Evaluation exact = evaluate(problem, singleLevel({{m, 64}, {l, 64}}), 0);
  EXPECT_EQ(paper.movement[A], 8 * 512 * 64);
  EXPECT_EQ(exact.traffic[A].readBytes, 4 * 512 * 64);
}

TEST(PaperModel, PrefersOrdersThatDoNotFit) {
  // k outermost: the paper sees three tiles, the exact model a whole strip of
  // C.
  ChainProblem problem = makeChain({1, 2048, 2048, 2048, 2048});
  PaperEstimate paper =
      evaluatePaper(problem, {b, k, m, n, l}, {1, 64, 64, 16, 16});
  PaperEstimate chosen =
      evaluatePaper(problem, {b, m, l, k, n}, {1, 64, 64, 16, 16});
  Schedule order = singleLevel({{k, 16}, {m, 64}, {n, 16}, {l, 64}});
  EXPECT_LT(paper.volume, chosen.volume);
  EXPECT_GE(evaluate(problem, order, 0).liveBytes, 4 * 2048 * 2048);
}

} // namespace
