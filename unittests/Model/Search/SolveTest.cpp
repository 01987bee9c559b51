//===- SolveTest.cpp - Plans and verdicts ---------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Properties that every plan must have, on chains whose good plans are known.
//
//===----------------------------------------------------------------------===//

#include "TestProblems.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "gtest/gtest.h"

#include <ctime>
#include <limits>

using namespace chimera::model;

namespace {

enum : LoopId { b, m, l, k, n };
enum : TensorId { A, B, C, D, E };

const ChainSizes batchedChains[] = {
    {8, 512, 64, 64, 512},  {12, 512, 64, 64, 512}, {16, 512, 64, 64, 512},
    {12, 256, 64, 64, 256}, {16, 256, 64, 64, 256}, {16, 256, 80, 80, 256},
    {12, 208, 64, 64, 208}, {16, 208, 64, 64, 208}, {16, 208, 80, 80, 208}};
const ChainSizes singleChains[] = {{1, 512, 64, 64, 256},
                                   {1, 768, 64, 64, 384},
                                   {1, 1024, 64, 64, 512},
                                   {1, 197, 80, 77, 1023}};

SolveOptions withThreads(int64_t threads) {
  SolveOptions options;
  options.threads = threads;
  return options;
}

/// Tasks that the parallel loops make.
int64_t tasksOf(const ChainProblem &problem, const Schedule &schedule) {
  LoopNest tree = buildLoopTree(problem, schedule, schedule.levels.size() - 1);
  int64_t tasks = 1;
  for (const NestLoop &loop :
       llvm::ArrayRef(tree.loops).take_front(schedule.numParallel))
    tasks *= (problem.loops[loop.loop].extent + loop.tile - 1) / loop.tile;
  return tasks;
}

/// What holds for every plan of the solver.
void expectSound(const ChainProblem &problem, const Machine &machine,
                 const Plan &plan, int64_t threads) {
  std::string where = reproducer(problem, plan.schedule);
  EXPECT_EQ(llvm::toString(verify(problem, machine, plan.schedule)), "")
      << where;
  ASSERT_EQ(plan.levels.size(), machine.levels.size());
  for (unsigned level = 0; level < plan.levels.size(); ++level) {
    EXPECT_EQ(plan.levels[level].name, machine.levels[level].name);
    Evaluation result = evaluate(problem, plan.schedule, level,
                                 transferInto(machine.levels[level], threads));
    EXPECT_EQ(plan.levels[level].bytes, result.volumeBytes()) << where;
    EXPECT_EQ(plan.levels[level].liveBytes, result.liveBytes) << where;
    EXPECT_LE(result.liveBytes, plan.levels[level].capacityBytes) << where;
    EXPECT_GE(plan.seconds, plan.levels[level].seconds);
  }
  EXPECT_GE(plan.seconds, plan.computeSeconds);
  Plan again = price(problem, machine, plan.schedule, withThreads(threads));
  EXPECT_DOUBLE_EQ(again.seconds, plan.seconds) << where;
}

/// A kernel with tiles of its own is chosen if it takes less time than register
/// tiles do, which need 6 x 4 / 2 cycles for a step of 6 x 64.
TEST(Solve, KernelsCompeteByTheirCost) {
  Machine machine = makeZen5();
  ChainProblem problem = makeChain({1, 512, 64, 64, 512});
  auto ours = solve(problem, machine, withThreads(1));
  ASSERT_TRUE(ours);
  EXPECT_EQ(ours->schedule.registerTile.kernel, "");
  machine.kernels.push_back({"slow", 6, 64, 0, 14, 20});
  auto plan = solve(problem, machine, withThreads(1));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->schedule.registerTile.kernel, "");
  EXPECT_DOUBLE_EQ(plan->seconds, ours->seconds);
  machine.kernels.push_back({"fast", 6, 64, 0, 6, 20});
  plan = solve(problem, machine, withThreads(1));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->schedule.registerTile.kernel, "fast");
  EXPECT_LT(plan->seconds, 0.8 * ours->seconds);
  expectSound(problem, machine, *plan, 1);
}

