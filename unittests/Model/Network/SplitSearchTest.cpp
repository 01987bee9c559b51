//===- SplitSearchTest.cpp - Bytes and splits, by hand --------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/SplitSearch.h"

#include "gtest/gtest.h"

#include <functional>
#include <random>

using namespace chimera::model;

namespace {

/// 1 us, and 1 us for each 1000 bytes.
Network makeNetwork() { return {{{0, 1e-6}, {1000, 2e-6}}, {}}; }

TEST(NetworkTest, BytesOnTheWireAreExact) {
  using Kind = CollectiveKind;
  EXPECT_EQ(getWireBytes({Kind::AllReduce, 524288, 2}), 524288);
  EXPECT_EQ(getWireBytes({Kind::AllReduce, 524288, 4}), 786432);
  EXPECT_EQ(getWireBytes({Kind::ReduceScatter, 524288, 4}), 393216);
  EXPECT_EQ(getWireBytes({Kind::AllToAll, 524288, 4}), 393216);
  EXPECT_EQ(getWireBytes({Kind::AllGather, 131072, 4}), 393216);
  EXPECT_EQ(getWireBytes({Kind::Broadcast, 100, 4}), 100);
  EXPECT_EQ(getWireBytes({Kind::AllReduce, 100, 1}), 0);
  // An all-reduce is a reduce-scatter and an all-gather of the parts.
  for (int64_t processes : {2, 4, 8, 64, 1024}) {
    int64_t payload = 4096 * processes;
    EXPECT_EQ(getWireBytes({Kind::AllReduce, payload, processes}),
              getWireBytes({Kind::ReduceScatter, payload, processes}) +
                  getWireBytes({Kind::AllGather, 4096, processes}));
  }
}

TEST(NetworkTest, TimeIsPiecewiseLinear) {
  using Kind = CollectiveKind;
  Network network{{{100, 1e-6}, {200, 2e-6}, {400, 3e-6}}, {}};
  auto timeOf = [&](int64_t bytes) {
    return network.getSeconds({Kind::AllReduce, bytes, 2});
  };
  EXPECT_DOUBLE_EQ(timeOf(0), 1e-6);
  EXPECT_DOUBLE_EQ(timeOf(150), 1.5e-6);
  EXPECT_DOUBLE_EQ(timeOf(300), 2.5e-6);
  EXPECT_DOUBLE_EQ(timeOf(800), 5e-6);
  // Two doublings beyond two processes: the smallest exchange twice more.
  EXPECT_DOUBLE_EQ(network.getSeconds({Kind::Broadcast, 200, 8}), 4e-6);
}

TEST(NetworkTest, WhatWasMeasuredComesFirst) {
  using Kind = CollectiveKind;
  Network network{{{100, 1e-6}},
                  {{Kind::ReduceScatter, 2, {{100, 5e-6}}},
                   {Kind::ReduceScatter, 8, {{100, 9e-6}}},
                   {Kind::AllReduce, 4, {{100, 2e-6}}}}};
  auto timeOf = [&](Kind kind, int64_t processes) {
    return network.getSeconds({kind, 16, processes});
  };
  EXPECT_DOUBLE_EQ(timeOf(Kind::AllReduce, 2), 1e-6);
  EXPECT_DOUBLE_EQ(timeOf(Kind::AllReduce, 4), 2e-6);
  EXPECT_DOUBLE_EQ(timeOf(Kind::AllReduce, 16), 3 * 2e-6);
  // Its own table of a smaller group, rather than another's of the same size.
  EXPECT_DOUBLE_EQ(timeOf(Kind::ReduceScatter, 2), 5e-6);
  EXPECT_DOUBLE_EQ(timeOf(Kind::ReduceScatter, 4), 2 * 5e-6);
  EXPECT_DOUBLE_EQ(timeOf(Kind::ReduceScatter, 8), 9e-6);
  // No table of its own.
  EXPECT_DOUBLE_EQ(timeOf(Kind::AllGather, 2), 1e-6);
  EXPECT_DOUBLE_EQ(timeOf(Kind::AllGather, 8), 2 * 2e-6);
}

/// Tries all choices, and keeps each result of a sum in each way.
double tryAll(const SplitProblem &problem) {
  double best = std::numeric_limits<double>::infinity();
  using Forms = std::vector<uint32_t>;
  std::function<void(size_t, Forms, double)> go = [&](size_t op, Forms forms,
                                                      double seconds) {
    auto need = [&](unsigned tensor, Cut wanted) {
      const SplitTensor &figures = problem.tensors[tensor];
      uint32_t form = 1U << (wanted + 1);
      if (figures.isFree || (forms[tensor] & (1 | form)))
        return;
      forms[tensor] |= form;
      seconds += problem.network.getSeconds(
          {wanted < 0 ? CollectiveKind::AllGather : CollectiveKind::AllToAll,
           figures.bytes / problem.processes, problem.processes});
    };
    if (op == problem.operators.size()) {
      for (size_t tensor = 0; tensor < problem.tensors.size(); ++tensor)
        if (problem.tensors[tensor].isResult)
          need(tensor, wholeTensor);
      best = std::min(best, seconds);
      return;
    }
    const SplitOperator &figures = problem.operators[op];
    for (const SplitChoice &choice : figures.choices) {
      Forms before = forms;
      double start = seconds;
      seconds += choice.seconds;
      for (size_t i = 0; i < figures.operands.size(); ++i)
        need(figures.operands[i], choice.operands[i]);
      unsigned result = figures.results[0];
      const SplitTensor &made = problem.tensors[result];
      auto keep = [&](Cut cut, double exchange) {
        Forms next = forms;
        next[result] = 1U << (cut + 1);
        go(op + 1, next, seconds + exchange);
      };
      if (!choice.isPartial) {
        keep(choice.results[0], 0);
      } else {
        keep(wholeTensor,
             problem.network.getSeconds(
                 {CollectiveKind::AllReduce, made.bytes, problem.processes}));
        for (size_t dim = 0; dim < made.shape.size(); ++dim)
          if (made.shape[dim] % problem.processes == 0)
            keep(dim,
                 problem.network.getSeconds({CollectiveKind::ReduceScatter,
                                             made.bytes, problem.processes}));
      }
      forms = before;
      seconds = start;
    }
  };
  go(0, Forms(problem.tensors.size()), 0);
  return best;
}

/// A few products that read any two tensors before them.
SplitProblem makeRandomProblem(std::mt19937 &random) {
  auto pick = [&](int most) {
    return std::uniform_int_distribution<int>(0, most)(random);
  };
  SplitProblem problem;
  problem.network = makeNetwork();
  auto addTensor = [&](bool isFree) {
    SplitTensor tensor;
    tensor.shape = {2 + pick(3), 2 + pick(3)};
    tensor.bytes = 1000 * (1 + pick(9));
    tensor.isFree = isFree;
    problem.tensors.push_back(tensor);
    return static_cast<unsigned>(problem.tensors.size() - 1);
  };
  addTensor(/*isFree=*/true);
  for (int op = 0; op < 4; ++op) {
    SplitOperator made;
    made.operands = {unsigned(pick(problem.tensors.size() - 1)),
                     unsigned(pick(problem.tensors.size() - 1))};
    made.results = {addTensor(/*isFree=*/false)};
    double seconds = 1e-6 * (1 + pick(20));
    made.choices.push_back({-1, {-1, -1}, {-1}, false, seconds});
    made.choices.push_back({0, {0, -1}, {0}, false, seconds / 2});
    made.choices.push_back({1, {-1, 1}, {1}, false, seconds / 2});
    made.choices.push_back({2, {1, 0}, {-1}, true, seconds / 2});
    problem.operators.push_back(made);
  }
  problem.tensors.back().isResult = true;
  return problem;
}

TEST(SplitSearchTest, FindsTheBestOfAll) {
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    SplitProblem problem = makeRandomProblem(random);
    std::optional<Split> split = findSplit(problem);
    ASSERT_TRUE(split);
    EXPECT_TRUE(split->isOptimal);
    EXPECT_NEAR(split->seconds(), tryAll(problem), 1e-12) << "problem " << i;
  }
}

TEST(SplitSearchTest, SaysThatStatesWereDropped) {
  std::mt19937 random(1);
  SplitProblem problem = makeRandomProblem(random);
  SplitLimits limits;
  limits.mostStates = 1;
  std::optional<Split> split = findSplit(problem, limits);
  ASSERT_TRUE(split);
  EXPECT_FALSE(split->isOptimal);
  EXPECT_GE(split->seconds(), tryAll(problem) - 1e-12);
}

TEST(SplitSearchTest, LeavesOutWhatIsExcluded) {
  std::mt19937 random(2);
  SplitProblem problem = makeRandomProblem(random);
  unsigned taken = findSplit(problem)->choices[0];
  SplitLimits limits;
  limits.excluded = {{0, taken}};
  EXPECT_NE(findSplit(problem, limits)->choices[0], taken);
  limits.excluded = {{0, 0}, {0, 1}, {0, 2}, {0, 3}};
  EXPECT_FALSE(findSplit(problem, limits));
}

} // namespace
