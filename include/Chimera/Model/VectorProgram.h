//===- VectorProgram.h - Groups on a unit with a buffer ---------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A vector unit without registers and caches works on tiles in a buffer of its
// own, into and out of which copies move everything. What a group of operators
// that wait for memory costs there can be said exactly: the bytes that each
// tile moves, the room that it takes, the instructions that run on it.
//
// A layer norm reads a tile of rows once if whole rows have room, and in that
// time subtracts the mean, adds up squares and scales. Where rows are longer
// than the buffer, each of these passes reads them again, piece by piece.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_MODEL_VECTORPROGRAM_H
#define CHIMERA_MODEL_VECTORPROGRAM_H

#include "llvm/ADT/SmallVector.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace chimera::model {

/// A set of the loops that operators of a group share, as bits.
using AxisSet = uint32_t;
/// Index into VectorProgram::values.
using VectorValueId = unsigned;

/// An array in memory that a group reads or writes.
struct VectorTensor {
  int64_t elementBytes = 4;
  AxisSet axes = 0;
  /// Elements from one index of each axis to the next; zero for axes that it
  /// does not have.
  llvm::SmallVector<int64_t, 4> strides;
};

/// What one tile holds of a value that the group computes.
struct VectorValue {
  enum class Kind {
    /// Known when the program is compiled; takes no room.
    Number,
    /// Part of `tensor`.
    Load,
    /// Arithmetic on `operands`.
    Compute,
    /// Combines the elements of the first operand along the axes that it has
    /// and this does not; then with the second one, if there is one.
    Reduce
  };
  Kind kind = Kind::Number;
  AxisSet axes = 0;
  llvm::SmallVector<VectorValueId, 3> operands;
  unsigned tensor = 0;
  /// Cycles that its instructions take together for as many bytes as one of
  /// them covers.
  int64_t cycles = 0;
  /// Room for as many more values of its shape while it is computed, and for
  /// as many numbers, a block each.
  int64_t temporaries = 0, numbers = 0;
};

struct VectorStore {
  VectorValueId value = 0;
  unsigned tensor = 0;
};

/// A group of operators. Operands come before values that have them.
struct VectorProgram {
  /// Iterations of the axes, outermost first. The last one is the columns, the
  /// one before, if there is one, the rows of a tile.
  llvm::SmallVector<int64_t, 4> extents;
  llvm::SmallVector<VectorTensor, 0> tensors;
  llvm::SmallVector<VectorValue, 0> values;
  llvm::SmallVector<VectorStore, 0> stores;

  unsigned columnAxis() const { return extents.size() - 1; }
  std::optional<unsigned> rowAxis() const {
    return extents.size() < 2 ? std::nullopt
                              : std::optional<unsigned>(extents.size() - 2);
  }
  int64_t columns() const { return extents.back(); }
  int64_t rows() const {
    return extents.size() < 2 ? 1 : *(&extents.back() - 1);
  }
  bool hasColumns(AxisSet axes) const { return axes >> columnAxis() & 1; }
  bool hasRows(AxisSet axes) const {
    return extents.size() >= 2 && (axes >> *rowAxis() & 1);
  }
  /// The axes that some value is reduced along: tasks do not cut them.
  AxisSet reducedAxes() const;
};

/// The part of a program that a task, or a step of it, works on.
struct VectorTiling {
  int64_t rows = 1, columns = 1;
};

/// What values take in the buffer: as many elements as their tile has, or sums
/// of a row that have yet to be added up.
enum class VectorHome { Tile, Columns, Rows, Block, Partial };
inline constexpr unsigned kNumVectorHomes = 5;

/// One value, computed for a tile. Homes are numbered, each kind for itself;
/// without one the value lies where it was loaded to, or where it is stored
/// from.
struct VectorStep {
  VectorValueId value = 0;
  std::optional<unsigned> home;
  /// Temporaries of its shape, blocks of numbers and, of a reduction, sums of
  /// rows that have yet to be added up.
  llvm::SmallVector<unsigned, 2> temporaries, blocks, partial;
};

/// One time through what a task reduces. Without `isLoop` the tile has all of
/// it; otherwise `body` runs for each piece, and `finish`, which no longer
/// depends on pieces, after the last.
struct VectorPass {
  bool isLoop = false;
  llvm::SmallVector<VectorStep, 0> body, finish;
};

/// How a program runs with a tiling.
struct VectorSchedule {
  /// Loaded once by every core: what no task and no piece cuts.
  llvm::SmallVector<VectorValueId, 4> constants;
  /// Loaded once by every task, where passes are loops.
  llvm::SmallVector<VectorValueId, 4> taskLoads;
  llvm::SmallVector<VectorPass, 2> passes;
  int64_t tasks = 1, pieces = 1;
  /// How many homes there are of each kind.
  std::array<unsigned, kNumVectorHomes> homes = {};
};

/// What the unit and its buffer are like.
struct VectorCore {
  int64_t cores = 1;
  int64_t bufferBytes = 0;
  /// Bytes that addresses in the buffer are multiples of, and that a copy moves
  /// at least of main memory.
  int64_t blockBytes = 32, pieceBytes = 128;
  /// True if copies move any number of bytes, and not blocks alone.
  bool movesBytes = false;
  /// True if blocks can be reduced and spread by one instruction each.
  bool reducesBlocks = false;
  double loadBytesPerCycle = 128, storeBytesPerCycle = 64;
  /// Cycles until a copy has begun.
  double loadLatency = 220, storeLatency = 155;
};

/// What a program takes on all cores together.
struct VectorFigures {
  int64_t loadedBytes = 0, storedBytes = 0, roomBytes = 0;
  /// Of the busiest core.
  double loadCycles = 0, vectorCycles = 0, storeCycles = 0;
  /// From the first load to the last store, with copies beside arithmetic.
  double cycles = 0;
};

/// Elements of f32 in a block, and in what one instruction covers at once.
inline constexpr int64_t kBlockLanes = 8, kVectorLanes = 64;

/// Elements from one row of a tile to the next in the buffer, whatever the
/// type.
int64_t tilePitch(const VectorTiling &tiling);
/// The kind of home that a value with `axes` has.
VectorHome homeOf(const VectorProgram &program, AxisSet axes);
/// Elements of f32 in a home. What has no columns is a block for each row.
int64_t homeElements(VectorHome home, const VectorTiling &tiling);
/// Bytes of one of the places that part of a tensor gets in the buffer.
int64_t tensorBytes(const VectorProgram &program, const VectorTensor &tensor,
                    const VectorTiling &tiling);
/// True if `store` takes its value from the place where it is computed.
bool storesInPlace(const VectorProgram &program, const VectorStore &store);
/// Bytes of the place for the last elements of rows that end within a block;
/// zero if none is needed.
int64_t tailBytes(const VectorProgram &program, const VectorStore &store,
                  const VectorTiling &tiling, const VectorCore &core);

/// Why a program cannot run with `tiling`, or the way it does.
struct VectorPlan {
  std::string refusal;
  VectorSchedule schedule;
  VectorFigures figures;
};
VectorPlan planVectorProgram(const VectorProgram &program,
                             const VectorTiling &tiling,
                             const VectorCore &core);

/// The tiling that takes the fewest cycles; none, with the last reason, if
/// nothing fits.
std::optional<VectorTiling> findVectorTiling(const VectorProgram &program,
                                             const VectorCore &core,
                                             std::string &refusal);

} // namespace chimera::model

#endif // CHIMERA_MODEL_VECTORPROGRAM_H
