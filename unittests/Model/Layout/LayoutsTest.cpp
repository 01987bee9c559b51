//===- LayoutsTest.cpp - In which order images lie in memory --------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/Layouts.h"

#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

#include <random>

using namespace chimera::model;

static constexpr ImageLayout given = ImageLayout::AsGiven,
                             last = ImageLayout::ChannelsLast;

static Machine getMachine() {
  Machine machine;
  machine.unit.lanes = 16;
  machine.unit.registers = 32;
  machine.unit.fmaPerCycle = 2;
  machine.unit.loadsPerCycle = 2;
  machine.unit.storesPerCycle = 1;
  machine.unit.cyclesPerSecond = 1e9;
  MemoryLevel level;
  level.name = "L1";
  level.capacityBytes = 1000;
  level.usableShare = 1;
  level.bytesPerSecond = level.bytesPerSecondPerCore = 1e9;
  level.ways = 8;
  machine.levels = {level};
  machine.overheads = {};
  machine.overheads.transposeFactor = 12;
  return machine;
}

/// A vector and a half of filters, less than half a vector of pixels.
static ConvolutionFigures getOddConvolution() {
  ConvolutionFigures figures;
  figures.filters = 24;
  figures.width = 7;
  return figures;
}

TEST(Layouts, ConvolutionsPayForEdges) {
  Machine machine = getMachine();
  ConvolutionFigures figures = getOddConvolution();
  figures.depth = 1000;
  // A million rows.
  figures.multiplyAdds = 24e6 * 7 * 1000;
  // Seven pixels by two vectors take seven cycles a step; at the end half of
  // the stores, the latency and the set-up.
  double channelsLast = 7 * 1000 + 0.5 * 14 + 4 + 12;
  EXPECT_DOUBLE_EQ(secondsOf(figures, last, machine, 1), 1e-3 * channelsLast);
  // 24 filters by one vector are limited by their loads; reading planes costs
  // more.
  double planes = 1.05 * (12.5 * 1000 + 0.5 * 24 + 4 + 12);
  EXPECT_DOUBLE_EQ(secondsOf(figures, given, machine, 1), 1e-3 * planes);
  EXPECT_DOUBLE_EQ(secondsOf(figures, given, machine, 4), 0.25e-3 * planes);
  // Copying a vector takes 36 multiply-adds, and 24 filters use it.
  figures.stride = 2;
  EXPECT_DOUBLE_EQ(secondsOf(figures, given, machine, 1), 2.5e-3 * planes);
  figures.filterBytes = 1e6;
  EXPECT_DOUBLE_EQ(secondsOf(figures, last, machine, 1),
                   1e-3 * channelsLast + secondsToReorder(1e6, 4, machine, 1));
}

TEST(Layouts, RowsThatAreOneFillVectors) {
  Machine machine = getMachine();
  ConvolutionFigures figures = getOddConvolution();
  figures.multiplyAdds = 1e6;
  // Seven of 16 lanes, and 49 of 64.
  double apart = secondsOf(figures, given, machine, 1);
  double channelsLast = secondsOf(figures, last, machine, 1);
  figures.joinedRows = 7;
  EXPECT_LT(secondsOf(figures, given, machine, 1), 0.65 * apart);
  EXPECT_EQ(secondsOf(figures, last, machine, 1), channelsLast);
}

TEST(Layouts, CopiesTakeNoShuffles) {
  Machine machine = getMachine();
  EXPECT_GT(secondsToCopy(1e6, machine, 1), 0);
  EXPECT_LT(secondsToCopy(1e6, machine, 1),
            secondsToReorder(1e6, 4, machine, 1));
}

TEST(Layouts, DepthwiseConvolutionsPayForPartOfAVector) {
  Machine machine = getMachine();
  ConvolutionFigures figures = getOddConvolution();
  figures.multiplyAdds = 32e6;
  figures.isDepthwise = true;
  // 32e6 multiply-adds take 1 ms at 32 a cycle; 24 of 32 and 7 of 16 count.
  EXPECT_DOUBLE_EQ(secondsOf(figures, given, machine, 1), 1e-3 * 16 / 7);
  figures.hasTapsAlongRows = true;
  EXPECT_DOUBLE_EQ(secondsOf(figures, given, machine, 1), 2e-3 * 16 / 7);
  EXPECT_DOUBLE_EQ(secondsOf(figures, last, machine, 1), 1e-3 * 32 / 24);
}

