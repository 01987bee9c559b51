//===- Parts.cpp - Parts of tensors by process ----------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/IR/Parts.h"

using namespace mlir;
using namespace chimera;

SmallVector<int64_t> chimera::getPartSizes(PartAttr part) {
  SmallVector<int64_t> sizes;
  for (auto [dim, extent] : llvm::enumerate(part.getShape()))
    sizes.push_back(extent / part.getCount(dim));
  return sizes;
}

/// Where `process` stands on a grid, whose last axis is the fastest.
static SmallVector<int64_t> getPosition(ArrayRef<int64_t> grid,
                                        int64_t process) {
  SmallVector<int64_t> position(grid.size());
  for (size_t axis = grid.size(); axis-- > 0; process /= grid[axis])
    position[axis] = process % grid[axis];
  return position;
}

SmallVector<int64_t> chimera::getPartOffsets(PartAttr part, int64_t process) {
  SmallVector<int64_t> position = getPosition(part.getGrid(), process);
  SmallVector<int64_t> offsets;
  for (auto [dim, size] : llvm::enumerate(getPartSizes(part))) {
    int64_t index = 0;
    for (int64_t axis : part.getAxes()[dim].asArrayRef())
      index = index * part.getGrid()[axis] + position[axis];
    offsets.push_back(index * size);
  }
  return offsets;
}
