//===- MatrixCost.cpp - What products of tiles take -----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A matrix unit of a processor multiplies whole tiles, which it loads from the
// innermost level. Beside the products count the tiles that are loaded and
// stored, the latency of a block, and that registers are told the sizes of
// tiles.
//
//===----------------------------------------------------------------------===//

#include "Cost/BlockCost.h"
#include "Cost/CostModel.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace llvm;
using namespace chimera::model;

/// Cycles in which tile registers are set to other sizes, and back. Measured on
/// an Emerald Rapids: 220 for either.
static constexpr double settingCycles = 440;

/// Parts of a loop that leave a tile of `size` unfinished, behind whole ones.
static double countEdges(ArrayRef<Parts> parts, int64_t size) {
  double count = 0;
  for (Parts part : parts)
    if (part.size > size && part.size % size != 0)
      count += part.count;
  return count;
}

/// Blocks of whole instructions; between them, operands come from the innermost
/// level as often as the accumulators that fit near the unit demand.
double CostModel::matrixCycles(const Operator &op,
                               ArrayRef<ArrayRef<Parts>> parts,
                               const RegisterTile &tile) const {
  const MatrixUnit &unit = *machine.matrix;
  double repeats = 1, depth = 0, rows = 0, columns = 0, blocks = 1;
  auto roundedUp = [&](LoopId loop, int64_t size) {
    double total = 0;
    for (Parts part : parts[loop])
      total += part.count * alignTo(part.size, size);
    return total;
  };
  bool isOneSum = count_if(op.loops, [&](LoopId loop) {
                    return op.isReduction(loop);
                  }) == 1;
  for (LoopId loop : op.loops) {
    if (loop == op.vectorLoop || loop == op.rowLoop)
      continue;
    if (op.output.hasLoop(loop)) {
      repeats *= totalOf(parts[loop]);
      continue;
    }
    depth = (depth ? depth : 1) *
            (isOneSum ? roundedUp(loop, unit.depth) : totalOf(parts[loop]));
    blocks *= countOf(parts[loop]);
  }
  depth = std::max<double>(depth, unit.depth);
  columns = roundedUp(op.vectorLoop, unit.columns);
  rows = op.rowLoop == op.vectorLoop ? unit.rows
                                     : roundedUp(op.rowLoop, unit.rows);
  double cycles = rows * columns * depth / unit.multiplyAddsPerCycle;
  // Every column of register tiles loads all rows, and the other way round.
  int64_t elementBytes = problem.tensors[op.inputs.front()].elementBytes;
  double loaded = rows * depth * columns / (tile.vectors * unit.columns) +
                  columns * depth * rows / (tile.rows * unit.rows);
  double loading = loaded * elementBytes / unit.loadBytesPerCycle;
  double stored =
      rows * columns * blocks * problem.tensors[op.output].heldBytes();
  double storing = stored / unit.storeBytesPerCycle;
  // Loads and stores run beside the arithmetic.
  double tiles = rows * columns /
                 (tile.rows * unit.rows * tile.vectors * unit.columns) * blocks;
  // Sums that nothing is added to have whole tiles at edges as well.
  double setting = 0;
  if (machine.levels.back().ways > 0 && blocks > 1) {
    double rowParts =
               op.rowLoop == op.vectorLoop ? 1 : countOf(parts[op.rowLoop]),
           rowEdges = op.rowLoop == op.vectorLoop
                          ? 0
                          : countEdges(parts[op.rowLoop], unit.rows);
    setting = settingCycles * blocks *
              (rowEdges * countOf(parts[op.vectorLoop]) +
               rowParts * countEdges(parts[op.vectorLoop], unit.columns));
  }
  return repeats * (std::max({cycles, loading, storing}) +
                    tiles * unit.latency + setting);
}

/// Tiles that are stored past the innermost level are waited for: sums that a
/// reduction comes back to, where a kernel could have held them since it
/// multiplies by constants. Measured on an Emerald Rapids: a store takes 16
/// cycles there, 64 where the lines have left.
double CostModel::tileSumSeconds(const Evaluation &innermost,
                                 const Tasks &tasks) const {
  if (!machine.matrix || machine.levels.back().ways == 0)
    return 0;
  double bytes = 0;
  for (const Operator &op : problem.operators)
    if (hasConstantVectors(problem, op)) {
      const Traffic &traffic = innermost.traffic[op.output];
      bytes += traffic.readBytes + traffic.writeBytes;
    }
  return bytes / bandwidth(tasks, machine.levels.size() - 1);
}
