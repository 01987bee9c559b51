//===- Price.cpp - Predicted time of a schedule ---------------------------===//
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

#include "Pricer.h"

#include "BlockCost.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace chimera::model;

/// Cycles to set up the pointers and loops of one block.
static constexpr double blockSetupCycles = 20;
/// A copy that turns columns into vectors shuffles each vector several times.
static constexpr double transposeFactor = 4;
/// Ways of a set that one operand may take before it evicts itself. The other
/// ways hold the lines of the other operands.
static constexpr double waysShare = 0.75;

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

int64_t Pricer::countTasks(const Schedule &schedule) const {
  LoopTree tree = buildLoopTree(problem, schedule, schedule.levels.size() - 1);
  SmallVector<int64_t, 6> size;
  for (const Loop &loop : problem.loops)
    size.push_back(loop.extent);
  int64_t tasks = 1;
  for (const NestLoop &loop :
       ArrayRef(tree.shared).take_front(schedule.numParallel)) {
    tasks *= divideCeilSigned(size[loop.loop], loop.tile);
    size[loop.loop] = loop.tile;
  }
  return tasks;
}

double Pricer::busiestShare(int64_t tasks) const {
  return static_cast<double>(divideCeilSigned(tasks, threads)) / tasks;
}

double Pricer::bandwidth(int64_t tasks, unsigned level) const {
  const MemoryLevel &memory = machine.levels[level];
  double workers = 1 / busiestShare(tasks);
  return std::min(workers * memory.bytesPerSecondPerCore,
                  memory.bytesPerSecond);
}

