//===- ProblemTest.cpp - Queries and checks of chains ---------------------===//
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

enum : LoopId { b, m, l, k, n };
enum : TensorId { A, B, C, D, E };

std::string errorOf(const ChainProblem &problem) {
  return llvm::toString(problem.check());
}

void expectError(const ChainProblem &problem, llvm::StringRef part) {
  std::string error = errorOf(problem);
  EXPECT_NE(error.find(part.str()), std::string::npos)
      << "expected '" << part.str() << "' in '" << error << "'";
}

class ProblemCheck : public testing::Test {
protected:
  ChainProblem problem = makeChain({2, 8, 4, 5, 6});
};

TEST_F(ProblemCheck, AcceptsChains) {
  EXPECT_EQ(errorOf(problem), "");
  EXPECT_EQ(errorOf(makeGemm(1, 2, 3, 4)), "");
  EXPECT_EQ(errorOf(makeGate(2, 3, 4, 5)), "");
  EXPECT_EQ(errorOf(makeTriple(2, 3, 4, 5, 6)), "");
}

TEST_F(ProblemCheck, Queries) {
  EXPECT_TRUE(problem.isShared(b));
  EXPECT_TRUE(problem.isShared(m));
  EXPECT_TRUE(problem.isShared(l));
  EXPECT_FALSE(problem.isShared(k));
  EXPECT_FALSE(problem.isShared(n));
  EXPECT_FALSE(problem.isReduction(m));
  EXPECT_TRUE(problem.isReduction(l));
  EXPECT_TRUE(problem.isReduction(k));
  EXPECT_FALSE(problem.isReduction(n));
  EXPECT_TRUE(problem.indexes(D, l));
  EXPECT_FALSE(problem.indexes(D, m));
  EXPECT_EQ(problem.sizeOf(A), 2 * 8 * 5);
  EXPECT_EQ(problem.multiplyAdds(), 2 * 8 * 6 * (5 + 4));
}

TEST_F(ProblemCheck, LoopThatReducesIntoAnIntermediateIsNotShared) {
  // Two contractions side by side, joined by the second one's epilogue.
  ChainProblem gate = makeGate(4, 4, 4, 4);
  gate.operators.pop_back();
  gate.tensors[4].role = Role::Output;
  gate.tensors[4].strides = {4, 1};
  gate.tensors.resize(5);
  EXPECT_EQ(errorOf(gate), "");
  EXPECT_TRUE(gate.isShared(loopNamed(gate, "l")));
  EXPECT_FALSE(gate.isShared(loopNamed(gate, "k")));
}

TEST_F(ProblemCheck, RejectsEmptyChain) {
  expectError(ChainProblem(), "no operators");
}

TEST_F(ProblemCheck, RejectsExtentBelowOne) {
  problem.loops[m].extent = 0;
  expectError(problem, "loop 'm' has extent 0");
}

TEST_F(ProblemCheck, RejectsBadTensors) {
  ChainProblem broken = problem;
  broken.tensors[A].shape[0] = 0;
  expectError(broken, "tensor 'A': a dimension of 0 elements");
  broken = problem;
  broken.tensors[A].isStored = true;
  expectError(broken, "only an intermediate can be stored");
  broken = problem;
  broken.tensors[A].elementBytes = 0;
  expectError(broken, "0 bytes");
  broken = problem;
  broken.tensors[A].strides.pop_back();
  expectError(broken, "3 dimensions but 2 strides");
}

