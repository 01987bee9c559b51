//===- OpKindsTest.cpp - Kinds of operations ------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A table: operations, and the predicates that hold of each. All others do not.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Chain/OpKinds.h"

#include "TestProgram.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/AffineExpr.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <set>

using namespace chimera;

namespace {

class OpKindsTest : public ProgramTest {
protected:
  /// The predicates that hold of the operation that `body` marks.
  std::set<std::string> getKinds(llvm::StringRef body);
};

using Kinds = std::set<std::string>;

} // namespace

static Kinds getLinalgKinds(mlir::linalg::LinalgOp op) {
  Kinds kinds;
  auto note = [&](bool holds, const char *name) {
    if (holds)
      kinds.insert(name);
  };
  note(isComputeIntensive(op), "compute-intensive");
  note(multipliesTensors(op), "multiplies");
  note(isSupportedContraction(op), "contraction");
  note(isContractionLike(op), "contraction-like");
  note(isPointwise(op), "pointwise");
  note(isParallel(op), "parallel");
  note(isMovement(op), "movement");
  note(isNarrowing(op), "narrowing");
  note(isRowReduction(op), "row-reduction");
  note(isScaling(op), "scaling");
  note(isSupportedElementwise(op), "elementwise");
  return kinds;
}

Kinds OpKindsTest::getKinds(llvm::StringRef body) {
  parse(llvm::formatv(R"(
#id = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (m)>
#turned = affine_map<(m, n) -> (n, m)>
#same = affine_map<(m, n) -> (m, m)>
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x6xf32>, %c: tensor<4x6xf32>,
             %sq: tensor<4x4xf32>,
             %h: tensor<4x8xf16>, %i: tensor<4x8xi8>, %j: tensor<8x6xi8>,
             %k: tensor<4x6xi32>, %u: tensor<1x8xf32>, %v: tensor<4xf32>,
             %d: tensor<?x8xf32>, %image: tensor<1x9x9x2xf32>,
             %filter: tensor<3x3x2x5xf32>, %maps: tensor<1x7x7x5xf32>,
             %turned: tensor<8x4xf32>) {{
  %zero = arith.constant 0.0 : f32
  {0}
  return
})",
                      body)
            .str());
  mlir::Operation *op = findMarked();
  Kinds kinds;
  if (auto linalgOp = mlir::dyn_cast<mlir::linalg::LinalgOp>(op))
    kinds = getLinalgKinds(linalgOp);
  auto note = [&](bool holds, const char *name) {
    if (holds)
      kinds.insert(name);
  };
  note(isMove(op), "move");
  note(isStart(op), "start");
  note(isReshape(op), "reshape");
  note(isUnitReshape(op), "unit-reshape");
  return kinds;
}

