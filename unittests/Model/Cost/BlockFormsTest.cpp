//===- BlockFormsTest.cpp - How blocks are made ---------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a schedule says of its blocks follows from figures of the machine, each
// by itself, and may not be said of operators that do not have it.
//
//===----------------------------------------------------------------------===//

#include "TestProblems.h"

#include "llvm/Support/Error.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace chimera::model;

namespace {

Schedule makeSchedule(const ChainProblem &problem,
                      ArrayRef<std::pair<StringRef, int64_t>> order) {
  Schedule schedule;
  schedule.levels.emplace_back();
  schedule.levels.back().name = "L1";
  schedule.registerTile = {6, 4, 1, 4};
  for (auto [name, tile] : order)
    schedule.levels.back().order.push_back({loopNamed(problem, name), tile, 0});
  return schedule;
}

TEST(BlockForms, RowsFollowFromTheInnermostCache) {
  ChainProblem problem = makeGemm(1, 64, 64, 64);
  Schedule schedule = makeSchedule(problem, {});
  Machine machine = makeZen5();
  std::optional<RowLayout> rows = chooseBlocks(problem, machine, schedule).rows;
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->lineBytes, 64);
  EXPECT_EQ(rows->apart, 4);
  // Lines twice as long in half as many sets.
  machine.levels.back().lineBytes = 128;
  rows = chooseBlocks(problem, machine, schedule).rows;
  EXPECT_EQ(rows->lineBytes, 128);
  EXPECT_EQ(rows->apart, 2);
  machine.levels.back().ways = 0;
  EXPECT_FALSE(chooseBlocks(problem, machine, schedule).rows);
}

TEST(BlockForms, SumsStartAheadWhereTheyLieInALevel) {
  ChainProblem problem = makeGemm(1, 64, 64, 64);
  Machine machine = makeZen5();
  Schedule cut = makeSchedule(problem, {{"m", 16}, {"k", 24}});
  EXPECT_EQ(chooseBlocks(problem, machine, cut).ahead, 1u);
  // One trip, none, and two loops: there is no first tile to go ahead.
  EXPECT_EQ(
      chooseBlocks(problem, machine, makeSchedule(problem, {{"m", 16}})).ahead,
      0u);
  machine.levels.back().holdsResults = false;
  EXPECT_EQ(chooseBlocks(problem, machine, cut).ahead, 0u);
  machine.levels.back().holdsResults = true;
  machine.buffers = {{"sums", Buffer::Role::Sums, 65536}};
  EXPECT_EQ(chooseBlocks(problem, machine, cut).ahead, 0u);
}

TEST(BlockForms, ScoresAreRepeatedIfThatIsLessThanAStore) {
  ChainProblem problem = makeAttention(AttentionSizes());
  Machine machine = makeZen5();
  Schedule schedule = makeSchedule(problem, {});
  EXPECT_EQ(chooseBlocks(problem, machine, schedule).repeated, 0u);
  problem.operators[0].scoreInstructions = 2;
  EXPECT_EQ(chooseBlocks(problem, machine, schedule).repeated, 1u);
  problem.operators[0].scoreInstructions = 3;
  EXPECT_EQ(chooseBlocks(problem, machine, schedule).repeated, 0u);
  machine.unit.fmaPerCycle = 4;
  EXPECT_EQ(chooseBlocks(problem, machine, schedule).repeated, 1u);
}

TEST(BlockForms, ExponentialsArePowersOfTwoWhereTheyAreComputed) {
  ChainProblem problem = makeAttention(AttentionSizes());
  Machine machine = makeZen5();
  Schedule schedule = makeSchedule(problem, {});
  EXPECT_EQ(chooseBlocks(problem, machine, schedule).base2, 1u);
  machine.unit.exponentialCost = 1;
  EXPECT_EQ(chooseBlocks(problem, machine, schedule).base2, 0u);
  machine.unit.exponentialCost = 20;
  machine.groups = ThreadGroups();
  EXPECT_EQ(chooseBlocks(problem, machine, schedule).base2, 0u);
}

TEST(BlockForms, KernelsAskAheadForAnEighthOfTheLevelOutsideTheInnermost) {
  ChainProblem problem = makeGemm(1, 64, 64, 64);
  Schedule schedule = makeSchedule(problem, {});
  Machine machine = makeZen5();
  machine.levels[1].usableShare = 0.5;
  EXPECT_EQ(chooseBlocks(problem, machine, schedule).prefetch,
            (Prefetching{(1 << 20) / 16, Prefetching::Loops::Fixed}));
  machine.levels.erase(machine.levels.begin(), machine.levels.end() - 1);
  EXPECT_EQ(chooseBlocks(problem, machine, schedule).prefetch,
            (Prefetching{0, Prefetching::Loops::Fixed}));
}

TEST(BlockForms, OnlyCachesAreFilledAhead) {
  ChainProblem problem = makeGemm(1, 64, 64, 64);
  Machine machine = makeZen5();
  machine.levels.back().ways = 0;
  EXPECT_EQ(chooseBlocks(problem, machine, makeSchedule(problem, {})).prefetch,
            Prefetching());
}

TEST(BlockForms, WhatIsSaidOfOthersIsRefused) {
  ChainProblem problem = makeGemm(1, 64, 64, 64);
  Schedule schedule = makeSchedule(problem, {{"m", 16}, {"k", 24}});
  EXPECT_FALSE(errorToBool(verifyBlocks(problem, schedule)));
  schedule.blocks = BlockForms();
  schedule.blocks->ahead = 1;
  EXPECT_FALSE(errorToBool(verifyBlocks(problem, schedule)));
  schedule.blocks->base2 = 1;
  EXPECT_TRUE(errorToBool(verifyBlocks(problem, schedule)));
  schedule.blocks->base2 = 0;
  schedule.blocks->repeated = 1;
  EXPECT_TRUE(errorToBool(verifyBlocks(problem, schedule)));
  schedule.blocks->repeated = 0;
  schedule.blocks->ahead = 2;
  EXPECT_TRUE(errorToBool(verifyBlocks(problem, schedule)));
}

} // namespace
