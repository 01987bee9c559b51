//===- EpilogueCostTest.cpp - Parts of a softmax --------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention of few rows whose keys are cut: parts of a softmax are those of
// loops that scores and values share, and each waits for its rows.
//
//===----------------------------------------------------------------------===//

#include "TestProblems.h"

#include "gtest/gtest.h"

using namespace llvm;
using namespace chimera::model;

namespace {

AttentionSizes withRows(int64_t rows) {
  AttentionSizes sizes;
  sizes.m = rows;
  sizes.l = 1024;
  sizes.k = sizes.n = 64;
  return sizes;
}

/// Cycles with the keys in parts of 512, and of 64 inside of these: of both
/// operators together, or of each by itself.
double cyclesOf(int64_t rows, bool areShared) {
  Machine machine = makeZen5();
  ChainProblem problem = makeAttention(withRows(rows));
  LoopId keys = loopNamed(problem, "l");
  Schedule schedule;
  schedule.levels.resize(machine.levels.size());
  schedule.levels[1].order = {{keys, 512}};
  if (areShared)
    schedule.levels[2].order = {{keys, 64}};
  else
    schedule.levels[2].order = {{keys, 64, 0b01}, {keys, 64, 0b10}};
  schedule.registerTile = {4, 4, 2, 4};
  SolveOptions options;
  options.threads = 1;
  return price(problem, machine, schedule, options).computeSeconds *
         machine.contractionClock();
}

/// What the 14 parts take that sixteen are more than two.
double ofMoreParts(int64_t rows) {
  return cyclesOf(rows, true) - cyclesOf(rows, false);
}

TEST(EpilogueCost, EachPartOfASoftmaxWaitsForItsRows) {
  VectorUnit unit = makeZen5().unit;
  // To halve lanes for a maximum and for a sum.
  double instructions = unit.exponentialCost + 4 * 4;
  // Four vectors of values are corrected for each row.
  double corrections = 4 * (1 / unit.fmaPerCycle + 1 / unit.loadsPerCycle +
                            1 / unit.storesPerCycle);
  EXPECT_NEAR(ofMoreParts(1),
              14 * (instructions * unit.fmaLatency + corrections), 1e-6);
  EXPECT_NEAR(ofMoreParts(4),
              14 * (instructions * (unit.fmaLatency + 3 / unit.fmaPerCycle) +
                    4 * corrections),
              1e-6);
}

} // namespace
