//===- SameInEveryCallTest.cpp - What is the same in every call -----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Chain/SameInEveryCall.h"

#include "TestProgram.h"

#include "llvm/Support/FormatVariadic.h"

using namespace chimera;

namespace {

class SameInEveryCallTest : public ProgramTest {
protected:
  /// How many operations compute the value %y of `body`; nothing if it is not
  /// the same in every call.
  std::optional<size_t> count(llvm::StringRef body, llvm::StringRef type) {
    parse(llvm::formatv(R"(
func.func private @get() -> f32
func.func @f(%w: f32 {{chimera.constant}, %x: f32, %flag: i1)
    -> {1} {{
  {0}
  return %y : {1}
})",
                        body, type)
              .str());
    for (auto each : program->getOps<mlir::func::FuncOp>())
      function = each;
    auto operations = findConstantComputation(getReturned(0));
    EXPECT_EQ(isSameInEveryCall(getReturned(0)), succeeded(operations));
    if (failed(operations))
      return std::nullopt;
    for (auto [index, op] : llvm::enumerate(*operations))
      for (mlir::Value operand : op->getOperands())
        if (mlir::Operation *definition = operand.getDefiningOp()) {
          EXPECT_TRUE(llvm::is_contained(
              operations->getArrayRef().take_front(index), definition));
        }
    return operations->size();
  }
  std::optional<size_t> count(llvm::StringRef body) {
    return count(body, "f32");
  }
};

} // namespace

TEST_F(SameInEveryCallTest, ConstantsAndMarkedArguments) {
  EXPECT_EQ(count("%y = arith.constant 1.0 : f32"), 1u);
  EXPECT_EQ(count("%n = arith.constant 2.0 : f32\n"
                  "%a = arith.mulf %w, %n : f32\n"
                  "%y = arith.addf %a, %n : f32"),
            3u);
  EXPECT_EQ(count("%y = arith.addf %w, %w : f32"), 1u);
  EXPECT_TRUE(isSameInEveryCall(function.getArgument(0)));
  EXPECT_FALSE(isSameInEveryCall(function.getArgument(1)));
}

TEST_F(SameInEveryCallTest, OtherArgumentsAndCalls) {
  EXPECT_FALSE(count("%a = arith.addf %w, %w : f32\n"
                     "%y = arith.mulf %a, %x : f32"));
  EXPECT_FALSE(count("%y = func.call @get() : () -> f32"));
  EXPECT_FALSE(count("%a = func.call @get() : () -> f32\n"
                     "%y = arith.addf %w, %a : f32"));
}

/// A tensor filled by `body`, which computes %e.
static std::string generate(llvm::StringRef body) {
  return llvm::formatv(R"(
  %y = tensor.generate {{
  ^bb0(%i: index):
    {0}
    tensor.yield %e : f32
  } : tensor<4xf32>)",
                       body);
}

TEST_F(SameInEveryCallTest, WhatRegionsReadCounts) {
  EXPECT_EQ(count(generate("%e = arith.addf %w, %w : f32"), "tensor<4xf32>"),
            1u);
  EXPECT_EQ(count("%a = arith.negf %w : f32\n" +
                      generate("%e = arith.addf %a, %w : f32"),
                  "tensor<4xf32>"),
            2u);
  EXPECT_FALSE(
      count(generate("%e = arith.addf %w, %x : f32"), "tensor<4xf32>"));
  // The argument of a body is not one of the function.
  EXPECT_EQ(count(generate("%n = arith.index_cast %i : index to i32\n"
                           "%e = arith.sitofp %n : i32 to f32"),
                  "tensor<4xf32>"),
            1u);
}

TEST_F(SameInEveryCallTest, NotComputedAtTheTop) {
  ASSERT_TRUE(count(generate("%e = arith.addf %w, %w : f32"), "tensor<4xf32>"));
  mlir::Operation *inner =
      &getReturned(0).getDefiningOp()->getRegion(0).front().front();
  EXPECT_FALSE(isSameInEveryCall(inner->getResult(0)));
  EXPECT_FALSE(isSameInEveryCall(inner->getBlock()->getArgument(0)));
}

TEST_F(SameInEveryCallTest, ArgumentsOfLaterBlocks) {
  EXPECT_FALSE(count("cf.br ^next(%w : f32)\n"
                     "^next(%y: f32):"));
}

TEST_F(SameInEveryCallTest, LongComputationsStay) {
  auto countSum = [&](unsigned length) {
    std::string body = "%v0 = arith.negf %w : f32\n";
    for (unsigned i = 1; i < length; ++i)
      body +=
          llvm::formatv("%v{0} = arith.addf %v{1}, %v{1} : f32\n", i, i - 1);
    parse("func.func @f(%w: f32 {chimera.constant}) -> f32 {\n" + body +
          "return %v" + std::to_string(length - 1) + " : f32\n}");
    return isSameInEveryCall(getReturned(0));
  };
  EXPECT_TRUE(countSum(256));
  EXPECT_FALSE(countSum(257));
}
