//===- ScheduleTest.cpp - Loop trees and the checks of schedules ----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestProblems.h"

#include "gtest/gtest.h"

#include <random>
#include <set>

using namespace chimera::model;

namespace {

enum : LoopId { b, m, l, k, n };
enum : TensorId { A, B, C, D, E };

std::string namesOf(const ChainProblem &problem,
                    llvm::ArrayRef<NestLoop> loops) {
  std::string names;
  for (const NestLoop &loop : loops)
    names += problem.loops[loop.loop].name;
  return names;
}

std::string show(const ChainProblem &problem, const LoopNest &nest) {
  std::string text = namesOf(problem, nest.loops);
  for (const LoopNest &part : nest.parts)
    text += (&part == &nest.parts.front() ? "(" : "|") + show(problem, part);
  return nest.parts.empty() ? text : text + ")";
}

std::string treeOf(const ChainProblem &problem, const Schedule &schedule) {
  return show(problem,
              buildLoopTree(problem, schedule, schedule.levels.size() - 1));
}

TEST(LoopTree, SplitsAtTheFirstPrivateLoop) {
  ChainProblem chain = makeChain({2, 8, 8, 8, 8});
  EXPECT_EQ(
      treeOf(chain, singleLevel({{b, 1}, {m, 2}, {l, 2}, {k, 2}, {n, 2}})),
      "bml(k|n)");
  EXPECT_EQ(treeOf(chain, singleLevel({{m, 2}, {k, 2}, {l, 2}, {n, 2}})),
            "m(kl|ln)");
  EXPECT_EQ(treeOf(chain, singleLevel({{k, 2}, {m, 2}, {l, 2}, {n, 2}})),
            "(kml|mln)");
}

/// Two one-dimensional convolutions with windows of three.
ChainProblem makeTwoConvolutions() {
  ConvSizes sizes;
  sizes.channels = 4;
  sizes.image = {18};
  sizes.layers.resize(2);
  for (ConvLayer &layer : sizes.layers) {
    layer.channels = 8;
    layer.kernel = 3;
  }
  return makeConvChain(sizes);
}

TEST(LoopTree, SaysWhichRangesFollow) {
  ChainProblem problem = makeTwoConvolutions();
  LoopNest tree = buildLoopTree(problem, singleLevel({}), 0);
  auto derived = derivedLoopsIn(problem, tree);
  ASSERT_EQ(derived.size(), 1u);
  EXPECT_EQ(derived[0].loop, loopNamed(problem, "y1"));
  // Rows of the first image are those under the windows of the second.
  EXPECT_TRUE(derived[0].needed.hasLoop(loopNamed(problem, "y2")));
  EXPECT_EQ(derived[0].needed.terms.size(), 2u);
  // Alone, the first operator has a range of its own.
  EXPECT_TRUE(derivedLoopsIn(problem, tree.parts[0]).empty());
}

TEST(LoopTree, RollsAlongTheLastLoopAroundAllUsers) {
  ChainProblem problem = makeTwoConvolutions();
  LoopId y2 = loopNamed(problem, "y2");
  TensorId image = tensorNamed(problem, "T1");
  auto rangeOf = [&](const Schedule &schedule) {
    LoopNest tree =
        buildLoopTree(problem, schedule, schedule.levels.size() - 1);
    auto range = findRollingRange(problem, schedule, tree, image);
    return range ? std::optional(range->derived) : std::nullopt;
  };
  Schedule schedule = singleLevel({{y2, 7}});
  EXPECT_EQ(rangeOf(schedule), loopNamed(problem, "y1"));
  // From one parallel iteration to the next nothing stays.
  schedule.numParallel = 1;
  EXPECT_EQ(rangeOf(schedule), std::nullopt);
  EXPECT_EQ(rangeOf(singleLevel({})), std::nullopt);
  // Inputs are read again or not, as caches like.
  schedule.numParallel = 0;
  EXPECT_FALSE(findRollingRange(problem, schedule,
                                buildLoopTree(problem, schedule, 0),
                                tensorNamed(problem, "X")));
}

TEST(LoopTree, DropsLoopsOfOneTrip) {
  ChainProblem chain = makeChain({1, 8, 8, 8, 8});
  EXPECT_EQ(treeOf(chain, singleLevel({{b, 1}, {k, 8}, {m, 2}, {l, 8}})),
            "m(|)");
  Schedule nested = singleLevel({{m, 4}});
  nested.levels.emplace_back();
  nested.levels.back().order = {{m, 4}, {l, 2}, {m, 2}};
  EXPECT_EQ(treeOf(chain, nested), "mlm(|)");
  EXPECT_EQ(tilesAt(chain, nested, 0, 0)[m], 4);
  EXPECT_EQ(tilesAt(chain, nested, 1, 0)[m], 2);
  EXPECT_EQ(tilesAt(chain, nested, 1, 0)[k], 8);
}

TEST(LoopTree, SharesAllLoopsOfOneOperator) {
  ChainProblem gemm = makeGemm(2, 8, 8, 8);
  EXPECT_EQ(treeOf(gemm, singleLevel({{3, 2}, {0, 1}, {1, 2}})), "kbm");
}

TEST(LoopTree, KeepsNeighboursTogether) {
  // Rows go around all three; what a pair shares goes around the pair, but
  // never around a reduction and whoever reads its result.
  ChainProblem triple = makeTriple(8, 8, 8, 8, 8);
  LoopId tm = loopNamed(triple, "m"), tl = loopNamed(triple, "l"),
         tk = loopNamed(triple, "k"), tn = loopNamed(triple, "n");
  EXPECT_EQ(treeOf(triple, singleLevel({{tm, 2}, {tl, 2}, {tk, 2}, {tn, 2}})),
            "m(l(k|n)|n)");
  EXPECT_EQ(treeOf(triple, singleLevel({{tm, 2}, {tn, 2}, {tl, 2}})),
            "m(l|n(l|))");
}

TEST(LoopTree, RecomputesWhatIsAskedFor) {
  ChainProblem chain = makeChain({1, 8, 8, 8, 8});
  EXPECT_EQ(treeOf(chain, singleLevel({{m, 2}, {n, 2, 3}, {l, 2}})), "mnl(|)");
  // The second operator cannot run for every part of the first one's reduction.
  EXPECT_EQ(treeOf(chain, singleLevel({{m, 2}, {k, 2, 3}, {l, 2}})), "m(kl|l)");
}

TEST(LoopTree, FollowsWindows) {
  // The second operator's rows decide which rows of the first one are needed;
  // the loop in the window stays with its operator.
  ConvSizes sizes;
  sizes.image = {9};
  sizes.channels = 2;
  sizes.layers = {{ConvLayer::Dense, 3, 3, 1, 1, 1},
                  {ConvLayer::Dense, 2, 3, 1, 1, 1}};
  ChainProblem chain = makeConvChain(sizes);
  LoopId h = loopNamed(chain, "y2"), r = loopNamed(chain, "r2");
  ASSERT_LT(h, chain.loops.size());
  ASSERT_LT(r, chain.loops.size());
  EXPECT_EQ(treeOf(chain, singleLevel({{h, 2}, {r, 1}})), "y2(|r2)");
}

class Verify : public testing::Test {
protected:
  void SetUp() override {
    for (const MemoryLevel &level : machine.levels) {
      schedule.levels.emplace_back();
      schedule.levels.back().name = level.name;
    }
    schedule.levels[0].order = {{b, 1}};
    schedule.levels[2].order = {{l, 64}, {m, 12}};
    schedule.numParallel = 1;
    schedule.registerTile = {6, 4, 2, 4};
    schedule.packed = {B};
  }

