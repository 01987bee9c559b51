//===- PartitionGreedilyTest.cpp - Fusion into post-dominators ------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small programs with the groups that TVM makes of them.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/PaperPartition.h"
#include "TypedGraphs.h"

#include "gtest/gtest.h"

using namespace llvm;
using namespace chimera::model;

namespace {

using GroupList = std::vector<std::vector<OperatorId>>;

GroupList listGroups(const Partition &partition) {
  GroupList groups;
  for (const GroupMembers &group : partition.groups)
    groups.emplace_back(group.begin(), group.end());
  return groups;
}

GroupList fuse(const OperatorGraph &graph,
               FusionRules rules = FusionRules::Functional) {
  EdgePricer pricer(graph);
  return listGroups(partitionGreedily(graph, pricer, rules));
}

TEST(PartitionGreedilyTest, ConvolutionsTakeWhatFollows) {
  TypedBuilder builder;
  TensorId x = builder.product(builder.input(TypedBuilder::usualSize));
  x = builder.oneToOne({builder.bias(x)});
  x = builder.product(x);
  builder.oneToOne({builder.bias(x)});
  EXPECT_EQ(fuse(builder.take()), GroupList({{0, 1, 2}, {3, 4, 5}}));
}

TEST(PartitionGreedilyTest, ForksJoinWithAllBetween) {
  TypedBuilder builder;
  TensorId x = builder.oneToOne({builder.input(TypedBuilder::usualSize)});
  TensorId left = builder.oneToOne({x}), right = builder.oneToOne({x});
  builder.oneToOne({left, right});
  EXPECT_EQ(fuse(builder.take()), GroupList({{0, 1, 2, 3}}));

  // A product on one branch keeps the fork out, and takes the join.
  TypedBuilder residual;
  x = residual.oneToOne({residual.input(TypedBuilder::usualSize)});
  residual.oneToOne({x, residual.product(x)});
  OperatorGraph graph = residual.take();
  EXPECT_EQ(fuse(graph), GroupList({{0}, {1, 2}}));
  // The paper's rules let it in.
  EXPECT_EQ(fuse(graph, FusionRules::Table1), GroupList({{0, 1, 2}}));
}

TEST(PartitionGreedilyTest, ReductionsEndGroups) {
  TypedBuilder builder;
  TensorId x = builder.oneToOne({builder.input(TypedBuilder::usualSize)});
  TensorId sum = builder.reduction(x);
  builder.oneToOne({builder.oneToMany(sum)});
  OperatorGraph graph = builder.take();
  EXPECT_EQ(fuse(graph), GroupList({{0, 1}, {2, 3}}));
  // Supplement 2.
  EXPECT_EQ(fuse(graph, FusionRules::Supplemented), GroupList({{0, 1, 2, 3}}));
}

TEST(PartitionGreedilyTest, InjectiveOperatorsWait) {
  TypedBuilder builder;
  TensorId x = builder.product(builder.input(TypedBuilder::usualSize));
  x = builder.oneToOne({x});
  x = builder.reorganize(x);
  x = builder.oneToOne({x});
  builder.product(x);
  OperatorGraph graph = builder.take();
  EXPECT_EQ(fuse(graph), GroupList({{0, 1}, {2, 3}, {4}}));
}

TEST(PartitionGreedilyTest, ResultsAndIllegalGroupsStop) {
  TypedBuilder builder;
  TensorId x = builder.oneToOne({builder.input(TypedBuilder::usualSize)});
  TensorId y = builder.oneToOne({x});
  builder.oneToOne({builder.oneToOne({y})});
  OperatorGraph graph = builder.take();
  graph.tensors[y].isResult = true;
  EXPECT_EQ(fuse(graph), GroupList({{0, 1}, {2, 3}}));

  SimplePricer pricer(graph);
  pricer.mostMembers = 1;
  EXPECT_EQ(listGroups(partitionGreedily(graph, pricer)),
            GroupList({{0}, {1}, {2}, {3}}));
}

TEST(PartitionGreedilyTest, GroupsAreAtMostOfTvmsSize) {
  TypedBuilder builder;
  TensorId x = builder.input(16);
  for (int i = 0; i < 600; ++i)
    x = builder.oneToOne({x}, 16);
  OperatorGraph graph = builder.take();
  SimplePricer pricer(graph);
  pricer.mostMembers = 10000;
  size_t largest = 0;
  for (const GroupMembers &group : partitionGreedily(graph, pricer).groups)
    largest = std::max(largest, group.size());
  EXPECT_EQ(largest, 256u);
}

} // namespace