/// Without register tiles the kernel is chosen whatever it costs.
TEST(Solve, KernelsAloneNeedNotCompete) {
  Machine machine = makeZen5();
  ChainProblem problem = makeChain({1, 512, 64, 64, 512});
  machine.kernels.push_back({"slow", 6, 64, 0, 14, 20});
  machine.hasRegisterTiles = false;
  auto plan = solve(problem, machine, withThreads(1));
  ASSERT_TRUE(plan);
  RegisterTile tile = plan->schedule.registerTile;
  EXPECT_EQ(tile.kernel, "slow");
  EXPECT_EQ(tile.rows, 6);
  EXPECT_EQ(tile.vectors, 4);
  expectSound(problem, machine, *plan, 1);
}

TEST(Solve, PlansOfBatchedChainsReachTheArithmeticLimit) {
  Machine machine = makeZen5();
  for (const ChainSizes &sizes : batchedChains)
    for (int64_t threads : {1, 2}) {
      ChainProblem problem = makeChain(sizes);
      auto plan = solve(problem, machine, withThreads(threads));
      ASSERT_TRUE(plan);
      expectSound(problem, machine, *plan, threads);
      EXPECT_GE(plan->schedule.numParallel, 1);
      EXPECT_EQ(tasksOf(problem, plan->schedule) % sizes.b, 0);
      double ideal =
          2 * problem.multiplyAdds() / machine.unit.peakFlops() / threads;
      // Guards against plans that waste the units, not a claim about hardware.
      EXPECT_LT(plan->computeSeconds, 1.1 * ideal);
      EXPECT_LT(plan->seconds, 1.15 * ideal);
      // Outside the batch nothing is read twice.
      EXPECT_EQ(plan->levels[0].bytes,
                4 * sizes.b * 2 * (sizes.m * sizes.k + sizes.k * sizes.l));
    }
}

TEST(Solve, OneItemKeepsAllThreadsBusy) {
  Machine machine = makeZen5();
  for (const ChainSizes &sizes : singleChains)
    for (int64_t threads : {1, 2}) {
      ChainProblem problem = makeChain(sizes);
      auto plan = solve(problem, machine, withThreads(threads));
      ASSERT_TRUE(plan);
      expectSound(problem, machine, *plan, threads);
      if (threads == 1)
        continue;
      int64_t tasks = tasksOf(problem, plan->schedule);
      EXPECT_TRUE(tasks % threads == 0 || tasks > 8 * threads);
    }
}

TEST(Solve, TilesSuitTheMicroKernel) {
  Machine machine = makeZen5();
  ChainProblem problem = makeChain({8, 512, 64, 64, 512});
  auto plan = solve(problem, machine, withThreads(1));
  ASSERT_TRUE(plan);
  auto tiles = tilesAt(problem, plan->schedule, 2, 0);
  EXPECT_EQ(tiles[l] % machine.unit.lanes, 0);
  EXPECT_EQ(tiles[n] % machine.unit.lanes, 0);
  EXPECT_EQ(tiles[m] % plan->schedule.registerTile.rows, 0);
  EXPECT_GE(plan->schedule.registerTile.rows *
                plan->schedule.registerTile.vectors,
            20);
}

TEST(Solve, PacksOperandsWhoseLinesCollide) {
  Machine machine = makeZen5();
  // Rows of B lie 2 KB apart: 64 of them crowd into an eighth of the sets.
  ChainProblem problem = makeChain({8, 512, 64, 64, 512});
  auto plan = solve(problem, machine, withThreads(1));
  ASSERT_TRUE(plan);
  EXPECT_TRUE(llvm::is_contained(plan->schedule.packed, B));
  Schedule inPlace = plan->schedule;
  inPlace.packed.clear();
  EXPECT_GT(price(problem, machine, inPlace, withThreads(1)).seconds,
            plan->seconds);
}

TEST(Solve, StagesMatricesThatComeInShortRuns) {
  // Nine megabytes in rows of 12 KB, of which a tile has 128 bytes or so, from
  // a memory that is slow; no cache keeps both matrices from call to call.
  Machine machine = makeZen5();
  machine.levels[0].capacityBytes = 16 << 20;
  machine.levels[0].bytesPerSecondPerCore = 1e10;
  machine.levels[0].bytesPerSecond = 2e10;
  for (int64_t rows : {32, 128}) {
    ChainProblem problem = makeMlp(rows, 768, 768, 3072);
    auto plan = solve(problem, machine, withThreads(1));
    ASSERT_TRUE(plan);
    EXPECT_FALSE(plan->schedule.staged.empty());
    for (bool packs : {false, true}) {
      Schedule other = plan->schedule;
      other.staged.clear();
      if (packs)
        other.packed = plan->schedule.staged;
      EXPECT_GT(price(problem, machine, other, withThreads(1)).seconds,
                plan->seconds);
    }
  }
  // What the second level holds comes in whole in any order.
  auto plan = solve(makeChain({8, 512, 64, 64, 512}), machine, withThreads(1));
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->schedule.staged.empty());
}

