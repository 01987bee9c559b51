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
// 16x16 elements, or 16x32 bytes, whose depth is then 32; the first letter says
// how elements lie in a fractal (z by rows, n by columns), the second how
// fractals lie in the tile (Z by rows, N by columns).
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
constexpr int64_t zN(int64_t i, int64_t j, int64_t rows, int64_t depth = 16) {
  return j / depth * rows * depth + i * depth + j % depth;
}

/// [m1][k1][16][16]: the left operand in L0A.
constexpr int64_t zZ(int64_t i, int64_t j, int64_t columns,
                     int64_t depth = 16) {
  return (i / 16 * ceilDiv(columns, depth) + j / depth) * 16 * depth +
         i % 16 * depth + j % depth;
}

/// [k1][n1][n2][k2]: the right operand in L0B; i counts along k, j along n.
constexpr int64_t nZ(int64_t i, int64_t j, int64_t columns,
                     int64_t depth = 16) {
  return (i / depth * ceilDiv(columns, 16) + j / 16) * 16 * depth +
         j % 16 * depth + i % depth;
}

/// Elements of a tile whose last fractals are complete.
constexpr int64_t tileSize(int64_t rows, int64_t columns, int64_t depth = 16) {
  return roundUp(rows, 16) * roundUp(columns, depth);
}

} // namespace layout
} // namespace chimera_npu

#endif // CHIMERA_NPU_LAYOUTS_H
