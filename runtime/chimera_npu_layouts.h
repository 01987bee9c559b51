//===- chimera_npu_layouts.h - Tiles of an AI core --------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the element in row i and column j of a matrix lies, counted in elements
// from the start of the tile. Except for ND, matrices are made of fractals of
// 16x16 elements; the first letter says how elements lie in a fractal (z by
// rows, n by columns), the second how fractals lie in the tile (Z by rows, N by
// columns).
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_NPU_LAYOUTS_H
#define CHIMERA_NPU_LAYOUTS_H

#include <cstdint>

namespace chimera_npu {
namespace layout {

constexpr int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t roundUp(int64_t a, int64_t b) { return ceilDiv(a, b) * b; }

/// Row by row, as in global memory.
constexpr int64_t nd(int64_t i, int64_t j, int64_t columns) {
  return i * columns + j;
}

/// [n1][rows][16]: both operands in L1, and, under the name NZ, results in L0C
/// and from there in UB. It consists of whole fractals if `rows` is a multiple
/// of 16.
constexpr int64_t zN(int64_t i, int64_t j, int64_t rows) {
  return j / 16 * rows * 16 + i * 16 + j % 16;
}

/// [m1][k1][16][16]: the left operand in L0A.
constexpr int64_t zZ(int64_t i, int64_t j, int64_t columns) {
  return (i / 16 * ceilDiv(columns, 16) + j / 16) * 256 + i % 16 * 16 + j % 16;
}

/// [k1][n1][n2][k2]: the right operand in L0B; i counts along k, j along n.
constexpr int64_t nZ(int64_t i, int64_t j, int64_t columns) {
  return (i / 16 * ceilDiv(columns, 16) + j / 16) * 256 + j % 16 * 16 + i % 16;
}

/// Elements of a tile whose last fractals are complete.
constexpr int64_t tileSize(int64_t rows, int64_t columns) {
  return roundUp(rows, 16) * roundUp(columns, 16);
}

} // namespace layout
} // namespace chimera_npu

#endif // CHIMERA_NPU_LAYOUTS_H