TEST(Solve, CopiesWhatLiesInTheOutermostCache) {
  // The same matrices, where a call finds them: nothing is staged, but copied,
  // since lines of rows 12 KB apart collide.
  Machine machine = makeZen5();
  machine.levels[0].capacityBytes = 256 << 20;
  ChainProblem problem = makeMlp(32, 768, 768, 3072);
  auto plan = solve(problem, machine, withThreads(1));
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->schedule.staged.empty());
  EXPECT_TRUE(llvm::is_contained(plan->schedule.packed, B));
  Schedule other = plan->schedule;
  other.packed.clear();
  EXPECT_GT(price(problem, machine, other, withThreads(1)).seconds,
            plan->seconds);
}

TEST(Solve, CountsCollisionsOutsideTheInnermostLevel) {
  // 192 columns of 768 rows fit in the second level. Where rows are 12 KB apart
  // they fall into a fifth of its sets, and each of the four tiles of eight
  // rows reads them again; a line more in each row spreads them.
  Machine machine = makeZen5();
  auto secondsOf = [&](int64_t columns) {
    Schedule schedule;
    schedule.levels.resize(machine.levels.size());
    schedule.levels[1].order = {{2, 192}};
    schedule.levels[2].order = {{1, 8}, {3, 8}};
    schedule.registerTile = {8, 3, 2, 4};
    ChainProblem problem = makeGemm(1, 32, columns, 768);
    return price(problem, machine, schedule, withThreads(1)).seconds;
  };
  double again = 3.0 * 3072 * 768 * sizeof(float);
  EXPECT_GT(secondsOf(3072) - secondsOf(3088),
            again / machine.levels[1].bytesPerSecondPerCore);
}

TEST(Solve, FewRowsReadWhatACacheKeepsInLongRuns) {
  // No tile comes twice, so that a copy is of no use, but short runs are found
  // one after the other.
  Machine machine = makeZen5();
  ChainProblem problem = makeGemm(1, 5, 2048, 512);
  auto plan = solve(problem, machine, withThreads(1));
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->schedule.packed.empty());
  EXPECT_TRUE(plan->schedule.staged.empty());
  auto secondsOf = [&](int64_t columns, int64_t depth) {
    Schedule schedule;
    schedule.levels.resize(machine.levels.size());
    schedule.levels.back().order = {{2, columns}, {3, depth}};
    schedule.registerTile = {5, 2, 2, 4};
    return price(problem, machine, schedule, withThreads(1)).seconds;
  };
  EXPECT_GT(secondsOf(32, 256), 1.5 * secondsOf(256, 32));
}

TEST(Solve, TheBusiestThreadHasTheLargestTasks) {
  // Of 194 rows two are left for the second thread, or each gets 97.
  Machine machine = makeZen5();
  ChainProblem problem = makeGemm(1, 194, 64, 512);
  auto computeSeconds = [&](int64_t rows, int64_t threads) {
    Schedule schedule;
    schedule.levels.resize(machine.levels.size());
    schedule.levels[0].order = {{1, rows}};
    schedule.numParallel = 1;
    schedule.registerTile = {8, 3, 2, 4};
    return price(problem, machine, schedule, withThreads(threads))
        .computeSeconds;
  };
  EXPECT_NEAR(computeSeconds(192, 2), 192.0 / 194 * computeSeconds(192, 1),
              1e-9 * computeSeconds(192, 1));
  EXPECT_NEAR(computeSeconds(97, 2), 0.5 * computeSeconds(97, 1),
              1e-9 * computeSeconds(97, 1));
}