/// A generic operation on `input`, by `map`, that computes %y from %x.
static std::string elementwise(llvm::StringRef input, llvm::StringRef map,
                               llvm::StringRef output, llvm::StringRef body) {
  auto [name, type] = input.split(' ');
  auto [result, resultType] = output.split(' ');
  auto element = [](llvm::StringRef type) {
    return type.drop_back().rsplit('x').second;
  };
  return llvm::formatv(R"(
  %o = linalg.generic {{indexing_maps = [{2}, #id],
      iterator_types = ["parallel", "parallel"]}
      ins({0} : {1}) outs({3} : {4}) attrs = {{here} {{
  ^bb0(%x: {5}, %unused: {6}):
    {7}
    linalg.yield %y : {6}
  } -> {4})",
                       name, type, map, result, resultType, element(type),
                       element(resultType), body);
}

TEST_F(OpKindsTest, Products) {
  EXPECT_EQ(getKinds("%o = linalg.matmul {here} "
                     "ins(%a, %b : tensor<4x8xf32>, tensor<8x6xf32>) "
                     "outs(%c : tensor<4x6xf32>) -> tensor<4x6xf32>"),
            (Kinds{"compute-intensive", "multiplies", "contraction",
                   "contraction-like"}));
  EXPECT_EQ(getKinds("%o = linalg.matmul {here} "
                     "ins(%i, %j : tensor<4x8xi8>, tensor<8x6xi8>) "
                     "outs(%k : tensor<4x6xi32>) -> tensor<4x6xi32>"),
            (Kinds{"compute-intensive", "multiplies", "contraction-like",
                   "contraction"}));
  EXPECT_EQ(getKinds("%o = linalg.conv_2d_nhwc_hwcf {here} "
                     "ins(%image, %filter : tensor<1x9x9x2xf32>, "
                     "tensor<3x3x2x5xf32>) outs(%maps : tensor<1x7x7x5xf32>) "
                     "-> tensor<1x7x7x5xf32>"),
            (Kinds{"compute-intensive", "multiplies", "contraction-like"}));
  // A scalar product: nothing is read twice.
  EXPECT_EQ(getKinds(R"(
    %s = tensor.empty() : tensor<f32>
    %o = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>,
        affine_map<(k) -> (k)>, affine_map<(k) -> ()>],
        iterator_types = ["reduction"]}
        ins(%v, %v : tensor<4xf32>, tensor<4xf32>) outs(%s : tensor<f32>)
        attrs = {here} {
    ^bb0(%x: f32, %z: f32, %sum: f32):
      %m = arith.mulf %x, %z : f32
      %y = arith.addf %sum, %m : f32
      linalg.yield %y : f32
    } -> tensor<f32>)"),
            (Kinds{"multiplies", "pointwise", "contraction-like"}));
}

TEST_F(OpKindsTest, Elements) {
  EXPECT_EQ(
      getKinds(elementwise("%a tensor<4x8xf32>", "#id", "%a tensor<4x8xf32>",
                           "%y = math.exp %x : f32")),
      (Kinds{"pointwise", "parallel", "elementwise"}));
  // By an index that is there twice.
  EXPECT_EQ(
      getKinds(elementwise("%sq tensor<4x4xf32>", "#same", "%a tensor<4x8xf32>",
                           "%y = math.exp %x : f32")),
      (Kinds{"parallel"}));
  // Of integers.
  EXPECT_EQ(
      getKinds(elementwise("%i tensor<4x8xi8>", "#id", "%i tensor<4x8xi8>",
                           "%y = arith.addi %x, %x : i8")),
      (Kinds{"pointwise", "parallel", "elementwise"}));
  EXPECT_EQ(
      getKinds(elementwise("%i tensor<4x8xi8>", "#id", "%a tensor<4x8xf32>",
                           "%y = arith.sitofp %x : i8 to f32")),
      (Kinds{"pointwise", "parallel", "elementwise"}));
}

TEST_F(OpKindsTest, Movements) {
  EXPECT_EQ(getKinds(elementwise("%turned tensor<8x4xf32>", "#turned",
                                 "%a tensor<4x8xf32>",
                                 "%y = arith.addf %x, %zero : f32")),
            (Kinds{"pointwise", "parallel", "elementwise"}));
  EXPECT_EQ(
      getKinds("%o = linalg.transpose ins(%a : tensor<4x8xf32>) "
               "outs(%turned : tensor<8x4xf32>) "
               "permutation = [1, 0] {here}"),
      (Kinds{"pointwise", "parallel", "elementwise", "movement", "move"}));
  EXPECT_EQ(
      getKinds("%o = linalg.broadcast ins(%v : tensor<4xf32>) "
               "outs(%a : tensor<4x8xf32>) dimensions = [1] {here}"),
      (Kinds{"pointwise", "parallel", "elementwise", "movement", "move"}));
  // Wider types move, narrower ones round.
  EXPECT_EQ(
      getKinds(elementwise("%h tensor<4x8xf16>", "#id", "%a tensor<4x8xf32>",
                           "%y = arith.extf %x : f16 to f32")),
      (Kinds{"pointwise", "parallel", "elementwise", "move"}));
  EXPECT_EQ(
      getKinds(elementwise("%a tensor<4x8xf32>", "#id", "%h tensor<4x8xf16>",
                           "%y = arith.truncf %x : f32 to f16")),
      (Kinds{"pointwise", "parallel", "elementwise", "narrowing"}));
}

TEST_F(OpKindsTest, Starts) {
  EXPECT_EQ(getKinds("%o = tensor.empty() {here} : tensor<4xf32>"),
            Kinds{"start"});
  EXPECT_EQ(getKinds("%o = arith.constant {here} dense<1.0> : tensor<4xf32>"),
            Kinds{"start"});
  EXPECT_TRUE(getKinds("%o = linalg.fill {here} ins(%zero : f32) "
                       "outs(%v : tensor<4xf32>) -> tensor<4xf32>")
                  .count("start"));
}

TEST_F(OpKindsTest, Reshapes) {
  EXPECT_EQ(getKinds("%o = tensor.collapse_shape %a [[0, 1]] {here} "
                     ": tensor<4x8xf32> into tensor<32xf32>"),
            (Kinds{"reshape", "move"}));
  EXPECT_EQ(getKinds("%o = tensor.collapse_shape %u [[0, 1]] {here} "
                     ": tensor<1x8xf32> into tensor<8xf32>"),
            (Kinds{"reshape", "unit-reshape", "move"}));
  EXPECT_EQ(getKinds("%o = tensor.collapse_shape %d [[0, 1]] {here} "
                     ": tensor<?x8xf32> into tensor<?xf32>"),
            Kinds{"reshape"});
}

TEST_F(OpKindsTest, PadsOfZeros) {
  auto pad = [](const char *amounts, const char *value) {
    return llvm::formatv(R"(
    %amount = arith.constant 1 : index
    %n = arith.constant {1} : f32
    %o = tensor.pad %v {0} {{
    ^bb0(%p: index):
      tensor.yield %n : f32
    } {{here} : tensor<4xf32> to tensor<6xf32>)",
                         amounts, value)
        .str();
  };
  EXPECT_EQ(getKinds(pad("low[1] high[1]", "0.0")), Kinds{"move"});
  EXPECT_EQ(getKinds(pad("low[2] high[0]", "-0.0")), Kinds{"move"});
  EXPECT_EQ(getKinds(pad("low[1] high[1]", "1.0")), Kinds());
  EXPECT_EQ(getKinds(pad("low[3] high[-1]", "0.0")), Kinds());
}

/// A reduction of %a along rows by `combiner`.
static std::string reduce(llvm::StringRef iterators, llvm::StringRef map,
                          llvm::StringRef output, llvm::StringRef type) {
  return llvm::formatv(R"(
  %o = linalg.generic {{indexing_maps = [#id, {1}],
      iterator_types = [{0}]}
      ins(%a : tensor<4x8xf32>) outs({2} : {3}) attrs = {{here} {{
  ^bb0(%x: f32, %sum: f32):
    %y = arith.maximumf %sum, %x : f32
    linalg.yield %y : f32
  } -> {3})",
                       iterators, map, output, type);
}

TEST_F(OpKindsTest, Rows) {
  EXPECT_EQ(getKinds(reduce(R"("parallel", "reduction")", "#row", "%v",
                            "tensor<4xf32>")),
            (Kinds{"pointwise", "row-reduction"}));
  EXPECT_EQ(getKinds("%s = tensor.empty() : tensor<f32>\n" +
                     reduce(R"("reduction", "reduction")",
                            "affine_map<(m, n) -> ()>", "%s", "tensor<f32>")),
            Kinds{"pointwise"});
}

TEST_F(OpKindsTest, Scales) {
  auto getScaleOf = [&](llvm::StringRef map, llvm::StringRef operations) {
    getKinds(
        elementwise(map == "#row" ? "%v tensor<4xf32>" : "%a tensor<4x8xf32>",
                    map, "%a tensor<4x8xf32>", operations));
    return getScale(mlir::cast<mlir::linalg::LinalgOp>(findMarked()));
  };
  const char *four = "%n = arith.constant 4.0 : f32\n";
  auto with = [&](const char *operation) {
    return getScaleOf("#id", std::string(four) + operation);
  };
  EXPECT_EQ(with("%y = arith.mulf %x, %n : f32"), 4.0);
  EXPECT_EQ(with("%y = arith.mulf %n, %x : f32"), 4.0);
  EXPECT_EQ(with("%y = arith.divf %x, %n : f32"), 0.25);
  EXPECT_EQ(with("%y = arith.divf %n, %x : f32"), std::nullopt);
  EXPECT_EQ(with("%y = arith.addf %x, %n : f32"), std::nullopt);
  EXPECT_EQ(with("%y = arith.mulf %x, %x : f32"), std::nullopt);
  EXPECT_EQ(getScaleOf("#id", "%y = arith.mulf %x, %zero : f32"), std::nullopt);
  // Not everywhere, or of something that is repeated.
  EXPECT_EQ(
      getScaleOf("#row", std::string(four) + "%y = arith.mulf %x, %n : f32"),
      std::nullopt);
  // As f32 has it, if it comes from a wider type.
  EXPECT_EQ(getScaleOf("#id", "%n = arith.constant 0.1 : f64\n"
                              "%r = arith.truncf %n : f64 to f32\n"
                              "%y = arith.mulf %x, %r : f32"),
            static_cast<double>(0.1f));
}

TEST_F(OpKindsTest, ZeroFills) {
  auto isZero = [&](const char *number) {
    getKinds(llvm::formatv("%n = arith.constant {0} : f32\n"
                           "%o = linalg.fill {{here} ins(%n : f32) "
                           "outs(%v : tensor<4xf32>) -> tensor<4xf32>",
                           number)
                 .str());
    return isZeroFill(findMarked()->getResult(0));
  };
  EXPECT_TRUE(isZero("0.0"));
  EXPECT_FALSE(isZero("-0.0"));
  EXPECT_FALSE(isZero("1.0"));
  EXPECT_FALSE(isZeroFill(function.getArgument(0)));
}

TEST_F(OpKindsTest, SumsOfLoops) {
  auto d = [&](unsigned dim) { return mlir::getAffineDimExpr(dim, &context); };
  using Terms = llvm::SmallVector<std::pair<unsigned, int64_t>, 2>;
  auto check = [&](mlir::AffineExpr expr, Terms terms, int64_t offset) {
    std::optional<AffineIndex> index = linearize(expr, {4, 6, 1});
    ASSERT_TRUE(index);
    EXPECT_EQ(index->terms, terms);
    EXPECT_EQ(index->offset, offset);
  };
  check(d(0) * 2 + d(1) + 3, {{0, 2}, {1, 1}}, 3);
  check((d(0) + d(1)) * 3 + d(0), {{0, 4}, {1, 3}}, 0);
  check(d(0) - 1, {{0, 1}}, -1);
  // A loop of one trip is none.
  check(d(2) * 5 + d(1), {{1, 1}}, 0);
  EXPECT_FALSE(linearize(d(0) - d(1), {4, 6, 1}));
  EXPECT_FALSE(linearize(d(0).floorDiv(2), {4, 6, 1}));
  EXPECT_FALSE(linearize(d(0) % 2, {4, 6, 1}));
}
