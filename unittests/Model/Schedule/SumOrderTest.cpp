//===- SumOrderTest.cpp - The order in which a sum is taken ---------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A result has the same bits on any number of threads if the order of its sums
// is up to the problem and the target: which tiles keep it, and that plans have
// no others.
//
//===----------------------------------------------------------------------===//

#include "TestProblems.h"

#include "gtest/gtest.h"

using namespace chimera::model;

namespace {

/// The loops of a convolution, in the order of the builder.
enum : LoopId { Y, X, R, S, Channel, Filter };

struct Window {
  int64_t image = 1, taps = 1, channels = 1, filters = 1;
  bool isConstant = true;
};

/// Y[y,x,f] = X[y+r,x+s,c] * W[r,s,c,f].
ChainProblem makeWindow(const Window &sizes) {
  ProblemBuilder builder;
  builder.loop("y", sizes.image);
  builder.loop("x", sizes.image);
  builder.loop("r", sizes.taps);
  builder.loop("s", sizes.taps);
  builder.loop("c", sizes.channels);
  builder.loop("f", sizes.filters);
  auto windowOf = [](LoopId pixel, LoopId tap) {
    Index index;
    index.terms = {{pixel, 1}, {tap, 1}};
    return index;
  };
  int64_t padded = sizes.image + sizes.taps - 1;
  TensorId image =
      builder.array("X", Role::Input, {padded, padded, sizes.channels});
  TensorId filters = builder.tensor("W", Role::Input, {R, S, Channel, Filter});
  TensorId result = builder.tensor("Y", Role::Output, {Y, X, Filter});
  builder.problem.tensors[filters].isConstant = sizes.isConstant;
  builder.operation("conv",
                    {Access{image, {windowOf(Y, R), windowOf(X, S), Channel}},
                     builder.access(filters)},
                    builder.access(result), X, Filter);
  return builder.problem;
}

/// Sixteen registers of 32 bytes beside small caches.
Machine makeFewRegisters() {
  Machine machine = makeZen5();
  machine.unit.lanes = 8;
  machine.unit.registers = 16;
  machine.levels[1].capacityBytes = 512 << 10;
  machine.levels[2].capacityBytes = 32 << 10;
  return machine;
}

TEST(SumOrder, PartsAreUpToProblemAndTarget) {
  Machine few = makeFewRegisters(), tiles = makeZen5();
  tiles.matrix.emplace();
  EXPECT_EQ(longPartOf(few), longReductionPart);
  EXPECT_EQ(longPartOf(makeZen5()), longReductionPart);
  EXPECT_EQ(longPartOf(tiles), 0);
  auto partOf = [&](const Window &sizes) {
    ChainProblem problem = makeWindow(sizes);
    return orderedUnit(problem, problem.operators[0], Channel, longPartOf(few));
  };
  EXPECT_EQ(partOf({14, 3, 512, 64}), 256);
  // What filters take of all taps and a part fits the second level.
  EXPECT_EQ(partOf({14, 5, 512, 64}), 64);
  EXPECT_EQ(partOf({14, 31, 512, 64}), reductionPart);
  EXPECT_EQ(partOf({14, 3, 512, 64, /*isConstant=*/false}), reductionPart);
  // One loop is taken from begin to end, whatever cuts it.
  EXPECT_EQ(partOf({14, 1, 512, 64}), 1);
}

TEST(SumOrder, LoopsAroundAPartAreWhole) {
  // A product over two loops that lie apart.
  ProblemBuilder builder;
  LoopId m = builder.loop("m", 64), outer = builder.loop("o", 64),
         inner = builder.loop("i", 64), n = builder.loop("n", 64);
  TensorId a = builder.tensor("A", Role::Input, {m, outer, inner});
  TensorId b = builder.tensor("B", Role::Input, {outer, inner, n});
  TensorId c = builder.tensor("C", Role::Output, {m, n});
  Operator op = builder.contraction("product", {a, b}, c, m, n);
  EXPECT_EQ(partedLoop(builder.problem, op), inner);
  EXPECT_EQ(orderedUnit(builder.problem, op, outer, 256), 64);
  // All of the inner loop is one part: the outer one may end anywhere.
  builder.problem.tensors[b].isConstant = true;
  EXPECT_EQ(orderedUnit(builder.problem, op, inner, 256), 32);
  builder.problem.loops[inner].extent = 32;
  EXPECT_EQ(orderedUnit(builder.problem, op, outer, 256), 1);
}

TEST(SumOrder, TilesEndWherePartsDo) {
  ChainProblem problem = makeWindow({14, 3, 520, 64});
  Schedule schedule;
  schedule.levels = {{"L2", {}}, {"L1", {}}};
  schedule.registerTile = {6, 2, 1, 4};
  schedule.registerTile.part = 256;
  auto isInOrder = [&](int64_t outer, int64_t inner) {
    schedule.levels[0].order = {{Channel, outer}};
    schedule.levels[1].order = {{Filter, 16}, {Y, 1}, {X, 6}, {Channel, inner}};
    return addsUpInOrder(problem, schedule);
  };
  EXPECT_TRUE(isInOrder(520, 520));
  EXPECT_TRUE(isInOrder(512, 256));
  EXPECT_FALSE(isInOrder(512, 128));
  EXPECT_FALSE(isInOrder(260, 260));
  // Kernels that hold their sums have the whole reduction.
  schedule.held = 1;
  EXPECT_TRUE(isInOrder(520, 8));
  // Short parts take any eight channels.
  schedule.held = 0;
  schedule.registerTile.part = 0;
  EXPECT_TRUE(isInOrder(264, 8));
  EXPECT_FALSE(isInOrder(260, 8));
}

TEST(SumOrder, PlansForAnyNumberOfThreadsKeepIt) {
  for (const Machine &machine : {makeFewRegisters(), makeZen5()})
    for (bool isConstant : {true, false})
      for (const Window &sizes :
           {Window{7, 3, 64, 8}, Window{8, 3, 130, 24}, Window{18, 3, 300, 16},
            Window{4, 5, 40, 17}, Window{14, 11, 64, 64},
            Window{28, 3, 520, 64},
            // The taps of one channel are more than the first level holds.
            Window{7, 32, 3, 256}, Window{5, 40, 1, 48}}) {
        Window window = sizes;
        window.isConstant = isConstant;
        ChainProblem problem = makeWindow(window);
        for (int64_t threads : {1, 2, 3, 8}) {
          SolveOptions options;
          options.threads = threads;
          auto plan = solve(problem, machine, options);
          ASSERT_TRUE(plan) << machine.unit.lanes << " lanes, "
                            << sizes.channels << " channels";
          EXPECT_TRUE(addsUpInOrder(problem, plan->schedule));
        }
      }
}

} // namespace
