//===- PartitionTest.cpp - The cheapest groups of a whole program ---------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The search beside brute force on random graphs, the order of operators, long
// and wide programs, and what it says of proofs.
//
//===----------------------------------------------------------------------===//

#include "RandomGraphs.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Error.h"
#include "gtest/gtest.h"

#include <cstdlib>
#include <set>

using namespace llvm;
using namespace chimera::model;

namespace {

/// Expects each operator in one group, behind what it reads.
void expectRuns(const OperatorGraph &graph, const Partition &partition) {
  GraphUses uses(graph);
  std::vector<bool> hasRun(graph.operators.size());
  for (const GroupMembers &group : partition.groups) {
    for (OperatorId op : group)
      for (OperatorId producer : uses.before[op])
        EXPECT_TRUE(hasRun[producer] || is_contained(group, producer));
    for (OperatorId op : group) {
      EXPECT_FALSE(hasRun[op]);
      hasRun[op] = true;
    }
  }
  EXPECT_TRUE(llvm::all_of(hasRun, [](bool ran) { return ran; }));
}

/// The number of graphs to try: more if somebody wants to wait.
unsigned countGraphs(unsigned usual) {
  const char *factor = std::getenv("CHIMERA_TEST_FACTOR");
  return factor ? usual * std::atoi(factor) : usual;
}

TEST(PartitionTest, EqualsBruteForce) {
  std::mt19937 random(1);
  for (unsigned i = 0, count = countGraphs(400); i < count; ++i) {
    OperatorGraph graph = makeRandomGraph(random, 2 + random() % 7);
    ASSERT_EQ(toString(graph.check()), "");
    SimplePricer pricer(graph);
    pricer.launchSeconds = i % 2 ? 1.5e-6 : 20e-6;
    pricer.mostProducts = random() % 3;
    // Both ways to search paths.
    PartitionLimits limits;
    if (i % 3 == 0)
      limits.mostSteps = 0;
    Partition found = findPartition(graph, pricer, limits);
    Partition best = bruteForcePartition(graph, pricer);
    EXPECT_TRUE(found.isProved);
    EXPECT_NEAR(found.seconds, best.seconds, 1e-12 * best.seconds)
        << "graph " << i;
    expectRuns(graph, found);
    expectRuns(graph, best);
  }
}

TEST(PartitionTest, FindsTheNextBest) {
  std::mt19937 random(3);
  constexpr size_t count = 5;
  for (unsigned i = 0, graphs = countGraphs(100); i < graphs; ++i) {
    OperatorGraph graph = makeRandomGraph(random, 2 + random() % 6);
    SimplePricer pricer(graph);
    pricer.mostProducts = random() % 3;
    PartitionLimits limits;
    if (i % 3 == 0)
      limits.mostSteps = 0;
    std::vector<Partition> found = findPartitions(graph, pricer, count, limits);
    std::vector<double> all;
    bruteForcePartition(graph, pricer, limits, &all);
    llvm::sort(all);
    ASSERT_EQ(found.size(), std::min(count, all.size())) << "graph " << i;
    std::set<std::set<std::vector<OperatorId>>> seen;
    for (auto [partition, seconds] : llvm::zip(found, all)) {
      // Where costs were not all asked for, some may be passed over.
      if (limits.mostSteps > 0 || &partition == &found.front())
        EXPECT_NEAR(partition.seconds, seconds, 1e-12 * seconds)
            << "graph " << i;
      expectRuns(graph, partition);
      std::set<std::vector<OperatorId>> groups;
      for (const GroupMembers &group : partition.groups)
        groups.emplace(group.begin(), group.end());
      EXPECT_TRUE(seen.insert(groups).second) << "graph " << i;
    }
  }
}

//===----------------------------------------------------------------------===//
// Chains
//===----------------------------------------------------------------------===//

/// Groups of members of one chain, in a row, and groups of none. The members of
/// a chain may also be taken as done.
class ChainPricer : public SimplePricer {
public:
  ChainPricer(const OperatorGraph &graph, ArrayRef<GroupMembers> chains)
      : SimplePricer(graph), chains(chains) {
    mostProducts = graph.operators.size();
  }

