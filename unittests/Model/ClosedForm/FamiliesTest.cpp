//===- FamiliesTest.cpp - Tiles from formulas -----------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Real optima against a search along the boundary, the families' forms against
// the table of docs/model.md, and whole tiles against the exact search.
//
//===----------------------------------------------------------------------===//

#include "TestProblems.h"

#include "Chimera/Model/ClosedForm.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>

using namespace chimera::model;

namespace {

constexpr double unbounded = 1e9;

TwoTileForm makeForm(double perFirstTrip, double perSecondTrip,
                     llvm::ArrayRef<TwoTileForm::Phase> phases,
                     double capacity) {
  TwoTileForm form;
  form.first = {unbounded, 1, unbounded, perFirstTrip};
  form.second = {unbounded, 1, unbounded, perSecondTrip};
  form.phases.assign(phases.begin(), phases.end());
  form.capacityBytes = capacity;
  return form;
}

TEST(TwoTiles, AreThoseOfThePaperWhereBothSidesAreAlike) {
  // T = -alpha + sqrt(alpha^2 + capacity) = -3 + 5, on both sides.
  auto tiles = minimize(makeForm(1, 1, {{3, 3, 1, 0}}, 16));
  ASSERT_TRUE(tiles);
  EXPECT_DOUBLE_EQ(tiles->firstTile, 2);
  EXPECT_DOUBLE_EQ(tiles->secondTile, 2);
  EXPECT_DOUBLE_EQ(tiles->bytes, unbounded);
  // What is live besides takes room away.
  tiles = minimize(makeForm(1, 1, {{3, 3, 1, 4}}, 20));
  ASSERT_TRUE(tiles);
  EXPECT_DOUBLE_EQ(tiles->firstTile, 2);
}

TEST(TwoTiles, FollowTheirPrices) {
  // With p = r = 0, x y = S and a / x = b / y: x = sqrt(S a / b).
  auto tiles = minimize(makeForm(4, 1, {{0, 0, 1, 0}}, 100));
  ASSERT_TRUE(tiles);
  EXPECT_DOUBLE_EQ(tiles->firstTile, 20);
  EXPECT_DOUBLE_EQ(tiles->secondTile, 5);
}

TEST(TwoTiles, StopAtWholeLoops) {
  TwoTileForm form = makeForm(4, 1, {{0, 0, 1, 0}}, 100);
  form.first.mostTile = 10;
  auto tiles = minimize(form);
  ASSERT_TRUE(tiles);
  EXPECT_DOUBLE_EQ(tiles->firstTile, 10);
  EXPECT_DOUBLE_EQ(tiles->secondTile, 10);
  // If the second is whole, the first takes the room that is left.
  form = makeForm(1, 4, {{0, 0, 1, 0}}, 100);
  form.second.mostTile = 4;
  tiles = minimize(form);
  ASSERT_TRUE(tiles);
  EXPECT_DOUBLE_EQ(tiles->firstTile, 25);
  EXPECT_DOUBLE_EQ(tiles->secondTile, 4);
  // The smallest tile of the second ends the first.
  form = makeForm(1, 0, {{0, 0, 1, 0}}, 100);
  form.second.leastTile = 8;
  tiles = minimize(form);
  ASSERT_TRUE(tiles);
  EXPECT_DOUBLE_EQ(tiles->firstTile, 12.5);
}

TEST(TwoTiles, MeetWhereTwoPhasesAreTight) {
  // x + y <= 12 and 3 x + y <= 20 meet at 4 and 8; the derivative of neither
  // is zero there.
  auto tiles = minimize(makeForm(1, 2, {{1, 1, 0, 8}, {3, 1, 0, 0}}, 20));
  ASSERT_TRUE(tiles);
  EXPECT_NEAR(tiles->firstTile, 4, 1e-9);
  EXPECT_NEAR(tiles->secondTile, 8, 1e-9);
}

TEST(TwoTiles, NeedRoomForTheLeast) {
  TwoTileForm form = makeForm(1, 1, {{1, 1, 1, 0}}, 15);
  form.first.leastTile = form.second.leastTile = 3;
  auto tiles = minimize(form);
  ASSERT_TRUE(tiles);
  EXPECT_DOUBLE_EQ(tiles->firstTile, 3);
  EXPECT_DOUBLE_EQ(tiles->secondTile, 3);
  form.capacityBytes = 14;
  EXPECT_FALSE(minimize(form));
}

/// The least volume on a fine grid of first tiles, each with the largest second
/// tile beside it.
double leastOnGrid(const TwoTileForm &form) {
  constexpr int steps = 4000;
  double least = std::numeric_limits<double>::infinity();
  for (int step = 0; step <= steps; ++step) {
    double x = form.first.leastTile *
               std::pow(form.first.mostTile / form.first.leastTile,
                        double(step) / steps);
    double y = form.second.mostTile;
    for (const TwoTileForm::Phase &phase : form.phases)
      y = std::min(y, (form.capacityBytes - phase.rest - phase.perFirst * x) /
                          (phase.perSecond + phase.perBoth * x));
    if (y >= form.second.leastTile)
      least = std::min(least,
                       form.constantBytes +
                           form.first.bytesPerTrip * form.first.extent / x +
                           form.second.bytesPerTrip * form.second.extent / y);
  }
  return least;
}

TEST(TwoTiles, AreNoWorseThanAnyOnAGrid) {
  std::mt19937 random(3);
  auto pick = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  int found = 0;
  for (int round = 0; round < 300; ++round) {
    TwoTileForm form;
    for (TwoTileForm::Loop *loop : {&form.first, &form.second}) {
      loop->extent = loop->mostTile = pick(16, 2000);
      loop->leastTile = pick(1, 16);
      loop->bytesPerTrip = round % 5 ? pick(1, 1000) : 0;
    }
    for (int phase = 0; phase <= round % 3; ++phase)
      form.phases.push_back(
          {pick(0, 100), pick(0.1, 100), pick(0, 8), pick(0, 1000)});
    form.capacityBytes = pick(1000, 100000);
    auto tiles = minimize(form);
    double least = leastOnGrid(form);
    if (!tiles) {
      EXPECT_TRUE(std::isinf(least));
      continue;
    }
    ++found;
    EXPECT_LE(tiles->bytes, least * (1 + 1e-12));
    EXPECT_GE(tiles->bytes, least * (1 - 1e-2));
    for (const TwoTileForm::Phase &phase : form.phases) {
      EXPECT_LE(phase.perFirst * tiles->firstTile +
                    phase.perSecond * tiles->secondTile +
                    phase.perBoth * tiles->firstTile * tiles->secondTile +
                    phase.rest,
                form.capacityBytes * (1 + 1e-9));
    }
  }
  EXPECT_GT(found, 200);
}

//===----------------------------------------------------------------------===//
// Families
//===----------------------------------------------------------------------===//

enum : TensorId { A, B, C, D, E };

/// The table of docs/model.md with all tiles of k and n at `least`, and the
/// least tiles of m and l.
std::vector<std::pair<std::string, TwoTileForm>>
tableOf(const ChainProblem &problem, double capacity, double least) {
  auto extent = [&](const char *name) {
    return double(problem.loops[loopNamed(problem, name)].extent);
  };
  double m = extent("m"), l = extent("l"), k = extent("k"), n = extent("n");
  double s[5], V[5];
  for (TensorId tensor : {A, B, C, D, E}) {
    s[tensor] = problem.tensors[tensor].elementBytes;
    V[tensor] = s[tensor] * problem.sizeOf(tensor);
  }
  double t = least;
  std::vector<std::pair<std::string, TwoTileForm>> table;
  auto add = [&](const char *name, double constant, double perM, double perL,
                 TwoTileForm::Phase one, TwoTileForm::Phase two) {
    TwoTileForm form;
    form.first = {m, least, m, perM};
    form.second = {l, least, l, perL};
    form.constantBytes = constant;
    form.phases = {one, two};
    form.capacityBytes = capacity;
    table.push_back({name, form});
  };
  add("tiles of C", -V[E], V[B] + V[D], V[A] + 2 * V[E],
      {s[A] * t, s[B] * t, s[C], 0}, {s[E] * t, s[D] * t, s[C], 0});
  add("E stays", V[E], V[B] + V[D], V[A],
      {s[A] * t + s[E] * n, s[B] * t, s[C], 0}, {s[E] * n, s[D] * n, s[C], 0});
  add("A stays", V[A] - V[E], V[B] + V[D], 2 * V[E],
      {s[A] * k, s[B] * k, s[C], 0}, {s[A] * k + s[E] * t, s[D] * t, s[C], 0});
  add("A and E stay", V[A] + V[E], V[B] + V[D], 0,
      {s[A] * k + s[E] * n, s[B] * k, s[C], 0},
      {s[A] * k + s[E] * n, s[D] * n, s[C], 0});
  add("B stays", V[B] - V[E], V[D], V[A] + 2 * V[E],
      {s[A] * k, s[B] * k, s[C], 0}, {s[E] * t, s[B] * k + s[D] * t, s[C], 0});
  add("D stays", V[D] - V[E], V[B], V[A] + 2 * V[E],
      {s[A] * t, s[B] * t + s[D] * n, s[C], 0}, {s[E] * n, s[D] * n, s[C], 0});
  add("B and D stay", V[B] + V[D] - V[E], 0, V[A] + 2 * V[E],
      {s[A] * k, s[B] * k + s[D] * n, s[C], 0},
      {s[E] * n, s[B] * k + s[D] * n, s[C], 0});
  add("rows of C", V[A] + V[E], V[B] + V[D], 0,
      {s[C] * l + s[A] * t, 0, 0, s[B] * t * t},
      {s[C] * l + s[E] * t, 0, 0, s[D] * t * t});
  add("columns of C", V[B] + V[D] - V[E], 0, V[A] + 2 * V[E],
      {0, s[C] * m + s[B] * t, 0, s[A] * t * t},
      {0, s[C] * m + s[D] * t, 0, s[E] * t * t});
  return table;
}

TEST(ClosedFormFamilies, AreThoseOfTheTable) {
  constexpr int64_t least = 16;
  std::mt19937 random(17);
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  std::set<std::string> seen;
  for (int round = 0; round < 200; ++round) {
    ChainProblem problem =
        makeMlp(pick(64, 4096), pick(64, 512), pick(64, 512), pick(64, 4096));
    for (Tensor &tensor : problem.tensors)
      tensor.elementBytes = int64_t(1) << pick(0, 2);
    int64_t capacity = pick(8, 1024) << 10;
    auto forms =
        solveClosedForms(problem, capacity, {least, least, least, least});
    auto table = tableOf(problem, capacity, least);
    for (const ClosedForm &form : forms) {
      auto entry = llvm::find_if(
          table, [&](const auto &row) { return row.first == form.family; });
      ASSERT_NE(entry, table.end()) << form.family;
      auto expected = minimize(entry->second);
      ASSERT_TRUE(expected) << form.family;
      EXPECT_NEAR(form.realBytes, expected->bytes, 1e-9 * expected->bytes)
          << form.family;
      seen.insert(form.family);
    }
  }
  EXPECT_EQ(seen.size(), 9u);
}

void expectExact(const ChainProblem &problem, const ClosedForm &form,
                 int64_t capacity) {
  Schedule schedule = singleLevel(form.order);
  Evaluation result = evaluate(problem, schedule, 0);
  std::string where = form.family + ", " + reproducer(problem, schedule);
  EXPECT_EQ(result.volumeBytes(), form.bytes) << where;
  EXPECT_EQ(result.liveBytes, form.liveBytes) << where;
  EXPECT_LE(result.liveBytes, capacity) << where;
}

TEST(ClosedFormFamilies, CountWhatTheyMove) {
  AttentionSizes attention;
  attention.heads = 3;
  attention.m = 200;
  attention.l = 300;
  attention.k = 40;
  attention.n = 48;
  ChainProblem problems[] = {
      makeGemm(2, 100, 90, 80),         makeGemm(1, 512, 64, 333),
      makeChain({3, 130, 70, 60, 250}), makeMlp(100, 128, 100, 100),
      makeMlp(1000, 20, 30, 40),        makeAttention(attention)};
  for (const ChainProblem &problem : problems) {
    EXPECT_TRUE(hasClosedForm(problem));
    llvm::SmallVector<int64_t, 8> granularity(problem.loops.size(), 1);
    for (int64_t capacity : {4 << 10, 32 << 10, 4 << 20}) {
      auto forms = solveClosedForms(problem, capacity, granularity);
      auto best = solveClosedForm(problem, capacity, granularity);
      ASSERT_TRUE(best);
      for (const ClosedForm &form : forms) {
        expectExact(problem, form, capacity);
        EXPECT_LE(best->bytes, form.bytes);
      }
    }
  }
}

TEST(ClosedFormFamilies, AreOfOneOrTwoContractions) {
  EXPECT_FALSE(hasClosedForm(makeTriple(64, 64, 64, 64, 64)));
  EXPECT_FALSE(hasClosedForm(makeGate(64, 64, 64, 64)));
  ConvSizes sizes;
  sizes.channels = 4;
  sizes.image = {16, 16};
  sizes.layers = {ConvLayer(), ConvLayer()};
  EXPECT_FALSE(hasClosedForm(makeConvChain(sizes)));
  // Two loops that both play the part of m.
  AttentionSizes attention;
  attention.queries = 4;
  attention.m = attention.l = attention.k = attention.n = 64;
  EXPECT_FALSE(hasClosedForm(makeAttention(attention)));
  llvm::SmallVector<int64_t, 8> granularity(5, 1);
  EXPECT_FALSE(
      solveClosedForm(makeTriple(64, 64, 64, 64, 64), 1 << 20, granularity));
  EXPECT_FALSE(solveClosedForm(makeMlp(8, 8, 8, 8), 11, granularity));
}

TEST(ClosedFormFamilies, ComeCloseToTheExactSearch) {
  // CHIMERA_RANDOM_CASES=1000 compares 1,000.
  const char *more = std::getenv("CHIMERA_RANDOM_CASES");
  int rounds = more ? std::max(1, std::atoi(more)) : 200;
  std::mt19937 random(5);
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  int same = 0;
  double most = 1, product = 0;
  for (int round = 0; round < rounds; ++round) {
    ChainProblem problem =
        makeMlp(pick(16, 256), pick(16, 256), pick(16, 256), pick(16, 256));
    int64_t capacity = pick(4, 64) << 10;
    llvm::SmallVector<int64_t, 6> granularity(problem.loops.size(), 1);
    auto form = solveClosedForm(problem, capacity, granularity);
    auto exact = solveVolume(problem, capacity, granularity);
    ASSERT_TRUE(form && exact);
    expectExact(problem, *form, capacity);
    double ratio =
        double(form->bytes) / evaluate(problem, *exact, 0).volumeBytes();
    EXPECT_GE(ratio, 1);
    same += ratio == 1;
    most = std::max(most, ratio);
    product += std::log(ratio);
  }
  RecordProperty("SameOfHundred", 100 * same / rounds);
  RecordProperty("Most", std::to_string(most));
  RecordProperty("Mean", std::to_string(std::exp(product / rounds)));
  EXPECT_GE(same, 0.85 * rounds);
  EXPECT_LE(product, 0.03 * rounds);
}

} // namespace