TEST(Solve, EveryTaskPacksForItself) {
  // One thread finds in its cache what its last task has read, but not packed.
  Machine machine = makeZen5();
  ChainProblem problem = makeGemm(1, 64, 32, 64);
  problem.tensors[B].strides = {64 * 32, 1, 64};
  auto packingOfOtherTasks = [&](int64_t rows) {
    Schedule schedule;
    schedule.levels.resize(machine.levels.size());
    schedule.levels.back().order = {{1, rows}};
    schedule.registerTile = {8, 2, 2, 4};
    schedule.packed = {B};
    double together =
        price(problem, machine, schedule, withThreads(1)).computeSeconds;
    schedule.numParallel = 1;
    return price(problem, machine, schedule, withThreads(1)).computeSeconds -
           together;
  };
  double once = packingOfOtherTasks(32);
  EXPECT_GT(once, 0);
  EXPECT_NEAR(packingOfOtherTasks(16), 3 * once, 1e-6 * once);
}

TEST(Solve, TurnsSquaresOfVectorsAsAWhole) {
  Machine machine = makeZen5();
  auto turning = [&](int64_t columns) {
    ChainProblem problem = makeGemm(1, 64, columns, 64);
    problem.tensors[B].strides = {64 * columns, 1, 64};
    Schedule schedule;
    schedule.levels.resize(machine.levels.size());
    schedule.registerTile = {8, 1, 2, 4};
    double inPlace =
        price(problem, machine, schedule, withThreads(1)).computeSeconds;
    schedule.packed = {B};
    return price(problem, machine, schedule, withThreads(1)).computeSeconds -
           inPlace;
  };
  double once = turning(machine.unit.lanes);
  EXPECT_GT(once, 0);
  EXPECT_NEAR(turning(2), once, 1e-9 * once);
  // Of rows that fill no line, a copy has others.
  EXPECT_NEAR(turning(machine.unit.lanes * 3 / 2), 2 * once, 1e-9 * once);
}

TEST(Solve, PrepacksConstants) {
  Machine machine = makeZen5();
  ChainProblem problem = makeMlp(32, 768, 768, 3072);
  auto perCall = solve(problem, machine, withThreads(1));
  problem.tensors[B].isConstant = problem.tensors[D].isConstant = true;
  auto once = solve(problem, machine, withThreads(1));
  ASSERT_TRUE(perCall && once);
  EXPECT_TRUE(perCall->schedule.prepacked.empty());
  EXPECT_EQ(once->schedule.prepacked, (llvm::SmallVector<TensorId, 2>{B, D}));
  EXPECT_TRUE(once->schedule.packed.empty());
  EXPECT_TRUE(once->schedule.staged.empty());
  EXPECT_LT(once->seconds, perCall->seconds);
  EXPECT_EQ(toString(verify(problem, machine, once->schedule)), "");
  // The bytes are those of the schedule, wherever the tiles lie.
  Schedule inPlace = once->schedule;
  inPlace.prepacked.clear();
  Plan plan = price(problem, machine, inPlace, withThreads(1));
  for (auto [prepacked, other] : llvm::zip_equal(once->levels, plan.levels))
    EXPECT_EQ(prepacked.bytes, other.bytes);
  EXPECT_GE(plan.seconds, once->seconds);
}

/// Constants stream past sums in registers where a block of the innermost level
/// would have a part of the reduction only.
TEST(Solve, HoldsSumsThroughTheReduction) {
  Machine machine = makeZen5();
  ChainProblem problem = makeGemm(1, 512, 768, 3072);
  auto perCall = solve(problem, machine, withThreads(1));
  problem.tensors[B].isConstant = true;
  auto once = solve(problem, machine, withThreads(1));
  ASSERT_TRUE(perCall && once);
  EXPECT_EQ(perCall->schedule.held, 0u);
  EXPECT_EQ(once->schedule.held, 1u);
  expectSound(problem, machine, *once, 1);
  EXPECT_EQ(toString(verify(problem, machine, once->schedule)), "");
  // Kernels come back to no sums, and the bytes are those of all loops.
  Schedule inBlocks = once->schedule;
  inBlocks.held = 0;
  Plan plan = price(problem, machine, inBlocks, withThreads(1));
  EXPECT_LT(once->computeSeconds, plan.computeSeconds);
  for (auto [held, other] : llvm::zip_equal(once->levels, plan.levels))
    EXPECT_EQ(held.bytes, other.bytes);
}

