//===- AffineSumTest.cpp - Sums of indices and their types ----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Chain/AffineSum.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using namespace chimera;

namespace {

class AffineSumTest : public testing::Test {
protected:
  mlir::MLIRContext context;
  mlir::Builder builder{&context};
  mlir::Type index = builder.getIndexType();
  mlir::Type i8 = builder.getIntegerType(8);
  mlir::Type i32 = builder.getI32Type();
  mlir::Type i64 = builder.getI64Type();

  std::optional<AffineSum> combine(llvm::StringRef name, mlir::Type type,
                                   mlir::Type operandType, AffineSum lhs,
                                   AffineSum rhs,
                                   llvm::ArrayRef<int64_t> extents) {
    return combineSums(name, type, operandType, {lhs, rhs}, extents);
  }
};

} // namespace

TEST_F(AffineSumTest, RangeHasTheCornersOfTheExtents) {
  AffineSum sum{{{0, 2}, {1, -3}}, 5};
  EXPECT_EQ(getRange(sum, {10, 4}), std::make_pair(-4.0, 23.0));
  EXPECT_EQ(getRange(sum, {1, 1}), std::make_pair(5.0, 5.0));
}

TEST_F(AffineSumTest, TypesHoldWhatFitsWithItsSign) {
  AffineSum row{{{0, 1}}, 0};
  EXPECT_TRUE(getIfExact(row, {128}, i8));
  EXPECT_FALSE(getIfExact(row, {129}, i8));
  AffineSum negative{{{0, -1}}, 0};
  EXPECT_TRUE(getIfExact(negative, {129}, i8));
  EXPECT_FALSE(getIfExact(negative, {130}, i8));
  // Both ends count, not the distance of either from the constant.
  AffineSum distance{{{0, 1}, {1, -1}}, 0};
  EXPECT_TRUE(getIfExact(distance, {128, 129}, i8));
}

TEST_F(AffineSumTest, NothingNeedsMoreThan32Bits) {
  AffineSum far{{{0, 1}}, 2147483647};
  EXPECT_TRUE(getIfExact(far, {1}, i32));
  EXPECT_FALSE(getIfExact(far, {2}, i32));
  EXPECT_FALSE(getIfExact(far, {2}, i64));
  EXPECT_FALSE(getIfExact(far, {2}, index));
  // An index that is always zero must not hide a factor.
  EXPECT_FALSE(fits32Bits(AffineSum{{{0, int64_t(1) << 40}}, 0}, {1}));
}

TEST_F(AffineSumTest, ConstantsHave32Bits) {
  EXPECT_EQ(getConstantSum(builder.getIndexAttr(-7))->constant, -7);
  EXPECT_FALSE(getConstantSum(builder.getI64IntegerAttr(int64_t(1) << 31)));
  EXPECT_FALSE(getConstantSum(builder.getF32FloatAttr(1)));
}

TEST_F(AffineSumTest, ProductsHaveOneFactorWithIndices) {
  AffineSum row{{{0, 1}}, 2}, three{{}, 3};
  std::optional<AffineSum> product = multiply(row, three);
  ASSERT_TRUE(product);
  EXPECT_EQ(product->factors.at(0), 3);
  EXPECT_EQ(product->constant, 6);
  EXPECT_FALSE(multiply(row, row));
}

TEST_F(AffineSumTest, SumsAreExactAtEachStep) {
  AffineSum row{{{0, 1}}, 0}, forty{{}, 40};
  EXPECT_FALSE(combine("arith.addi", i8, i8, row, forty, {100}));
  EXPECT_TRUE(combine("arith.addi", i8, i8, row, forty, {88}));
  std::optional<AffineSum> less =
      combine("arith.subi", i8, i8, row, forty, {100});
  ASSERT_TRUE(less);
  EXPECT_EQ(less->constant, -40);
  EXPECT_FALSE(combine("arith.divsi", i32, i32, row, forty, {100}));
}

TEST_F(AffineSumTest, UnsignedCastsKeepWhatIsNotNegative) {
  AffineSum distance{{{0, 1}, {1, -1}}, 0}, row{{{0, 1}}, 0};
  auto cast = [&](mlir::Type from, mlir::Type to, const AffineSum &sum) {
    return combineSums("arith.index_castui", to, from, {sum}, {64, 64});
  };
  EXPECT_TRUE(cast(i32, index, row));
  EXPECT_FALSE(cast(i32, index, distance));
  // From 64 bits nothing is extended.
  EXPECT_TRUE(cast(index, i32, distance));
}
