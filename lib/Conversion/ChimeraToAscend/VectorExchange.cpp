//===- VectorExchange.cpp - Vector units in cores of their own ------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Vector cores share the rows of a tile, whose sums come to them through main
// memory, and hand what they make of them to memory or back to the cube core.
//
//===----------------------------------------------------------------------===//

#include "VectorCode.h"

using namespace mlir;
using namespace chimera;
using namespace chimera::ascend;

/// The rows that instructions work on where a core has `count`.
Value VectorCode::padShare(Value count) {
  return code.mul(code.ceilDiv(count, model::vectorCoreRows),
                  model::vectorCoreRows);
}

/// Where several cores share the rows of a tile, leaves this one's of `all`.
void VectorCode::takeShare(Value all) {
  if (!lowering.isMixed)
    return;
  std::tie(firstRow, numRows) = lowering.shareRows(all);
  rows = padShare(numRows);
  maxRows = lowering.rowsInUb(maxRows);
}

/// Leaves of `matrix` the rows that this core has.
void VectorCode::shareRows(Matrix &matrix) {
  if (!numRows)
    return;
  OpFoldResult &first = matrix.tile.offsets[matrix.rowDim];
  first = getAsOpFoldResult(code.add(code.number(first), firstRow));
  matrix.tile.sizes[matrix.rowDim] = getAsOpFoldResult(numRows);
}

/// Brings column group `column` of sums that another core has put into memory,
/// the rows that this core has.
VectorCode::Operand VectorCode::takeOver(const Access &access, Value column,
                                         Value slot) {
  Value to = lowering.bringRows(*access.exchange, access.matrix, *access.place,
                                slot, column, firstRow, numRows);
  inUse.push_back({*access.place, slot});
  return widenSums({Shape::Group, to});
}

/// Lets sums come from the core with the cube unit, and waits for room for what
/// goes back there.
void VectorCode::openExchanges() {
  for (Access &access : accesses) {
    if (access.kind == Access::Kind::Sums && numRows)
      access.exchange = lowering.handOver(access.matrix, kernel);
    else if (access.exchange)
      waitFree(code, *access.exchange);
  }
}

void VectorCode::closeExchanges() {
  for (const Access &access : accesses) {
    if (!access.exchange)
      continue;
    if (access.kind == Access::Kind::Sums)
      setFree(code, *access.exchange);
    else
      lowering.takeBack(*access.exchange, access.matrix);
  }
}

/// True if a tile may be so small that the first core has all of its rows.
bool VectorCode::mayHaveNoRows() {
  if (!numRows)
    return false;
  return !rowLoop ||
         llvm::any_of(kernel.getExtentsOf(*rowLoop), [](int64_t extent) {
           return extent <= model::rowsOfVectorCore(extent);
         });
}