TEST(Solve, PacksOperandsWhoseVectorsAreStrided) {
  Machine machine = makeZen5();
  ChainProblem problem = makeChain({8, 256, 64, 64, 256});
  problem.operators[0].inputs[1].indices = {b, l, k};
  problem.tensors[B].shape = {8, 256, 64};
  problem.tensors[B].strides = {256 * 64, 64, 1};
  auto plan = solve(problem, machine, withThreads(1));
  ASSERT_TRUE(plan);
  EXPECT_TRUE(llvm::is_contained(plan->schedule.packed, B));
  Schedule inPlace = plan->schedule;
  inPlace.packed.clear();
  EXPECT_GT(price(problem, machine, inPlace, withThreads(1)).seconds,
            plan->seconds);
}

TEST(Solve, HandlesAllKindsOfChains) {
  Machine machine = makeZen5();
  ChainProblem problems[] = {
      makeGemm(1, 512, 512, 512),      makeGemm(4, 100, 50, 30),
      makeMlp(512, 512, 512, 2048),    makeGate(128, 256, 256, 512),
      makeTriple(256, 64, 64, 64, 64), makeMlp(1, 64, 64, 64),
      makeChain({1, 1, 1, 1, 1}),      makeMlp(33, 7, 5, 129)};
  for (const ChainProblem &problem : problems)
    for (int64_t threads : {1, 2}) {
      auto plan = solve(problem, machine, withThreads(threads));
      ASSERT_TRUE(plan) << reproducer(problem, Schedule());
      expectSound(problem, machine, *plan, threads);
    }
}

TEST(Solve, PlansOfRandomChainsAreSound) {
  Machine machine = makeZen5();
  std::mt19937 random(11);
  for (int round = 0; round < 60; ++round) {
    ChainProblem problem = makeRandomProblem(random, 150);
    int64_t threads = 1 + round % 6;
    auto plan = solve(problem, machine, withThreads(threads));
    ASSERT_TRUE(plan) << reproducer(problem, Schedule());
    expectSound(problem, machine, *plan, threads);
  }
}

TEST(Solve, CutsTwoLoopsForManyThreads) {
  // Six vectors of columns and 28 rows for twelve threads: neither loop alone
  // makes twelve even tasks.
  Machine machine = makeZen5();
  for (MemoryLevel &level : machine.levels)
    level.bytesPerSecond = 12 * level.bytesPerSecondPerCore;
  ChainProblem problem = makeGemm(1, 28, 96, 2048);
  auto plan = solve(problem, machine, withThreads(12));
  ASSERT_TRUE(plan);
  expectSound(problem, machine, *plan, 12);
  EXPECT_EQ(tasksOf(problem, plan->schedule), 12);
  EXPECT_EQ(plan->schedule.numParallel, 2);
}

TEST(Solve, SplitsTheSoftmaxOfFewRowsAmongThreads) {
  AttentionSizes sizes;
  sizes.l = 8192;
  sizes.k = sizes.n = 128;
  Machine machine = makeZen5();
  machine.launchSeconds = 5e-6;
  auto isSplit = [&](int64_t heads, int64_t rows, int64_t threads) {
    sizes.heads = heads;
    sizes.m = rows;
    ChainProblem problem = makeAttention(sizes);
    auto plan = solve(problem, machine, withThreads(threads));
    if (!plan) {
      ADD_FAILURE();
      return false;
    }
    expectSound(problem, machine, *plan, threads);
    EXPECT_EQ(plan->tasks, tasksOf(problem, plan->schedule));
    LoopNest tree = buildLoopTree(problem, plan->schedule,
                                  plan->schedule.levels.size() - 1);
    return findSplit(problem, plan->schedule, tree).has_value();
  };
  EXPECT_TRUE(isSplit(/*heads=*/1, /*rows=*/1, /*threads=*/2));
  EXPECT_TRUE(isSplit(/*heads=*/3, /*rows=*/1, /*threads=*/2));
  EXPECT_FALSE(isSplit(/*heads=*/1, /*rows=*/1, /*threads=*/1));
  EXPECT_FALSE(isSplit(/*heads=*/32, /*rows=*/1, /*threads=*/2));
  EXPECT_FALSE(isSplit(/*heads=*/1, /*rows=*/512, /*threads=*/2));
  // The parts cost more than they save.
  sizes.l = 32;
  EXPECT_FALSE(isSplit(/*heads=*/3, /*rows=*/1, /*threads=*/2));
}

