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
// (Matrix Fragments for mma.m16n8k16 with floating point type, for mma.m16n8k8
// with .tf32; ldmatrix). These functions say it once, for the code that is
// generated and for its tests.
//
// Sums have 32 bits. Elements of factors have 16, or 32 in words: numbers of
// tf32 are stored as f32.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_FRAGMENTMAPS_H
#define CHIMERA_LIB_CONVERSION_FRAGMENTMAPS_H

#include <cstdint>

namespace chimera {

/// Threads of a warp.
inline constexpr int64_t warpSize = 32;
/// The sums of one mma.sync.
inline constexpr int64_t mmaRows = 16, mmaColumns = 8;
/// Elements, of so many bytes, of a chunk: the 16 bytes that a row of an
/// ldmatrix matrix is.
constexpr int64_t getChunkElements(int64_t bytes) { return 16 / bytes; }
/// What one mma.sync adds up over: two chunks of each factor.
constexpr int64_t getMmaDepth(int64_t bytes) {
  return 2 * getChunkElements(bytes);
}
/// Chunks of shared memory that can be accessed at the same time: it has 32
/// banks of 4 bytes.
inline constexpr int64_t bankGroups = 8;
/// Rows with the same remainder by this have the same key of a swizzle and the
/// same place among slots.
inline constexpr int64_t rowsOfKeys = 8;

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

/// The same of words, of which a lane holds four of the left operand and two of
/// the right one.
MatrixPosition getLhsWordPosition(int64_t lane, int64_t element);
MatrixPosition getRhsWordPosition(int64_t lane, int64_t element);

/// Sums become a left operand of words without moving, since a product can add
/// up in any order: slot s of the eight that it adds up over takes column
/// `getSlotColumn(s)` of the sums, and so this row of the right operand.
int64_t getSlotColumn(int64_t slot);
/// The slot of a column: the inverse.
int64_t getColumnSlot(int64_t column);

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

/// How a tile lies in shared memory, which is how it is read without conflicts
/// of banks: by ldmatrix, a chunk of each of eight rows at a time; or by words,
/// two chunks of each of four rows. There is no transposing ldmatrix for words.
/// By slots, the rows of each eight are in the order of their slots: those that
/// are read together follow each other.
enum class TileLayout { Matrices, Words, Slots };

/// How the chunks of a row in shared memory are permuted, so that what is read
/// of neighbouring rows at a time, `width` chunks of 8 / `width` rows, the
/// first a multiple of so many, lies in different banks: chunk c of row r is
/// where chunk c ^ key(r) would be. Needs no padding, whatever the number of
/// chunks in a row, if it is a multiple of `width`.
struct Swizzle {
  Swizzle(int64_t chunksPerRow, int64_t width);

  int64_t key(int64_t row) const { return ((row >> shift) & mask) * width; }
  int64_t apply(int64_t row, int64_t chunk) const { return chunk ^ key(row); }

  int64_t width, shift, mask;
};

} // namespace chimera

#endif // CHIMERA_LIB_CONVERSION_FRAGMENTMAPS_H
