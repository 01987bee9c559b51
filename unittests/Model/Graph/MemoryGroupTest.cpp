//===- MemoryGroupTest.cpp - Operators that share loops over rows ---------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A root mean square norm on a machine of round figures: which of its operators
// can be one group, the bytes it moves, and when rows are too long to stay.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/MemoryGroup.h"

#include "llvm/Support/Error.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace chimera::model;

namespace {

/// Two levels of 1 MiB and 32 KiB, of which all is usable, at 10 and 100 GB/s.
Machine makeMachine() {
  Machine machine;
  MemoryLevel outer;
  outer.name = "L2";
  outer.capacityBytes = 1 << 20;
  outer.usableShare = 1;
  outer.bytesPerSecondPerCore = outer.bytesPerSecond = 10e9;
  outer.ways = 8;
  MemoryLevel inner = outer;
  inner.name = "L1";
  inner.capacityBytes = 32 << 10;
  inner.bytesPerSecondPerCore = inner.bytesPerSecond = 100e9;
  machine.levels.push_back(outer);
  machine.levels.push_back(inner);
  machine.unit.lanes = 8;
  machine.unit.registers = 16;
  machine.unit.cyclesPerSecond = 1e9;
  return machine;
}

GraphAccess at(TensorId tensor, ArrayRef<LoopId> loops) {
  GraphAccess access;
  access.tensor = tensor;
  for (LoopId loop : loops)
    access.indices.push_back(Index(loop));
  return access;
}

/// 0: h = x + r; 1: s = sum of squares of h along rows; 2: y = h * rsqrt(s);
/// 3: t = y transposed. The tensors are x, r, h, s, y, t.
OperatorGraph makeNorm(int64_t rows, int64_t columns) {
  OperatorGraph graph;
  auto addTensor = [&](StringRef name, ArrayRef<int64_t> shape) {
    GraphTensor tensor;
    tensor.name = name.str();
    tensor.shape.assign(shape.begin(), shape.end());
    graph.tensors.push_back(tensor);
  };
  for (StringRef name : {"x", "r", "h"})
    addTensor(name, {rows, columns});
  addTensor("s", {rows});
  addTensor("y", {rows, columns});
  addTensor("t", {columns, rows});
  graph.tensors[2].isResult = graph.tensors[5].isResult = true;
  auto addOperator = [&](ArrayRef<GraphAccess> inputs, const GraphAccess &out) {
    GraphOperator op;
    op.extents = {rows, columns};
    op.inputs.assign(inputs.begin(), inputs.end());
    op.outputs.push_back(out);
    graph.operators.push_back(op);
  };
  addOperator({at(0, {0, 1}), at(1, {0, 1})}, at(2, {0, 1}));
  addOperator({at(2, {0, 1})}, at(3, {0}));
  addOperator({at(2, {0, 1}), at(3, {0})}, at(4, {0, 1}));
  addOperator({at(4, {0, 1})}, at(5, {1, 0}));
  graph.operators.back().body = BodyKind::Move;
  return graph;
}

TEST(MemoryGroupTest, ReadsAndWritesEachTensorOnce) {
  OperatorGraph graph = makeNorm(1024, 1024);
  ASSERT_EQ(toString(graph.check()), "");
  Machine machine = makeMachine();
  MemoryGroupPlanner planner(graph, machine, 1);
  std::optional<MemoryGroup> group = planner.plan({0, 1, 2});
  ASSERT_TRUE(group);
  EXPECT_EQ(group->end, 2u);
  // The rows; loops over all elements could not hold the sum.
  EXPECT_EQ(group->firstDim, 0u);
  EXPECT_EQ(group->numDims, 1u);
  const double matrix = 4.0 * 1024 * 1024;
  // x, r, h and y; the sums never leave.
  EXPECT_EQ(group->compulsoryBytes, 4 * matrix);
  EXPECT_EQ(group->bytes, 4 * matrix);
  // Results that the cache would not keep go past it: 4 matrices at 10 GB/s,
  // and the same into the innermost level, of which the machine hides four
  // fifths.
  double seconds = 4 * matrix / 10e9;
  EXPECT_GE(group->seconds, seconds);
  EXPECT_LE(group->seconds, 1.3 * seconds);
  EXPECT_LE(planner.bound({0, 1, 2}), group->seconds);
}

/// A slice that is put into a tensor moves no more than itself.
TEST(MemoryGroupTest, PutsSlicesIntoTensors) {
  constexpr int64_t columns = 1 << 20, slices = 64;
  OperatorGraph graph;
  GraphTensor tensor;
  tensor.shape = {columns};
  graph.tensors.push_back(tensor);
  tensor.shape = {slices, columns};
  graph.tensors.append({tensor, tensor});
  GraphOperator insert;
  insert.body = BodyKind::Move;
  insert.extents = {columns};
  for (TensorId input : {0, 1})
    insert.inputs.push_back(at(input, {}));
  insert.outputs.push_back(at(2, {}));
  for (GraphAccess *access :
       {&insert.inputs[0], &insert.inputs[1], &insert.outputs[0]})
    access->isReshaped = true;
  graph.operators.push_back(insert);
  Machine machine = makeMachine();
  auto group = MemoryGroupPlanner(graph, machine, 1).plan(OperatorId(0));
  ASSERT_TRUE(group);
  EXPECT_LE(group->bytes, 3 * 4 * columns);
  EXPECT_GE(group->bytes, 2 * 4 * columns);
}

TEST(MemoryGroupTest, LongRowsAreBroughtInAgain) {
  // A row of 1 MiB fits no level beside another one.
  OperatorGraph graph = makeNorm(16, 1 << 18);
  Machine machine = makeMachine();
  MemoryGroupPlanner planner(graph, machine, 1);
  std::optional<MemoryGroup> group = planner.plan({0, 1, 2});
  ASSERT_TRUE(group);
  EXPECT_GT(group->bytes, group->compulsoryBytes);
  // The sum and the scaling read h again, and both touch s.
  EXPECT_EQ(group->bytes - group->compulsoryBytes,
            2 * 4.0 * 16 * (1 << 18) + 2 * 4.0 * 16);
}

TEST(MemoryGroupTest, SaysWhyNot) {
  OperatorGraph graph = makeNorm(1024, 1024);
  Machine machine = makeMachine();
  GroupRefusal refusal = GroupRefusal::None;
  {
    MemoryGroupPlanner planner(graph, machine, 1);
    EXPECT_FALSE(planner.plan({0, 1, 2, 3}, &refusal));
    EXPECT_EQ(refusal, GroupRefusal::Turned);
    EXPECT_TRUE(planner.plan({3}, &refusal));
    EXPECT_EQ(refusal, GroupRefusal::None);
  }
  {
    // The sum over all rows waits for each of them.
    OperatorGraph whole = graph;
    whole.operators.pop_back();
    whole.tensors[3].shape.clear();
    whole.operators[1].outputs[0].indices.clear();
    whole.operators[2].inputs[1].indices.clear();
    MemoryGroupPlanner planner(whole, machine, 1);
    EXPECT_FALSE(planner.plan({0, 1, 2}, &refusal));
    EXPECT_EQ(refusal, GroupRefusal::NoCommonRows);
  }
  {
    OperatorGraph parted = graph;
    parted.operators.pop_back();
    parted.operators.pop_back();
    parted.operators[1].inputs[0].tensor = 0;
    MemoryGroupPlanner planner(parted, machine, 1);
    EXPECT_FALSE(planner.plan({0, 1}, &refusal));
    EXPECT_EQ(refusal, GroupRefusal::SeveralEnds);
  }
  auto expectRefusal = [&](BodyKind body, double instructions,
                           GroupRefusal wanted) {
    OperatorGraph other = graph;
    other.operators[1].body = body;
    other.operators[1].instructions = instructions;
    MemoryGroupPlanner planner(other, machine, 1);
    EXPECT_FALSE(planner.plan({0, 1, 2}, &refusal));
    EXPECT_EQ(refusal, wanted);
  };
  expectRefusal(BodyKind::Product, 1, GroupRefusal::Product);
  expectRefusal(BodyKind::Opaque, 1, GroupRefusal::Opaque);
  expectRefusal(BodyKind::Move, 0, GroupRefusal::View);
}

/// Sums along columns: the loops over rows are those over columns.
TEST(MemoryGroupTest, SharesLoopsOverColumns) {
  OperatorGraph graph = makeNorm(1024, 1024);
  graph.operators.pop_back();
  graph.operators[1].outputs[0] = at(3, {1});
  graph.operators[2].inputs[1] = at(3, {1});
  ASSERT_EQ(toString(graph.check()), "");
  Machine machine = makeMachine();
  MemoryGroupPlanner planner(graph, machine, 1);
  std::optional<MemoryGroup> group = planner.plan({0, 1, 2});
  ASSERT_TRUE(group);
  EXPECT_EQ(group->firstDim, 1u);
  EXPECT_EQ(group->numDims, 1u);
  EXPECT_EQ(group->bytes, group->compulsoryBytes);
}

/// A task has as many rows as the code takes at a time, which need not fit
/// where one of them would.
TEST(MemoryGroupTest, TasksHaveSeveralRows) {
  OperatorGraph graph = makeNorm(1024, 1024);
  Machine machine = makeMachine();
  MemoryGroupPlanner planner(graph, machine, 1);
  std::optional<MemoryGroup> group = planner.plan({0, 1, 2});
  ASSERT_TRUE(group);
  // Rows of x, r, h and y, and a number of s. Two would fit the cache of 32
  // KiB.
  EXPECT_EQ(group->taskBytes, 4 * (4 * 4096.0 + 4));
}

/// What is written to a cache is read before; what leaves it for another one
/// takes no time from what comes in.
TEST(MemoryGroupTest, ReadsWhatItWrites) {
  constexpr int64_t elements = 32 << 10;
  OperatorGraph graph;
  GraphTensor tensor;
  tensor.shape = {elements};
  graph.tensors.append({tensor, tensor});
  graph.tensors[1].isResult = true;
  GraphOperator op;
  op.extents = {elements};
  op.inputs.push_back(at(0, {0}));
  op.outputs.push_back(at(1, {0}));
  graph.operators.push_back(op);
  Machine machine = makeMachine();
  machine.unit.cyclesPerSecond = 1e15;
  const double bytes = 4.0 * elements;
  EXPECT_NEAR(
      MemoryGroupPlanner(graph, machine, 1).plan(OperatorId(0))->seconds,
      2 * bytes / 100e9, 1e-9);
}

/// The bound of any set is at most the sum of those of its parts, and at most
/// the cost: the search relies on both.
TEST(MemoryGroupTest, BoundsAddUp) {
  OperatorGraph graph = makeNorm(512, 1024);
  Machine machine = makeMachine();
  for (int64_t threads : {1, 4}) {
    MemoryGroupPricer pricer(graph, machine, threads);
    for (unsigned set = 1; set < 16; ++set) {
      GroupMembers members;
      for (OperatorId op = 0; op < 4; ++op)
        if (set & (1u << op))
          members.push_back(op);
      EXPECT_LE(pricer.bound(members), pricer.cost(members));
      for (unsigned part = (set - 1) & set; part > 0; part = (part - 1) & set) {
        GroupMembers left, right;
        for (OperatorId op : members)
          (part & (1u << op) ? left : right).push_back(op);
        EXPECT_LE(pricer.bound(members),
                  pricer.bound(left) + pricer.bound(right) + 1e-18);
      }
    }
  }
}

} // namespace
