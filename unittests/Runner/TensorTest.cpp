//===- TensorTest.cpp - Tests of tensors in memory ------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Runner/Tensor.h"

#include "gtest/gtest.h"

#include <limits>

using namespace chimera::runner;

namespace {

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
constexpr int64_t kHalf = int64_t(1) << 32;

std::string allocate(ValueType type) {
  llvm::Expected<Tensor> tensor = Tensor::allocate(std::move(type));
  return tensor ? "ok" : llvm::toString(tensor.takeError());
}

TEST(TensorTest, SizesDoNotOverflow) {
  ValueType type{ElementKind::F32, {3, 5}};
  EXPECT_EQ(type.getNumElements(), 15);
  EXPECT_EQ(type.getBytes(), 60);
  type.shape = {kHalf, kHalf};
  EXPECT_EQ(type.getNumElements(), kLargest);
  EXPECT_EQ(type.getBytes(), kLargest);
  type.shape = {kHalf, kHalf / 4};
  EXPECT_EQ(type.getNumElements(), kHalf * (kHalf / 4));
  EXPECT_EQ(type.getBytes(), kLargest);
  type.shape = {kHalf, kHalf, 0};
  EXPECT_EQ(type.getNumElements(), 0);
}

TEST(TensorTest, WhatHasNoSizeIsRefused) {
  EXPECT_EQ(allocate({ElementKind::F32, {}}), "ok");
  EXPECT_EQ(allocate({ElementKind::F32, {kHalf, 0, kHalf}}), "ok");
  EXPECT_EQ(allocate({ElementKind::F32, {kHalf, kHalf}}),
            "a tensor of type 4294967296x4294967296xf32 is larger than any "
            "memory");
  EXPECT_EQ(allocate({ElementKind::I8, {kLargest}}),
            "a tensor of type 9223372036854775807xi8 is larger than any "
            "memory");
  EXPECT_EQ(allocate({ElementKind::F32, {2, -1}}),
            "a tensor of type 2x-1xf32 has no size");
  EXPECT_EQ(allocate({ElementKind::F64, {-2, -3}}),
            "a tensor of type -2x-3xf64 has no size");
}

/// Codes of four bits have a byte each, the upper half of which is zero.
TEST(TensorTest, HalfBytesHaveASign) {
  auto tensor = Tensor::allocate({ElementKind::I4, {16}});
  ASSERT_TRUE(static_cast<bool>(tensor));
  EXPECT_EQ(tensor->getType().str(), "16xi4");
  EXPECT_EQ(tensor->getType().getBytes(), 16);
  for (int number = -8; number < 8; ++number)
    tensor->set(number + 8, number);
  for (int number = -8; number < 8; ++number) {
    EXPECT_EQ(tensor->get(number + 8), number);
    EXPECT_EQ(static_cast<const uint8_t *>(tensor->data())[number + 8],
              number & 15);
  }
  tensor->fillRandom(/*seed=*/1, /*stream=*/2);
  for (int64_t index = 0; index < 16; ++index) {
    EXPECT_GE(tensor->get(index), -8);
    EXPECT_LT(tensor->get(index), 8);
  }
}

} // namespace
