//===- GirTemplatesTest.cpp - Graphs for a set of operators ---------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Norms, softmax, reductions and moves of usual sizes on one machine, with the
// bytes that they have to come out at.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/GirTemplates.h"

#include "Gir/TestGraphs.h"
#include "TestProblems.h"

#include "Chimera/Model/GirRewrite.h"
#include "Chimera/Model/MemoryPass.h"

#include "gtest/gtest.h"

using namespace chimera::model;
using namespace llvm;

namespace {

/// The choice for all operators on two cores, which has to be sound.
GirChoice chooseFor(const OperatorGraph &graph) {
  GirRefusal why = GirRefusal::NoTasks;
  std::optional<GirChoice> choice =
      chooseGir(graph, allOf(graph), makeZen5(), 2, &why);
  if (!choice) {
    ADD_FAILURE() << describe(why).str();
    return {};
  }
  Machine machine = makeZen5();
  Error error = choice->graph.check(&machine);
  EXPECT_FALSE(bool(error)) << toString(std::move(error));
  EXPECT_LE(choice->candidates, 200u);
  return *choice;
}

constexpr double mebi = 1 << 20;

TEST(GirTemplates, EveryRowOfANormIsReadOnce) {
  GirChoice norm = chooseFor(makeLayerNorm(8192, 2048));
  // Each unit reads gamma and beta for itself.
  EXPECT_EQ(norm.compulsoryBytes, 128 * mebi + 2 * 8192);
  EXPECT_EQ(norm.bytesIntoOutermost, 128 * mebi + 4 * 8192);
  EXPECT_TRUE(norm.decision.bypasses);
  EXPECT_EQ(norm.decision.width, 2048);
  EXPECT_EQ(norm.cost.levels[0].allocated, 0);

  GirChoice both = chooseFor(makeAddNorm(8192, 2048));
  EXPECT_EQ(both.compulsoryBytes, 256 * mebi + 8192);
  EXPECT_EQ(both.bytesIntoOutermost, 256 * mebi + 2 * 8192);
  EXPECT_EQ(chooseFor(makeSoftmax(8192, 2048)).bytesIntoOutermost, 128 * mebi);
}

TEST(GirTemplates, ColumnsArePanels) {
  GirChoice choice = chooseFor(makeSoftmax(2048, 8192, false));
  EXPECT_EQ(choice.bytesIntoOutermost, 128 * mebi);
  EXPECT_EQ(choice.decision.rows, 2048);
  EXPECT_LT(choice.decision.width, 8192);
}

TEST(GirTemplates, ReductionsOfOneInputShareItsRead) {
  for (bool alongAll : {false, true}) {
    GirChoice choice = chooseFor(makeTwoSums(8192, 2048, alongAll));
    EXPECT_EQ(choice.graph.stages.size(), 2u);
    EXPECT_GE(choice.decision.parts, 2);
    EXPECT_EQ(choice.cost.levels[0].read >> 20, 64);
    EXPECT_LT(choice.bytesIntoOutermost, 1.01 * choice.compulsoryBytes);
  }
}

TEST(GirTemplates, MovesMoveNothingTwice) {
  EXPECT_EQ(chooseFor(makeTranspose(8192, 2048)).bytesIntoOutermost,
            128 * mebi);
  // ShuffleNet, [2, 58, 784]: everything goes in once and out once.
  GirChoice shuffle = chooseFor(makeShuffle(58, 784));
  EXPECT_EQ(shuffle.bytesIntoOutermost, 2 * 2 * 58 * 784 * 4);
  EXPECT_EQ(shuffle.graph.stages.size(), 1u);
}

/// Small groups: the choice is the best of all combinations, and hardly ever do
/// the rules make a faster one of operators one by one.
TEST(GirTemplates, ChoosesTheFastestOfAll) {
  std::mt19937 random(6);
  int groups = 0, slower = 0;
  while (groups < 100) {
    OperatorGraph graph = makeRandomGraph(random);
    Machine machine = makeRandomMachine(random);
    int64_t units = 1 + random() % 4;
    std::optional<GirChoice> choice =
        chooseGir(graph, allOf(graph), machine, units);
    if (!choice || graph.operators.size() > 4)
      continue;
    ++groups;
    double best = choice->seconds * 2;
    for (auto &[decision, gir] : expandGir(graph, allOf(graph), machine, units))
      if (placeValues(gir, machine))
        best = std::min(best, costOf(gir, machine).seconds);
    EXPECT_EQ(choice->seconds, best);
    EXPECT_EQ(choice->seconds, costOf(choice->graph, machine).seconds);
    double rewritten = best * 2;
    for (auto &[decision, gir] :
         expandGir(graph, allOf(graph), machine, units, nullptr, false))
      if (placeValues(gir, machine))
        rewritten = std::min(
            rewritten,
            costOf(rewriteGir(std::move(gir), machine), machine).seconds);
    slower += rewritten < best * 0.999;
  }
  // Where operators have tasks of their own, two stages may beat one.
  EXPECT_LE(slower, 5);
}

TEST(GirTemplates, SaysWhyThereIsNoGraph) {
  auto whyNot = [](const OperatorGraph &graph) {
    GirRefusal why = GirRefusal::NoRoom;
    EXPECT_FALSE(chooseGir(graph, allOf(graph), makeZen5(), 2, &why));
    return why;
  };
  OperatorGraph graph = makeLayerNorm(64, 64);
  graph.operators[1].body = BodyKind::Product;
  EXPECT_EQ(whyNot(graph), GirRefusal::NotMemoryIntensive);
  graph = makeLayerNorm(64, 64);
  graph.operators[0].inputs[0].indices[0] = Index();
  graph.operators[0].inputs[0].indirect = {0};
  EXPECT_EQ(whyNot(graph), GirRefusal::Indirect);
  graph = makeLayerNorm(64, 64);
  graph.operators[0].inputs[0].indices[0].offset = -1;
  EXPECT_EQ(whyNot(graph), GirRefusal::Window);
  // Each row of the result wants a column of what is made.
  GraphBuilder b;
  TensorId x = b.tensor("x", {64, 64}), y = b.tensor("y", {64, 64});
  TensorId z = b.tensor("z", {64, 64}, true);
  b.add("one", {64, 64}, {{x, {0, 1}}}, {y, {0, 1}});
  b.add("two", {64, 64}, {{y, {0, 1}}, {y, {1, 0}}}, {z, {0, 1}});
  EXPECT_EQ(whyNot(b.graph), GirRefusal::NoCommonUnit);
}

TEST(GirTemplates, PricesLikeAMemoryPass) {
  // One elementwise operator goes over its operands once, like any pass.
  GraphBuilder b;
  TensorId x = b.tensor("x", {4096, 4096}),
           y = b.tensor("y", {4096, 4096}, true);
  b.add("f", {4096, 4096}, {{x, {0, 1}}}, {y, {0, 1}});
  Machine machine = makeZen5();
  machine.overheads.regionSeconds = 5e-6;
  machine.overheads.blockCycles = 0;
  unsigned plain = 0;
  for (auto &[decision, gir] : expandGir(b.graph, allOf(b.graph), machine, 2)) {
    if (decision.bypasses || gir.tasksOf(gir.stages[0]) % 2)
      continue;
    ASSERT_TRUE(placeValues(gir, machine));
    GirCost cost = costOf(gir, machine);
    MemoryPass pass;
    pass.readBytes = pass.writtenBytes = 64 * mebi;
    pass.cycles = cost.cycles;
    EXPECT_DOUBLE_EQ(cost.seconds, secondsOf(pass, machine, 2));
    ++plain;
  }
  EXPECT_GT(plain, 5u);
}

} // namespace
