//===- Blocks.cpp - Blocks for the micro kernel ---------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Search/Blocks.h"

#include "Chimera/Model/Fragments.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <limits>
#include <tuple>

using namespace llvm;
using namespace chimera::model;

/// Marks cycles that are not computed yet.
static constexpr double unknown = -1;

BlockSearch::BlockSearch(const ChainProblem &problem, const Machine &machine,
                         const CostModel &costModel, ArrayRef<LoopTiles> loops,
                         ArrayRef<PartList> parts)
    : problem(problem), machine(machine), costModel(costModel), loops(loops),
      parts(parts.begin(), parts.end()) {
  for (const PartList &list : parts)
    tiles.push_back(list.front().size);
  for (const LoopTiles &entry : loops)
    setParts(entry, entry.tiles.size() - 1);
  for (const Operator &op : problem.operators)
    addOperator(op);
}

void BlockSearch::setParts(const LoopTiles &entry, size_t index) {
  parts[entry.loop] = entry.parts[index];
  tiles[entry.loop] = entry.tiles[index];
  for (const LoopTiles::Follower &follower : entry.followers) {
    parts[follower.loop] = follower.parts[index];
    tiles[follower.loop] = follower.parts[index].front().size;
  }
}

void BlockSearch::addOperator(const Operator &op) {
  Arithmetic arithmetic;
  arithmetic.op = &op;
  arithmetic.epilogue = costModel.epilogueCycles(op);
  arithmetic.taps = costModel.leastTapsOf(op);
  for (LoopId loop : op.loops)
    if (!op.output.hasLoop(loop))
      arithmetic.reductions.push_back(loop);
  auto isKernelLoop = [&](LoopId loop) {
    return loop == op.rowLoop || loop == op.vectorLoop;
  };
  size_t size = costModel.getRegisterTiles().size(), roughSize = size;
  for (const auto &[place, entry] : enumerate(loops)) {
    bool concerns =
        op.hasLoop(entry.loop) ||
        any_of(entry.followers, [&](const LoopTiles::Follower &follower) {
          return op.hasLoop(follower.loop);
        });
    if (!concerns)
      continue;
    arithmetic.stride[place] = size;
    size *= entry.tiles.size();
    bool shapes = isKernelLoop(entry.loop) ||
                  any_of(entry.followers, [&](const LoopTiles::Follower &f) {
                    return isKernelLoop(f.loop);
                  });
    if (!shapes)
      continue;
    arithmetic.roughStride[place] = roughSize;
    roughSize *= entry.tiles.size();
  }
  arithmetic.rough.resize(roughSize);
  arithmetic.cycles.assign(size, unknown);
  operators.push_back(std::move(arithmetic));
}

std::vector<Block> BlockSearch::run(int64_t capacityBytes, double share,
                                    Stages others, double limit) {
  this->capacityBytes = capacityBytes;
  this->share = share;
  this->others = others;
  this->limit = limit;
  mostCycles = others.room(limit * (1 + cutOffMargin)) *
               machine.contractionClock() / share;
  if (fits())
    extend(0);
  sort(blocks, [](const Block &left, const Block &right) {
    return std::tie(left.seconds, left.index) <
           std::tie(right.seconds, right.index);
  });
  return std::move(blocks);
}

void BlockSearch::extend(unsigned place) {
  if (place == loops.size())
    return finish();
  const LoopTiles &entry = loops[place];
  for (size_t index = 0; index < entry.tiles.size(); ++index) {
    setParts(entry, index);
    // If the smallest tiles of the other loops leave no room, no others do.
    if (!fits())
      continue;
    block.choice[place] = index;
    if (index > 0)
      block.cut |= bitOf(place);
    extend(place + 1);
    block.cut &= ~bitOf(place);
  }
  setParts(entry, entry.tiles.size() - 1);
}

/// A block's own tiles must fit, whatever the order.
bool BlockSearch::fits() const {
  auto bytesOf = [&](const Access &access) {
    const Tensor &tensor = problem.tensors[access];
    int64_t bytes = tensor.elementBytes;
    for (auto [index, size] : zip(access.indices, tensor.shape))
      bytes *= std::min(index.extent(tiles), size);
    return bytes;
  };
  return all_of(problem.operators, [&](const Operator &op) {
    bool holdsResults =
        machine.levels.back().holdsResults || !multipliesTiles(problem);
    int64_t bytes = holdsResults ? bytesOf(op.output) : 0;
    for (const Access &input : op.inputs)
      if (holdsResults || problem.tensors[input].role == Role::Input)
        bytes += bytesOf(input);
    return bytes <= capacityBytes;
  });
}

void BlockSearch::finish() {
  double cycles = chooseRegisterTile();
  if (block.registerTile.rows == 0)
    return;
  block.seconds = cycles * share / machine.contractionClock();
  if (others.with(block.seconds) >= limit)
    return;
  block.index = blocks.size();
  blocks.push_back(block);
}

