//===- PaperModelTest.cpp - The paper's tables and figures ----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The paper's evaluator has to give the paper's tables, and to differ from the
// exact one where the paper's assumptions do not hold. The figures of the last
// tests are those of docs/model.md.
//
//===----------------------------------------------------------------------===//

#include "TestProblems.h"

#include "Chimera/Model/PaperModel.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace chimera::model;

namespace {

/// The loops of `makeChain`.
enum : LoopId { b, m, l, k, n };
enum : TensorId { A, B, C, D, E };

/// The chain of Figure 2 with its loops in the paper's order, m, n, k, l.
ChainProblem makePaperChain(int64_t sm, int64_t sn, int64_t sk, int64_t sl) {
  ProblemBuilder builder;
  LoopId m = builder.loop("m", sm), n = builder.loop("n", sn);
  LoopId k = builder.loop("k", sk), l = builder.loop("l", sl);
  TensorId a = builder.tensor("A", Role::Input, {m, k});
  TensorId b = builder.tensor("B", Role::Input, {k, l});
  TensorId c = builder.tensor("C", Role::Intermediate, {m, l});
  TensorId d = builder.tensor("D", Role::Input, {l, n});
  TensorId e = builder.tensor("E", Role::Output, {m, n});
  builder.contraction("first", {a, b}, c, m, l);
  builder.contraction("second", {c, d}, e, m, n);
  return builder.problem;
}

Permutation orderOf(const ChainProblem &problem, llvm::StringRef names) {
  Permutation order;
  for (char name : names)
    order.push_back(loopNamed(problem, llvm::StringRef(&name, 1)));
  return order;
}

std::string namesOf(const ChainProblem &problem, llvm::ArrayRef<LoopId> loops) {
  std::string names;
  for (LoopId loop : loops)
    names += problem.loops[loop].name;
  return names;
}

//===----------------------------------------------------------------------===//
// Algorithm 1, Table III, Figure 2
//===----------------------------------------------------------------------===//

TEST(PaperModel, PrintsTableIII) {
  ChainProblem problem = makePaperChain(512, 64, 64, 512);
  auto columns = tabulatePaper(problem, orderOf(problem, "mlkn"));
  EXPECT_EQ(columns[A].printMovement(problem), "MK*ceil(L/T_L)");
  EXPECT_EQ(columns[B].printMovement(problem), "KL*ceil(M/T_M)");
  EXPECT_EQ(columns[C].printMovement(problem), "0");
  EXPECT_EQ(columns[D].printMovement(problem), "NL*ceil(M/T_M)");
  EXPECT_EQ(columns[E].printMovement(problem), "MN*ceil(L/T_L)");
  EXPECT_EQ(columns[A].footprint.print(problem), "T_M*T_K");
  EXPECT_EQ(columns[B].footprint.print(problem), "T_K*T_L");
  EXPECT_EQ(columns[C].footprint.print(problem), "T_M*T_L");
  EXPECT_EQ(columns[D].footprint.print(problem), "T_L*T_N");
  EXPECT_EQ(columns[E].footprint.print(problem), "T_M*T_N");
}

TEST(PaperModel, PrintsWindowsAndLongNames) {
  ConvSizes sizes;
  sizes.channels = 8;
  sizes.image = {32};
  ConvLayer layer;
  layer.channels = 16;
  layer.kernel = 3;
  layer.stride = 2;
  sizes.layers = {layer};
  ChainProblem problem = makeConvChain(sizes);
  Permutation order;
  for (llvm::StringRef name : {"c1", "y1", "c0", "r1"})
    order.push_back(loopNamed(problem, name));
  auto columns = tabulatePaper(problem, order);
  TensorId input = tensorNamed(problem, "X");
  EXPECT_EQ(columns[input].footprint.print(problem),
            "T_B*T_C0*(2*T_Y1+T_R1-2)");
  EXPECT_EQ(columns[input].printMovement(problem),
            "B*C0*(2*T_Y1+T_R1-2)*ceil(C1/T_C1)*ceil(Y1/T_Y1)*ceil(R1/T_R1)");
}

TEST(PaperModel, TableIsAlgorithm1WhereTilesDivide) {
  std::mt19937 random(3);
  auto pick = [&](int64_t high) {
    return std::uniform_int_distribution<int64_t>(1, high)(random);
  };
  for (int round = 0; round < 100; ++round) {
    llvm::SmallVector<int64_t, 4> tiles, extents;
    for (int loop = 0; loop < 4; ++loop) {
      tiles.push_back(pick(64));
      extents.push_back(tiles.back() * pick(20));
    }
    ChainProblem problem =
        makePaperChain(extents[0], extents[1], extents[2], extents[3]);
    for (const Permutation &order : listOrders({0, 1, 2, 3})) {
      PaperEstimate estimate = evaluatePaper(problem, order, tiles);
      auto columns = tabulatePaper(problem, order);
      int64_t volume = 0;
      for (TensorId tensor : {A, B, C, D, E}) {
        int64_t movement = 0;
        for (const PaperProduct &product : columns[tensor].movement)
          movement += product.value(problem, tiles);
        EXPECT_EQ(estimate.movement[tensor], movement);
        EXPECT_EQ(estimate.footprint[tensor],
                  columns[tensor].footprint.value(problem, tiles));
        volume += movement;
      }
      EXPECT_EQ(estimate.volume, volume);
      int64_t first =
          estimate.footprint[A] + estimate.footprint[B] + estimate.footprint[C];
      int64_t second =
          estimate.footprint[C] + estimate.footprint[D] + estimate.footprint[E];
      EXPECT_EQ(estimate.memoryUsage, std::max(first, second));
    }
  }
}

TEST(PaperModel, ReusesAsInFigure2) {
  // Of the figure's rows the paper discusses 1 (A along l, B not at all, D and
  // E always along k), 2 and 3; the others follow from its observations.
  struct Row {
    const char *order, *a, *b, *d, *e;
  };
  const Row rows[24] = {
      {"mnkl", "l", "", "k", "kl"},  {"mnlk", "", "", "k", "kl"},
      {"mknl", "nl", "", "k", "kl"}, {"mkln", "nl", "n", "k", "k"},
      {"mlnk", "", "", "k", "k"},    {"mlkn", "n", "n", "k", "k"},
      {"nmkl", "l", "", "k", "kl"},  {"nmlk", "", "", "k", "kl"},
      {"nkml", "l", "", "k", "kl"},  {"nklm", "", "m", "mk", "k"},
      {"nlmk", "", "", "mk", "k"},   {"nlkm", "", "m", "mk", "k"},
      {"kmnl", "nl", "", "k", "kl"}, {"kmln", "nl", "n", "k", "k"},
      {"knml", "l", "", "k", "kl"},  {"knlm", "", "m", "mk", "k"},
      {"klmn", "n", "mn", "k", "k"}, {"klnm", "", "mn", "mk", "k"},
      {"lmnk", "", "", "k", "k"},    {"lmkn", "n", "n", "k", "k"},
      {"lnmk", "", "", "mk", "k"},   {"lnkm", "", "m", "mk", "k"},
      {"lkmn", "n", "mn", "k", "k"}, {"lknm", "", "mn", "mk", "k"}};
  ChainProblem problem = makePaperChain(512, 64, 64, 512);
  std::vector<Permutation> orders = listOrders({0, 1, 2, 3});
  ASSERT_EQ(orders.size(), 24u);
  for (size_t index = 0; index < orders.size(); ++index) {
    const Row &row = rows[index];
    EXPECT_EQ(namesOf(problem, orders[index]), row.order);
    auto columns = tabulatePaper(problem, orders[index]);
    auto reuse = [&](TensorId tensor) {
      return namesOf(problem, columns[tensor].reusedAlong);
    };
    EXPECT_EQ(reuse(A), row.a) << row.order;
    EXPECT_EQ(reuse(B), row.b) << row.order;
    EXPECT_EQ(reuse(D), row.d) << row.order;
    EXPECT_EQ(reuse(E), row.e) << row.order;
  }
}

TEST(PaperModel, ContradictsItselfOnTheLoopsOfOthers) {
  // The paper's observation 2: under mnlk, n moves A, because k has moved it.
  // Line 11 of its Algorithm 1 skips n.
  ChainProblem problem = makePaperChain(512, 64, 64, 512);
  auto columns = tabulatePaper(problem, orderOf(problem, "mnlk"));
  EXPECT_EQ(namesOf(problem, columns[A].reusedAlong), "");
  EXPECT_EQ(columns[A].printMovement(problem), "MK*ceil(L/T_L)");
}

//===----------------------------------------------------------------------===//
// Equations 1 to 3
//===----------------------------------------------------------------------===//

TEST(PaperModel, MinimizesExactly) {
  std::mt19937 random(5);
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round < 40; ++round) {
    ChainProblem problem =
        makePaperChain(pick(1, 9), pick(1, 9), pick(1, 9), pick(1, 9));
    int64_t capacity = pick(3, 200);
    llvm::SmallVector<int64_t, 4> least;
    for (int loop = 0; loop < 4; ++loop)
      least.push_back(pick(1, 3));
    std::vector<Permutation> orders = listOrders({0, 1, 2, 3});
    const Permutation &order = orders[pick(0, 23)];
    auto columns = tabulatePaper(problem, order);
    int64_t best = std::numeric_limits<int64_t>::max();
    llvm::SmallVector<int64_t, 4> tiles(4);
    auto tryAll = [&](unsigned loop, auto &&self) -> void {
      if (loop < 4) {
        int64_t extent = problem.loops[loop].extent;
        for (tiles[loop] = std::min(least[loop], extent); tiles[loop] <= extent;
             ++tiles[loop])
          self(loop + 1, self);
        return;
      }
      int64_t volume = 0;
      for (const PaperColumn &column : columns)
        for (const PaperProduct &product : column.movement)
          volume += product.value(problem, tiles);
      if (evaluatePaper(problem, order, tiles).memoryUsage <= capacity)
        best = std::min(best, volume);
    };
    tryAll(0, tryAll);
    auto found = minimizePaper(problem, order, capacity, least);
    ASSERT_EQ(found.has_value(), best != std::numeric_limits<int64_t>::max());
    if (found) {
      EXPECT_EQ(found->volume, best);
    }
  }
}

