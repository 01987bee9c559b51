//===- OnlineCorrectionTest.cpp - Kinds of values of rows -----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each body is one line of a table: what it yields, from operands of every
// kind, and the kind of that.
//
//===----------------------------------------------------------------------===//

#include "Softmax/OnlineCorrection.h"

#include "TestProgram.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/Support/FormatVariadic.h"

using namespace chimera;

namespace chimera {

/// For messages.
static void PrintTo(RowKind kind, std::ostream *os) {
  constexpr const char *names[] = {
      "Constant",  "Zero",     "Element", "Row",    "Lowest",
      "NotLowest", "EmptyRow", "Shifted", "Scaled", "Other"};
  *os << names[static_cast<int>(kind)];
}

} // namespace chimera

namespace {

struct Line {
  /// What comes before the yield of %y.
  const char *body;
  RowKind kind;
  const char *type = "f32";
};

class OnlineCorrectionTest : public ProgramTest {
protected:
  /// The kind of what `line` yields, for each element or each row.
  RowKind classify(const Line &line, bool isReduction);
  void check(llvm::ArrayRef<Line> lines, bool isReduction = false);
};

} // namespace

/// The arguments are, in order: a number, a zero, two elements, two values of
/// the row, one that is shifted, two that are scaled, something else; and truth
/// values: of an element, of whether it is the lowest, or not, of whether the
/// row is empty, and of the row otherwise.
static constexpr RowKind kinds[] = {
    RowKind::Constant,  RowKind::Zero,     RowKind::Element, RowKind::Element,
    RowKind::Row,       RowKind::Row,      RowKind::Shifted, RowKind::Scaled,
    RowKind::Scaled,    RowKind::Other,    RowKind::Element, RowKind::Lowest,
    RowKind::NotLowest, RowKind::EmptyRow, RowKind::Row};

