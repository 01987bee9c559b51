//===- FragmentMaps.h - Who holds which element of a matrix -----*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The instructions of tensor cores work on matrices that are spread over the
// registers of a warp. Which thread holds which element is fixed by the PTX ISA
// (Matrix Fragments for mma.m16n8k16 with floating point type; ldmatrix). These
// functions say it once, for the code that is generated and for its tests.
//
// Elements have 16 bits, sums 32.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_FRAGMENTMAPS_H
#define CHIMERA_LIB_CONVERSION_FRAGMENTMAPS_H

#include <cstdint>

namespace chimera {

/// Threads of a warp.
inline constexpr int64_t warpSize = 32;
/// What one mma.sync multiplies: 16 x 16 by 16 x 8.
inline constexpr int64_t mmaRows = 16, mmaColumns = 8, mmaDepth = 16;
/// Elements of a chunk, the 16 bytes that a row of an ldmatrix matrix is.
inline constexpr int64_t chunkElements = 8;
/// Chunks of shared memory that can be accessed at the same time: it has 32
/// banks of 4 bytes.
inline constexpr int64_t bankGroups = 8;

struct MatrixPosition {
  int64_t row, column;
  bool operator==(const MatrixPosition &other) const {
    return row == other.row && column == other.column;
  }
};

/// Where element `element` (of 4) that `lane` holds of the sums is.
MatrixPosition getSumPosition(int64_t lane, int64_t element);

/// Where element `element` (of 8) that `lane` holds of the left operand is.
MatrixPosition getLhsPosition(int64_t lane, int64_t element);

/// Where element `element` (of 4) that `lane` holds of the right operand is;
/// the row is the one that the product adds up over.
MatrixPosition getRhsPosition(int64_t lane, int64_t element);

/// Where in an 8 x 8 matrix element `element` (of 2) is that
/// ldmatrix gives `lane`.
MatrixPosition getLoadedPosition(int64_t lane, int64_t element,
                                 bool isTransposed);

/// The four matrices of one ldmatrix.x4 lie in a square of 16 rows and two
/// chunks. By rows: the second is below the first and the third beside it; by
/// chunks: the second is beside the first and the third below.
enum class MatrixOrder { ByRows, ByChunks };

/// Row and chunk within the square whose address `lane` passes to ldmatrix.x4.
struct ChunkPosition {
  int64_t row, chunk;
};
ChunkPosition getLdmatrixAddress(int64_t lane, MatrixOrder order);

/// How the chunks of a row in shared memory are permuted, so that the same
/// chunk of 8 neighbouring rows, the first a multiple of 8, lies in different
/// banks: chunk c of row r is where chunk c ^ key(r) would be. Needs no
/// padding, whatever the number of chunks in a row.
struct Swizzle {
  explicit Swizzle(int64_t chunksPerRow);

  int64_t key(int64_t row) const { return (row >> shift) & mask; }
  int64_t apply(int64_t row, int64_t chunk) const { return chunk ^ key(row); }

  int64_t shift, mask;
};

} // namespace chimera

#endif // CHIMERA_LIB_CONVERSION_FRAGMENTMAPS_H
