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

#include "Pricer.h"
#include "VolumeSearch.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace chimera::model;

/// Orders of an outer level that are followed up.
static constexpr unsigned outerChoices = 2;
/// Loops that are cut into tiles.
static constexpr unsigned mostTiledLoops = 5;
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
        threads(std::max<int64_t>(1, options.threads)),
        pricer(problem, machine, options) {}

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

  struct Block {
    Order tiles;
    RegisterTile registerTile;
    double seconds = 0;
    size_t index = 0;
  };
  int64_t tileUnit(LoopId loop) const;
  SmallVector<int64_t, 16> kernelTiles(LoopId loop, int64_t size) const;
  std::vector<Block> enumerateBlocks(Schedule &schedule, ArrayRef<LoopId> loops,
                                     ArrayRef<double> outerSeconds) const;
  bool canWin(ArrayRef<double> others, double seconds) const;
  bool blockFits(const Schedule &schedule) const;
  /// A block in the loops of an order.
  struct Candidate {
    const Block *block = nullptr;
    const LoopOrder *order = nullptr;
    double estimate = 0;
    size_t index = 0;
  };
  static bool hasLoopsOf(const Block &block, const LoopOrder &order);
  size_t apply(Schedule &schedule, const Candidate &candidate) const;
  void tryOrder(Schedule &schedule, Candidate candidate,
                ArrayRef<double> outerSeconds,
                std::vector<Candidate> &candidates);
  void pricePlan(Schedule &schedule);

  unsigned innermost() const { return machine.levels.size() - 1; }

  const ChainProblem &problem;
  const Machine &machine;
  int64_t threads;
  Pricer pricer;
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
  for (const LoopOrder &order :
       enumerateOrders(problem, schedule, level, loops))
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

/// A block's own tiles must fit, whatever the order.
bool Solver::blockFits(const Schedule &schedule) const {
  SmallVector<int64_t, 6> tiles = tilesAt(problem, schedule, innermost());
  int64_t capacity = pricer.capacityAt(schedule, innermost());
  return all_of(problem.operators, [&](const Operator &op) {
    int64_t bytes = 0;
    SmallVector<TensorId, 3> tensors(op.inputs.begin(), op.inputs.end());
    tensors.push_back(op.output);
    for (TensorId tensor : tensors) {
      int64_t size = problem.tensors[tensor].elementBytes;
      for (LoopId loop : problem.tensors[tensor].dims)
        size *= tiles[loop];
      bytes += size;
    }
    return bytes <= capacity;
  });
}

std::vector<Solver::Block>
Solver::enumerateBlocks(Schedule &schedule, ArrayRef<LoopId> loops,
                        ArrayRef<double> outerSeconds) const {
  SmallVector<int64_t, 6> size = tilesAt(problem, schedule, innermost());
  auto &order = schedule.levels[innermost()].order;
  size_t prefix = order.size();
  std::vector<Block> blocks;
  auto extend = [&](auto &&self, ArrayRef<LoopId> rest) -> void {
    if (rest.empty()) {
      if (!blockFits(schedule))
        return;
      double seconds = pricer.chooseRegisterTile(schedule);
      if (!canWin(outerSeconds, seconds))
        return;
      Block block;
      block.tiles.assign(order.begin() + prefix, order.end());
      block.registerTile = schedule.registerTile;
      block.seconds = seconds;
      block.index = blocks.size();
      blocks.push_back(block);
      return;
    }
    LoopId loop = rest.front();
    for (int64_t tile : kernelTiles(loop, size[loop])) {
      if (tile < size[loop])
        order.push_back({loop, tile});
      self(self, rest.drop_front());
      if (tile < size[loop])
        order.pop_back();
    }
  };
  extend(extend, loops);
  sort(blocks, [](const Block &left, const Block &right) {
    return std::tie(left.seconds, left.index) <
           std::tie(right.seconds, right.index);
  });
  return blocks;
}

