//===- NumberTypesTest.cpp - The types of numbers -------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/IR/NumberTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace chimera;

namespace {

class NumberTypesTest : public ::testing::Test {
protected:
  NumberTypesTest() {
    context.loadDialect<arith::ArithDialect>();
    module = ModuleOp::create(loc);
    builder.setInsertionPointToStart(module->getBody());
  }
  Value number(Type type, double value) {
    return createNumber(builder, loc, type, value);
  }

  MLIRContext context;
  OpBuilder builder{&context};
  Location loc = builder.getUnknownLoc();
  OwningOpRef<ModuleOp> module;
  Type f16 = builder.getF16Type(), bf16 = builder.getBF16Type(),
       f32 = builder.getF32Type(), f64 = builder.getF64Type(),
       tf32 = builder.getTF32Type(), i8 = builder.getI8Type(),
       i32 = builder.getI32Type();
};

TEST_F(NumberTypesTest, Kinds) {
  EXPECT_EQ(getFactorTypes(&context), (SmallVector<Type>{f32, f16, bf16}));
  for (Type type : {f16, bf16, f32, f64, tf32, i8, i32}) {
    bool isFactor = type == f16 || type == bf16 || type == f32;
    EXPECT_EQ(canBeFactor(type), isFactor);
    EXPECT_EQ(canBeResult(type), isFactor || type == i8 || type == i32);
    EXPECT_EQ(canBeIntegerFactor(type), type == i8);
    EXPECT_EQ(canBeSum(type), type == f32);
    EXPECT_EQ(isNarrowFloat(type), type == f16 || type == bf16 || type == tf32);
  }
}

TEST_F(NumberTypesTest, Derived) {
  EXPECT_EQ(getWideType(&context), f32);
  for (Type factor : {f16, bf16, f32, tf32}) {
    EXPECT_EQ(getSumType(factor), f32);
  }
  EXPECT_EQ(getSumType(i8), i32);
  EXPECT_EQ(getRoundedType(f32), tf32);
  for (Type factor : {f16, bf16, tf32, i8}) {
    EXPECT_FALSE(getRoundedType(factor));
  }
}

TEST_F(NumberTypesTest, Rounds) {
  EXPECT_EQ(roundTo(f32, 0.1), static_cast<double>(0.1f));
  EXPECT_EQ(roundTo(f16, 2049), 2048);
  EXPECT_EQ(roundTo(bf16, 257), 256);
  EXPECT_EQ(roundTo(f64, 0.1), 0.1);
}

TEST_F(NumberTypesTest, ReadsWhatItWrites) {
  Value a = number(f32, 2), b = number(f32, 3);
  Value sum = createSum(builder, loc, a, b);
  Value product = createProduct(builder, loc, a, b);
  EXPECT_EQ(matchSum(sum), ValuePair(a, b));
  EXPECT_EQ(matchProduct(product), ValuePair(a, b));
  EXPECT_FALSE(matchSum(product));
  EXPECT_FALSE(matchProduct(sum));
  EXPECT_FALSE(matchSum(a));
}

TEST_F(NumberTypesTest, Conversions) {
  Value a = number(f32, 2);
  Value narrow = createNarrowed(builder, loc, bf16, a);
  EXPECT_EQ(narrow.getType(), bf16);
  Value wide = arith::ExtFOp::create(builder, loc, f32, narrow);
  EXPECT_EQ(skipWidening(wide), narrow);
  EXPECT_EQ(skipWidening(narrow), narrow);
}

TEST_F(NumberTypesTest, Zero) {
  EXPECT_TRUE(isZero(number(f32, 0)));
  EXPECT_TRUE(isZero(number(bf16, 0)));
  EXPECT_FALSE(isZero(number(f32, -0.0)));
  EXPECT_FALSE(isZero(number(f32, 1)));
  auto type = RankedTensorType::get({4}, f32);
  auto tensor = DenseElementsAttr::get(type, 0.0f);
  EXPECT_TRUE(isZero(arith::ConstantOp::create(builder, loc, tensor)));
}

} // namespace
