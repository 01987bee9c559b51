//===- PanelsTest.cpp - Panels that another program has packed ------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestProblems.h"

#include "gtest/gtest.h"

using namespace chimera::model;

namespace {

enum : TensorId { A, B, C };

SolveOptions onOneThread() {
  SolveOptions options;
  options.threads = 1;
  return options;
}

/// Of a product of `rows` rows by a constant.
static ChainProblem makeLinear(int64_t rows, int64_t columns, int64_t depth) {
  ChainProblem problem = makeGemm(1, rows, columns, depth);
  problem.tensors[B].isConstant = true;
  return problem;
}

/// A prompt and the token after it read one copy of the weights, where that
/// takes about as long as a copy for each.
TEST(Panels, ReadsConstantsFromPanelsThatAreThere) {
  Machine machine = makeZen5();
  auto columnsOf = [](const ChainProblem &problem, const Plan &plan) {
    return prepackedColumns(problem, plan.schedule, 0,
                            problem.operators[0].inputs[1]);
  };
  for (int64_t columns : {768, 2304, 3072}) {
    ChainProblem prompt = makeLinear(128, columns, 768),
                 token = makeLinear(1, columns, 768);
    auto ofPrompt = solve(prompt, machine, onOneThread());
    auto alone = solve(token, machine, onOneThread());
    ASSERT_TRUE(ofPrompt && alone);
    int64_t kept = *columnsOf(prompt, *ofPrompt);
    ASSERT_NE(kept, *columnsOf(token, *alone));
    token.tensors[B].panelColumns = kept;
    auto together = solve(token, machine, onOneThread());
    ASSERT_TRUE(together);
    EXPECT_EQ(*columnsOf(token, *together), kept);
    EXPECT_EQ(toString(verify(token, machine, together->schedule)), "");
    EXPECT_LE(together->seconds, 1.05 * alone->seconds);
  }
}

/// Panels of one vector feed few sums: those of the plan's own are worth a
/// copy.
TEST(Panels, ReadsConstantsFromItsOwnPanelsIfOthersAreSlow) {
  Machine machine = makeZen5();
  ChainProblem problem = makeLinear(128, 768, 768);
  auto alone = solve(problem, machine, onOneThread());
  problem.tensors[B].panelColumns = machine.unit.lanes;
  auto best = solve(problem, machine, onOneThread());
  ASSERT_TRUE(alone && best);
  EXPECT_EQ(best->seconds, alone->seconds);
  EXPECT_GT(*prepackedColumns(problem, best->schedule, 0,
                              problem.operators[0].inputs[1]),
            machine.unit.lanes);

  // Unless there is nothing to make them of.
  problem.tensors[B].isOnlyInPanels = true;
  auto only = solve(problem, machine, onOneThread());
  ASSERT_TRUE(only);
  EXPECT_EQ(*prepackedColumns(problem, only->schedule, 0,
                              problem.operators[0].inputs[1]),
            machine.unit.lanes);
}

} // namespace
