//===- RegisterTileTest.cpp - Micro kernel shapes and times ---------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The shapes that have to come out on machines with 32 and with 16 registers,
// and the paper's own figures for them.
//
//===----------------------------------------------------------------------===//

#include "TestProblems.h"

#include "gtest/gtest.h"

using namespace chimera::model;

namespace {

VectorUnit makeUnit(int64_t registers, int64_t lanes) {
  VectorUnit unit;
  unit.registers = registers;
  unit.lanes = lanes;
  unit.cyclesPerSecond = 1e9;
  return unit;
}

double intensity(int64_t rows, int64_t vectors, int64_t depth) {
  return double(rows * vectors * depth) /
         (depth * (rows + vectors) + 2 * rows * vectors);
}

TEST(SplitEvenly, BalancesParts) {
  for (int64_t extent = 1; extent < 60; ++extent)
    for (int64_t part = 1; part < 20; ++part) {
      BalancedSplit split = splitEvenly(extent, part);
      EXPECT_LE(split.size, part);
      EXPECT_EQ(split.large * split.size + split.small * (split.size - 1),
                extent);
      EXPECT_EQ(split.large + split.small, (extent + part - 1) / part);
    }
  EXPECT_EQ(splitEvenly(37, 8).size, 8);
  EXPECT_EQ(splitEvenly(37, 8).large, 2);
  EXPECT_EQ(splitEvenly(37, 8).small, 3);
}

TEST(RegisterTile, PaperFigures) {
  // Intensity alone would choose 5x5; 6x4 is next, and best where columns come
  // in multiples of four vectors.
  EXPECT_NEAR(intensity(5, 5, 64), 2.32, 0.005);
  EXPECT_NEAR(intensity(6, 4, 64), 2.23, 0.005);
  for (const RegisterTile &tile : maximalRegisterTiles(makeUnit(32, 16))) {
    EXPECT_LE(tile.rows * tile.vectors + tile.vectors + tile.broadcasts, 32);
    EXPECT_GE(tile.broadcasts, 1);
    EXPECT_LE(intensity(tile.rows, tile.vectors, 64), intensity(5, 5, 64));
    if (tile.vectors == 4) {
      EXPECT_EQ(tile.rows, 6);
      EXPECT_EQ(tile.broadcasts, 2);
    }
  }
}

TEST(RegisterTile, FollowsTheBlock) {
  VectorUnit unit = makeUnit(32, 16);
  auto shape = [&](int64_t rows, int64_t columns) {
    RegisterTile tile = selectRegisterTile(unit, rows, columns, 64);
    return std::make_pair(tile.rows, tile.vectors);
  };
  using Shape = std::pair<int64_t, int64_t>;
  EXPECT_EQ(shape(48, 64), Shape(6, 4));
  EXPECT_EQ(shape(50, 80), Shape(4, 5));
  EXPECT_EQ(shape(28, 32), Shape(10, 2));
  EXPECT_EQ(shape(18, 48), Shape(6, 3));
  EXPECT_EQ(shape(24, 32), Shape(12, 2));
  EXPECT_EQ(shape(8, 48), Shape(8, 3));
}

TEST(RegisterTile, FollowsTheRegisterFile) {
  VectorUnit unit = makeUnit(16, 8);
  RegisterTile tile = selectRegisterTile(unit, 48, 16, 64);
  EXPECT_EQ(tile.rows, 6);
  EXPECT_EQ(tile.vectors, 2);
  // 4 x 3 would leave no register in reserve.
  tile = selectRegisterTile(unit, 48, 24, 64);
  EXPECT_EQ(tile.rows, 3);
  EXPECT_EQ(tile.vectors, 3);
  // Where each FMA has a broadcast, those of later steps are not loaded ahead.
  tile = selectRegisterTile(unit, 60, 8, 64);
  EXPECT_EQ(tile.rows, 12);
  EXPECT_EQ(tile.vectors, 1);
  EXPECT_EQ(tile.depth, 1);
  EXPECT_EQ(selectRegisterTile(makeUnit(32, 16), 56, 16, 64).depth, 4);
}

/// Rows of seven vectors end in a tile of one, which has too few accumulators,
/// rows of nine are three tiles of three; with the larger file a tile has all
/// seven.
TEST(RegisterTile, SaysWhenRowsFillItAsOne) {
  VectorUnit small = makeUnit(16, 8), large = makeUnit(32, 16);
  EXPECT_TRUE(fillTilesAsOne(small, 56, 56));
  EXPECT_FALSE(fillTilesAsOne(small, 64, 64));
  EXPECT_FALSE(fillTilesAsOne(small, 72, 72));
  EXPECT_FALSE(fillTilesAsOne(small, 112, 112));
  EXPECT_FALSE(fillTilesAsOne(large, 112, 112));
  EXPECT_FALSE(fillTilesAsOne(large, 128, 128));
}

TEST(BlockCycles, KeepsTheUnitsBusyWithEnoughAccumulators) {
  VectorUnit unit = makeUnit(32, 16);
  RegisterTile large{6, 4, 2, 4}, small{1, 4, 1, 4};
  double ideal = 48 * 4 * 256 / 2.0;
  EXPECT_LT(blockCycles(unit, large, 48, 64, 256, false), 1.02 * ideal);
  // Four accumulators in two units with latency four are half of what it takes.
  EXPECT_GT(blockCycles(unit, small, 48, 64, 256, false), 1.99 * ideal);
}

TEST(BlockCycles, ChargesEdgesAndAccumulators) {
  VectorUnit unit = makeUnit(32, 16);
  RegisterTile tile{6, 4, 2, 4};
  // 65 columns take five vectors.
  EXPECT_DOUBLE_EQ(blockCycles(unit, tile, 48, 65, 64, false),
                   blockCycles(unit, tile, 48, 80, 64, false));
  EXPECT_GT(blockCycles(unit, tile, 48, 64, 64, true),
            blockCycles(unit, tile, 48, 64, 64, false));
  // Two shallow blocks cost more than a deep one.
  EXPECT_GT(2 * blockCycles(unit, tile, 48, 64, 32, false),
            blockCycles(unit, tile, 48, 64, 64, false));
}

TEST(KernelCycles, AreThoseDeclaredAndOfTheEdges) {
  VectorUnit unit = makeUnit(32, 16);
  KernelShape kernel{"k",
                     4,
                     32,
                     /*depth=*/0,
                     /*cyclesPerStep=*/5,
                     /*cyclesPerCall=*/7};
  EXPECT_DOUBLE_EQ(kernelCycles(unit, kernel, 8, 64, 10, true),
                   4 * (10 * 5 + 7));
  // Sums that are not loaded are zeroed: eight rows of four vectors.
  EXPECT_DOUBLE_EQ(kernelCycles(unit, kernel, 8, 64, 10, false),
                   4 * (10 * 5 + 7) + 32);
  // A row more, and columns more, are computed by register tiles.
  RegisterTile edge = edgeTile(unit, kernelTile(unit, kernel));
  EXPECT_DOUBLE_EQ(kernelCycles(unit, kernel, 9, 64, 10, true),
                   4 * (10 * 5 + 7) + blockCycles(unit, edge, 1, 64, 10, true));
  EXPECT_DOUBLE_EQ(kernelCycles(unit, kernel, 8, 70, 10, true),
                   4 * (10 * 5 + 7) + blockCycles(unit, edge, 8, 6, 10, true));
  // Calls take four steps each; two steps are left.
  kernel.depth = 4;
  EXPECT_DOUBLE_EQ(kernelCycles(unit, kernel, 8, 64, 10, true),
                   4 * (8 * 5 + 2 * 7) +
                       blockCycles(unit, edge, 8, 64, 2, true));
  // A block smaller than a tile is all edge.
  EXPECT_DOUBLE_EQ(kernelCycles(unit, kernel, 3, 64, 8, true),
                   blockCycles(unit, edge, 3, 64, 8, true));
}

TEST(EdgeTile, FitsTheRegisters) {
  for (int64_t registers : {16, 32})
    for (int64_t rows : {1, 3, 8, 40})
      for (int64_t vectors : {1, 4, 9, 40}) {
        RegisterTile tile;
        tile.rows = rows;
        tile.vectors = vectors;
        RegisterTile edge = edgeTile(makeUnit(registers, 16), tile);
        EXPECT_LE(edge.rows, rows);
        EXPECT_LE(edge.vectors, vectors);
        EXPECT_GE(edge.rows, 1);
        EXPECT_LE(edge.rows * edge.vectors + edge.vectors + edge.broadcasts,
                  registers);
      }
}

} // namespace