TEST(Solve, ReadsKeysOfFewRowsInPlaceInLongRuns) {
  Machine machine = makeZen5();
  auto attention = [](int64_t rows) {
    AttentionSizes sizes;
    sizes.heads = 2;
    sizes.m = rows;
    sizes.l = 4096;
    sizes.k = sizes.n = 128;
    return makeAttention(sizes);
  };
  auto packsKeys = [&](int64_t rows) {
    constexpr TensorId keys = 1;
    auto plan = solve(attention(rows), machine, withThreads(1));
    if (!plan) {
      ADD_FAILURE();
      return false;
    }
    return llvm::is_contained(plan->schedule.packed, keys);
  };
  EXPECT_FALSE(packsKeys(1));
  EXPECT_FALSE(packsKeys(mostRowsOfReading));
  EXPECT_TRUE(packsKeys(mostRowsOfReading + 1));

  ChainProblem problem = attention(1);
  LoopId l = loopNamed(problem, "l"), k = loopNamed(problem, "k");
  auto secondsOf = [&](std::initializer_list<TiledLoop> order) {
    Schedule schedule;
    for (const MemoryLevel &level : machine.levels) {
      schedule.levels.emplace_back();
      schedule.levels.back().name = level.name;
    }
    schedule.levels.back().order.append(order.begin(), order.end());
    schedule.registerTile = {1, 8, 1, 4};
    return price(problem, machine, schedule, withThreads(1)).seconds;
  };
  double whole = secondsOf({{l, 64}}), cut = secondsOf({{l, 64}, {k, 64, 1}});
  EXPECT_LT(1.1 * whole, cut);
}

TEST(Solve, HandlesTwoRowLoopsOverSharedWeights) {
  // A sequence of rows in each batch item, the same weights for all.
  ProblemBuilder builder;
  LoopId lb = builder.loop("b", 4), lm = builder.loop("m", 100),
         ll = builder.loop("l", 256), lk = builder.loop("k", 64),
         ln = builder.loop("n", 64);
  TensorId ta = builder.tensor("A", Role::Input, {lb, lm, lk});
  TensorId tb = builder.tensor("B", Role::Input, {lk, ll});
  TensorId tc = builder.tensor("C", Role::Intermediate, {lb, lm, ll});
  TensorId td = builder.tensor("D", Role::Input, {ll, ln});
  TensorId te = builder.tensor("E", Role::Output, {lb, lm, ln});
  builder.contraction("first", {ta, tb}, tc, lm, ll);
  builder.contraction("second", {tc, td}, te, lm, ln);
  for (int64_t threads : {1, 2}) {
    auto plan = solve(builder.problem, makeZen5(), withThreads(threads));
    ASSERT_TRUE(plan);
    expectSound(builder.problem, makeZen5(), *plan, threads);
  }
}

TEST(Solve, TakesTilesFromClosedForms) {
  Machine machine = makeZen5();
  ChainProblem problems[] = {
      makeGemm(1, 512, 512, 512), makeChain({8, 512, 64, 64, 512}),
      makeMlp(512, 512, 512, 2048), makeMlp(128, 768, 768, 3072)};
  for (const ChainProblem &problem : problems)
    for (int64_t threads : {1, 2}) {
      SolveOptions options = withThreads(threads);
      auto exact = solve(problem, machine, options);
      options.tiles = TileSource::ClosedForm;
      auto plan = solve(problem, machine, options);
      ASSERT_TRUE(exact && plan);
      expectSound(problem, machine, *plan, threads);
      EXPECT_LE(plan->seconds, 1.5 * exact->seconds);
    }
}

TEST(Solve, SearchesWhatHasNoClosedForm) {
  Machine machine = makeZen5();
  for (const ChainProblem &problem :
       {makeTriple(256, 64, 64, 64, 64), makeGate(64, 128, 128, 256)}) {
    SolveOptions options;
    auto exact = solve(problem, machine, options);
    options.tiles = TileSource::ClosedForm;
    auto plan = solve(problem, machine, options);
    ASSERT_TRUE(exact && plan);
    EXPECT_EQ(reproducer(problem, exact->schedule),
              reproducer(problem, plan->schedule));
  }
}

