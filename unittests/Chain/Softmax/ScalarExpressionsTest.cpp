//===- ScalarExpressionsTest.cpp - What an element is computed from -------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Expressions are compared as terms, and, whatever they are turned into, by
// their values: those of the program they were read from, at every point.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Chain/ScalarExpressions.h"

#include "RandomBody.h"
#include "TestProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace chimera;

namespace {

/// Rows run along dimension 1 of 3 x 5 elements.
class ScalarExpressionsTest : public ProgramTest {
protected:
  static constexpr PointDim rowDim = 1;
  const llvm::SmallVector<int64_t> extents = {3, 5};
  /// Nodes refer to operations, so each program has a pool of its own.
  std::optional<ExprPool> pool;
  std::optional<ExprReader> reader;
  mlir::Builder builder{&context};
  mlir::Type f64 = builder.getF64Type();

  ScalarExpressionsTest() { parseBody("", "%s"); }

  /// A function of %s, 3 x 5, and %t, one number per row, whose body computes
  /// `result`.
  void parseBody(llvm::StringRef body, llvm::StringRef result = "%y",
                 llvm::StringRef type = "tensor<3x5xf64>");
  /// The same with a body that computes %y from the elements %x of %s, and %r
  /// of %t.
  void parseElementwise(llvm::StringRef scalars);
  /// The same with a reduction from `init` to %y, of %x and what there is so
  /// far, %a.
  void parseReduction(llvm::StringRef scalars, llvm::StringRef init,
                      llvm::StringRef type = "f64");
  /// The result as a term; "" if it is no expression.
  std::string readResult(llvm::ArrayRef<PointDim> dims = {0, 1});
  std::string getTerm(ExprId id);
  /// Compares `id` with the result of the program at all points.
  void checkValues(ExprId id);
};

/// Any number, negative and positive, the same in every run.
double getElement(mlir::Value value, const Point &point) {
  double number = mlir::cast<mlir::BlockArgument>(value).getArgNumber();
  for (int64_t index : point)
    number = 1.5 * number - static_cast<double>(index * index) + 1;
  return number;
}

} // namespace

void ScalarExpressionsTest::parseBody(llvm::StringRef body,
                                      llvm::StringRef result,
                                      llvm::StringRef type) {
  parse(llvm::formatv(R"(
#id = affine_map<(r, c) -> (r, c)>
#row = affine_map<(r, c) -> (r)>
#column = affine_map<(r, c) -> (c)>
#none = affine_map<(r, c) -> ()>
#transposed = affine_map<(r, c) -> (c, r)>
func.func @f(%s: tensor<3x5xf64>, %t: tensor<3xf64>) -> {1} {{
  %empty = tensor.empty() : tensor<3x5xf64>
  {0}
  return {2} : {1}
})",
                      body, type, result)
            .str());
  pool.emplace(&context, rowDim, extents);
  reader.emplace(*pool, rowDim, extents[rowDim]);
}

