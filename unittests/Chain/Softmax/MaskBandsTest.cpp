//===- MaskBandsTest.cpp - What masks leave of a matrix -------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bands are exact for the spellings that programs have, and hold for any other:
// no element that a mask keeps lies outside.
//
//===----------------------------------------------------------------------===//

#include "Softmax/MaskBands.h"

#include "RandomBody.h"
#include "TestProgram.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace chimera;

namespace {

/// Numbers of loops that are not those of dimensions.
constexpr model::LoopId rowLoop = 7, columnLoop = 3;

/// The limits of the column, such as -3 <= column - row < 1.
std::string print(const model::Band &band) {
  std::string text = "column - row";
  if (band.least)
    text = std::to_string(*band.least) + " <= " + text;
  if (band.most)
    text += " < " + std::to_string(*band.most);
  return text;
}

class MaskBandsTest : public ProgramTest {
protected:
  /// An operation on `rows` x `columns` scores %s. `body` computes %y from the
  /// score %x, the row %r and the column %c.
  mlir::linalg::GenericOp parseBody(llvm::StringRef body, int64_t rows,
                                    int64_t columns);
  /// The limits of the column that are found, in order.
  std::vector<std::string> findLimits(llvm::StringRef body, int64_t rows = 64,
                                      int64_t columns = 64);
  /// The limits that keep only what compares `predicate` of %a and %b.
  std::vector<std::string> findLimits(llvm::StringRef operands,
                                      llvm::StringRef predicate,
                                      llvm::StringRef type, int64_t rows = 64,
                                      int64_t columns = 64);
  void checkKept(mlir::linalg::GenericOp op, llvm::ArrayRef<model::Band> bands);
};

using Limits = std::vector<std::string>;

} // namespace

