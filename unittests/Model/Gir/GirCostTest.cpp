//===- GirCostTest.cpp - Bytes and values of Girs, walked and counted -----===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//
// Random programs, machines and templates: the closed forms against a walk over
// all tasks, and what the graphs compute against what the operators compute.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/GirCost.h"

#include "Gir/TestGraphs.h"
#include "TestProblems.h"

#include "Chimera/Model/MemoryPass.h"

#include "llvm/ADT/STLExtras.h"

#include "gtest/gtest.h"

#include <cstdlib>

using namespace chimera::model;
using namespace llvm;

namespace {

int countCases(int cases) {
  const char *more = std::getenv("CHIMERA_RANDOM_CASES");
  return more ? std::atoi(more) : cases;
}

std::string textOf(const GirTraffic &traffic) {
  return std::to_string(traffic.read) + " read, " +
         std::to_string(traffic.written) + " written, " +
         std::to_string(traffic.allocated) + " allocated";
}

/// Compares the closed forms of `gir` with a walk, and its results with
/// `expected`, by tensors of `graph`.
void expectAgreement(const Gir &gir, const Machine &machine,
                     const OperatorGraph &graph,
                     const std::vector<std::vector<int64_t>> &expected) {
  Error error = gir.check(&machine);
  ASSERT_FALSE(bool(error)) << toString(std::move(error));
  auto simulation = simulateGir(gir, machine, inputsOf(gir, graph, expected));
  ASSERT_TRUE(bool(simulation)) << toString(simulation.takeError());
  GirCost cost = costOf(gir, machine);
  SmallVector<int64_t, 4> held(machine.levels.size(), 0);
  for (auto [predicted, walked] : zip_equal(cost.levels, simulation->levels))
    EXPECT_TRUE(predicted == walked)
        << textOf(predicted) << "\ninstead of " << textOf(walked);
  for (unsigned stage = 0; stage < gir.stages.size(); ++stage)
    for (auto [level, bytes] :
         enumerate(liveBytes(gir, stage, machine.levels.size())))
      held[level] = std::max(held[level], bytes);
  for (auto [most, walked] : zip_equal(held, simulation->mostLive))
    EXPECT_LE(walked, most);
  for (auto [id, tensor] : enumerate(gir.tensors))
    for (auto [from, named] : enumerate(graph.tensors))
      if (tensor.isResult && named.name == tensor.name) {
        EXPECT_EQ(simulation->tensors[id], expected[from]) << tensor.name;
      }
}

TEST(GirCost, ClosedFormsAreWhatAWalkCounts) {
  std::mt19937 random(1);
  // What a test that sees only easy graphs would miss.
  int graphs = 0, parted = 0, cut = 0, shared = 0, turned = 0, stored = 0;
  for (int cases = countCases(2000); graphs < cases;) {
    OperatorGraph graph = makeRandomGraph(random);
    Error error = graph.check();
    ASSERT_FALSE(bool(error)) << toString(std::move(error));
    Machine machine = makeRandomMachine(random);
    std::uniform_int_distribution<int> units(1, 5);
    bool isMerged = random() % 4 != 0;
    auto expanded = expandGir(graph, allOf(graph), machine, units(random),
                              nullptr, isMerged);
    if (expanded.empty())
      continue;
    auto expected = interpret(graph, makeInputs(graph, random));
    for (int sample = 0; sample < 3; ++sample) {
      Gir gir = expanded[random() % expanded.size()].second;
      if (!placeValues(gir, machine))
        continue;
      ++graphs;
      parted += isMerged && gir.stages.size() > 1;
      cut += any_of(gir.loops, [](const GirLoop &loop) {
        return loop.extent % loop.tile;
      });
      for (const GirStage &stage : gir.stages)
        for (const GirNode &node : stage.nodes) {
          shared += node.depth < stage.tasks.size();
          turned += node.kind == GirKind::Sync && gir.isValue(node.output);
          stored += node.bypasses;
        }
      expectAgreement(gir, machine, graph, expected);
      if (HasFailure())
        FAIL() << printGir(gir);
    }
  }
  EXPECT_GT(parted, graphs / 50);
  EXPECT_GT(cut, graphs / 10);
  EXPECT_GT(shared, graphs / 10);
  EXPECT_GT(turned, graphs / 10);
  EXPECT_GT(stored, graphs / 100);
}

} // namespace
