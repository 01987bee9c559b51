//===- CrossingVectorsTest.cpp - Vectors across two lines of a cache ------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestProblems.h"

#include "Chimera/Model/Algorithms.h"
#include "Chimera/Model/AlignedRow.h"

#include "llvm/ADT/STLExtras.h"

#include "gtest/gtest.h"

using namespace chimera::model;

namespace {

enum : TensorId { A, B, C };

SolveOptions onOneThread() {
  SolveOptions options;
  options.threads = 1;
  return options;
}

/// A core that loads as many vectors as lines, but has two multiply-adds.
Machine makeLoadBound() {
  Machine machine = makeZen5();
  machine.unit.loadsPerCycle = 1;
  return machine;
}

/// A product of B with 6 rows and 4 vectors of columns, whose rows are
/// `elements` apart, in one block.
ChainProblem makeBlock(int64_t elements, int64_t depth) {
  ChainProblem problem = makeGemm(1, 6, 64, depth);
  problem.tensors[B].strides = {depth * elements, elements, 1};
  return problem;
}

double cyclesOf(const ChainProblem &problem, const Machine &machine,
                bool isPacked = false) {
  Schedule schedule;
  schedule.levels.resize(machine.levels.size());
  schedule.registerTile = {6, 4, 2, 4};
  if (isPacked)
    schedule.packed = {B};
  return price(problem, machine, schedule, onOneThread()).computeSeconds *
         machine.unit.cyclesPerSecond;
}

TEST(CrossingVectors, TakeTwoLoads) {
  Machine machine = makeLoadBound();
  constexpr int64_t depth = 64;
  double aligned = cyclesOf(makeBlock(64, depth), machine);
  // Rows of 66 elements start at each eighth of a line: seven vectors of eight
  // cross. 6 broadcasts and 4 vectors take 13.5 cycles instead of 12.
  EXPECT_NEAR(cyclesOf(makeBlock(66, depth), machine), aligned + 1.5 * depth,
              1e-6 * aligned);
  // Those of 72 start at half a line.
  EXPECT_NEAR(cyclesOf(makeBlock(72, depth), machine), aligned, 1e-6 * aligned);
  EXPECT_NEAR(cyclesOf(makeBlock(80, depth), machine), aligned, 1e-6 * aligned);
  // Two loads in a cycle are enough for either.
  EXPECT_NEAR(cyclesOf(makeBlock(66, depth), makeZen5()), aligned,
              1e-6 * aligned);
}

TEST(CrossingVectors, OfHalfALine) {
  // Vectors of eight cross a line from one start of two.
  Machine machine = makeLoadBound();
  machine.unit.lanes = 8;
  ChainProblem problem = makeGemm(1, 6, 32, 64);
  problem.tensors[B].strides = {64 * 36, 36, 1};
  ChainProblem aligned = problem;
  aligned.tensors[B].strides = {64 * 40, 40, 1};
  double whole = cyclesOf(aligned, machine);
  // Starts at each quarter of a line, 16 bytes: of 0, 16, 32 and 48, the last.
  EXPECT_NEAR(cyclesOf(problem, machine), whole, 1e-6 * whole);
  machine.unit.fmaPerCycle = 4;
  whole = cyclesOf(aligned, machine);
  EXPECT_NEAR(cyclesOf(problem, machine), whole + 64 * 4 * 0.25, 1e-6 * whole);
}

TEST(CrossingVectors, AreStoredTwice) {
  Machine machine = makeLoadBound();
  ChainProblem aligned = makeBlock(64, 8), crossing = makeBlock(64, 8);
  crossing.tensors[C].strides = {6 * 66, 66, 1};
  // Of 24 stores, 21 once more; half of that is hidden.
  EXPECT_NEAR(cyclesOf(crossing, machine) - cyclesOf(aligned, machine),
              0.5 * 21, 1e-6);
}

TEST(CrossingVectors, AreCopiedIfManyRowsReadThem) {
  Machine machine = makeLoadBound();
  auto packs = [&](int64_t rows, int64_t columns, int64_t apart) {
    ChainProblem problem = makeGemm(1, rows, columns, 96);
    problem.tensors[B].strides = {96 * apart, apart, 1};
    auto plan = solve(problem, machine, onOneThread());
    EXPECT_TRUE(plan.has_value());
    return plan && llvm::is_contained(plan->schedule.packed, B);
  };
  EXPECT_TRUE(packs(384, 64, 930));
  EXPECT_FALSE(packs(384, 64, 928));
  EXPECT_FALSE(packs(6, 64, 930));
  // Rows of a copy would cross lines as well.
  EXPECT_FALSE(packs(384, 17, 17));
  EXPECT_EQ(alignedRow(17, 16), 17);
  EXPECT_EQ(alignedRow(22, 16), 32);
  machine.unit.loadsPerCycle = 2;
  EXPECT_FALSE(packs(384, 64, 930));
}

} // namespace
