//===- FragmentMaps.cpp - Who holds which element of a matrix -------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FragmentMaps.h"

#include "llvm/ADT/bit.h"

#include <algorithm>

using namespace chimera;

/// The group of four threads and the place in it.
static int64_t group(int64_t lane) { return lane / 4; }
static int64_t place(int64_t lane) { return lane % 4; }

MatrixPosition chimera::getSumPosition(int64_t lane, int64_t element) {
  return {group(lane) + 8 * (element / 2), 2 * place(lane) + element % 2};
}

MatrixPosition chimera::getLhsPosition(int64_t lane, int64_t element) {
  return {group(lane) + 8 * (element / 2 % 2),
          2 * place(lane) + element % 2 + 8 * (element / 4)};
}

MatrixPosition chimera::getRhsPosition(int64_t lane, int64_t element) {
  return {2 * place(lane) + element % 2 + 8 * (element / 2), group(lane)};
}

MatrixPosition chimera::getLhsWordPosition(int64_t lane, int64_t element) {
  return {group(lane) + 8 * (element % 2), place(lane) + 4 * (element / 2)};
}

MatrixPosition chimera::getRhsWordPosition(int64_t lane, int64_t element) {
  return {place(lane) + 4 * element, group(lane)};
}

int64_t chimera::getSlotColumn(int64_t slot) {
  return 2 * (slot % 4) + slot / 4;
}

int64_t chimera::getColumnSlot(int64_t column) {
  return column / 2 + 4 * (column % 2);
}

MatrixPosition chimera::getLoadedPosition(int64_t lane, int64_t element,
                                          bool isTransposed) {
  MatrixPosition position = {group(lane), 2 * place(lane) + element};
  if (isTransposed)
    std::swap(position.row, position.column);
  return position;
}

ChunkPosition chimera::getLdmatrixAddress(int64_t lane, MatrixOrder order) {
  int64_t second = lane / 8 % 2, third = lane / 16;
  if (order == MatrixOrder::ByChunks)
    std::swap(second, third);
  return {lane % 8 + 8 * second, third};
}

/// In units of what is read of a row: rows whose distance is a multiple of 2^e
/// units, e as large as can be, take turns in the first unit of each group of
/// 2^e; of 2^n rows that are read, 2^(n-e) in a row do not meet. So the row's
/// upper bits choose the place in the group.
Swizzle::Swizzle(int64_t chunksPerRow, int64_t width) : width(width) {
  int64_t n = llvm::countr_zero(static_cast<uint64_t>(bankGroups / width));
  int64_t units = chunksPerRow / width;
  int64_t e =
      std::min<int64_t>(n, llvm::countr_zero(static_cast<uint64_t>(units)));
  shift = n - e;
  mask = (int64_t(1) << e) - 1;
}
