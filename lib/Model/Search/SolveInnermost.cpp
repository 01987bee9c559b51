//===- SolveInnermost.cpp - Blocks for the innermost level ----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inside decided outer levels, every order is combined with every tile from a
// list the micro kernel can use well, and what is left after cutting off
// candidates that cannot win is priced in full.
//
//===----------------------------------------------------------------------===//

#include "Search/Solver.h"

#include "Chimera/Model/Fragments.h"
#include "Chimera/Model/Routes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <functional>
#include <numeric>

using namespace llvm;
using namespace chimera::model;

/// Tiles below this are tried where no others fit.
static constexpr int64_t leastTile = 8;

/// Candidates of one search to price in full, by rising estimate. In chains of
/// products bounds leave up to 120, in those of convolutions 29,000; in
/// exported programs, on three targets, none after the 66th was the best.
static constexpr unsigned mostPriced = 512;

/// What tiles of `loop` should be multiples of; 0 for a loop that only repeats
/// the micro kernel, whose blocks have one iteration or all.
int64_t Solver::tileUnit(LoopId loop) const {
  if (runsAlong(loop, &Operator::vectorLoop))
    return inFragments
               ? std::lcm(machine.matrix->columns, machine.matrix->depth)
               : std::lcm(machine.unit.lanes, partOf(loop));
  if (runsAlong(loop, &Operator::rowLoop))
    return inSteps ? machine.matrix->rows : partOf(loop);
  if (runsOverGroups(loop))
    return 1;
  if (inFragments && isTap(problem, loop))
    return 0;
  if (problem.isReduction(loop))
    return std::lcm(inSteps ? depthUnit() : reductionPart, partOf(loop));
  return 0;
}

/// True if iterations of `loop` are groups of a reduction, which kernels take
/// one after the other, each as a whole.
bool Solver::runsOverGroups(LoopId loop) const {
  return !problem.loops[loop].isWhole &&
         any_of(problem.operators, [&](const Operator &op) {
           return op.decodeInstructions > 0 && op.isReduction(loop) &&
                  any_of(op.loops, [&](LoopId other) {
                    return problem.loops[other].isWhole;
                  });
         });
}

/// What tiles of reductions are multiples of.
int64_t Solver::depthUnit() const {
  return machine.matrix ? std::lcm(reductionPart, machine.matrix->depth)
                        : reductionPart;
}

/// RegisterTile::part of all plans.
int64_t Solver::tilePart() const {
  bool isLong = any_of(problem.operators, [&](const Operator &op) {
    return reductionPartOf(problem, op, longPartOf(machine)) > reductionPart;
  });
  return isLong ? longPartOf(machine) : 0;
}

bool Solver::runsAlong(LoopId loop, LoopId Operator::*kernelLoop) const {
  return any_of(problem.operators, [&](const Operator &op) {
    return op.hasLoop(loop) && op.*kernelLoop == loop;
  });
}

/// What all tiles of `loop` are multiples of so that kernels sum up in one
/// order; 1 if any do. Those that sum up over one loop do with any, or with
/// whole steps if they multiply neighbours at once. Matrix units have an order
/// of their own, and take tiles of loops that are long enough for one: operands
/// are copied where they are not whole.
int64_t Solver::partOf(LoopId loop) const {
  int64_t part = problem.isReduction(loop) ? machine.unit.depth : 1;
  if (machine.matrix && !inSteps && problem.isReduction(loop) &&
      problem.loops[loop].extent >= machine.matrix->depth)
    part = std::lcm(part, machine.matrix->depth);
  for (const Operator &op : problem.operators)
    if (op.isReduction(loop) && partedLoop(problem, op))
      part = std::lcm(part, machine.matrix ? reductionPart
                                           : orderedUnit(problem, op, loop,
                                                         longPartOf(machine)));
  return part;
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
  if (int64_t kept = keptColumns(loop); kept && kept < size) {
    tiles.push_back(kept);
    return tiles;
  }
  bool mayBeSmall = hasSmallTiles && problem.isReduction(loop);
  addKernelTiles(loop, size, mayBeSmall ? partOf(loop) : unit, tiles);
  // Kernels with tiles of one size leave edges in blocks of others.
  for (int64_t whole : kernelUnits(loop))
    addKernelTiles(loop, size, whole, tiles);
  llvm::sort(tiles, std::greater<>());
  tiles.erase(llvm::unique(tiles), tiles.end());
  // A block counts its choices in bytes.
  tiles.truncate(std::min<size_t>(tiles.size(), 256));
  return tiles;
}

