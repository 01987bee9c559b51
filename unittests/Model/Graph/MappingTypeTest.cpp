//===- MappingTypeTest.cpp - Classes of operators, and Table 1 ------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operator of each class by its accesses alone, and all pairs of classes.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/MappingType.h"

#include "gtest/gtest.h"

using namespace llvm;
using namespace chimera::model;

namespace {

GraphAccess at(ArrayRef<Index> indices) {
  GraphAccess access;
  access.indices.assign(indices.begin(), indices.end());
  return access;
}

Index shifted(LoopId loop, int64_t offset) {
  Index index(loop);
  index.offset = offset;
  return index;
}

GraphOperator makeOperator(ArrayRef<int64_t> extents,
                           ArrayRef<GraphAccess> inputs,
                           const GraphAccess &output) {
  GraphOperator op;
  op.extents.assign(extents.begin(), extents.end());
  op.inputs.assign(inputs.begin(), inputs.end());
  op.outputs.push_back(output);
  return op;
}

MappingClass classOf(const GraphOperator &op) { return classify(op).mapping; }

TEST(MappingTypeTest, ClassesFollowFromAccesses) {
  GraphAccess whole = at({0, 1});
  EXPECT_EQ(classOf(makeOperator({4, 8}, {whole, whole}, whole)),
            MappingClass::OneToOne);
  // A vector added to each row, and a row of one element.
  EXPECT_EQ(classOf(makeOperator({4, 8}, {whole, at({1})}, whole)),
            MappingClass::OneToOne);
  EXPECT_EQ(classOf(makeOperator({1, 8}, {at({1})}, whole)),
            MappingClass::OneToOne);
  EXPECT_EQ(classOf(makeOperator({4, 8}, {at({1})}, whole)),
            MappingClass::OneToMany);
  EXPECT_EQ(classOf(makeOperator({4, 8}, {}, whole)), MappingClass::OneToMany);
  EXPECT_EQ(classOf(makeOperator({4, 8}, {at({1, 0})}, whole)),
            MappingClass::Shuffle);
  // The sum of a matrix and another one turned around.
  EXPECT_EQ(classOf(makeOperator({4, 8}, {whole, at({1, 0})}, whole)),
            MappingClass::Shuffle);
  EXPECT_EQ(classOf(makeOperator({4, 8}, {at({shifted(0, 2), 1})}, whole)),
            MappingClass::Reorganize);
  GraphAccess reshaped;
  reshaped.isReshaped = true;
  EXPECT_EQ(classOf(makeOperator({4, 8}, {reshaped}, whole)),
            MappingClass::Reorganize);
  GraphAccess gathered = at({Index(), 1});
  gathered.indices[0].terms.clear();
  gathered.indirect.push_back(0);
  EXPECT_EQ(classOf(makeOperator({4, 8}, {gathered}, whole)),
            MappingClass::Shuffle);

  MappingType sum = classify(makeOperator({4, 8}, {whole}, at({0})));
  EXPECT_EQ(sum.mapping, MappingClass::ManyToMany);
  EXPECT_TRUE(sum.isManyToOne);
  MappingType product =
      classify(makeOperator({4, 8, 16}, {at({0, 2}), at({2, 1})}, whole));
  EXPECT_EQ(product.mapping, MappingClass::ManyToMany);
  EXPECT_FALSE(product.isManyToOne);
  GraphOperator opaque = makeOperator({4, 8}, {whole}, whole);
  opaque.body = BodyKind::Opaque;
  EXPECT_EQ(classOf(opaque), MappingClass::NotFuse);
}

/// All 36 pairs; F fuse, a ask, . refuse. Rows are first operators, in the
/// order of complexity.
TEST(MappingTypeTest, TableHasAllPairs) {
  const char *table[] = {
      "FFFFF.", // OneToOne
      "FFFaa.", // Reorganize
      "FFFaa.", // Shuffle
      "Faaa..", // OneToMany
      "Faaa..", // ManyToMany
      "......", // NotFuse
  };
  for (int first = 0; first < 6; ++first)
    for (int second = 0; second < 6; ++second) {
      MappingType left{static_cast<MappingClass>(first)};
      MappingType right{static_cast<MappingClass>(second)};
      FusionRule rule = combine(left, right);
      char letter = rule.verdict == FusionRule::Verdict::Fuse  ? 'F'
                    : rule.verdict == FusionRule::Verdict::Ask ? 'a'
                                                               : '.';
      EXPECT_EQ(letter, table[first][second]) << first << ", " << second;
      EXPECT_EQ(rule.type.mapping,
                static_cast<MappingClass>(std::max(first, second)));
    }
}

/// A reduction, then what repeats its result (supplement 2).
TEST(MappingTypeTest, ReductionsBeforeBroadcastsStayManyToOne) {
  FusionRule rule = combine({MappingClass::ManyToMany, true},
                            {MappingClass::OneToMany, false});
  EXPECT_EQ(rule.verdict, FusionRule::Verdict::Ask);
  EXPECT_TRUE(rule.type.isManyToOne);
}

} // namespace
