//===- Cost.cpp - Predicted time of a schedule ----------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Equations 2 and 3 of the paper, with the arithmetic as one more stage that
// can be the slowest, the cores that share a level, and the cost of bringing
// operands into the shape the micro kernel wants.
//
//===----------------------------------------------------------------------===//

#include "Cost/CostModel.h"

#include "Cost/BlockCost.h"
#include "Volume/FragmentRows.h"
#include "Volume/Waves.h"

#include "Chimera/Model/Padding.h"
#include "Chimera/Model/Routes.h"
#include "Chimera/Model/WordPanels.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace llvm;
using namespace chimera::model;

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

CostModel::Tasks CostModel::evenTasks(int64_t count) const {
  return {count, static_cast<double>(divideCeilSigned(count, threads)) / count};
}

/// Threads run neighbouring tasks, the first of them as many as any other. What
/// is left at the end of a loop is smaller, so it is the busiest. Tasks of a
/// grid have code for one size.
CostModel::Tasks CostModel::tasksOf(ArrayRef<NestLoop> loops,
                                    ArrayRef<int64_t> sizes) const {
  SmallVector<int64_t, 6> left(sizes);
  SmallVector<int64_t, 4> extents, trips;
  int64_t count = 1;
  for (const NestLoop &loop : loops) {
    extents.push_back(left[loop.loop]);
    trips.push_back(divideCeilSigned(left[loop.loop], loop.tile));
    count *= trips.back();
    left[loop.loop] = std::min(left[loop.loop], loop.tile);
  }
  if (machine.startsTasksInOrder())
    return evenTasks(count);

  Tasks tasks{count, loops.empty() ? 1.0 : 0.0};
  // The tasks of the first thread that are left, and of one trip.
  int64_t own = divideCeilSigned(count, threads), ofTrip = count;
  double shareOfTrip = 1;
  for (auto [loop, extent, number] : zip(loops, extents, trips)) {
    ofTrip /= number;
    int64_t done = std::min(own / ofTrip * loop.tile, extent);
    tasks.busiestShare += shareOfTrip * done / extent;
    shareOfTrip *= std::min(loop.tile, extent - done);
    shareOfTrip /= extent;
    own %= ofTrip;
  }
  return tasks;
}

/// A plan for any size has to share out few rows as well as many: the share of
/// the busiest thread is the mean over octaves, and the middles between them,
/// up to the size that is planned for.
CostModel::Tasks CostModel::tasksOf(const Schedule &schedule) const {
  std::shared_ptr<const KnownTree> tree =
      findTree(structure, schedule, schedule.levels.size() - 1);
  ArrayRef<NestLoop> loops =
      ArrayRef(tree->nest.loops).take_front(schedule.numParallel);
  auto tasksAt = [&](int64_t eighths) {
    SmallVector<int64_t, 6> sizes;
    for (const Loop &loop : problem.loops)
      sizes.push_back(loop.isOpen ? divideCeilSigned(loop.extent * eighths, 8)
                                  : loop.extent);
    return tasksOf(loops, sizes);
  };
  Tasks tasks = tasksAt(8);
  if (loops.empty())
    return tasks;
  if (std::optional<double> share = busiestOfMask(schedule, tree->nest)) {
    tasks.busiestShare = *share;
    return tasks;
  }
  if (none_of(loops, [&](const NestLoop &loop) {
        return problem.loops[loop.loop].isOpen;
      }))
    return tasks;
  constexpr int64_t smaller[] = {6, 4, 3, 2, 1};
  for (int64_t eighths : smaller)
    tasks.busiestShare += tasksAt(eighths).busiestShare;
  tasks.busiestShare /= 1 + std::size(smaller);
  return tasks;
}

int64_t CostModel::countSplitParts(const Schedule &schedule) const {
  if (!problem.operators.back().rescaledBy)
    return 1;
  return chimera::model::countSplitParts(
      problem, schedule,
      findTree(structure, schedule, schedule.levels.size() - 1)->nest);
}