  bool mayGrow(ArrayRef<OperatorId> members) override {
    const GroupMembers *chain = findChain(members.front());
    return SimplePricer::mayGrow(members) && !(chain && areDone) &&
           llvm::all_of(members,
                        [&](OperatorId op) { return findChain(op) == chain; });
  }
  bool isLegal(ArrayRef<OperatorId> members) override {
    if (!mayGrow(members))
      return false;
    const GroupMembers *chain = findChain(members.front());
    return !chain || std::search(chain->begin(), chain->end(), members.begin(),
                                 members.end()) != chain->end();
  }
  double bound(ArrayRef<OperatorId> members) override {
    return areDone && findChain(members.front()) ? 0
                                                 : SimplePricer::bound(members);
  }
  double cost(ArrayRef<OperatorId> members) override {
    return areDone && findChain(members.front()) ? 0
                                                 : SimplePricer::cost(members);
  }
  const GroupMembers *findChain(OperatorId op) const {
    const auto *found = llvm::find_if(
        chains, [&](const auto &chain) { return is_contained(chain, op); });
    return found == chains.end() ? nullptr : found;
  }

  bool areDone = false;

private:
  ArrayRef<GroupMembers> chains;
};

/// Operators each of which is all that reads the one before, as far as none of
/// them is taken.
GroupMembers makeChain(const OperatorGraph &graph, OperatorId last,
                       std::vector<bool> &isTaken) {
  GraphUses uses(graph);
  GroupMembers chain;
  auto mayBegin = [&](OperatorId op) {
    return !isTaken[op] && uses.after[op].size() == 1 &&
           !graph.tensors[graph.operators[op].outputs.front()].isResult;
  };
  for (const OperatorId *next = &last; next && chain.size() < 4;) {
    OperatorId op = *next;
    isTaken[op] = true;
    chain.insert(chain.begin(), op);
    const auto *before = llvm::find_if(uses.before[op], mayBegin);
    next = before == uses.before[op].end() ? nullptr : before;
  }
  return chain;
}

/// What the best way to cut `chain` takes.
double cutChain(ArrayRef<OperatorId> chain, ChainPricer &pricer) {
  std::vector<double> seconds(chain.size() + 1,
                              std::numeric_limits<double>::infinity());
  seconds[0] = 0;
  for (size_t end = 1; end <= chain.size(); ++end)
    for (size_t begin = 0; begin < end; ++begin)
      seconds[end] = std::min(seconds[end],
                              seconds[begin] +
                                  pricer.cost(chain.slice(begin, end - begin)));
  return seconds.back();
}

/// Chains have one result, so how they are cut and what is grouped outside do
/// not depend on each other: to cut first loses nothing.
TEST(PartitionTest, ChainsAreCutByThemselves) {
  std::mt19937 random(5);
  for (unsigned i = 0, count = countGraphs(100); i < count; ++i) {
    OperatorGraph graph = makeRandomGraph(random, 4 + random() % 5);
    std::vector<bool> isTaken(graph.operators.size());
    std::vector<GroupMembers> chains;
    for (int j = 0; j < 2; ++j)
      if (OperatorId last = random() % isTaken.size(); !isTaken[last])
        chains.push_back(makeChain(graph, last, isTaken));
    ChainPricer pricer(graph, chains);
    double together = findPartition(graph, pricer).seconds;
    EXPECT_NEAR(together, bruteForcePartition(graph, pricer).seconds,
                1e-12 * together);
    double cutFirst = 0;
    for (ArrayRef<OperatorId> chain : chains)
      cutFirst += cutChain(chain, pricer);
    pricer.areDone = true;
    cutFirst += findPartition(graph, pricer).seconds;
    EXPECT_NEAR(cutFirst, together, 1e-12 * together) << "graph " << i;
  }
}

/// Operators of `graph` in another order that respects dependences.
OperatorGraph shuffle(const OperatorGraph &graph, std::mt19937 &random) {
  GraphUses uses(graph);
  OperatorGraph shuffled;
  shuffled.tensors = graph.tensors;
  std::vector<bool> done(graph.operators.size());
  while (shuffled.operators.size() < graph.operators.size()) {
    SmallVector<OperatorId> ready;
    for (OperatorId op = 0; op < graph.operators.size(); ++op)
      if (!done[op] && llvm::all_of(uses.before[op], [&](OperatorId producer) {
            return done[producer];
          }))
        ready.push_back(op);
    OperatorId next = ready[random() % ready.size()];
    done[next] = true;
    shuffled.operators.push_back(graph.operators[next]);
  }
  return shuffled;
}

TEST(PartitionTest, DoesNotDependOnProgramOrder) {
  std::mt19937 random(2);
  for (unsigned i = 0; i < 20; ++i) {
    OperatorGraph graph = makeRandomGraph(random, 12);
    SimplePricer pricer(graph);
    double seconds = findPartition(graph, pricer).seconds;
    for (unsigned j = 0; j < 5; ++j) {
      OperatorGraph other = shuffle(graph, random);
      SimplePricer otherPricer(other);
      Partition found = findPartition(other, otherPricer);
      EXPECT_TRUE(found.isProved);
      EXPECT_NEAR(found.seconds, seconds, 1e-12 * seconds);
    }
  }
}

/// Where the limits decide, the order still does not.
TEST(PartitionTest, DoesNotDependOnProgramOrderBeyondTheLimits) {
  std::mt19937 random(6);
  PartitionLimits limits;
  limits.mostWork = 2000;
  limits.workPerOperator = 64;
  unsigned numUnproved = 0;
  for (unsigned i = 0; i < 10; ++i) {
    OperatorGraph graph = makeRandomGraph(random, 40);
    SimplePricer pricer(graph);
    Partition first = findPartition(graph, pricer, limits);
    numUnproved += !first.isProved;
    for (unsigned j = 0; j < 5; ++j) {
      OperatorGraph other = shuffle(graph, random);
      SimplePricer otherPricer(other);
      Partition found = findPartition(other, otherPricer, limits);
      EXPECT_EQ(found.isProved, first.isProved);
      EXPECT_NEAR(found.seconds, first.seconds, 1e-12 * first.seconds);
    }
  }
  EXPECT_GT(numUnproved, 5u);
}

/// A stage: two products with something between, a norm, a residual.
TensorId addLayer(GraphBuilder &builder, TensorId x) {
  TensorId hidden = builder.add({x}, 1 << 18, BodyKind::Product);
  TensorId active = builder.add({hidden}, 1 << 18);
  TensorId y = builder.add({active}, 1 << 16, BodyKind::Product);
  TensorId sum = builder.add({x, y}, 1 << 16);
  TensorId mean = builder.add({sum}, 1 << 8);
  TensorId centred = builder.add({sum, mean}, 1 << 16);
  TensorId square = builder.add({centred}, 1 << 8);
  return builder.add({centred, square}, 1 << 16);
}

TEST(PartitionTest, GrowsLinearlyWithLayers) {
  size_t ideals[2];
  for (int i : {0, 1}) {
    GraphBuilder builder;
    TensorId x = builder.input(1 << 16);
    int numLayers = (i + 1) * countGraphs(20);
    for (int layer = 0; layer < numLayers; ++layer)
      x = addLayer(builder, x);
    OperatorGraph graph = builder.take();
    SimplePricer pricer(graph);
    Partition found = findPartition(graph, pricer);
    EXPECT_TRUE(found.isProved);
    expectRuns(graph, found);
    ideals[i] = found.numIdeals;
  }
  EXPECT_LT(ideals[1], 2.1 * ideals[0]);
}

/// Branches that wait for products halfway: one is followed to its end before
/// the next, as products that run alone are there already.
TEST(PartitionTest, DoesNotStopForWhatRunsAlone) {
  constexpr unsigned numBranches = 60;
  GraphBuilder builder;
  for (unsigned i = 0; i < numBranches; ++i) {
    TensorId x = builder.add({builder.input(1 << 16)}, 1 << 16);
    TensorId y = builder.add({x}, 1 << 16);
    TensorId weights =
        builder.add({builder.input(1 << 16)}, 1 << 16, BodyKind::Product);
    builder.add({y, weights}, 1 << 16);
  }
  OperatorGraph graph = builder.take();
  SimplePricer pricer(graph);
  pricer.mostProducts = 0;
  Partition found = findPartition(graph, pricer);
  EXPECT_TRUE(found.isProved);
  EXPECT_LE(found.numIdeals, 1 + 3 * numBranches);
  EXPECT_EQ(found.groups.size(), 2 * numBranches);
  expectRuns(graph, found);
}

/// Independent operators that read one tensor: every subset is a group.
TEST(PartitionTest, SaysWhenNothingIsProved) {
  GraphBuilder builder;
  TensorId x = builder.input(1 << 16);
  for (int i = 0; i < 40; ++i)
    builder.add({x}, 1 << 16);
  OperatorGraph graph = builder.take();
  SimplePricer pricer(graph);
  PartitionLimits limits;
  limits.mostIdeals = 500;
  limits.keptIdeals = 16;
  limits.mostExtensions = 200;
  Partition found = findPartition(graph, pricer, limits);
  EXPECT_FALSE(found.isProved);
  expectRuns(graph, found);
  EXPECT_LE(found.leastSeconds, found.seconds);
  EXPECT_GT(found.leastSeconds, 0);
}

/// Expects a partition that runs and is no worse than those of the baselines.
Partition expectSound(const OperatorGraph &graph, size_t mostMembers = 64) {
  SimplePricer pricer(graph);
  pricer.mostMembers = mostMembers;
  Partition found = findPartition(graph, pricer);
  expectRuns(graph, found);
  double seconds = 0;
  for (const GroupMembers &group : found.groups)
    seconds += pricer.cost(group);
  EXPECT_NEAR(found.seconds, seconds, 1e-9 * seconds);
  EXPECT_LE(found.leastSeconds, found.seconds);
  EXPECT_LE(found.seconds, partitionGreedily(graph, pricer).seconds);
  EXPECT_LE(found.seconds, separateOperators(graph, pricer).seconds);
  return found;
}

TEST(PartitionTest, ProvesIndependentOperators) {
  GraphBuilder builder;
  for (int i = 0; i < 4000; ++i)
    builder.add({builder.input(1 << 12)}, 1 << 12);
  EXPECT_TRUE(expectSound(builder.take()).isProved);
}

/// Every subset of the readers of one tensor is a group.
TEST(PartitionTest, EndsWithManyReaders) {
  GraphBuilder builder;
  TensorId x = builder.input(1 << 16);
  for (unsigned i = 0, count = countGraphs(400); i < count; ++i)
    builder.add({x}, 1 << 16);
  EXPECT_FALSE(expectSound(builder.take()).isProved);
}

TEST(PartitionTest, EndsWithManyBranches) {
  GraphBuilder builder;
  TensorId x = builder.add({builder.input(1 << 16)}, 1 << 16);
  SmallVector<TensorId> ends;
  for (int i = 0; i < 64; ++i) {
    TensorId y = builder.add({x}, 1 << 16);
    y = builder.add({y}, 1 << 16, BodyKind::Product);
    ends.push_back(builder.add({y}, 1 << 16));
  }
  builder.add(ends, 1 << 16);
  EXPECT_FALSE(expectSound(builder.take()).isProved);
}

/// With groups of any size, each of the n * n / 2 runs is one.
TEST(PartitionTest, EndsWithLongChains) {
  GraphBuilder builder;
  TensorId x = builder.input(1 << 16);
  for (unsigned i = 0, count = countGraphs(500); i < count; ++i)
    x = builder.add({x}, 1 << 16);
  OperatorGraph graph = builder.take();
  expectSound(graph);
  EXPECT_FALSE(expectSound(graph, graph.operators.size()).isProved);
}

TEST(PartitionTest, TakesNothing) {
  OperatorGraph graph;
  SimplePricer pricer(graph);
  Partition found = findPartition(graph, pricer);
  EXPECT_TRUE(found.isProved);
  EXPECT_TRUE(found.groups.empty());
}

} // namespace