mlir::linalg::GenericOp
MaskBandsTest::parseBody(llvm::StringRef body, int64_t rows, int64_t columns) {
  parse(llvm::formatv(R"(
#id = affine_map<(r, c) -> (r, c)>
func.func @mask(%s: tensor<{0}x{1}xf32>) -> tensor<{0}x{1}xf32> {{
  %masked = arith.constant 0xFF800000 : f32
  %empty = tensor.empty() : tensor<{0}x{1}xf32>
  %m = linalg.generic {{indexing_maps = [#id, #id],
      iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<{0}x{1}xf32>) outs(%empty : tensor<{0}x{1}xf32>) {{
  ^bb0(%x: f32, %unused: f32):
    %r = linalg.index 0 : index
    %c = linalg.index 1 : index
{2}
    linalg.yield %y : f32
  } -> tensor<{0}x{1}xf32>
  return %m : tensor<{0}x{1}xf32>
})",
                      rows, columns, body)
            .str());
  return getReturned(0).getDefiningOp<mlir::linalg::GenericOp>();
}

Limits MaskBandsTest::findLimits(llvm::StringRef body, int64_t rows,
                                 int64_t columns) {
  mlir::linalg::GenericOp op = parseBody(body, rows, columns);
  llvm::SmallVector<model::Band> bands = findBands(op, {rowLoop, columnLoop});
  checkKept(op, bands);
  Limits limits;
  for (const model::Band &band : bands)
    if (band.column == columnLoop)
      limits.push_back(print(band));
  // Each is said of the row as well.
  EXPECT_EQ(bands.size(), 2 * limits.size());
  return limits;
}

Limits MaskBandsTest::findLimits(llvm::StringRef operands,
                                 llvm::StringRef predicate,
                                 llvm::StringRef type, int64_t rows,
                                 int64_t columns) {
  return findLimits(llvm::formatv("{0}\n"
                                  "%kept = arith.cmpi {1}, %a, %b : {2}\n"
                                  "%y = arith.select %kept, %x, %masked : f32",
                                  operands, predicate, type)
                        .str(),
                    rows, columns);
}

/// What is not minus infinity lies in all of `bands`.
void MaskBandsTest::checkKept(mlir::linalg::GenericOp op,
                              llvm::ArrayRef<model::Band> bands) {
  ProgramEvaluator evaluator([](mlir::Value, const Point &) { return 1.5; });
  llvm::SmallVector<int64_t> extents = op.getStaticLoopRanges();
  forEachPoint(extents, [&](const Point &point) {
    if (evaluator.evaluate(op.getResult(0), point) == -INFINITY)
      return;
    for (const model::Band &band : bands) {
      int64_t row = point[band.row == columnLoop],
              column = point[band.column == columnLoop];
      EXPECT_TRUE(band.touches(row, 1, column, 1))
          << "row " << point[0] << ", column " << point[1];
    }
  });
}

TEST_F(MaskBandsTest, ComparisonsGiveTheirLimit) {
  std::string indices = R"(
    %a = arith.index_cast %r : index to i32
    %b = arith.index_cast %c : index to i32)";
  EXPECT_EQ(findLimits(indices, "sge", "i32"), Limits{"column - row < 1"});
  EXPECT_EQ(findLimits(indices, "sgt", "i32"), Limits{"column - row < 0"});
  EXPECT_EQ(findLimits(indices, "sle", "i32"), Limits{"0 <= column - row"});
  EXPECT_EQ(findLimits(indices, "slt", "i32"), Limits{"1 <= column - row"});
  EXPECT_EQ(findLimits(indices, "eq", "i32"),
            (Limits{"0 <= column - row", "column - row < 1"}));
  EXPECT_EQ(findLimits(indices, "ne", "i32"), Limits());
  // Indices are never negative.
  EXPECT_EQ(findLimits(indices, "uge", "i32"), Limits{"column - row < 1"});
  EXPECT_EQ(findLimits(indices, "ult", "i32"), Limits{"1 <= column - row"});
}

TEST_F(MaskBandsTest, MasksMayComeInAnyForm) {
  // Masked where the column is greater, by the value for true.
  EXPECT_EQ(findLimits(R"(
    %out = arith.cmpi ugt, %c, %r : index
    %y = arith.select %out, %masked, %x : f32)"),
            Limits{"column - row < 1"});
  // Negated.
  EXPECT_EQ(findLimits(R"(
    %out = arith.cmpi sgt, %c, %r : index
    %true = arith.constant true
    %in = arith.xori %out, %true : i1
    %y = arith.select %in, %x, %masked : f32)"),
            Limits{"column - row < 1"});
  // Added to the score.
  EXPECT_EQ(findLimits(R"(
    %zero = arith.constant 0.0 : f32
    %in = arith.cmpi sge, %r, %c : index
    %m = arith.select %in, %zero, %masked : f32
    %sum = arith.addf %m, %x : f32
    %two = arith.constant 2.0 : f32
    %y = arith.mulf %sum, %two : f32)"),
            Limits{"column - row < 1"});
}

TEST_F(MaskBandsTest, WindowsHaveTwoLimits) {
  EXPECT_EQ(findLimits(R"(
    %three = arith.constant 3 : index
    %first = arith.subi %r, %three : index
    %before = arith.cmpi sge, %c, %first : index
    %after = arith.cmpi sle, %c, %r : index
    %in = arith.andi %before, %after : i1
    %y = arith.select %in, %x, %masked : f32)"),
            (Limits{"-3 <= column - row", "column - row < 1"}));
  // Outside, either condition masks.
  EXPECT_EQ(findLimits(R"(
    %three = arith.constant 3 : index
    %last = arith.addi %c, %three : index
    %before = arith.cmpi slt, %last, %r : index
    %after = arith.cmpi slt, %r, %c : index
    %out = arith.ori %before, %after : i1
    %y = arith.select %out, %masked, %x : f32)"),
            (Limits{"-3 <= column - row", "column - row < 1"}));
}

TEST_F(MaskBandsTest, AlternativesAreNoLimits) {
  EXPECT_EQ(findLimits(R"(
    %before = arith.cmpi sge, %c, %r : index
    %after = arith.cmpi sle, %c, %r : index
    %in = arith.ori %before, %after : i1
    %y = arith.select %in, %x, %masked : f32)"),
            Limits());
  // Large and negative is not minus infinity.
  EXPECT_EQ(findLimits(R"(
    %low = arith.constant -1.0e30 : f32
    %in = arith.cmpi sge, %r, %c : index
    %y = arith.select %in, %x, %low : f32)"),
            Limits());
  // Minus infinity times a negative number is infinity.
  EXPECT_EQ(findLimits(R"(
    %minus = arith.constant -1.0 : f32
    %in = arith.cmpi sge, %r, %c : index
    %m = arith.select %in, %x, %masked : f32
    %y = arith.mulf %m, %minus : f32)"),
            Limits());
}

TEST_F(MaskBandsTest, DistancesMoveTheLimit) {
  std::string shifted = R"(
    %i = arith.index_cast %r : index to i32
    %b = arith.index_cast %c : index to i32
    %far = arith.constant 24 : i32
    %a = arith.addi %i, %far : i32)";
  EXPECT_EQ(findLimits(shifted, "sge", "i32", 40, 64),
            Limits{"column - row < 25"});
  std::string distance = R"(
    %d = arith.subi %r, %c : index
    %a = arith.index_cast %d : index to i64
    %b = arith.constant 5 : i64)";
  EXPECT_EQ(findLimits(distance, "slt", "i64"), Limits{"-4 <= column - row"});
  // Negative distances are large without a sign.
  EXPECT_EQ(findLimits(distance, "ult", "i64"), Limits());
  std::string twice = R"(
    %two = arith.constant 2 : index
    %a = arith.muli %r, %two : index
    %b = arith.addi %c, %two : index)";
  EXPECT_EQ(findLimits(twice, "sge", "index"), Limits());
}

