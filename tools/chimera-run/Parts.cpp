//===- Parts.cpp - Parts of tensors by process ----------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Parts.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>

using namespace chimera;
using namespace chimera::run;
using namespace chimera::runner;
using llvm::ArrayRef;
using llvm::SmallVector;

/// Where `process` stands on a grid, whose last axis is the fastest.
static SmallVector<int64_t> getPosition(ArrayRef<int64_t> grid,
                                        int64_t process) {
  SmallVector<int64_t> position(grid.size());
  for (size_t axis = grid.size(); axis-- > 0; process /= grid[axis])
    position[axis] = process % grid[axis];
  return position;
}

SmallVector<int64_t> chimera::run::getPartOffsets(PartAttr part,
                                                  int64_t process) {
  SmallVector<int64_t> position = getPosition(part.getGrid(), process);
  SmallVector<int64_t> offsets;
  for (auto [dim, extent] : llvm::enumerate(part.getShape())) {
    int64_t index = 0;
    for (int64_t axis : part.getAxes()[dim].asArrayRef())
      index = index * part.getGrid()[axis] + position[axis];
    offsets.push_back(index * (extent / part.getCount(dim)));
  }
  return offsets;
}

/// Calls `copy` for each row of a part with its place in the part and in the
/// whole tensor, in elements.
static void
forEachRow(ArrayRef<int64_t> part, ArrayRef<int64_t> whole,
           ArrayRef<int64_t> offsets,
           llvm::function_ref<void(int64_t inPart, int64_t inWhole)> copy,
           int64_t inPart = 0, int64_t inWhole = 0) {
  if (part.empty())
    return copy(inPart, inWhole);
  inPart *= part.front();
  inWhole = inWhole * whole.front() + offsets.front();
  if (part.size() == 1)
    return copy(inPart, inWhole);
  for (int64_t i = 0; i < part.front(); ++i)
    forEachRow(part.drop_front(), whole.drop_front(), offsets.drop_front(),
               copy, inPart + i, inWhole + i);
}

static size_t getRowBytes(ArrayRef<int64_t> shape, int64_t elementBytes) {
  return elementBytes * (shape.empty() ? 1 : shape.back());
}

void chimera::run::takePart(const Tensor &whole, ArrayRef<int64_t> offsets,
                            Tensor &part) {
  const ValueType &type = part.getType();
  int64_t bytes = getElementBytes(type.element);
  const char *from = static_cast<const char *>(whole.data());
  char *to = static_cast<char *>(part.data());
  forEachRow(type.shape, whole.getType().shape, offsets,
             [&](int64_t inPart, int64_t inWhole) {
               std::memcpy(to + inPart * bytes, from + inWhole * bytes,
                           getRowBytes(type.shape, bytes));
             });
}

void chimera::run::putPart(const char *part, ArrayRef<int64_t> shape,
                           ArrayRef<int64_t> offsets, Tensor &whole) {
  int64_t bytes = getElementBytes(whole.getType().element);
  char *to = static_cast<char *>(whole.data());
  forEachRow(shape, whole.getType().shape, offsets,
             [&](int64_t inPart, int64_t inWhole) {
               std::memcpy(to + inWhole * bytes, part + inPart * bytes,
                           getRowBytes(shape, bytes));
             });
}
