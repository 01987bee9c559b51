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

#include "Search/Solver.h"

#include "Volume/FragmentRows.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace llvm;
using namespace chimera::model;

/// With more loops than this, loops inside windows and derived loops stay
/// whole. Cutting one of them does what cutting the reduction over channels
/// does, and lets windows overlap besides (docs/model.md); only where a single
/// channel is too much for the level would it help.
static constexpr unsigned mostOrderedLoops = 7;
/// Orders of an outer level that are followed up: of the outermost one that has
/// loops, and of those inside it.
static constexpr unsigned outermostChoices = 3, outerChoices = 2;
/// Tiles of outer levels are not worth distinguishing below this size.
static constexpr int64_t outerGranularity = 16;
/// Each part of a rescaled reduction multiplies what is there, which takes as
/// long as a few steps of the reduction.
static constexpr int64_t rescaleGranularity = 128;
/// A loop that is cut for the threads' sake cannot be cut again at the same
/// level, so up to this many tasks for each thread are tried.
static constexpr int64_t tasksPerThread = 4;
/// With this many tasks for each thread it does not matter that the last round
/// leaves some threads idle.
static constexpr int64_t manyTasksPerThread = 16;

//===----------------------------------------------------------------------===//
// Parallel loops
//===----------------------------------------------------------------------===//

bool Solver::indexesEverything(LoopId loop) const {
  for (TensorId tensor = 0; tensor < problem.tensors.size(); ++tensor)
    if (!problem.indexes(tensor, loop))
      return false;
  return true;
}

bool Solver::isShared(LoopId loop) const {
  unsigned last = problem.operators.size() - 1;
  for (unsigned op = 0; op <= last; ++op) {
    const Operator &info = problem.operators[op];
    if (!structure.concerns(loop, op, {0, last}))
      return false;
    // What is reduced over the loop must not be read inside.
    if (structure.readersOf(info.output) &&
        (info.isReduction(loop) || is_contained(info.completes, loop)))
      return false;
  }
  return true;
}

/// The loop that may be cut into tasks though an operator reduces over it: if
/// the others leave threads idle, and nothing forbids it.
std::optional<LoopId> Solver::splittableLoop() const {
  std::optional<LoopId> loop = problem.operators.back().rescaledBy;
  if (!loop || threads == 1 || !is_contained(tiledLoops, *loop) ||
      !isShared(*loop))
    return std::nullopt;
  int64_t tasks = 1;
  for (LoopId other = 0; other < problem.loops.size(); ++other)
    if (is_contained(batchLoops, other))
      tasks *= problem.loops[other].extent;
    else if (is_contained(tiledLoops, other) && isParallel(other))
      tasks *= divideCeilSigned(problem.loops[other].extent, outerGranularity);
  if (tasks % threads == 0 || tasks >= tasksPerThread * threads)
    return std::nullopt;
  Schedule schedule = emptySchedule();
  schedule.levels.front().order = {{*loop, 1}};
  schedule.numParallel = 1;
  if (Error error = verifyParallel(problem, schedule)) {
    consumeError(std::move(error));
    return std::nullopt;
  }
  return loop;
}

void Solver::classifyLoops() {
  for (LoopId loop = 0; loop < problem.loops.size(); ++loop) {
    bool isCutTap = (inFragments || cutsTaps) && isTap(problem, loop);
    if (problem.loops[loop].extent == 1 ||
        !(structure.isCuttable(loop) || isCutTap))
      continue;
    // Vectors of a depthwise convolution run along a loop that indexes all.
    bool isVectorLoop = any_of(problem.operators, [&](const Operator &op) {
      return op.vectorLoop == loop;
    });
    if (isParallel(loop) && indexesEverything(loop) && !isVectorLoop)
      batchLoops.push_back(loop);
    else
      tiledLoops.push_back(loop);
  }
  // Orders grow with the factorial of the loops: the shortest stay whole, of
  // those that may.
  auto keyOf = [&](LoopId loop) {
    return std::make_pair(inSteps && tileUnit(loop) == 0,
                          problem.loops[loop].extent);
  };
  while (tiledLoops.size() > mostTiledLoops) {
    auto *shortest = min_element(tiledLoops, [&](LoopId left, LoopId right) {
      return keyOf(left) < keyOf(right);
    });
    tiledLoops.erase(shortest);
  }
}

