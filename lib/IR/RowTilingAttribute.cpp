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

static LogicalResult
verifyLate(llvm::function_ref<InFlightDiagnostic()> emitError,
           ArrayRef<int64_t> late) {
  if (late.size() % 2 != 0)
    return emitError() << "late takes pairs of members";
  llvm::SmallDenseSet<int64_t> storing;
  for (size_t i = 0; i < late.size(); i += 2) {
    int64_t maker = late[i], storer = late[i + 1];
    if (maker < 0 || storer <= maker)
      return emitError() << "member " << storer << " cannot store what member "
                         << maker << " makes: it does not come behind it";
    if (!storing.insert(storer).second)
      return emitError() << "member " << storer
                         << " can store the results of one other only";
  }
  return success();
}

static LogicalResult
verifyRowwise(llvm::function_ref<InFlightDiagnostic()> emitError,
              ArrayRef<int64_t> rowwise) {
  if (rowwise.size() % 2 != 0)
    return emitError() << "rowwise takes pairs of a member and its rows";
  for (size_t i = 0; i < rowwise.size(); i += 2) {
    if (rowwise[i] < 0 || (i > 0 && rowwise[i] <= rowwise[i - 2]))
      return emitError() << "members of rowwise must ascend from 0, got "
                         << rowwise[i];
    if (rowwise[i + 1] < 2)
      return emitError() << "member " << rowwise[i]
                         << " must read at least 2 rows at once, got "
                         << rowwise[i + 1];
  }
  return success();
}

LogicalResult
RowTilingAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                      ArrayRef<int64_t> tiles, ArrayRef<int64_t> dims,
                      bool parallel, ArrayRef<int64_t> streamed,
                      ArrayRef<int64_t> late, ArrayRef<int64_t> ahead,
                      ArrayRef<int64_t> rowwise) {
  for (auto [row, tile] : llvm::enumerate(tiles))
    if (tile < 1)
      return emitError() << "tile " << row << " must be positive, got " << tile;
  if (parallel && tiles.empty())
    return emitError() << "without tiles there is nothing to run in parallel";
  if (!dims.empty() && dims.size() != tiles.size())
    return emitError() << "there are " << dims.size() << " dims, but "
                       << tiles.size() << " tiles";
  for (auto [name, list] : {std::pair(StringRef("dims"), dims),
                            {"streamed", streamed},
                            {"ahead", ahead}}) {
    if (!list.empty() && list.front() < 0)
      return emitError() << name << " must not be negative, got "
                         << list.front();
    for (size_t i = 1; i < list.size(); ++i)
      if (list[i] <= list[i - 1])
        return emitError() << name << " must ascend, but " << list[i]
                           << " follows " << list[i - 1];
  }
  if (failed(verifyLate(emitError, late)))
    return failure();
  return verifyRowwise(emitError, rowwise);
}

SmallVector<unsigned> RowTilingAttr::getLoopDims() const {
  if (!getDims().empty())
    return llvm::to_vector_of<unsigned>(getDims());
  return llvm::to_vector(llvm::seq<unsigned>(0, getTiles().size()));
}

static SmallVector<std::pair<int64_t, int64_t>>
toPairs(ArrayRef<int64_t> numbers) {
  SmallVector<std::pair<int64_t, int64_t>> pairs;
  for (size_t i = 0; i < numbers.size(); i += 2)
    pairs.emplace_back(numbers[i], numbers[i + 1]);
  return pairs;
}

SmallVector<std::pair<int64_t, int64_t>> RowTilingAttr::getLatePairs() const {
  return toPairs(getLate());
}

SmallVector<std::pair<int64_t, int64_t>>
RowTilingAttr::getRowwisePairs() const {
  return toPairs(getRowwise());
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
  SmallVector<int64_t> extents;
  SmallVector<unsigned> dims = getLoopDims();
  for (unsigned dim : dims) {
    if (dim >= rank)
      return op->emitError("'") << name << "' lists dimension " << dim
                                << ", but the last result has only " << rank;
    extents.push_back(type.getDimSize(dim));
  }
  // Dynamic shapes get no loops at all.
  if (ShapedType::isDynamicShape(extents))
    return success();
  for (auto [row, tile] : llvm::enumerate(tiles))
    if (tile > extents[row])
      return op->emitError("'")
             << name << "' has a tile of " << tile << " for dimension "
             << dims[row] << ", which has " << extents[row] << " element(s)";
  if (getParallel() && model::countTasks(extents, tiles) == 1)
    return op->emitError("'")
           << name << "' is parallel, but its tiles make one task; make them "
           << "smaller, or drop 'parallel'";
  return success();
}
