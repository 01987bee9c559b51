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

#include "llvm/ADT/STLExtras.h"

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

/// Figure 3, from the merged tensor on: [2, c, hw] is dealt out in turn, seen
/// as [2 c, hw], and parted in two. Nothing is left but loads and stores.
TEST(GirTemplates, ShufflesAndSplitsInOneMove) {
  GraphBuilder b;
  int64_t c = 6, hw = 35;
  TensorId x = b.tensor("x", {2, c, hw}), s = b.tensor("s", {c, 2, hw});
  TensorId r = b.tensor("r", {2 * c, hw});
  b.add("shuffle", {c, 2, hw}, {{x, {1, 0, 2}}}, {s, {0, 1, 2}}).body =
      BodyKind::Move;
  GraphOperator &reshape =
      b.add("reshape", {2 * c, hw}, {{s, {}}}, {r, {0, 1}});
  reshape.body = BodyKind::Move;
  reshape.inputs[0].isReshaped = true;
  for (int64_t half : {0, 1}) {
    TensorId y = b.tensor("y" + std::to_string(half), {c, hw}, true);
    GraphOperator &part = b.add("split", {c, hw}, {{r, {0, 1}}}, {y, {0, 1}});
    part.body = BodyKind::Move;
    part.inputs[0].indices[0].offset = half * c;
  }
  GirChoice choice = chooseFor(b.graph);
  ASSERT_EQ(choice.graph.stages.size(), 1u);
  EXPECT_EQ(choice.graph.stages[0].nodes.size(), 4u);
  std::mt19937 random(7);
  auto expected = interpret(b.graph, makeInputs(b.graph, random));
  auto walk = simulateGir(choice.graph, makeZen5(),
                          inputsOf(choice.graph, b.graph, expected));
  ASSERT_TRUE(bool(walk)) << toString(walk.takeError());
  for (auto [id, tensor] : enumerate(choice.graph.tensors))
    for (auto [from, named] : enumerate(b.graph.tensors))
      if (tensor.isResult && named.name == tensor.name) {
        EXPECT_EQ(walk->tensors[id], expected[from]);
      }
}

/// Rotary embedding: the halves of a row are turned by the same angles.
TEST(GirTemplates, RotatesInOnePass) {
  GraphBuilder b;
  int64_t heads = 32, rows = 512, half = 64;
  TensorId x = b.tensor("x", {heads, rows, 2 * half});
  TensorId sine = b.tensor("sin", {rows, half});
  TensorId cosine = b.tensor("cos", {rows, half});
  for (int64_t part : {0, 1}) {
    TensorId y =
        b.tensor("y" + std::to_string(part), {heads, rows, half}, true);
    GraphOperator &op = b.add(
        "rotate", {heads, rows, half},
        {{x, {0, 1, 2}}, {x, {0, 1, 2}}, {sine, {1, 2}}, {cosine, {1, 2}}},
        {y, {0, 1, 2}}, 2);
    op.inputs[1 - part].indices[2].offset = half;
  }
  GirChoice choice = chooseFor(b.graph);
  EXPECT_EQ(choice.graph.stages.size(), 1u);
  EXPECT_EQ(choice.compulsoryBytes, (2 * heads + 1) * rows * 2 * half * 4);
  EXPECT_LT(choice.bytesIntoOutermost, 1.05 * choice.compulsoryBytes);
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
