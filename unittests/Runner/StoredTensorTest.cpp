//===- StoredTensorTest.cpp - Tests of slices of files --------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A process that makes its part of an argument has to have the same elements as
// one that makes all of it.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Runner/StoredTensor.h"

#include "Chimera/Support/OutputFile.h"
#include "Chimera/Support/TensorSlice.h"

#include "gtest/gtest.h"

#include <random>

using namespace chimera;
using namespace chimera::runner;

namespace {

struct Slice {
  llvm::SmallVector<int64_t, 4> offsets, sizes;
};

Slice pickSlice(llvm::ArrayRef<int64_t> whole, std::mt19937 &random) {
  Slice slice;
  for (int64_t extent : whole) {
    int64_t size = std::uniform_int_distribution<int64_t>(1, extent)(random);
    slice.sizes.push_back(random() % 2 ? extent : size);
    slice.offsets.push_back(std::uniform_int_distribution<int64_t>(
        0, extent - slice.sizes.back())(random));
  }
  return slice;
}

void expectSlice(const Tensor &actual, const Tensor &whole,
                 const Slice &slice) {
  forEachRun(whole.getType().shape, slice.offsets, slice.sizes,
             [&](const SliceRun &run) {
               for (int64_t i = 0; i < run.count; ++i)
                 ASSERT_EQ(actual.get(run.inSlice + i),
                           whole.get(run.inWhole + i));
             });
}

Tensor makeRandom(const ValueType &type) {
  Tensor tensor = llvm::cantFail(Tensor::allocate(type));
  tensor.fillRandom(/*seed=*/1, /*stream=*/2);
  return tensor;
}

TEST(StoredTensorTest, SlicesOfFiles) {
  std::mt19937 random(0);
  // Rows shorter and longer than a page, and a slice longer than a buffer.
  for (ValueType type : {ValueType{ElementKind::F32, {7, 5, 3}},
                         ValueType{ElementKind::F64, {9, 1500}},
                         ValueType{ElementKind::F32, {2000, 300}}}) {
    Tensor whole = makeRandom(type);
    TemporaryFile file;
    llvm::cantFail(file.createInTemporaryFolder(".npy"));
    llvm::cantFail(writeNpy(file.getPath(), whole));
    StoredTensor stored = llvm::cantFail(openNpy(file.getPath()));
    EXPECT_EQ(stored.getType(), type);
    for (int test = 0; test < 20; ++test) {
      Slice slice = pickSlice(type.shape, random);
      Tensor part = llvm::cantFail(stored.read(slice.offsets, slice.sizes));
      expectSlice(part, whole, slice);
    }
  }
}

TEST(StoredTensorTest, WhatIsReadIsTheSlice) {
  ValueType type{ElementKind::F32, {8, 4096}};
  TemporaryFile file;
  llvm::cantFail(file.createInTemporaryFolder(".npy"));
  llvm::cantFail(writeNpy(file.getPath(), makeRandom(type)));
  StoredTensor stored = llvm::cantFail(openNpy(file.getPath()));
  auto countRead = [&](llvm::ArrayRef<int64_t> sizes) {
    int64_t before = stored.getFile().getBytesRead();
    llvm::cantFail(stored.read({0, 0}, sizes).takeError());
    return stored.getFile().getBytesRead() - before;
  };
  EXPECT_EQ(countRead({2, 4096}), 2 * 4096 * 4);
  EXPECT_EQ(countRead({8, 1024}), 8 * 1024 * 4);
  // Less than a page between two rows is read as well.
  EXPECT_EQ(countRead({8, 4000}), (7 * 4096 + 4000) * 4);
}

TEST(StoredTensorTest, RandomSlices) {
  std::mt19937 random(0);
  // Rows of masks are random as a whole.
  for (ElementKind element : {ElementKind::F32, ElementKind::I1}) {
    ValueType type{element, {6, 7, 8}};
    Tensor whole = makeRandom(type);
    for (int test = 0; test < 20; ++test) {
      Slice slice = pickSlice(type.shape, random);
      Tensor part = llvm::cantFail(Tensor::allocate({element, slice.sizes}));
      part.fillRandomSlice(/*seed=*/1, /*stream=*/2, type.shape, slice.offsets);
      expectSlice(part, whole, slice);
    }
  }
}

} // namespace
