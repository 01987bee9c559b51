//===- MemoryPassTest.cpp - Time of work that waits for memory ------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/MemoryPass.h"

#include "gtest/gtest.h"

using namespace chimera::model;

namespace {

/// Two cores with a cache of 1000 bytes each, of which 800 may be filled.
Machine makeMachine() {
  Machine machine;
  MemoryLevel cache;
  cache.capacityBytes = 1000;
  cache.usableShare = 0.8;
  cache.bytesPerSecondPerCore = 100;
  cache.bytesPerSecond = 150;
  cache.ways = 8;
  machine.levels = {cache};
  machine.unit.cyclesPerSecond = 10;
  machine.cores = 2;
  machine.overheads.regionSeconds = 3;
  machine.overheads.freshBytesPerSecond = 50;
  return machine;
}

TEST(MemoryPass, WhatIsWrittenIsReadFirst) {
  MemoryPass pass;
  pass.readBytes = 900;
  EXPECT_DOUBLE_EQ(secondsOf(pass, makeMachine(), 1), 9);
  pass.writtenBytes = 100;
  EXPECT_DOUBLE_EQ(secondsOf(pass, makeMachine(), 1), 9 + 2);
}

TEST(MemoryPass, MemoriesThatProgramsFillAreNotReadFirst) {
  Machine machine = makeMachine();
  machine.levels[0].ways = 0;
  MemoryPass pass;
  pass.readBytes = 900;
  pass.writtenBytes = 100;
  EXPECT_DOUBLE_EQ(secondsOf(pass, machine, 1), 9 + 1);
}

TEST(MemoryPass, FindsWhatFitsInTheCache) {
  MemoryPass pass;
  pass.readBytes = 500;
  pass.writtenBytes = 300;
  EXPECT_DOUBLE_EQ(secondsOf(pass, makeMachine(), 1), 0);
  pass.readBytes += 1;
  EXPECT_GT(secondsOf(pass, makeMachine(), 1), 0);
}

TEST(MemoryPass, ThreadsShareTheBandwidthOfTheMachine) {
  MemoryPass pass;
  pass.readBytes = 3000;
  EXPECT_DOUBLE_EQ(secondsOf(pass, makeMachine(), 1), 30);
  // 150 bytes per second together, and a parallel loop.
  EXPECT_DOUBLE_EQ(secondsOf(pass, makeMachine(), 2), 20 + 3);
}

TEST(MemoryPass, ShortPassesStayOnOneThread) {
  // Two threads take half as long, and three seconds to start.
  MemoryPass pass;
  pass.cycles = 40;
  EXPECT_DOUBLE_EQ(secondsOf(pass, makeMachine(), 2), 4);
  pass.cycles = 80;
  EXPECT_DOUBLE_EQ(secondsOf(pass, makeMachine(), 2), 4 + 3);
}

TEST(MemoryPass, ArithmeticHidesTransfersButForAShare) {
  MemoryPass pass;
  pass.readBytes = 1000;
  pass.cycles = 200;
  EXPECT_DOUBLE_EQ(secondsOf(pass, makeMachine(), 1), 20 + 0.2 * 10);
}

TEST(MemoryPass, FreshMemoryIsNotHidden) {
  MemoryPass pass;
  pass.readBytes = 1000;
  pass.freshBytes = 500;
  EXPECT_DOUBLE_EQ(secondsOf(pass, makeMachine(), 1), 10 + 10);
  // Both caches together hold it.
  EXPECT_DOUBLE_EQ(secondsOf(pass, makeMachine(), 2), 5 + 3);
}

TEST(FreshBytes, AnAllocatorKeepsOneBufferAndAsMuchAgain) {
  Machine machine = makeMachine();
  machine.overheads.reusedBytes = 32 << 20;
  constexpr double mebi = 1 << 20;
  EXPECT_EQ(freshBytes({}, machine), 0);
  EXPECT_EQ(freshBytes({16 * mebi}, machine), 0);
  EXPECT_EQ(freshBytes({32 * mebi}, machine), 32 * mebi);
  // These become one: twice the largest would be less than all of them.
  EXPECT_EQ(freshBytes({9 * mebi, 9 * mebi, 4}, machine), 0);
  // These do not fit into one; the heap is larger than both.
  EXPECT_EQ(freshBytes({16 * mebi, 16 * mebi}, machine), 32 * mebi);
  EXPECT_EQ(freshBytes({20 * mebi, 20 * mebi}, machine), 40 * mebi);
  EXPECT_EQ(freshBytes({20 * mebi, 14 * mebi}, machine), 0);
  // The others are kept.
  EXPECT_EQ(freshBytes({33 * mebi, 9 * mebi, 9 * mebi}, machine), 33 * mebi);
  machine.overheads.freshBytesPerSecond = 0;
  EXPECT_EQ(freshBytes({33 * mebi}, machine), 0);
}

} // namespace
