//===- Solve.cpp - The plan with the lowest predicted time ----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Levels are decided from the slowest to the fastest. Outer levels only have to
// keep the traffic of slow memories down, so a few of their orders with the
// least volume are tried. The innermost level decides the shape of the blocks
// and with it the time of the arithmetic: there, every order is combined with
// every tile from a list the micro kernel can use well, and what is left after
// cutting off candidates that cannot win is priced in full.
//
// Loops that index every tensor (a batch) are independent problems: they go
// outermost, one item at a time, which no volume can object to.
//
//===----------------------------------------------------------------------===//

#include "Blocks.h"
#include "VolumeSearch.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace chimera::model;

/// Orders of an outer level that are followed up.
static constexpr unsigned outerChoices = 2;
/// Tiles of outer levels are not worth distinguishing below this size.
static constexpr int64_t outerGranularity = 16;
/// Reductions are cut at multiples of this, so that unrolled loops come out
/// even.
static constexpr int64_t reductionUnit = 8;
/// A loop that is cut for the threads' sake cannot be cut again at the same
/// level, so up to this many tasks for each thread are tried.
static constexpr int64_t tasksPerThread = 4;
/// With this many tasks for each thread it does not matter that the last round
/// leaves some threads idle.
static constexpr int64_t manyTasksPerThread = 16;

namespace {

class Solver {
public:
  Solver(const ChainProblem &problem, const Machine &machine,
         const SolveOptions &options)
      : problem(problem), machine(machine),
        threads(std::max<int64_t>(1, options.threads)), sets(problem),
        pricer(sets, machine, options) {}

  std::optional<Plan> run();

private:
  using Order = SmallVector<TiledLoop, 6>;

  bool indexesEverything(LoopId loop) const;
  bool isParallel(LoopId loop) const {
    return problem.isShared(loop) && !problem.isReduction(loop);
  }
  void classifyLoops();
  SmallVector<Order, 8> parallelPrefixes() const;
  Order cutInto(int64_t missing, const Order &batch,
                ArrayRef<LoopId> loops) const;
  Schedule emptySchedule() const;
  unsigned parallelLevel(const Order &parallel) const;
  void markParallel(Schedule &schedule) const;

  void searchFrom(Schedule schedule, unsigned level, unsigned parallelLevel,
                  const Order &parallel);
  Schedule withSmallestIntermediates(const Schedule &schedule) const;
  void searchOuter(const Schedule &schedule, unsigned level,
                   unsigned parallelLevel, const Order &parallel);
  void searchInnermost(const Schedule &schedule);

  /// An order of the innermost level, ready for many blocks.
  struct InnerOrder {
    LoopOrder loops;
    OrderShape shape;
    /// The places of its loops that run in parallel.
    LoopSet parallel = 0;
    int64_t capacityBytes = 0;
  };
  /// A block in the loops of an order.
  struct Candidate {
    const Block *block = nullptr;
    const InnerOrder *order = nullptr;
    double estimate = 0;
    size_t index = 0;
  };
  /// The innermost level inside decided outer ones.
  struct Innermost {
    Schedule schedule;
    /// The times of the outer levels.
    Stages others;
    /// Tasks that the loops decided make.
    int64_t tasks = 1;
    SmallVector<LoopTiles, 6> loops;
    /// The parts of all loops before this level cuts them.
    SmallVector<PartList, 6> parts;
    /// By the places of the loops they consist of.
    std::vector<std::vector<InnerOrder>> orders;
    std::vector<Candidate> candidates;
    /// What the loops' tiles make of the block at hand.
    SubsetProducts tiles, trips;
  };