TEST_F(ProblemCheck, RejectsBadOperators) {
  ChainProblem broken = problem;
  broken.operators[0].loops.push_back(9);
  expectError(broken, "operator 'first': unknown loop 9");
  broken = problem;
  broken.operators[0].loops.push_back(m);
  expectError(broken, "loop 'm' is listed twice");
  broken = problem;
  broken.operators[0].inputs[0].tensor = 12;
  expectError(broken, "unknown tensor 12");
  broken = problem;
  broken.operators[0].inputs[0].indices[0].terms[0].loop = 17;
  expectError(broken, "tensor 'A' is indexed by unknown loop 17");
  broken = problem;
  broken.operators[0].inputs[0].indices[0] = m;
  expectError(broken, "tensor 'A' is indexed twice by loop 'm'");
  broken = problem;
  broken.operators[0].inputs[0].indices[0].terms[0].factor = 0;
  expectError(broken, "factors must be positive");
  broken = problem;
  broken.operators[0].inputs[0].indices.pop_back();
  expectError(broken, "tensor 'A' has 3 dimensions, but 2 indices");
  broken = problem;
  broken.operators[0].output.indices[1].offset = 1;
  expectError(broken, "dimension 1 of its output is not indexed by a loop");
  broken = problem;
  broken.operators[0].inputs.clear();
  expectError(broken, "no inputs");
  broken = problem;
  broken.operators[0].inputs[0] = problem.operators[1].inputs[1];
  expectError(broken, "tensor 'D' is indexed by loop 'n', which is not one of "
                      "the operator's");
  broken = problem;
  broken.operators[1].epilogue = {problem.operators[0].inputs[0]};
  expectError(broken, "tensor 'A' is indexed by loop 'k', which is not one of "
                      "the output's");
  broken = problem;
  broken.operators[0].loops.push_back(n);
  expectError(broken, "loop 'n' indexes none of its tensors");
  broken = problem;
  broken.operators[0].vectorLoop = k;
  expectError(broken, "vector loop 'k' must index the output");
  broken = problem;
  broken.operators[0].rowLoop = n;
  expectError(broken, "row loop is not one of its loops");
}

TEST_F(ProblemCheck, RejectsRolesThatDoNotMatch) {
  ChainProblem broken = problem;
  broken.tensors[C].role = Role::Input;
  broken.tensors[C].strides = {48, 6, 1};
  expectError(broken, "tensor 'C': an operator produces it");
  broken = problem;
  broken.tensors[C].role = Role::Output;
  broken.tensors[C].strides = {48, 6, 1};
  expectError(broken, "tensor 'C': an operator reads it");
  broken = problem;
  broken.tensors[E].role = Role::Intermediate;
  expectError(broken, "tensor 'E': it is an intermediate without consumer");
  broken = problem;
  std::swap(broken.operators[0], broken.operators[1]);
  expectError(broken, "tensor 'C': it is read before it is produced");
  broken = problem;
  broken.tensors[A].role = Role::Intermediate;
  expectError(broken, "tensor 'A': it has 0 producers");
  broken = problem;
  broken.operators[1].inputs[1] = broken.operators[1].inputs[0];
  EXPECT_NE(errorOf(broken), "");
  broken.operators.pop_back();
  EXPECT_NE(errorOf(broken), "");
}

TEST(AreAlike, NamesDoNotMatter) {
  ChainProblem problem = makeChain({2, 8, 4, 5, 6}), other = problem;
  other.loops[m].name = "rows";
  other.tensors[C].name = "middle";
  other.operators[1].name = "second";
  EXPECT_TRUE(areAlike(problem, other));
}

TEST(AreAlike, EverythingElseDoes) {
  ChainProblem problem = makeAttention({1, 2, 8, 12, 4, 4});
  auto expectChange = [&](llvm::StringRef what, auto change) {
    ChainProblem other = problem;
    change(other);
    EXPECT_FALSE(areAlike(problem, other)) << what.str();
    EXPECT_FALSE(areAlike(other, problem)) << what.str();
  };
  expectChange("extent", [](auto &other) { ++other.loops[0].extent; });
  expectChange("loop", [](auto &other) { other.loops.emplace_back(); });
  expectChange("tensor", [](auto &other) { other.tensors.pop_back(); });
  expectChange("role",
               [](auto &other) { other.tensors[0].role = Role::Intermediate; });
  expectChange("strides", [](auto &other) { ++other.tensors[0].strides[0]; });
  expectChange("constant",
               [](auto &other) { other.tensors[1].isConstant = true; });
  expectChange("stored", [](auto &other) { other.tensors[2].isStored = true; });
  expectChange("access", [](auto &other) {
    std::swap(other.operators[0].inputs[0], other.operators[0].inputs[1]);
  });
  expectChange("output", [](auto &other) {
    std::swap(other.operators[0].output.indices[0],
              other.operators[0].output.indices[1]);
  });
  expectChange("states",
               [](auto &other) { other.operators[1].states.pop_back(); });
  expectChange("epilogue",
               [](auto &other) { ++other.operators[0].epilogueCost; });
  expectChange("ReLU",
               [](auto &other) { ++other.operators[0].routeInstructions; });
  expectChange("mask", [](auto &other) { other.bands.emplace_back(); });
  problem.bands.emplace_back();
  expectChange("edge of a mask", [](auto &other) { other.bands[0].most = 1; });
}

} // namespace
