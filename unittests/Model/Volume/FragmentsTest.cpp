//===- FragmentsTest.cpp - Blocks in the registers of threads -------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Figures that can be followed by hand. That programs need no more registers,
// and as much shared memory, is seen where they are compiled
// (test/Conversion/ChimeraToNVVM).
//
//===----------------------------------------------------------------------===//

#include "TestProblems.h"

#include "Chimera/Model/Algorithms.h"
#include "Chimera/Model/Fragments.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <random>

using namespace chimera::model;

namespace {

/// Warps of 32 threads that multiply 16 x 8 x 16 in registers.
Machine makeMachine() {
  Machine machine;
  machine.levels.resize(1);
  machine.levels[0].name = "SMEM";
  machine.levels[0].capacityBytes = 200000;
  machine.levels[0].usableShare = 1;
  machine.levels[0].buffers = 2;
  machine.levels[0].holdsResults = false;
  machine.levels[0].bytesPerSecondPerCore = 1e11;
  machine.levels[0].bytesPerSecond = 1e13;
  machine.unit.lanes = 32;
  machine.unit.registers = 255;
  machine.unit.cyclesPerSecond = 1e9;
  MatrixUnit unit;
  unit.rows = unit.depth = 16;
  unit.columns = 8;
  unit.multiplyAddsPerCycle = 1024;
  unit.accumulatorBytes = 131072;
  unit.loadBytesPerCycle = unit.storeBytesPerCycle = 128;
  unit.cyclesPerSecond = 1e9;
  machine.matrix = unit;
  ThreadGroups groups;
  groups.threads = 32;
  groups.most = 16;
  groups.units = 4;
  groups.registersPerThread = 255;
  groups.registersPerCore = 65536;
  groups.reserved = 64;
  machine.groups = groups;
  machine.cores = 100;
  return machine;
}

/// Two products of f16 with sums in f32.
ChainProblem makeNarrowChain(const ChainSizes &sizes) {
  ChainProblem problem = makeChain(sizes);
  for (Tensor &tensor : problem.tensors) {
    tensor.elementBytes = 2;
    if (tensor.role != Role::Input)
      tensor.accumulatorBytes = 4;
  }
  return problem;
}

Schedule makeSchedule(llvm::ArrayRef<TiledLoop> order, int64_t numParallel) {
  Schedule schedule;
  schedule.levels.resize(1);
  schedule.levels[0].name = "SMEM";
  schedule.levels[0].order.append(order.begin(), order.end());
  schedule.numParallel = numParallel;
  return schedule;
}

enum : LoopId { b, m, l, k, n };

TEST(Fragments, FollowsTheFirstChainOfThePaper) {
  ChainProblem problem =
      makeNarrowChain({/*b=*/1, /*m=*/512, /*n=*/64, /*k=*/64, /*l=*/512});
  ASSERT_TRUE(hasFragments(problem, makeMachine()));
  FragmentPlan plan = planFragments(problem, makeMachine(),
                                    makeSchedule({{m, 64}, {l, 128}}, 1));
  EXPECT_EQ(plan.obstacle, "");
  EXPECT_EQ(plan.groups, 4);
  EXPECT_EQ(plan.rowTiles, 1);
  // Beside the reserve, and two left operands of 4: 4 of each 8 columns of the
  // 128 of C, of which an eighth is worked on, and the 64 of E.
  EXPECT_EQ(plan.registers, 64 + 8 + (64 + 8) + 32);
  EXPECT_EQ(plan.availableRegisters, 255);
  // A once, B and D twice.
  EXPECT_EQ(plan.factorBytes, (64 * 64 + 2 * (64 * 128 + 128 * 64)) * 2);
}

/// The first chain of the paper, alone: eight tasks, each of which goes over
/// four tiles of l.
struct StagedChain {
  ChainProblem problem =
      makeNarrowChain({/*b=*/1, /*m=*/512, /*n=*/64, /*k=*/64, /*l=*/512});
  Machine machine = makeMachine();
  Schedule schedule = makeSchedule({{m, 64}, {l, 128}}, 1);