  int64_t tileUnit(LoopId loop) const;
  SmallVector<int64_t, 16> kernelTiles(LoopId loop, int64_t size) const;
  LoopTiles makeLoopTiles(const Schedule &schedule, LoopId loop, int64_t size,
                          ArrayRef<Parts> parts) const;
  void addOrders(Innermost &level, ArrayRef<LoopId> loops);
  std::vector<Block> enumerateBlocks(const Innermost &level) const;
  double limit() const {
    return best ? best->seconds : std::numeric_limits<double>::infinity();
  }
  static void setBlock(Innermost &level, const Block &block);
  void tryBlock(Innermost &level, const Block &block);
  void tryOrder(Innermost &level, Candidate candidate);
  ArrayRef<LoopOrder> ordersOf(const Schedule &schedule, unsigned level,
                               ArrayRef<LoopId> loops);
  bool canWin(Innermost &level, const Candidate &candidate) const;
  void priceCandidate(Innermost &level, const Candidate &candidate);
  void pricePlan(Schedule &schedule);

  unsigned innermost() const { return machine.levels.size() - 1; }

  const ChainProblem &problem;
  const Machine &machine;
  int64_t threads;
  ChainSets sets;
  Pricer pricer;
  bool operandsArePrivate = pricer.operandsArePrivate();
  /// Strided operands are packed at least once each, by all threads together.
  double leastPacking = pricer.unavoidablePacking([&](TensorId tensor) {
    return sets.bytes[tensor];
  }) / threads;
  /// The orders of each list of loops.
  std::map<LoopOrder, std::vector<LoopOrder>> orderCache;
  /// Loops that index every tensor, and the others.
  LoopOrder batchLoops, tiledLoops;
  std::optional<Plan> best;
  /// The lowest estimate of all candidates seen.
  double leastEstimate = std::numeric_limits<double>::infinity();
};

//===----------------------------------------------------------------------===//
// Parallel loops
//===----------------------------------------------------------------------===//

bool Solver::indexesEverything(LoopId loop) const {
  for (TensorId tensor = 0; tensor < problem.tensors.size(); ++tensor)
    if (!problem.indexes(tensor, loop))
      return false;
  return true;
}

void Solver::classifyLoops() {
  for (LoopId loop = 0; loop < problem.loops.size(); ++loop) {
    if (problem.loops[loop].extent == 1)
      continue;
    if (isParallel(loop) && indexesEverything(loop))
      batchLoops.push_back(loop);
    else
      tiledLoops.push_back(loop);
  }
  // Orders grow with the factorial of the loops: the shortest stay whole.
  while (tiledLoops.size() > mostTiledLoops) {
    auto *shortest = min_element(tiledLoops, [&](LoopId left, LoopId right) {
      return problem.loops[left].extent < problem.loops[right].extent;
    });
    tiledLoops.erase(shortest);
  }
}

/// Ways to cut the problem into tasks: the batch alone and, if that leaves
/// threads idle, the batch with more loops cut, starting with each in turn.
SmallVector<Solver::Order, 8> Solver::parallelPrefixes() const {
  Order batch;
  int64_t tasks = 1;
  for (LoopId loop : batchLoops) {
    batch.push_back({loop, 1});
    tasks *= problem.loops[loop].extent;
  }
  SmallVector<Order, 8> prefixes = {batch};
  if (tasks % threads == 0 || tasks >= manyTasksPerThread * threads)
    return prefixes;
  LoopOrder loops = tiledLoops;
  erase_if(loops, [&](LoopId loop) { return !isParallel(loop); });
  for (unsigned first = 0; first < loops.size(); ++first) {
    std::rotate(loops.begin(), loops.begin() + (first ? 1 : 0), loops.end());
    for (int64_t share = 1; share <= tasksPerThread; share *= 2)
      prefixes.push_back(cutInto(share * threads, batch, loops));
  }
  return prefixes;
}

/// Adds loops to `batch` until they make `missing` tasks of each item.
Solver::Order Solver::cutInto(int64_t missing, const Order &batch,
                              ArrayRef<LoopId> loops) const {
  Order cut = batch;
  for (LoopId loop : loops) {
    int64_t extent = problem.loops[loop].extent;
    int64_t tile = alignTo(divideCeilSigned(extent, missing),
                           std::max<int64_t>(1, tileUnit(loop)));
    if (missing <= 1 || tile >= extent)
      continue;
    cut.push_back({loop, tile});
    missing = divideCeilSigned(missing, divideCeilSigned(extent, tile));
  }
  return cut;
}

/// Leading loops of the outermost level that has any are parallel as far as
/// they are shared and no operator reduces over them.
void Solver::markParallel(Schedule &schedule) const {
  schedule.numParallel = 0;
  for (const LevelSchedule &level : schedule.levels) {
    if (level.order.empty())
      continue;
    for (const TiledLoop &entry : level.order) {
      if (!isParallel(entry.loop))
        return;
      ++schedule.numParallel;
    }
    return;
  }
}

//===----------------------------------------------------------------------===//
// Outer levels
//===----------------------------------------------------------------------===//

Schedule Solver::emptySchedule() const {
  Schedule schedule;
  schedule.registerTile = maximalRegisterTiles(machine.unit).front();
  for (const MemoryLevel &level : machine.levels) {
    schedule.levels.emplace_back();
    schedule.levels.back().name = level.name;
  }
  return schedule;
}

std::optional<Plan> Solver::run() {
  if (machine.levels.empty() || maximalRegisterTiles(machine.unit).empty())
    return std::nullopt;
  classifyLoops();
  // Finer cuts first: a plan that keeps all threads busy is hard to beat.
  SmallVector<Order, 8> prefixes = parallelPrefixes();
  for (const Order &parallel : reverse(prefixes))
    searchFrom(emptySchedule(), 0, parallelLevel(parallel), parallel);
  return best;
}

/// The level whose order starts with the parallel loops. A batch goes
/// outermost. Other cuts share operands, so they are made inside the levels
/// that hold the whole problem.
unsigned Solver::parallelLevel(const Order &parallel) const {
  unsigned level = 0;
  if (parallel.size() == batchLoops.size())
    return level;
  Schedule hopeful = withSmallestIntermediates(emptySchedule());
  while (level + 1 < innermost() &&
         evaluate(problem, hopeful, level).liveBytes <=
             pricer.capacityAt(emptySchedule(), level))
    ++level;
  return level;
}

void Solver::searchFrom(Schedule schedule, unsigned level,
                        unsigned parallelLevel, const Order &parallel) {
  if (level == parallelLevel)
    schedule.levels[level].order = parallel;
  markParallel(schedule);
  if (level == innermost())
    return searchInnermost(schedule);
  searchOuter(schedule, level, parallelLevel, parallel);
}

/// Intermediates get their size from the innermost level, which is not decided
/// yet: assume that it takes all loops it can.
Schedule Solver::withSmallestIntermediates(const Schedule &schedule) const {
  Schedule hopeful = schedule;
  auto &order = hopeful.levels[innermost()].order;
  for (LoopId loop : tiledLoops)
    if (problem.isShared(loop))
      order.push_back({loop, 1});
  return hopeful;
}

void Solver::searchOuter(const Schedule &schedule, unsigned level,
                         unsigned parallelLevel, const Order &parallel) {
  int64_t capacity = pricer.capacityAt(schedule, level);
  Schedule hopeful = withSmallestIntermediates(schedule);
  if (evaluate(problem, hopeful, level).liveBytes <= capacity)
    return searchFrom(schedule, level + 1, parallelLevel, parallel);
  // A private loop here would make the levels inside keep whole intermediates.
  LoopOrder loops;
  for (LoopId loop : tiledLoops)
    if (problem.isShared(loop) &&
        none_of(schedule.levels[level].order,
                [&](const TiledLoop &entry) { return entry.loop == loop; }))
      loops.push_back(loop);
  SmallVector<int64_t, 6> granularity(problem.loops.size(), outerGranularity);
  SmallVector<int64_t, 6> alignment;
  for (LoopId loop = 0; loop < problem.loops.size(); ++loop)
    alignment.push_back(std::max<int64_t>(1, tileUnit(loop)));
  VolumeSearch search(problem, hopeful, level, capacity, granularity,
                      alignment);
  std::vector<LevelChoice> choices;
  for (const LoopOrder &order : ordersOf(schedule, level, loops))
    if (auto choice = search.best(order, std::numeric_limits<int64_t>::max())) {
      choice->index = choices.size();
      choices.push_back(*choice);
    }
  // Orders come in a fixed sequence, which settles ties.
  sort(choices, [](const LevelChoice &left, const LevelChoice &right) {
    return std::tie(left.volumeBytes, left.index) <
           std::tie(right.volumeBytes, right.index);
  });
  if (choices.size() > outerChoices)
    choices.resize(outerChoices);
  for (const LevelChoice &choice : choices) {
    Schedule next = schedule;
    next.levels[level].order = choice.order;
    searchFrom(next, level + 1, parallelLevel, parallel);
  }
}

//===----------------------------------------------------------------------===//
// The innermost level
//===----------------------------------------------------------------------===//

/// What tiles of `loop` should be multiples of; 0 for a loop that only repeats
/// the micro kernel, whose blocks have one iteration or all.
int64_t Solver::tileUnit(LoopId loop) const {
  auto runsAlong = [&](LoopId Operator::*kernelLoop) {
    return any_of(problem.operators, [&](const Operator &op) {
      return op.hasLoop(loop) && op.*kernelLoop == loop;
    });
  };
  if (runsAlong(&Operator::vectorLoop))
    return machine.unit.lanes;
  if (runsAlong(&Operator::rowLoop))
    return 1;
  return problem.isReduction(loop) ? reductionUnit : 0;
}

/// Tiles of `loop` that a micro kernel runs well with, the whole size first:
/// equal parts, cut at whole vectors where vectors run along the loop.
SmallVector<int64_t, 16> Solver::kernelTiles(LoopId loop, int64_t size) const {
  int64_t unit = tileUnit(loop);
  SmallVector<int64_t, 16> tiles = {size};
  if (unit == 0) {
    if (size > 1)
      tiles.push_back(1);
    return tiles;
  }
  for (int64_t target : {256, 128, 96, 64, 48, 32, 24, 16, 12, 8}) {
    // The depth of a block matters less than its sides: powers of two will do.
    if (unit == reductionUnit && !isPowerOf2_64(target))
      continue;
    int64_t goal = alignTo(target, unit);
    if (goal >= size)
      continue;
    int64_t parts = divideCeilSigned(size, goal);
    int64_t tile = alignTo(divideCeilSigned(size, parts), unit);
    if (tile < tiles.back())
      tiles.push_back(tile);
  }
  return tiles;
}

LoopTiles Solver::makeLoopTiles(const Schedule &schedule, LoopId loop,
                                int64_t size, ArrayRef<Parts> parts) const {
  LoopTiles result;
  result.loop = loop;
  result.tiles = kernelTiles(loop, size);
  for (int64_t tile : result.tiles) {
    result.parts.push_back(cutParts(parts, tile));
    result.trips.push_back(
        countTrips(problem, schedule, innermost(), loop, tile));
  }
  return result;
}

/// The orders of `loops` at the end of level `level`. The loops of all levels
/// outside are shared, so they make no difference to what the orders are.
ArrayRef<LoopOrder> Solver::ordersOf(const Schedule &schedule, unsigned level,
                                     ArrayRef<LoopId> loops) {
  SmallVector<int64_t, 6> size = tilesAt(problem, schedule, level);
  LoopOrder divisible(loops);
  erase_if(divisible, [&](LoopId loop) { return size[loop] == 1; });
  auto [entry, isNew] = orderCache.try_emplace(divisible);
  if (isNew)
    entry->second = enumerateOrders(problem, schedule, level, divisible);
  return entry->second;
}

void Solver::addOrders(Innermost &level, ArrayRef<LoopId> loops) {
  bool startsHere =
      all_of(ArrayRef(level.schedule.levels).drop_back(),
             [](const auto &outer) { return outer.order.empty(); });
  level.orders.resize(size_t(1) << loops.size());
  for (const LoopOrder &order : ordersOf(level.schedule, innermost(), loops)) {
    InnerOrder inner{order, OrderShape(sets, level.schedule, innermost(), order,
                                       /*numbering=*/loops)};
    bool isParallelSoFar = startsHere;
    LoopSet places = 0;
    for (LoopId loop : order) {
      LoopSet place = bitOf(find(loops, loop) - loops.begin());
      places |= place;
      isParallelSoFar &= isParallel(loop);
      if (isParallelSoFar)
        inner.parallel |= place;
    }
    Schedule next = level.schedule;
    for (LoopId loop : order)
      next.levels[innermost()].order.push_back({loop, 1});
    markParallel(next);
    inner.capacityBytes = pricer.capacityAt(next, innermost());
    level.orders[places].push_back(std::move(inner));
  }
}

std::vector<Block> Solver::enumerateBlocks(const Innermost &level) const {
  BlockSearch search(problem, machine.unit, pricer, level.loops, level.parts);
  return search.run(pricer.capacityAt(level.schedule, innermost()),
                    pricer.busiestShare(level.tasks), level.others, limit());
}

void Solver::searchInnermost(const Schedule &outer) {
  Innermost level;
  level.schedule = outer;
  level.tasks = pricer.countTasks(outer);
  Plan outerPlan = pricer.price(outer);
  for (const LevelCost &cost : ArrayRef(outerPlan.levels).drop_back())
    level.others.add(cost.seconds);
  if (level.others.with(pricer.idealSeconds(outer) + leastPacking) >= limit())
    return;

  LoopOrder loops = tiledLoops;
  erase_if(loops, [&](LoopId loop) {
    return any_of(outer.levels[innermost()].order,
                  [&](const TiledLoop &entry) { return entry.loop == loop; });
  });
  SmallVector<int64_t, 6> size = tilesAt(problem, outer, innermost());
  level.parts = pricer.partsOfLoops(outer);
  for (LoopId loop : loops)
    level.loops.push_back(
        makeLoopTiles(outer, loop, size[loop], level.parts[loop]));
  std::vector<Block> blocks = enumerateBlocks(level);
  if (blocks.empty())
    return;
  addOrders(level, loops);
  for (const Block &block : blocks) {
    // Blocks are sorted by arithmetic: no later one can be better either.
    if (level.others.with(block.seconds + leastPacking) >= limit())
      break;
    tryBlock(level, block);
  }
  sort(level.candidates, [](const Candidate &left, const Candidate &right) {
    return std::tie(left.estimate, left.index) <
           std::tie(right.estimate, right.index);
  });
  for (const Candidate &candidate : level.candidates) {
    if (candidate.estimate >= limit())
      break;
    setBlock(level, *candidate.block);
    priceCandidate(level, candidate);
  }
}

/// Fills in the tiles and trips of a block.
void Solver::setBlock(Innermost &level, const Block &block) {
  SmallVector<int64_t, mostTiledLoops> tiles, trips;
  for (auto [entry, choice] : zip(level.loops, block.choice)) {
    tiles.push_back(entry.tiles[choice]);
    trips.push_back(entry.trips[choice]);
  }
  level.tiles.assign(tiles);
  level.trips.assign(trips);
}

/// Tries all orders of the loops that a block cuts.
void Solver::tryBlock(Innermost &level, const Block &block) {
  setBlock(level, block);
  for (const InnerOrder &order : level.orders[block.cut])
    tryOrder(level, {&block, &order});
}

/// Estimates a candidate by its arithmetic, its volumes and the packing that
/// any plan has. The full price adds more packing and conflicts; it is computed
/// at once if the estimate is the best so far, which soon gives a bar for the
/// rest, and otherwise when all are known.
void Solver::tryOrder(Innermost &level, Candidate candidate) {
  const InnerOrder &order = *candidate.order;
  if (order.shape.liveBytes(level.tiles) > order.capacityBytes)
    return;
  int64_t tasks = level.tasks * level.trips[order.parallel];
  double transfer = order.shape.volumeBytes(level.trips) /
                    pricer.bandwidth(tasks, innermost());
  candidate.estimate =
      level.others.with(candidate.block->seconds + leastPacking, transfer);
  if (candidate.estimate < leastEstimate) {
    leastEstimate = candidate.estimate;
    priceCandidate(level, candidate);
  } else if (candidate.estimate < limit()) {
    candidate.index = level.candidates.size();
    level.candidates.push_back(candidate);
  }
}

/// Compares the best plan with a bound on the candidate's price. Unlike the
/// estimate it has the packing that cannot be avoided, and of every operand
/// whose lines collide, taken alone, the cheaper of packing and conflicts. What
/// several such operands cost together can only be more. Where the order itself
/// makes the parallel loops, the estimate does not know them, and nothing is a
/// bound; nor is it where operators share an operand, whose conflicts may come
/// out cheaper than the two walks over it.
bool Solver::canWin(Innermost &level, const Candidate &candidate) const {
  const InnerOrder &order = *candidate.order;
  if (!best || order.parallel || !operandsArePrivate)
    return true;
  const Block &block = *candidate.block;
  auto bytesOf = [&](TensorId tensor) {
    return order.shape.readBytes(tensor, level.trips);
  };
  double share = pricer.busiestShare(level.tasks);
  double bandwidth = pricer.bandwidth(level.tasks, innermost());
  double transfer = order.shape.volumeBytes(level.trips) / bandwidth;
  double compute = block.seconds + share * pricer.unavoidablePacking(bytesOf);
  double bound = level.others.with(compute, transfer);
  double most = best->seconds * (1 + cutOffMargin);
  if (bound >= most)
    return false;
  SmallVector<int64_t, 6> tiles;
  SmallVector<PartList, 6> parts = level.parts;
  for (auto [entry, choice] : zip(level.loops, block.choice))
    parts[entry.loop] = entry.parts[choice];
  for (const PartList &list : parts)
    tiles.push_back(list.front().size);
  for (const Operator &op : problem.operators)
    if (auto cost = pricer.conflictCost(op, tiles, parts, block.registerTile,
                                        bytesOf)) {
      double packed =
          level.others.with(compute + share * cost->packing, transfer);
      double inPlace =
          level.others.with(compute, transfer + cost->bytes / bandwidth);
      if (std::min(packed, inPlace) >= most)
        return false;
    }
  return true;
}

/// Completes the schedule with the candidate's loops for as long as it takes to
/// price it.
void Solver::priceCandidate(Innermost &level, const Candidate &candidate) {
  if (!canWin(level, candidate))
    return;
  Schedule &schedule = level.schedule;
  auto &entries = schedule.levels[innermost()].order;
  size_t prefix = entries.size();
  const Block &block = *candidate.block;
  for (LoopId loop : candidate.order->loops)
    for (auto [entry, choice] : zip(level.loops, block.choice))
      if (entry.loop == loop)
        entries.push_back({loop, entry.tiles[choice]});
  schedule.registerTile = block.registerTile;
  markParallel(schedule);
  pricePlan(schedule);
  entries.resize(prefix);
}

void Solver::pricePlan(Schedule &schedule) {
  pricer.choosePacking(schedule);
  Plan plan = pricer.price(schedule);
  // Only now do the outer levels know the size of the intermediates.
  if (any_of(plan.levels, [](const LevelCost &level) {
        return level.liveBytes > level.capacityBytes;
      }))
    return;
  if (!best || plan.seconds < best->seconds)
    best = plan;
}

} // namespace

std::optional<Plan> chimera::model::solve(const ChainProblem &problem,
                                          const Machine &machine,
                                          const SolveOptions &options) {
  return Solver(problem, machine, options).run();
}

std::optional<Schedule>
chimera::model::solveVolume(const ChainProblem &problem, int64_t usableBytes,
                            ArrayRef<int64_t> granularity) {
  Schedule schedule;
  schedule.levels.emplace_back();
  LoopOrder loops;
  for (LoopId loop = 0; loop < problem.loops.size(); ++loop)
    loops.push_back(loop);
  VolumeSearch search(problem, schedule, 0, usableBytes, granularity);
  LevelChoice best;
  bool found = false;
  for (const LoopOrder &order : enumerateOrders(problem, schedule, 0, loops))
    if (auto choice = search.best(order, best.volumeBytes)) {
      best = *choice;
      found = true;
    }
  if (!found)
    return std::nullopt;
  schedule.levels[0].order = best.order;
  return schedule;
}
