//===- Blocks.h - Blocks for the micro kernel -------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tiles of the innermost level make the blocks of the micro kernel. Here
// all combinations of the loops' tiles are listed with their arithmetic. An
// operator's cycles depend on the tiles of its own loops alone, so they are
// computed once for each combination of those and not once for each block.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_MODEL_SEARCH_BLOCKS_H
#define CHIMERA_LIB_MODEL_SEARCH_BLOCKS_H

#include "Cost/CostModel.h"
#include "Volume/OrderFormula.h"

#include <array>
#include <vector>

namespace chimera::model {

/// Loops that are cut into tiles.
inline constexpr unsigned mostTiledLoops = 8;

/// A loop with the tiles it may have, its whole size first, and the trips and
/// parts each of them makes of the loop.
struct LoopTiles {
  LoopId loop = 0;
  llvm::SmallVector<int64_t, 16> tiles, trips;
  llvm::SmallVector<PartList, 16> parts;
  /// A derived loop that is cut along with it, with the parts each tile makes
  /// of it; overlap of windows is left out.
  struct Follower {
    LoopId loop = 0;
    llvm::SmallVector<PartList, 16> parts;
  };
  llvm::SmallVector<Follower, 1> followers;
};

struct Block {
  /// Which of its tiles each loop has.
  std::array<uint8_t, mostTiledLoops> choice = {};
  /// The places of the loops that are cut.
  LoopSet cut = 0;
  RegisterTile registerTile;
  /// Arithmetic and epilogues on the busiest core.
  double seconds = 0;
  size_t index = 0;
};

class BlockSearch {
public:
  /// Blocks are made of the tiles in `loops`; the other loops have the parts
  /// `parts`.
  BlockSearch(const ChainProblem &problem, const Machine &machine,
              const CostModel &costModel, llvm::ArrayRef<LoopTiles> loops,
              llvm::ArrayRef<PartList> parts);

  /// The blocks whose own tiles fit into `capacityBytes` and that take, beside
  /// `others`, less than `limit` seconds; those with the least arithmetic
  /// first. The busiest core does `share` of the work.
  std::vector<Block> run(int64_t capacityBytes, double share, Stages others,
                         double limit);

private:
  /// What the cycles of one operator depend on.
  struct Arithmetic {
    const Operator *op = nullptr;
    llvm::SmallVector<LoopId, 4> reductions;
    /// The distance of neighbouring tiles of each loop in `cycles`; zero for
    /// loops that do not concern the operator.
    std::array<size_t, mostTiledLoops> stride = {};
    /// The same for loops that make its rows and vectors, in `rough`.
    std::array<size_t, mostTiledLoops> roughStride = {};
    /// Cycles by tiles and register tile, exact and rough, or unknown.
    std::vector<double> cycles;
    std::vector<std::optional<CostModel::RoughCycles>> rough;
    double epilogue = 0;
    /// The share of taps that is left at best.
    double taps = 1;
  };

  void addOperator(const Operator &op);
  void extend(unsigned place);
  void setParts(const LoopTiles &entry, size_t index);
  bool fits() const;
  void finish();
  double chooseRegisterTile();
  double chooseAmong(llvm::ArrayRef<unsigned> registerTiles);
  using Strides = std::array<size_t, mostTiledLoops>;
  size_t keyOf(const Strides &strides, unsigned registerTile) const;
  double roughCyclesOf(Arithmetic &arithmetic, unsigned registerTile);
  double cyclesOf(Arithmetic &arithmetic, unsigned registerTile);

  const ChainProblem &problem;
  const Machine &machine;
  const CostModel &costModel;
  llvm::ArrayRef<LoopTiles> loops;
  llvm::SmallVector<llvm::ArrayRef<Parts>, 6> parts;
  std::vector<Arithmetic> operators;

  int64_t capacityBytes = 0;
  double share = 1;
  Stages others;
  double limit = 0;
  /// Cycles with which a block comes just above the limit.
  double mostCycles = 0;
  /// The block at hand, with the tile of every loop of the problem. Loops that
  /// are not decided yet have their smallest.
  Block block;
  llvm::SmallVector<int64_t, 6> tiles;
  /// The most rows, vectors and steps a register tile has a use for.
  RegisterTile largest;
  std::vector<Block> blocks;
};

} // namespace chimera::model

#endif // CHIMERA_LIB_MODEL_SEARCH_BLOCKS_H
