//===- ReadingTest.cpp - Matrices that are read where they lie ------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What memory takes longer for than for whole rows.
//
//===----------------------------------------------------------------------===//

#include "TestProblems.h"

#include "gtest/gtest.h"

#include <vector>

using namespace chimera::model;

namespace {

enum : TensorId { A, B, C };

SolveOptions oneThread() {
  SolveOptions options;
  options.threads = 1;
  return options;
}

TEST(Reading, ConstantsThatAreNotPrepackedComeInShortRuns) {
  Machine machine = makeZen5();
  auto secondsOf = [&](int64_t extent, bool isPrepacked) {
    ChainProblem problem = makeGemm(1, 1, extent, extent);
    problem.tensors[B].isConstant = true;
    Schedule schedule;
    schedule.levels.resize(machine.levels.size());
    schedule.levels.back().order = {{2, 128}, {3, 32}};
    schedule.registerTile = {1, 8, 1, 4};
    if (isPrepacked)
      schedule.prepacked = {B};
    return price(problem, machine, schedule, oneThread()).seconds;
  };
  EXPECT_GT(secondsOf(4096, false), 1.2 * secondsOf(4096, true));
  // A matrix that stays in L2 is read from there in both cases.
  EXPECT_LT(secondsOf(256, false), 1.05 * secondsOf(256, true));
}

/// A processor follows so many rows of a matrix; of more it has lost the first
/// when its next piece is due.
TEST(Reading, WaitsForPiecesOfManyRows) {
  Machine machine = makeZen5();
  machine.overheads.shortRunBytes = 256;
  machine.overheads.shortRunCost = 0.75;
  ChainProblem problem = makeGemm(1, 4, 4096, 4096);
  auto bytesOf = [&](llvm::ArrayRef<TiledLoop> order, int64_t followed) {
    machine.overheads.followedRows = followed;
    Schedule schedule;
    schedule.levels.resize(machine.levels.size());
    schedule.levels.back().order.assign(order.begin(), order.end());
    schedule.registerTile = {4, 4, 1, 4};
    Plan plan = price(problem, machine, schedule, oneThread());
    return plan.levels.front().seconds *
           machine.levels.front().bytesPerSecondPerCore;
  };
  auto areLost = [&](llvm::ArrayRef<TiledLoop> order) {
    return bytesOf(order, 16) - bytesOf(order, 1 << 20);
  };
  constexpr double matrix = 4096.0 * 4096 * 4;
  // A block has pieces of 64 rows, a panel wide: 256 bytes.
  EXPECT_NEAR(areLost({{2, 64}, {3, 64}}), 0.75 * matrix, 1e-3 * matrix);
  // Pieces of 16 rows, and then of the next ones, or the next pieces.
  EXPECT_NEAR(areLost({{2, 64}, {3, 16}}), 0.75 * matrix, 1e-3 * matrix);
  EXPECT_EQ(areLost({{3, 16}, {2, 64}}), 0);
  // Panels of a block follow each other.
  EXPECT_EQ(areLost({{2, 256}, {3, 16}}), 0);
  EXPECT_NEAR(areLost({{2, 256}, {3, 32}}), 0.1875 * matrix, 1e-3 * matrix);
}

TEST(Reading, PanelsAreWrittenPageByPage) {
  // Of each row, 128 bytes go to every panel: of 64 rows, which are two pages,
  // or of eight, of which four panels are in one.
  Machine machine = makeZen5();
  ChainProblem problem = makeGemm(1, 32, 4096, 4096);
  auto secondsOf = [&](int64_t rows, double cycles) {
    Schedule schedule;
    schedule.levels.resize(machine.levels.size());
    schedule.levels[1].order = {{3, rows}};
    schedule.levels[2].order = {{2, 32}};
    schedule.registerTile = {13, 2, 2, 4};
    schedule.staged = {B};
    machine.overheads.collisionCycles = cycles;
    return price(problem, machine, schedule, oneThread()).computeSeconds;
  };
  double pieces = 4096.0 * 4096 * sizeof(float) / 128;
  double seconds = pieces * 100 / machine.unit.cyclesPerSecond;
  EXPECT_NEAR(secondsOf(64, 100) - secondsOf(64, 0), seconds, 1e-9 * seconds);
  EXPECT_NEAR(secondsOf(8, 100) - secondsOf(8, 0), seconds / 4, 1e-9 * seconds);
}

TEST(Reading, CopiesWaitForEveryRowOfATile) {
  // 64 rows 16 KB apart: a copy takes 1024 bytes of each, however narrow the
  // panels are that kernels go down.
  Machine machine = makeZen5();
  ChainProblem problem = makeGemm(1, 32, 4096, 4096);
  auto secondsWith = [&](double cycles) {
    Schedule schedule;
    schedule.levels.resize(machine.levels.size());
    schedule.levels[1].order = {{3, 64}};
    schedule.levels[2].order = {{2, 256}};
    schedule.registerTile = {13, 2, 2, 4};
    schedule.packed = {B};
    machine.overheads.collisionCycles = cycles;
    return price(problem, machine, schedule, oneThread()).computeSeconds;
  };
  double rows = 4096.0 * 4096 * sizeof(float) / 1024;
  double seconds = rows * 1000 / machine.unit.cyclesPerSecond;
  EXPECT_NEAR(secondsWith(2000) - secondsWith(1000), seconds, 1e-9 * seconds);
}

TEST(Reading, LosesLinesThatAreReadButOnce) {
  // 32 rows 4 KB apart, of which each of four sets has room for nine: of each
  // panel of a row, the line that is fetched ahead is gone, and where the next
  // panel starts in the middle of a line, that line as well. Rows two lines
  // longer collide with none.
  Machine machine = makeZen5();
  machine.overheads.collisionCycles = 0;
  auto secondsOf = [&](int64_t columns, int64_t lanes, int64_t vectors) {
    Schedule schedule;
    schedule.levels.resize(machine.levels.size());
    schedule.levels.back().order = {{2, 64}, {3, 32}};
    schedule.registerTile = {3, vectors, 2, 4};
    machine.unit.lanes = lanes;
    ChainProblem problem = makeGemm(1, 3, 1024, 1024);
    problem.tensors[B].strides = {1024 * columns, columns, 1};
    return price(problem, machine, schedule, oneThread()).levels.back().seconds;
  };
  auto lost = [&](int64_t lanes, int64_t vectors) {
    return secondsOf(1024, lanes, vectors) - secondsOf(1056, lanes, vectors);
  };
  double lines = 23.0 / 32 * 1024 * 1024 * sizeof(float) / 64;
  double again = 4 * 64 / machine.levels.back().bytesPerSecondPerCore;
  EXPECT_NEAR(lost(16, 2), lines / 2 * again, 1e-12);
  EXPECT_NEAR(lost(8, 3), lines * 2 / 1.5 * again, 1e-12);
}

TEST(Reading, LinesThatEvictEachOtherComePageByPage) {
  // 64 rows fall into a few sets of the first level, so that each of five tiles
  // of rows but the first gets its pieces of 192 bytes again; of rows a line
  // longer all stay.
  Machine machine = makeZen5();
  std::vector<TiledLoop> inside = {{2, 96}};
  bool hasSumsApart = true;
  auto secondsOf = [&](int64_t columns, double cycles) {
    Schedule schedule;
    schedule.levels.resize(machine.levels.size());
    schedule.levels[1].order = {{3, 64}};
    schedule.levels[2].order.assign(inside.begin(), inside.end());
    schedule.registerTile = {8, 3, 2, 4};
    machine.overheads.collisionCycles = cycles;
    ChainProblem problem = makeGemm(1, 40, columns, 512);
    problem.tensors[C].hasRowsApart = hasSumsApart;
    return price(problem, machine, schedule, oneThread()).levels.back().seconds;
  };
  double second = machine.unit.cyclesPerSecond;
  auto pieces = [](int64_t columns) {
    return 4.0 * 512 * columns * sizeof(float) / 192;
  };
  // 8 KB apart each row has a page of its own, 2 KB apart two share one.
  double all = secondsOf(2048, 200) - secondsOf(2048, 100);
  EXPECT_NEAR(all, pieces(2048) * 100 / second, 1e-9 * all);
  double shared = secondsOf(512, 200) - secondsOf(512, 100);
  EXPECT_NEAR(shared, pieces(512) / 2 * 100 / second, 1e-9 * shared);
  EXPECT_DOUBLE_EQ(secondsOf(2064, 200), secondsOf(2064, 100));
  // It is part of what arithmetic hides.
  EXPECT_GT(secondsOf(2048, 17), 1.5 * secondsOf(2064, 17));
  // Rows that a loop cuts wait as well, where its tile was read before.
  inside = {{1, 8}, {2, 96}};
  all = secondsOf(2048, 200) - secondsOf(2048, 100);
  EXPECT_NEAR(all, pieces(2048) * 100 / second, 1e-9 * all);
  // Partial sums of 40 rows come back for each part of the reduction but the
  // first.
  inside = {{2, 96}};
  hasSumsApart = false;
  double sums = secondsOf(2048, 200) - secondsOf(2048, 100) - all;
  double sumPieces = 7.0 * 40 * 2048 * sizeof(float) / 192;
  EXPECT_NEAR(sums, sumPieces * 100 / second, 1e-9 * all);
}

TEST(Reading, WhatIsTooMuchForACacheIsNoCollision) {
  // Whole rows of B lie in order, twelve times what the first level holds: each
  // of four tiles of rows reads them from the second, and no line evicts
  // another before its time.
  Machine machine = makeZen5();
  auto secondsOf = [&](double cycles) {
    Schedule schedule;
    schedule.levels.resize(machine.levels.size());
    schedule.levels.back().order = {{1, 8}};
    schedule.registerTile = {8, 3, 2, 4};
    schedule.held = {0};
    machine.overheads.collisionCycles = cycles;
    return price(makeGemm(1, 32, 64, 2304), machine, schedule, oneThread())
        .seconds;
  };
  EXPECT_GT(secondsOf(0), 0);
  EXPECT_DOUBLE_EQ(secondsOf(17), secondsOf(0));
}

} // namespace