static std::string elementwise(llvm::StringRef scalars) {
  return llvm::formatv(R"(
  %y = linalg.generic {{indexing_maps = [#id, #row, #id],
      iterator_types = ["parallel", "parallel"]}
      ins(%s, %t : tensor<3x5xf64>, tensor<3xf64>)
      outs(%empty : tensor<3x5xf64>) {{
  ^bb0(%x: f64, %r: f64, %unused: f64):
    {0}
    linalg.yield %y : f64
  } -> tensor<3x5xf64>)",
                       scalars);
}

static std::string reduction(llvm::StringRef scalars, llvm::StringRef init,
                             llvm::StringRef type) {
  return llvm::formatv(R"(
  %init = arith.constant {3}
  %rows = tensor.empty() : tensor<3x{2}>
  %start = linalg.fill ins(%init : {2}) outs(%rows : tensor<3x{2}>)
      -> tensor<3x{2}>
  %sum = linalg.generic {{indexing_maps = [#id, #row],
      iterator_types = ["parallel", "reduction"]}
      ins(%s : tensor<3x5xf64>) outs(%start : tensor<3x{2}>) {{
  ^bb0(%x: f64, %a: {2}):
    {0}
    linalg.yield %y : {2}
  } -> tensor<3x{2}>)",
                       scalars, init, type,
                       type == "i1" ? init.str() : (init + " : " + type).str());
}

void ScalarExpressionsTest::parseElementwise(llvm::StringRef scalars) {
  parseBody(elementwise(scalars));
}

void ScalarExpressionsTest::parseReduction(llvm::StringRef scalars,
                                           llvm::StringRef init,
                                           llvm::StringRef type) {
  parseBody(reduction(scalars, init, type), "%sum",
            ("tensor<3x" + type + ">").str());
}

std::string ScalarExpressionsTest::readResult(llvm::ArrayRef<PointDim> dims) {
  std::optional<ExprId> id = reader->read(getReturned(0), dims);
  return id ? getTerm(*id) : "";
}

std::string ScalarExpressionsTest::getTerm(ExprId id) {
  return print(*pool, id,
               {{getArgument(0).getAsOpaquePointer(), "s"},
                {getArgument(1).getAsOpaquePointer(), "t"}});
}

void ScalarExpressionsTest::checkValues(ExprId id) {
  ProgramEvaluator evaluator(getElement);
  forEachPoint(extents, [&](const Point &point) {
    double expected = evaluator.evaluate(getReturned(0), point);
    double value = evaluate(*pool, id, rowDim, extents, point, getElement);
    EXPECT_TRUE(areClose(value, expected))
        << value << " is not " << expected << " at " << point[0] << ", "
        << point[1] << ": " << getTerm(id);
  });
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

TEST_F(ScalarExpressionsTest, EqualPartsAreOneNode) {
  ExprId s = pool->tensor(getArgument(0), {0, 1});
  ExprId two = pool->number(2, f64);
  EXPECT_EQ(pool->tensor(getArgument(0), {0, 1}), s);
  EXPECT_NE(pool->tensor(getArgument(0), {1, 0}), s);
  EXPECT_EQ(pool->number(builder.getF64FloatAttr(2)), two);
  EXPECT_NE(pool->number(2, builder.getF32Type()), two);
  EXPECT_NE(pool->number(2, builder.getI32Type()), two);
  EXPECT_EQ(pool->index(0), pool->index(0));
  EXPECT_NE(pool->index(0), pool->index(1));

  ExprId product = pool->operation("arith.mulf", f64, {s, two});
  EXPECT_EQ(pool->operation("arith.mulf", f64, {two, s}), product);
  EXPECT_EQ(getTerm(product), "mulf(s, 2)");
  EXPECT_NE(pool->operation("arith.divf", f64, {s, two}),
            pool->operation("arith.divf", f64, {two, s}));
  mlir::NamedAttribute fast = builder.getNamedAttr(
      "fastmath", mlir::arith::FastMathFlagsAttr::get(
                      &context, mlir::arith::FastMathFlags::arcp));
  EXPECT_NE(pool->operation("arith.mulf", f64, {s, two},
                            builder.getDictionaryAttr(fast)),
            product);
  ExprId sum = pool->rowReduction("arith.addf", s);
  EXPECT_EQ(pool->rowReduction("arith.addf", s), sum);
  EXPECT_NE(pool->rowReduction("arith.maximumf", s), sum);
  EXPECT_NE(pool->operation("arith.addf", f64, {s, s}), sum);
}

TEST_F(ScalarExpressionsTest, NodesKnowWhetherTheyDifferAlongRows) {
  ExprId s = pool->tensor(getArgument(0), {0, 1}),
         t = pool->tensor(getArgument(1), {0}),
         sum = pool->rowReduction("arith.addf", s),
         shifted = pool->operation("arith.subf", f64, {s, sum}),
         total = pool->rowReduction("arith.addf", shifted),
         scaled = pool->operation("arith.mulf", f64, {sum, t});
  auto isElement = [&](ExprId id) { return (*pool)[id].isElement; };
  auto holdsReduction = [&](ExprId id) { return (*pool)[id].holdsReduction; };
  EXPECT_TRUE(isElement(s) && !holdsReduction(s));
  EXPECT_TRUE(!isElement(t) && !holdsReduction(t));
  EXPECT_TRUE(!isElement(sum) && holdsReduction(sum));
  EXPECT_TRUE(isElement(shifted) && holdsReduction(shifted));
  EXPECT_TRUE(!isElement(total) && holdsReduction(total));
  EXPECT_TRUE(!isElement(scaled) && holdsReduction(scaled));
  EXPECT_TRUE(isElement(pool->index(1)) && !isElement(pool->index(0)));
}

TEST_F(ScalarExpressionsTest, NumbersAreToldApart) {
  auto number = [&](double value) { return pool->number(value, f64); };
  EXPECT_EQ(pool->getNumber(number(0.125)), 0.125);
  EXPECT_FALSE(pool->getNumber(pool->number(1, builder.getI32Type())));
  EXPECT_FALSE(pool->getNumber(pool->tensor(getArgument(1), {0})));
  EXPECT_TRUE(pool->isNegativeInfinity(number(-INFINITY)));
  EXPECT_FALSE(pool->isNegativeInfinity(number(INFINITY)));
  EXPECT_FALSE(pool->isNegativeInfinity(number(-3.4028234663852886e38)));
  EXPECT_TRUE(pool->isLowestNumber(number(-3.4028234663852886e38)));
  EXPECT_TRUE(pool->isLowestNumber(number(-INFINITY)));
  EXPECT_FALSE(pool->isLowestNumber(number(-1e38)));
  EXPECT_TRUE(pool->isZero(number(0)) && pool->isZero(number(-0.0)));
  EXPECT_FALSE(pool->isZero(number(1e-300)));
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

TEST_F(ScalarExpressionsTest, OperationsFoldAsTheyAreRead) {
  auto read = [&](llvm::StringRef scalars) {
    parseElementwise(scalars);
    return readResult();
  };
  EXPECT_EQ(read("%y = arith.subf %x, %r : f64"), "subf(s, t)");
  EXPECT_EQ(read("%one = arith.constant 1.0 : f64\n"
                 "%y = arith.mulf %x, %one : f64"),
            "s");
  EXPECT_EQ(read("%n = arith.constant 2.0 : f64\n"
                 "%m = arith.mulf %n, %n : f64\n"
                 "%y = arith.addf %x, %m : f64"),
            "addf(s, 4)");
  EXPECT_EQ(read("%a = arith.mulf %r, %x : f64\n"
                 "%b = arith.mulf %x, %r : f64\n"
                 "%y = arith.addf %a, %b : f64"),
            "addf(mulf(t, s), mulf(t, s))");
  EXPECT_EQ(read("%true = arith.constant true\n"
                 "%y = arith.select %true, %r, %x : f64"),
            "t");
}

TEST_F(ScalarExpressionsTest, TensorsAreReadWhereMapsSay) {
  parseBody(R"(
    %flat = tensor.empty() : tensor<5x3xf64>
    %y = linalg.generic {indexing_maps = [#id, #row, #transposed],
        iterator_types = ["parallel", "parallel"]}
        ins(%s, %t : tensor<3x5xf64>, tensor<3xf64>)
        outs(%flat : tensor<5x3xf64>) {
    ^bb0(%x: f64, %r: f64, %unused: f64):
      %d = arith.divf %x, %r : f64
      linalg.yield %d : f64
    } -> tensor<5x3xf64>)",
            "%y", "tensor<5x3xf64>");
  EXPECT_EQ(readResult({1, 0}), "divf(s, t)");
  std::optional<ExprId> id = reader->read(getReturned(0), {1, 0});
  ASSERT_TRUE(id);
  EXPECT_EQ((*pool)[*id].operands,
            (llvm::SmallVector<ExprId>{pool->tensor(getArgument(0), {0, 1}),
                                       pool->tensor(getArgument(1), {0})}));
  // Read the other way round, the tensors are as well.
  id = reader->read(getReturned(0), {0, 1});
  ASSERT_TRUE(id);
  EXPECT_EQ((*pool)[*id].operands,
            (llvm::SmallVector<ExprId>{pool->tensor(getArgument(0), {1, 0}),
                                       pool->tensor(getArgument(1), {1})}));
}

TEST_F(ScalarExpressionsTest, DefinedValuesHaveAFactorAndOnePlace) {
  parseElementwise("%y = arith.subf %x, %r : f64");
  reader->define(getArgument(0), 0.125);
  EXPECT_FALSE(reader->getPoint(getArgument(0)));
  EXPECT_EQ(readResult(), "subf(mulf(s, 0.125), t)");
  EXPECT_EQ(reader->getPoint(getArgument(0)),
            (llvm::SmallVector<PointDim>{0, 1}));
  EXPECT_EQ(readResult({1, 0}), "");
}

TEST_F(ScalarExpressionsTest, ReductionsStartFromWhatHasNoEffect) {
  auto read = [&](llvm::StringRef scalars, llvm::StringRef init,
                  llvm::StringRef type = "f64") {
    parseReduction(scalars, init, type);
    return readResult({0});
  };
  const char *sum = "%y = arith.addf %a, %x : f64";
  const char *maximum = "%y = arith.maximumf %x, %a : f64";
  const char *maxnum = "%y = arith.maxnumf %x, %a : f64";
  EXPECT_EQ(read(sum, "0.0"), "row.addf(s)");
  EXPECT_EQ(read(sum, "-0.0"), "row.addf(s)");
  EXPECT_EQ(read(sum, "1.0"), "");
  EXPECT_EQ(read(maximum, "0xFFF0000000000000"), "row.maximumf(s)");
  EXPECT_EQ(read(maximum, "0.0"), "");
  EXPECT_EQ(read(maximum, "0x7FF8000000000000"), "");
  EXPECT_EQ(read(maxnum, "0x7FF8000000000000"), "row.maxnumf(s)");
  // The least finite number remains of rows that are masked.
  EXPECT_EQ(read(maximum, "-3.5e38"), "maximumf(row.maximumf(s), -3.5e+38)");
  std::string test = "%n = arith.constant 0.0 : f64\n"
                     "%f = arith.cmpf olt, %x, %n : f64\n";
  EXPECT_EQ(read(test + "%y = arith.andi %f, %a : i1", "true", "i1"),
            "row.andi(cmpf.olt(s, 0))");
  EXPECT_EQ(read(test + "%y = arith.ori %f, %a : i1", "false", "i1"),
            "row.ori(cmpf.olt(s, 0))");
  EXPECT_EQ(read(test + "%y = arith.andi %f, %a : i1", "false", "i1"), "");
  EXPECT_EQ(read(test + "%y = arith.ori %f, %a : i1", "true", "i1"), "");
}

TEST_F(ScalarExpressionsTest, OtherReductionsAreNotRead) {
  auto read = [&](llvm::StringRef scalars) {
    parseReduction(scalars, "0.0");
    return readResult({0});
  };
  EXPECT_EQ(read("%y = arith.mulf %a, %x : f64"), "");
  EXPECT_EQ(read("%y = arith.subf %a, %x : f64"), "");
  EXPECT_EQ(read("%y = arith.addf %x, %x : f64"), "");
  EXPECT_EQ(read("%y = arith.addf %a, %a : f64"), "");
  EXPECT_EQ(read("%d = arith.mulf %a, %x : f64\n"
                 "%y = arith.addf %a, %d : f64"),
            "");
  parseReduction("%y = arith.addf %a, %x : f64", "0.0");
  // Along another dimension than rows.
  EXPECT_EQ(readResult({1}), "");
}

TEST_F(ScalarExpressionsTest, ConstantsHaveToBeTheSameEverywhere) {
  parseBody("%y = arith.constant dense<0.5> : tensor<3x5xf64>");
  EXPECT_EQ(readResult(), "0.5");
  parseBody("%y = arith.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf64>", "%y",
            "tensor<3xf64>");
  EXPECT_EQ(readResult({0}), "");
  parseBody("%n = arith.constant 7.0 : f64\n"
            "%y = linalg.fill ins(%n : f64) outs(%empty : tensor<3x5xf64>) "
            "-> tensor<3x5xf64>");
  EXPECT_EQ(readResult(), "7");
}

TEST_F(ScalarExpressionsTest, NamedOperationsAreNotRead) {
  parseBody("%y = linalg.softmax dimension(1) ins(%s : tensor<3x5xf64>) "
            "outs(%empty : tensor<3x5xf64>) -> tensor<3x5xf64>");
  EXPECT_EQ(readResult(), "");
}

TEST_F(ScalarExpressionsTest, LongBodiesAreNotRead) {
  auto readSum = [&](unsigned length) {
    std::string body = "%v0 = arith.addf %x, %r : f64\n";
    for (unsigned i = 1; i < length; ++i)
      body += llvm::formatv("%v{0} = arith.addf %v{1}, %r : f64\n", i, i - 1);
    parseElementwise(body + "%y = arith.negf %v" + std::to_string(length - 1) +
                     " : f64");
    return reader->read(getReturned(0), {0, 1});
  };
  // With the negation and the yield, 1000 and 1001 operations.
  EXPECT_TRUE(readSum(998));
  EXPECT_FALSE(readSum(999));
}

//===----------------------------------------------------------------------===//
// Index arithmetic
//===----------------------------------------------------------------------===//

/// The elements where the column, %c, is no greater than the row, %i, by two.
static std::string selectBy(llvm::StringRef comparison) {
  return llvm::formatv(R"(
    %i = linalg.index 0 : index
    %c = linalg.index 1 : index
    %two = arith.constant 2 : index
    {0}
    %y = arith.select %in, %x, %r : f64)",
                       comparison);
}

TEST_F(ScalarExpressionsTest, ComparisonsOfSumsHaveOneForm) {
  const char *spellings[] = {
      "%a = arith.addi %i, %two : index\n"
      "%in = arith.cmpi sge, %a, %c : index",
      "%a = arith.addi %two, %i : index\n"
      "%in = arith.cmpi sle, %c, %a : index",
      "%a = arith.subi %c, %two : index\n"
      "%in = arith.cmpi sle, %a, %i : index",
      "%a = arith.subi %i, %c : index\n"
      "%m = arith.constant -2 : index\n"
      "%in = arith.cmpi sge, %a, %m : index",
      "%a = arith.index_cast %i : index to i64\n"
      "%b = arith.index_cast %c : index to i64\n"
      "%n = arith.constant 2 : i64\n"
      "%d = arith.subi %b, %a : i64\n"
      "%in = arith.cmpi sge, %n, %d : i64",
  };
  for (const char *spelling : spellings) {
    parseElementwise(selectBy(spelling));
    EXPECT_EQ(readResult(), "select(cmpi.sle(index_cast(i1), "
                            "addi(index_cast(i0), 2)), s, t)")
        << spelling;
  }
}

TEST_F(ScalarExpressionsTest, SumsThatMayWrapAreLeftAlone) {
  // 3 rows and 5 columns: 120 + 4 is the most that i8 holds of 120 + 8.
  auto read = [&](llvm::StringRef number) {
    parseElementwise(
        selectBy(llvm::formatv("%b = arith.index_cast %c : index to i8\n"
                               "%n = arith.constant {0} : i8\n"
                               "%s8 = arith.addi %b, %n : i8\n"
                               "%in = arith.cmpi slt, %s8, %n : i8",
                               number)
                     .str()));
    return readResult();
  };
  EXPECT_EQ(read("123"), "select(cmpi.slt(index_cast(i1), 0), s, t)");
  EXPECT_EQ(read("124"),
            "select(cmpi.slt(addi(index_cast(i1), 124), 124), s, t)");
}

TEST_F(ScalarExpressionsTest, UnsignedComparisonsAreLeftAlone) {
  parseElementwise(selectBy("%in = arith.cmpi uge, %i, %c : index"));
  EXPECT_EQ(readResult(), "select(cmpi.uge(i0, i1), s, t)");
}

TEST_F(ScalarExpressionsTest, ComparisonsHoldAtTheSamePoints) {
  for (unsigned seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RandomBody body(seed, 2, {"%x"}, "f64");
    std::string condition = body.addComparison();
    parseElementwise(body.getText() + "%y = arith.select " + condition +
                     ", %x, %r : f64");
    std::optional<ExprId> id = reader->read(getReturned(0), {0, 1});
    ASSERT_TRUE(id);
    checkValues(*id);
  }
}

//===----------------------------------------------------------------------===//
// Random programs
//===----------------------------------------------------------------------===//

TEST_F(ScalarExpressionsTest, ExpressionsHaveTheValuesOfPrograms) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RandomBody element(seed, 2, {"%x"}, "f64"),
        result(seed + 1000, 2, {"%x", "%r", "%q"}, "f64");
    std::string reduced, last;
    for (unsigned i = 0; i < 3; ++i)
      reduced = element.addFloat();
    for (unsigned i = 0; i < 12; ++i)
      last = result.addFloat();
    bool isSum = seed % 2;
    std::string combined = element.getText() + "%y = arith." +
                           (isSum ? "addf" : "maximumf") + " " + reduced +
                           ", %a : f64";
    std::string row =
        reduction(combined, isSum ? "0.0" : "0xFFF0000000000000", "f64");
    parseBody(row + llvm::formatv(R"(
  %y = linalg.generic {{indexing_maps = [#id, #row, #row, #id],
      iterator_types = ["parallel", "parallel"]}
      ins(%s, %t, %sum : tensor<3x5xf64>, tensor<3xf64>, tensor<3xf64>)
      outs(%empty : tensor<3x5xf64>) {{
  ^bb0(%x: f64, %r: f64, %q: f64, %unused: f64):
{0}
    linalg.yield {1} : f64
  } -> tensor<3x5xf64>)",
                                  result.getText(), last)
                        .str());
    std::optional<ExprId> id = reader->read(getReturned(0), {0, 1});
    ASSERT_TRUE(id);
    checkValues(*id);
  }
}

TEST_F(ScalarExpressionsTest, EmittedProgramsHaveTheSameValues) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RandomBody body(seed, 2, {"%x", "%r"}, "f64");
    std::string last;
    for (unsigned i = 0; i < 10; ++i)
      last = body.addFloat();
    std::string text =
        elementwise(body.getText() + "%y = arith.addf " + last + ", %x : f64");
    parseBody(text);
    std::optional<ExprId> id = reader->read(getReturned(0), {0, 1});
    ASSERT_TRUE(id);
    mlir::OpBuilder inside(function.getBody().front().getTerminator());
    // Transposed, as the domain says.
    mlir::Value emitted =
        pool->emit(inside, function.getLoc(), *id, {1, 0}, {5, 3});
    ASSERT_TRUE(succeeded(mlir::verify(*program)));
    ProgramEvaluator evaluator(getElement);
    forEachPoint(extents, [&](const Point &point) {
      EXPECT_TRUE(areClose(evaluator.evaluate(emitted, {point[1], point[0]}),
                           evaluator.evaluate(getReturned(0), point)));
    });
  }
}