RowKind OnlineCorrectionTest::classify(const Line &line, bool isReduction) {
  parse(llvm::formatv(R"(
#id = affine_map<(r, c) -> (r, c)>
#row = affine_map<(r, c) -> (r)>
func.func @f(%f: tensor<4x8xf32>, %b: tensor<4x8xi1>,
             %i: tensor<{0}x{1}>) -> tensor<{0}x{1}> {{
  %y = linalg.generic {{
      indexing_maps = [#id, #id, #id, #id, #id, #id, #id, #id, #id, #id,
                       #id, #id, #id, #id, #id, {2}],
      iterator_types = ["parallel", "{3}"]}
      ins(%f, %f, %f, %f, %f, %f, %f, %f, %f, %f, %b, %b, %b, %b, %b
          : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>,
            tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>,
            tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xi1>, tensor<4x8xi1>,
            tensor<4x8xi1>, tensor<4x8xi1>, tensor<4x8xi1>)
      outs(%i : tensor<{0}x{1}>) {{
  ^bb0(%number: f32, %zero: f32, %x: f32, %x2: f32, %row: f32, %row2: f32,
       %shifted: f32, %scaled: f32, %scaled2: f32, %other: f32,
       %flag: i1, %lowest: i1, %notLowest: i1, %empty: i1, %rowFlag: i1,
       %sum: {1}):
    {4}
    linalg.yield %y : {1}
  } -> tensor<{0}x{1}>
  return %y : tensor<{0}x{1}>
})",
                      isReduction ? "4" : "4x8", line.type,
                      isReduction ? "#row" : "#id",
                      isReduction ? "reduction" : "parallel", line.body)
            .str());
  auto op = getReturned(0).getDefiningOp<mlir::linalg::LinalgOp>();
  return classifyResults(op, [&](mlir::OpOperand &operand) {
    return op.isDpsInit(&operand) ? RowKind::Constant
                                  : kinds[operand.getOperandNumber()];
  })[0];
}

void OnlineCorrectionTest::check(llvm::ArrayRef<Line> lines, bool isReduction) {
  for (const Line &line : lines)
    EXPECT_EQ(classify(line, isReduction), line.kind) << line.body;
}

TEST_F(OnlineCorrectionTest, NumbersStayNumbers) {
  check({
      {"%y = arith.addf %number, %number : f32", RowKind::Constant},
      {"%y = arith.constant 0.0 : f32", RowKind::Zero},
      {"%y = arith.constant -0.0 : f32", RowKind::Zero},
      {"%y = arith.constant 0 : i32", RowKind::Zero, "i32"},
      {"%y = arith.constant 1.0 : f32", RowKind::Constant},
      {"%y = arith.truncf %zero : f32 to f16", RowKind::Zero, "f16"},
      {"%y = arith.addf %zero, %zero : f32", RowKind::Constant},
  });
}

TEST_F(OnlineCorrectionTest, ElementsHaveNoReductionInThem) {
  check({
      {"%y = arith.addf %x, %number : f32", RowKind::Element},
      {"%y = arith.mulf %x, %x2 : f32", RowKind::Element},
      {"%y = math.exp %x : f32", RowKind::Element},
      {"%y = linalg.index 1 : index", RowKind::Element, "index"},
      {"%y = arith.select %flag, %x, %zero : f32", RowKind::Element},
      {"%y = arith.select %lowest, %x, %zero : f32", RowKind::Element},
  });
}

TEST_F(OnlineCorrectionTest, RowsComeFromRowsAndNumbers) {
  check({
      {"%y = arith.addf %row, %number : f32", RowKind::Row},
      {"%y = arith.divf %row, %row2 : f32", RowKind::Row},
      {"%y = math.log %row : f32", RowKind::Row},
      {"%y = arith.select %rowFlag, %row, %zero : f32", RowKind::Row},
      {"%y = arith.select %empty, %row, %number : f32", RowKind::Row},
      {"%y = arith.cmpf olt, %row, %number : f32", RowKind::Row, "i1"},
  });
}

TEST_F(OnlineCorrectionTest, ShiftedElementsAreSumsWithRows) {
  check({
      {"%y = arith.subf %x, %row : f32", RowKind::Shifted},
      {"%y = arith.addf %row, %x : f32", RowKind::Shifted},
      {"%y = arith.subf %shifted, %row : f32", RowKind::Shifted},
      {"%y = arith.addf %shifted, %x : f32", RowKind::Shifted},
      {"%y = arith.mulf %number, %shifted : f32", RowKind::Shifted},
      {"%y = arith.extf %shifted : f32 to f64", RowKind::Shifted, "f64"},
      // The factor would be another for each element.
      {"%y = arith.mulf %shifted, %x : f32", RowKind::Other},
      {"%y = arith.mulf %shifted, %row : f32", RowKind::Other},
      {"%y = arith.divf %shifted, %number : f32", RowKind::Other},
      {"%y = arith.maximumf %shifted, %zero : f32", RowKind::Other},
  });
}

TEST_F(OnlineCorrectionTest, ScaledElementsAreProductsWithRows) {
  check({
      {"%y = math.exp %shifted : f32", RowKind::Scaled},
      {"%y = math.exp2 %shifted : f32", RowKind::Scaled},
      {"%y = math.log %shifted : f32", RowKind::Other},
      {"%y = math.exp %scaled : f32", RowKind::Other},
      {"%y = arith.divf %scaled, %row : f32", RowKind::Scaled},
      {"%y = arith.mulf %row, %scaled : f32", RowKind::Scaled},
      {"%y = arith.mulf %scaled, %x : f32", RowKind::Scaled},
      {"%y = arith.mulf %number, %scaled : f32", RowKind::Scaled},
      {"%y = arith.truncf %scaled : f32 to f16", RowKind::Scaled, "f16"},
      {"%y = arith.divf %row, %scaled : f32", RowKind::Other},
      {"%y = arith.mulf %scaled, %scaled2 : f32", RowKind::Other},
      {"%y = arith.addf %scaled, %scaled2 : f32", RowKind::Other},
      {"%y = arith.addf %scaled, %number : f32", RowKind::Other},
      {"%y = arith.negf %scaled : f32", RowKind::Other},
      {"%y = math.fma %scaled, %row, %x : f32", RowKind::Other},
      // What a product of a row and an element is, nobody knows.
      {"%y = arith.mulf %x, %row : f32", RowKind::Other},
      {"%y = arith.addf %other, %zero : f32", RowKind::Other},
  });
}

TEST_F(OnlineCorrectionTest, SelectionsKeepOrDropElements) {
  check({
      {"%y = arith.select %flag, %scaled, %zero : f32", RowKind::Scaled},
      {"%y = arith.select %flag, %scaled, %scaled2 : f32", RowKind::Scaled},
      {"%y = arith.select %lowest, %zero, %scaled : f32", RowKind::Scaled},
      {"%y = arith.select %notLowest, %scaled, %zero : f32", RowKind::Scaled},
      {"%y = arith.select %empty, %zero, %scaled : f32", RowKind::Scaled},
      {"%y = arith.select %flag, %scaled, %number : f32", RowKind::Other},
      // What is zero now may not be later.
      {"%y = arith.select %rowFlag, %scaled, %zero : f32", RowKind::Other},
      {"%y = arith.select %flag, %shifted, %zero : f32", RowKind::Other},
  });
}

TEST_F(OnlineCorrectionTest, ComparisonsWithTheLowestNumberAreMasks) {
  auto line = [](const char *predicate, const char *number) {
    return llvm::formatv("%n = arith.constant {1} : f32\n"
                         "%y = arith.cmpf {0}, %x, %n : f32",
                         predicate, number)
        .str();
  };
  const char *infinity = "0xFF800000", *lowest = "-3.40282347E+38";
  auto classifyLine = [&](const std::string &body) {
    return classify({body.c_str(), RowKind::Other, "i1"}, false);
  };
  EXPECT_EQ(classifyLine(line("oeq", infinity)), RowKind::Lowest);
  EXPECT_EQ(classifyLine(line("oeq", lowest)), RowKind::Lowest);
  EXPECT_EQ(classifyLine(line("une", infinity)), RowKind::NotLowest);
  EXPECT_EQ(classifyLine(line("ogt", infinity)), RowKind::Element);
  EXPECT_EQ(classifyLine(line("oeq", "-1.0e+38")), RowKind::Element);
}

TEST_F(OnlineCorrectionTest, ReductionsThatAreUpdatedGiveRows) {
  check(
      {
          {"%y = arith.addf %sum, %x : f32", RowKind::Row},
          {"%y = arith.addf %x, %sum : f32", RowKind::Row},
          {"%y = arith.addf %sum, %scaled : f32", RowKind::Row},
          {"%y = arith.addf %sum, %number : f32", RowKind::Row},
          {"%y = arith.maximumf %x, %sum : f32", RowKind::Row},
          {"%y = arith.minnumf %x, %sum : f32", RowKind::Row},
          {"%y = arith.andi %flag, %sum : i1", RowKind::Row, "i1"},
          {"%y = arith.ori %sum, %lowest : i1", RowKind::Row, "i1"},
          {"%y = arith.andi %sum, %lowest : i1", RowKind::EmptyRow, "i1"},
          {"%y = arith.ori %sum, %notLowest : i1", RowKind::EmptyRow, "i1"},
          {"%y = arith.andi %sum, %notLowest : i1", RowKind::Row, "i1"},
      },
      /*isReduction=*/true);
}

TEST_F(OnlineCorrectionTest, OtherReductionsHaveToSeeTheWholeRow) {
  check(
      {
          {"%y = arith.addf %sum, %shifted : f32", RowKind::Other},
          {"%y = arith.addf %sum, %row : f32", RowKind::Other},
          {"%y = arith.addf %sum, %other : f32", RowKind::Other},
          {"%y = arith.maximumf %sum, %scaled : f32", RowKind::Other},
          {"%y = arith.mulf %sum, %x : f32", RowKind::Other},
          {"%y = arith.subf %sum, %x : f32", RowKind::Other},
          {"%y = arith.addf %x, %x2 : f32", RowKind::Other},
          {"%y = arith.addf %sum, %sum : f32", RowKind::Other},
          {"%t = arith.addf %sum, %x : f32\n"
           "%y = arith.addf %t, %x : f32",
           RowKind::Other},
      },
      /*isReduction=*/true);
}