/// True unless stages that take this long are already slower than the best
/// plan.
bool Solver::canWin(ArrayRef<double> others, double seconds) const {
  SmallVector<double, 4> stages(others);
  stages.push_back(seconds);
  return !best || Pricer::combine(stages) < best->seconds;
}

void Solver::searchInnermost(const Schedule &outer) {
  Schedule schedule = outer;
  SmallVector<double, 4> outerSeconds;
  Plan outerPlan = pricer.price(schedule);
  for (const LevelCost &level : ArrayRef(outerPlan.levels).drop_back())
    outerSeconds.push_back(level.seconds);
  if (!canWin(outerSeconds, pricer.idealSeconds(schedule)))
    return;

  LoopOrder loops = tiledLoops;
  erase_if(loops, [&](LoopId loop) {
    return any_of(schedule.levels[innermost()].order,
                  [&](const TiledLoop &entry) { return entry.loop == loop; });
  });
  std::vector<Block> blocks = enumerateBlocks(schedule, loops, outerSeconds);
  std::vector<LoopOrder> orders =
      enumerateOrders(problem, schedule, innermost(), loops);
  std::vector<Candidate> candidates;
  for (const Block &block : blocks) {
    // Blocks are sorted by arithmetic: no later one can be better either.
    if (!canWin(outerSeconds, block.seconds))
      break;
    for (const LoopOrder &order : orders)
      if (hasLoopsOf(block, order))
        tryOrder(schedule, {&block, &order}, outerSeconds, candidates);
  }
  sort(candidates, [](const Candidate &left, const Candidate &right) {
    return std::tie(left.estimate, left.index) <
           std::tie(right.estimate, right.index);
  });
  for (const Candidate &candidate : candidates) {
    if (best && candidate.estimate >= best->seconds)
      break;
    size_t prefix = apply(schedule, candidate);
    pricePlan(schedule);
    schedule.levels[innermost()].order.resize(prefix);
  }
}

bool Solver::hasLoopsOf(const Block &block, const LoopOrder &order) {
  return order.size() == block.tiles.size() &&
         all_of(block.tiles, [&](const TiledLoop &entry) {
           return is_contained(order, entry.loop);
         });
}

/// Adds the candidate's loops to the innermost level and returns how many were
/// there before.
size_t Solver::apply(Schedule &schedule, const Candidate &candidate) const {
  auto &entries = schedule.levels[innermost()].order;
  size_t prefix = entries.size();
  for (LoopId loop : *candidate.order)
    entries.push_back(
        *find_if(candidate.block->tiles,
                 [&](const TiledLoop &entry) { return entry.loop == loop; }));
  schedule.registerTile = candidate.block->registerTile;
  markParallel(schedule);
  return prefix;
}

/// Estimates a candidate by its arithmetic and volumes. The full price adds
/// packing and conflicts; it is computed at once if the estimate is the best so
/// far, which soon gives a bar for the rest, and otherwise when all are known.
void Solver::tryOrder(Schedule &schedule, Candidate candidate,
                      ArrayRef<double> outerSeconds,
                      std::vector<Candidate> &candidates) {
  size_t prefix = apply(schedule, candidate);
  Evaluation evaluation = evaluate(problem, schedule, innermost());
  if (evaluation.liveBytes <= pricer.capacityAt(schedule, innermost())) {
    SmallVector<double, 4> stages(outerSeconds);
    stages.push_back(candidate.block->seconds);
    stages.push_back(evaluation.volumeBytes() /
                     pricer.bandwidth(schedule, innermost()));
    candidate.estimate = Pricer::combine(stages);
    if (candidate.estimate < leastEstimate) {
      leastEstimate = candidate.estimate;
      pricePlan(schedule);
    } else if (!best || candidate.estimate < best->seconds) {
      candidate.index = candidates.size();
      candidates.push_back(candidate);
    }
  }
  schedule.levels[innermost()].order.resize(prefix);
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
