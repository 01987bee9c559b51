//===- DimensionsTest.cpp - Which dimensions are the same loop ------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dimensions are numbers in a mixed radix, so what is said of their parts can
// be checked for every value.
//
//===----------------------------------------------------------------------===//

#include "Trace/Dimensions.h"

#include "gtest/gtest.h"

#include <map>
#include <random>

using namespace chimera;

namespace {

/// Extents and strides of the parts of `dim`.
using Shape = std::vector<std::pair<int64_t, int64_t>>;

Shape getShape(const Dimensions &dimensions, DimId dim) {
  Shape shape;
  for (const DimPart &part : dimensions.getParts(dim))
    shape.push_back({part.extent, part.stride});
  return shape;
}

std::vector<unsigned> getIds(const Dimensions &dimensions, DimId dim) {
  std::vector<unsigned> ids;
  for (const DimPart &part : dimensions.getParts(dim))
    ids.push_back(part.id);
  return ids;
}

TEST(Dimensions, WhatNobodyCutsIsOnePart) {
  Dimensions dimensions;
  DimId rows = dimensions.add(12), unit = dimensions.add(1);
  ASSERT_TRUE(succeeded(dimensions.solve()));
  EXPECT_EQ(getShape(dimensions, rows), Shape({{12, 1}}));
  EXPECT_EQ(getShape(dimensions, unit), Shape());
}

TEST(Dimensions, UnitsAreKeptOnRequest) {
  Dimensions dimensions;
  dimensions.keepUnits();
  DimId first = dimensions.add(1), second = dimensions.add(1),
        third = dimensions.add(1);
  dimensions.unite(first, third);
  ASSERT_TRUE(succeeded(dimensions.solve()));
  EXPECT_EQ(getShape(dimensions, first), Shape({{1, 1}}));
  EXPECT_EQ(getIds(dimensions, first), getIds(dimensions, third));
  EXPECT_NE(getIds(dimensions, first), getIds(dimensions, second));
}

TEST(Dimensions, UnitedDimensionsHaveTheSameParts) {
  Dimensions dimensions;
  DimId written = dimensions.add(768), read = dimensions.add(768),
        other = dimensions.add(768), head = dimensions.add(12),
        inner = dimensions.add(64);
  dimensions.unite(written, read);
  dimensions.split(read, {head, inner});
  EXPECT_TRUE(dimensions.areSame(written, read));
  EXPECT_FALSE(dimensions.areSame(written, other));
  EXPECT_FALSE(dimensions.areSame(written, head));
  ASSERT_TRUE(succeeded(dimensions.solve()));
  EXPECT_EQ(getShape(dimensions, written), Shape({{12, 64}, {64, 1}}));
  EXPECT_EQ(getShape(dimensions, other), Shape({{768, 1}}));
  EXPECT_EQ(getShape(dimensions, head), Shape({{12, 1}}));
  std::vector<unsigned> ids = getIds(dimensions, written);
  EXPECT_EQ(ids, getIds(dimensions, read));
  EXPECT_EQ(getIds(dimensions, head), std::vector<unsigned>{ids[0]});
  EXPECT_EQ(getIds(dimensions, inner), std::vector<unsigned>{ids[1]});
}

TEST(Dimensions, AlignedDimensionsAreCutAlikeAndDiffer) {
  Dimensions dimensions;
  DimId first = dimensions.add(12), second = dimensions.add(12),
        outer = dimensions.add(3), inner = dimensions.add(4);
  dimensions.align(second, first);
  dimensions.split(first, {outer, inner});
  ASSERT_TRUE(succeeded(dimensions.solve()));
  EXPECT_EQ(getShape(dimensions, second), Shape({{3, 4}, {4, 1}}));
  for (unsigned id : getIds(dimensions, second))
    EXPECT_EQ(llvm::count(getIds(dimensions, first), id), 0);
}

TEST(Dimensions, ADiagonalIsOneLoopTwice) {
  Dimensions dimensions;
  DimId whole = dimensions.add(25), first = dimensions.add(5),
        second = dimensions.add(5);
  dimensions.unite(first, second);
  dimensions.split(whole, {first, second});
  ASSERT_TRUE(succeeded(dimensions.solve()));
  EXPECT_EQ(getShape(dimensions, whole), Shape({{5, 5}, {5, 1}}));
  std::vector<unsigned> ids = getIds(dimensions, whole);
  EXPECT_EQ(ids[0], ids[1]);
  EXPECT_EQ(ids[0], getIds(dimensions, first)[0]);
}

/// Two splits of one dimension into two agree if one cut is at a multiple of
/// the other.
TEST(Dimensions, CutsHaveToNest) {
  constexpr int64_t extent = 72;
  for (int64_t one = 1; one <= extent; ++one)
    for (int64_t other = 1; other <= extent; ++other) {
      if (extent % one != 0 || extent % other != 0)
        continue;
      Dimensions dimensions;
      DimId whole = dimensions.add(extent);
      for (int64_t cut : {one, other}) {
        DimId outer = dimensions.add(extent / cut), inner = dimensions.add(cut);
        dimensions.split(whole, {outer, inner});
      }
      bool doNest = one % other == 0 || other % one == 0;
      EXPECT_EQ(succeeded(dimensions.solve()), doNest)
          << "at " << one << " and " << other;
    }
}

TEST(Dimensions, CutsThatAreFarApartHaveToNest) {
  // 12 x 64 on one side of an operator, 96 x 8 and 16 x 48 on the other.
  for (int64_t inner : {8, 48}) {
    Dimensions dimensions;
    DimId first = dimensions.add(768), second = dimensions.add(768);
    dimensions.split(first, {dimensions.add(12), dimensions.add(64)});
    dimensions.split(second,
                     {dimensions.add(768 / inner), dimensions.add(inner)});
    dimensions.align(first, second);
    EXPECT_EQ(succeeded(dimensions.solve()), inner == 8);
    if (inner == 8) {
      EXPECT_EQ(getShape(dimensions, first), Shape({{12, 64}, {8, 8}, {8, 1}}));
    }
  }
}

/// One index space, whose digits have the extents `digits`, read through trees
/// of splits: each dimension is a run of digits.
class Forest {
public:
  explicit Forest(unsigned seed) : random(seed) {
    unsigned count = 2 + random() % 4;
    for (unsigned i = 0; i < count; ++i)
      digits.push_back(1 + random() % 4);
  }

