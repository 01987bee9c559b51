//===- SoftmaxExpressionTest.cpp - Is an expression a softmax? ------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each spelling has two functions of the scores: the factor that enters the
// product, and what follows the product. Both are moved behind a product of the
// bare exponential, and have to have the same values there.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Chain/SoftmaxExpression.h"

#include "TestProgram.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace chimera;

namespace {

/// Rows, keys (which rows run along) and columns of the values.
constexpr PointDim rowDim = 1;
constexpr int64_t extents[] = {6, 5, 2};

/// A program of scores %s and of the product %p of its factor with values. The
/// other arguments are where parts of the normal form are read.
class SoftmaxExpressionTest : public ProgramTest {
protected:
  std::optional<ExprPool> pool;
  std::optional<ExprReader> reader;
  std::optional<ShiftedExponential> own;
  /// What was found to follow the product.
  std::optional<ExprId> result;
  std::map<const void *, std::string> names;

  /// Reads `body`, which computes the values `factor` and `tail`.
  void parseBody(llvm::StringRef body, llvm::StringRef factor = "%f",
                 llvm::StringRef tail = "%p");
  /// The same, and moves what there is behind the product. The term of the
  /// result; "" if there is none.
  std::string move(llvm::StringRef body, llvm::StringRef factor = "%f",
                   llvm::StringRef tail = "%p");
  std::string getTerm(ExprId id) { return print(*pool, id, names); }
  /// Compares the values of the program with those of the result.
  void checkValues();
  double getScore(const Point &point) const;
  double getPart(mlir::Value part, const Point &point);

  /// Whether the scores have rows that are masked entirely, or far from zero.
  bool hasMaskedRow = true, hasFarRows = true;
};

} // namespace

void SoftmaxExpressionTest::parseBody(llvm::StringRef body,
                                      llvm::StringRef factor,
                                      llvm::StringRef tail) {
  parse(llvm::formatv(R"(
#id = affine_map<(r, c) -> (r, c)>
#row = affine_map<(r, c) -> (r)>
func.func @f(%s: tensor<6x5xf32>, %p: tensor<6x2xf32>,
             %total: tensor<6xf32>, %most: tensor<6xf32>)
    -> (tensor<6x5xf32>, tensor<6x2xf32>) {{
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %infinity = arith.constant 0xFF800000 : f32
  %rows = tensor.empty() : tensor<6xf32>
  %flags = tensor.empty() : tensor<6xi1>
  %all = tensor.empty() : tensor<6x5xf32>
  %columns = tensor.empty() : tensor<6x2xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%rows : tensor<6xf32>)
      -> tensor<6xf32>
  %least = linalg.fill ins(%infinity : f32) outs(%rows : tensor<6xf32>)
      -> tensor<6xf32>
{0}
  return {1}, {2} : tensor<6x5xf32>, tensor<6x2xf32>
})",
                      body, factor, tail)
            .str());
  names.clear();
  constexpr const char *arguments[] = {"s", "p", "sum", "maximum"};
  for (auto [index, name] : llvm::enumerate(arguments))
    names[getArgument(index).getAsOpaquePointer()] = name;
  pool.emplace(&context, rowDim, extents);
  reader.emplace(*pool, rowDim, extents[rowDim]);
  own.reset();
  result.reset();
}

