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

} // namespace