TEST(PaperModel, TakesTheSlowestLevel) {
  ChainProblem problem = makePaperChain(512, 64, 64, 512);
  Machine machine = makeZen5();
  Permutation order = orderOf(problem, "mlkn");
  auto plan = planPaper(problem, machine, {order}, {16, 16, 16, 16});
  ASSERT_TRUE(plan);
  double slowest = 0;
  for (unsigned level = 0; level < machine.levels.size(); ++level) {
    const MemoryLevel &memory = machine.levels[level];
    auto alone = minimizePaper(problem, order, memory.capacityBytes / 4,
                               {16, 16, 16, 16});
    EXPECT_EQ(plan->levels[level].volume, alone->volume);
    EXPECT_DOUBLE_EQ(plan->costs[level],
                     4 * alone->volume / memory.bytesPerSecond);
    slowest = std::max(slowest, plan->costs[level]);
  }
  EXPECT_EQ(plan->seconds, slowest);
  machine.levels.back().capacityBytes = 1000;
  EXPECT_FALSE(planPaper(problem, machine, {order}, {16, 16, 16, 16}));
}

TEST(PaperModel, ClosedFormIsTheLimitOfTheSearch) {
  // Large extents, small alpha: rounding does not matter.
  ChainProblem problem = makePaperChain(30000, 500, 700, 40000);
  PaperClosedForm form = solvePaperClosedForm(30000, 500, 700, 40000, 10000, 4);
  EXPECT_NEAR(form.tile, -4 + std::sqrt(16 + 10000.0), 1e-9);
  auto found =
      minimizePaper(problem, orderOf(problem, "mlkn"), 10000, {4, 4, 4, 4});
  ASSERT_TRUE(found);
  EXPECT_GE(found->volume, form.volume);
  EXPECT_LE(found->volume, 1.01 * form.volume);
  EXPECT_EQ(form.tileM, 96);
  EXPECT_GE(form.roundedVolume, found->volume);
}

