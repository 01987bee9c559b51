//===- Program.h - What one thread block runs -------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `chimera-tile` leaves a chain as an scf.forall whose body is the program of
// one thread block: loops, slices of tensors, blocks. Before code is generated
// this says what lies where: results of blocks in registers, tiles of tensors
// from outside in shared memory, for as long as the loop that they change in
// runs one iteration.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_PROGRAM_H
#define CHIMERA_LIB_CONVERSION_PROGRAM_H

#include "Combination.h"
#include "FragmentMaps.h"

#include "Chimera/IR/Chimera.h"
#include "Chimera/Model/Fragments.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

#include <limits>
#include <numeric>

namespace chimera {

/// Why there is no kernel, and the operation that none can have, if it is one.
struct Refusal {
  std::string reason;
  mlir::Operation *op = nullptr;
  /// True if fewer rows for each warp may help.
  bool isOfRegisters = false;

  /// Takes the first reason; those that follow from it say less.
  mlir::LogicalResult set(mlir::Operation *where, const llvm::Twine &why);
};

/// How the rows of a tile are shared out: to each warp, or to `sharers` warps
/// of which each has a part of a softmax' columns, `rowTiles` times 16 rows,
/// one below the other.
struct ThreadLayout {
  int64_t warps = 1, rowTiles = 1, sharers = 1;

  int64_t threads() const { return warps * warpSize; }
  int64_t rows() const { return warps / sharers * rowTiles * mmaRows; }
};

/// An operand of a block that multiplies.
struct Factor {
  mlir::Value value;
  /// True if rows and columns are the other way round than in a plain product.
  bool isTransposed = false;
  /// The dimension of the tensor, beside the last one, that makes the matrix.
  unsigned rowDim = 0;
  /// How it lies in shared memory, if it comes from outside.
  TileLayout layout = TileLayout::Matrices;
  /// True if rows of shared memory are columns of the tensor.
  bool isTurned = false;

  /// The same as `isTransposed`, in shared memory.
  bool isTransposedThere() const { return isTransposed != isTurned; }
};

/// A block that multiplies, with its dimensions by their meaning.
struct Contraction {
  BlockOp block;
  Factor lhs, rhs;
  /// The largest extents, and the smallest of the reduction.
  int64_t rows = 0, columns = 0, depth = 0, leastDepth = 0;
  bool startsFromZero = false;
  /// Of the factors in memory.
  int64_t elementBytes = 0;
  /// What the factors are multiplied as, and by what, in what type sums are.
  mlir::Type factorType, sumType;
  /// True if bytes of the left, or the right, factor have no sign.
  bool isLhsUnsigned = false, isRhsUnsigned = false;
  MatrixProgramAttr instruction;
  /// Warps that have a part of the columns each, or of the reduction.
  int64_t columnSharers = 1, depthSharers = 1;

  /// What one instruction adds up over.
  int64_t stepDepth() const { return instruction.getDepth(); }
  /// Rows and columns of factors in shared memory are multiples of this.
  int64_t side() const { return std::lcm(mmaColumns, stepDepth()); }
  /// The column tiles of a warp, and its part of the reduction.
  int64_t columnTiles() const {
    return columnSharers == 1
               ? llvm::divideCeil(columns, mmaColumns)
               : llvm::alignTo(columns, side()) / mmaColumns / columnSharers;
  }
  int64_t ownDepth() const {
    return depthSharers == 1 ? depth
                             : llvm::alignTo(depth, side()) / depthSharers;
  }
};

/// A tile of a tensor from outside that is kept in shared memory, row after
/// row: the last dimension of the tensor along the rows, or, if it is turned,
/// across them.
struct SharedTile {
  mlir::Value source;
  /// The innermost loop that chooses the tile; null if it is the same for the
  /// whole program.
  mlir::scf::ForOp home;
  TileLayout layout = TileLayout::Matrices;
  bool isTurned = false;
  int64_t elementBytes = 0;
  /// Extents in shared memory, multiples of those of an instruction.
  int64_t rows = 0, columns = 0;
  /// The dimension of the tensor, beside the last one, that the tile has.
  unsigned rowDim = 0;
  /// Tiles that are there at a time.
  int64_t stages = 1;
  int64_t byteOffset = 0;