TEST(Solve, IsDeterministic) {
  Machine machine = makeZen5();
  ChainProblem problem = makeMlp(128, 256, 256, 1024);
  auto first = solve(problem, machine, withThreads(2));
  auto second = solve(problem, machine, withThreads(2));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(reproducer(problem, first->schedule),
            reproducer(problem, second->schedule));
}

TEST(Solve, ReportsThatNothingFits) {
  Machine machine = makeZen5();
  machine.levels.back().capacityBytes = 64;
  EXPECT_FALSE(solve(makeChain({1, 64, 64, 64, 64}), machine, withThreads(1)));
}

/// Eight channels of eleven by eleven taps do not fit the innermost level, nor
/// do whole loops that are too short to be worth cutting the one around it.
TEST(Solve, CutsSmallTilesWhereNoOthersFit) {
  Machine machine = makeZen5();
  ConvSizes sizes;
  sizes.channels = 64;
  sizes.image = {24, 24};
  sizes.layers = {{ConvLayer::Dense, 64, 11}};
  sizes.channelsLast = true;
  ChainProblem windows = makeConvChain(sizes);
  auto plan = solve(windows, machine, withThreads(1));
  ASSERT_TRUE(plan);
  expectSound(windows, machine, *plan, 1);

  machine.levels[1].capacityBytes = 2048;
  machine.levels[2].capacityBytes = 1024;
  ChainProblem product = makeGemm(1, 15, 15, 15);
  plan = solve(product, machine, withThreads(1));
  ASSERT_TRUE(plan);
  expectSound(product, machine, *plan, 1);
}

TEST(Solve, WorksWithOneLevel) {
  Machine machine = makeZen5();
  machine.levels = {machine.levels[2]};
  ChainProblem problem = makeChain({4, 128, 64, 64, 128});
  auto plan = solve(problem, machine, withThreads(2));
  ASSERT_TRUE(plan);
  expectSound(problem, machine, *plan, 2);
}

TEST(Judge, FusesAttentionShapes) {
  Machine machine = makeZen5();
  for (const ChainSizes &sizes : batchedChains) {
    Verdict verdict = judge(makeChain(sizes), machine, withThreads(1));
    EXPECT_TRUE(verdict.fuse);
    EXPECT_EQ(verdict.reason, Reason::SavesTraffic);
    ASSERT_TRUE(verdict.fused);
    ASSERT_EQ(verdict.unfused.size(), 2u);
    EXPECT_LT(verdict.fused->seconds, verdict.unfusedSeconds);
    ASSERT_EQ(verdict.unfusedBytes.size(), 3u);
    for (unsigned level = 0; level < 3; ++level)
      EXPECT_LE(verdict.boundBytes[level], verdict.fused->levels[level].bytes);
  }
}

TEST(Solve, FollowsTheOrdersThatMatter) {
  // What the orders left out would have gained.
  for (const ChainProblem &problem :
       {makeMlp(512, 512, 512, 2048), makeMlp(2048, 2048, 2048, 2048),
        makeGate(64, 512, 512, 1376)})
    for (int64_t threads : {1, 2}) {
      SolveOptions options = withThreads(threads);
      auto plan = solve(problem, makeZen5(), options);
      options.isExhaustive = true;
      auto best = solve(problem, makeZen5(), options);
      ASSERT_TRUE(plan && best);
      EXPECT_LE(best->seconds, plan->seconds * (1 + 1e-9));
      EXPECT_LE(plan->seconds, 1.03 * best->seconds);
    }
}

TEST(Judge, TakesThePlanThatMovesLessWhereTimesAreEqual) {
  // Without a level that holds much of the matrices.
  Machine machine = makeZen5();
  machine.levels.erase(machine.levels.begin());
  Verdict verdict =
      judge(makeMlp(1360, 488, 976, 448), machine, withThreads(1));
  EXPECT_TRUE(verdict.fuse);
  EXPECT_EQ(verdict.reason, Reason::SaferFused);
  ASSERT_TRUE(verdict.fused);
  EXPECT_LT(verdict.fused->levels[0].bytes, verdict.unfusedBytes[0]);
  EXPECT_GT(verdict.fused->seconds, verdict.unfusedSeconds);
  EXPECT_LE(verdict.fused->seconds, 1.03 * verdict.unfusedSeconds);
  EXPECT_DOUBLE_EQ(verdict.figures[0], verdict.unfusedSeconds);
  EXPECT_DOUBLE_EQ(verdict.figures[1], verdict.fused->seconds);
  EXPECT_DOUBLE_EQ(verdict.seconds, verdict.fused->seconds);
}