void Solver::addKernelTiles(LoopId loop, int64_t size, int64_t unit,
                            SmallVectorImpl<int64_t> &tiles) const {
  int64_t least = size;
  bool isSide = inSteps ? !problem.isReduction(loop)
                        : runsAlong(loop, &Operator::vectorLoop) ||
                              runsAlong(loop, &Operator::rowLoop);
  for (int64_t target : {256, 128, 96, 64, 48, 32, 24, 16, 12, 8, 4, 2, 1}) {
    if (target < leastTile && !hasSmallTiles && !runsOverGroups(loop))
      break;
    // The depth of a block matters less than its sides: powers of two will do.
    if (unit == depthUnit() && !isSide && !isPowerOf2_64(target))
      continue;
    int64_t goal = alignTo(target, unit);
    if (goal >= size)
      continue;
    int64_t parts = divideCeilSigned(size, goal);
    int64_t tile = alignTo(divideCeilSigned(size, parts), unit);
    if (tile >= least)
      continue;
    tiles.push_back(tile);
    least = tile;
  }
}

/// The sides of the kernels' tiles along `loop`.
SmallVector<int64_t, 4> Solver::kernelUnits(LoopId loop) const {
  SmallVector<int64_t, 4> units;
  for (const KernelShape &kernel : machine.kernels)
    for (const Operator &op : problem.operators) {
      if (!op.hasLoop(loop))
        continue;
      if (loop == op.vectorLoop)
        units.push_back(std::lcm(kernel.columns, tileUnit(loop)));
      else if (loop == op.rowLoop)
        units.push_back(std::lcm(kernel.rows, partOf(loop)));
    }
  llvm::sort(units);
  units.erase(llvm::unique(units), units.end());
  return units;
}

/// Parts of a derived loop if its reader's loop `loop` has tiles of `tile`:
/// shares of the whole in the same proportion.
static PartList followParts(const ChainProblem &problem, LoopId derived,
                            LoopId loop, int64_t tile) {
  int64_t extent = problem.loops[derived].extent;
  int64_t trips = divideCeilSigned(problem.loops[loop].extent, tile);
  Parts whole{extent, 1};
  return cutParts(whole, divideCeilSigned(extent, std::min(trips, extent)));
}

LoopTiles Solver::makeLoopTiles(const Schedule &schedule, LoopId loop,
                                ArrayRef<int64_t> tiles,
                                ArrayRef<Parts> parts) const {
  LoopTiles result;
  result.loop = loop;
  result.tiles.assign(tiles.begin(), tiles.end());
  for (int64_t tile : result.tiles) {
    result.parts.push_back(cutParts(parts, tile));
    result.trips.push_back(
        countTrips(problem, schedule, innermost(), loop, tile));
  }
  for (LoopId derived = 0; derived < problem.loops.size(); ++derived) {
    if (!structure.isDerived(derived) ||
        structure.axisOf(derived) != structure.axisOf(loop))
      continue;
    LoopTiles::Follower follower;
    follower.loop = derived;
    for (int64_t tile : result.tiles)
      follower.parts.push_back(followParts(problem, derived, loop, tile));
    result.followers.push_back(std::move(follower));
  }
  return result;
}

/// The parts of all loops inside the decided levels.
SmallVector<PartList, 6> Solver::partsWithin(const Schedule &schedule) const {
  SmallVector<PartList, 6> parts;
  for (const Loop &loop : problem.loops)
    parts.push_back({{loop.extent, 1}});
  for (const LevelSchedule &level : schedule.levels)
    for (const TiledLoop &entry : level.order)
      parts[entry.loop] = cutParts(parts[entry.loop], entry.tile);
  return parts;
}

