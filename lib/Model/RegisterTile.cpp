//===- RegisterTile.cpp - The shape and the time of the micro kernel ------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The micro kernel keeps rows x vectors accumulators in registers and adds one
// outer product per step of the reduction. Intensity alone does not choose its
// shape: with 32 registers 5x5 has the highest, but then hardly any block is a
// whole number of tiles wide. So tiles are compared by the cycles they need for
// the block at hand, with its edges, and intensity settles ties.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/Algorithms.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cassert>

using namespace llvm;
using namespace chimera::model;

/// Accumulator loads and stores run beside the arithmetic of the neighbouring
/// tiles; this share of their time is not hidden.
static constexpr double exposedAccumulatorShare = 0.5;
/// Cycles to set up addresses, clear accumulators and leave the reduction loop
/// of one tile, now and then through a mispredicted branch. An estimate; the
/// choice of plans changes little between half and twice of it.
static constexpr double tileSetupCycles = 12;
/// Steps of the reduction in one unrolled loop body: enough to make the loop's
/// own instructions cheap, few enough to stay in the instruction buffers.
static constexpr int64_t unrolledSteps = 4;

BalancedSplit chimera::model::splitEvenly(int64_t extent, int64_t part) {
  assert(extent > 0 && part > 0 && "nothing to split");
  int64_t parts = divideCeilSigned(extent, part);
  BalancedSplit split;
  split.size = divideCeilSigned(extent, parts);
  split.small = split.size * parts - extent;
  split.large = parts - split.small;
  return split;
}

/// Cycles for one register tile.
static double tileCycles(const VectorUnit &unit, int64_t rows, int64_t vectors,
                         int64_t depth, bool loadsOutput) {
  double accumulators = rows * vectors;
  // A step is limited by the FMA units, by the load ports (one broadcast per
  // row, one load per vector), or by an accumulator's previous step.
  double step = std::max({accumulators / unit.fmaPerCycle,
                          (rows + vectors) / unit.loadsPerCycle,
                          static_cast<double>(unit.fmaLatency)});
  double transfers = accumulators / unit.storesPerCycle;
  if (loadsOutput)
    transfers += accumulators / unit.loadsPerCycle;
  return depth * step + exposedAccumulatorShare * transfers + unit.fmaLatency +
         tileSetupCycles;
}

double chimera::model::blockCycles(const VectorUnit &unit,
                                   const RegisterTile &tile, int64_t rows,
                                   int64_t columns, int64_t depth,
                                   bool loadsOutput) {
  BalancedSplit down = splitEvenly(rows, tile.rows);
  BalancedSplit across =
      splitEvenly(divideCeilSigned(columns, unit.lanes), tile.vectors);
  auto strip = [&](int64_t tileRows) {
    double cycles = across.large *
                    tileCycles(unit, tileRows, across.size, depth, loadsOutput);
    if (across.small)
      cycles += across.small *
                tileCycles(unit, tileRows, across.size - 1, depth, loadsOutput);
    return cycles;
  };
  double cycles = down.large * strip(down.size);
  if (down.small)
    cycles += down.small * strip(down.size - 1);
  return cycles;
}

/// The paper's arithmetic intensity of a register tile.
static double intensity(const RegisterTile &tile, int64_t depth) {
  double accumulators = tile.rows * tile.vectors;
  return accumulators * depth /
         (depth * (tile.rows + tile.vectors) + 2 * accumulators);
}

RegisterTile chimera::model::selectRegisterTile(const VectorUnit &unit,
                                                int64_t rows, int64_t columns,
                                                int64_t depth) {
  RegisterTile best;
  double bestCycles = 0;
  int64_t vectors = divideCeilSigned(columns, unit.lanes);
  for (RegisterTile tile : maximalRegisterTiles(unit)) {
    // Blocks smaller than the tile, or cut into equal parts below its size,
    // never use the rest of it.
    tile.rows = splitEvenly(rows, tile.rows).size;
    tile.vectors = splitEvenly(vectors, tile.vectors).size;
    tile.depth = std::min(depth, tile.depth);
    double cycles = blockCycles(unit, tile, rows, columns, depth, false);
    double gain = intensity(tile, depth) - intensity(best, depth);
    bool wins = best.rows == 0 || cycles < bestCycles ||
                (cycles == bestCycles &&
                 (gain > 0 || (gain == 0 && tile.vectors > best.vectors)));
    if (!wins)
      continue;
    best = tile;
    bestCycles = cycles;
  }
  return best;
}

SmallVector<RegisterTile, 8>
chimera::model::maximalRegisterTiles(const VectorUnit &unit) {
  SmallVector<RegisterTile, 8> tiles;
  for (int64_t vectors = 1; 2 * vectors + 1 <= unit.registers; ++vectors) {
    RegisterTile tile;
    tile.vectors = vectors;
    tile.depth = unrolledSteps;
    tile.rows = (unit.registers - vectors - 1) / vectors;
    // A second register lets a broadcast run ahead of the FMAs that use it.
    int64_t left = unit.registers - tile.rows * vectors - vectors;
    tile.broadcasts = std::min<int64_t>({left, tile.rows, 2});
    if (!tiles.empty() && tiles.back().rows == tile.rows)
      tiles.pop_back();
    tiles.push_back(tile);
  }
  return tiles;
}
