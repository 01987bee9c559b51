//===- KernelBuilder.h - Threads and indices of a kernel --------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Generated index arithmetic is folded as it is made, so that loops that are
// unrolled and guards that always hold leave nothing behind.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_KERNELBUILDER_H
#define CHIMERA_LIB_CONVERSION_KERNELBUILDER_H

#include "Program.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <array>

namespace chimera {

class KernelBuilder {
public:
  KernelBuilder(mlir::OpBuilder &builder, mlir::Location loc,
                const ThreadLayout &layout)
      : builder(builder), loc(loc), layout(layout) {}

  /// Generates what every thread needs to know of itself; at the start.
  void createThread();

  /// The row, one of two of row tile `rowTile`, and the column, one of two of
  /// column tile `columnTile`, that the thread has of a tile: getSumPosition,
  /// in generated code.
  mlir::Value getRow(int64_t rowTile, int64_t half);
  mlir::Value getColumn(int64_t columnTile, int64_t place);

  /// Whether the thread is the one of those with the same elements that stores
  /// them.
  mlir::Value isFirstSharer() { return isLess(sharer, constant(1)); }

  /// The group of four threads in the warp, and the thread in its group.
  mlir::Value groupInWarp() { return div(lane, 4); }
  mlir::Value placeInGroup() { return rem(lane, 4); }

  mlir::Value constant(int64_t value);
  mlir::Value add(mlir::Value left, mlir::Value right);
  mlir::Value add(mlir::Value left, int64_t right) {
    return add(left, constant(right));
  }
  mlir::Value sub(mlir::Value left, mlir::Value right);
  mlir::Value mul(mlir::Value left, int64_t right);
  mlir::Value div(mlir::Value left, int64_t right);
  mlir::Value rem(mlir::Value left, int64_t right);
  mlir::Value exclusiveOr(mlir::Value left, mlir::Value right);
  mlir::Value min(mlir::Value left, mlir::Value right);
  mlir::Value max(mlir::Value left, mlir::Value right);
  mlir::Value isLess(mlir::Value left, mlir::Value right);
  /// Whether `index` is neither negative nor as large as `size`.
  mlir::Value isBelow(mlir::Value index, mlir::Value size);
  mlir::Value both(mlir::Value left, mlir::Value right);
  mlir::Value select(mlir::Value condition, mlir::Value yes, mlir::Value no);
  mlir::Value value(mlir::OpFoldResult value);

  //===--------------------------------------------------------------------===//
  // Instructions
  //===--------------------------------------------------------------------===//

  /// What the lane whose number differs by the bit `distance` has of `word`, an
  /// i32 or f32. All lanes have to take part.
  mlir::Value exchange(mlir::Value word, int64_t distance);
  /// What lane number `lane` has of `word`, an i32. All lanes have to take
  /// part.
  mlir::Value takeFrom(mlir::Value word, mlir::Value lane);
  /// Lets no lane of the warp go on before all are here.
  void synchronizeWarp();
  /// Lets no thread of the block go on before all are here. All threads have to
  /// take part.
  void synchronize();
  /// Makes a group of the asynchronous copies that were begun.
  void commitCopies();
  /// Waits for all but the last `groups` groups of copies of the thread.
  void awaitCopies(int64_t groups);
  /// A word, an i32, rounded to tf32, to nearest, ties away from zero: tensor
  /// cores leave out the lower bits, which would bring every factor nearer to
  /// zero.
  mlir::Value roundToTF32(mlir::Value word);
  /// The four sums that the mma.sync of `contraction` makes of a thread's words
  /// of two factors and of its four `sums`.
  mlir::Value multiplyMatrices(const Contraction &contraction,
                               mlir::ValueRange left, mlir::ValueRange right,
                               mlir::ValueRange sums);

  /// Publishes what all threads of the block have written so far and counts the
  /// block at `place` of `counters`. Whether it is the last of `count` blocks:
  /// then it can read what the others have published, and the counter is zero
  /// again. All threads have to take part.
  mlir::Value arrive(mlir::Value counters, mlir::Value place, int64_t count);

  /// `body` where `condition` holds; no branch if that is known.
  void createIf(mlir::Value condition, llvm::function_ref<void()> body);

  /// Tells LLVM and ptxas not to unroll `loop`.
  static void keepRolled(mlir::scf::ForOp loop);
  /// Tells LLVM to put `count` iterations of `loop` into one.
  static void unroll(mlir::scf::ForOp loop, int64_t count);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  ThreadLayout layout;
  /// The thread in its block, the lane in its warp, and the first row of the
  /// warp's share of a tile.
  mlir::Value thread, lane, warpRow;
  /// Which of the warps that share its rows a thread belongs to, and where
  /// these tell each other numbers of rows, in one half or the other; null if
  /// there is one.
  mlir::Value sharer, scratch;
  /// What threads may still read: halves of `scratch`, and tiles.
  struct Reads {
    std::array<bool, 2> scratch = {};
    llvm::SmallPtrSet<const SharedTile *, 4> tiles;

    void add(const Reads &others) {
      for (auto [isRead, isOther] : llvm::zip_equal(scratch, others.scratch))
        isRead |= isOther;
      tiles.insert(others.tiles.begin(), others.tiles.end());
    }
  };
  Reads reads;
  /// Why the code that was generated cannot be used; empty if it can.
  std::string problem;
};

/// What the indices of the program are in the kernel. The same index can be
/// asked for at several places, and for another iteration of a loop than the
/// one that is being generated; each time it is computed anew.
class ProgramIndices {
public:
  void set(mlir::Value index, mlir::Value value) { known[index] = value; }
  mlir::Value get(KernelBuilder &kernel, mlir::OpFoldResult index) const;

private:
  llvm::DenseMap<mlir::Value, mlir::Value> known;
};

/// A number that `index`, of the program, is always a multiple of; 0 if it is
/// always 0.
int64_t getDivisor(mlir::OpFoldResult index);

} // namespace chimera

#endif // CHIMERA_LIB_CONVERSION_KERNELBUILDER_H