TEST(PaperModel, RoundedClosedFormStaysWithinItsBound) {
  std::mt19937 random(17);
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  int aboveLooseBound = 0;
  for (int round = 0; round < 20000; ++round) {
    int64_t alpha = pick(1, 16);
    PaperClosedForm form = solvePaperClosedForm(
        pick(1, 2048), pick(1, 2048), pick(1, 2048), pick(1, 2048),
        pick(4 * alpha * alpha, 300000), alpha);
    double ratio = form.roundedVolume / form.volume;
    EXPECT_LE(ratio, form.ratioBound * (1 + 1e-12));
    aboveLooseBound += ratio > form.looseRatioBound;
  }
  // The paper's step to sqrt(MC) is not sound, though nearly.
  EXPECT_GT(aboveLooseBound, 0);
  EXPECT_LT(aboveLooseBound, 200);
}

//===----------------------------------------------------------------------===//
// Micro kernel
//===----------------------------------------------------------------------===//

TEST(PaperModel, ChoosesItsMicroKernelOnlyUnderSideConditions) {
  RegisterTile free = selectPaperKernel(32, 64);
  EXPECT_EQ(free.rows, 5);
  EXPECT_EQ(free.vectors, 5);
  EXPECT_NEAR(paperIntensity(free, 64), 2.32, 0.005);
  // MI, NI, MII = 6, 4, 2 and a pipeline depth of 24, as printed, where columns
  // come in fours of vectors.
  PaperKernelLimits limits;
  limits.vectors = 4;
  limits.accumulators = 8;
  RegisterTile printed = selectPaperKernel(32, 64, limits);
  EXPECT_EQ(printed.rows, 6);
  EXPECT_EQ(printed.vectors, 4);
  EXPECT_EQ(printed.broadcasts, 2);
  EXPECT_EQ(printed.rows * printed.vectors, 24);
  EXPECT_EQ(printed.depth, 64);
  EXPECT_NEAR(paperIntensity(printed, 64), 2.23, 0.005);
  // With 16 registers.
  EXPECT_EQ(selectPaperKernel(16, 64).rows, 4);
  EXPECT_EQ(selectPaperKernel(16, 64).vectors, 3);
  limits.vectors = 2;
  EXPECT_EQ(selectPaperKernel(16, 64, limits).rows, 6);
  EXPECT_EQ(selectPaperKernel(16, 64, limits).vectors, 2);
  EXPECT_EQ(selectPaperKernel(2, 64).rows, 0);
}