bool Solver::hasTaps() const {
  for (LoopId loop = 0; loop < problem.loops.size(); ++loop)
    if (isTap(problem, loop))
      return true;
  return false;
}

/// Windows of a single channel that are more than the innermost level holds, as
/// of images that are cut into patches, have to be cut themselves.
void Solver::cutTaps() {
  cutsTaps = true;
  batchLoops.clear();
  tiledLoops.clear();
  classifyLoops();
}

/// Windows of neighbouring tiles share rows if several loops move them.
void Solver::findOverlaps() {
  for (const Operator &op : problem.operators)
    for (const Access &input : op.inputs) {
      Role role = problem.tensors[input].role;
      bool isWindow = any_of(input.indices, [](const Index &index) {
        return index.terms.size() > 1;
      });
      if (isWindow && (role == Role::Input || role == Role::Intermediate) &&
          !is_contained(overlapping, input.tensor))
        overlapping.push_back(input);
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
  LoopList loops = tiledLoops;
  std::optional<LoopId> splittable = splittableLoop();
  erase_if(loops, [&](LoopId loop) {
    return !isParallel(loop) && loop != splittable;
  });
  for (unsigned first = 0; first < loops.size(); ++first) {
    std::rotate(loops.begin(), loops.begin() + (first ? 1 : 0), loops.end());
    // A form has no tiles to choose from: the fewest tasks will do.
    int64_t most = fromForms ? 1 : tasksPerThread;
    for (int64_t share = 1; share <= most; share *= 2)
      prefixes.push_back(
          cutInto(divideCeilSigned(share * threads, tasks), batch, loops));
  }
  if (costModel.levelOfPasses())
    addInMemoryOrder(prefixes);
  if (!inFragments)
    return prefixes;
  addBlockShapes(prefixes, batch, tasks, loops);
  if (!splittable)
    return prefixes;
  addSplits(prefixes, batch, tasks, *splittable);
  // The shapes of blocks that take the reduction whole.
  erase_if(loops, [&](LoopId loop) { return loop == splittable; });
  addBlockShapes(prefixes, batch, tasks, loops);
  return prefixes;
}

/// The same tasks in the order in which what a pass has made lies in memory:
/// each thread reads what it has written.
void Solver::addInMemoryOrder(SmallVectorImpl<Order> &prefixes) const {
  LoopList order;
  auto addLoops = [&](const Access &access) {
    const Tensor &tensor = problem.tensors[access];
    if (!tensor.isMadeByPass || !order.empty())
      return;
    for (unsigned dim : orderInMemory(tensor))
      for (const Term &term : access.indices[dim].terms)
        order.push_back(term.loop);
  };
  for (const Operator &op : problem.operators) {
    for_each(op.inputs, addLoops);
    for_each(op.epilogue, addLoops);
  }
  auto placeOf = [&](const TiledLoop &entry) {
    return find(order, entry.loop) - order.begin();
  };
  for (Order cut : SmallVector<Order, 8>(ArrayRef(prefixes))) {
    if (any_of(cut,
               [&](const TiledLoop &entry) { return !isParallel(entry.loop); }))
      continue;
    sort(cut, [&](const TiledLoop &left, const TiledLoop &right) {
      return placeOf(left) < placeOf(right);
    });
    if (!is_contained(prefixes, cut))
      prefixes.push_back(cut);
  }
}

/// Whole rounds of tasks and no more, or, since parts are combined one after
/// the other, fewer tasks than there are threads.
void Solver::addSplits(SmallVectorImpl<Order> &prefixes, const Order &batch,
                       int64_t tasks, LoopId loop) const {
  for (int64_t eighths : {1, 2, 4, 8, 16, 24, 32})
    if (int64_t parts = eighths * threads / (8 * tasks); parts > 1)
      prefixes.push_back(cutInto(parts, batch, loop));
}

/// Where each task has one block's worth of registers for its results, the
/// shape of what a task computes is that of a block: one loop cut as the micro
/// kernel likes it, the others into as many tasks as are missing.
void Solver::addBlockShapes(SmallVectorImpl<Order> &prefixes,
                            const Order &batch, int64_t tasks,
                            const LoopList &loops) const {
  for (LoopId first : loops) {
    LoopList others = loops;
    erase_if(others, [&](LoopId loop) { return loop == first; });
    int64_t extent = problem.loops[first].extent;
    SmallVector<int64_t, 16> tiles = kernelTiles(first, extent);
    for (int64_t tile : ArrayRef(tiles).drop_front()) {
      Order cut = batch;
      cut.push_back({first, tile});
      int64_t made = tasks * divideCeilSigned(extent, tile);
      prefixes.push_back(cutInto(divideCeilSigned(threads, made), cut, others));
    }
  }
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
/// they are shared and no operator reduces over them, or it is split.
void Solver::markParallel(Schedule &schedule) const {
  schedule.numParallel = 0;
  for (const LevelSchedule &level : schedule.levels) {
    if (level.order.empty())
      continue;
    for (const TiledLoop &entry : level.order) {
      if (!isParallel(entry.loop) && !(split && entry == *split))
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
  schedule.registerTile = costModel.getRegisterTiles().front();
  for (const MemoryLevel &level : machine.levels) {
    schedule.levels.emplace_back();
    schedule.levels.back().name = level.name;
  }
  // What it is about the blocks that has a price; the rest follows in the end.
  schedule.blocks = BlockForms();
  schedule.blocks->clips = machine.canClipTiles();
  schedule.blocks->folds = machine.canClipTiles();
  return schedule;
}

std::optional<Plan> Solver::run() {
  if (machine.levels.empty() || costModel.getRegisterTiles().empty())
    return std::nullopt;
  classifyLoops();
  findOverlaps();
  searchAll();
  // Closed forms have smallest tiles that may be too large.
  if (!best && fromForms) {
    fromForms = false;
    searchAll();
  }
  // Without a plan an operator runs as loops over scalars, where chains fall
  // apart.
  bool isAlone = !inSteps && problem.operators.size() == 1;
  if (!best && isAlone && hasTaps()) {
    cutTaps();
    searchAll();
  }
  if (!best && isAlone) {
    hasSmallTiles = true;
    searchAll();
  }
  if (best && mayLoseData())
    best = ties.takeSafest();
  return best;
}

/// True if what operators leave each other may not be where the plan says:
/// caches keep what they like, and other programs use them, too. The price of
/// windows leaves out too much to give up time for that.
bool Solver::mayLoseData() const {
  return problem.operators.size() > 1 && problem.consistsOfProducts() &&
         !fromForms && all_of(machine.levels, [](const MemoryLevel &level) {
           return level.ways != 0;
         });
}

/// The parallel loops take the place of others in their level. The rows of a
/// softmax, which are cut for threads, are often to be cut for that level as
/// well: then the threads' share of them stands in the level outside.
void Solver::searchAll() {
  bool rescales = any_of(problem.operators, [](const Operator &op) {
    return op.rescaledBy.has_value();
  });
  // Finer cuts first: a plan that keeps all threads busy is hard to beat.
  SmallVector<Order, 8> prefixes = parallelPrefixes();
  for (const Order &parallel : reverse(prefixes)) {
    split.reset();
    for (const TiledLoop &entry : parallel)
      if (!isParallel(entry.loop))
        split = entry;
    unsigned level = parallelLevel(parallel);
    searchFrom(emptySchedule(), 0, level, parallel);
    if (level > 0 && !machine.startsTasksInOrder() && rescales)
      searchFrom(emptySchedule(), 0, level - 1, parallel);
  }
}

/// The level whose order starts with the parallel loops. A batch goes
/// outermost, and so do the parts of a split reduction, which share hardly more
/// and want to be cut again at every level inside. Other cuts share operands,
/// so they are made inside the levels that hold the whole problem, as long as
/// these belong to all threads.
unsigned Solver::parallelLevel(const Order &parallel) const {
  // Parts are cut again inside; waves make the tiles of the levels around.
  if (machine.startsTasksInOrder())
    return innermost() - (split && innermost() > 0 ? 1 : 0);
  unsigned level = 0;
  if (parallel.size() == batchLoops.size() + (split ? 1 : 0))
    return level;
  Schedule hopeful = withSmallestIntermediates(emptySchedule());
  auto holdsEverything = [&] {
    return evaluateAt(hopeful, level).liveBytes <=
           costModel.capacityAt(emptySchedule(), level);
  };
  while (level < innermost() && holdsEverything()) {
    bool isPrivate = machine.levels[level].sharers < threads;
    if (level + 1 == innermost() && isPrivate)
      break;
    ++level;
  }
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
    if (isShared(loop))
      order.push_back({loop, 1});
  return hopeful;
}

/// A bound on the time of plans that move `bytes` into level `level`.
double Solver::leastTimeWith(const Schedule &schedule, unsigned level,
                             int64_t bytes) const {
  Stages stages;
  stages.add(costModel.leastSeconds(schedule) + leastPacking);
  return stages.with((bytes - costModel.leavingBytes(level)) /
                     costModel.bandwidth(costModel.tasksOf(schedule), level));
}

/// Orders that are followed up at the level inside those of `schedule`.
size_t Solver::mostChoices(const Schedule &schedule) const {
  if (isExhaustive)
    return std::numeric_limits<size_t>::max();
  bool isOutermost = all_of(schedule.levels, [](const LevelSchedule &outer) {
    return all_of(outer.order,
                  [](const TiledLoop &entry) { return entry.tile == 1; });
  });
  return isOutermost ? outermostChoices : outerChoices;
}

namespace {

/// The choices that move least, as many as are wanted. Orders are numbered,
/// which settles ties.
class LeastChoices {
public:
  LeastChoices(size_t most, int64_t bound) : most(most), bound(bound) {}

  /// Searches `orders`, those of `families` first: they are likely to be good,
  /// and bound the rest.
  void search(VolumeSearch &search, ArrayRef<LoopOrder> orders,
              ArrayRef<OrderFamily> families) {
    SmallVector<bool, 64> isOfFamily;
    for (const LoopOrder &order : orders)
      isOfFamily.push_back(any_of(families, [&](const OrderFamily &family) {
        return isOrderOf(family, order);
      }));
    for (bool wanted : {true, false})
      for (const auto &[index, order] : enumerate(orders))
        if (isOfFamily[index] == wanted)
          if (auto choice = search.best(order, boundOf(index))) {
            choice->index = index;
            add(std::move(*choice));
          }
  }

  std::vector<LevelChoice> take() { return std::move(choices); }

private:
  /// True if `order` has the loops of `family`, or some that come first.
  static bool isOrderOf(const OrderFamily &family, const LoopOrder &order) {
    auto isSame = [](LoopId loop, const TiledLoop &entry) {
      return loop == entry.loop && entry.operators == 0;
    };
    return order.size() <= family.loops.size() &&
           all_of(zip(family.loops, order), [&](auto pair) {
             return isSame(std::get<0>(pair), std::get<1>(pair));
           });
  }

  /// The bytes below which order number `index` is of use: of equal choices the
  /// first are kept.
  int64_t boundOf(size_t index) const {
    if (choices.size() < most)
      return bound;
    const LevelChoice &last = choices.back();
    return std::min(bound, last.volumeBytes + (index < last.index ? 1 : 0));
  }

  void add(LevelChoice choice) {
    auto place = llvm::upper_bound(
        choices, choice, [](const LevelChoice &left, const LevelChoice &right) {
          return std::tie(left.volumeBytes, left.index) <
                 std::tie(right.volumeBytes, right.index);
        });
    choices.insert(place, std::move(choice));
    if (choices.size() > most)
      choices.pop_back();
  }

  size_t most;
  int64_t bound;
  std::vector<LevelChoice> choices;
};

} // namespace

/// Tiles of the levels outside the innermost.
Solver::TileRule Solver::outerTiles() const {
  TileRule rule;
  rule.granularity.assign(problem.loops.size(),
                          hasSmallTiles ? 1 : outerGranularity);
  for (const Operator &op : problem.operators)
    if (op.rescaledBy)
      rule.granularity[*op.rescaledBy] = rescaleGranularity;
  for (LoopId loop = 0; loop < problem.loops.size(); ++loop)
    rule.alignment.push_back(std::lcm(std::max<int64_t>(1, tileUnit(loop)),
                                      std::max<int64_t>(1, keptColumns(loop))));
  return rule;
}

/// The orders of `loops` at the end of the level of `formulas`, with their best
/// tiles, that move less than `bound` bytes; the few that move least. Formulas
/// are of `schedule` with what is assumed of it.
std::vector<LevelChoice> Solver::leastChoices(LevelFormulas &formulas,
                                              const Schedule &schedule,
                                              ArrayRef<LoopId> loops,
                                              const TileRule &rule,
                                              int64_t bound) {
  unsigned level = formulas.level;
  LoopList left(loops);
  erase_if(left, [&](LoopId loop) {
    return any_of(schedule.levels[level].order,
                  [&](const TiledLoop &entry) { return entry.loop == loop; });
  });
  VolumeSearch search(formulas, costModel.capacityAt(schedule, level),
                      {rule.granularity, rule.alignment});
  LeastChoices choices(mostChoices(schedule), bound);
  choices.search(search, ordersOf(schedule, level, left), families);
  return choices.take();
}

void Solver::searchOuter(const Schedule &schedule, unsigned level,
                         unsigned parallelLevel, const Order &parallel) {
  if (problem.operators.size() > 1 && !fromForms) {
    searchParted(schedule, level);
    searchBands(schedule, level);
  }
  Schedule hopeful = withSmallestIntermediates(schedule);
  if (evaluateAt(hopeful, level).liveBytes <=
      costModel.capacityAt(schedule, level))
    return searchFrom(schedule, level + 1, parallelLevel, parallel);
  if (fromForms)
    return takeOuterForm(hopeful, schedule, level, parallelLevel, parallel);
  // A private loop here would make the levels inside keep whole intermediates.
  LoopList shared = tiledLoops;
  erase_if(shared, [&](LoopId loop) {
    return !isShared(loop) || (inFragments && isTap(problem, loop));
  });
  LevelFormulas formulas(structure, hopeful, level,
                         transferInto(machine.levels[level], threads));
  for (const TileRule &rule : rulesAt(level))
    for (const LevelChoice &choice :
         leastChoices(formulas, schedule, shared, rule,
                      std::numeric_limits<int64_t>::max())) {
      // Choices are sorted: no later one can be better either.
      if (leastTimeWith(schedule, level, choice.volumeBytes) >= limit())
        break;
      Schedule next = schedule;
      next.levels[level].order = choice.order;
      searchFrom(next, level + 1, parallelLevel, parallel);
    }
}

/// Equal times: the order that comes first.
void Solver::addToOrders(const Plan &plan) {
  SmallVector<unsigned, 32> order = orderOf(plan.schedule);
  auto known = find_if(bestOfOrders,
                       [&](const auto &entry) { return entry.first == order; });
  if (known != bestOfOrders.end()) {
    if (known->second.seconds <= plan.seconds)
      return;
    bestOfOrders.erase(known);
  }
  auto place = partition_point(bestOfOrders, [&](const auto &entry) {
    return std::tie(entry.second.seconds, entry.first) <
           std::tie(plan.seconds, order);
  });
  bestOfOrders.insert(place, {std::move(order), plan});
  if (bestOfOrders.size() > runnersUp + 1)
    bestOfOrders.pop_back();
}

SmallVector<Plan, 4> Solver::takeRunnersUp() {
  SmallVector<Plan, 4> plans;
  for (auto &[order, plan] : bestOfOrders)
    if (best && order != orderOf(best->schedule) && plans.size() < runnersUp)
      plans.push_back(std::move(plan));
  return plans;
}

/// The plan for one thread, if it is next to as fast as `plan`: threads have to
/// win more than it takes to start them again, since what that takes varies by
/// as much.
static std::optional<Plan> findSerial(const ChainProblem &problem,
                                      const Machine &machine,
                                      SolveOptions options, const Plan &plan) {
  constexpr int shortRegions = 8;
  double region = machine.overheads.regionSeconds;
  if (options.threads <= 1 || plan.tasks <= 1 ||
      plan.seconds > shortRegions * region)
    return std::nullopt;
  options.threads = 1;
  options.runnersUp = 0;
  std::optional<Plan> serial = solve(problem, machine, options);
  if (!serial || serial->seconds > plan.seconds + region)
    return std::nullopt;
  serial->schedule.numParallel = 0;
  serial->tasks = 1;
  return serial;
}

/// The best plan for `problem` as it is.
static std::optional<Plan> solveOnce(const ChainProblem &problem,
                                     const Machine &machine,
                                     const SolveOptions &options,
                                     SmallVectorImpl<Plan> *runnersUp) {
  SolveOptions wanted = options;
  if (!runnersUp)
    wanted.runnersUp = 0;
  Solver solver(problem, machine, wanted);
  std::optional<Plan> best = solver.run();
  if (runnersUp) {
    *runnersUp = solver.takeRunnersUp();
    for (Plan &plan : *runnersUp)
      holdForAnyExtent(problem, plan.schedule);
  }
  if (!best)
    return best;
  if (std::optional<Plan> serial = findSerial(problem, machine, options, *best))
    return serial;
  holdForAnyExtent(problem, best->schedule);
  best->schedule.blocks = chooseBlocks(problem, machine, best->schedule);
  return best;
}

/// How much longer a plan may take that needs no other copy of constants.
static constexpr double timeForPanels = 0.05;

/// Where constants of `problem` are kept in panels already, the plan that reads
/// these, if it is about as fast as the one that reads others, or the only one
/// that can run.
static std::optional<Plan> solveForPanels(const ChainProblem &problem,
                                          const Machine &machine,
                                          const SolveOptions &options,
                                          SmallVectorImpl<Plan> *runnersUp) {
  ChainProblem free = problem;
  for (Tensor &tensor : free.tensors)
    tensor.panelColumns = 0;
  std::optional<Plan> fastest = solve(free, machine, options, runnersUp);
  SmallVector<Plan, 0> others;
  std::optional<Plan> keeping =
      solveOnce(problem, machine, options, runnersUp ? &others : nullptr);
  bool mustKeep = any_of(problem.tensors, [](const Tensor &tensor) {
    return tensor.isOnlyInPanels;
  });
  if (!keeping || (fastest && !mustKeep &&
                   keeping->seconds > (1 + timeForPanels) * fastest->seconds))
    return fastest;
  if (runnersUp)
    *runnersUp = std::move(others);
  return keeping;
}

std::optional<Plan> chimera::model::solve(const ChainProblem &problem,
                                          const Machine &machine,
                                          const SolveOptions &options,
                                          SmallVectorImpl<Plan> *runnersUp) {
  if (std::optional<ChainProblem> rows = withFragmentRows(problem, machine))
    return solve(*rows, machine, options, runnersUp);
  if (any_of(problem.tensors,
             [](const Tensor &tensor) { return tensor.panelColumns > 0; }))
    return solveForPanels(problem, machine, options, runnersUp);
  return solveOnce(problem, machine, options, runnersUp);
}

std::optional<Schedule>
chimera::model::solveVolume(const ChainProblem &problem, int64_t usableBytes,
                            ArrayRef<int64_t> granularity) {
  ChainStructure structure(problem);
  Schedule schedule;
  schedule.levels.emplace_back();
  LoopList loops;
  for (LoopId loop = 0; loop < problem.loops.size(); ++loop)
    if (problem.loops[loop].extent > 1)
      loops.push_back(loop);
  if (loops.size() > mostOrderedLoops)
    erase_if(loops, [&](LoopId loop) { return !structure.isCuttable(loop); });
  LevelFormulas formulas(structure, schedule, 0, Transfer());
  VolumeSearch search(formulas, usableBytes, {granularity, {}});
  LeastChoices least(1, std::numeric_limits<int64_t>::max());
  least.search(search,
               enumerateOrders(structure, schedule, 0, loops,
                               /*recompute=*/true),
               familiesOf(problem));
  std::vector<LevelChoice> best = least.take();
  if (best.empty())
    return std::nullopt;
  schedule.levels[0].order = best.front().order;
  return schedule;
}