  StagedChain() {
    machine.levels.back().mostBuffers = 4;
    schedule.registerTile = groupTile(*machine.matrix, *machine.groups);
    schedule.registerTile.rows = 1;
  }
  /// The cycles of a core with so many copies of tiles that take so long.
  double cycles(int64_t stages, double latency) {
    machine.levels.back().latencyCycles = latency;
    schedule.registerTile.stages = stages;
    SolveOptions options;
    options.threads = machine.cores;
    return price(problem, machine, schedule, options).computeSeconds * 1e9;
  }
  /// How often it waits for a tile that takes far longer than anything else.
  double waits(int64_t stages) {
    return (cycles(stages, 2e6) - cycles(stages, 1e6)) / 1e6;
  }
};

TEST(Fragments, TakeMemoryForStages) {
  StagedChain chain;
  for (int64_t stages : {0, 2, 3, 4}) {
    chain.schedule.registerTile.stages = stages;
    FragmentPlan plan =
        planFragments(chain.problem, chain.machine, chain.schedule);
    EXPECT_EQ(plan.obstacle, "");
    EXPECT_EQ(plan.stages, std::max<int64_t>(2, stages));
    EXPECT_EQ(plan.trips, 4);
    // A once, B and D as often as there are stages.
    EXPECT_EQ(plan.factorBytes,
              (64 * 64 + plan.stages * (64 * 128 + 128 * 64)) * 2);
    // Registers have room for two blocks.
    EXPECT_EQ(countResidents(chain.machine, plan),
              std::min<int64_t>(2, 200000 / plan.factorBytes));
    EXPECT_EQ(
        llvm::toString(verify(chain.problem, chain.machine, chain.schedule)),
        "");
  }
  // Without a loop in the task there is nothing to fill again.
  FragmentPlan whole =
      planFragments(chain.problem, chain.machine, makeSchedule({{m, 16}}, 1));
  EXPECT_EQ(whole.stages, 1);
  EXPECT_EQ(whole.trips, 0);
}

TEST(Fragments, HaveAsManyStagesAsTheLevelAllows) {
  StagedChain chain;
  auto errorWith = [&](int64_t stages) {
    chain.schedule.registerTile.stages = stages;
    return llvm::toString(verify(chain.problem, chain.machine, chain.schedule));
  };
  EXPECT_EQ(errorWith(1),
            "register tile with 1 stages: level 'SMEM' has 2 to 4 "
            "copies of a tile");
  EXPECT_EQ(errorWith(5),
            "register tile with 5 stages: level 'SMEM' has 2 to 4 "
            "copies of a tile");
  chain.machine.levels[0].capacityBytes = 100000;
  chain.schedule.registerTile.stages = 3;
  EXPECT_EQ(
      planFragments(chain.problem, chain.machine, chain.schedule).obstacle,
      "tiles need 106496 bytes of SMEM, there are 100000");
  // Nothing is said of more than the level has.
  chain.machine.levels[0].mostBuffers = 0;
  EXPECT_EQ(errorWith(2), "");
  EXPECT_EQ(errorWith(3),
            "register tile with 3 stages: level 'SMEM' has 2 to 2 "
            "copies of a tile");
}

TEST(Fragments, WaitForTilesThatAreNotThere) {
  StagedChain chain;
  double work = chain.cycles(2, 0), iteration = work / 4;
  // Three of four tiles are asked for an iteration ahead; two or three at a
  // time, one wait is left.
  double latency = 3.5 * iteration;
  EXPECT_NEAR(chain.cycles(2, latency), work + 3 * 2.5 * iteration,
              1e-6 * work);
  EXPECT_NEAR(chain.cycles(3, latency), work + 1.5 * iteration, 1e-6 * work);
  EXPECT_NEAR(chain.cycles(4, latency), work + 0.5 * iteration, 1e-6 * work);
  // What is hidden costs nothing.
  EXPECT_NEAR(chain.cycles(2, 0.9 * iteration), work, 1e-6 * work);
  EXPECT_NEAR(chain.cycles(3, 1.9 * iteration), work, 1e-6 * work);
  // With one copy every tile is waited for.
  chain.machine.levels[0].buffers = 1;
  EXPECT_NEAR(chain.cycles(0, latency), work + 4 * latency, 1e-6 * work);
}

TEST(Fragments, WaitInEachLoopThatFillsTiles) {
  StagedChain chain;
  EXPECT_NEAR(chain.waits(2), 3, 1e-6);
  EXPECT_NEAR(chain.waits(3), 1, 1e-6);
  // The first product adds up in four parts, in each of four iterations.
  chain.schedule.levels[0].order.push_back({k, 16});
  EXPECT_NEAR(chain.waits(2), 3 + 4 * 3, 1e-6);
  EXPECT_NEAR(chain.waits(3), 1 + 4 * 1, 1e-6);
  EXPECT_NEAR(chain.waits(4), 1 + 4 * 1, 1e-6);
  // Two tasks at a time wait together.
  chain.schedule.levels[0].order.pop_back();
  chain.machine.cores = 4;
  EXPECT_NEAR(chain.waits(2), 3, 1e-6);
}

TEST(Fragments, HaveMoreStagesWhereTilesAreWaitedFor) {
  StagedChain chain;
  auto stagesFor = [&](double latency) {
    chain.machine.levels.back().latencyCycles = latency;
    SolveOptions options;
    options.threads = chain.machine.cores;
    std::optional<Plan> plan = solve(chain.problem, chain.machine, options);
    return plan ? planFragments(chain.problem, chain.machine, plan->schedule)
                      .stages
                : 0;
  };
  EXPECT_LE(stagesFor(0), 2);
  chain.problem =
      makeNarrowChain({/*b=*/1, /*m=*/512, /*n=*/64, /*k=*/64, /*l=*/4096});
  EXPECT_EQ(stagesFor(0), 2);
  EXPECT_GT(stagesFor(5000), 2);
}

TEST(Fragments, SharesRegistersAmongThreads) {
  ChainProblem problem =
      makeNarrowChain({/*b=*/1, /*m=*/1024, /*n=*/64, /*k=*/64, /*l=*/64});
  FragmentPlan plan =
      planFragments(problem, makeMachine(), makeSchedule({{m, 208}}, 1));
  EXPECT_EQ(plan.groups, 13);
  // One of four units has four of the groups: 16384 / 128 = 128.
  EXPECT_EQ(plan.availableRegisters, 128);
  EXPECT_EQ(plan.obstacle, "");
  // More rows than there are groups for: each has two tiles.
  plan = planFragments(problem, makeMachine(), makeSchedule({{m, 512}}, 1));
  EXPECT_EQ(plan.groups, 16);
  EXPECT_EQ(plan.rowTiles, 2);
  EXPECT_EQ(plan.obstacle,
            "tiles need 184 registers of each thread, there are 128");
}

TEST(Fragments, GivesGroupsAsManyRowsAsTheRegisterTile) {
  ChainProblem problem =
      makeNarrowChain({/*b=*/1, /*m=*/1024, /*n=*/64, /*k=*/64, /*l=*/512});
  Machine machine = makeMachine();
  Schedule schedule = makeSchedule({{m, 112}, {l, 32}}, 1);
  schedule.registerTile.rows = 2;
  FragmentPlan plan = planFragments(problem, machine, schedule);
  // Seven rows of instructions.
  EXPECT_EQ(plan.rowTiles, 2);
  EXPECT_EQ(plan.groups, 4);
  // Twice 4 of each 8 columns, and twice the left operands.
  EXPECT_EQ(plan.registers, 64 + 16 + (32 + 4) + 64);
  // 184 of each thread: two groups on a unit. Tiles leave room for more.
  EXPECT_EQ(countResidents(machine, plan), 2);
  // Neither seven nor four have registers enough.
  schedule.registerTile.rows = 8;
  plan = planFragments(problem, machine, schedule);
  EXPECT_EQ(plan.obstacle, "");
  EXPECT_EQ(plan.rowTiles, 2);
}

TEST(Fragments, RoundsUp) {
  ChainProblem problem =
      makeNarrowChain({/*b=*/1, /*m=*/50, /*n=*/19, /*k=*/33, /*l=*/70});
  FragmentPlan plan =
      planFragments(problem, makeMachine(), makeSchedule({{m, 32}}, 1));
  EXPECT_EQ(plan.obstacle, "");
  // 9 and 3 times 8 columns; C is narrow while E is computed.
  EXPECT_EQ(plan.registers, 64 + 8 + 9 * 4 + 4);
  EXPECT_EQ(plan.factorBytes, (32 * 48 + 48 * 80 + 80 * 32) * 2);
}

TEST(Fragments, TakesRowsWithMatricesOfTheirOwnOneByOne) {
  ChainProblem problem = makeMlp(/*m=*/8, /*n=*/64, /*k=*/32, /*l=*/48);
  constexpr LoopId row = 0;
  for (Operator &op : problem.operators) {
    Tensor &matrix = problem.tensors[op.inputs[1]];
    matrix.strides.insert(matrix.strides.begin(),
                          matrix.shape[0] * matrix.shape[1]);
    matrix.shape.insert(matrix.shape.begin(), problem.loops[row].extent);
    op.inputs[1].indices.insert(op.inputs[1].indices.begin(), row);
  }
  ASSERT_FALSE(problem.check());
  auto plan = [&](int64_t rows) {
    return planFragments(problem, makeMachine(),
                         makeSchedule({{row, rows}}, 1));
  };
  EXPECT_EQ(plan(1).obstacle, "");
  EXPECT_EQ(plan(1).factorBytes, (16 * 32 + 32 * 48 + 48 * 64) * 4);
  EXPECT_EQ(plan(2).obstacle, "rows have right operands of their own");
}

TEST(Fragments, KeepsAnIntermediateOfWordsAsItIs) {
  ChainProblem problem =
      makeChain({/*b=*/1, /*m=*/50, /*n=*/19, /*k=*/33, /*l=*/70});
  Machine machine = makeMachine();
  machine.matrix->depth = 8;
  FragmentPlan plan =
      planFragments(problem, machine, makeSchedule({{m, 32}}, 1));
  EXPECT_EQ(plan.obstacle, "");
  // 9 and 3 times 8 columns of 4; left operands have 4 as well.
  EXPECT_EQ(plan.registers, 64 + 8 + 9 * 4 + 3 * 4 + 1);
  EXPECT_EQ(plan.factorBytes, (32 * 40 + 40 * 72 + 72 * 24) * 4);
}

TEST(Fragments, SaysWhatCannotBeFollowed) {
  ChainProblem problem =
      makeNarrowChain({/*b=*/2, /*m=*/512, /*n=*/512, /*k=*/512, /*l=*/512});
  auto obstacleOf = [&](llvm::ArrayRef<TiledLoop> order, int64_t numParallel) {
    return planFragments(problem, makeMachine(),
                         makeSchedule(order, numParallel))
        .obstacle;
  };
  EXPECT_EQ(obstacleOf({{m, 16}}, 1),
            "sums of several matrices of a batch are held");
  EXPECT_EQ(obstacleOf({{b, 1}, {m, 16}, {l, 64}}, 2),
            "tiles need 376 registers of each thread, there are 255");
  EXPECT_EQ(obstacleOf({{b, 1}, {m, 64}, {l, 16}, {n, 64}}, 2),
            "tiles need 364 registers of each thread, there are 255");
  EXPECT_EQ(obstacleOf({{b, 1}, {l, 64}, {k, 64}, {m, 16}}, 1),
            "rows of what registers hold are cut");
  EXPECT_EQ(obstacleOf({{b, 1}, {l, 64}, {m, 16}, {n, 64}}, 1),
            "rows of what registers hold are cut");

  Machine machine = makeMachine();
  machine.groups.reset();
  EXPECT_FALSE(hasFragments(problem, machine));
}

/// Attention with f16 operands.
ChainProblem makeNarrowAttention(const AttentionSizes &sizes) {
  ChainProblem problem = makeAttention(sizes);
  for (Tensor &tensor : problem.tensors) {
    tensor.elementBytes = tensor.role == Role::State ? 4 : 2;
    if (tensor.role == Role::Intermediate || tensor.role == Role::Output)
      tensor.accumulatorBytes = 4;
  }
  return problem;
}

/// Of one head and, if there is one, with a mask.
ChainProblem makeNarrowAttention(int64_t rows, int64_t keys,
                                 std::optional<Band> band) {
  AttentionSizes sizes;
  sizes.m = rows;
  sizes.l = keys;
  sizes.k = sizes.n = 32;
  ChainProblem problem = makeNarrowAttention(sizes);
  if (band) {
    band->row = loopNamed(problem, "m");
    band->column = loopNamed(problem, "l");
    problem.bands = {*band};
  }
  return problem;
}

Band makeBand(std::optional<int64_t> least, std::optional<int64_t> most) {
  Band band;
  band.least = least;
  band.most = most;
  return band;
}

int64_t bytesOf(const ChainProblem &problem, const Schedule &schedule) {
  EXPECT_EQ(planFragments(problem, makeMachine(), schedule).obstacle, "");
  SolveOptions options;
  options.threads = makeMachine().cores;
  return price(problem, makeMachine(), schedule, options).levels.back().bytes;
}

TEST(Fragments, MovesNothingForTilesOutsideAMask) {
  ChainProblem problem = makeNarrowAttention(64, 96, std::nullopt);
  LoopId rows = loopNamed(problem, "m"), keys = loopNamed(problem, "l");
  Schedule schedule = makeSchedule({{rows, 16}, {keys, 32}}, 1);
  // Queries and results once, keys and values of tiles of 32 for each of four
  // blocks.
  auto bytes = [](int64_t tiles) {
    return (2 * 64 * 32 + tiles * 2 * 32 * 32) * 2;
  };
  auto bytesIn = [&](std::optional<int64_t> least,
                     std::optional<int64_t> most) {
    return bytesOf(makeNarrowAttention(64, 96, makeBand(least, most)),
                   schedule);
  };
  EXPECT_EQ(bytesOf(problem, schedule), bytes(4 * 3));
  EXPECT_EQ(bytesIn({}, 96), bytes(4 * 3));
  // Blocks end at 16, 32, 48 and 64.
  EXPECT_EQ(bytesIn({}, 1), bytes(1 + 1 + 2 + 2));
  EXPECT_EQ(bytesIn({}, 2), bytes(1 + 2 + 2 + 3));
  EXPECT_EQ(bytesIn({}, -31), bytes(0 + 0 + 1 + 1));
  // A window before each row: the last block needs key 32, then 31.
  EXPECT_EQ(bytesIn(-16, 1), bytes(1 + 1 + 2 + 1));
  EXPECT_EQ(bytesIn(-17, 1), bytes(1 + 1 + 2 + 2));
  // Blocks of rows 0 to 47 and 48 to 63.
  schedule = makeSchedule({{rows, 48}, {keys, 32}}, 1);
  EXPECT_EQ(bytesIn({}, 1), bytes(2 + 2));
}

TEST(Fragments, MovesWhatTheLevelsDoWhereAMaskLeavesAll) {
  std::mt19937 random(7);
  int compared = 0;
  for (int round = 0; round < 400; ++round) {
    int64_t rows = 1 + random() % 100, keys = 1 + random() % 100;
    ChainProblem plain = makeNarrowAttention(rows, keys, std::nullopt);
    ChainProblem masked = makeNarrowAttention(rows, keys, makeBand({}, keys));
    Schedule schedule = makeSchedule({}, 1 + random() % 2);
    LevelSchedule &level = schedule.levels[0];
    for (llvm::StringRef name : {"m", "l", "k", "n"}) {
      LoopId loop = loopNamed(plain, name);
      int64_t extent = plain.loops[loop].extent;
      int64_t tile = std::min<int64_t>(extent, 8 * (1 + random() % 12));
      if (name == "m" || random() % 2)
        level.order.push_back({loop, tile});
    }
    std::shuffle(level.order.begin() + 1, level.order.end(), random);
    if (verifyParallel(plain, schedule) ||
        !planFragments(plain, makeMachine(), schedule).obstacle.empty())
      continue;
    ++compared;
    EXPECT_EQ(bytesOf(masked, schedule), bytesOf(plain, schedule))
        << reproducer(plain, schedule);
  }
  EXPECT_GT(compared, 50);
}

/// The machine with a level around that all cores share.
Machine makeDeepMachine() {
  Machine machine = makeMachine();
  MemoryLevel &outer =
      *machine.levels.insert(machine.levels.begin(), machine.levels.front());
  outer.name = "L2";
  outer.capacityBytes = 50000000;
  outer.bytesPerSecondPerCore = 5e10;
  outer.bytesPerSecond = 3e12;
  outer.sharers = machine.cores;
  outer.buffers = 1;
  return machine;
}

/// Blocks of `outer` loops, the last of which makes parts, and what is in them.
Schedule makeSplitSchedule(llvm::ArrayRef<TiledLoop> outer,
                           llvm::ArrayRef<TiledLoop> inner) {
  Schedule schedule = makeSchedule(inner, outer.size());
  LevelSchedule level;
  level.name = "L2";
  level.order.append(outer.begin(), outer.end());
  schedule.levels.insert(schedule.levels.begin(), level);
  return schedule;
}

TEST(Fragments, LetBlocksSplitASoftmax) {
  Machine machine = makeDeepMachine();
  ChainProblem problem = makeNarrowAttention(32, 96, std::nullopt);
  LoopId rows = loopNamed(problem, "m"), keys = loopNamed(problem, "l");
  Schedule whole = makeSplitSchedule({{rows, 16}}, {{keys, 16}});
  // The last part has less than the others, which tiles do not divide.
  Schedule split = makeSplitSchedule({{rows, 16}, {keys, 40}}, {{keys, 16}});
  FragmentPlan plan = planFragments(problem, machine, split);
  EXPECT_EQ(plan.obstacle, "");
  EXPECT_EQ(plan.registers, planFragments(problem, machine, whole).registers);
  EXPECT_EQ(plan.factorBytes,
            planFragments(problem, machine, whole).factorBytes);

  auto levelOf = [&](const ChainProblem &attention) {
    SolveOptions options;
    options.threads = machine.cores;
    return price(attention, machine, split, options).levels.back();
  };
  // Three parts leave 32 accumulators and two states for each row.
  int64_t parts = 3 * 32 * (32 + 2) * 4, result = 32 * 32 * 2;
  EXPECT_EQ(levelOf(problem).writtenBytes, parts + result);
  // Queries of each part, keys and values of each tile of rows.
  EXPECT_EQ(levelOf(problem).bytes,
            2 * parts + result + 3 * 32 * 32 * 2 + 2 * 2 * 96 * 32 * 2);
  EXPECT_EQ(levelOf(makeNarrowAttention(32, 96, makeBand({}, 96))).bytes,
            levelOf(problem).bytes);
  // Rows see the keys before them: of the first part one tile, then two.
  ChainProblem causal = makeNarrowAttention(32, 96, makeBand({}, 1));
  EXPECT_EQ(levelOf(causal).bytes,
            2 * parts + result + 3 * 32 * 32 * 2 + 3 * 2 * 16 * 32 * 2);
}

TEST(Fragments, LetGroupsShareTheColumnsOfASoftmax) {
  Machine machine = makeDeepMachine();
  ChainProblem problem = makeNarrowAttention(32, 96, std::nullopt);
  LoopId rows = loopNamed(problem, "m"), keys = loopNamed(problem, "l"),
         values = loopNamed(problem, "n");
  auto planFor = [&](int64_t sharers, int64_t rowsOfBlock,
                     llvm::ArrayRef<TiledLoop> inside) {
    Schedule schedule = makeSplitSchedule({{rows, rowsOfBlock}}, inside);
    schedule.registerTile.depth = sharers;
    return planFragments(problem, machine, schedule);
  };
  FragmentPlan alone = planFor(1, 16, {{keys, 32}}),
               shared = planFor(2, 16, {{keys, 32}});
  EXPECT_EQ(shared.obstacle, "");
  EXPECT_EQ(alone.groups, 1);
  EXPECT_EQ(shared.groups, 2);
  EXPECT_EQ(shared.sharers, 2);
  // Half of the scores, and as many sums; two places for numbers of rows.
  EXPECT_LT(shared.registers, alone.registers);
  EXPECT_EQ(shared.factorBytes, alone.factorBytes + 2 * (2 * 16 * 4));
  EXPECT_EQ(planFor(4, 16, {{keys, 32}}).obstacle,
            "a tile has too few columns to share");
  EXPECT_EQ(planFor(2, 32, {{keys, 32}}).obstacle,
            "groups that share columns have rows of several groups");
  EXPECT_EQ(planFor(2, 16, {{keys, 32}, {values, 16}}).obstacle,
            "groups share columns that another loop is inside of");
  ChainProblem chain =
      makeNarrowChain({/*b=*/1, /*m=*/16, /*n=*/32, /*k=*/32, /*l=*/32});
  Schedule schedule;
  schedule = makeSchedule({{loopNamed(chain, "l"), 32}}, 0);
  schedule.registerTile.depth = 2;
  EXPECT_EQ(planFragments(chain, makeMachine(), schedule).obstacle,
            "groups can only share the columns of a softmax");
}

TEST(Fragments, AreSplitWhereBlocksAreFew) {
  Machine machine = makeDeepMachine();
  SolveOptions options;
  options.threads = machine.cores;
  auto tasksOf = [&](int64_t heads, int64_t rows, int64_t keys) {
    AttentionSizes sizes;
    sizes.heads = heads;
    sizes.m = rows;
    sizes.l = keys;
    sizes.k = sizes.n = 128;
    std::optional<Plan> plan =
        solve(makeNarrowAttention(sizes), machine, options);
    return plan ? plan->tasks : 0;
  };
  for (int64_t rows : {1, 4}) {
    EXPECT_GE(tasksOf(30, rows, 8192), 90);
    EXPECT_EQ(tasksOf(30, rows, 8192) % 30, 0);
    EXPECT_EQ(tasksOf(400, rows, 8192), 400);
    // What combining takes is more than there is to gain.
    EXPECT_EQ(tasksOf(30, rows, 64), 30);
  }
}

TEST(Fragments, PlansWhatPrograms) {
  Machine machine = makeMachine();
  for (int64_t m : {16, 50, 512})
    for (int64_t inner : {48, 256}) {
      ChainProblem problem = makeNarrowChain({/*b=*/4, m, 64, 80, inner});
      SolveOptions options;
      options.threads = machine.cores;
      std::optional<Plan> plan = solve(problem, machine, options);
      ASSERT_TRUE(plan);
      EXPECT_EQ(planFragments(problem, machine, plan->schedule).obstacle, "");
      for (const LevelSchedule &level : plan->schedule.levels)
        for (const TiledLoop &loop : level.order)
          if (loop.loop == 1) {
            EXPECT_EQ(loop.tile % 16, 0);
          }
    }
}

/// Two layers on an image of `rows` x `columns`, channels last, the second with
/// windows of one pixel.
ChainProblem makeLayers(int64_t rows, int64_t columns, ConvLayer first) {
  ConvSizes sizes;
  sizes.channelsLast = true;
  sizes.channels = 32;
  sizes.image = {rows, columns};
  ConvLayer second;
  second.channels = 16;
  sizes.layers = {first, second};
  ChainProblem problem = makeConvChain(sizes);
  for (Tensor &tensor : problem.tensors) {
    tensor.elementBytes = 2;
    if (tensor.role != Role::Input)
      tensor.accumulatorBytes = 4;
  }
  return problem;
}

/// Blocks of `columns` pixels in a row, products of one tap.
Schedule makeSchedulePerTap(const ChainProblem &problem, int64_t columns) {
  auto cut = [&](llvm::StringRef name, int64_t tile) {
    return TiledLoop{loopNamed(problem, name), tile};
  };
  return makeSchedule(
      {cut("y1", 1), cut("x1", columns), cut("r1", 1), cut("s1", 1)}, 2);
}

TEST(Fragments, MovesThePixelsUnderTaps) {
  for (int64_t stride : {1, 2, 3})
    for (int64_t dilation : {1, 2})
      for (int64_t padding : {0, 1, 2})
        for (int64_t tile : {16, 32}) {
          ConvLayer layer;
          layer.channels = 48;
          layer.kernel = 3;
          layer.stride = stride;
          layer.dilation = dilation;
          layer.padding = padding;
          int64_t rows = 9, columns = 53;
          ChainProblem problem = makeLayers(rows, columns, layer);
          // Those inside the image, pixel by pixel and tap by tap.
          auto count = [&](int64_t size) {
            int64_t inside = 0;
            for (int64_t pixel = 0; pixel < layer.outputs(size); ++pixel)
              for (int64_t tap = 0; tap < 3; ++tap) {
                int64_t place = pixel * stride + tap * dilation - padding;
                inside += place >= 0 && place < size;
              }
            return inside;
          };
          int64_t made = layer.outputs(rows) * layer.outputs(columns);
          int64_t blocks = layer.outputs(rows) *
                           ((layer.outputs(columns) + tile - 1) / tile);
          int64_t elements = count(rows) * count(columns) * 32 + made * 16 +
                             blocks * (9 * 32 * 48 + 48 * 16);
          EXPECT_EQ(bytesOf(problem, makeSchedulePerTap(problem, tile)),
                    elements * 2)
              << stride << dilation << padding;
        }
}

TEST(Fragments, MultipliesOneTapAtATime) {
  ConvLayer windows;
  windows.channels = 48;
  windows.kernel = 3;
  windows.padding = 1;
  ChainProblem problem = makeLayers(8, 32, windows);
  ASSERT_TRUE(hasFragments(problem, makeMachine()));
  Schedule schedule = makeSchedulePerTap(problem, 16);
  FragmentPlan plan = planFragments(problem, makeMachine(), schedule);
  EXPECT_EQ(plan.obstacle, "");
  // Of the image and the filters two tiles, of the other filters one.
  EXPECT_EQ(plan.factorBytes, (2 * (16 * 32 + 32 * 48) + 48 * 16) * 2);
  schedule.levels[0].order.pop_back();
  EXPECT_EQ(planFragments(problem, makeMachine(), schedule).obstacle,
            "a block has several taps of windows");
  SolveOptions options;
  options.threads = makeMachine().cores;
  EXPECT_TRUE(solve(problem, makeMachine(), options));
  // Rows are the pixels of a line, though kernels of other machines take lines.
  ChainProblem high = makeLayers(32, 8, windows);
  for (Operator &op : high.operators)
    op.rowLoop = loopNamed(high, "y1");
  EXPECT_TRUE(solve(high, makeMachine(), options));
}

TEST(Fragments, ShowNoIntermediateThroughWindows) {
  ConvLayer windows;
  windows.channels = 48;
  windows.kernel = 3;
  windows.padding = 1;
  ConvSizes sizes;
  sizes.channelsLast = true;
  sizes.channels = 32;
  sizes.image = {8, 32};
  sizes.layers = {windows, windows};
  ChainProblem problem = makeConvChain(sizes);
  ASSERT_TRUE(hasFragments(problem, makeMachine()));
  SolveOptions options;
  options.threads = makeMachine().cores;
  EXPECT_FALSE(solve(problem, makeMachine(), options));
}

TEST(Waves, ReadOnceWhatTheirTasksShare) {
  ChainProblem problem =
      makeNarrowChain({/*b=*/12, /*m=*/512, /*n=*/64, /*k=*/64, /*l=*/512});
  Machine machine = makeMachine();
  // A level outside the cores, far too small for a matrix.
  machine.levels.insert(machine.levels.begin(), machine.levels.front());
  machine.levels[0].name = "L2";
  machine.levels[0].capacityBytes = 1000;
  machine.levels[0].buffers = 1;
  Schedule schedule = makeSchedule({{b, 1}, {m, 64}, {l, 128}}, 2);
  schedule.registerTile = groupTile(*machine.matrix, *machine.groups);
  schedule.registerTile.rows = 1;
  schedule.levels.insert(schedule.levels.begin(), LevelSchedule());
  schedule.levels[0].name = "L2";
  auto bytesOf = [&](int64_t tasks) {
    SolveOptions options;
    options.threads = tasks;
    return price(problem, machine, schedule, options).levels[0].bytes;
  };
  int64_t matrices = 12 * 512 * 64 * 2;
  // A and E once; B and D once for each wave of eight tasks, half a wave or a
  // task of a matrix; once, too, where a wave has several matrices.
  EXPECT_EQ(bytesOf(8), 4 * matrices);
  EXPECT_EQ(bytesOf(4), (2 + 2 * 2) * matrices);
  EXPECT_EQ(bytesOf(1), (2 + 2 * 8) * matrices);
  EXPECT_EQ(bytesOf(20), 4 * matrices);
  // With room for a matrix each, what a wave leaves is there for the next.
  machine.levels[0].capacityBytes = 200000;
  EXPECT_EQ(bytesOf(1), 4 * matrices);
  machine.levels[0].capacityBytes = 1000;
  // And it is as good as any: nobody minds the level's size.
  EXPECT_EQ(llvm::toString(verify(problem, machine, schedule)), "");
}

} // namespace