/// Chooses the register tile with the least arithmetic for the block at hand
/// and returns its cycles. Chooses none if none can stay below the limit.
double BlockSearch::chooseRegisterTile() {
  int64_t rows = 1, columns = 1;
  for (const Operator &op : problem.operators) {
    columns = std::max(columns, tiles[op.vectorLoop]);
    if (op.rowLoop != op.vectorLoop)
      rows = std::max(rows, tiles[op.rowLoop]);
  }
  largest.rows = divideCeilSigned(rows, machine.rowsPerInstruction());
  largest.vectors = divideCeilSigned(columns, machine.columnsPerInstruction());
  block.registerTile = RegisterTile();
  ArrayRef<unsigned> indices =
      costModel.registerTilesFor(largest.rows, largest.vectors);
  SmallVector<double, 8> rough;
  double least = std::numeric_limits<double>::infinity();
  for (unsigned index : indices) {
    double cycles = 0;
    for (Arithmetic &arithmetic : operators)
      cycles += roughCyclesOf(arithmetic, index) + arithmetic.epilogue;
    rough.push_back(cycles);
    least = std::min(least, cycles);
  }
  if (least > mostCycles)
    return least;
  // Only tiles that are as good up to rounding can be chosen in the end.
  SmallVector<unsigned, 8> good;
  for (auto [index, cycles] : zip(indices, rough))
    if (cycles <= least * (1 + cutOffMargin))
      good.push_back(index);
  return chooseAmong(good);
}

double BlockSearch::chooseAmong(ArrayRef<unsigned> registerTiles) {
  largest.depth = std::numeric_limits<int64_t>::max();
  for (const Arithmetic &arithmetic : operators) {
    int64_t steps = 1;
    for (LoopId loop : arithmetic.reductions)
      steps *= tiles[loop];
    largest.depth = std::min(largest.depth, steps);
  }
  double best = 0;
  RegisterTile &chosen = block.registerTile;
  for (unsigned index : registerTiles) {
    RegisterTile tile = costModel.getRegisterTiles()[index];
    bool isOffered = !tile.kernel.empty();
    if (!isOffered) {
      tile.rows = std::min(tile.rows, largest.rows);
      tile.vectors = std::min(tile.vectors, largest.vectors);
      tile.depth = std::min(tile.depth, largest.depth);
    }
    double cycles = 0;
    for (Arithmetic &arithmetic : operators)
      cycles += cyclesOf(arithmetic, index) + arithmetic.epilogue;
    // Equal times: a kernel that somebody offers, then the tile with fewer
    // loads per multiply-add.
    bool better =
        cycles < best * (1 - 1e-9) ||
        (cycles < best * (1 + 1e-9) &&
         (isOffered ||
          tile.rows * tile.vectors * (chosen.rows + chosen.vectors) >
              chosen.rows * chosen.vectors * (tile.rows + tile.vectors)));
    if (chosen.rows && !better)
      continue;
    best = cycles;
    chosen = tile;
  }
  return best;
}

size_t BlockSearch::keyOf(const Strides &strides, unsigned registerTile) const {
  size_t key = registerTile;
  for (unsigned place = 0; place < loops.size(); ++place)
    key += strides[place] * block.choice[place];
  return key;
}

/// The cycles of an operator with the tiles at hand. They are those of the
/// whole register tile: a block smaller than that is one part either way.
double BlockSearch::cyclesOf(Arithmetic &arithmetic, unsigned registerTile) {
  double &cycles = arithmetic.cycles[keyOf(arithmetic.stride, registerTile)];
  if (cycles == unknown)
    cycles = arithmetic.taps * costModel.operatorCycles(
                                   *arithmetic.op, parts,
                                   costModel.getRegisterTiles()[registerTile]);
  return cycles;
}

double BlockSearch::roughCyclesOf(Arithmetic &arithmetic,
                                  unsigned registerTile) {
  const RegisterTile &tile = costModel.getRegisterTiles()[registerTile];
  if (machine.matrix || !tile.kernel.empty())
    return cyclesOf(arithmetic, registerTile);
  const Operator &op = *arithmetic.op;
  const Parts oneRow = {1, 1};
  ArrayRef<Parts> rows = oneRow;
  if (op.rowLoop != op.vectorLoop)
    rows = parts[op.rowLoop];
  std::optional<CostModel::RoughCycles> &rough =
      arithmetic.rough[keyOf(arithmetic.roughStride, registerTile)];
  if (!rough) {
    PartList vectors;
    for (Parts column : parts[op.vectorLoop])
      vectors.push_back(
          {divideCeilSigned(column.size, machine.unit.lanes), column.count});
    rough = costModel.roughCycles(op, shareEvenly(rows, tile.rows),
                                  shareEvenly(vectors, tile.vectors));
  }
  int64_t depths = 1;
  for (LoopId loop : arithmetic.reductions)
    depths *= countOf(parts[loop]);
  return arithmetic.taps *
         rough->of(countOf(rows) * countOf(parts[op.vectorLoop]) * depths,
                   depths);
}
