//===- ClosedFormTest.cpp - Least volumes against formulas ----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Brute force can only check the search on small chains. On large ones, where
// rounding matters little, there are formulas: for two GEMMs in one order, the
// real tiles with least volume follow from the conditions of Karush, Kuhn and
// Tucker. Each shape here is one on which the order of the formula is the best
// of all.
//
//===----------------------------------------------------------------------===//

#include "TestProblems.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace chimera::model;

namespace {

enum : LoopId { b, m, l, k, n };

/// Volume constant + perM / T_M + perL / T_L, live set
/// rows * T_M + columns * T_L + T_M * T_L, in elements.
struct Family {
  double constant = 0, perM = 0, perL = 0, rows = 0, columns = 0;
};

/// The least volume over real tiles if T_M and T_L are bounded by nothing but
/// the capacity.
double leastVolume(const Family &family, double capacity) {
  double mixed = std::sqrt(family.perM * family.perL *
                           (family.rows * family.columns + capacity));
  return family.constant + (family.perM * family.rows +
                            family.perL * family.columns + 2 * mixed) /
                               capacity;
}

/// The same where only T_M counts, and T_L is the least there is.
double leastVolumeOfM(const Family &family, double capacity, double leastL) {
  double tile = (capacity - family.columns * leastL) / (family.rows + leastL);
  return family.constant + family.perM / tile;
}

constexpr int64_t least = 16;

/// Compares, and expects the loops `outer` around both operators, with `own`
/// more around each.
void expectReached(const ChainSizes &sizes, int64_t capacity, double formula,
                   llvm::ArrayRef<LoopId> outer, size_t own) {
  ChainProblem problem = makeChain(sizes);
  auto found =
      solveVolume(problem, 4 * capacity, {1, least, least, least, least});
  ASSERT_TRUE(found);
  double volume = evaluate(problem, *found, 0).volumeBytes() / 4.0;
  std::string where = reproducer(problem, *found);
  EXPECT_GE(volume, formula) << where;
  EXPECT_LE(volume, 1.02 * formula) << where;
  LoopNest tree = buildLoopTree(problem, *found, 0);
  ASSERT_EQ(tree.loops.size(), outer.size()) << where;
  for (size_t place = 0; place < outer.size(); ++place)
    EXPECT_EQ(tree.loops[place].loop, outer[place]) << where;
  for (const LoopNest &part : tree.parts)
    EXPECT_EQ(part.loops.size(), own) << where;
}

TEST(ClosedForm, BothTilesOfTheIntermediate) {
  // K and N are too long for anything but small tiles: m, l, k, n.
  for (int64_t capacity : {3000, 4096, 10000})
    for (ChainSizes s : {ChainSizes{1, 4096, 8192, 8192, 4096},
                         ChainSizes{1, 8192, 4096, 16384, 4096},
                         ChainSizes{1, 4096, 16384, 4096, 8192}}) {
      double a = s.m * s.k, d = s.k * s.l + s.l * s.n, e = s.m * s.n;
      Family family;
      family.constant = -e;
      family.perM = d * s.m;
      family.perL = (a + 2 * e) * s.l;
      family.rows = family.columns = least;
      // Which of m and l is outside makes no difference.
      expectReached(s, capacity, leastVolume(family, capacity), {m, l}, 1);
    }
}

TEST(ClosedForm, RowsOfTheInputAndTheOutput) {
  // K and N stay whole: m, l, as in FlashAttention.
  for (int64_t capacity : {12288, 65536})
    for (ChainSizes s : {ChainSizes{1, 65536, 64, 64, 16384},
                         ChainSizes{1, 65536, 32, 80, 4096},
                         ChainSizes{1, 40000, 96, 96, 40000}}) {
      Family family;
      family.constant = s.m * s.k + s.m * s.n;
      family.perM = double(s.k * s.l + s.l * s.n) * s.m;
      family.rows = s.k + s.n;
      family.columns = std::max(s.k, s.n);
      expectReached(s, capacity, leastVolumeOfM(family, capacity, least),
                    {m, l}, 0);
    }
}

TEST(ClosedForm, RowsWithRecomputation) {
  // N is longer than K: m, n, l makes C once for every tile of n.
  for (int64_t capacity : {12288, 65536})
    for (ChainSizes s : {ChainSizes{1, 40000, 128, 64, 40000},
                         ChainSizes{1, 40000, 256, 64, 40000}}) {
      double formula = std::numeric_limits<double>::infinity();
      for (int64_t trips = 2; trips <= s.n / least; ++trips) {
        double tileN = double(s.n) / trips;
        Family family;
        family.constant = s.m * s.k + s.m * s.n;
        family.perM = double(s.l * s.n + s.k * s.l * trips) * s.m;
        family.rows = s.k + tileN;
        family.columns = std::max<double>(s.k, tileN);
        formula = std::min(formula, leastVolumeOfM(family, capacity, least));
      }
      expectReached(s, capacity, formula, {m, n, l}, 0);
    }
}

TEST(ClosedForm, ColumnsOfTheWeights) {
  // M is so long that A had better be read in the inner loop: l, m. That saves
  // no more than one pass over A, so L has to be a whole number of tiles.
  for (int64_t capacity : {1 << 19, 1 << 20})
    for (ChainSizes s : {ChainSizes{1, 4000000, 1, 512, 0},
                         ChainSizes{1, 4000000, 2, 384, 0}}) {
      // Mirrored: m takes the part of l.
      Family family;
      family.rows = s.k + s.n;
      family.columns = std::max(s.k, s.n);
      double tile = (capacity - family.columns * least) / (family.rows + least);
      s.l = 60 * int64_t(tile);
      double e = s.m * s.n;
      family.constant = s.k * s.l + s.l * s.n - e;
      family.perM = (s.m * s.k + 2 * e) * s.l;
      expectReached(s, capacity, leastVolumeOfM(family, capacity, least),
                    {l, m}, 0);
    }
}

} // namespace