double CostModel::startSeconds(const Tasks &tasks) const {
  bool isParallel = threads > 1 && tasks.count > 1;
  return machine.launchSeconds +
         (isParallel ? machine.overheads.regionSeconds : 0);
}

double CostModel::bandwidth(const Tasks &tasks, unsigned level) const {
  const MemoryLevel &memory = machine.levels[level];
  double workers = 1 / tasks.busiestShare;
  return std::min(workers * memory.bytesPerSecondPerCore,
                  memory.bytesPerSecond) /
         missShares[level];
}

int64_t CostModel::countResultBytes() const {
  if (!hasRoutes(problem, machine))
    return 0;
  int64_t bytes = 0;
  for (const auto &[index, tensor] : enumerate(problem.tensors))
    if (tensor.role == Role::Output)
      bytes += problem.sizeOf(index) * tensor.elementBytes;
  return bytes;
}

int64_t CostModel::capacityAt(const Schedule &schedule, unsigned level) const {
  // What waves share comes and goes as they do.
  if (servesWaves(machine, level))
    return std::numeric_limits<int64_t>::max();
  const MemoryLevel &memory = machine.levels[level];
  // Levels outside the parallel loops hold one working set for all threads.
  bool insideParallelLoops = false;
  for (unsigned index = 0; index <= level; ++index)
    insideParallelLoops |= !schedule.levels[index].order.empty();
  if (!insideParallelLoops || schedule.numParallel == 0)
    return memory.usableBytes();
  int64_t sharers = std::clamp<int64_t>(memory.sharers, 1, threads);
  return memory.usableBytes() / sharers;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

SmallVector<PartList, 6>
CostModel::partsOfLoops(const Path &path,
                        const RollingSteps &rollingSteps) const {
  SmallVector<PartList, 6> parts;
  for (const Loop &loop : problem.loops)
    parts.push_back({{loop.extent, 1}});
  for (const Path::Step &step : path.steps)
    parts[step.loop] = cutParts(parts[step.loop], step.tile);
  Group all{0, static_cast<unsigned>(problem.operators.size() - 1)};
  for (LoopId loop : problem.operators[path.op].loops) {
    if (!structure.isDerived(loop))
      continue;
    PartList &ranges = parts[loop];
    ranges.clear();
    AxisWalk walk(structure, path, rollingSteps, structure.axisOf(loop));
    walk.forEachRange(loop, structure.dependencies(loop, all),
                      [&](Range range) {
                        if (range.size() <= 0)
                          return;
                        auto *same = find_if(ranges, [&](Parts other) {
                          return other.size == range.size();
                        });
                        if (same != ranges.end())
                          ++same->count;
                        else
                          ranges.push_back({range.size(), 1});
                      });
    // The largest part stays first.
    llvm::sort(ranges,
               [](Parts left, Parts right) { return left.size > right.size; });
    if (ranges.empty())
      ranges.push_back({1, 1});
  }
  return parts;
}

/// Parts of `loop` in which the softmax before the operator of `path` is made:
/// those of loops that its scores share, be it read in more.
int64_t CostModel::countSoftmaxParts(const Path &path, LoopId loop) const {
  PartList parts = {{problem.loops[loop].extent, 1}};
  for (const Path::Step &step : path.steps)
    if (step.loop == loop && step.group.first < path.op)
      parts = cutParts(parts, step.tile);
  return countOf(parts);
}

std::vector<CostModel::Work> CostModel::workOf(const Schedule &schedule) const {
  std::shared_ptr<const KnownTree> tree =
      findTree(structure, schedule, schedule.levels.size() - 1);
  ArrayRef<Path> paths = tree->paths;
  std::vector<Path> ofCode;
  if (schedule.held) {
    LoopNest nest = treeOfCode(structure, schedule);
    for (unsigned op = 0; op < problem.operators.size(); ++op)
      ofCode.emplace_back(nest, op);
    paths = ofCode;
  }
  std::vector<Work> works;
  for (const auto &[index, op] : enumerate(problem.operators)) {
    const Path &path = paths[index];
    Work work;
    work.parts =
        partsOfLoops(path, findRollingSteps(structure, paths, index, schedule));
    // Loops that neither belong to the operator nor move what it makes.
    LoopSet moving = 0;
    for (const Path::Step &step : path.steps)
      moving |= structure.affecting(op.output, step.group) & bitOf(step.loop);
    LoopSet seen = 0;
    for (const Path::Step &step : path.steps) {
      if (op.hasLoop(step.loop) || contains(moving | seen, step.loop))
        continue;
      seen |= bitOf(step.loop);
      work.repeats *= countOf(work.parts[step.loop]);
    }
    if (op.rescaledBy)
      work.rescales = countSoftmaxParts(path, *op.rescaledBy);
    if (is_contained(schedule.rolling, op.output.tensor))
      work.keptElements = countKept(op, path, work);
    works.push_back(std::move(work));
  }
  return works;
}

/// The elements of what `op` makes that would be made again if it did not roll.
int64_t CostModel::countKept(const Operator &op, const Path &path,
                             const Work &work) const {
  RollingSteps none(problem.loops.size());
  SmallVector<PartList, 6> needed = partsOfLoops(path, none);
  int64_t all = work.repeats, made = work.repeats;
  for (const Index &index : op.output.indices) {
    LoopId loop = index.terms.front().loop;
    all *= totalOf(needed[loop]);
    made *= totalOf(work.parts[loop]);
  }
  return all - made;
}

/// Cycles to decode what one step of the reduction reads of `columns`, and to
/// put it where tiles of rows find it.
double CostModel::panelDecodingCycles(const Operator &op,
                                      int64_t columns) const {
  if (op.decodeInstructions == 0)
    return 0;
  double vectors = divideCeilSigned(columns, machine.unit.lanes);
  return vectors * std::max(op.decodeInstructions / machine.unit.fmaPerCycle,
                            1.0 / machine.unit.storesPerCycle);
}

double CostModel::decodeInstructionsOf(const Operator &op, int64_t rows) const {
  return multipliesDigits(op, machine.unit, rows) ? op.digitInstructions
                                                  : op.decodeInstructions;
}

/// True if elements that one vector after the other is multiplied by lie side
/// by side along the reduction.
bool CostModel::haveNeighbours(const Operator &op,
                               const Access &elements) const {
  const Tensor &tensor = problem.tensors[elements];
  for (auto [position, index] : enumerate(elements.indices)) {
    // Of intermediates, whose layout is ours, the last lie side by side.
    int64_t stride = tensor.strides.empty()
                         ? position + 1 == elements.indices.size()
                         : tensor.strides[position];
    for (const Term &term : index.terms)
      if (stride * term.factor == 1 && op.isReduction(term.loop))
        return true;
  }
  return false;
}

CostModel::Neighbours CostModel::neighboursOf(const Operator &op) const {
  Neighbours none;
  if (machine.unit.depth == 1 || op.decodeInstructions > 0)
    return none;
  auto elements = find_if(op.inputs, [&](const Access &input) {
    return !input.hasLoop(op.vectorLoop);
  });
  if (elements == op.inputs.end())
    return none;
  if (haveNeighbours(op, *elements))
    return {machine.unit.depth, /*areCopied=*/false};
  auto sums =
      count_if(op.loops, [&](LoopId loop) { return op.isReduction(loop); });
  if (sums != 1 || problem.loops[op.vectorLoop].extent <
                       leastColumnsOfPairs(machine.unit.lanes))
    return none;
  return {machine.unit.depth, /*areCopied=*/true};
}

double CostModel::operatorCycles(const Operator &op,
                                 ArrayRef<ArrayRef<Parts>> parts,
                                 const RegisterTile &tile,
                                 CrossingVectors crossing) const {
  if (machine.matrix && machine.groups)
    return groupCycles(op, parts, tile, Occupancy()).cycles;
  if (machine.matrix)
    return matrixCycles(op, parts, tile);
  const Access *matrix = matrixReadInRows(op);
  if (matrix && op.decodeInstructions == 0)
    return innerProductCycles(op, *matrix, parts);
  // Loops of the output besides rows and columns repeat the micro kernel.
  int64_t repeats = 1;
  // Blocks over one reduction, by their depth.
  PartList depths = {{1, 1}};
  for (LoopId loop : op.loops) {
    if (loop == op.vectorLoop || loop == op.rowLoop)
      continue;
    if (op.output.hasLoop(loop)) {
      repeats *= totalOf(parts[loop]);
      continue;
    }
    PartList product;
    for (Parts outer : depths)
      for (Parts inner : parts[loop])
        product.push_back({outer.size * inner.size, outer.count * inner.count});
    depths = product;
  }
  const Parts oneRow = {1, 1};
  ArrayRef<Parts> rows = oneRow;
  if (op.rowLoop != op.vectorLoop)
    rows = parts[op.rowLoop];

  // The first block of a reduction starts from zero, the others reload.
  double first = 1.0 / countOf(depths);
  SmallVector<BalancedSplit, 8> splits;
  for (Parts column : parts[op.vectorLoop])
    splits.push_back(splitEvenly(
        divideCeilSigned(column.size, machine.unit.lanes), tile.vectors));
  const KernelShape *kernel = findKernel(machine, tile);
  Neighbours neighbours = neighboursOf(op);
  double cycles = 0;
  for (Parts row : rows) {
    BalancedSplit down = splitEvenly(row.size, tile.rows);
    for (auto [column, across] : zip(parts[op.vectorLoop], splits)) {
      // Several tiles of rows read what is decoded once.
      bool decodesOnce = row.size > tile.rows;
      BlockCost cost(machine.unit, down, across, neighbours.count,
                     decodesOnce ? 0 : decodeInstructionsOf(op, row.size),
                     crossing);
      auto cyclesOf = [&, columns = column.size](int64_t depth, bool loads) {
        return kernel ? kernelCycles(machine.unit, *kernel, row.size, columns,
                                     depth, loads)
                      : cost.cycles(depth, loads);
      };
      for (Parts depth : depths) {
        double setup = machine.overheads.blockCycles;
        if (decodesOnce)
          setup += depth.size * panelDecodingCycles(op, column.size);
        if (neighbours.areCopied)
          setup += copyCycles(row.size * depth.size, /*isTransposed=*/true);
        double fresh = cyclesOf(depth.size, false) + setup, loaded = fresh;
        if (first != 1.0)
          loaded = cyclesOf(depth.size, true) + setup;
        cycles += row.count * column.count * depth.count *
                  (first * fresh + (1 - first) * loaded);
      }
    }
  }
  return repeats * cycles;
}

CostModel::TileFigures
CostModel::computeFigures(int64_t rows, int64_t vectors, int64_t neighbours,
                          double decodeInstructions) const {
  BlockCost cost(machine.unit, {rows, 1, 0}, {vectors, 1, 0}, neighbours,
                 decodeInstructions);
  TileFigures figures;
  figures.fresh = cost.cycles(0, false);
  figures.loaded = cost.cycles(0, true);
  figures.step = (cost.cycles(neighbours, false) - figures.fresh) /
                 static_cast<double>(neighbours);
  return figures;
}

const CostModel::TileFigures &
CostModel::figuresOf(int64_t rows, int64_t vectors, int64_t neighbours) const {
  // No register tile has more rows or vectors than there are registers.
  size_t registers = machine.unit.registers;
  std::vector<TileFigures> &known = tileFigures[neighbours > 1];
  known.resize(registers * registers);
  TileFigures &figures = known[rows * registers + vectors];
  if (figures.step == 0)
    figures = computeFigures(rows, vectors, neighbours,
                             /*decodeInstructions=*/0);
  return figures;
}

CostModel::RoughCycles CostModel::roughCycles(const Operator &op,
                                              ArrayRef<Parts> rows,
                                              ArrayRef<Parts> vectors) const {
  const Access *matrix = matrixReadInRows(op);
  if (matrix && op.decodeInstructions == 0) {
    // All at once: blocks take no less together.
    SmallVector<Parts, 6> whole;
    for (const Loop &loop : problem.loops)
      whole.push_back({loop.extent, 1});
    SmallVector<ArrayRef<Parts>, 6> views(whole.begin(), whole.end());
    RoughCycles cycles;
    cycles.once = innerProductCycles(op, *matrix, views);
    return cycles;
  }
  double repeats = 1, depth = 1;
  for (LoopId loop : op.loops)
    if (!op.output.hasLoop(loop))
      depth *= problem.loops[loop].extent;
    else if (loop != op.vectorLoop && loop != op.rowLoop)
      repeats *= problem.loops[loop].extent;
  int64_t neighbours = neighboursOf(op).count;
  RoughCycles cycles;
  cycles.perBlock = repeats * machine.overheads.blockCycles;
  for (Parts row : rows)
    for (Parts vector : vectors) {
      TileFigures figures =
          op.decodeInstructions > 0
              ? computeFigures(row.size, vector.size, neighbours,
                               decodeInstructionsOf(op, row.size))
              : figuresOf(row.size, vector.size, neighbours);
      double tiles = repeats * row.count * vector.count;
      cycles.once += tiles * (depth * figures.step + figures.fresh);
      cycles.perDepth += tiles * figures.loaded;
    }
  return cycles;
}

double CostModel::leastTapsOf(const Operator &op) const {
  return machine.matrix ? 1 : leastShareOfTaps(problem, op);
}

double CostModel::arithmeticCycles(const Schedule &schedule,
                                   ArrayRef<Work> works) const {
  double cycles = 0;
  bool isInGroups = machine.matrix && machine.groups;
  Occupancy occupancy;
  SmallVector<BlockCycles, 4> blocks;
  LoopNest tree = treeOfCode(structure, schedule);
  if (isInGroups) {
    occupancy = occupancyOf(schedule);
    cycles += restartCyclesOf(tree);
  }
  for (const auto &[index, op] : enumerate(problem.operators)) {
    const Work &work = works[index];
    SmallVector<ArrayRef<Parts>, 6> views(work.parts.begin(), work.parts.end());
    Visited visited = visitedBy(schedule, tree, index);
    SmallVector<NestLoop, 12> path = pathOf(tree, index);
    bool inRegisters = none_of(path, [own = &op](const NestLoop &loop) {
      return own->isReduction(loop.loop);
    });
    double taps = machine.matrix ? 1 : shareOfTaps(problem, op, path);
    if (isInGroups)
      blocks.push_back(
          groupCycles(op, views, schedule.registerTile, occupancy));
    double products = isInGroups
                          ? blocks.back().cycles
                          : operatorCycles(op, views, schedule.registerTile,
                                           crossingVectors(schedule, op, work));
    double perElement = occupancy.idle * occupancy.waiting * visited.byTiles;
    if (isInGroups)
      perElement *= groupEpilogueShare(op, views);
    double ofBlocks =
        work.repeats * (visited.byProducts * taps * products +
                        perElement * epilogueCycles(op, inRegisters)) +
        perElement * rescaleCycles(op, work.rescales) +
        visited.byTiles * softmaxPartCycles(op, work);
    cycles += ofBlocks;
    if (isInGroups) {
      blocks.back().count *= work.repeats * visited.byProducts;
      blocks.back().cycles = ofBlocks;
    }
    if (work.keptElements > 0)
      cycles +=
          static_cast<double>(work.keptElements) / machine.unit.lanes *
          (1 / machine.unit.loadsPerCycle + 1 / machine.unit.storesPerCycle);
  }
  if (isInGroups)
    cycles += arrivalCyclesOf(schedule, tree, blocks, occupancy);
  return cycles;
}

bool chimera::model::runsOnTiles(const ChainProblem &problem) {
  return all_of(problem.operators, [&](const Operator &op) {
    // Of what is not known, there are rows.
    if (any_of(op.loops, [&](LoopId loop) {
          return problem.loops[loop].isOpen &&
                 (op.isReduction(loop) || loop == op.vectorLoop);
        }))
      return false;
    bool isSummedUp = any_of(op.loops, [&](LoopId loop) {
      return op.isReduction(loop) &&
             all_of(op.inputs,
                    [&](const Access &input) { return input.hasLoop(loop); });
    });
    return isSummedUp && op.inputs.size() == 2 && op.decodeInstructions == 0 &&
           leastShareOfTaps(problem, op) == 1;
  });
}

double CostModel::countLeastMultiplyAdds() const {
  double count = 0;
  for (const Operator &op : problem.operators)
    count += leastTapsOf(op) * problem.multiplyAdds(op);
  return count;
}

/// Cycles of all operators if every loop were a single part: more parts make
/// more and smaller register tiles, which take no less.
double CostModel::leastCycles() const {
  if (machine.matrix)
    return 0;
  double least = std::numeric_limits<double>::infinity();
  for (const RegisterTile &tile : registerTiles) {
    if (const KernelShape *kernel = findKernel(machine, tile)) {
      least = std::min(least, leastKernelCycles(*kernel));
      continue;
    }
    double cycles = 0;
    for (const Operator &op : problem.operators) {
      auto whole = [&](LoopId loop) { return problem.loops[loop].extent; };
      Parts rows{op.rowLoop == op.vectorLoop ? 1 : whole(op.rowLoop), 1};
      Parts vectors{divideCeilSigned(whole(op.vectorLoop), machine.unit.lanes),
                    1};
      cycles +=
          leastTapsOf(op) * roughCycles(op, shareEvenly(rows, tile.rows),
                                        shareEvenly(vectors, tile.vectors))
                                .of(/*blocks=*/0, /*depths=*/1) +
          epilogueCycles(op);
    }
    least = std::min(least, cycles);
  }
  return least;
}

/// The same on `kernel`: no part takes less than the best tile, and edges no
/// less than the unit needs.
double CostModel::leastKernelCycles(const KernelShape &kernel) const {
  double perMultiplyAdd =
      std::min(kernel.cyclesPerStep / (kernel.rows * kernel.columns),
               1.0 / (machine.unit.lanes * machine.unit.depth *
                      machine.unit.fmaPerCycle));
  double cycles = leastMultiplyAdds * perMultiplyAdd;
  for (const Operator &op : problem.operators)
    cycles += epilogueCycles(op);
  return cycles;
}

double CostModel::leastSeconds(const Schedule &schedule) const {
  if (leastCyclesKnown < 0)
    leastCyclesKnown = leastCycles();
  double ideal = 2 * leastMultiplyAdds / coreFlops(machine);
  return leastShare() * tasksOf(schedule).busiestShare *
         std::max(ideal, leastCyclesKnown / machine.contractionClock());
}

//===----------------------------------------------------------------------===//
// The price
//===----------------------------------------------------------------------===//

/// A softmax goes over the scores twice, for the maximum and for the
/// exponentials; the evaluation counts one pass of an epilogue.
int64_t CostModel::softmaxBytes(const Schedule &schedule,
                                unsigned level) const {
  int64_t bytes = 0;
  for (const Operator &reader : problem.operators)
    for (const Access &input : reader.inputs)
      if (reader.rescaledBy && input.hasLoop(*reader.rescaledBy) &&
          problem.tensors[input].role == Role::Intermediate &&
          level > schedule.homeOf(input))
        bytes += 2 * problem.sizeOf(input) * problem.tensors[input].heldBytes();
  return bytes;
}

/// A cache reads what is about to be written for the first time.
int64_t CostModel::allocatedBytes(const Schedule &schedule, unsigned level,
                                  const Evaluation &evaluation) const {
  if (machine.levels[level].ways == 0)
    return 0;
  int64_t bytes = 0;
  for (const Operator &op : problem.operators) {
    const Tensor &tensor = problem.tensors[op.output];
    const Traffic &traffic = evaluation.traffic[op.output];
    int64_t whole = problem.sizeOf(op.output) * tensor.heldBytes();
    bytes += std::min(whole, traffic.writeBytes);
  }
  return bytes;
}

int64_t CostModel::streamedBytes(const Schedule &schedule,
                                 const Evaluation &innermost) const {
  int64_t bytes = 0;
  for (const auto &[index, op] : enumerate(problem.operators))
    if (schedule.held >> index & 1)
      for (const Access &input : op.inputs)
        if (is_contained(schedule.prepacked, input.tensor))
          bytes += innermost.traffic[input].readBytes;
  return bytes;
}

double CostModel::besideBytes(const Evaluation &evaluation,
                              int64_t leaving) const {
  if (machine.matrix || machine.levels.back().ways == 0)
    return 0;
  int64_t bytes = evaluation.volumeBytes() - leaving;
  for (const Operator &op : problem.operators)
    if (const Access *operand = operandInOrder(op))
      bytes -= evaluation.traffic[*operand].readBytes;
  return std::max<int64_t>(0, bytes) * machine.overheads.besideCost;
}

/// Adds the stage of a level into which bytes come for `seconds`.
void CostModel::addLevel(Stages &stages, const Schedule &schedule,
                         unsigned level, const Evaluation &evaluation,
                         double seconds, const Tasks &tasks) const {
  if (level + 1 < machine.levels.size())
    return stages.add(seconds);
  stages.add(seconds,
             streamedBytes(schedule, evaluation) / bandwidth(tasks, level));
}

std::optional<Plan> CostModel::priceBelow(const Schedule &schedule,
                                          double limit, bool isOpen) const {
  Plan plan;
  std::vector<Work> works = workOf(schedule);
  Tasks tasks = tasksOf(schedule);
  double share = tasks.busiestShare;
  double cycles = arithmeticCycles(schedule, works);
  plan.computeSeconds = share * cycles / machine.contractionClock();
  plan.tasks = tasks.count;

  Stages stages;
  unsigned innermost = machine.levels.size() - 1;
  if (mayStage)
    for (const Arrival &arrival : arrivalsAt(schedule, works))
      plan.computeSeconds += arrivalSeconds(
          arrival, arrival.tiles, wayOf(schedule, *arrival.operand), tasks);
  for (auto [op, work] : zip(problem.operators, works))
    plan.computeSeconds +=
        readingSeconds(schedule, op, largestOf(work.parts), tasks);
  std::vector<Evaluation> evaluations(machine.levels.size());
  // What is known so far is a bound: all that follows adds to it.
  Stages known;
  for (unsigned index = machine.levels.size(); index-- > 0;) {
    if (known.with(plan.computeSeconds) >= limit * (1 + cutOffMargin))
      return std::nullopt;
    evaluations[index] =
        evaluateOn(structure, machine, schedule, index, threads);
    addLevel(known, schedule, index, evaluations[index],
             (evaluations[index].volumeBytes() - leavingBytes(index)) /
                 bandwidth(tasks, index),
             tasks);
  }
  // What is fetched again as lines collide: bytes, and seconds where it is
  // known what they take.
  double intoInnermost = 0, intoOuter = 0, colliding = 0, waiting = 0;
  for (const auto &[index, op] : enumerate(problem.operators)) {
    const auto &parts = works[index].parts;
    if (!isOpen)
      colliding +=
          partialSumSeconds(schedule, op, largestOf(parts),
                            evaluations.back().traffic[op.output], tasks);
    const Access *operand = vectorOperand(op);
    if (!operand || is_contained(schedule.staged, operand->tensor) ||
        is_contained(schedule.prepacked, operand->tensor))
      continue;
    int64_t moved = evaluations.back().traffic[*operand].readBytes,
            read = moved;
    SmallVector<int64_t, 6> tiles = largestOf(parts);
    bool isPacked = is_contained(schedule.packed, operand->tensor);
    if (isPacked)
      plan.computeSeconds +=
          copySeconds(schedule, op, *operand, tiles, moved, tasks);
    else if (needsPacking(op, *operand) ||
             conflicts(*operand, tiles, innermost))
      read = refetchedBytes(op, *operand, parts, schedule.registerTile);
    if (waitsForCollisions(op, *operand)) {
      waiting += outsideSeconds(schedule, index, *operand, tiles, read, tasks);
      if (!isPacked) {
        intoInnermost += lostBytes(schedule, *operand, tiles, moved);
        colliding +=
            rereadSeconds(schedule, *operand, tiles, read, moved, tasks);
      }
      intoInnermost += read - moved;
      continue;
    }
    intoInnermost += read - moved;
    if (!isOpen && collidesOutside(schedule, index, *operand))
      intoOuter += std::max<int64_t>(
          0, read - evaluations[innermost - 1].traffic[*operand].readBytes);
  }
  waiting += tileSumSeconds(evaluations.back(), tasks);
  for (const auto &[index, level] : enumerate(machine.levels)) {
    const Evaluation &evaluation = evaluations[index];
    LevelCost cost;
    cost.name = level.name;
    cost.bytes = evaluation.volumeBytes();
    for (const Traffic &traffic : evaluation.traffic)
      cost.writtenBytes += traffic.writeBytes;
    cost.liveBytes = evaluation.liveBytes;
    cost.capacityBytes =
        std::min(level.usableBytes(), capacityAt(schedule, index));
    double bytes = cost.bytes - leavingBytes(index) +
                   softmaxBytes(schedule, index) +
                   allocatedBytes(schedule, index, evaluation);
    if (index == 0 && !isOpen)
      bytes += brokenRunBytes(schedule, works);
    if (index == innermost)
      bytes += intoInnermost;
    else if (index + 1 == innermost)
      bytes += intoOuter + besideBytes(evaluation, leavingBytes(index)) +
               (isOpen ? 0 : shortRunBytes(schedule, works));
    cost.seconds = bytes / bandwidth(tasks, index);
    if (index == innermost)
      cost.seconds += colliding;
    addLevel(stages, schedule, index, evaluation, cost.seconds, tasks);
    plan.levels.push_back(cost);
  }
  double combining = combineSeconds(schedule);
  if (hasRoutes(problem, machine)) {
    RoutePlan routes = planRoutes(problem, machine, schedule, threads);
    for (const RouteTraffic &route : routes.routes)
      if (route.besideSeconds > 0)
        stages.add(share * route.besideSeconds);
    waiting += share * routes.waitSeconds;
    if (routes.launches > 1)
      combining +=
          evenTasks(tasks.count / countSplitParts(schedule)).busiestShare *
          routes.combineSeconds;
  }
  plan.seconds = stages.with(plan.computeSeconds + waiting) +
                 startSeconds(tasks) + combining + handoverSeconds(schedule);
  if (plan.seconds >= limit)
    return std::nullopt;
  plan.schedule = schedule;
  for (int64_t count : countMultiplyAdds(structure, schedule))
    plan.multiplyAdds += count;
  return plan;
}

SmallVector<int64_t, 4>
CostModel::capacitiesOf(const Schedule &schedule) const {
  SmallVector<int64_t, 4> capacities;
  for (unsigned level = 0; level < machine.levels.size(); ++level)
    capacities.push_back(capacityAt(schedule, level));
  return capacities;
}

Plan chimera::model::price(const ChainProblem &problem, const Machine &machine,
                           const Schedule &schedule,
                           const SolveOptions &options) {
  if (std::optional<ChainProblem> rows = withFragmentRows(problem, machine))
    return price(*rows, machine, schedule, options);
  ChainStructure structure(problem);
  CostModel costModel(structure, machine, options);
  Schedule complete = schedule;
  if (complete.homes.empty())
    complete.homes =
        findHomes(problem, machine, schedule, costModel.capacitiesOf(schedule),
                  options.threads);
  if (!complete.blocks)
    complete.blocks = chooseBlocks(problem, machine, complete);
  return costModel.price(complete);
}