/// The orders of `loops` at the end of level `level`. The loops of all levels
/// outside are shared, so they make no difference to what the orders are. Where
/// blocks have one tap, the loops over taps are the innermost ones.
ArrayRef<LoopOrder> Solver::ordersOf(const Schedule &schedule, unsigned level,
                                     ArrayRef<LoopId> loops) {
  SmallVector<int64_t, 8> size = leftBy(problem, schedule, level);
  LoopList divisible(loops);
  erase_if(divisible, [&](LoopId loop) { return size[loop] == 1; });
  auto [entry, isNew] = orderCache.try_emplace(divisible);
  if (!isNew)
    return entry->second;
  LoopList taps;
  if (inFragments)
    copy_if(divisible, std::back_inserter(taps),
            [&](LoopId loop) { return isTap(problem, loop); });
  erase_if(divisible, [&](LoopId loop) { return is_contained(taps, loop); });
  entry->second = enumerateOrders(structure, schedule, level, divisible,
                                  problem.operators.size() == 2);
  for (LoopOrder &order : entry->second)
    for (LoopId tap : taps)
      order.push_back({tap, 1});
  return entry->second;
}

/// Sorts the orders by the loops they consist of.
void Solver::addOrders(Innermost &level, ArrayRef<LoopId> loops) {
  append_range(level.numbering, loops);
  level.orders.resize(size_t(1) << loops.size());
  level.unshaped.resize(level.orders.size());
  for (const LoopOrder &order : ordersOf(level.schedule, innermost(), loops)) {
    LoopSet places = 0;
    for (const TiledLoop &entry : order)
      places |= bitOf(find(loops, entry.loop) - loops.begin());
    level.unshaped[places].push_back(&order);
  }
}

/// The orders of the loops at `places`. What they move is worked out when the
/// first block asks: most sets of loops are those of no block worth trying.
ArrayRef<Solver::InnerOrder> Solver::innerOrders(Innermost &level,
                                                 LoopSet places) {
  bool startsHere =
      all_of(ArrayRef(level.schedule.levels).drop_back(),
             [](const auto &outer) { return outer.order.empty(); });
  for (const LoopOrder *order : level.unshaped[places]) {
    Schedule next = level.schedule;
    append_range(next.levels[innermost()].order, *order);
    markParallel(next);
    Transfer transfer = transferInto(machine.levels.back(), threads);
    InnerOrder inner{*order,
                     OrderFormula(structure, next, innermost(), transfer,
                                  level.numbering, level.windows)};
    inner.shape.addLive(next, innermost(), transfer, level.numbering,
                        level.windows);
    bool isParallelSoFar = startsHere;
    for (const TiledLoop &entry : *order) {
      isParallelSoFar &= isParallel(entry.loop);
      if (isParallelSoFar)
        inner.parallel |=
            bitOf(find(level.numbering, entry.loop) - level.numbering.begin());
    }
    inner.capacityBytes = costModel.capacityAt(next, innermost());
    level.orders[places].push_back(std::move(inner));
  }
  level.unshaped[places].clear();
  return level.orders[places];
}

std::vector<Block> Solver::enumerateBlocks(const Innermost &level) const {
  BlockSearch search(problem, machine, costModel, level.loops, level.parts);
  return search.run(costModel.capacityAt(level.schedule, innermost()),
                    costModel.leastShare() * level.tasks.busiestShare,
                    level.others, limit());
}

void Solver::searchInnermost(const Schedule &outer) {
  Innermost level(structure);
  level.schedule = outer;
  level.tasks = costModel.tasksOf(outer);
  Plan outerPlan = costModel.price(outer, /*isOpen=*/true);
  for (const LevelCost &cost : ArrayRef(outerPlan.levels).drop_back())
    level.others.add(cost.seconds);
  if (level.others.with(costModel.leastSeconds(outer) + leastPacking) >=
      limit())
    return;

  LoopList loops = tiledLoops;
  erase_if(loops, [&](LoopId loop) {
    return any_of(outer.levels[innermost()].order,
                  [&](const TiledLoop &entry) { return entry.loop == loop; });
  });
  level.parts = partsWithin(outer);
  if (fromForms)
    return takeInnermostForms(level, loops);
  searchBlocks(level, loops);
  searchLeastTraffic(level, loops);
  searchHeld(level, loops);
}

