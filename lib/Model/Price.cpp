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

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace llvm;
using namespace chimera::model;

/// Part of the stages' time that the slowest stage does not hide. It keeps the
/// solver from wasting bandwidth where the arithmetic is the limit.
static constexpr double exposedShare = 0.2;
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

double Pricer::busiestShare(const Schedule &schedule) const {
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
  return static_cast<double>(divideCeilSigned(tasks, threads)) / tasks;
}

double Pricer::bandwidth(const Schedule &schedule, unsigned level) const {
  const MemoryLevel &memory = machine.levels[level];
  double workers = 1 / busiestShare(schedule);
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

double Pricer::combine(ArrayRef<double> seconds) {
  double longest = *max_element(seconds);
  double sum = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  return longest + exposedShare * (sum - longest);
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

SmallVector<PartList, 6> Pricer::partsOfLoops(const Schedule &schedule) const {
  SmallVector<PartList, 6> parts;
  for (const Loop &loop : problem.loops)
    parts.push_back({{loop.extent, 1}});
  for (const LevelSchedule &level : schedule.levels)
    for (const TiledLoop &entry : level.order) {
      PartList split;
      for (Parts part : parts[entry.loop]) {
        int64_t tile = std::min(entry.tile, part.size);
        split.push_back({tile, part.count * (part.size / tile)});
        if (int64_t edge = part.size % tile)
          split.push_back({edge, part.count});
      }
      parts[entry.loop] = split;
    }
  return parts;
}

static int64_t countOf(const PartList &parts) {
  int64_t count = 0;
  for (Parts part : parts)
    count += part.count;
  return count;
}

double Pricer::cachedBlockCycles(const RegisterTile &tile, int64_t rows,
                                 int64_t columns, int64_t depth,
                                 bool loadsOutput) const {
  int64_t shape = (tile.rows * 1024 + tile.vectors) * 2 + loadsOutput;
  auto [entry, isNew] =
      blockCache.try_emplace(BlockKey(rows, columns, depth, shape), 0);
  if (isNew)
    entry->second =
        blockCycles(machine.unit, tile, rows, columns, depth, loadsOutput) +
        blockSetupCycles;
  return entry->second;
}

double Pricer::operatorCycles(const Operator &op, ArrayRef<PartList> parts,
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
  PartList rows = {{1, 1}};
  if (op.rowLoop != op.vectorLoop)
    rows = parts[op.rowLoop];

  // The first block of a reduction starts from zero, the others reload.
  double first = 1.0 / countOf(depths);
  double cycles = 0;
  for (Parts row : rows)
    for (Parts column : parts[op.vectorLoop])
      for (Parts depth : depths) {
        double fresh =
            cachedBlockCycles(tile, row.size, column.size, depth.size, false);
        double loaded = first == 1.0
                            ? fresh
                            : cachedBlockCycles(tile, row.size, column.size,
                                                depth.size, true);
        cycles += row.count * column.count * depth.count *
                  (first * fresh + (1 - first) * loaded);
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
  double cycles = 0;
  for (const Operator &op : problem.operators)
    cycles += operatorCycles(op, parts, tile) + epilogueCycles(op);
  return cycles;
}

double Pricer::idealSeconds(const Schedule &schedule) const {
  return 2 * problem.multiplyAdds() * busiestShare(schedule) /
         machine.unit.peakFlops();
}

/// The register tiles worth comparing for blocks of at most this size: no tile
/// that another one contains, as blocks are cut into equal parts anyway.
SmallVector<RegisterTile, 8>
Pricer::registerTilesFor(int64_t rows, int64_t columns, int64_t depth) const {
  int64_t vectors = divideCeilSigned(columns, machine.unit.lanes);
  SmallVector<RegisterTile, 8> clipped;
  for (RegisterTile tile : registerTiles) {
    tile.rows = std::min(tile.rows, rows);
    tile.vectors = std::min(tile.vectors, vectors);
    tile.depth = std::min(tile.depth, depth);
    clipped.push_back(tile);
  }
  SmallVector<RegisterTile, 8> tiles;
  for (const RegisterTile &tile : clipped) {
    auto contains = [&](const RegisterTile &other) {
      return other.rows >= tile.rows && other.vectors >= tile.vectors;
    };
    erase_if(tiles, [&](const RegisterTile &other) {
      return tile.rows >= other.rows && tile.vectors >= other.vectors;
    });
    if (none_of(tiles, contains))
      tiles.push_back(tile);
  }
  return tiles;
}

double Pricer::chooseRegisterTile(Schedule &schedule) const {
  SmallVector<PartList, 6> parts = partsOfLoops(schedule);
  int64_t rows = 1, columns = 1, depth = std::numeric_limits<int64_t>::max();
  for (const Operator &op : problem.operators) {
    int64_t steps = 1;
    for (LoopId loop : op.loops)
      if (!problem.indexes(op.output, loop))
        steps *= parts[loop].front().size;
    depth = std::min(depth, steps);
    columns = std::max(columns, parts[op.vectorLoop].front().size);
    if (op.rowLoop != op.vectorLoop)
      rows = std::max(rows, parts[op.rowLoop].front().size);
  }
  double best = 0;
  RegisterTile chosen;
  for (const RegisterTile &tile : registerTilesFor(rows, columns, depth)) {
    double cycles = arithmeticCycles(parts, tile);
    // Equal times: the tile with fewer loads per multiply-add.
    bool better =
        cycles < best * (1 - 1e-9) ||
        (cycles < best * (1 + 1e-9) &&
         tile.rows * tile.vectors * (chosen.rows + chosen.vectors) >
             chosen.rows * chosen.vectors * (tile.rows + tile.vectors));
    if (chosen.rows && !better)
      continue;
    best = cycles;
    chosen = tile;
  }
  schedule.registerTile = chosen;
  return best * busiestShare(schedule) / machine.unit.cyclesPerSecond;
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
      evaluation = evaluate(problem, schedule, innermost);
    }
    int64_t moved = evaluation.traffic[*operand].readBytes;
    int64_t refetched =
        refetchedBytes(op, *operand, parts, schedule.registerTile);
    double share = busiestShare(schedule);
    double packing = share * packingSeconds(op, *operand, moved);
    double refetching = (refetched - moved) / bandwidth(schedule, innermost);
    if (strided || packing < refetching)
      schedule.packed.push_back(*operand);
  }
}

//===----------------------------------------------------------------------===//
// The price
//===----------------------------------------------------------------------===//

Plan Pricer::price(const Schedule &schedule) const {
  Plan plan;
  plan.schedule = schedule;
  SmallVector<PartList, 6> parts = partsOfLoops(schedule);
  double share = busiestShare(schedule);
  double cycles = arithmeticCycles(parts, schedule.registerTile);
  plan.computeSeconds = share * cycles / machine.unit.cyclesPerSecond;

  SmallVector<double, 4> seconds;
  unsigned innermost = machine.levels.size() - 1;
  for (const auto &[index, level] : enumerate(machine.levels)) {
    Evaluation evaluation = evaluate(problem, schedule, index);
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
    cost.seconds = bytes / bandwidth(schedule, index);
    seconds.push_back(cost.seconds);
    plan.levels.push_back(cost);
  }
  seconds.push_back(plan.computeSeconds);
  plan.seconds = combine(seconds);
  return plan;
}

Plan chimera::model::price(const ChainProblem &problem, const Machine &machine,
                           const Schedule &schedule,
                           const SolveOptions &options) {
  return Pricer(problem, machine, options).price(schedule);
}
