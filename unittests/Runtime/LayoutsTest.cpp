//===- LayoutsTest.cpp - Tiles of an AI core ----------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "chimera_npu_layouts.h"

#include "gtest/gtest.h"

#include <vector>

using namespace chimera_npu;

/// Checks that `at` gives every element a place of its own in a tile of `size`.
template <class F>
static void expectRoundTrip(int64_t rows, int64_t columns, int64_t size, F at) {
  std::vector<int64_t> tile(size, -1);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      ASSERT_LT(at(i, j), size);
      ASSERT_EQ(tile[at(i, j)], -1);
      tile[at(i, j)] = layout::nd(i, j, columns);
    }
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      ASSERT_EQ(tile[at(i, j)], i * columns + j);
}

TEST(LayoutsTest, RoundTrips) {
  for (int64_t rows : {1, 15, 16, 17, 40})
    for (int64_t columns : {1, 16, 31, 48, 50}) {
      int64_t size = layout::tileSize(rows, columns);
      expectRoundTrip(rows, columns, size, [&](int64_t i, int64_t j) {
        return layout::zN(i, j, layout::roundUp(rows, 16));
      });
      expectRoundTrip(rows, columns, size, [&](int64_t i, int64_t j) {
        return layout::zZ(i, j, columns);
      });
      expectRoundTrip(rows, columns, size, [&](int64_t i, int64_t j) {
        return layout::nZ(i, j, columns);
      });
      expectRoundTrip(
          rows, columns, rows * layout::roundUp(columns, 16),
          [&](int64_t i, int64_t j) { return layout::zN(i, j, rows); });
    }
}

// Strides of the arrays that the layouts stand for.
TEST(LayoutsTest, NestedArrays) {
  // [n1][m1][m2][n2] of 48x32.
  EXPECT_EQ(layout::zN(16 * 2 + 3, 16 * 1 + 5, 48),
            1 * 3 * 256 + 2 * 256 + 3 * 16 + 5);
  // [m1][k1][m2][k2] of 48x32.
  EXPECT_EQ(layout::zZ(16 * 2 + 3, 16 * 1 + 5, 32),
            2 * 2 * 256 + 1 * 256 + 3 * 16 + 5);
  // [k1][n1][n2][k2] of 48x32.
  EXPECT_EQ(layout::nZ(16 * 2 + 3, 16 * 1 + 5, 32),
            2 * 2 * 256 + 1 * 256 + 5 * 16 + 3);
}
