//===- LoweringObstacleTest.cpp - What keeps code from being made ---------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One chain for each obstacle. The operation that is in the way is marked, or
// is the chain itself.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Chain/ChainAnalysis.h"

#include "TestProgram.h"

#include "llvm/Support/FormatVariadic.h"

using namespace chimera;

namespace {

class LoweringObstacleTest : public ProgramTest {
protected:
  /// A chain of `results` with the inputs %a, %b and %d of the given types.
  ChainOp parseChain(llvm::StringRef a, llvm::StringRef b, llvm::StringRef d,
                     llvm::StringRef results, llvm::StringRef body);
  /// The same with %a of 4 x 8, %b of 8 x 6, %d of 6 x 5 and one result.
  ChainOp parseChain(llvm::StringRef body) {
    return parseChain("tensor<4x8xf32>", "tensor<8x6xf32>", "tensor<6x5xf32>",
                      "tensor<4x5xf32>", body);
  }
  /// Expects `obstacle` at the operation that is marked.
  void expect(ChainOp chain, LoweringObstacle obstacle) {
    expect(chain, obstacle, findMarked());
  }
  void expect(ChainOp chain, LoweringObstacle obstacle, mlir::Operation *cause);
};

} // namespace

ChainOp LoweringObstacleTest::parseChain(llvm::StringRef a, llvm::StringRef b,
                                         llvm::StringRef d,
                                         llvm::StringRef results,
                                         llvm::StringRef body) {
  parse(llvm::formatv(R"(
#lhs = affine_map<(m, n, k) -> (m, k)>
#transposed = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (m)>
func.func @f(%a0: {0}, %b0: {1}, %d0: {2}) {{
  chimera.chain ins(%a0, %b0, %d0 : {0}, {1}, {2}) {{
  ^bb0(%a: {0}, %b: {1}, %d: {2}):
    %zero = arith.constant 0.0 : f32
    {4}
  } -> {3}
  return
})",
                      a, b, d, results, body)
            .str());
  return *function.getOps<ChainOp>().begin();
}

void LoweringObstacleTest::expect(ChainOp chain, LoweringObstacle obstacle,
                                  mlir::Operation *cause) {
  std::string reason;
  llvm::FailureOr<ChainAnalysis> analysis = analyzeChain(chain, reason);
  ASSERT_TRUE(succeeded(analysis)) << reason;
  EXPECT_EQ(getText(analysis->obstacle).str(), getText(obstacle).str());
  EXPECT_EQ(analysis->obstacleOp, cause);
  EXPECT_EQ(isLowerable(*analysis), obstacle == LoweringObstacle::None);
}

/// A product %`name`, which starts from zeros; `attributes` come behind its
/// name.
static std::string product(llvm::StringRef name, llvm::StringRef lhs,
                           llvm::StringRef lhsType, llvm::StringRef rhs,
                           llvm::StringRef rhsType, llvm::StringRef type,
                           llvm::StringRef attributes = "") {
  return llvm::formatv(R"(
    %{0}_empty = tensor.empty() : {5}
    %{0}_zero = linalg.fill ins(%zero : f32) outs(%{0}_empty : {5}) -> {5}
    %{0} = linalg.matmul {6} ins(%{1}, %{3} : {2}, {4})
        outs(%{0}_zero : {5}) -> {5})",
                       name, lhs, lhsType, rhs, rhsType, type, attributes);
}

/// C = A * B, and E = %`factor` * D.
static std::string first() {
  return product("c", "a", "tensor<4x8xf32>", "b", "tensor<8x6xf32>",
                 "tensor<4x6xf32>");
}
static std::string second(llvm::StringRef factor) {
  return product("e", factor, "tensor<4x6xf32>", "d", "tensor<6x5xf32>",
                 "tensor<4x5xf32>") +
         "\nchimera.yield %e : tensor<4x5xf32>";
}

TEST_F(LoweringObstacleTest, NoneInAChainOfProducts) {
  expect(parseChain(first() + second("c")), LoweringObstacle::None, nullptr);
}

TEST_F(LoweringObstacleTest, UnitDimensionsAreLoopsWhereNothingMoves) {
  std::string body = product("c", "a", "tensor<1x8xf32>", "b",
                             "tensor<8x6xf32>", "tensor<1x6xf32>") +
                     product("e", "c", "tensor<1x6xf32>", "d",
                             "tensor<6x5xf32>", "tensor<1x5xf32>") +
                     "\nchimera.yield %e : tensor<1x5xf32>";
  expect(parseChain("tensor<1x8xf32>", "tensor<8x6xf32>", "tensor<6x5xf32>",
                    "tensor<1x5xf32>", body),
         LoweringObstacle::None, nullptr);
}

