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

#include "Cost/BlockCost.h"
#include "Cost/CostModel.h"

#include "llvm/ADT/STLExtras.h"
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
/// Instructions that a core starts in a cycle. Processors are built for six and
/// more, of which another thread of the core may take half.
static constexpr double issuedPerCycle = 4;
/// Instructions of the loop around the steps.
static constexpr double loopInstructions = 3;

/// Steps of the reduction in one loop body for tiles of `vectors`. A tile of
/// one vector has a broadcast for each FMA. Files of 16 registers belong to
/// instructions that do not multiply by a broadcast from memory (AVX2): of
/// several steps the compiler loads those of the later ones ahead, into
/// registers that it then lacks.
static int64_t depthOf(const VectorUnit &unit, int64_t vectors) {
  return vectors == 1 && unit.registers <= 16 ? 1 : unrolledSteps;
}

/// Instructions of one step with `rows` x `vectors` accumulators. Where FMAs
/// multiply by a broadcast from memory, one vector needs no other.
static double instructionsOf(const VectorUnit &unit, int64_t rows,
                             int64_t vectors) {
  bool isFolded = vectors == 1 && unit.registers > 16;
  return rows * vectors + (isFolded ? 0 : rows) + vectors +
         loopInstructions / depthOf(unit, vectors);
}

BlockCost::BlockCost(const VectorUnit &unit, const BalancedSplit &down,
                     const BalancedSplit &across, int64_t neighbours,
                     double decodeInstructions, CrossingVectors crossing)
    : down(down), across(across), neighbours(neighbours),
      latency(unit.fmaLatency) {
  // Neighbours from several vectors are brought together.
  if (neighbours > 1)
    ++decodeInstructions;
  for (int64_t lessRows = 0; lessRows <= (down.small ? 1 : 0); ++lessRows)
    for (int64_t less = 0; less <= (across.small ? 1 : 0); ++less) {
      int64_t rows = down.size - lessRows, vectors = across.size - less;
      double accumulators = rows * vectors;
      TileCost &tile = tiles[lessRows][less];
      // A step is limited by the FMA units, by the load ports (one broadcast
      // per row, one load per vector), by an accumulator's previous step, or by
      // the number of instructions.
      tile.step = std::max(
          {accumulators / unit.fmaPerCycle,
           (rows + vectors * (1 + crossing.operand)) / unit.loadsPerCycle,
           latency,
           (instructionsOf(unit, rows, vectors) +
            vectors * decodeInstructions) /
               issuedPerCycle});
      double accesses = accumulators * (1 + crossing.output);
      tile.storing = accesses / unit.storesPerCycle;
      tile.loadingAndStoring = tile.storing + accesses / unit.loadsPerCycle;
    }
}

double BlockCost::tileCycles(const TileCost &tile, int64_t depth,
                             bool loadsOutput) const {
  double transfers = loadsOutput ? tile.loadingAndStoring : tile.storing;
  return divideCeilSigned(depth, neighbours) * tile.step +
         exposedAccumulatorShare * transfers + latency + tileSetupCycles;
}

double BlockCost::stripCycles(const TileCost *strip, int64_t depth,
                              bool loadsOutput) const {
  double cycles = across.large * tileCycles(strip[0], depth, loadsOutput);
  if (across.small)
    cycles += across.small * tileCycles(strip[1], depth, loadsOutput);
  return cycles;
}

double BlockCost::cycles(int64_t depth, bool loadsOutput) const {
  double cycles = down.large * stripCycles(tiles[0], depth, loadsOutput);
  if (down.small)
    cycles += down.small * stripCycles(tiles[1], depth, loadsOutput);
  return cycles;
}

