//===- GirRewriteTest.cpp - Rules that rewrite a Gir ----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules keep what a graph computes, whichever comes first; they end, and
// they end where graphs end up that were made in one piece. The figures of the
// PowerFusion paper are among the cases.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/GirRewrite.h"

#include "Gir/TestGraphs.h"
#include "TestProblems.h"

#include "llvm/ADT/STLExtras.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <array>
#include <cstdlib>

using namespace chimera::model;
using namespace llvm;

namespace {

int countCases(int cases) {
  const char *more = std::getenv("CHIMERA_RANDOM_CASES");
  return more ? std::atoi(more) : cases;
}

int64_t outermostBytes(const Gir &gir, const Machine &machine) {
  GirCost cost = costOf(gir, machine);
  return cost.levels[0].read + cost.levels[0].written;
}

/// How many moves there are from and to tensors that lie in memory.
int countMoves(const Gir &gir) {
  int moves = 0;
  for (const GirStage &stage : gir.stages)
    for (const GirNode &node : stage.nodes)
      if (gir.isLoad(node) || gir.isStore(node)) {
        SliceId part = gir.isLoad(node) ? node.inputs[0] : node.output;
        moves += gir.tensors[*gir.slices[part].tensor].level == 0;
      }
  return moves;
}

int countKind(const Gir &gir, GirKind kind) {
  int count = 0;
  for (const GirStage &stage : gir.stages)
    count += count_if(stage.nodes,
                      [&](const GirNode &node) { return node.kind == kind; });
  return count;
}

void expectSound(const Gir &gir, const Machine &machine) {
  Error error = gir.check(&machine);
  EXPECT_FALSE(bool(error)) << toString(std::move(error)) << "\n"
                            << printGir(gir);
}

/// True if `gir` passes its check and computes the results of `graph`.
bool isRight(const Gir &gir, const Machine &machine, const OperatorGraph &graph,
             const std::vector<std::vector<int64_t>> &expected,
             std::string &why) {
  if (Error error = gir.check(&machine)) {
    why = toString(std::move(error));
    return false;
  }
  auto simulation = simulateGir(gir, machine, inputsOf(gir, graph, expected));
  if (!simulation) {
    why = toString(simulation.takeError());
    return false;
  }
  GirCost cost = costOf(gir, machine);
  if (!equal(cost.levels, simulation->levels)) {
    why = "bytes differ";
    return false;
  }
  for (auto [id, tensor] : enumerate(gir.tensors))
    for (auto [from, named] : enumerate(graph.tensors))
      if (tensor.isResult && named.name == tensor.name &&
          simulation->tensors[id] != expected[from]) {
        why = "'" + tensor.name + "' has other values";
        return false;
      }
  return true;
}

/// Takes steps at random until there are none.
Gir rewriteAtRandom(Gir gir, const Machine &machine, std::mt19937 &random,
                    function_ref<void(const Gir &, const GirStep &)> visit) {
  for (;;) {
    std::vector<GirStep> steps = findSteps(gir);
    std::shuffle(steps.begin(), steps.end(), random);
    std::optional<Gir> next;
    for (const GirStep &step : steps)
      if ((next = applyStep(gir, step, machine))) {
        EXPECT_LT(measureOf(*next), measureOf(gir))
            << describe(step.rule).str();
        visit(*next, step);
        break;
      }
    if (!next || testing::Test::HasFailure())
      return gir;
    gir = std::move(*next);
  }
}

TEST(GirRewrite, EveryStepInEveryOrderKeepsTheValues) {
  std::mt19937 random(2);
  int equalEnds = 0, ends = 0;
  std::array<int, 12> taken = {};
  for (int cases = countCases(150); ends < cases;) {
    OperatorGraph graph = makeRandomGraph(random);
    Machine machine = makeRandomMachine(random);
    auto expanded = expandGir(graph, allOf(graph), machine, 1 + random() % 4,
                              nullptr, /*merged=*/false);
    if (expanded.empty())
      continue;
    Gir start = expanded[random() % expanded.size()].second;
    start.unitsPerBlock = 1 + random() % 2;
    if (!placeValues(start, machine))
      continue;
    auto expected = interpret(graph, makeInputs(graph, random));
    auto visit = [&](const Gir &gir, const GirStep &step) {
      ++taken[static_cast<size_t>(step.rule)];
      std::string why;
      EXPECT_TRUE(isRight(gir, machine, graph, expected, why))
          << describe(step.rule).str() << ": " << why << "\n"
          << printGir(start) << "\n"
          << printGir(gir);
    };
    Gir one = rewriteAtRandom(start, machine, random, visit);
    Gir other = rewriteAtRandom(start, machine, random, visit);
    if (HasFailure())
      return;
    ++ends;
    equalEnds += outermostBytes(one, machine) == outermostBytes(other, machine);
  }
  RecordProperty("equal ends", equalEnds);
  EXPECT_GE(equalEnds, 0.99 * ends);
  // Broadcasts and maxima have a test of their own.
  for (auto [rule, count] : enumerate(taken))
    EXPECT_TRUE(count > 0 || GirRule(rule) == GirRule::SwapBroadcast ||
                GirRule(rule) == GirRule::SwapReduce)
        << describe(GirRule(rule)).str();
}

/// Takes each step of `rule` by itself, which has to keep what `start`
/// computes. How many there are.
int countSafeSteps(const Gir &start, GirRule rule, const OperatorGraph &graph) {
  Machine machine = makeZen5();
  std::mt19937 random(4);
  auto inputs = inputsOf(start, graph, makeInputs(graph, random));
  auto before = simulateGir(start, machine, inputs);
  if (!before) {
    ADD_FAILURE() << toString(before.takeError());
    return 0;
  }
  int steps = 0;
  for (const GirStep &step : findSteps(start)) {
    if (step.rule != rule)
      continue;
    ++steps;
    std::optional<Gir> next = applyStep(start, step, machine);
    if (!next)
      continue;
    expectSound(*next, machine);
    EXPECT_LT(measureOf(*next), measureOf(start));
    auto after = simulateGir(*next, machine, inputs);
    if (!after)
      ADD_FAILURE() << toString(after.takeError());
    else
      EXPECT_EQ(before->tensors, after->tensors);
  }
  return steps;
}

TEST(GirRewrite, MonotoneArithmeticComesAfterAMaximum) {
  OperatorGraph graph = makeTwoSums(6, 10, /*alongAll=*/false);
  Gir start = expandGir(graph, allOf(graph), makeZen5(), 2)[0].second;
  for (GirStage &stage : start.stages)
    for (GirNode &node : stage.nodes)
      node.reduction = GirReduction::Max;
  ASSERT_TRUE(placeValues(start, makeZen5()));
  EXPECT_EQ(countSafeSteps(start, GirRule::SwapReduce, graph), 0);
  for (GirStage &stage : start.stages)
    for (GirNode &node : stage.nodes)
      node.isMonotone = true;
  EXPECT_EQ(countSafeSteps(start, GirRule::SwapReduce, graph), 2);
}

/// The root of a norm, a number a row, could be taken of every element.
TEST(GirRewrite, ArithmeticComesAfterABroadcast) {
  OperatorGraph graph = makeLayerNorm(6, 32);
  Gir start = expandGir(graph, allOf(graph), makeZen5(), 2)[0].second;
  ASSERT_TRUE(placeValues(start, makeZen5()));
  EXPECT_EQ(countSafeSteps(start, GirRule::SwapBroadcast, graph), 1);
}

//===----------------------------------------------------------------------===//
// Operator by operator or in one piece
//===----------------------------------------------------------------------===//

TEST(GirRewrite, EndsWhereGraphsInOnePieceAre) {
  Machine machine = makeZen5();
  for (const OperatorGraph &graph :
       {makeLayerNorm(512, 512), makeSoftmax(512, 512),
        makeSoftmax(512, 512, false), makeAddNorm(512, 512)}) {
    auto whole = expandGir(graph, allOf(graph), machine, 2);
    auto parts = expandGir(graph, allOf(graph), machine, 2, nullptr, false);
    int compared = 0;
    for (auto &part : parts) {
      const GirTemplate &decision = part.first;
      Gir &gir = part.second;
      auto same = find_if(whole, [&](const auto &entry) {
        return entry.first.rows == decision.rows &&
               entry.first.width == decision.width &&
               entry.first.parts == decision.parts && decision.parts == 1;
      });
      if (same == whole.end() || !placeValues(gir, machine) ||
          !placeValues(same->second, machine))
        continue;
      if (same->second.stages[0].tasks.empty() || compared >= 4)
        continue;
      ++compared;
      Gir rewritten = rewriteGir(gir, machine);
      expectSound(rewritten, machine);
      EXPECT_EQ(outermostBytes(rewritten, machine),
                outermostBytes(same->second, machine))
          << printGir(rewritten);
      EXPECT_LT(outermostBytes(rewritten, machine),
                outermostBytes(gir, machine));
    }
    EXPECT_GE(compared, 2);
  }
}

//===----------------------------------------------------------------------===//
// Figures of the paper
//===----------------------------------------------------------------------===//

/// Stages that hand a tensor on to each other: each moves tiles of its own
/// size. `functions` has what each computes between; 0 for nothing.
Gir makeChain(ArrayRef<int64_t> tiles, ArrayRef<int64_t> functions,
              int64_t elements) {
  Gir gir;
  gir.units = 4;
  for (size_t id = 0; id <= tiles.size(); ++id) {
    GirTensor tensor;
    tensor.name = "t" + std::to_string(id);
    tensor.elements = elements;
    tensor.isInput = id == 0;
    tensor.isResult = id == tiles.size();
    gir.tensors.push_back(tensor);
  }
  for (auto [id, tile] : enumerate(tiles)) {
    auto loop = static_cast<LoopId>(gir.loops.size());
    gir.loops.push_back({"i" + std::to_string(id), elements, tile});
    GirStage &stage = gir.stages.emplace_back();
    stage.tasks = {loop};
    auto addSlice = [&, tile = tile](std::optional<TensorId> tensor) {
      GirSlice slice;
      slice.tensor = tensor;
      if (tensor)
        slice.terms = {{loop, tile}};
      slice.width = {tile, loop};
      slice.stride = tile;
      gir.slices.push_back(slice);
      return static_cast<SliceId>(gir.slices.size() - 1);
    };
    GirNode load, store;
    load.depth = store.depth = 1;
    load.inputs = {addSlice(id)};
    load.output = addSlice(std::nullopt);
    stage.nodes.push_back(load);
    SliceId value = load.output;
    if (functions[id]) {
      GirNode node;
      node.kind = GirKind::Elementwise;
      node.depth = 1;
      node.function = functions[id];
      node.inputs = {value};
      value = node.output = addSlice(std::nullopt);
      stage.nodes.push_back(node);
    }
    store.inputs = {value};
    store.output = addSlice(id + 1);
    stage.nodes.push_back(store);
    if (id == 0)
      continue;
    GirNode sync;
    sync.kind = GirKind::Sync;
    sync.inputs = {gir.stages[id - 1].nodes.back().output};
    sync.output = load.inputs[0];
    gir.stages[id - 1].nodes.push_back(sync);
  }
  return gir;
}

GirScope scopeBetween(int64_t written, int64_t read, int64_t elements) {
  Gir gir = makeChain({written, read}, {0, 0}, elements);
  gir.units = 8;
  gir.unitsPerBlock = 4;
  const GirNode &sync = gir.stages[0].nodes.back();
  return findScope(gir, {0, sync.inputs[0]}, {1, sync.output});
}

/// Figure 5: four warps a block.
TEST(GirRewrite, FindsTheScopesOfThePaper) {
  // Each of 8 units has 4 tiles of 8 elements; the same slices read again.
  Gir gir = makeChain({8, 8}, {0, 0}, 256);
  gir.units = 8;
  gir.unitsPerBlock = 4;
  gir.loops.pop_back();
  gir.stages[1].tasks = {0};
  for (GirSlice &slice : gir.slices) {
    slice.width.loop = 0;
    for (Term &term : slice.terms)
      term.loop = 0;
  }
  const GirNode &sync = gir.stages[0].nodes.back();
  EXPECT_EQ(findScope(gir, {0, sync.inputs[0]}, {1, sync.output}),
            GirScope::Lane);
  // The same units read other slices of what they have written.
  EXPECT_EQ(scopeBetween(8, 16, 256), GirScope::Unit);
  EXPECT_EQ(scopeBetween(8, 32, 256), GirScope::Unit);
  EXPECT_EQ(scopeBetween(8, 64, 256), GirScope::Device);
  EXPECT_EQ(scopeBetween(8, 96, 256), GirScope::Device);
  // Each unit reads every fourth element of what its block has written, ...
  Gir block = makeChain({32, 32}, {0, 0}, 256);
  block.units = 8;
  block.unitsPerBlock = 4;
  block.loops.push_back({"block", 2, 1});
  block.loops.push_back({"unit", 4, 1});
  block.stages[1].tasks = {2, 3};
  SliceId read = block.stages[0].nodes.back().output;
  block.slices[read].terms = {{2, 128}, {3, 1}};
  block.slices[read].num = {32, std::nullopt};
  block.slices[read].stride = 4;
  block.slices[read].width = GirExtent();
  SliceId written = block.stages[0].nodes.back().inputs[0];
  EXPECT_EQ(findScope(block, {0, written}, {1, read}), GirScope::Block);
  // ... and here every eighth of what all have written.
  block.slices[read].terms = {{2, 4}, {3, 1}};
  block.slices[read].stride = 8;
  EXPECT_EQ(findScope(block, {0, written}, {1, read}), GirScope::Device);
}

/// Figure 6: arithmetic between two syncs of all units keeps four moves alive,
/// two of which merge once it has come after them. What passes from unit to
/// unit is a sum of two inputs, which does not swap with moves.
TEST(GirRewrite, SwappingLetsTheMovesOfFigureSixMerge) {
  Machine machine = makeZen5();
  Gir start = makeChain({64, 96, 160}, {0, 7, 0}, 1 << 20);
  GirStage &first = start.stages[0];
  start.tensors.push_back(start.tensors[0]);
  start.tensors.back().name = "u";
  GirSlice part = start.slices[first.nodes[0].inputs[0]];
  part.tensor = start.tensors.size() - 1;
  start.slices.push_back(part);
  GirNode load = first.nodes[0];
  load.inputs = {static_cast<SliceId>(start.slices.size() - 1)};
  start.slices.push_back(start.slices[first.nodes[0].output]);
  load.output = start.slices.size() - 1;
  GirNode add;
  add.kind = GirKind::Elementwise;
  add.depth = 1;
  add.inputs = {first.nodes[0].output, load.output};
  start.slices.push_back(start.slices[load.output]);
  add.output = start.slices.size() - 1;
  first.nodes[1].inputs = {add.output};
  first.nodes.insert(first.nodes.begin() + 1, {load, add});
  ASSERT_TRUE(placeValues(start, machine));
  expectSound(start, machine);
  // Beside those of the inputs and of the result.
  EXPECT_EQ(countMoves(start), 3 + 4);
  // Nothing merges before something has been swapped.
  for (const GirStep &step : findSteps(start))
    EXPECT_EQ(kindOf(step.rule), GirRuleKind::Swapping);
  Gir end = rewriteGir(start, machine);
  expectSound(end, machine);
  EXPECT_EQ(countMoves(end), 3 + 2);
  EXPECT_EQ(end.stages.size(), 2u);
}

/// Figure 8: SiLU is a sigmoid and a product, which read the same slices.
TEST(GirRewrite, SiluReadsAndWritesOnce) {
  GraphBuilder b;
  TensorId x = b.tensor("x", {1 << 20}), s = b.tensor("s", {1 << 20});
  TensorId y = b.tensor("y", {1 << 20}, true);
  b.add("sigmoid", {1 << 20}, {{x, {0}}}, {s, {0}}, 2, 1);
  b.add("product", {1 << 20}, {{x, {0}}, {s, {0}}}, {y, {0}});
  Machine machine = makeZen5();
  auto graphs = expandGir(b.graph, allOf(b.graph), machine, 2, nullptr, false);
  ASSERT_FALSE(graphs.empty());
  Gir &start = graphs[0].second;
  ASSERT_TRUE(placeValues(start, machine));
  EXPECT_EQ(countMoves(start), 5);
  EXPECT_EQ(countKind(start, GirKind::Sync), 1);
  Gir end = rewriteGir(start, machine);
  expectSound(end, machine);
  EXPECT_EQ(countMoves(end), 2);
  EXPECT_EQ(countKind(end, GirKind::Sync), 0);
  EXPECT_EQ(end.stages.size(), 1u);
}

//===----------------------------------------------------------------------===//
// Mutations
//===----------------------------------------------------------------------===//

/// The scope in which the sync at hand passes something on.
GirScope neededScope(const Gir &gir, unsigned stage, const GirNode &sync) {
  if (!gir.isBoundary(sync))
    return sync.scope;
  for (unsigned later = stage + 1; later < gir.stages.size(); ++later)
    for (const GirNode &node : gir.stages[later].nodes)
      if (gir.isLoad(node) && node.inputs[0] == sync.output)
        return findScope(gir, {stage, sync.inputs[0]}, {later, sync.output});
  return GirScope::Lane;
}

/// Breaks something, if there is something to break.
bool mutate(Gir &gir, std::mt19937 &random) {
  SmallVector<std::pair<size_t, size_t>> nodes;
  for (auto [stage, each] : enumerate(gir.stages))
    for (size_t id = 0; id < each.nodes.size(); ++id)
      nodes.push_back({stage, id});
  auto [stage, id] = nodes[random() % nodes.size()];
  GirNode &node = gir.stages[stage].nodes[id];
  GirSlice &slice = gir.slices[random() % 2 ? node.output : node.inputs[0]];
  switch (random() % 5) {
  case 0: // A sync less.
    if (node.kind != GirKind::Sync ||
        neededScope(gir, stage, node) == GirScope::Lane)
      return false;
    gir.stages[stage].nodes.erase(gir.stages[stage].nodes.begin() + id);
    return true;
  case 1: // A wider slice.
    ++slice.width.size;
    return true;
  case 2: // A narrower scope.
    if (node.kind != GirKind::Sync || node.scope == GirScope::Lane ||
        neededScope(gir, stage, node) < node.scope)
      return false;
    node.scope = static_cast<GirScope>(static_cast<int>(node.scope) - 1);
    return true;
  case 3: // Another base.
    if (!slice.tensor)
      return false;
    ++slice.offset;
    return true;
  default: // Another distance.
    if (!slice.tensor || slice.num.size == 1)
      return false;
    ++slice.stride;
    return true;
  }
}

TEST(GirRewrite, CheckOrWalkNoticeWhatIsBroken) {
  std::mt19937 random(3);
  int noticed = 0, broken = 0;
  while (broken < 500) {
    OperatorGraph graph = makeRandomGraph(random);
    Machine machine = makeRandomMachine(random);
    auto expanded = expandGir(graph, allOf(graph), machine, 1 + random() % 4,
                              nullptr, random() % 2 == 0);
    if (expanded.empty())
      continue;
    Gir gir = expanded[random() % expanded.size()].second;
    if (!placeValues(gir, machine) || !mutate(gir, random))
      continue;
    ++broken;
    std::string why;
    auto expected = interpret(graph, makeInputs(graph, random));
    noticed += !isRight(gir, machine, graph, expected, why);
  }
  EXPECT_EQ(noticed, broken);
}

} // namespace