/// Tries all orders of `loops` with tiles from the lists.
void Solver::searchBlocks(Innermost &level, ArrayRef<LoopId> loops) {
  SmallVector<int64_t, 8> size = leftBy(problem, level.schedule, innermost());
  for (LoopId loop : loops)
    level.loops.push_back(makeLoopTiles(level.schedule, loop,
                                        kernelTiles(loop, size[loop]),
                                        level.parts[loop]));
  std::vector<Block> blocks = enumerateBlocks(level);
  // What a program moves by itself is one matrix at a time.
  erase_if(blocks, [&](const Block &block) {
    return inSteps && any_of(zip(level.loops, block.choice), [&](auto pair) {
             auto &[entry, choice] = pair;
             return choice == 0 && entry.tiles[0] > 1 &&
                    tileUnit(entry.loop) == 0;
           });
  });
  if (blocks.empty())
    return;
  addOrders(level, loops);
  level.arrivals = costModel.arrivalsAt(level.schedule);
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
  unsigned numPriced = 0;
  for (const Candidate &candidate : level.candidates) {
    bool isEnough = numPriced == mostPriced && !isExhaustive;
    if (isEnough || candidate.estimate >= limit())
      break;
    setBlock(level, *candidate.block);
    numPriced += priceCandidate(level, candidate);
  }
}

/// True if nothing takes `plan` longer than what comes into the innermost
/// level.
bool Solver::isLimitedByInnermost(const Plan &plan) const {
  double seconds = plan.levels.back().seconds;
  return seconds >= plan.computeSeconds &&
         all_of(plan.levels, [&](const LevelCost &level) {
           return seconds >= level.seconds;
         });
}

/// The least that comes into the innermost level if `volume` crosses its
/// boundary.
double Solver::transferredBytes(int64_t volume) const {
  return std::max(0.0, costModel.leastShare() * volume -
                           costModel.leavingBytes(innermost()));
}

/// Bytes into the innermost level with which no plan is the best, however fast
/// its blocks are.
int64_t Solver::mostBytesInto(const Innermost &level) const {
  Stages others = level.others;
  others.add(costModel.leastSeconds(level.schedule) + leastPacking);
  // Loops of this level may yet make tasks for all threads.
  double bytes =
      others.room(limit()) *
          costModel.bandwidth(
              costModel.evenTasks(std::max(level.tasks.count, threads)),
              innermost()) +
      costModel.leavingBytes(innermost());
  return std::max<int64_t>(0, std::ceil(bytes));
}

/// Tiles from a list suit the micro kernel and waste room. Where that is what
/// takes longest, the tiles with the least volume compete: any, and those that
/// are whole vectors and rows of the best plan's register tile. A program that
/// moves whole steps of a matrix unit keeps the list.
void Solver::searchLeastTraffic(Innermost &level, ArrayRef<LoopId> loops) {
  if (inSteps || !best || !isLimitedByInnermost(*best))
    return;
  TileRule any, whole;
  any.granularity.assign(problem.loops.size(), 1);
  whole = any;
  for (LoopId loop = 0; loop < problem.loops.size(); ++loop) {
    any.alignment.push_back(partOf(loop));
    whole.alignment.push_back(std::max<int64_t>(1, tileUnit(loop)));
  }
  for (const Operator &op : problem.operators)
    if (op.rowLoop != op.vectorLoop && partOf(op.rowLoop) == 1)
      whole.alignment[op.rowLoop] = std::max(whole.alignment[op.rowLoop],
                                             best->schedule.registerTile.rows);
  LevelFormulas formulas(structure, level.schedule, innermost(),
                         transferInto(machine.levels.back(), threads));
  for (const TileRule &rule : {whole, any})
    for (const LevelChoice &choice : leastChoices(
             formulas, level.schedule, loops, rule, mostBytesInto(level)))
      priceChoice(level, loops, choice.order);
}