//===----------------------------------------------------------------------===//
// Beside the exact evaluation
//===----------------------------------------------------------------------===//

TEST(PaperModel, AgreesOnInputsAndNotOnTheOutput) {
  // All loops make several trips, and tiles divide extents.
  ChainProblem problem = makeChain({1, 512, 64, 64, 512});
  PaperEstimate paper =
      evaluatePaper(problem, {b, m, l, k, n}, {1, 64, 64, 16, 16});
  Evaluation exact =
      evaluate(problem, singleLevel({{m, 64}, {l, 64}, {k, 16}, {n, 16}}), 0);
  for (TensorId input : {A, B, D})
    EXPECT_EQ(4 * paper.movement[input], exact.traffic[input].readBytes);
  EXPECT_EQ(4 * paper.movement[E], exact.traffic[E].writeBytes);
  EXPECT_EQ(4 * 512 * 64 * 7, exact.traffic[E].readBytes);
  EXPECT_EQ(4 * paper.memoryUsage, exact.liveBytes);
}

TEST(PaperModel, CountsLoopsThatMakeOneTrip) {
  // With k and n in full, the exact model keeps A and E over the loop l.
  ChainProblem problem = makeChain({1, 512, 64, 64, 512});
  PaperEstimate paper =
      evaluatePaper(problem, {b, m, l, k, n}, {1, 64, 64, 64, 64});
  Evaluation exact = evaluate(problem, singleLevel({{m, 64}, {l, 64}}), 0);
  EXPECT_EQ(paper.movement[A], 8 * 512 * 64);
  EXPECT_EQ(exact.traffic[A].readBytes, 4 * 512 * 64);
  EXPECT_EQ(exact.traffic[E].readBytes + exact.traffic[E].writeBytes,
            4 * 512 * 64);
  EXPECT_EQ(paper.memoryUsage, 3 * 64 * 64);
  EXPECT_EQ(exact.liveBytes, 4 * 4 * 64 * 64);
}