TEST(Judge, SaysWhenNothingFits) {
  Machine machine = makeZen5();
  machine.levels.back().capacityBytes = 64;
  Verdict verdict =
      judge(makeChain({1, 64, 64, 64, 64}), machine, withThreads(1));
  EXPECT_FALSE(verdict.fuse);
  EXPECT_EQ(verdict.reason, Reason::DoesNotFit);
  EXPECT_FALSE(verdict.fused);
  EXPECT_FALSE(describe(verdict.reason).empty());
}

TEST(Judge, IsolatesOperators) {
  ChainProblem gate = makeGate(4, 5, 6, 7);
  for (unsigned op = 0; op < 3; ++op) {
    ChainProblem alone = isolate(gate, op);
    EXPECT_EQ(llvm::toString(alone.check()), "");
    EXPECT_EQ(alone.operators.size(), 1u);
    EXPECT_EQ(alone.multiplyAdds(), gate.multiplyAdds(gate.operators[op]));
  }
  // The gate becomes an input of the operator whose epilogue reads it.
  ChainProblem up = isolate(gate, 1);
  ASSERT_EQ(up.tensors.size(), 4u);
  const Tensor &operand = up.tensors[up.operators[0].epilogue[0]];
  EXPECT_EQ(operand.role, Role::Input);
  EXPECT_EQ(operand.strides[0], 7);
  EXPECT_EQ(operand.strides[1], 1);
}

TEST(Judge, BoundsHoldForChainsAndForOperatorsAlone) {
  Machine machine = makeZen5();
  ChainProblem problem = makeMlp(128, 256, 256, 1024);
  for (int64_t threads : {1, 2}) {
    Verdict verdict = judge(problem, machine, withThreads(threads));
    EXPECT_EQ(verdict.boundBytes,
              lowerBounds(problem, machine, withThreads(threads)));
    for (unsigned op = 0; op < 2; ++op) {
      auto bounds =
          lowerBounds(isolate(problem, op), machine, withThreads(threads));
      ASSERT_EQ(bounds.size(), machine.levels.size());
      for (unsigned level = 0; level < bounds.size(); ++level)
        EXPECT_LE(bounds[level], verdict.unfused[op].levels[level].bytes);
    }
  }
}

double secondsOf(llvm::function_ref<void()> work) {
  std::clock_t start = std::clock();
  work();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

/// How many schedules could be priced in the time that a verdict takes; the
/// least of a few rounds. Both run side by side, so that a slow machine or a
/// busy neighbour slows down both.
double pricesToJudge(const ChainProblem &problem, int64_t threads) {
  constexpr int rounds = 5, prices = 50;
  Machine machine = makeZen5();
  SolveOptions options = withThreads(threads);
  Schedule schedule = judge(problem, machine, options).fused->schedule;
  double least = std::numeric_limits<double>::infinity();
  for (int round = 0; round < rounds; ++round) {
    double pricing = secondsOf([&] {
      for (int i = 0; i < prices; ++i)
        price(problem, machine, schedule, options);
    });
    double judging = secondsOf([&] { judge(problem, machine, options); });
    least = std::min(least, judging / (pricing / prices));
  }
  return least;
}

/// Guards against a search that grows out of hand; the milliseconds are in
/// benchmarks/results/planning.md. Usual are 300 to 1300 prices.
TEST(Judge, IsFast) {
  constexpr double twoProducts = 2500, threeProducts = 5000;
  ChainProblem problems[] = {
      makeChain({8, 512, 64, 64, 512}), makeChain({1, 197, 80, 77, 1023}),
      makeMlp(128, 768, 768, 3072),     makeMlp(512, 512, 512, 2048),
      makeMlp(2048, 2048, 2048, 2048),  makeMlp(999, 1001, 997, 3001),
      makeGate(64, 512, 512, 1376)};
  for (const ChainProblem &problem : problems)
    for (int64_t threads : {1, 2}) {
      EXPECT_LE(pricesToJudge(problem, threads),
                problem.operators.size() > 2 ? threeProducts : twoProducts)
          << reproducer(problem, Schedule());
    }
}

} // namespace