std::string SoftmaxExpressionTest::move(llvm::StringRef body,
                                        llvm::StringRef factor,
                                        llvm::StringRef tail) {
  parseBody(body, factor, tail);
  std::optional<ExprId> factorId = reader->read(getReturned(0), {0, 1});
  // The product that the tail reads is the one with the exponential alone.
  reader->define(getArgument(1), 1, llvm::SmallVector<PointDim>{0, 2});
  std::optional<ExprId> tailId = reader->read(getReturned(1), {0, 2});
  if (!factorId || !tailId)
    return "";
  own = findExponential(*pool, *factorId);
  if (!own)
    return "";
  SoftmaxParts parts;
  parts.product = pool->tensor(getArgument(1), {0, 2});
  parts.sum = pool->tensor(getArgument(2), {0});
  parts.maximum = pool->tensor(getArgument(3), {0});
  result = moveBehindProduct(*pool, *own, parts, *factorId, *tailId);
  return result ? getTerm(*result) : "";
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Rows 0 and 1 are ordinary; rows 2 and 3 lie far from zero, of 4 a part is
/// masked, and of 5 everything.
double SoftmaxExpressionTest::getScore(const Point &point) const {
  int64_t row = point[0], key = point[1];
  double score = std::sin(static_cast<double>(7 * row + 3 * key)) * 2;
  if (row == 2 && hasFarRows)
    return score + 2000;
  if (row == 3 && hasFarRows)
    return score - 2000;
  bool isMasked = (row == 4 && key % 2) || (row == 5 && hasMaskedRow);
  return isMasked ? -INFINITY : score;
}

/// The element of a part of the normal form, as Softmax.h has it.
double SoftmaxExpressionTest::getPart(mlir::Value part, const Point &point) {
  double most = -INFINITY, sum = 0, product = 0;
  auto score = [&](int64_t key) {
    return evaluate(
        *pool, own->score, rowDim, extents, {point[0], key, 0},
        [&](mlir::Value, const Point &place) { return getScore(place); });
  };
  for (int64_t key = 0; key < extents[1]; ++key)
    most = std::max(most, score(key));
  double shift = most == -INFINITY ? 0 : most;
  for (int64_t key = 0; key < extents[1]; ++key) {
    double exponent = (score(key) - shift) * own->exponentFactor;
    bool isBaseTwo = pool->isOperation(own->exponential, "math.exp2");
    double power = isBaseTwo ? std::exp2(exponent) : std::exp(exponent);
    sum += power;
    if (part == getArgument(1))
      product += power * static_cast<double>(1 + key - 2 * point[1]);
  }
  if (part == getArgument(3))
    return most;
  return part == getArgument(2) ? sum : product;
}

void SoftmaxExpressionTest::checkValues() {
  ASSERT_TRUE(result);
  Elements scores = [&](mlir::Value, const Point &point) {
    return getScore(point);
  };
  ProgramEvaluator factor(scores);
  ProgramEvaluator program([&](mlir::Value value, const Point &point) {
    if (value == getArgument(0))
      return getScore(point);
    double product = 0;
    for (int64_t key = 0; key < extents[1]; ++key)
      product += factor.evaluate(getReturned(0), {point[0], key}) *
                 static_cast<double>(1 + key - 2 * point[1]);
    return product;
  });
  forEachPoint({extents[0], 1, extents[2]}, [&](const Point &point) {
    double expected = program.evaluate(getReturned(1), {point[0], point[2]});
    double value = evaluate(*pool, *result, rowDim, extents, point,
                            [&](mlir::Value part, const Point &place) {
                              return getPart(part, place);
                            });
    EXPECT_TRUE(areClose(value, expected, 1e-9))
        << value << " is not " << expected << " in row " << point[0] << ": "
        << getTerm(*result);
  });
}

//===----------------------------------------------------------------------===//
// Pieces of programs
//===----------------------------------------------------------------------===//

/// %`name`, a row, reduced from %x of the scores `source`.
static std::string reduce(llvm::StringRef name, llvm::StringRef source,
                          llvm::StringRef combiner, llvm::StringRef init) {
  return llvm::formatv(R"(
  %{0} = linalg.generic {{indexing_maps = [#id, #row],
      iterator_types = ["parallel", "reduction"]}
      ins(%{1} : tensor<6x5xf32>) outs(%{3} : tensor<6xf32>) {{
  ^bb0(%x: f32, %a: f32):
    %y = arith.{2} %x, %a : f32
    linalg.yield %y : f32
  } -> tensor<6xf32>)",
                       name, source, combiner, init);
}

/// %`name`, rows of `operations` on %x of the row `source`.
static std::string onRows(llvm::StringRef name, llvm::StringRef source,
                          llvm::StringRef operations) {
  return llvm::formatv(R"(
  %{0} = linalg.generic {{indexing_maps = [affine_map<(r) -> (r)>,
      affine_map<(r) -> (r)>], iterator_types = ["parallel"]}
      ins(%{1} : tensor<6xf32>) outs(%rows : tensor<6xf32>) {{
  ^bb0(%x: f32, %unused: f32):
    {2}
    linalg.yield %y : f32
  } -> tensor<6xf32>)",
                       name, source, operations);
}

/// %`name`, elements of `operations` on %x of `source`, which is %all or
/// %columns wide, and %r and %q of the rows `first` and `second`.
static std::string onElements(llvm::StringRef name, llvm::StringRef source,
                              llvm::StringRef first, llvm::StringRef second,
                              llvm::StringRef operations, bool isTail = false) {
  return llvm::formatv(R"(
  %{0} = linalg.generic {{indexing_maps = [#id, #row, #row, #id],
      iterator_types = ["parallel", "parallel"]}
      ins(%{1}, %{2}, %{3} : {5}, tensor<6xf32>, tensor<6xf32>)
      outs(%{6} : {5}) {{
  ^bb0(%x: f32, %r: f32, %q: f32, %unused: f32):
    {4}
    linalg.yield %y : f32
  } -> {5})",
                       name, source, first, second, operations,
                       isTail ? "tensor<6x2xf32>" : "tensor<6x5xf32>",
                       isTail ? "columns" : "all");
}

static std::string maximum() { return reduce("m", "s", "maximumf", "least"); }
static std::string exponential(llvm::StringRef shift = "m",
                               llvm::StringRef name = "exp") {
  return onElements("e", "s", shift, shift,
                    llvm::formatv("%d = arith.subf %x, %r : f32\n"
                                  "%y = math.{0} %d : f32",
                                  name)
                        .str());
}
static std::string sum() { return reduce("l", "e", "addf", "zeros"); }
static std::string
divide(llvm::StringRef operations = "%y = arith.divf %x, %r : f32") {
  return onElements("f", "e", "l", "m", operations);
}

//===----------------------------------------------------------------------===//
// Spellings
//===----------------------------------------------------------------------===//

TEST_F(SoftmaxExpressionTest, FiveOperations) {
  EXPECT_EQ(move(maximum() + exponential() + sum() + divide()), "divf(p, sum)");
  EXPECT_EQ(getTerm(own->score), "s");
  EXPECT_EQ(getTerm(own->exponential), "exp(subf(s, row.maximumf(s)))");
  EXPECT_TRUE(own->isShiftMaximum);
  EXPECT_FALSE(own->isShiftFinite);
  EXPECT_FALSE(own->leastShift);
  EXPECT_EQ(own->exponentFactor, 1);
  checkValues();
}

TEST_F(SoftmaxExpressionTest, DividedByTheReciprocal) {
  EXPECT_EQ(move(maximum() + exponential() + sum() +
                 divide("%n = arith.divf %one, %r : f32\n"
                        "%y = arith.mulf %x, %n : f32")),
            "mulf(p, divf(1, sum))");
  checkValues();
}

TEST_F(SoftmaxExpressionTest, DividedBehindTheProduct) {
  EXPECT_EQ(move(maximum() + exponential() + sum() +
                     onElements("o", "p", "l", "m",
                                "%y = arith.divf %x, %r : f32", true),
                 "%e", "%o"),
            "divf(p, sum)");
  checkValues();
}

TEST_F(SoftmaxExpressionTest, BaseTwo) {
  EXPECT_EQ(move(maximum() + exponential("m", "exp2") + sum() + divide()),
            "divf(p, sum)");
  EXPECT_EQ(getTerm(own->exponential), "exp2(subf(s, row.maximumf(s)))");
  checkValues();
}

TEST_F(SoftmaxExpressionTest, FactorsOnEitherSideOfTheDifference) {
  // Behind it, they stay in the exponent.
  std::string behind = onElements("e", "s", "m", "m",
                                  "%n = arith.constant 0.5 : f32\n"
                                  "%d = arith.subf %x, %r : f32\n"
                                  "%h = arith.mulf %n, %d : f32\n"
                                  "%y = math.exp %h : f32");
  EXPECT_EQ(move(maximum() + behind + sum() + divide()), "divf(p, sum)");
  EXPECT_EQ(getTerm(own->score), "s");
  EXPECT_EQ(own->exponentFactor, 0.5);
  EXPECT_TRUE(own->isShiftMaximum);
  checkValues();
  // Before it, they are the score's.
  std::string scaled = onElements("h", "s", "zeros", "zeros",
                                  "%n = arith.constant 0.5 : f32\n"
                                  "%y = arith.mulf %x, %n : f32");
  std::string before = reduce("m", "h", "maximumf", "least") +
                       onElements("e", "h", "m", "m",
                                  "%d = arith.subf %x, %r : f32\n"
                                  "%y = math.exp %d : f32");
  EXPECT_EQ(move(scaled + before + sum() + divide()), "divf(p, sum)");
  EXPECT_EQ(getTerm(own->score), "mulf(s, 0.5)");
  EXPECT_EQ(own->exponentFactor, 1);
  checkValues();
}

TEST_F(SoftmaxExpressionTest, NoShift) {
  hasFarRows = false;
  std::string powers =
      onElements("e", "s", "zeros", "zeros", "%y = math.exp %x : f32");
  EXPECT_EQ(move(maximum() + powers + sum() + divide()),
            "divf(select(cmpf.olt(maximum, -745.2), 0, p), "
            "select(cmpf.olt(maximum, -745.2), 0, sum))");
  EXPECT_EQ(own->leastShift, 0);
  EXPECT_FALSE(own->isShiftMaximum);
  checkValues();
}

TEST_F(SoftmaxExpressionTest, ClampedMaximum) {
  std::string clamped = maximum() + onRows("c", "m",
                                           "%n = arith.constant 4.0 : f32\n"
                                           "%y = arith.maximumf %x, %n : f32");
  EXPECT_EQ(move(clamped + exponential("c") + sum() + divide()),
            "divf(select(cmpf.olt(maximum, -741.2), 0, p), "
            "select(cmpf.olt(maximum, -741.2), 0, sum))");
  EXPECT_EQ(own->leastShift, 4);
  EXPECT_FALSE(own->isShiftMaximum);
  checkValues();
  EXPECT_EQ(move(clamped + exponential("c", "exp2") + sum() + divide()),
            "divf(select(cmpf.olt(maximum, -1071), 0, p), "
            "select(cmpf.olt(maximum, -1071), 0, sum))");
  checkValues();
}

TEST_F(SoftmaxExpressionTest, MaximumFromTheLeastFiniteNumber) {
  std::string finite = R"(
  %low = arith.constant -3.40282347E+38 : f32
  %lows = linalg.fill ins(%low : f32) outs(%rows : tensor<6xf32>)
      -> tensor<6xf32>)" +
                       reduce("m", "s", "maximumf", "lows");
  std::string plusOne = onElements("f", "e", "l", "m",
                                   "%n = arith.addf %r, %one : f32\n"
                                   "%y = arith.divf %x, %n : f32");
  EXPECT_EQ(move(finite + exponential() + sum() + divide()), "divf(p, sum)");
  EXPECT_TRUE(own->isShiftMaximum);
  EXPECT_TRUE(own->isShiftFinite);
  checkValues();
  // Of no degree, but the shift is the maximum; masked rows give zero.
  EXPECT_EQ(move(finite + exponential() + sum() + plusOne),
            "divf(p, addf(sum, 1))");
  checkValues();
}

TEST_F(SoftmaxExpressionTest, OneMoreKey) {
  std::string sink = onElements("f", "e", "l", "m",
                                "%d = arith.subf %zero, %q : f32\n"
                                "%k = math.exp %d : f32\n"
                                "%n = arith.addf %r, %k : f32\n"
                                "%y = arith.divf %x, %n : f32");
  // The shift matters. Where the row is masked, the program has NaN.
  EXPECT_EQ(move(maximum() + exponential() + sum() + sink),
            "divf(select(cmpf.oeq(sum, 0), nan, p), "
            "addf(exp(subf(0, maximum)), select(cmpf.oeq(sum, 0), nan, sum)))");
  checkValues();
}

/// Rows of which all scores are minus infinity, or, if not `isAll`, some are
/// not.
static std::string maskedRows(bool isAll) {
  return llvm::formatv(R"(
  %truth = arith.constant {0}
  %start = linalg.fill ins(%truth : i1) outs(%flags : tensor<6xi1>)
      -> tensor<6xi1>
  %masked = linalg.generic {{indexing_maps = [#id, #row],
      iterator_types = ["parallel", "reduction"]}
      ins(%s : tensor<6x5xf32>) outs(%start : tensor<6xi1>) {{
  ^bb0(%x: f32, %a: i1):
    %c = arith.cmpf {1}, %x, %infinity : f32
    %y = arith.{2} %c, %a : i1
    linalg.yield %y : i1
  } -> tensor<6xi1>
  %f = linalg.generic {{indexing_maps = [#id, #row, #row, #id],
      iterator_types = ["parallel", "parallel"]}
      ins(%e, %l, %masked : tensor<6x5xf32>, tensor<6xf32>, tensor<6xi1>)
      outs(%all : tensor<6x5xf32>) {{
  ^bb0(%x: f32, %r: f32, %q: i1, %unused: f32):
    %d = arith.divf %x, %r : f32
    %y = arith.select %q, {3} : f32
    linalg.yield %y : f32
  } -> tensor<6x5xf32>)",
                       isAll ? "true" : "false", isAll ? "oeq" : "une",
                       isAll ? "andi" : "ori",
                       isAll ? "%zero, %d" : "%d, %zero");
}

TEST_F(SoftmaxExpressionTest, MaskedRowsThatBecomeZero) {
  std::string powers = maximum() + exponential() + sum();
  EXPECT_EQ(move(powers + maskedRows(/*isAll=*/true)),
            "select(cmpf.oeq(sum, 0), 0, divf(p, sum))");
  checkValues();
  EXPECT_EQ(move(powers + maskedRows(/*isAll=*/false)),
            "select(cmpf.une(sum, 0), divf(p, sum), 0)");
  checkValues();
  // A maximum has no degree, but it is that of the program.
  EXPECT_EQ(move(powers + divide("%c = arith.cmpf oeq, %q, %infinity : f32\n"
                                 "%d = arith.divf %x, %r : f32\n"
                                 "%y = arith.select %c, %zero, %d : f32")),
            "select(cmpf.oeq(maximum, -inf), 0, "
            "divf(select(cmpf.oeq(sum, 0), nan, p), "
            "select(cmpf.oeq(sum, 0), nan, sum)))");
  checkValues();
}

TEST_F(SoftmaxExpressionTest, LogarithmOfTheSum) {
  hasMaskedRow = false;
  // exp(s - (maximum + log(sum of exp(s - maximum)))).
  std::string shift =
      onElements("n", "s", "l", "m", "%y = arith.addf %x, %r : f32") +
      R"(
  %b = linalg.generic {indexing_maps = [affine_map<(r) -> (r)>,
      affine_map<(r) -> (r)>, affine_map<(r) -> (r)>],
      iterator_types = ["parallel"]}
      ins(%l, %m : tensor<6xf32>, tensor<6xf32>) outs(%rows : tensor<6xf32>) {
  ^bb0(%x: f32, %r: f32, %unused: f32):
    %g = math.log %x : f32
    %y = arith.addf %g, %r : f32
    linalg.yield %y : f32
  } -> tensor<6xf32>)";
  std::string factor = onElements("f", "s", "b", "b",
                                  "%d = arith.subf %x, %r : f32\n"
                                  "%y = math.exp %d : f32");
  // The shift is no maximum, and the product has the degree one.
  EXPECT_EQ(move(maximum() + exponential() + sum() + shift + factor), "");
  EXPECT_TRUE(own && !own->isShiftMaximum && !own->leastShift);
}

TEST_F(SoftmaxExpressionTest, ResultsWithoutADivision) {
  // The exponentials themselves: of degree one, shifted by the maximum.
  EXPECT_EQ(move(maximum() + exponential(), "%e"),
            "select(cmpf.oeq(sum, 0), nan, p)");
  checkValues();
  // Without a shift they cannot be had from those.
  EXPECT_EQ(
      move(onElements("e", "s", "zeros", "zeros", "%y = math.exp %x : f32"),
           "%e"),
      "");
}

//===----------------------------------------------------------------------===//
// Refusals
//===----------------------------------------------------------------------===//

TEST_F(SoftmaxExpressionTest, NoExponential) {
  auto finds = [&](llvm::StringRef operations) {
    move(maximum() + onElements("f", "s", "m", "m", operations));
    return own.has_value();
  };
  EXPECT_TRUE(finds("%y = math.exp %x : f32"));
  EXPECT_FALSE(finds("%y = math.log %x : f32"));
  // Of the row alone, and of an element without a difference to the row.
  EXPECT_FALSE(finds("%y = math.exp %r : f32"));
  EXPECT_FALSE(finds("%d = arith.divf %x, %r : f32\n"
                     "%y = math.exp %d : f32"));
  // What is subtracted has to be the row's.
  EXPECT_FALSE(finds("%d = arith.subf %r, %x : f32\n"
                     "%y = math.exp %d : f32"));
  // The larger the score, the smaller the exponential.
  EXPECT_FALSE(finds("%n = arith.constant -1.0 : f32\n"
                     "%d = arith.subf %x, %r : f32\n"
                     "%h = arith.mulf %d, %n : f32\n"
                     "%y = math.exp %h : f32"));
  // Two elements.
  EXPECT_FALSE(finds("%e = math.exp %x : f32\n"
                     "%y = arith.mulf %e, %x : f32"));
}

TEST_F(SoftmaxExpressionTest, FactorsThatAreNotLinear) {
  std::string powers = maximum() + exponential() + sum();
  auto moves = [&](llvm::StringRef operations) {
    std::string term = move(powers + divide(operations));
    EXPECT_TRUE(own) << operations.str();
    return !term.empty();
  };
  EXPECT_TRUE(moves("%y = arith.divf %x, %r : f32"));
  EXPECT_FALSE(moves("%y = arith.divf %r, %x : f32"));
  EXPECT_FALSE(moves("%y = arith.addf %x, %r : f32"));
  EXPECT_FALSE(moves("%y = arith.negf %x : f32"));
  EXPECT_FALSE(moves("%c = arith.cmpf ogt, %q, %zero : f32\n"
                     "%y = arith.select %c, %x, %one : f32"));
}

TEST_F(SoftmaxExpressionTest, RowsThatAreNotKept) {
  // Another maximum than the score's, and another sum.
  std::string squares =
      onElements("t", "s", "m", "m", "%y = arith.mulf %x, %x : f32");
  EXPECT_EQ(move(maximum() + exponential() + squares +
                 reduce("l", "t", "addf", "zeros") + divide()),
            "");
  EXPECT_TRUE(own);
  // The maximum of something else is no maximum of the score, but cancels.
  std::string other = maximum() + squares +
                      reduce("k", "t", "maximumf", "least") + exponential("k") +
                      sum();
  hasFarRows = hasMaskedRow = false;
  EXPECT_EQ(move(other + divide()), "divf(p, sum)");
  EXPECT_FALSE(own->isShiftMaximum);
}

TEST_F(SoftmaxExpressionTest, ClampsMatterWhereTheDegreeIsNotZero) {
  std::string clamped =
      maximum() + onRows("c", "m", "%y = arith.maximumf %x, %zero : f32");
  EXPECT_EQ(move(clamped + exponential("c") + sum() +
                 onElements("f", "e", "l", "c",
                            "%d = arith.subf %zero, %q : f32\n"
                            "%k = math.exp %d : f32\n"
                            "%n = arith.addf %r, %k : f32\n"
                            "%y = arith.divf %x, %n : f32")),
            "");
  EXPECT_EQ(own->leastShift, 0);
}