TEST_F(MaskBandsTest, NarrowTypesHaveToHoldTheIndices) {
  std::string indices = R"(
    %a = arith.index_cast %r : index to i8
    %b = arith.index_cast %c : index to i8)";
  EXPECT_EQ(findLimits(indices, "sge", "i8", 128, 128),
            Limits{"column - row < 1"});
  EXPECT_EQ(findLimits(indices, "sge", "i8", 129, 128), Limits());
  EXPECT_EQ(findLimits(indices, "sge", "i8", 128, 129), Limits());
  std::string wide = R"(
    %a = arith.index_cast %r : index to i16
    %b = arith.index_cast %c : index to i16)";
  EXPECT_EQ(findLimits(wide, "sge", "i16", 200, 200),
            Limits{"column - row < 1"});
  // A sum wraps where its terms do not.
  std::string shifted = R"(
    %i = arith.index_cast %r : index to i8
    %b = arith.index_cast %c : index to i8
    %far = arith.constant 100 : i8
    %a = arith.addi %i, %far : i8)";
  EXPECT_EQ(findLimits(shifted, "sge", "i8", 28, 64),
            Limits{"column - row < 101"});
  EXPECT_EQ(findLimits(shifted, "sge", "i8", 29, 64), Limits());
}

TEST_F(MaskBandsTest, EveryElementThatIsKeptLiesInside) {
  size_t numBands = 0;
  for (unsigned seed = 0; seed < 800; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RandomBody body(seed, 2, {"%x"}, "f32");
    std::string mask = body.addMask("%x");
    std::string text = body.getText() + "%one = arith.constant 1.0 : f32\n" +
                       "%y = arith.mulf " + mask + ", %one : f32";
    bool isLong = seed % 8 == 0;
    mlir::linalg::GenericOp op =
        parseBody(text, isLong ? 5 : 11, isLong ? 140 : 13);
    llvm::SmallVector<model::Band> bands = findBands(op, {rowLoop, columnLoop});
    checkKept(op, bands);
    numBands += bands.size();
  }
  // Enough to have been put to the test.
  EXPECT_GT(numBands, 150u);
}