TEST(Layouts, RowsThatManyVectorsUseAreTransposed) {
  // Memory moves 4 bytes in a cycle, twelve for each element: three cycles.
  Machine machine = makeZen5();
  machine.levels[0].bytesPerSecondPerCore = 4 * machine.unit.cyclesPerSecond;
  for (MemoryLevel &level : llvm::drop_begin(machine.levels))
    level.bytesPerSecond = level.bytesPerSecondPerCore = 1e18;
  machine.overheads = {};
  RegisterTile tile = selectRegisterTile(machine.unit, 4096, 65536, 4096);
  EXPECT_NEAR(usesWorthTransposing(machine), 3.0 * tile.rows * tile.vectors,
              1e-3 * tile.rows * tile.vectors);
}

TEST(Layouts, ImagesAreReorderedOnce) {
  // Operation 0 hands an image to two others and the outside.
  LayoutProblem problem;
  problem.operations = {{5, 1}, {3, 1}, {3, 1}};
  problem.images = {{std::nullopt, {0}, false, 1}, {0, {1, 2}, true, 2}};
  EXPECT_EQ(secondsOf(problem, {given, given, given}), 11);
  EXPECT_EQ(secondsOf(problem, {given, last, last}), 5 + 1 + 1 + 2);
  EXPECT_EQ(secondsOf(problem, {last, last, given}), 1 + 1 + 3 + 1 + 2);
  EXPECT_EQ(secondsOf(problem, {last, last, last}), 1 + 1 + 1 + 1 + 2);
  LayoutPlan plan = chooseLayouts(problem);
  EXPECT_EQ(plan.layouts, (std::vector<ImageLayout>{last, last, last}));
  EXPECT_EQ(plan.seconds, 6);
}

TEST(Layouts, WhatFollowsAConvolutionGoesWithIt) {
  // An elementwise operation on the result of a convolution, and one on its
  // image: both may come before or after the transposition.
  LayoutProblem problem;
  problem.operations = {{0, 0}, {3, 1}, {0, 0}};
  problem.images = {{std::nullopt, {0}, false, 0.5},
                    {0, {1}, false, 0.5},
                    {1, {2}, false, 0.5},
                    {2, {}, true, 0.5}};
  EXPECT_EQ(chooseLayouts(problem).layouts,
            (std::vector<ImageLayout>{last, last, last}));
}

TEST(Layouts, SomeOperationsHaveNoChoice) {
  LayoutProblem problem;
  problem.operations = {{LayoutProblem::impossible, 1},
                        {1, LayoutProblem::impossible}};
  problem.images = {{0, {1}, false, 7}};
  LayoutPlan plan = chooseLayouts(problem);
  EXPECT_EQ(plan.layouts, (std::vector<ImageLayout>{last, given}));
  EXPECT_EQ(plan.seconds, 9);
}

/// Up to ten operations, each reading up to three images before it.
static LayoutProblem getRandomProblem(std::mt19937 &random) {
  auto pick = [&](unsigned most) { return random() % (most + 1); };
  LayoutProblem problem;
  unsigned count = 1 + pick(9);
  for (unsigned i = 0; i < 1 + pick(1); ++i)
    problem.images.push_back({std::nullopt, {}, false, pick(8) * 1e-6});
  for (unsigned op = 0; op < count; ++op) {
    problem.operations.push_back({pick(9) * 1e-6, pick(9) * 1e-6});
    if (pick(9) == 0)
      problem.operations.back().channelsLast = LayoutProblem::impossible;
    else if (pick(9) == 0)
      problem.operations.back().asGiven = LayoutProblem::impossible;
    for (unsigned i = 0; i < 1 + pick(2); ++i) {
      auto &readers = problem.images[pick(problem.images.size() - 1)].readers;
      if (!llvm::is_contained(readers, op))
        readers.push_back(op);
    }
    problem.images.push_back({op, {}, pick(4) == 0, pick(8) * 1e-6});
  }
  return problem;
}

TEST(Layouts, TheCutIsTheCheapestOfAllAssignments) {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    LayoutProblem problem = getRandomProblem(random);
    size_t count = problem.operations.size();
    double best = LayoutProblem::impossible;
    size_t most = 0;
    for (unsigned mask = 0; mask < 1u << count; ++mask) {
      std::vector<ImageLayout> layouts;
      for (unsigned op = 0; op < count; ++op)
        layouts.push_back(mask >> op & 1 ? last : given);
      double seconds = secondsOf(problem, layouts);
      size_t numLast = llvm::count(layouts, last);
      // Sums of microseconds.
      if (seconds < best - 1e-9) {
        best = seconds;
        most = numLast;
      } else if (seconds < best + 1e-9) {
        most = std::max(most, numLast);
      }
    }
    LayoutPlan plan = chooseLayouts(problem);
    EXPECT_NEAR(plan.seconds, best, 1e-9);
    EXPECT_EQ(static_cast<size_t>(llvm::count(plan.layouts, last)), most);
  }
}
