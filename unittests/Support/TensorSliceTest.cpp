//===- TensorSliceTest.cpp - Runs of slices against element by element ----===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Support/TensorSlice.h"

#include "llvm/ADT/SmallVector.h"
#include "gtest/gtest.h"

#include <random>

using namespace chimera;
using Extents = llvm::SmallVector<int64_t>;

/// The elements of a slice of a tensor that holds 0, 1, 2, ..., by indices.
static std::vector<int64_t>
collect(const Extents &whole, const Extents &offsets, const Extents &sizes) {
  std::vector<int64_t> elements = {0};
  for (size_t dim = 0; dim < whole.size(); ++dim) {
    std::vector<int64_t> next;
    for (int64_t outer : elements)
      for (int64_t i = 0; i < sizes[dim]; ++i)
        next.push_back(outer * whole[dim] + offsets[dim] + i);
    elements = std::move(next);
  }
  return elements;
}

TEST(TensorSliceTest, RunsAreTheSlice) {
  std::mt19937 random(0);
  auto pick = [&](int64_t from, int64_t to) {
    return std::uniform_int_distribution<int64_t>(from, to)(random);
  };
  for (int test = 0; test < 500; ++test) {
    Extents whole, offsets, sizes;
    for (int64_t dim = pick(0, 4); dim > 0; --dim) {
      whole.push_back(pick(1, 4));
      sizes.push_back(pick(0, 1) ? whole.back() : pick(0, whole.back()));
      offsets.push_back(pick(0, whole.back() - sizes.back()));
    }
    std::vector<int64_t> expected = collect(whole, offsets, sizes), actual;
    forEachRun(whole, offsets, sizes, [&](const SliceRun &run) {
      ASSERT_EQ(run.inSlice, static_cast<int64_t>(actual.size()));
      ASSERT_GT(run.count, 0);
      for (int64_t i = 0; i < run.count; ++i)
        actual.push_back(run.inWhole + i);
    });
    EXPECT_EQ(actual, expected);
  }
}

TEST(TensorSliceTest, RowsAreOneRun) {
  int64_t runs = 0;
  forEachRun({8, 5, 3}, {4, 0, 0}, {2, 5, 3}, [&](const SliceRun &run) {
    EXPECT_EQ(run.inWhole, 60);
    EXPECT_EQ(run.count, 30);
    ++runs;
  });
  EXPECT_EQ(runs, 1);
}