int64_t Pricer::capacityAt(const Schedule &schedule, unsigned level) const {
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

PartList chimera::model::cutParts(ArrayRef<Parts> parts, int64_t tile) {
  PartList split;
  for (Parts part : parts) {
    int64_t size = std::min(tile, part.size);
    split.push_back({size, part.count * (part.size / size)});
    if (int64_t edge = part.size % size)
      split.push_back({edge, part.count});
  }
  return split;
}

PartList chimera::model::shareEvenly(ArrayRef<Parts> parts, int64_t most) {
  PartList shares;
  auto add = [&](int64_t size, int64_t count) {
    auto *same =
        find_if(shares, [&](Parts other) { return other.size == size; });
    if (same != shares.end())
      same->count += count;
    else if (count > 0)
      shares.push_back({size, count});
  };
  for (Parts part : parts) {
    BalancedSplit split = splitEvenly(part.size, most);
    add(split.size, part.count * split.large);
    add(split.size - 1, part.count * split.small);
  }
  return shares;
}

SmallVector<PartList, 6> Pricer::partsOfLoops(const Schedule &schedule) const {
  SmallVector<PartList, 6> parts;
  for (const Loop &loop : problem.loops)
    parts.push_back({{loop.extent, 1}});
  for (const LevelSchedule &level : schedule.levels)
    for (const TiledLoop &entry : level.order)
      parts[entry.loop] = cutParts(parts[entry.loop], entry.tile);
  return parts;
}

int64_t chimera::model::countOf(ArrayRef<Parts> parts) {
  int64_t count = 0;
  for (Parts part : parts)
    count += part.count;
  return count;
}

double Pricer::operatorCycles(const Operator &op,
                              ArrayRef<ArrayRef<Parts>> parts,
                              const RegisterTile &tile) const {
  // Loops of the output besides rows and columns repeat the micro kernel.
  int64_t repeats = 1;
  // Blocks over one reduction, by their depth.
  PartList depths = {{1, 1}};
  for (LoopId loop : op.loops) {
    if (loop == op.vectorLoop || loop == op.rowLoop)
      continue;
    if (problem.indexes(op.output, loop)) {
      repeats *= problem.loops[loop].extent;
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
  double cycles = 0;
  for (Parts row : rows) {
    BalancedSplit down = splitEvenly(row.size, tile.rows);
    for (auto [column, across] : zip(parts[op.vectorLoop], splits)) {
      BlockCost cost(machine.unit, down, across);
      for (Parts depth : depths) {
        double fresh = cost.cycles(depth.size, false) + blockSetupCycles;
        double loaded = fresh;
        if (first != 1.0)
          loaded = cost.cycles(depth.size, true) + blockSetupCycles;
        cycles += row.count * column.count * depth.count *
                  (first * fresh + (1 - first) * loaded);
      }
    }
  }
  return repeats * cycles;
}

const Pricer::TileFigures &Pricer::figuresOf(int64_t rows,
                                             int64_t vectors) const {
  // No register tile has more rows or vectors than there are registers.
  size_t registers = machine.unit.registers;
  tileFigures.resize(registers * registers);
  TileFigures &figures = tileFigures[rows * registers + vectors];
  if (figures.step == 0) {
    BlockCost cost(machine.unit, {rows, 1, 0}, {vectors, 1, 0});
    figures.fresh = cost.cycles(0, false);
    figures.loaded = cost.cycles(0, true);
    figures.step = cost.cycles(1, false) - figures.fresh;
  }
  return figures;
}

double Pricer::roughCycles(const Operator &op, ArrayRef<Parts> rows,
                           ArrayRef<Parts> vectors, int64_t blocks,
                           int64_t depths) const {
  double repeats = 1, depth = 1;
  for (LoopId loop : op.loops)
    if (!problem.indexes(op.output, loop))
      depth *= problem.loops[loop].extent;
    else if (loop != op.vectorLoop && loop != op.rowLoop)
      repeats *= problem.loops[loop].extent;
  double cycles = blocks * blockSetupCycles;
  for (Parts row : rows)
    for (Parts vector : vectors) {
      const TileFigures &figures = figuresOf(row.size, vector.size);
      cycles += row.count * vector.count *
                (depth * figures.step + figures.fresh +
                 (depths - 1) * figures.loaded);
    }
  return repeats * cycles;
}

double Pricer::epilogueCycles(const Operator &op) const {
  if (!op.hasEpilogue && op.epilogue.empty())
    return 0;
  const VectorUnit &unit = machine.unit;
  double vectors = static_cast<double>(problem.sizeOf(op.output)) / unit.lanes;
  double loads = 1 + op.epilogue.size();
  return vectors * (op.epilogueCost / unit.fmaPerCycle +
                    loads / unit.loadsPerCycle + 1 / unit.storesPerCycle);
}

double Pricer::arithmeticCycles(ArrayRef<PartList> parts,
                                const RegisterTile &tile) const {
  SmallVector<ArrayRef<Parts>, 6> views(parts.begin(), parts.end());
  double cycles = 0;
  for (const Operator &op : problem.operators)
    cycles += operatorCycles(op, views, tile) + epilogueCycles(op);
  return cycles;
}

double Pricer::idealSeconds(const Schedule &schedule) const {
  return 2 * problem.multiplyAdds() * busiestShare(countTasks(schedule)) /
         machine.unit.peakFlops();
}

ArrayRef<unsigned> Pricer::registerTilesFor(int64_t rows,
                                            int64_t vectors) const {
  // Beyond the largest register tile nothing changes.
  rows = std::min(rows, machine.unit.registers);
  vectors = std::min(vectors, machine.unit.registers);
  auto [entry, isNew] = registerTileCache.try_emplace({rows, vectors});
  SmallVector<unsigned, 8> &indices = entry->second;
  if (!isNew)
    return indices;
  auto contains = [&](unsigned outer, unsigned inner) {
    const RegisterTile &large = registerTiles[outer];
    const RegisterTile &small = registerTiles[inner];
    return std::min(large.rows, rows) >= std::min(small.rows, rows) &&
           std::min(large.vectors, vectors) >= std::min(small.vectors, vectors);
  };
  for (unsigned index = 0; index < registerTiles.size(); ++index) {
    erase_if(indices, [&](unsigned other) { return contains(index, other); });
    if (none_of(indices,
                [&](unsigned other) { return contains(other, index); }))
      indices.push_back(index);
  }
  return indices;
}

//===----------------------------------------------------------------------===//
// Operands in place or packed
//===----------------------------------------------------------------------===//

std::optional<TensorId> Pricer::vectorOperand(const Operator &op) const {
  for (TensorId input : op.inputs)
    if (problem.indexes(input, op.vectorLoop) &&
        problem.tensors[input].role == Role::Input)
      return input;
  return std::nullopt;
}

/// True if neighbouring lanes are not neighbours in memory.
bool Pricer::isStrided(const Operator &op, TensorId operand) const {
  const Tensor &tensor = problem.tensors[operand];
  for (auto [loop, stride] : zip(tensor.dims, tensor.strides))
    if (loop == op.vectorLoop)
      return stride != 1;
  return false;
}

bool Pricer::conflicts(TensorId operand, ArrayRef<int64_t> tiles) const {
  SmallVector<int64_t, 6> key = {operand};
  for (LoopId loop : problem.tensors[operand].dims)
    key.push_back(tiles[loop]);
  auto [entry, isNew] = conflictCache.try_emplace(std::move(key), false);
  if (isNew)
    entry->second = computeConflict(operand, tiles);
  return entry->second;
}

/// Counts the lines of the operand's tile that fall into each set of the
/// innermost level.
bool Pricer::computeConflict(TensorId operand, ArrayRef<int64_t> tiles) const {
  const MemoryLevel &cache = machine.levels.back();
  if (cache.ways == 0)
    return false;
  int64_t sets = std::max<int64_t>(1, cache.capacityBytes /
                                          (cache.lineBytes * cache.ways));
  int64_t allowed = std::max<int64_t>(1, cache.ways * waysShare);
  const Tensor &tensor = problem.tensors[operand];
  // Runs of neighbouring elements take whole lines; the other dimensions step
  // from run to run.
  int64_t runBytes = tensor.elementBytes;
  SmallVector<Parts, 4> steps;
  for (auto [loop, stride] : zip(tensor.dims, tensor.strides)) {
    if (stride == 1)
      runBytes *= tiles[loop];
    else
      steps.push_back({stride * tensor.elementBytes, tiles[loop]});
  }
  SmallVector<int64_t, 0> used(sets, 0);
  SmallVector<int64_t, 4> position(steps.size(), 0);
  while (true) {
    int64_t begin = 0;
    for (auto [index, step] : zip(position, steps))
      begin += index * step.size;
    int64_t last = (begin + runBytes - 1) / cache.lineBytes;
    for (int64_t line = begin / cache.lineBytes; line <= last; ++line)
      if (++used[line % sets] > allowed)
        return true;
    unsigned dim = steps.size();
    while (dim > 0 && ++position[dim - 1] == steps[dim - 1].count)
      position[--dim] = 0;
    if (dim == 0)
      return false;
  }
}

int64_t Pricer::refetchedBytes(const Operator &op, TensorId operand,
                               ArrayRef<PartList> parts,
                               const RegisterTile &tile) const {
  int64_t passes = 1;
  for (LoopId loop : op.loops) {
    if (problem.indexes(operand, loop))
      continue;
    if (loop != op.rowLoop) {
      passes *= countOf(parts[loop]);
      continue;
    }
    int64_t rowTiles = 0;
    for (Parts part : parts[loop])
      rowTiles += part.count * divideCeilSigned(part.size, tile.rows);
    passes *= rowTiles;
  }
  const Tensor &tensor = problem.tensors[operand];
  // Strided lanes fetch a line for each element.
  int64_t unit = isStrided(op, operand) ? machine.levels.back().lineBytes
                                        : tensor.elementBytes;
  return passes * problem.sizeOf(operand) * unit;
}

double Pricer::packingSeconds(const Operator &op, TensorId operand,
                              int64_t bytes) const {
  const VectorUnit &unit = machine.unit;
  double vectors = static_cast<double>(bytes) /
                   (unit.lanes * problem.tensors[operand].elementBytes);
  double cycles = vectors * (1 / unit.loadsPerCycle + 1 / unit.storesPerCycle);
  if (isStrided(op, operand))
    cycles *= transposeFactor;
  return cycles / unit.cyclesPerSecond;
}

void Pricer::choosePacking(Schedule &schedule) const {
  unsigned innermost = machine.levels.size() - 1;
  SmallVector<int64_t, 6> tiles = tilesAt(problem, schedule, innermost);
  SmallVector<PartList, 6> parts;
  Evaluation evaluation;
  schedule.packed.clear();
  for (const Operator &op : problem.operators) {
    std::optional<TensorId> operand = vectorOperand(op);
    if (!operand || is_contained(schedule.packed, *operand))
      continue;
    bool strided = isStrided(op, *operand);
    if (!strided && !conflicts(*operand, tiles))
      continue;
    if (parts.empty()) {
      parts = partsOfLoops(schedule);
      evaluation = evaluate(sets, schedule, innermost);
    }
    int64_t moved = evaluation.traffic[*operand].readBytes;
    int64_t refetched =
        refetchedBytes(op, *operand, parts, schedule.registerTile);
    int64_t tasks = countTasks(schedule);
    double packing = busiestShare(tasks) * packingSeconds(op, *operand, moved);
    double refetching = (refetched - moved) / bandwidth(tasks, innermost);
    if (strided || packing < refetching)
      schedule.packed.push_back(*operand);
  }
}

double
Pricer::unavoidablePacking(function_ref<int64_t(TensorId)> bytesOf) const {
  double seconds = 0;
  for (const Operator &op : problem.operators) {
    std::optional<TensorId> operand = vectorOperand(op);
    if (operand && isStrided(op, *operand))
      seconds += packingSeconds(op, *operand, bytesOf(*operand));
  }
  return seconds;
}

bool Pricer::operandsArePrivate() const {
  return all_of(problem.operators, [&](const Operator &op) {
    std::optional<TensorId> operand = vectorOperand(op);
    return !operand || count_if(problem.operators, [&](const Operator &user) {
                         return is_contained(user.inputs, *operand);
                       }) == 1;
  });
}

std::optional<Pricer::ConflictCost>
Pricer::conflictCost(const Operator &op, ArrayRef<int64_t> tiles,
                     ArrayRef<PartList> parts, const RegisterTile &tile,
                     function_ref<int64_t(TensorId)> bytesOf) const {
  std::optional<TensorId> operand = vectorOperand(op);
  if (!operand || isStrided(op, *operand) || !conflicts(*operand, tiles))
    return std::nullopt;
  int64_t moved = bytesOf(*operand);
  ConflictCost cost;
  cost.packing = packingSeconds(op, *operand, moved);
  cost.bytes = refetchedBytes(op, *operand, parts, tile) - moved;
  return cost;
}

//===----------------------------------------------------------------------===//
// The price
//===----------------------------------------------------------------------===//

Plan Pricer::price(const Schedule &schedule) const {
  Plan plan;
  plan.schedule = schedule;
  SmallVector<PartList, 6> parts = partsOfLoops(schedule);
  int64_t tasks = countTasks(schedule);
  double share = busiestShare(tasks);
  double cycles = arithmeticCycles(parts, schedule.registerTile);
  plan.computeSeconds = share * cycles / machine.unit.cyclesPerSecond;

  Stages stages;
  unsigned innermost = machine.levels.size() - 1;
  for (const auto &[index, level] : enumerate(machine.levels)) {
    Evaluation evaluation = evaluate(sets, schedule, index);
    LevelCost cost;
    cost.name = level.name;
    cost.bytes = evaluation.volumeBytes();
    cost.liveBytes = evaluation.liveBytes;
    cost.capacityBytes = capacityAt(schedule, index);
    int64_t bytes = cost.bytes;
    SmallVector<int64_t, 6> tiles = tilesAt(problem, schedule, index);
    for (const Operator &op : problem.operators) {
      std::optional<TensorId> operand = vectorOperand(op);
      if (index != innermost || !operand)
        continue;
      int64_t moved = evaluation.traffic[*operand].readBytes;
      if (is_contained(schedule.packed, *operand))
        plan.computeSeconds += share * packingSeconds(op, *operand, moved);
      else if (isStrided(op, *operand) || conflicts(*operand, tiles))
        bytes +=
            refetchedBytes(op, *operand, parts, schedule.registerTile) - moved;
    }
    cost.seconds = bytes / bandwidth(tasks, index);
    stages.add(cost.seconds);
    plan.levels.push_back(cost);
  }
  plan.seconds = stages.with(plan.computeSeconds);
  return plan;
}

Plan chimera::model::price(const ChainProblem &problem, const Machine &machine,
                           const Schedule &schedule,
                           const SolveOptions &options) {
  ChainSets sets(problem);
  return Pricer(sets, machine, options).price(schedule);
}
