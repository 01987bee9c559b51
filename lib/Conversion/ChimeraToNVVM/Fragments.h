//===- Fragments.h - Tiles in registers -------------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile that a block computes is spread over the registers of the threads as
// mma.sync leaves its sums: for each 16 rows and 8 columns, a vector of two by
// two elements per thread. Elementwise operations work on these vectors, each
// element knowing its row and column. Narrowed, those of two neighbours are the
// left operand of the next multiplication; rounded to tf32, each is one.
// Numbers of rows are held by all four threads that have elements of a row.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_FRAGMENTS_H
#define CHIMERA_LIB_CONVERSION_FRAGMENTS_H

#include "SharedMemory.h"

namespace chimera {

/// The threads' parts of a tile. Parts that nothing was written to are null.
struct Fragment {
  mlir::Type elementType;
  int64_t rowTiles = 0, columnTiles = 0;
  llvm::SmallVector<mlir::Value> parts;
  /// True if there is one number for each row.
  bool isRows = false;
  /// True if warps that share rows have a part of the columns each.
  bool isShared = false;

  Fragment() = default;
  Fragment(mlir::Type elementType, int64_t rowTiles, int64_t columnTiles)
      : elementType(elementType), rowTiles(rowTiles), columnTiles(columnTiles),
        parts(rowTiles * columnTiles) {}
  static Fragment ofRows(mlir::Type elementType, int64_t rowTiles) {
    Fragment fragment(elementType, rowTiles, /*columnTiles=*/1);
    fragment.isRows = true;
    return fragment;
  }
  mlir::Value &at(int64_t row, int64_t column) {
    return parts[row * columnTiles + column];
  }
  mlir::VectorType partType() const {
    return isRows ? mlir::VectorType::get({2}, elementType)
                  : mlir::VectorType::get({2, 2}, elementType);
  }
  int64_t registers() const;
};

class FragmentBuilder {
public:
  FragmentBuilder(KernelBuilder &kernel, SharedMemory &shared)
      : kernel(kernel), shared(shared) {}

  /// Gives parts that nothing was written to a value.
  void complete(Fragment &fragment);

  /// Adds the product of two tiles in shared memory to `sums`.
  void multiply(Fragment &sums, const SharedTile &lhs, const SharedTile &rhs,
                const Contraction &contraction);
  /// Adds the product of `lhs` and `rhs` to `sums`. Columns of `lhs` from
  /// `depth` on do not exist.
  void multiply(Fragment &sums, Fragment &lhs, const SharedTile &rhs,
                const Contraction &contraction, mlir::Value depth);

  /// Adds to the `sums` of the first of the warps that share rows those of the
  /// others, in the first `bytes` of shared memory, to which no copy may be on
  /// its way. Fails if they do not fit.
  llvm::LogicalResult addSharers(Fragment &sums, int64_t bytes);

  void store(Fragment &fragment, const GlobalTile &to);
  /// The same for numbers of rows.
  void storeRows(Fragment &fragment, const GlobalTile &to);

private:
  /// Registers that a thread gives to an mma.sync for one operand.
  using Operand = llvm::SmallVector<mlir::Value, 4>;
  using Operands = llvm::SmallVector<Operand, 4>;

  Operands loadLhs(const Contraction &contraction, mlir::Value step,
                   const SharedTile &tile);
  Operand loadLhsWords(const SharedTile &tile, mlir::Value row,
                       mlir::Value column);
  Operands takeLhs(const Contraction &contraction, Fragment &lhs, int64_t step,
                   mlir::Value depth);
  mlir::Value maskColumns(Fragment &fragment, int64_t row, int64_t column,
                          mlir::Value limit);
  mlir::Value startOf(int64_t sharers, int64_t size);
  mlir::Value firstColumn(const Contraction &contraction, int64_t column);
  mlir::Value alongReduction(const Contraction &contraction, mlir::Value step);
  Operands loadRhs(const Contraction &contraction, mlir::Value step,
                   const SharedTile &tile, int64_t column, int64_t count);
  Operand loadRhsWords(const Contraction &contraction, mlir::Value step,
                       const SharedTile &tile, int64_t column);

  mlir::Value getWord(mlir::Value vector);
  Operand getRegisters(mlir::Value part);
  Operand joinBytes(mlir::Value first, mlir::Value second);
  Operand getSums(mlir::Value part);
  mlir::Value multiplyAdd(const Contraction &contraction,
                          llvm::ArrayRef<mlir::Value> left,
                          llvm::ArrayRef<mlir::Value> right, mlir::Value sum);
  void multiplyStep(Fragment &sums, const Contraction &contraction,
                    mlir::Value step, llvm::ArrayRef<Operand> lhs,
                    const SharedTile &rhs);

  mlir::Value gatherColumns(Fragment &fragment, int64_t rowTile, int64_t column,
                            int64_t span, int64_t half);
  int64_t chooseSpan(const GlobalTile &to, int64_t column, int64_t count) const;
  void storeColumns(mlir::Value columns, const GlobalTile &to, mlir::Value row,
                    int64_t column, int64_t span);
  void storePair(mlir::Value part, int64_t half, const GlobalTile &to,
                 mlir::Value row, int64_t columnTile);
  void storeElement(mlir::Value element, const GlobalTile &to, mlir::Value row,
                    mlir::Value column);

  KernelBuilder &kernel;
  SharedMemory &shared;
};

} // namespace chimera

#endif // CHIMERA_LIB_CONVERSION_FRAGMENTS_H