/// A column of the table in docs/model.md: one problem at one capacity, volumes
/// in multiples of the compulsory volume.
struct Comparison {
  double closedForm, rounded, searched, counted, lightest, room, planned,
      unfused, bound;
};

int64_t elementsMoved(const ChainProblem &problem, const Schedule &schedule) {
  return evaluate(problem, schedule, 0).volumeBytes() / 4;
}

Schedule scheduleOf(const PaperOptimum &optimum) {
  llvm::SmallVector<TiledLoop, 6> order;
  for (LoopId loop : optimum.permutation)
    order.push_back({loop, optimum.tiles[loop]});
  return singleLevel(order);
}

void expectComparison(const ChainSizes &sizes, int64_t capacity,
                      const Comparison &expected) {
  ChainProblem problem = makeChain(sizes);
  llvm::SmallVector<int64_t, 5> least = {1, 16, 16, 16, 16};
  double compulsory = (sizes.m + sizes.l) * (sizes.k + sizes.n);
  auto check = [&](double volume, double ratio) {
    EXPECT_NEAR(volume / compulsory, ratio, 0.006) << capacity;
  };
  PaperClosedForm form =
      solvePaperClosedForm(sizes.m, sizes.n, sizes.k, sizes.l, capacity, 16);
  check(form.volume, expected.closedForm);
  check(form.roundedVolume, expected.rounded);

  auto mlkn = minimizePaper(problem, {m, l, k, n}, capacity, least);
  ASSERT_TRUE(mlkn);
  check(mlkn->volume, expected.searched);
  check(elementsMoved(problem, scheduleOf(*mlkn)), expected.counted);

  std::optional<PaperOptimum> lightest;
  for (const Permutation &order : listOrders({m, n, k, l})) {
    auto optimum = minimizePaper(problem, order, capacity, least);
    ASSERT_TRUE(optimum);
    if (!lightest || optimum->volume < lightest->volume)
      lightest = optimum;
  }
  EXPECT_EQ(namesOf(problem, lightest->permutation), "mnkl");
  check(lightest->volume, expected.lightest);
  // The volume is right, but what the order keeps is not.
  check(elementsMoved(problem, scheduleOf(*lightest)), expected.lightest);
  int64_t room = evaluate(problem, scheduleOf(*lightest), 0).liveBytes / 4;
  EXPECT_NEAR(double(room) / capacity, expected.room, 0.06);

  auto planned = solveVolume(problem, 4 * capacity, least);
  ASSERT_TRUE(planned);
  check(elementsMoved(problem, *planned), expected.planned);
  int64_t unfused = 0;
  for (unsigned op : {0, 1}) {
    ChainProblem alone = isolate(problem, op);
    auto schedule = solveVolume(alone, 4 * capacity, {16, 16, 16, 16});
    ASSERT_TRUE(schedule);
    unfused += elementsMoved(alone, *schedule);
  }
  check(unfused, expected.unfused);
  check(lowerBound(problem, 4 * capacity, /*recomputation=*/true) / 4.0,
        expected.bound);
}

TEST(PaperModel, ComparedOnG1) {
  ChainSizes sizes = {1, 512, 64, 64, 512};
  expectComparison(sizes, 12288,
                   {5.33, 6.00, 5.50, 6.75, 1.50, 11.0, 4.00, 6.50, 2.56});
  expectComparison(sizes, 262144,
                   {1.03, 2.00, 1.50, 1.75, 1.00, 1.03, 1.00, 5.00, 1.00});
}

TEST(PaperModel, ComparedOnTheCube) {
  ChainSizes sizes = {1, 2048, 2048, 2048, 2048};
  expectComparison(
      sizes, 12288,
      {21.33, 22.00, 21.50, 26.75, 3.50, 57.5, 26.25, 22.00, 18.22});
  expectComparison(sizes, 262144,
                   {4.13, 5.00, 4.50, 5.75, 1.00, 16.1, 5.00, 5.00, 3.73});
}

} // namespace
