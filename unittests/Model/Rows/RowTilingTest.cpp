//===- RowTilingTest.cpp - Groups and tasks outside chains ----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Norms, softmax and additions of usual sizes on one machine, with the figures
// that the passes find, and the tasks that have to come out.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/RowTiling.h"
#include "TestProblems.h"

#include "gtest/gtest.h"

using namespace llvm;
using namespace chimera::model;

namespace {

/// A group that computes each element of its `extents` and of `rest` more
/// dimensions by so many operations.
RowGroup makeGroup(ArrayRef<int64_t> extents, int64_t rest, int64_t plain,
                   int64_t functions, double rowBytes) {
  RowGroup group;
  group.extents.assign(extents.begin(), extents.end());
  group.numOperations = plain + functions;
  double elements = rest;
  for (int64_t extent : extents)
    elements *= extent;
  group.plainElements = plain * elements;
  group.functionElements = functions * elements;
  group.rowBytes = rowBytes;
  group.cutsRows = group.hasVectorsAlongRows = rest == 1;
  return group;
}

/// The root mean square of rows: a residual is added, squares are summed up,
/// and both scale the rows. Loops over all elements cannot hold the sum.
std::vector<RowGroup> makeNorm(int64_t rows, int64_t columns) {
  return {makeGroup({rows}, columns, 2, 1, 16.0 * columns + 4),
          makeGroup({rows, columns}, 1, 1, 1, 20)};
}

/// Maximum, exponentials, sum, and quotient, which alone has loops over all
/// elements.
std::vector<RowGroup> makeSoftmax(int64_t rows, int64_t columns) {
  return {makeGroup({rows}, columns, 2, 2, 12.0 * columns + 8),
          makeGroup({rows, columns}, 1, 0, 1, 8)};
}

/// A vector is added to each row.
std::vector<RowGroup> makeBias(int64_t rows, int64_t columns) {
  return {makeGroup({rows}, columns, 1, 0, 8.0 * columns),
          makeGroup({rows, columns}, 1, 1, 0, 12)};
}

void expectPlan(ArrayRef<RowGroup> groups, int64_t threads, size_t group,
                ArrayRef<int64_t> tiles, bool isParallel) {
  RowPlan plan = planRows(groups, makeZen5(), threads);
  EXPECT_EQ(plan.group, group);
  EXPECT_EQ(ArrayRef<int64_t>(plan.tiling.tiles), tiles);
  EXPECT_EQ(plan.tiling.isParallel, isParallel);
}

TEST(CountTasks, CountsThePartialOnes) {
  EXPECT_EQ(countTasks({}, {}), 1);
  EXPECT_EQ(countTasks({256, 96}, {16, 96}), 16);
  EXPECT_EQ(countTasks({197, 3}, {50, 2}), 8);
}

TEST(PlanRows, KeepsTheRowsOfANormInTheInnermostLevel) {
  // 25 rows have room, 16 divide 256.
  expectPlan(makeNorm(256, 96), 4, 0, {16}, true);
}

TEST(PlanRows, GivesTheLongRowsOfASoftmaxRoomFartherOut) {
  // One row is more than L1 holds; four pass through L2.
  for (int64_t threads : {1, 4, 16})
    expectPlan(makeSoftmax(512, 4096), threads, 0, {4}, threads > 1);
  // Not even four, but splitting the group would be worse.
  for (int64_t threads : {1, 4, 16})
    expectPlan(makeSoftmax(64, 262144), threads, 0, {1}, threads > 1);
}

TEST(PlanRows, CutsFewRowsForManyThreads) {
  expectPlan(makeSoftmax(4, 4096), 1, 0, {4}, false);
  expectPlan(makeSoftmax(4, 4096), 4, 0, {1}, true);
  expectPlan(makeSoftmax(4, 4096), 16, 1, {1, 1024}, true);
}

TEST(PlanRows, LetsRowsThatAreReadOnceFillTheLevelOutsideTheInnermost) {
  expectPlan(makeBias(512, 768), 1, 0, {64}, false);
  expectPlan(makeBias(512, 768), 4, 0, {64}, true);
  expectPlan(makeBias(512, 768), 16, 0, {32}, true);
  // No number of equal tasks divides a prime number of rows.
  expectPlan(makeBias(197, 768), 4, 0, {50}, true);
}

TEST(PlanRows, CutsRowsThatAreTooLong) {
  expectPlan(makeBias(3, 200000), 1, 1, {1, 20000}, false);
  expectPlan(makeBias(3, 200000), 4, 1, {1, 20000}, true);
}

TEST(PlanRows, TakesTheDeepestLoopsThatLeaveRowsWhole) {
  std::vector<RowGroup> groups = {
      makeGroup({8}, 128 * 768, 1, 0, 8.0 * 128 * 768),
      makeGroup({8, 128}, 768, 1, 0, 8.0 * 768),
      makeGroup({8, 128, 768}, 1, 1, 0, 12)};
  expectPlan(groups, 4, 1, {1, 64}, true);
  // The order in which groups are listed does not matter.
  std::reverse(groups.begin(), groups.end());
  expectPlan(groups, 4, 1, {1, 64}, true);
}

TEST(PlanRows, CutsVectorsIntoWholeRegisters) {
  RowGroup vector = makeGroup({1000000}, 1, 0, 1, 8);
  expectPlan(vector, 1, 0, {50000}, false);
  expectPlan(vector, 4, 0, {50000}, true);
  expectPlan(vector, 16, 0, {20000}, true);
}

/// An operation that makes `bytes` for others than members, which hand them
/// out or read them later.
RowMember makeMember(double bytes, bool isReadLater = false) {
  RowResult result;
  result.bytes = bytes;
  result.isReadOutside = true;
  result.isReadLater = isReadLater;
  RowMember member;
  member.results.push_back(result);
  return member;
}

/// A copy that turns the columns of a matrix into rows.
std::vector<RowGroup> makeTranspose(int64_t rows, int64_t columns,
                                    double bytes) {
  std::vector<RowGroup> groups = {
      makeGroup({rows}, columns, 1, 0, 2 * bytes * columns),
      makeGroup({rows, columns}, 1, 1, 0, 2 * bytes)};
  groups[0].hasVectorsAlongRows = true;
  groups[1].turned = 0;
  groups[1].elementBytes = bytes;
  groups[1].members.push_back(makeMember(bytes * rows * columns));
  return groups;
}

TEST(PlanRows, CutsTransposesIntoSquaresOfWholeLines) {
  // Two squares have room in L1, of one to four bytes an element.
  expectPlan(makeTranspose(2048, 8192, 4), 1, 1, {64, 64}, false);
  expectPlan(makeTranspose(2048, 8192, 2), 4, 1, {96, 96}, true);
  expectPlan(makeTranspose(2048, 8192, 1), 4, 1, {128, 128}, true);
  expectPlan(makeTranspose(3, 8192, 4), 4, 1, {3, 64}, true);
}

TEST(PlanRows, TurnsRowsWhereLinesAreSeveralVectors) {
  Machine machine = makeZen5();
  machine.unit.lanes = 8;
  auto tilesOf = [&](int64_t rows, int64_t columns) {
    return planRows(makeTranspose(rows, columns, 4), machine, 1).tiling.tiles;
  };
  using Tiles = SmallVector<int64_t, 4>;
  EXPECT_EQ(tilesOf(2048, 8192), Tiles({2048, 16}));
  // What stays in a cache is turned in squares.
  EXPECT_EQ(tilesOf(512, 512), Tiles({64, 64}));
}

TEST(PlanRows, TakesRunsOfColumnsThatMemoryHandsOutFast) {
  // What follows each other in columns, as a softmax of them.
  RowGroup columns = makeGroup({8192}, 2048, 2, 2, 12.0 * 2048 + 8);
  columns.hasVectorsAlongRows = true;
  expectPlan(columns, 1, 0, {128}, false);
  expectPlan(columns, 4, 0, {128}, true);
}

using Members = SmallVector<int64_t, 4>;

TEST(PlanRows, StreamsWhatLeavesTheCachesAnyway) {
  auto getStreamed = [](double bytes, bool isReadLater, double programBytes) {
    RowGroup group = makeBias(512, 768).front();
    group.programBytes = programBytes;
    group.members.push_back(makeMember(bytes, isReadLater));
    return planRows(group, makeZen5(), 4).tiling.streamed;
  };
  const MemoryLevel &outermost = makeZen5().levels.front();
  double half = outermost.capacityBytes / 2, usable = outermost.usableBytes();
  EXPECT_EQ(getStreamed(half, true, 10 * half), Members());
  EXPECT_EQ(getStreamed(half + 1, true, 10 * half), Members({0}));
  // What the program has no room for is not there when it is written again.
  EXPECT_EQ(getStreamed(usable / 2, false, usable), Members());
  EXPECT_EQ(getStreamed(usable / 2, false, usable + 1), Members({0}));
  EXPECT_EQ(getStreamed(usable / 4, false, usable + 1), Members());
}

TEST(PlanRows, StreamsWholeVectors) {
  RowGroup group = makeBias(512, 768).front();
  group.members.push_back(makeMember(makeZen5().levels.front().capacityBytes));
  int64_t &row = group.members.front().results.front().rowElements;
  row = 784;
  EXPECT_EQ(planRows(group, makeZen5(), 4).tiling.streamed, Members({0}));
  row = 28;
  EXPECT_EQ(planRows(group, makeZen5(), 4).tiling.streamed, Members());
}

TEST(PlanRows, LetsASumStoreWhatItReads) {
  RowGroup group = makeBias(512, 768).front();
  double bytes = makeZen5().levels.front().capacityBytes;
  group.members = {makeMember(bytes), makeMember(0), makeMember(bytes)};
  RowResult &residual = group.members[0].results.front();
  residual.isReadByMembers = true;
  group.members[1].results.front().isReadOutside = false;
  auto plan = [&] { return planRows(group, makeZen5(), 4).tiling; };
  // Nobody adds it up: it goes through the caches.
  EXPECT_TRUE(plan().late.empty());
  residual.sums = {1};
  EXPECT_EQ(plan().streamed, Members({2}));
  ASSERT_EQ(plan().late.size(), 1u);
  EXPECT_EQ(plan().late.front(), std::make_pair(int64_t(0), int64_t(1)));
  // Only what comes from memory is asked for.
  EXPECT_EQ(plan().ahead, Members());
  group.members[2].ownBytes = bytes;
  EXPECT_EQ(plan().ahead, Members({2}));
}

TEST(PlanRows, ReadsRowsWhereColumnsComeFromMemory) {
  // Sums of 8192 columns of 2048 rows.
  RowGroup group = makeGroup({8192}, 1, 1, 0, 4 * 2048);
  group.members = {makeMember(4 * 8192)};
  Machine machine = makeZen5();
  double usable = machine.levels.front().usableBytes();
  group.members[0].columnBytes = usable / 2;
  RowTiling columns = planRows(group, machine, 1).tiling;
  EXPECT_TRUE(columns.rowwise.empty());
  group.members[0].columnBytes = usable / 2 + 1;
  RowTiling rows = planRows(group, machine, 1).tiling;
  ASSERT_EQ(rows.rowwise.size(), 1u);
  // Half of the rows that are followed.
  EXPECT_EQ(rows.rowwise.front(), std::make_pair(int64_t(0), int64_t(8)));
  // Their sums take up to half of the innermost level, and more than what had
  // to fit with all that is summed up.
  double most = machine.levels.back().usableBytes() / 2 / 4;
  EXPECT_LE(rows.tiles.front(), most);
  EXPECT_GT(rows.tiles.front(), most / 2);
  EXPECT_LT(columns.tiles.front(), rows.tiles.front() / 8);
}

TEST(CountParts, CutsWhatHasFewColumns) {
  ReductionFigures sum;
  sum.steps = sum.columns = 64;
  sum.extent = 1 << 16;
  sum.elements = 1 << 22;
  EXPECT_EQ(countParts(sum), 64);
  // 512 columns are two tasks, and 1024 are enough.
  sum.steps = sum.columns = 512;
  EXPECT_EQ(countParts(sum), 32);
  sum.steps = sum.columns = 1024;
  EXPECT_EQ(countParts(sum), 1);
  // So are 64 columns of four images.
  sum.steps = 256;
  sum.columns = 64;
  EXPECT_EQ(countParts(sum), 1);
  // A cache of one core has this.
  sum.steps = 64;
  sum.elements = (1 << 20) - 1;
  EXPECT_EQ(countParts(sum), 1);
}

TEST(CountParts, CutsWhatHasFewResults) {
  ReductionFigures sum;
  sum.extent = 1 << 24;
  sum.elements = 1 << 24;
  EXPECT_EQ(countParts(sum), 64);
  // Not more than there are, and than are worth a thread each.
  sum.extent = 3;
  EXPECT_EQ(countParts(sum), 3);
  sum.extent = sum.elements = 40000;
  EXPECT_EQ(countParts(sum), 2);
  sum.extent = sum.elements = 1000;
  EXPECT_EQ(countParts(sum), 1);
  // Rows are tasks already, and two are half of what is wanted.
  sum.extent = 1 << 20;
  sum.steps = 2;
  sum.elements = 2 << 20;
  EXPECT_EQ(countParts(sum), 32);
  sum.steps = 4;
  sum.elements = 4 << 20;
  EXPECT_EQ(countParts(sum), 1);
}

/// True if two threads of `machine` are to share `elements` elements of work,
/// the time of which is known exactly.
bool isShared(const Machine &machine, int64_t elements, bool hasFunctions) {
  RowGroup group = makeGroup({elements}, 1, !hasFunctions, hasFunctions, 8);
  return planRows(group, machine, 2).tiling.isParallel;
}

TEST(PlanRows, LeavesWhatDoesNotPayForThreadsToOne) {
  Machine machine = makeZen5();
  // An element a nanosecond, eight of functions, from caches that take no time.
  machine.unit.lanes = 1;
  machine.unit.fmaPerCycle = 1;
  machine.unit.exponentialCost = 8;
  machine.unit.cyclesPerSecond = 1e9;
  for (MemoryLevel &level : machine.levels)
    level.bytesPerSecond = level.bytesPerSecondPerCore = 1e15;
  machine.overheads.regionSeconds = 1e-6;
  EXPECT_FALSE(isShared(machine, 1900, false));
  EXPECT_TRUE(isShared(machine, 2100, false));
  EXPECT_FALSE(isShared(machine, 240, true));
  EXPECT_TRUE(isShared(machine, 260, true));
  machine.overheads.regionSeconds = 1e-3;
  EXPECT_FALSE(isShared(machine, 1900000, false));
  EXPECT_TRUE(isShared(machine, 2100000, false));
}

TEST(PlanRows, CountsWhatThreadsGetFromEachOther) {
  Machine machine = makeZen5();
  machine.overheads.regionSeconds = 0;
  // 32 KiB, which L1 has. Two threads save 31 ns, and get a quarter of the
  // bytes each from L3, which takes longer.
  EXPECT_FALSE(isShared(machine, 4 << 10, false));
  machine.levels[1].sharers = machine.levels[2].sharers = 2;
  EXPECT_TRUE(isShared(machine, 4 << 10, false));
}

} // namespace
