//===- PaddingTest.cpp - Taps on padding ----------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestProblems.h"

#include "Chimera/Model/Padding.h"

#include "gtest/gtest.h"

#include <random>

using namespace chimera::model;

namespace {

/// A convolution of 3 x 3 windows with a padding of one on 7 x 7 pixels, whose
/// kernels have the pixels of a row as rows.
class PaddingTest : public testing::Test {
protected:
  PaddingTest() : op(problem.operators[0]) {
    op.vectorLoop = filters;
    op.rowLoop = columns;
  }

  static ConvSizes sizes() {
    ConvSizes sizes;
    sizes.channels = 8;
    sizes.image = {7, 7};
    ConvLayer layer;
    layer.channels = 16;
    layer.kernel = 3;
    layer.padding = 1;
    sizes.layers = {layer};
    sizes.channelsLast = true;
    return sizes;
  }

  double share(llvm::ArrayRef<NestLoop> path) {
    return shareOfTaps(problem, op, path);
  }

  ChainProblem problem = makeConvChain(sizes());
  LoopId filters = loopNamed(problem, "c1"), rows = loopNamed(problem, "y1"),
         columns = loopNamed(problem, "x1"), tapRows = loopNamed(problem, "r1");
  Operator &op;
};

TEST_F(PaddingTest, LeavesOutWhatTilesHaveInCommon) {
  // Of a row's 21 taps two are on padding, of each dimension.
  EXPECT_DOUBLE_EQ(leastShareOfTaps(problem, op), 19.0 * 19 / (21 * 21));
  // Columns are left out by the kernels, rows by no tile.
  EXPECT_DOUBLE_EQ(share({}), 19.0 / 21);
  EXPECT_DOUBLE_EQ(share({{rows, 1}}), 19.0 * 19 / (21 * 21));
  // Of two rows at the border one needs all taps.
  EXPECT_DOUBLE_EQ(share({{rows, 2}}), 20.0 / 21 * 19 / 21);
  EXPECT_DOUBLE_EQ(share({{rows, 4}, {rows, 1}}), 19.0 * 19 / (21 * 21));
  // Kernels with parts of a row leave out nothing.
  EXPECT_DOUBLE_EQ(share({{columns, 4}}), 1);
  EXPECT_DOUBLE_EQ(share({{rows, 1}, {tapRows, 1}}), 19.0 / 21);
}

TEST_F(PaddingTest, KnowsWhatKernelsCanLeaveOut) {
  auto windows = paddedWindowsOf(problem, op);
  ASSERT_EQ(windows.size(), 2u);
  EXPECT_FALSE(leavesOutByRows(op, windows[0], {}));
  EXPECT_TRUE(leavesOutByRows(op, windows[1], {}));
  EXPECT_FALSE(leavesOutByRows(op, windows[1], {{columns, 4}}));
  op.rowLoop = filters;
  EXPECT_FALSE(leavesOutByRows(op, windows[1], {}));
}

TEST_F(PaddingTest, AgreesWithCountingOneByOne) {
  std::mt19937 random(3);
  auto draw = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  for (int trial = 0; trial < 2000; ++trial) {
    PaddedWindow window;
    window.pixelFactor = draw(1, 3);
    window.tapFactor = draw(1, 3);
    window.begin = draw(-2, 6);
    window.end = window.begin + draw(1, 20);
    int64_t first = draw(0, 12), size = draw(1, 5), taps = draw(1, 7);
    auto [begin, count] = window.tapsOf(first, size, taps);
    EXPECT_GE(begin, 0);
    EXPECT_LE(begin + count, taps);
    int64_t from = taps, to = 0;
    for (int64_t pixel = first; pixel < first + size; ++pixel)
      for (int64_t tap = 0; tap < taps; ++tap) {
        int64_t place = window.pixelFactor * pixel + window.tapFactor * tap;
        if (place < window.begin || place >= window.end)
          continue;
        from = std::min(from, tap);
        to = std::max(to, tap + 1);
      }
    if (from >= to)
      continue;
    EXPECT_LE(begin, from);
    EXPECT_GE(begin + count, to);
    // One pixel needs exactly what it counts.
    if (size == 1) {
      EXPECT_EQ(begin, from);
      EXPECT_EQ(begin + count, to);
    }
  }
}

TEST_F(PaddingTest, LeavesWindowsAloneThatLieInPadding) {
  ConvSizes wide = sizes();
  wide.layers[0].padding = 3;
  ChainProblem other = makeConvChain(wide);
  EXPECT_TRUE(paddedWindowsOf(other, other.operators[0]).empty());
  EXPECT_DOUBLE_EQ(leastShareOfTaps(other, other.operators[0]), 1);
}

TEST_F(PaddingTest, LeavesMakersOfWindowsAlone) {
  ConvSizes two = sizes();
  two.layers.push_back(two.layers[0]);
  ChainProblem chain = makeConvChain(two);
  EXPECT_TRUE(paddedWindowsOf(chain, chain.operators[0]).empty());
  // What the second reads is no input.
  EXPECT_TRUE(paddedWindowsOf(chain, chain.operators[1]).empty());
}

} // namespace
