//===- RowTilingAttribute.cpp - What a tiling of rows may say -------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiles are verified against the shape of the operation that has them. Whether
// it is one that gets loops is known to the pass that makes them.
//
//===----------------------------------------------------------------------===//

#include "Chimera/IR/Chimera.h"
#include "Chimera/Model/RowTiling.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace chimera;

LogicalResult
RowTilingAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                      ArrayRef<int64_t> tiles, bool parallel) {
  for (auto [row, tile] : llvm::enumerate(tiles))
    if (tile < 1)
      return emitError() << "tile " << row << " must be positive, got " << tile;
  if (parallel && tiles.empty())
    return emitError() << "without tiles there is nothing to run in parallel";
  return success();
}

LogicalResult RowTilingAttr::verifyOn(Operation *op) const {
  StringRef name = ChimeraDialect::getRowTilingAttrName();
  unsigned numResults = isa<linalg::LinalgOp>(op) ? op->getNumResults() : 0;
  RankedTensorType type;
  if (numResults > 0)
    type = dyn_cast<RankedTensorType>(op->getResult(numResults - 1).getType());
  if (!type)
    return op->emitError("'")
           << name << "' belongs on an operation of linalg on tensors";
  ArrayRef<int64_t> tiles = getTiles();
  size_t rank = type.getRank();
  if (tiles.size() > rank)
    return op->emitError("'") << name << "' has " << tiles.size()
                              << " tiles, but the last result has only " << rank
                              << " dimension(s)";
  ArrayRef<int64_t> extents = type.getShape().take_front(tiles.size());
  // Dynamic shapes get no loops at all.
  if (ShapedType::isDynamicShape(extents))
    return success();
  for (auto [row, tile] : llvm::enumerate(tiles))
    if (tile > extents[row])
      return op->emitError("'")
             << name << "' has a tile of " << tile << " for dimension " << row
             << ", which has " << extents[row] << " element(s)";
  if (getParallel() && model::countTasks(extents, tiles) == 1)
    return op->emitError("'")
           << name << "' is parallel, but its tiles make one task; make them "
           << "smaller, or drop 'parallel'";
  return success();
}