  void expectError(llvm::StringRef expected) {
    EXPECT_EQ(llvm::toString(verify(problem, machine, schedule)),
              expected.str());
  }

  ChainProblem problem = makeChain({8, 512, 64, 64, 512});
  Machine machine = makeZen5();
  Schedule schedule;
};

TEST_F(Verify, AcceptsAPlan) { expectError(""); }

TEST_F(Verify, RejectsOtherLevels) {
  schedule.levels[1].name = "LX";
  expectError("unknown level 'LX' where machine 'zen5' has level 'L2'");
  schedule.levels.pop_back();
  expectError("the schedule has 2 levels, machine 'zen5' has 3");
}

TEST_F(Verify, RejectsBadEntries) {
  schedule.levels[2].order[0].loop = 7;
  expectError("level 'L1': unknown loop 7");
  schedule.levels[2].order[0] = {m, 64};
  expectError("level 'L1': loop 'm' is listed twice");
  schedule.levels[2].order[0] = {l, 0};
  expectError("level 'L1': loop 'l' has tile 0, which is below 1");
  schedule.levels[1].order = {{l, 32}};
  schedule.levels[2].order[0] = {l, 64};
  expectError("level 'L1': loop 'l' has tile 64, but the level outside leaves "
              "only 32");
}

TEST_F(Verify, RejectsBadParallelLoops) {
  schedule.numParallel = 2;
  expectError("level 'L1': loop 'l' is parallel, but an operator reduces over "
              "it");
  schedule.numParallel = 4;
  expectError("4 parallel loops, but the order starts with 3 loops shared by "
              "all operators");
  schedule.numParallel = -1;
  expectError("-1 parallel loops, but the order starts with 3 loops shared by "
              "all operators");
}

TEST_F(Verify, RejectsLoopsThatAreParallelTwice) {
  schedule.levels[0].order = {{m, 96}};
  schedule.levels[1].order = {{m, 24}};
  schedule.numParallel = 2;
  expectError("level 'L2': loop 'm' is parallel, but it is so at a level "
              "outside already");
}

TEST_F(Verify, AcceptsASplitSoftmax) {
  AttentionSizes sizes;
  sizes.m = 4;
  sizes.l = 4096;
  sizes.k = sizes.n = 64;
  problem = makeAttention(sizes);
  LoopId am = loopNamed(problem, "m"), al = loopNamed(problem, "l"),
         an = loopNamed(problem, "n");
  schedule.packed.clear();
  schedule.levels[0].order = {};
  schedule.levels[1].order = {{am, 2}, {al, 512}};
  schedule.levels[2].order = {{al, 64}};
  schedule.numParallel = 2;
  expectError("");
  LoopNest tree = buildLoopTree(problem, schedule, 2);
  EXPECT_EQ(findSplit(problem, schedule, tree), 1u);
  schedule.numParallel = 1;
  EXPECT_EQ(findSplit(problem, schedule, tree), std::nullopt);
  // Parts cannot be split again.
  schedule.numParallel = 3;
  expectError("level 'L1': loop 'l' is parallel, but an operator reduces over "
              "it");
  schedule.levels[1].order = {{al, 512}, {an, 32, 3}};
  schedule.numParallel = 2;
  expectError("level 'L2': loop 'n' is parallel, but the parts of loop 'l' "
              "beside it keep states for all of it");
  sizes.isOnline = false;
  problem = makeAttention(sizes);
  schedule.numParallel = 1;
  expectError("1 parallel loops, but the order starts with 0 loops shared by "
              "all operators");
}

TEST_F(Verify, RejectsBadPacking) {
  schedule.packed = {C};
  expectError("packed tensor 'C' is not an input");
  schedule.packed = {9};
  expectError("packed tensor 9 is unknown");
  // Vectors lie along B and D.
  schedule.packed = {B, A};
  expectError("tensor 'A' cannot be packed: no operator reads vectors of it, "
              "and single elements are read where they lie; take it off the "
              "list");
  schedule.packed = {B};
  schedule.staged = {C};
  expectError("staged tensor 'C' is not an input");
  schedule.staged = {B};
  expectError("tensor 'B' is both packed and staged");
  schedule.packed.clear();
  schedule.staged.clear();
  schedule.prepacked = {C};
  expectError("prepacked tensor 'C' is not an input");
  // Rows of A are broadcast.
  schedule.prepacked = {A};
  expectError("tensor 'A' cannot be prepacked: it must be read once, vectors "
              "must lie along its last dimension, and the tiles of that loop "
              "must be multiples of the innermost one, which must be smaller "
              "than the loop");
}

TEST(Schedule, RejectsSumsThatKernelsCannotHold) {
  ChainProblem problem = makeChain({1, 64, 96, 64, 240});
  Schedule schedule;
  schedule.levels.emplace_back();
  schedule.registerTile = {6, 2, 1, 4};
  auto errorOf = [&](OperatorSet held, std::vector<TiledLoop> order) {
    schedule.held = held;
    schedule.levels[0].order.assign(order.begin(), order.end());
    return llvm::toString(verifyHeld(problem, schedule));
  };
  std::string error =
      "the sums of operator 'second' cannot be held in registers: its last "
      "loops have to be over what it adds up, and leave no more rows than the "
      "6 of a register tile; take it off the list";
  EXPECT_EQ(errorOf(2, {{n, 16, 2}, {m, 6, 2}, {l, 8, 2}}), "");
  // The loop over rows may be further out.
  EXPECT_EQ(errorOf(2, {{m, 6, 2}, {n, 16, 2}, {l, 8, 2}}), "");
  EXPECT_EQ(errorOf(2, {{n, 16, 2}, {m, 8, 2}, {l, 8, 2}}), error);
  EXPECT_EQ(errorOf(2, {{n, 16, 2}, {l, 8, 2}, {m, 6, 2}}), error);
  EXPECT_EQ(errorOf(2, {{n, 16, 2}, {m, 6, 2}}), error);
  EXPECT_EQ(errorOf(4, {}), "'held' lists an operator that the chain does not "
                            "have; it has 2");
}

/// Micro kernels take the last loops, and the loop over rows around them, of
/// the operators that are held, but no parallel ones.
TEST(Schedule, LeavesLoopsToKernels) {
  ChainProblem problem = makeChain({1, 64, 96, 64, 240});
  Schedule schedule;
  schedule.levels = {{"L2", {{m, 32}}},
                     {"L1", {{n, 16, 2}, {m, 6, 2}, {l, 8, 2}, {k, 8, 1}}}};
  schedule.registerTile = {6, 2, 1, 4};
  auto loopsWith = [&](OperatorSet held) {
    schedule.held = held;
    LoopNest tree = buildLoopTree(problem, schedule, 1);
    leaveLoopsToKernels(problem, schedule, tree);
    return pathOf(tree, 1).size();
  };
  EXPECT_EQ(loopsWith(0), 4u);
  EXPECT_EQ(loopsWith(1), 4u);
  EXPECT_EQ(loopsWith(2), 2u);
  // Bytes are those of all loops.
  Schedule without = schedule;
  without.held = 0;
  EXPECT_EQ(evaluate(problem, schedule, 1, Transfer()).volumeBytes(),
            evaluate(problem, without, 1, Transfer()).volumeBytes());
}

TEST(Schedule, PanelsOfPrepackedInputs) {
  ChainProblem problem = makeChain({1, 64, 96, 64, 240});
  const Access &columns = problem.operators[0].inputs[1];
  auto widthWith = [&](std::vector<std::vector<TiledLoop>> orders) {
    Schedule schedule;
    for (const auto &order : orders) {
      schedule.levels.emplace_back();
      schedule.levels.back().order.append(order.begin(), order.end());
    }
    return prepackedColumns(problem, schedule, 0, columns);
  };
  EXPECT_EQ(widthWith({{}, {{l, 48, 0}}}), 48);
  EXPECT_EQ(widthWith({{{l, 96, 0}}, {{l, 48, 0}, {m, 8, 0}}}), 48);
  // Loops of one trip, and those of the other operator, do not count.
  EXPECT_EQ(widthWith({{{l, 240, 0}}, {{l, 32, 1}, {l, 100, 2}}}), 32);
  EXPECT_EQ(widthWith({{{l, 100, 0}}, {{l, 48, 0}}}), std::nullopt);
  EXPECT_EQ(widthWith({{{m, 8, 0}}, {{k, 16, 0}}}), std::nullopt);
}

TEST_F(Verify, RejectsBadRegisterTiles) {
  schedule.registerTile = {8, 4, 1, 4};
  expectError("register tile 8x4 needs 37 registers of 32");
  schedule.registerTile = {0, 4, 1, 4};
  expectError("register tile 0x4 with 1 broadcasts and depth 4 has a figure "
              "out of range");
}

TEST_F(Verify, RejectsOverfullLevels) {
  schedule.levels[2].order[1].tile = 64;
  expectError("level 'L1': the live set of 65536 bytes exceeds the usable "
              "39321 of 49152 bytes");
}

/// The sizes of tiles along the columns of a mask, from the outside in, with
/// the iterations that they hold.
struct ClippedTiles {
  std::set<int64_t> sizes;
  int64_t iterations = 0;