TEST_F(LoweringObstacleTest, OperatorOfDoubles) {
  ChainOp chain = parseChain("tensor<4x8xf64>", "tensor<8x6xf64>",
                             "tensor<6x5xf64>", "tensor<4x6xf64>", R"(
    %none = arith.constant 0.0 : f64
    %empty = tensor.empty() : tensor<4x6xf64>
    %start = linalg.fill ins(%none : f64) outs(%empty : tensor<4x6xf64>)
        -> tensor<4x6xf64>
    %c = linalg.matmul {here} ins(%a, %b : tensor<4x8xf64>, tensor<8x6xf64>)
        outs(%start : tensor<4x6xf64>) -> tensor<4x6xf64>
    chimera.yield %c : tensor<4x6xf64>)");
  expect(chain, LoweringObstacle::Operator);
}

TEST_F(LoweringObstacleTest, UnitDimensionBesideAMove) {
  std::string body = product("c", "a", "tensor<1x8xf32>", "b",
                             "tensor<8x6xf32>", "tensor<1x6xf32>", "{here}") +
                     R"(
    %flat = tensor.collapse_shape %c [[0, 1]]
        : tensor<1x6xf32> into tensor<6xf32>
    %again = tensor.expand_shape %flat [[0, 1]] output_shape [1, 6]
        : tensor<6xf32> into tensor<1x6xf32>)" +
                     product("e", "again", "tensor<1x6xf32>", "d",
                             "tensor<6x5xf32>", "tensor<1x5xf32>") +
                     "\nchimera.yield %e : tensor<1x5xf32>";
  ChainOp chain = parseChain("tensor<1x8xf32>", "tensor<8x6xf32>",
                             "tensor<6x5xf32>", "tensor<1x5xf32>", body);
  expect(chain, LoweringObstacle::UnitDimension);
}

TEST_F(LoweringObstacleTest, MovementBetweenOperators) {
  std::string body = first() + R"(
    %turned_empty = tensor.empty() : tensor<6x4xf32>
    %turned = linalg.transpose ins(%c : tensor<4x6xf32>)
        outs(%turned_empty : tensor<6x4xf32>) permutation = [1, 0] {here})" +
                     product("e", "d", "tensor<5x6xf32>", "turned",
                             "tensor<6x4xf32>", "tensor<5x4xf32>") +
                     "\nchimera.yield %e : tensor<5x4xf32>";
  ChainOp chain = parseChain("tensor<4x8xf32>", "tensor<8x6xf32>",
                             "tensor<5x6xf32>", "tensor<5x4xf32>", body);
  expect(chain, LoweringObstacle::Movement);
}

TEST_F(LoweringObstacleTest, OperationOnScalars) {
  expect(parseChain(first() + R"(
    %one = arith.addf %zero, %zero {here} : f32)" +
                    second("c")),
         LoweringObstacle::Operation);
}

TEST_F(LoweringObstacleTest, OperationThatReadsAConstant) {
  std::string body = first() +
                     "\n%w = arith.constant dense<1.0> : tensor<6x5xf32>" +
                     product("e", "c", "tensor<4x6xf32>", "w",
                             "tensor<6x5xf32>", "tensor<4x5xf32>", "{here}") +
                     "\nchimera.yield %e : tensor<4x5xf32>";
  expect(parseChain(body), LoweringObstacle::Operation);
}

TEST_F(LoweringObstacleTest, AccumulatorOfOnes) {
  std::string body = R"(
    %one = arith.constant 1.0 : f32
    %empty = tensor.empty() : tensor<4x6xf32>
    %ones = linalg.fill ins(%one : f32) outs(%empty : tensor<4x6xf32>)
        -> tensor<4x6xf32>
    %c = linalg.matmul {here} ins(%a, %b : tensor<4x8xf32>, tensor<8x6xf32>)
        outs(%ones : tensor<4x6xf32>) -> tensor<4x6xf32>)";
  expect(parseChain(body + second("c")), LoweringObstacle::Accumulator);
}