double chimera::model::blockCycles(const VectorUnit &unit,
                                   const RegisterTile &tile, int64_t rows,
                                   int64_t columns, int64_t depth,
                                   bool loadsOutput) {
  BalancedSplit down = splitEvenly(rows, tile.rows);
  BalancedSplit across =
      splitEvenly(divideCeilSigned(columns, unit.lanes), tile.vectors);
  return BlockCost(unit, down, across).cycles(depth, loadsOutput);
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

bool chimera::model::fillTilesAsOne(const VectorUnit &unit, int64_t rows,
                                    int64_t columns) {
  // Of what the vectors are multiplied by there is any number.
  constexpr int64_t many = 1 << 10;
  auto cyclesOfColumn = [&](int64_t extent) {
    RegisterTile tile = selectRegisterTile(unit, many, extent, many);
    double cycles = blockCycles(unit, tile, many, extent, many,
                                /*loadsOutput=*/false);
    return cycles / static_cast<double>(extent);
  };
  return cyclesOfColumn(rows * columns) * (1 + timeError) <
         cyclesOfColumn(columns);
}

/// With every register taken, a compiler that orders loads ahead of their use
/// has to spill accumulators. A sixteenth of the file in reserve (two of 32,
/// one of 16) prevents that on every processor in lib/Target; a test reads the
/// assembly.
static int64_t usableRegisters(const VectorUnit &unit) {
  return unit.registers - divideCeilSigned(unit.registers, 16);
}

SmallVector<RegisterTile, 8>
chimera::model::maximalRegisterTiles(const VectorUnit &unit) {
  int64_t registers = usableRegisters(unit);
  SmallVector<RegisterTile, 8> tiles;
  for (int64_t vectors = 1; 2 * vectors + 1 <= registers; ++vectors) {
    RegisterTile tile;
    tile.vectors = vectors;
    tile.depth = depthOf(unit, vectors);
    tile.rows = (registers - vectors - 1) / vectors;
    // A second register lets a broadcast run ahead of the FMAs that use it.
    int64_t left = registers - tile.rows * vectors - vectors;
    tile.broadcasts = std::min<int64_t>({left, tile.rows, 2});
    if (!tiles.empty() && tiles.back().rows == tile.rows)
      tiles.pop_back();
    tiles.push_back(tile);
  }
  return tiles;
}

SmallVector<RegisterTile, 8>
chimera::model::maximalMatrixTiles(const MatrixUnit &unit) {
  // Accumulators have four bytes on all units there are.
  constexpr int64_t accumulatorSize = 4;
  int64_t most =
      unit.accumulatorBytes / (unit.rows * unit.columns * accumulatorSize);
  SmallVector<RegisterTile, 8> tiles;
  for (int64_t vectors = 1; vectors <= most; ++vectors) {
    RegisterTile tile;
    tile.rows = most / vectors;
    tile.vectors = vectors;
    if (!tiles.empty() && tiles.back().rows == tile.rows)
      tiles.pop_back();
    tiles.push_back(tile);
  }
  return tiles;
}

RegisterTile chimera::model::groupTile(const MatrixUnit &unit,
                                       const ThreadGroups &groups) {
  RegisterTile tile;
  tile.rows = mostGroupRows;
  tile.vectors =
      std::max<int64_t>(1, (groups.registersPerThread - groups.reserved) *
                               groups.threads / (unit.rows * unit.columns));
  return tile;
}

//===----------------------------------------------------------------------===//
// Kernels with tiles of their own
//===----------------------------------------------------------------------===//

double chimera::model::coreFlops(const Machine &machine) {
  if (machine.matrix)
    return machine.matrix->peakFlops();
  double peak = machine.unit.peakFlops();
  for (const KernelShape &kernel : machine.kernels)
    peak =
        std::max(peak, 2.0 * kernel.rows * kernel.columns /
                           kernel.cyclesPerStep * machine.unit.cyclesPerSecond);
  return peak;
}

const KernelShape *chimera::model::findKernel(const Machine &machine,
                                              const RegisterTile &tile) {
  for (const KernelShape &kernel : machine.kernels)
    if (kernel.name == tile.kernel)
      return &kernel;
  return nullptr;
}

RegisterTile chimera::model::kernelTile(const VectorUnit &unit,
                                        const KernelShape &kernel) {
  RegisterTile tile;
  tile.rows = kernel.rows;
  tile.vectors = divideCeilSigned(kernel.columns, unit.lanes);
  tile.depth = std::max<int64_t>(1, kernel.depth);
  tile.kernel = kernel.name;
  return tile;
}

RegisterTile chimera::model::edgeTile(const VectorUnit &unit,
                                      const RegisterTile &tile) {
  int64_t registers = usableRegisters(unit);
  RegisterTile edge;
  edge.vectors =
      std::min(tile.vectors, std::max<int64_t>(1, registers / 2 - 1));
  edge.rows = std::clamp<int64_t>((registers - edge.vectors - 1) / edge.vectors,
                                  1, tile.rows);
  edge.broadcasts = 1;
  edge.depth = depthOf(unit, edge.vectors);
  return edge;
}

double chimera::model::kernelCycles(const VectorUnit &unit,
                                    const KernelShape &kernel, int64_t rows,
                                    int64_t columns, int64_t depth,
                                    bool loadsOutput) {
  RegisterTile edge = edgeTile(unit, kernelTile(unit, kernel));
  auto edgeCycles = [&](int64_t rows, int64_t columns, int64_t depth,
                        bool loadsOutput) {
    if (rows == 0 || columns == 0 || depth == 0)
      return 0.0;
    return blockCycles(unit, edge, rows, columns, depth, loadsOutput);
  };
  int64_t calls = kernel.depth ? depth / kernel.depth : 1;
  int64_t steps = kernel.depth ? calls * kernel.depth : depth;
  int64_t fullRows = rows / kernel.rows * kernel.rows;
  int64_t fullColumns = columns / kernel.columns * kernel.columns;
  double tiles = static_cast<double>(rows / kernel.rows) *
                 static_cast<double>(columns / kernel.columns);
  double cycles =
      tiles * (steps * kernel.cyclesPerStep + calls * kernel.cyclesPerCall);
  if (!loadsOutput)
    cycles += fullRows * divideCeilSigned(fullColumns, unit.lanes) /
              unit.storesPerCycle;
  return cycles + edgeCycles(fullRows, fullColumns, depth - steps, true) +
         edgeCycles(rows - fullRows, columns, depth, loadsOutput) +
         edgeCycles(fullRows, columns - fullColumns, depth, loadsOutput);
}

ArrayRef<unsigned> CostModel::registerTilesFor(int64_t rows,
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
    // Kernels with tiles of their own are not parts of others.
    if (!registerTiles[index].kernel.empty())
      continue;
    erase_if(indices, [&](unsigned other) { return contains(index, other); });
    if (none_of(indices,
                [&](unsigned other) { return contains(other, index); }))
      indices.push_back(index);
  }
  for (unsigned index = 0; index < registerTiles.size(); ++index)
    if (!registerTiles[index].kernel.empty())
      indices.push_back(index);
  return indices;
}
