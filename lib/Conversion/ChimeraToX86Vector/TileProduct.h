//===- TileProduct.h - Contractions on the tiles of AMX ---------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which contractions tiles compute, and how their dimensions are read.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_TILEPRODUCT_H
#define CHIMERA_LIB_CONVERSION_TILEPRODUCT_H

#include "Chimera/IR/Chimera.h"

#include <optional>

namespace chimera {

/// What the dimensions of a contraction are to tiles.
struct TileDims {
  /// Columns of the results, which one factor has and the other has not.
  unsigned columns = 0;
  /// Rows, if there are any: another dimension of the results that the factor
  /// with columns does not have.
  std::optional<unsigned> rows;
  /// The reduction within a tile. Where it is cut into words, those, and the
  /// numbers of a word.
  unsigned along = 0;
  std::optional<unsigned> inWord;
  /// The operands with rows and with columns.
  unsigned lhs = 0, rhs = 1;
};

/// How `op` is read, if tiles of `factors` compute it: a product of two factors
/// of one of the types, one with the columns and one without, whose reduction
/// is known to be whole words.
std::optional<TileDims> readTileDims(MicroKernelOp op,
                                     llvm::ArrayRef<mlir::Type> factors);

/// Emits `op`, whose reduction is cut into words, for known extents. Its steps
/// ask for `prefetches`.
llvm::LogicalResult emitTileProduct(mlir::OpBuilder &builder, MicroKernelOp op,
                                    TileProductAttr implementation,
                                    llvm::ArrayRef<int64_t> extents,
                                    llvm::ArrayRef<PrefetchOp> prefetches);

} // namespace chimera

#endif // CHIMERA_LIB_CONVERSION_TILEPRODUCT_H