/// %`name`, of which each element is `operation` of that of `source`.
static std::string elementwise(llvm::StringRef name, llvm::StringRef source,
                               llvm::StringRef operation,
                               llvm::StringRef attributes = "") {
  return llvm::formatv(R"(
    %{0}_empty = tensor.empty() : tensor<4x6xf32>
    %{0} = linalg.generic {{indexing_maps = [#id, #id],
        iterator_types = ["parallel", "parallel"]}
        ins(%{1} : tensor<4x6xf32>) outs(%{0}_empty : tensor<4x6xf32>)
        attrs = {{{3}} {{
    ^bb0(%x: f32, %unused: f32):
      %y = {2} %x : f32
      linalg.yield %y : f32
    } -> tensor<4x6xf32>)",
                       name, source, operation, attributes);
}

TEST_F(LoweringObstacleTest, EpilogueOfOneOperationIsNone) {
  expect(parseChain(first() + elementwise("p", "c", "math.exp") + second("p")),
         LoweringObstacle::None, nullptr);
}

TEST_F(LoweringObstacleTest, EpilogueOfTwoOperations) {
  expect(parseChain(first() + elementwise("p", "c", "math.exp") +
                    elementwise("q", "p", "math.sqrt", "here") + second("q")),
         LoweringObstacle::Epilogue);
}

TEST_F(LoweringObstacleTest, EpilogueWithAName) {
  expect(parseChain(first() + R"(
    %p_empty = tensor.empty() : tensor<4x6xf32>
    %p = linalg.exp {here} ins(%c : tensor<4x6xf32>)
        outs(%p_empty : tensor<4x6xf32>) -> tensor<4x6xf32>)" +
                    second("p")),
         LoweringObstacle::Epilogue);
}

TEST_F(LoweringObstacleTest, RowsDividedByTheirSum) {
  expect(parseChain(first() + R"(
    %rows_empty = tensor.empty() : tensor<4xf32>
    %rows_zero = linalg.fill ins(%zero : f32) outs(%rows_empty : tensor<4xf32>)
        -> tensor<4xf32>
    %rows = linalg.generic {indexing_maps = [#id, #row],
        iterator_types = ["parallel", "reduction"]}
        ins(%c : tensor<4x6xf32>) outs(%rows_zero : tensor<4xf32>)
        attrs = {here} {
    ^bb0(%x: f32, %sum: f32):
      %y = arith.addf %sum, %x : f32
      linalg.yield %y : f32
    } -> tensor<4xf32>
    %p_empty = tensor.empty() : tensor<4x6xf32>
    %p = linalg.generic {indexing_maps = [#id, #row, #id],
        iterator_types = ["parallel", "parallel"]}
        ins(%c, %rows : tensor<4x6xf32>, tensor<4xf32>)
        outs(%p_empty : tensor<4x6xf32>) {
    ^bb0(%x: f32, %sum: f32, %unused: f32):
      %y = arith.divf %x, %sum : f32
      linalg.yield %y : f32
    } -> tensor<4x6xf32>)" +
                    second("p")),
         LoweringObstacle::Rows);
}

TEST_F(LoweringObstacleTest, LoopsOfAProductWithItsTranspose) {
  ChainOp chain = parseChain("tensor<4x8xf32>", "tensor<8x6xf32>",
                             "tensor<6x5xf32>", "tensor<4x4xf32>", first() + R"(
    %e_empty = tensor.empty() : tensor<4x4xf32>
    %e_zero = linalg.fill ins(%zero : f32) outs(%e_empty : tensor<4x4xf32>)
        -> tensor<4x4xf32>
    %e = linalg.matmul indexing_maps = [#lhs, #transposed, #out]
        ins(%c, %c : tensor<4x6xf32>, tensor<4x6xf32>)
        outs(%e_zero : tensor<4x4xf32>) -> tensor<4x4xf32>
    chimera.yield %e : tensor<4x4xf32>)");
  expect(chain, LoweringObstacle::Loops, chain);
}

TEST_F(LoweringObstacleTest, ResultsOfTwoOperators) {
  ChainOp chain = parseChain(
      "tensor<4x8xf32>", "tensor<8x6xf32>", "tensor<6x5xf32>",
      "tensor<4x6xf32>, tensor<4x5xf32>",
      first() +
          product("e", "c", "tensor<4x6xf32>", "d", "tensor<6x5xf32>",
                  "tensor<4x5xf32>") +
          "\nchimera.yield %c, %e : tensor<4x6xf32>, tensor<4x5xf32>");
  expect(chain, LoweringObstacle::Results, chain);
}

TEST_F(LoweringObstacleTest, UnitDimensionsDoNotHideWhatElseThereIs) {
  ChainOp chain = parseChain("tensor<1x8xf32>", "tensor<8x6xf32>",
                             "tensor<6x5xf32>", "tensor<1x6xf32>", R"(
    %one = arith.constant 1.0 : f32
    %empty = tensor.empty() : tensor<1x6xf32>
    %ones = linalg.fill ins(%one : f32) outs(%empty : tensor<1x6xf32>)
        -> tensor<1x6xf32>
    %c = linalg.matmul {here} ins(%a, %b : tensor<1x8xf32>, tensor<8x6xf32>)
        outs(%ones : tensor<1x6xf32>) -> tensor<1x6xf32>
    chimera.yield %c : tensor<1x6xf32>)");
  expect(chain, LoweringObstacle::Accumulator);
}