  void grow();
  void check();

private:
  struct Run {
    unsigned begin, end;
  };
  int64_t getProduct(unsigned begin, unsigned end) const {
    int64_t product = 1;
    for (unsigned i = begin; i < end; ++i)
      product *= digits[i];
    return product;
  }
  DimId add(Run run) {
    runs.push_back(run);
    return dimensions.add(getProduct(run.begin, run.end));
  }
  void splitFurther(DimId whole);
  void checkShape(DimId dim);
  void checkValues(llvm::ArrayRef<int64_t> values);

  std::mt19937 random;
  std::vector<int64_t> digits;
  Dimensions dimensions;
  std::vector<Run> runs;
  /// The digits at which some dimension begins or ends.
  std::set<unsigned> ends;
};

void Forest::splitFurther(DimId whole) {
  Run run = runs[whole];
  if (run.end - run.begin < 2 || random() % 4 == 0)
    return;
  llvm::SmallVector<DimId> parts;
  for (unsigned begin = run.begin; begin < run.end;) {
    unsigned end = begin + 1;
    while (end < run.end && random() % 2)
      ++end;
    if (end - begin == run.end - run.begin)
      --end;
    parts.push_back(add({begin, end}));
    ends.insert(begin);
    begin = end;
  }
  dimensions.split(whole, parts);
  for (DimId part : parts)
    splitFurther(part);
}

/// Two or three trees with the same root.
void Forest::grow() {
  unsigned count = 2 + random() % 2;
  DimId first = add({0, static_cast<unsigned>(digits.size())});
  splitFurther(first);
  for (unsigned i = 1; i < count; ++i) {
    DimId root = add(runs[first]);
    if (random() % 2)
      dimensions.unite(root, first);
    else
      dimensions.split(root, {first});
    splitFurther(root);
  }
}

/// Dimensions are cut where any is, and nowhere else.
void Forest::checkShape(DimId dim) {
  Run run = runs[dim];
  Shape expected;
  unsigned begin = run.begin;
  for (unsigned end = begin + 1; end <= run.end; ++end) {
    if (end != run.end && !ends.count(end))
      continue;
    if (int64_t extent = getProduct(begin, end); extent > 1)
      expected.push_back({extent, getProduct(end, run.end)});
    begin = end;
  }
  EXPECT_EQ(getShape(dimensions, dim), expected);
}

/// `values` are those of the digits. Dimensions are the sums of their parts,
/// and parts with one id have one value.
void Forest::checkValues(llvm::ArrayRef<int64_t> values) {
  std::map<unsigned, int64_t> valueOf;
  for (DimId dim = 0; dim < runs.size(); ++dim) {
    int64_t value = 0, sum = 0;
    for (unsigned i = runs[dim].begin; i < runs[dim].end; ++i)
      value = value * digits[i] + values[i];
    for (const DimPart &part : dimensions.getParts(dim)) {
      int64_t own = value / part.stride % part.extent;
      EXPECT_EQ(valueOf.insert({part.id, own}).first->second, own);
      sum += own * part.stride;
    }
    EXPECT_EQ(sum, value);
  }
}

void Forest::check() {
  ASSERT_TRUE(succeeded(dimensions.solve()));
  std::map<unsigned, int64_t> extents;
  for (DimId dim = 0; dim < runs.size(); ++dim) {
    checkShape(dim);
    for (const DimPart &part : dimensions.getParts(dim))
      extents[part.id] = part.extent;
  }
  // As many loops as the whole has parts: none is there twice.
  EXPECT_EQ(extents.size(), dimensions.getParts(0).size());
  std::vector<int64_t> values(digits.size());
  for (int64_t number = 0; number < getProduct(0, digits.size()); ++number) {
    int64_t rest = number;
    for (unsigned i = digits.size(); i-- > 0; rest /= digits[i])
      values[i] = rest % digits[i];
    checkValues(values);
  }
}

TEST(Dimensions, PartsAddUpInRandomTrees) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Forest forest(seed);
    forest.grow();
    forest.check();
  }
}

} // namespace
