//===- SharedMemory.h - Tiles in shared memory ------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies tiles of tensors from global to shared memory, asynchronously, and
// gives warps the matrices of their multiplications from there.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_SHAREDMEMORY_H
#define CHIMERA_LIB_CONVERSION_SHAREDMEMORY_H

#include "../Support/ImageWindows.h"
#include "KernelBuilder.h"

namespace chimera {

/// A part of a tensor in global memory.
struct GlobalTile {
  mlir::TypedValue<mlir::MemRefType> memref;
  llvm::SmallVector<mlir::Value> offsets, sizes;
  /// The last offset is a multiple of this.
  int64_t divisor = 0;
  /// The windows that the dimensions are those of, if it is a part of an image
  /// that is read through some.
  std::optional<ImageWindows> windows;

  unsigned rank() const { return offsets.size(); }
  /// The most elements, a power of two up to `limit`, that can be accessed at
  /// once wherever a multiple of so many in the tile's rows starts.
  int64_t alignedElements(int64_t limit) const;

  /// An element: its indices and, if it may lie in padding, whether it does
  /// not.
  struct Element {
    llvm::SmallVector<mlir::Value> indices;
    mlir::Value exists;
  };
  /// The one `row` along dimension `rowDim` and `column` along the last one
  /// from where the tile starts.
  Element at(KernelBuilder &kernel, unsigned rowDim, mlir::Value row,
             mlir::Value column) const;
};

class SharedMemory {
public:
  SharedMemory(KernelBuilder &kernel, Program &program)
      : kernel(kernel), program(program) {}

  /// Generates the tiles' places.
  void create();

  /// Copies `from` into place number `stage` of `tile`. What is not there
  /// becomes zero. The copy is part of the group that `commit` ends.
  void fill(const SharedTile &tile, mlir::Value stage, const GlobalTile &from);
  void commit();
  /// Waits for all groups but the last `groups`, then for all threads.
  void await(int64_t groups);

  /// All memory as words of f32.
  mlir::Value viewAsWords();

  /// The place that matrices are read from.
  void use(const SharedTile &tile, mlir::Value stage) {
    places[&tile].stage = stage;
  }
  /// `count` matrices, four or the first two, of the square of 16 rows and two
  /// chunks that starts at `row` and `chunk`, which is even: the operand of an
  /// mma.sync, or two right ones.
  mlir::Value load(const SharedTile &tile, mlir::Value row, mlir::Value chunk,
                   MatrixOrder order, bool isTransposed, int64_t count);
  /// `count` neighbours, one or two, of a tile of words: in the square of eight
  /// rows and columns that starts at `row` and `column`, from `rowWithin` and
  /// `columnWithin` on.
  mlir::Value loadWords(const SharedTile &tile, mlir::Value row,
                        mlir::Value column, mlir::Value rowWithin,
                        mlir::Value columnWithin, int64_t count);

private:
  struct Place {
    mlir::TypedValue<mlir::MemRefType> memref;
    mlir::Value stage;
  };
  /// How a tile is filled.
  struct CopyPlan {
    CopyPlan(const SharedTile &tile, mlir::Value stage, const GlobalTile &from,
             int64_t allThreads);

    const SharedTile &tile;
    mlir::Value stage;
    const GlobalTile &from;
    /// Elements of a unit, which a thread copies at once.
    int64_t width;
    /// Those that take part, and whether each round has whole rows.
    int64_t threads;
    bool hasWholeRows = false;

    int64_t unitsPerRow() const { return tile.columns / width; }
    int64_t units() const { return tile.rows * unitsPerRow(); }
  };
  void copyInLoop(const CopyPlan &plan, int64_t rounds, int64_t step);
  void copyRound(const CopyPlan &plan, mlir::Value base, int64_t round);
  void copyUnit(const CopyPlan &plan, mlir::Value row, mlir::Value down,
                mlir::Value column);
  mlir::Value countValid(const SharedTile &tile, const GlobalTile &from,
                         mlir::Value row, mlir::Value column, int64_t width,
                         mlir::Value exists);
  void copyElement(mlir::Value valid, const GlobalTile &from,
                   mlir::ValueRange source, mlir::Value to,
                   mlir::ValueRange destination);
  mlir::Value placeRow(const SharedTile &tile, mlir::Value row);
  mlir::Value getKey(const SharedTile &tile, mlir::Value row);
  mlir::Value swizzle(const SharedTile &tile, mlir::Value row,
                      mlir::Value chunk);

  mlir::Value viewRest(int64_t offset, int64_t bytes);

  KernelBuilder &kernel;
  Program &program;
  llvm::DenseMap<const SharedTile *, Place> places;
  mlir::Value whole;
};

} // namespace chimera

#endif // CHIMERA_LIB_CONVERSION_SHAREDMEMORY_H