  ClippedTiles(const ChainProblem &problem, LoopId rows, int64_t height,
               LoopId columns, int64_t width) {
    const Band &band = problem.bands.front();
    int64_t numRows = problem.loops[rows].extent;
    int64_t numColumns = problem.loops[columns].extent;
    for (int64_t i = 0; i < numRows; i += height)
      for (int64_t j = 0; j < numColumns; j += width) {
        int64_t down = std::min(height, numRows - i);
        int64_t across = std::min(width, numColumns - j);
        if (!band.touches(i, down, j, width))
          continue;
        int64_t size = 0;
        for (int64_t column = j; column < j + across; ++column)
          if (!band.most || column < i + down - 1 + *band.most)
            size = column + 1 - j;
        size = std::min(across, clippedSize(width, size));
        sizes.insert(size);
        iterations += down * size;
      }
  }
};

TEST(Masks, ClipTilesOfWhichTheyLeaveTheBeginning) {
  EXPECT_EQ(clippedSize(256, 1), 128);
  EXPECT_EQ(clippedSize(256, 129), 256);
  EXPECT_EQ(clippedSize(96, 40), 48);
  // Whole vectors.
  EXPECT_EQ(clippedSize(64, 33), 64);
  EXPECT_EQ(clippedSize(40, 5), 32);
  EXPECT_EQ(clippedSize(40, 33), 40);

  Machine machine = makeZen5();
  machine.levels.resize(1);
  std::mt19937 random(5);
  auto pick = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  for (int repetition = 0; repetition < 50; ++repetition) {
    AttentionSizes sizes;
    sizes.m = pick(1, 200);
    sizes.l = pick(33, 200);
    sizes.k = sizes.n = 16;
    ChainProblem problem = makeAttention(sizes);
    LoopId rows = loopNamed(problem, "m"), columns = loopNamed(problem, "l");
    int64_t height = pick(1, sizes.m), width = 16 * pick(1, 2 + sizes.l / 48);
    width = std::min(width, sizes.l - 1);
    Schedule schedule = singleLevel({{rows, height}, {columns, width}});
    schedule.registerTile = {4, 4, 1, 4};
    Plan whole = price(problem, machine, schedule, SolveOptions());

    Band band;
    band.row = rows;
    band.column = columns;
    band.most = pick(1, 40);
    if (pick(0, 1))
      band.least = *band.most - pick(1, 80);
    problem.bands = {band};
    ClippedTiles expected(problem, rows, height, columns, width);
    size_t depth = height < sizes.m ? 2 : 1;
    llvm::SmallVector<int64_t> found =
        clippedSizes(problem, schedule, 1, depth, columns);
    EXPECT_EQ(std::set<int64_t>(found.begin(), found.end()), expected.sizes);
    EXPECT_TRUE(llvm::is_sorted(found, std::greater<>()));

    Plan masked = price(problem, machine, schedule, SolveOptions());
    EXPECT_NEAR(masked.computeSeconds,
                whole.computeSeconds * expected.iterations /
                    (sizes.m * sizes.l),
                1e-9 * whole.computeSeconds)
        << sizes.m << " x " << sizes.l << " by " << height << " x " << width
        << ", up to " << *band.most;
  }
}

/// The share of the iterations in tiles of `rows` x `columns` that `band`
/// leaves something of.
double shareOfTiles(const Band &band, int64_t numRows, int64_t numColumns,
                    int64_t rows, int64_t columns) {
  int64_t iterations = 0;
  for (int64_t i = 0; i < numRows; i += rows)
    for (int64_t j = 0; j < numColumns; j += columns) {
      int64_t down = std::min(rows, numRows - i);
      int64_t across = std::min(columns, numColumns - j);
      if (band.touches(i, down, j, across))
        iterations += down * across;
    }
  return static_cast<double>(iterations) / (numRows * numColumns);
}

TEST(Masks, LeaveOutTilesOfOneOperator) {
  Machine machine = makeZen5();
  machine.levels.resize(1);
  std::mt19937 random(6);
  auto pick = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  for (int repetition = 0; repetition < 50; ++repetition) {
    AttentionSizes sizes;
    sizes.m = pick(20, 200);
    sizes.l = pick(40, 200);
    sizes.k = sizes.n = 16;
    ChainProblem problem = makeAttention(sizes);
    LoopId rows = loopNamed(problem, "m"), columns = loopNamed(problem, "l");
    int64_t height = pick(1, sizes.m - 1), width = pick(1, sizes.l - 1);
    Schedule schedule = singleLevel({{rows, height, 1},
                                     {columns, width, 1},
                                     {columns, width, 2},
                                     {rows, height, 2}});
    schedule.registerTile = {4, 4, 1, 4};
    // What comes between the operators goes over all of the scores, so that the
    // products' time alone is in proportion.
    auto secondsOf = [&](const Band &band) {
      problem.bands = {band};
      return price(problem, machine, schedule, SolveOptions()).computeSeconds;
    };
    auto shareOf = [&](const Band &band) {
      return shareOfTiles(band, sizes.m, sizes.l, height, width);
    };
    Band all, causal, window;
    for (Band *band : {&all, &causal, &window}) {
      band->row = rows;
      band->column = columns;
    }
    causal.most = pick(1, 40);
    window.most = pick(-20, 60);
    window.least = *window.most - pick(1, 80);
    double whole = secondsOf(all);
    double saved = whole - secondsOf(causal);
    double others = whole - secondsOf(window);
    EXPECT_NEAR(saved * (1 - shareOf(window)), others * (1 - shareOf(causal)),
                1e-9 * whole)
        << sizes.m << " x " << sizes.l << " by " << height << " x " << width;
    if (shareOf(causal) < 1) {
      EXPECT_GT(saved, 0);
    }
  }
}

} // namespace