/// Prices `order` for the innermost level with the register tile that takes the
/// fewest cycles; false if that does not fit, or cannot win.
bool Solver::priceChoice(Innermost &level, ArrayRef<LoopId> loops,
                         ArrayRef<TiledLoop> order) {
  Schedule schedule = level.schedule;
  schedule.levels[innermost()].order.assign(order.begin(), order.end());
  SmallVector<int64_t, 8> size = leftBy(problem, schedule, innermost());
  SmallVector<LoopTiles, 6> tiles;
  for (LoopId loop : loops)
    tiles.push_back(
        makeLoopTiles(level.schedule, loop, size[loop], level.parts[loop]));
  markParallel(schedule);
  BlockSearch search(problem, machine, costModel, tiles, level.parts);
  std::vector<Block> blocks = search.run(
      costModel.capacityAt(schedule, innermost()),
      costModel.tasksOf(schedule).busiestShare, level.others, limit());
  if (blocks.empty())
    return false;
  schedule.registerTile = blocks.front().registerTile;
  return pricePlan(schedule);
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
  auto tileOf = [&](LoopId loop) {
    for (auto [entry, tile] : zip(level.loops, tiles))
      if (entry.loop == loop)
        return tile;
    return openTile;
  };
  level.windowValues.resize(level.windows.size());
  for (unsigned window = 0; window < level.windows.size(); ++window)
    level.windowValues[window] = level.windows.valueOf(window, tileOf);
}

/// Tries all orders of the loops that a block cuts.
void Solver::tryBlock(Innermost &level, const Block &block) {
  // Orders may bring windows, whose values the block then sets.
  ArrayRef<InnerOrder> orders = innerOrders(level, block.cut);
  setBlock(level, block);
  for (const InnerOrder &order : orders)
    tryOrder(level, {&block, &order});
}

/// Estimates a candidate by its arithmetic, its volumes and the packing that
/// any plan has. The full price adds more packing and conflicts; it is computed
/// at once if the estimate is the best so far, which soon gives a bar for the
/// rest, and otherwise when all are known.
void Solver::tryOrder(Innermost &level, Candidate candidate) {
  const InnerOrder &order = *candidate.order;
  if (order.shape.liveBytes(level.tiles, level.windowValues) >
      order.capacityBytes)
    return;
  CostModel::Tasks tasks =
      order.parallel
          ? costModel.evenTasks(level.tasks.count * level.trips[order.parallel])
          : level.tasks;
  double transfer = transferredBytes(order.shape.volumeBytes(
                        level.trips, level.windowValues)) /
                    costModel.bandwidth(tasks, innermost());
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

/// A bound on the time with `compute` seconds of arithmetic and `transfer` into
/// the innermost level, for the best choice of what is staged.
double Solver::leastWithArrivals(const Innermost &level,
                                 ArrayRef<int64_t> tiles, double compute,
                                 double transfer) const {
  for (const CostModel::Arrival &arrival : level.arrivals)
    // In place costs as much as packed.
    compute +=
        std::min(costModel.arrivalSeconds(arrival, tiles,
                                          CostModel::Way::Packed, level.tasks),
                 costModel.arrivalSeconds(arrival, tiles,
                                          CostModel::Way::Staged, level.tasks));
  return level.others.with(compute, transfer);
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
    return order.shape.readBytes(tensor, level.trips, level.windowValues);
  };
  double share = level.tasks.busiestShare;
  double bandwidth = costModel.bandwidth(level.tasks, innermost());
  double transfer = transferredBytes(order.shape.volumeBytes(
                        level.trips, level.windowValues)) /
                    bandwidth;
  double compute =
      block.seconds + share * costModel.unavoidablePacking(bytesOf);
  double bound = level.others.with(compute, transfer);
  double most = best->seconds * (1 + cutOffMargin);
  if (bound >= most)
    return false;
  SmallVector<int64_t, 6> tiles;
  SmallVector<PartList, 6> parts = level.parts;
  for (auto [entry, choice] : zip(level.loops, block.choice)) {
    parts[entry.loop] = entry.parts[choice];
    for (const LoopTiles::Follower &follower : entry.followers)
      parts[follower.loop] = follower.parts[choice];
  }
  for (const PartList &list : parts)
    tiles.push_back(list.front().size);
  if (leastWithArrivals(level, tiles, compute, transfer) >= most)
    return false;
  for (const Operator &op : problem.operators)
    if (auto cost = costModel.conflictCost(op, tiles, parts, block.registerTile,
                                           bytesOf);
        cost && !cost->canStage) {
      double packed =
          level.others.with(compute + share * cost->packing, transfer);
      double again = cost->bytes / bandwidth;
      double inPlace = level.others.with(compute, transfer + again);
      if (std::min(packed, inPlace) >= most)
        return false;
    }
  return true;
}

