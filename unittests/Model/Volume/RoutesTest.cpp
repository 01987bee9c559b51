//===- RoutesTest.cpp - What moves where inside a core --------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exact figures for schedules that can be followed by hand. That kernels count
// the same, on random chains, is seen where they run (test/Integration/Ascend).
//
//===----------------------------------------------------------------------===//

#include "TestProblems.h"

#include "Chimera/Model/Routes.h"

#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

#include <algorithm>

using namespace chimera::model;

namespace {

/// A matrix unit of 16 x 16 x 16 between L1 and three memories of its own, with
/// a vector unit on another.
Machine makeMachine() {
  Machine machine;
  machine.levels.resize(1);
  machine.levels[0].name = "L1";
  machine.levels[0].capacityBytes = 1 << 20;
  machine.levels[0].usableShare = 1;
  machine.levels[0].buffers = 2;
  MatrixUnit unit;
  unit.rows = unit.columns = unit.depth = 16;
  unit.lhsBytes = unit.rhsBytes = 32768;
  machine.matrix = unit;
  machine.buffers = {{"A", Buffer::Role::Lhs, 65536},
                     {"B", Buffer::Role::Rhs, 65536},
                     {"C", Buffer::Role::Sums, 262144},
                     {"V", Buffer::Role::Vectors, 262144}};
  machine.routes = {{"memory", "L1", 1e9}, {"memory", "V", 1e9},
                    {"L1", "A", 1e9},      {"L1", "B", 1e9},
                    {"C", "V", 2e9},       {"V", "L1", 1e9},
                    {"V", "memory", 1e9}};
  return machine;
}

/// Two products of f16 with sums in f32, each finished element by element.
ChainProblem makeNarrowChain(const ChainSizes &sizes) {
  ChainProblem problem = makeChain(sizes);
  for (Tensor &tensor : problem.tensors) {
    tensor.elementBytes = 2;
    if (tensor.role != Role::Input)
      tensor.accumulatorBytes = 4;
  }
  for (Operator &op : problem.operators)
    op.hasEpilogue = true;
  return problem;
}

Schedule makeSchedule(llvm::ArrayRef<TiledLoop> order, int64_t numParallel) {
  Schedule schedule;
  schedule.levels.resize(1);
  schedule.levels[0].name = "L1";
  schedule.levels[0].order.append(order.begin(), order.end());
  schedule.numParallel = numParallel;
  return schedule;
}

int64_t bytesOn(const RoutePlan &plan, llvm::StringRef source,
                llvm::StringRef destination) {
  for (const RouteTraffic &route : plan.routes)
    if (route.source == source && route.destination == destination)
      return route.bytes;
  return -1;
}

int64_t bytesIn(const RoutePlan &plan, llvm::StringRef memory) {
  for (const MemoryUse &use : plan.memories)
    if (use.name == memory)
      return use.bytes;
  return -1;
}

enum : LoopId { b, m, l, k, n };

TEST(Routes, FollowsTheFirstChainOfThePaper) {
  ChainProblem problem =
      makeNarrowChain({/*b=*/1, /*m=*/512, /*n=*/64, /*k=*/64, /*l=*/512});
  RoutePlan plan =
      planRoutes(problem, makeMachine(), makeSchedule({{m, 16}}, 1), 32);
  EXPECT_EQ(plan.obstacle, "");
  // 32 tasks: their rows of A once, all of B and D for each.
  EXPECT_EQ(bytesOn(plan, "memory", "L1"),
            512 * 64 * 2 + 32 * 2 * 64 * 512 * 2);
  EXPECT_EQ(bytesOn(plan, "L1", "A"), 512 * (64 + 512) * 2);
  EXPECT_EQ(bytesOn(plan, "L1", "B"), 32 * 2 * 64 * 512 * 2);
  EXPECT_EQ(bytesOn(plan, "C", "V"), 512 * (512 + 64) * 4);
  EXPECT_EQ(bytesOn(plan, "V", "L1"), 512 * 512 * 2);
  EXPECT_EQ(bytesOn(plan, "V", "memory"), 512 * 64 * 2);
  EXPECT_EQ(bytesOn(plan, "memory", "V"), 0);
  // One task for each core: nothing is filled twice.
  EXPECT_EQ(bytesIn(plan, "L1"),
            (16 * 64 + 64 * 512 + 16 * 512 + 512 * 64) * 2);
  EXPECT_EQ(bytesIn(plan, "C"), 16 * (512 + 64) * 4);
  // The depth of 64 goes in two parts of 32 of the second operand, that of 512
  // in parts of 256.
  EXPECT_EQ(bytesIn(plan, "B"), 32768 + 512 * 32 * 2);
  EXPECT_EQ(bytesIn(plan, "A"), 32768 + 16 * 256 * 2);
  EXPECT_DOUBLE_EQ(plan.routes[4].seconds, 512 * (512 + 64) * 4 / 2e9);

  // On half the cores, each has two tasks: inputs have two places.
  RoutePlan shared =
      planRoutes(problem, makeMachine(), makeSchedule({{m, 16}}, 1), 16);
  EXPECT_EQ(bytesIn(shared, "L1"),
            (2 * (16 * 64 + 64 * 512 + 512 * 64) + 16 * 512) * 2);
}

TEST(Routes, RoundsUpOnChipOnly) {
  ChainProblem problem =
      makeNarrowChain({/*b=*/1, /*m=*/50, /*n=*/19, /*k=*/33, /*l=*/70});
  // Tiles of 32 and 18 rows; the intermediate's columns by 48 and 22.
  RoutePlan plan = planRoutes(problem, makeMachine(),
                              makeSchedule({{m, 32}, {l, 48}}, 1), 32);
  EXPECT_EQ(plan.obstacle, "");
  EXPECT_EQ(bytesOn(plan, "memory", "L1"),
            (50 * 33 + 2 * 33 * 70 + 2 * 70 * 19) * 2);
  EXPECT_EQ(bytesOn(plan, "V", "memory"), 50 * 19 * 2);
  // Rows 32 + 32; columns 48 + 32; the depth of the first 48.
  EXPECT_EQ(bytesOn(plan, "L1", "A"), (64 * 48 * 2 + 64 * 80) * 2);
  EXPECT_EQ(bytesOn(plan, "L1", "B"), 2 * (48 * 80 + 80 * 32) * 2);
  EXPECT_EQ(bytesOn(plan, "C", "V"), 64 * (80 + 32) * 4);
  EXPECT_EQ(bytesOn(plan, "V", "L1"), 64 * 80 * 2);
  // The tiles that change with l are double.
  EXPECT_EQ(bytesIn(plan, "L1"),
            (32 * 48 + 2 * 48 * 48 + 32 * 48 + 2 * 48 * 32) * 2);
}

// A vector is a matrix of one row, with a loop for the row or without.
TEST(Routes, TakesVectorsForRows) {
  ChainProblem problem =
      makeNarrowChain({/*b=*/1, /*m=*/1, /*n=*/19, /*k=*/33, /*l=*/70});
  ChainProblem vectors = problem;
  auto isRow = [](LoopId loop) { return loop == b || loop == m; };
  auto dropRow = [&](Access &access) {
    llvm::erase_if(access.indices, [&](const Index &index) {
      return isRow(index.terms.front().loop);
    });
  };
  for (Operator &op : vectors.operators) {
    llvm::erase_if(op.loops, isRow);
    dropRow(op.output);
    for (Access &input : op.inputs)
      dropRow(input);
  }
  Schedule schedule = makeSchedule({{l, 48}}, 0);
  RoutePlan rows = planRoutes(problem, makeMachine(), schedule, 32),
            plan = planRoutes(vectors, makeMachine(), schedule, 32);
  EXPECT_EQ(plan.obstacle, "");
  for (auto [route, expected] : llvm::zip_equal(plan.routes, rows.routes))
    EXPECT_EQ(route.bytes, expected.bytes) << route.source;
  for (auto [memory, expected] : llvm::zip_equal(plan.memories, rows.memories))
    EXPECT_EQ(memory.bytes, expected.bytes) << memory.name;
  EXPECT_EQ(bytesOn(plan, "C", "V"), 16 * (80 + 32) * 4);
}

TEST(Routes, StreamsOperandsOfEpilogues) {
  ChainProblem problem =
      makeNarrowChain({/*b=*/1, /*m=*/64, /*n=*/32, /*k=*/32, /*l=*/64});
  Tensor bias;
  bias.name = "bias";
  bias.elementBytes = 2;
  bias.shape = {64};
  bias.strides = {1};
  problem.tensors.push_back(bias);
  problem.operators[0].epilogue.push_back(
      {static_cast<TensorId>(problem.tensors.size() - 1), {Index(l)}});
  // Once for each of the two tasks, not for each tile of rows.
  RoutePlan plan = planRoutes(problem, makeMachine(),
                              makeSchedule({{m, 32}, {m, 16}}, 1), 2);
  EXPECT_EQ(bytesOn(plan, "memory", "V"), 2 * 64 * 2);
}

/// The routes of a chain whose first operator, 64 x 80 in tiles of 32 rows, has
/// an operand of `bytes` with `indices` behind it.
RoutePlan planWithOperand(llvm::ArrayRef<Index> indices, int64_t bytes) {
  ChainProblem problem =
      makeNarrowChain({/*b=*/1, /*m=*/64, /*n=*/32, /*k=*/32, /*l=*/80});
  if (!indices.empty()) {
    Tensor operand;
    operand.name = "operand";
    operand.elementBytes = bytes;
    operand.shape.assign(indices.size(), 80);
    operand.strides.assign(indices.size(), 1);
    problem.tensors.push_back(operand);
    Access access{static_cast<TensorId>(problem.tensors.size() - 1), {}};
    access.indices.append(indices.begin(), indices.end());
    problem.operators[0].epilogue.push_back(access);
  }
  Machine machine = makeMachine();
  machine.levels.back().burstBytes = 32;
  return planRoutes(problem, machine, makeSchedule({{m, 32}}, 1), 2);
}

// A mask has a byte for each score: whole rows of blocks for all columns at
// once or, without rows, a row that becomes halves and then f32.
TEST(Routes, HasRoomForTruthValues) {
  RoutePlan without = planWithOperand({}, 1),
            rows = planWithOperand({Index(m), Index(l)}, 1),
            columns = planWithOperand({Index(l)}, 1);
  EXPECT_EQ(bytesIn(rows, "V") - bytesIn(without, "V"), 32 * 96);
  EXPECT_EQ(bytesOn(rows, "memory", "V"), 64 * 96);
  EXPECT_EQ(bytesIn(columns, "V") - bytesIn(without, "V"), 128 * (1 + 2 + 4));
  EXPECT_EQ(bytesOn(columns, "memory", "V"), 2 * 96);
}

// A repeat of numbers, which are f32 before each gets a block.
TEST(Routes, HasRoomForANumberOfEachRow) {
  RoutePlan without = planWithOperand({}, 2),
            halves = planWithOperand({Index(m)}, 2),
            floats = planWithOperand({Index(m)}, 4);
  EXPECT_EQ(bytesIn(halves, "V") - bytesIn(without, "V"),
            64 * (2 + 4) + 32 * 32);
  EXPECT_EQ(bytesIn(floats, "V") - bytesIn(without, "V"), 64 * 4 + 32 * 32);
  EXPECT_EQ(bytesOn(halves, "memory", "V"), 64 * 2);
  EXPECT_EQ(bytesOn(floats, "memory", "V"), 64 * 4);
}

// Four tasks share the keys of each head: they leave sums in f32, maximum and
// sum of each row, a block each, and a second kernel reads all that.
TEST(Routes, LeaveThePartsOfASoftmaxForASecondKernel) {
  AttentionSizes sizes;
  sizes.heads = 2;
  sizes.queries = 1;
  sizes.m = 16;
  sizes.l = 1024;
  sizes.k = sizes.n = 64;
  sizes.isOnline = true;
  ChainProblem problem = makeAttention(sizes);
  for (Tensor &tensor : problem.tensors)
    if (tensor.role != Role::State) {
      tensor.elementBytes = 2;
      tensor.accumulatorBytes = 4;
    }
  constexpr LoopId heads = 0, rows = 2, keys = 3;
  auto planFor = [&](llvm::ArrayRef<TiledLoop> order, unsigned numParallel) {
    Schedule schedule = makeSchedule(order, numParallel);
    return planRoutes(problem, makeMachine(), schedule, 32);
  };
  RoutePlan plan = planFor({{heads, 1}, {keys, 256}}, 2);
  EXPECT_EQ(plan.obstacle, "");
  EXPECT_EQ(plan.launches, 2);
  const int64_t sums = 4 * 2 * 16 * 64 * 4, states = 4 * 2 * 2 * 16 * 32;
  EXPECT_EQ(bytesOn(plan, "memory", "V"), sums + states);
  EXPECT_EQ(bytesOn(plan, "V", "memory"), sums + states + 2 * 16 * 64 * 2);
  EXPECT_DOUBLE_EQ(plan.combineSeconds, (sums + states) / 1e9);
  // Scores, groups of both results that leave and to work with, and maximum and
  // sum with places to leave from.
  EXPECT_EQ(bytesIn(plan, "V"),
            16 * 256 * 4 + 2 * 256 * (2 + 4) + 10 * 256 * 4 + 4 * 16 * 32);
  // One kernel where a task has all keys of a head.
  RoutePlan whole = planFor({{heads, 1}, {keys, 256}}, 1);
  EXPECT_EQ(whole.launches, 1);
  EXPECT_EQ(bytesOn(whole, "memory", "V"), 0);
  // The second kernel takes the rows of a task at once, and so must the first.
  sizes.m = 32;
  problem = makeAttention(sizes);
  EXPECT_EQ(planFor({{heads, 1}, {keys, 256}, {rows, 16}}, 2).obstacle,
            "the sums of a part are cut");
}

TEST(Routes, AreOfProductsOnAMatrixUnit) {
  ChainProblem problem = makeChain({1, 64, 64, 64, 64});
  Machine machine = makeMachine();
  EXPECT_TRUE(hasRoutes(problem, machine));
  machine.matrix.reset();
  EXPECT_FALSE(hasRoutes(problem, machine));
  machine = makeMachine();
  machine.buffers.pop_back();
  EXPECT_FALSE(hasRoutes(problem, machine));
  ConvSizes sizes;
  sizes.channels = 8;
  sizes.image = {8, 8};
  ConvLayer layer;
  layer.channels = 8;
  layer.kernel = 3;
  sizes.layers = {layer};
  EXPECT_FALSE(hasRoutes(makeConvChain(sizes), makeMachine()));
}

TEST(Routes, LineOfPixelsHasAPartForEachRemainderOfTheStride) {
  LineOfPixels line{/*stride=*/1, /*taps=*/3};
  EXPECT_EQ(line.numParts(), 1);
  EXPECT_EQ(line.rowsOf(0, 16), 18);
  // Pixels 0, 2, ... count for taps 0 and 2, pixels 1, 3, ... for tap 1.
  line = {/*stride=*/2, /*taps=*/3};
  EXPECT_EQ(line.numParts(), 2);
  EXPECT_EQ(line.rowsOf(0, 16), 17);
  EXPECT_EQ(line.rowsOf(1, 16), 16);
  line = {/*stride=*/2, /*taps=*/5};
  EXPECT_EQ(line.rowsOf(0, 16), 18);
  EXPECT_EQ(line.rowsOf(1, 16), 17);
  // What no tap reads has no part.
  line = {/*stride=*/4, /*taps=*/3};
  EXPECT_EQ(line.numParts(), 3);
  for (int64_t part = 0; part < 3; ++part)
    EXPECT_EQ(line.rowsOf(part, 16), 16);
  line = {/*stride=*/2, /*taps=*/1};
  EXPECT_EQ(line.numParts(), 1);
  EXPECT_EQ(line.rowsOf(0, 5), 5);
}

/// Convolutions with channels last, in f16, each finished element by element if
/// there are several.
ChainProblem makeImageProblem(int64_t height, int64_t width,
                              llvm::ArrayRef<ConvLayer> layers) {
  ConvSizes sizes;
  sizes.channels = 16;
  sizes.image = {height, width};
  sizes.layers.append(layers.begin(), layers.end());
  sizes.channelsLast = true;
  ChainProblem problem = makeConvChain(sizes);
  for (Tensor &tensor : problem.tensors) {
    tensor.elementBytes = 2;
    if (tensor.role != Role::Input)
      tensor.accumulatorBytes = 4;
  }
  for (Operator &op : problem.operators) {
    op.hasEpilogue = layers.size() > 1;
    // Of filters, too, with the matrix for a tap.
    Access &filters = op.inputs[1];
    std::reverse(filters.indices.begin(), filters.indices.end());
    Tensor &tensor = problem.tensors[filters];
    std::reverse(tensor.shape.begin(), tensor.shape.end());
    std::reverse(tensor.strides.begin(), tensor.strides.end());
  }
  return problem;
}

LoopId findLoop(const ChainProblem &problem, llvm::StringRef name) {
  for (auto [index, loop] : llvm::enumerate(problem.loops))
    if (loop.name == name)
      return index;
  return problem.loops.size();
}

TEST(Routes, CountWhatIsInsideAnImage) {
  ConvLayer layer;
  layer.channels = 16;
  layer.kernel = 3;
  layer.padding = 1;
  ChainProblem problem = makeImageProblem(9, 21, layer);
  ASSERT_TRUE(hasRoutes(problem, makeMachine()));
  Schedule schedule = makeSchedule(
      {{findLoop(problem, "y1"), 1}, {findLoop(problem, "x1"), 16}}, 2);
  RoutePlan plan = planRoutes(problem, makeMachine(), schedule, 32);
  EXPECT_EQ(plan.obstacle, "");
  // Of three rows of pixels for each row the border has one at either end; of
  // the 18 and 7 pixels under the windows of a row's two tiles one each.
  int64_t pixels = (9 * 3 - 2) * (17 + 6), filters = 18 * 9 * 16;
  EXPECT_EQ(bytesOn(plan, "memory", "L1"), (pixels + filters) * 16 * 2);
  // Products are whole windows, zeros included.
  EXPECT_EQ(bytesOn(plan, "L1", "A"), 9 * 9 * (16 + 16) * 16 * 2);
  // With a stride of two: windows of pixels 0 to 10, from one before the image.
  layer.stride = 2;
  problem = makeImageProblem(9, 21, layer);
  schedule = makeSchedule({{findLoop(problem, "y1"), 1}}, 1);
  plan = planRoutes(problem, makeMachine(), schedule, 32);
  EXPECT_EQ(plan.obstacle, "");
  pixels = (5 * 3 - 2) * 21, filters = 5 * 9 * 16;
  EXPECT_EQ(bytesOn(plan, "memory", "L1"), (pixels + filters) * 16 * 2);
}

// Of a tile of several rows filters come once.
TEST(Routes, GoOverRowsOfPixels) {
  ConvLayer layer;
  layer.channels = 16;
  layer.kernel = 3;
  layer.padding = 1;
  ChainProblem problem = makeImageProblem(9, 21, layer);
  Schedule schedule = makeSchedule({{findLoop(problem, "y1"), 3}}, 1);
  RoutePlan plan = planRoutes(problem, makeMachine(), schedule, 32);
  EXPECT_EQ(plan.obstacle, "");
  EXPECT_EQ(bytesOn(plan, "memory", "L1"),
            ((9 * 3 - 2) * 21 + 3 * 9 * 16) * 16 * 2);
  EXPECT_EQ(bytesOn(plan, "L1", "A"), 9 * 9 * 32 * 16 * 2);
  EXPECT_EQ(bytesOn(plan, "L1", "B"), 9 * 9 * 16 * 16 * 2);
  // The sums of all rows, and twice what windows take of one.
  EXPECT_EQ(bytesIn(plan, "C"), 3 * 32 * 16 * 4);
  EXPECT_EQ(bytesIn(plan, "L1"), (2 * 3 * 48 + 9 * 16) * 16 * 2);
}

TEST(Routes, KeepsImagesBetweenOperators) {
  ConvLayer layer;
  layer.channels = 16;
  layer.kernel = 3;
  layer.padding = 1;
  ChainProblem problem = makeImageProblem(9, 21, {layer, layer});
  ASSERT_TRUE(hasRoutes(problem, makeMachine()));
  Schedule schedule = makeSchedule({{findLoop(problem, "y2"), 3}}, 1);
  RoutePlan plan = planRoutes(problem, makeMachine(), schedule, 32);
  EXPECT_EQ(plan.obstacle, "");
  // For rows 0 to 2, 3 to 5 and 6 to 8 the first operator makes rows 0 to 3, 2
  // to 6 and 5 to 8.
  constexpr int64_t made = 4 + 5 + 4, taken = 11 + 15 + 11;
  EXPECT_EQ(bytesOn(plan, "memory", "L1"),
            (taken * 21 + 3 * 2 * 9 * 16) * 16 * 2);
  EXPECT_EQ(bytesOn(plan, "L1", "A"), (made + 9) * 9 * 32 * 16 * 2);
  EXPECT_EQ(bytesOn(plan, "L1", "B"), (made + 9) * 9 * 16 * 16 * 2);
  EXPECT_EQ(bytesOn(plan, "C", "V"), (made + 9) * 32 * 16 * 4);
  // Pixels alone; the border comes from nowhere.
  EXPECT_EQ(bytesOn(plan, "V", "L1"), made * 21 * 16 * 2);
  EXPECT_EQ(bytesOn(plan, "V", "memory"), 9 * 21 * 16 * 2);
  // Of the image five rows, each with the 34 pixels under 32 windows, rounded
  // up.
  EXPECT_EQ(bytesIn(plan, "L1"), (2 * 3 * 48 + 2 * 9 * 16 + 5 * 48) * 16 * 2);
  EXPECT_EQ(bytesIn(plan, "C"), (5 + 3) * 32 * 16 * 4);
  schedule.rolling = {problem.operators[0].output};
  EXPECT_EQ(planRoutes(problem, makeMachine(), schedule, 32).obstacle,
            "an image that another operator makes does not roll");
  schedule = makeSchedule(
      {{findLoop(problem, "x2"), 1}, {findLoop(problem, "y2"), 3}}, 2);
  EXPECT_EQ(planRoutes(problem, makeMachine(), schedule, 32).obstacle,
            "windows take columns of an image that another operator makes");
}

// With a stride, pixels that one tap takes lie behind each other; those that
// none takes are made and go nowhere.
TEST(Routes, KeepsThePixelsThatWindowsTake) {
  ConvLayer first, second;
  first.channels = second.channels = 16;
  first.kernel = 3;
  first.padding = 1;
  second.kernel = 3;
  second.stride = 2;
  ChainProblem problem = makeImageProblem(9, 23, {first, second});
  Schedule schedule = makeSchedule({{findLoop(problem, "y2"), 2}}, 1);
  RoutePlan plan = planRoutes(problem, makeMachine(), schedule, 32);
  EXPECT_EQ(plan.obstacle, "");
  // Rows 0 to 4 and 4 to 8, all 23 pixels for 11 windows.
  EXPECT_EQ(bytesOn(plan, "V", "L1"), 10 * 23 * 16 * 2);
  // Pixels of 16 windows for taps 0 and 2, and for tap 1.
  int64_t frame = 5 * (32 + 16);
  EXPECT_EQ(bytesIn(plan, "L1"), (2 * 3 * 48 + 2 * 9 * 16 + frame) * 16 * 2);
  second.kernel = 1;
  problem = makeImageProblem(9, 23, {first, second});
  schedule = makeSchedule({{findLoop(problem, "y2"), 1}}, 1);
  plan = planRoutes(problem, makeMachine(), schedule, 32);
  EXPECT_EQ(plan.obstacle, "");
  // Every second pixel of every second row.
  EXPECT_EQ(bytesOn(plan, "C", "V"), (5 * 32 + 5 * 16) * 16 * 4);
  EXPECT_EQ(bytesOn(plan, "V", "L1"), 5 * 12 * 16 * 2);
  problem = makeImageProblem(9, 22, {first, second});
  EXPECT_EQ(planRoutes(problem, makeMachine(), schedule, 32).obstacle,
            "windows leave out the end of an image that another operator "
            "makes");
}

TEST(Routes, AreOfWindowsThatMoveWithChannelsLast) {
  ConvLayer layer;
  layer.channels = 16;
  layer.kernel = 3;
  EXPECT_TRUE(hasRoutes(makeImageProblem(9, 21, layer), makeMachine()));
  layer.dilation = 2;
  EXPECT_FALSE(hasRoutes(makeImageProblem(9, 21, layer), makeMachine()));
}

TEST(Routes, HaveAllRowsOfSumsInABlock) {
  ChainProblem problem =
      makeNarrowChain({/*b=*/1, /*m=*/512, /*n=*/64, /*k=*/64, /*l=*/512});
  // Sums of 64 rows begin outside of the loop over parts of 16.
  RoutePlan plan = planRoutes(problem, makeMachine(),
                              makeSchedule({{m, 64}, {k, 16}, {m, 16}}, 1), 32);
  EXPECT_EQ(plan.obstacle, "the rows of sums are cut");
}

TEST(Routes, SaysWhatStandsInTheWay) {
  ChainProblem problem =
      makeNarrowChain({/*b=*/1, /*m=*/512, /*n=*/64, /*k=*/64, /*l=*/512});
  RoutePlan plan =
      planRoutes(problem, makeMachine(), makeSchedule({{m, 256}}, 1), 2);
  EXPECT_EQ(plan.obstacle, "tiles need 589824 bytes of C, there are 262144");
  Machine machine = makeMachine();
  machine.routes[0] = {"memory", "B", 1e9};
  machine.routes[5] = {"V", "A", 1e9};
  EXPECT_EQ(
      planRoutes(problem, machine, makeSchedule({{m, 16}}, 1), 2).obstacle,
      "there is no way from memory to L1");
  // Where sums cannot reach the vector unit, they go by memory.
  machine = makeMachine();
  machine.routes[4] = {"C", "memory", 1e9};
  plan = planRoutes(problem, machine, makeSchedule({{m, 16}}, 1), 32);
  EXPECT_EQ(plan.obstacle, "");
  EXPECT_EQ(bytesOn(plan, "C", "memory"), 512 * (512 + 64) * 4);
  EXPECT_EQ(bytesOn(plan, "memory", "V"), 512 * (512 + 64) * 4);
}

// Rows of what stays on chip may end anywhere.
TEST(Routes, WritesWholeBlocks) {
  Machine machine = makeMachine();
  machine.routes[6].writesBlocks = true;
  Schedule schedule = makeSchedule({{m, 32}, {l, 48}}, 1);
  ChainProblem problem =
      makeNarrowChain({/*b=*/1, /*m=*/50, /*n=*/32, /*k=*/33, /*l=*/70});
  EXPECT_TRUE(writesWholeBlocks(problem, machine));
  EXPECT_EQ(planRoutes(problem, machine, schedule, 32).obstacle, "");
  problem = makeNarrowChain({/*b=*/1, /*m=*/50, /*n=*/24, /*k=*/33, /*l=*/70});
  EXPECT_FALSE(writesWholeBlocks(problem, machine));
  EXPECT_EQ(planRoutes(problem, machine, schedule, 32).obstacle,
            "rows of a result end within a block of memory");
  EXPECT_TRUE(writesWholeBlocks(problem, makeMachine()));
  // By themselves both operators have a result.
  ChainProblem first =
      makeNarrowChain({/*b=*/1, /*m=*/50, /*n=*/32, /*k=*/33, /*l=*/70});
  for (Tensor &tensor : first.tensors)
    if (tensor.role == Role::Intermediate)
      tensor.role = Role::Output;
  EXPECT_FALSE(writesWholeBlocks(first, machine));
}

// Where sums can be narrowed on their way out, and the vector unit is
// elsewhere, it neither sees them nor has room for them.
TEST(Routes, NarrowsOnTheWayOut) {
  ChainProblem problem =
      makeNarrowChain({/*b=*/1, /*m=*/512, /*n=*/64, /*k=*/64, /*l=*/512});
  Machine machine = makeMachine();
  machine.routes[4] = {"C", "L1", 1e9, /*converts=*/true};
  machine.routes[5] = {"C", "memory", 1e9, /*converts=*/true};
  RoutePlan plan = planRoutes(problem, machine, makeSchedule({{m, 16}}, 1), 32);
  EXPECT_EQ(plan.obstacle, "");
  EXPECT_EQ(bytesOn(plan, "C", "L1"), 512 * 512 * 2);
  EXPECT_EQ(bytesOn(plan, "C", "memory"), 512 * 64 * 2);
  for (const MemoryUse &memory : plan.memories)
    if (memory.name == "V")
      EXPECT_EQ(memory.bytes, 0);
}

// So it is with a ReLU if routes have one, and nothing else: a bias, or one
// more instruction, takes sums to the vector unit.
TEST(Routes, ClampOnTheWayOut) {
  ChainProblem problem =
      makeNarrowChain({/*b=*/1, /*m=*/512, /*n=*/64, /*k=*/64, /*l=*/512});
  Operator &first = problem.operators.front();
  first.hasEpilogue = true;
  first.epilogueCost = first.routeInstructions = 1;
  Machine machine = makeMachine();
  machine.routes[4] = {"C", "L1", 1e9, /*converts=*/true, /*hasRelu=*/true};
  machine.routes[5] = {"C", "memory", 1e9, /*converts=*/true, /*hasRelu=*/true};
  EXPECT_TRUE(leavesByRoute(first, machine));
  RoutePlan plan = planRoutes(problem, machine, makeSchedule({{m, 16}}, 1), 32);
  EXPECT_EQ(plan.obstacle, "");
  EXPECT_EQ(bytesOn(plan, "C", "L1"), 512 * 512 * 2);
  EXPECT_EQ(bytesOn(plan, "memory", "V"), 0);

  first.epilogueCost = 2;
  EXPECT_FALSE(leavesByRoute(first, machine));
  first.epilogueCost = 1;
  machine.routes[4].hasRelu = false;
  EXPECT_FALSE(leavesByRoute(first, machine));
  plan = planRoutes(problem, machine, makeSchedule({{m, 16}}, 1), 32);
  EXPECT_EQ(bytesOn(plan, "memory", "V"), 512 * 512 * 4);
  // Where a vector unit takes sums, it does what there is to do.
  EXPECT_FALSE(leavesByRoute(first, makeMachine()));
}

// Rows that end within a burst take the whole of it.
TEST(Routes, ReadsWholeBursts) {
  ChainProblem problem =
      makeNarrowChain({/*b=*/1, /*m=*/64, /*n=*/64, /*k=*/40, /*l=*/64});
  Machine machine = makeMachine();
  auto bytesFor = [&](int64_t burst) {
    machine.levels.back().burstBytes = burst;
    return bytesOn(planRoutes(problem, machine, makeSchedule({{m, 64}}, 1), 32),
                   "memory", "L1");
  };
  // Of 40 halves in each of 64 rows of the first operand, 48 or 40.
  EXPECT_EQ(bytesFor(32) - bytesFor(1), 64 * 8 * 2);
}

// Queries along the lanes of vectors: keys and values are left operands, which
// have the rows of tiles, queries and probabilities the right ones.
TEST(Routes, TransposesWhatIsReducedInLanes) {
  AttentionSizes sizes;
  sizes.heads = sizes.queries = 1;
  sizes.m = sizes.k = sizes.n = 64;
  sizes.l = 512;
  sizes.isOnline = true;
  ChainProblem problem = makeAttention(sizes);
  for (Tensor &tensor : problem.tensors) {
    tensor.elementBytes = 2;
    if (tensor.role != Role::Input)
      tensor.accumulatorBytes = 4;
  }
  constexpr LoopId rows = 2;
  Schedule schedule = makeSchedule({{rows, 64}}, 1);
  Machine machine = makeMachine();
  EXPECT_FALSE(runsInLanes(problem, machine));
  RoutePlan plan = planRoutes(problem, machine, schedule, 32);
  EXPECT_EQ(bytesOn(plan, "L1", "A"), (64 * 64 + 64 * 512) * 2);
  EXPECT_EQ(bytesOn(plan, "L1", "B"), 2 * 512 * 64 * 2);

  machine.buffers[3].keepsLanes = true;
  EXPECT_TRUE(runsInLanes(problem, machine));
  plan = planRoutes(problem, machine, schedule, 32);
  EXPECT_EQ(plan.obstacle, "");
  EXPECT_EQ(bytesOn(plan, "L1", "A"), 2 * 512 * 64 * 2);
  EXPECT_EQ(bytesOn(plan, "L1", "B"), (64 * 64 + 64 * 512) * 2);
  // Scores, parts of probabilities and rows of the result twice each, two
  // numbers for each query, and groups to work with.
  EXPECT_EQ(bytesIn(plan, "V"), 64 * 512 * 4 + 2 * 64 * 16 * 2 +
                                    2 * 16 * 64 * 2 + 2 * 64 * 16 +
                                    10 * 64 * 16 * 4);

  // A bias would have to come transposed.
  problem.operators[0].epilogue.push_back(problem.operators[0].inputs[0]);
  EXPECT_FALSE(runsInLanes(problem, machine));
}

} // namespace
