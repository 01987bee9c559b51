//===- ThreadTilingTest.cpp - How threads of a GPU share rows -------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/ThreadTiling.h"

#include "gtest/gtest.h"

using namespace chimera::model;

namespace {

/// A softmax of rows: what is loaded is needed by three passes.
ThreadGroup makeSoftmax(int64_t rows, int64_t columns) {
  ThreadGroup group;
  group.rows = rows;
  group.columns = columns;
  group.reduces = true;
  group.mostVector = 4;
  group.loads.push_back({4, true, true, 3});
  group.stores.push_back({4, true, true, 1});
  group.heldNumbers = 1;
  group.passes = 3;
  group.reductions = 2;
  return group;
}

TEST(ThreadTiling, CountsWhatThreadsAskFor) {
  ThreadGroup group = makeSoftmax(6, 40);
  ThreadTiling tiling;
  tiling.vector = 4;
  tiling.team = 16;
  tiling.rows = 4;
  EXPECT_EQ(countBlocks(group, tiling), 2);
  EXPECT_EQ(countSteps(group, tiling), 1);
  EXPECT_EQ(countBytes(group.loads[0], group, tiling), 6 * 40 * 4);
  tiling.home = RowHome::Memory;
  EXPECT_EQ(countBytes(group.loads[0], group, tiling), 3 * 6 * 40 * 4);
  // A number for a row is loaded by each thread that has a part of it: ten of
  // the sixteen of a team.
  EXPECT_EQ(countBytes({2, false, false, 1}, group, tiling), 6 * 10 * 2);
  // Elements of a vector share what does not differ along it.
  EXPECT_EQ(countBytes({2, true, false, 1}, group, tiling), 6 * 40 / 4 * 2);
}

TEST(ThreadTiling, EachVectorAsksForWhatBelongsToAllElements) {
  ThreadGroup group;
  group.columns = 31;
  group.mostVector = 4;
  ThreadTiling tiling;
  tiling.vector = 4;
  tiling.team = 64;
  // Seven whole vectors, and three elements one by one.
  EXPECT_EQ(countBytes({4, false, false, 1}, group, tiling), 10 * 4);
}

TEST(ThreadTiling, SharedMemoryIsForTeamsOfSeveralWarps) {
  ThreadGroup group = makeSoftmax(6, 4096);
  ThreadTiling tiling;
  tiling.team = 32;
  tiling.rows = 4;
  tiling.steps = 128;
  EXPECT_EQ(countSharedBytes(group, tiling), 0);
  tiling.team = 128;
  tiling.rows = 1;
  tiling.steps = 32;
  EXPECT_GE(countSharedBytes(group, tiling), 2 * 4 * 4);
}

} // namespace