/// Completes the schedule with the candidate's loops for as long as it takes to
/// price it. False if it cannot win.
bool Solver::priceCandidate(Innermost &level, const Candidate &candidate) {
  if (!canWin(level, candidate))
    return false;
  Schedule &schedule = level.schedule;
  auto &entries = schedule.levels[innermost()].order;
  size_t prefix = entries.size();
  const Block &block = *candidate.block;
  for (const TiledLoop &open : candidate.order->loops)
    for (auto [entry, choice] : zip(level.loops, block.choice))
      if (entry.loop == open.loop)
        entries.push_back({open.loop, entry.tiles[choice], open.operators});
  schedule.registerTile = block.registerTile;
  markParallel(schedule);
  pricePlan(schedule);
  entries.resize(prefix);
  return true;
}

/// The loops of all levels without their tiles.
SmallVector<unsigned, 32> Solver::orderOf(const Schedule &schedule) {
  SmallVector<unsigned, 32> order;
  for (const LevelSchedule &level : schedule.levels) {
    for (const TiledLoop &entry : level.order)
      append_range(order, ArrayRef<unsigned>{entry.loop, entry.operators});
    order.push_back(~0u);
  }
  return order;
}

/// Lets all halos of `schedule` be kept that can be.
void Solver::chooseRolling(Schedule &schedule) const {
  std::shared_ptr<const KnownTree> tree =
      findTree(structure, schedule, innermost());
  for (TensorId tensor : overlapping)
    if (problem.tensors[tensor].role == Role::Input ||
        findRollingRange(structure, schedule, tree->nest, tensor))
      schedule.rolling.push_back(tensor);
}

/// Prices `schedule`, which has everything but homes, packing and rolling
/// buffers; false if it does not fit.
bool Solver::pricePlan(Schedule &schedule) {
  // Homes that somebody else would find for the schedule.
  if (!schedule.homes.empty())
    schedule.homes = findHomes(structure, machine, schedule,
                               costModel.capacitiesOf(schedule), threads);
  if (inFragments)
    return priceGroups(schedule);
  return pricePlanOf(schedule);
}

/// True if all rows are those of one group, which then leaves units idle, and
/// groups can share the columns of a softmax instead.
bool Solver::mayShareColumns() const {
  const Operator &last = problem.operators.back();
  ArrayRef<Index> indices = last.output.indices;
  if (!last.rescaledBy || indices.size() < 2)
    return false;
  LoopId rows = indices.drop_back().back().terms.front().loop;
  // Single rows of a batch have columns of their own.
  bool areSingle = any_of(last.inputs, [&](const Access &input) {
    return input.hasLoop(rows) && input.hasLoop(last.vectorLoop);
  });
  return areSingle || problem.loops[rows].extent <= machine.matrix->rows;
}

/// Prices `schedule`, which has the blocks of `fragments`, with as many copies
/// of tiles as the innermost level has, and with more while there are
/// iterations to fill them for.
bool Solver::priceStages(Schedule &schedule, const FragmentPlan &fragments) {
  if (fragments.trips == 0)
    return pricePlanOf(schedule);
  const MemoryLevel &level = machine.levels.back();
  int64_t most = std::clamp(fragments.trips, level.buffers, level.mostCopies());
  bool fits = false;
  for (int64_t stages = level.buffers; stages <= most; ++stages) {
    schedule.registerTile.stages = stages;
    if (stages > level.buffers &&
        !planFragments(problem, machine, schedule).obstacle.empty())
      break;
    fits |= pricePlanOf(schedule);
  }
  return fits;
}

/// Prices `schedule` with every number of instructions' rows for each group,
/// and of groups that share columns.
bool Solver::priceGroups(Schedule &schedule) {
  bool fits = false;
  RegisterTile tile = schedule.registerTile;
  int64_t mostSharers = mayShareColumns() ? machine.groups->units : 1;
  for (int64_t sharers = 1; sharers <= mostSharers; sharers *= 2)
    for (int64_t rows = 1; rows <= tile.rows; rows *= 2) {
      schedule.registerTile.rows = rows;
      schedule.registerTile.vectors = std::max<int64_t>(1, tile.vectors / rows);
      schedule.registerTile.depth = sharers;
      schedule.registerTile.stages = 0;
      FragmentPlan fragments = planFragments(problem, machine, schedule);
      // With less than it asks for it is another schedule.
      if (fragments.obstacle.empty() && fragments.rowTiles >= rows)
        fits |= priceStages(schedule, fragments);
    }
  schedule.registerTile = tile;
  return fits;
}