  int64_t chunkElements() const { return getChunkElements(elementBytes); }
  Swizzle swizzle() const {
    return Swizzle(columns / chunkElements(),
                   layout == TileLayout::Matrices ? 1 : 2);
  }
  int64_t bytes() const { return stages * rows * columns * elementBytes; }
};

/// What is read in different ways is there as often.
using TileKey = std::pair<mlir::Value, unsigned>;

/// The limits of the machine.
struct BlockLimits {
  int64_t sharedBytes = 0;
  /// Copies of a tile that streams through, if the schedule does not say.
  int64_t buffers = 2;
  /// What programs can be made of.
  llvm::SmallVector<MatrixProgramAttr> instructions;
  /// True if f32 may be multiplied as tf32.
  bool allowsTF32 = false;
  /// Warps, and their registers.
  model::ThreadGroups groups;
  /// The most times 16 rows that a warp may have if there are warps enough.
  int64_t rowTiles = std::numeric_limits<int64_t>::max();
};

class Program {
public:
  /// Reads `forall`, and what follows in the block that is the last of a tile.
  /// Fails with a reason if it is not covered.
  static llvm::FailureOr<Program> read(mlir::scf::ForallOp forall,
                                       const Combination &combination,
                                       const BlockLimits &limits,
                                       Refusal &refusal);

  mlir::scf::ForallOp getForall() const { return forall; }
  const Combination &getCombination() const { return combination; }
  const ThreadLayout &getLayout() const { return layout; }
  /// What the schedule, and the limits, ask for of the rows of a warp; it has
  /// more if there are too many rows.
  int64_t getWantedRowTiles() const { return wantedRowTiles; }
  const BlockLimits &getLimits() const { return limits; }
  int64_t getSharedBytes() const { return sharedBytes; }
  /// Those of tiles alone; what warps that share rows tell each other follows.
  int64_t getTileBytes() const { return tileBytes; }
  llvm::MapVector<TileKey, SharedTile> &getTiles() { return tiles; }
  const SharedTile &getTile(const Factor &factor) const {
    return tiles.find(keyOf(factor))->second;
  }
  /// Dimensions of what contractions make; numbers of rows have one less.
  int64_t getRank() const { return rank; }
  /// The contraction of `block`; null if it is none.
  const Contraction *getContraction(BlockOp block) const;

  /// What `tensor` is a tile of, outside the program or among the arguments
  /// that the program updates; null if it is computed inside.
  mlir::Value findGlobal(mlir::Value tensor) const;
  bool isLocal(mlir::Value tensor) const { return !findGlobal(tensor); }
  /// True if `tensor` is a value in registers that a loop around carries, or a
  /// part of one.
  bool isCarried(mlir::Value tensor) const;
  /// True if an iteration of `loop` works on a part of its own of a value in
  /// registers, which have no index: the loop must be unrolled.
  bool mustUnroll(mlir::scf::ForOp loop) const;

private:
  Program(mlir::scf::ForallOp forall, const Combination &combination,
          const BlockLimits &limits)
      : forall(forall), combination(combination), limits(limits) {}

  /// True if `op` is in the body of one of the program's loops.
  bool isInside(mlir::Operation *op) const;

  llvm::LogicalResult readContractions(Refusal &refusal);
  llvm::LogicalResult chooseLayout(Refusal &refusal);
  llvm::LogicalResult shareColumns(int64_t sharers, Refusal &refusal);
  void chooseTileLayouts(Contraction &contraction) const;
  static TileKey keyOf(const Factor &factor) {
    return {factor.value,
            2 * static_cast<unsigned>(factor.layout) + factor.isTurned};
  }
  void share(const Factor &factor, const Contraction &contraction, int64_t rows,
             int64_t columns);
  llvm::LogicalResult placeTiles(Refusal &refusal);
  bool dependsOn(mlir::Value index, mlir::scf::ForOp loop) const;
  mlir::scf::ForOp findHome(mlir::Value tensor) const;

  mlir::scf::ForallOp forall;
  Combination combination;
  BlockLimits limits;
  llvm::MapVector<mlir::Operation *, Contraction> contractions;
  llvm::MapVector<TileKey, SharedTile> tiles;
  ThreadLayout layout;
  int64_t sharedBytes = 0, tileBytes = 0, rank = 0, wantedRowTiles = 1;
  /// Copies of a tile that a loop fills again.
  int64_t stages = 1;
};

/// The map from a matrix, the last two of `numDims` dimensions, to its rows.
mlir::AffineMap getRowMap(unsigned numDims, mlir::MLIRContext *context);

/// True if `op` makes a tensor that nothing was written to.
bool isEmptyTensor(mlir::Operation *op);

/// The largest and smallest extent that dimension `dim` of the operation in
/// `block` has; nothing if they are not known.
std::optional<std::pair<int64_t, int64_t>> getExtents(BlockOp block,
                                                      unsigned dim);

/// What `block` is given for `value`, an operand of the operation inside; null
/// if that is made inside.
mlir::Value getOutside(BlockOp block, mlir::Value value);

} // namespace chimera

#endif // CHIMERA_LIB_CONVERSION_PROGRAM_H
