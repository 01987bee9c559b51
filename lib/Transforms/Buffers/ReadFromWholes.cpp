//===- ReadFromWholes.cpp - Read parts where they were computed -----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An image that is computed in the middle of a padded one has two names: what
// its maker returns, and a slice of the tensor that was inserted into. Whoever
// reads the former later on, through slices in a loop, looks to bufferization
// as if the insertion had overwritten what is read: the image would be computed
// elsewhere and copied. Canonicalization makes the former of the latter, so
// this comes after it.
//
//===----------------------------------------------------------------------===//

#include "Buffers/Updates.h"

#include "Chimera/Transforms/Passes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/MapVector.h"

namespace chimera {
#define GEN_PASS_DEF_READFROMWHOLESPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

/// True if what `insert` inserts was computed in the place it goes to.
static bool isMadeInPlace(tensor::InsertSliceOp insert) {
  Value value = insert.getSource();
  while (auto result = dyn_cast<OpResult>(value)) {
    if (auto place = dyn_cast<tensor::ExtractSliceOp>(result.getOwner()))
      return place.getSource() == insert.getDest() &&
             place.getType() == insert.getSourceType() &&
             cast<OffsetSizeAndStrideOpInterface>(*place).isSameAs(
                 cast<OffsetSizeAndStrideOpInterface>(*insert),
                 isEqualConstantIntOrValue);
    OpOperand *updated = getUpdated(result);
    if (!updated)
      return false;
    value = updated->get();
  }
  return false;
}

/// The last of the insertions into the result of `insert`, and into theirs,
/// that come before `reader`.
static tensor::InsertSliceOp findLast(tensor::InsertSliceOp insert,
                                      Operation *reader) {
  for (Operation *user : insert->getUsers()) {
    auto next = dyn_cast<tensor::InsertSliceOp>(user);
    if (next && next.getDest() == insert.getResult() &&
        next->getBlock() == insert->getBlock() && next->isBeforeInBlock(reader))
      return findLast(next, reader);
  }
  return insert;
}

/// Lets whoever reads what `insert` inserts after it read it from the whole.
static void redirectReaders(tensor::InsertSliceOp insert) {
  if (!isMadeInPlace(insert))
    return;
  llvm::MapVector<Operation *, SmallVector<OpOperand *>> readers;
  for (OpOperand &use : insert.getSource().getUses()) {
    Operation *reader =
        insert->getBlock()->findAncestorOpInBlock(*use.getOwner());
    if (reader && insert->isBeforeInBlock(reader))
      readers[findLast(insert, reader)].push_back(&use);
  }
  for (auto &[last, uses] : readers) {
    OpBuilder builder(insert.getContext());
    builder.setInsertionPointAfter(last);
    Value part = tensor::ExtractSliceOp::create(
        builder, insert.getLoc(), insert.getSourceType(), last->getResult(0),
        insert.getMixedOffsets(), insert.getMixedSizes(),
        insert.getMixedStrides());
    for (OpOperand *use : uses)
      use->set(part);
  }
}

namespace {
struct ReadFromWholesPass
    : chimera::impl::ReadFromWholesPassBase<ReadFromWholesPass> {
  using Base::Base;

  void runOnOperation() override { getOperation()->walk(redirectReaders); }
};
} // namespace