/// The largest divisor of `whole`, a multiple of `unit`, that is not above
/// `most`; 0 if there is none.
static int64_t findDivisor(int64_t whole, int64_t unit, int64_t most) {
  for (int64_t size = most - most % unit; size > 0; size -= unit)
    if (whole % size == 0)
      return size;
  return 0;
}

/// `schedule` with tiles of columns that are made of whole panels, so that
/// constants can be prepacked, if that takes smaller tiles.
std::optional<Schedule> Solver::withWholePanels(const Schedule &schedule) {
  Schedule whole = schedule;
  bool isChanged = false;
  for (const auto &[index, op] : enumerate(problem.operators)) {
    const Access *operand = costModel.vectorOperand(op);
    if (!operand || !problem.tensors[*operand].isConstant ||
        prepackedColumns(problem, schedule, index, *operand))
      continue;
    int64_t outer = 0;
    for (LevelSchedule &level : whole.levels)
      for (TiledLoop &entry : level.order) {
        if (entry.loop != op.vectorLoop)
          continue;
        if (outer && outer % entry.tile != 0) {
          entry.tile = findDivisor(outer, machine.unit.lanes, entry.tile);
          isChanged = true;
          if (entry.tile == 0)
            return std::nullopt;
        }
        outer = entry.tile;
      }
  }
  if (!isChanged)
    return std::nullopt;
  return whole;
}

bool Solver::pricePlanOf(Schedule &schedule) {
  if (std::optional<Schedule> narrow = withPanelsOfWords(schedule))
    return priceTiles(*narrow);
  bool fits = priceTiles(schedule);
  if (std::optional<Schedule> whole = withWholePanels(schedule))
    fits |= priceTiles(*whole);
  return fits;
}

bool Solver::priceTiles(Schedule &schedule) {
  schedule.registerTile.part = tilePart();
  if (!machine.matrix && !addsUpInOrder(structure, schedule))
    return false;
  costModel.choosePacking(schedule);
  if (!keepsPanels(schedule))
    return false;
  double limit = worthPricing();
  std::optional<Plan> plan = costModel.priceBelow(schedule, limit);
  // Halos read and computed again, or kept: whichever takes less. Programs that
  // move their tiles by themselves keep none.
  if (!overlapping.empty() && !hasRoutes(problem, machine)) {
    chooseRolling(schedule);
    std::optional<Plan> keeping =
        costModel.priceBelow(schedule, plan ? plan->seconds : limit);
    schedule.rolling.clear();
    if (keeping)
      plan = std::move(keeping);
  }
  return plan && takePlan(*plan);
}

/// The seconds from which on a plan changes nothing.
double Solver::worthPricing() const {
  // Forms ask whether a plan fits, and a route may be slower than it says.
  constexpr double always = std::numeric_limits<double>::infinity();
  if (!best || fromForms || hasRoutes(problem, machine))
    return always;
  double seconds = best->seconds;
  if (mayLoseData())
    seconds *= 1 + timeError;
  if (runnersUp > 0 && bestOfOrders.size() <= runnersUp)
    return always;
  if (runnersUp > 0)
    seconds = std::max(seconds, bestOfOrders.back().second.seconds);
  // Ties count.
  return seconds * (1 + cutOffMargin);
}

/// Keeps `plan` if it is among the best; false if it does not fit.
bool Solver::takePlan(const Plan &plan) {
  if (hasRoutes(problem, machine) &&
      !planRoutes(problem, machine, plan.schedule, threads).obstacle.empty())
    return false;
  // Only now do the outer levels know the size of the intermediates.
  for (const auto &[index, level] : enumerate(plan.levels))
    if (level.liveBytes > costModel.capacityAt(plan.schedule, index))
      return false;
  if (runnersUp > 0)
    addToOrders(plan);
  if (mayLoseData())
    ties.add(plan);
  if (!best || plan.seconds < best->seconds)
    best = plan;
  return true;
}
