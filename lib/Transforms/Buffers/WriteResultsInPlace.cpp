//===- WriteResultsInPlace.cpp - Results where the caller wants them ------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exported programs have batches of one: their results are computed without
// that dimension and returned with it. Bufferization allocates such a result in
// the one shape and copies it, in the other, to the argument that stands for
// it. Nothing needs to be copied if the buffer is the argument.
//
//===----------------------------------------------------------------------===//

#include "Buffers/ResultAttribute.h"

#include "Chimera/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace chimera {
#define GEN_PASS_DEF_WRITERESULTSINPLACEPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

/// The whole buffer that `value` shows in another shape, and the changes of
/// shape, the last one first; null if it shows something else.
static memref::AllocOp findBuffer(Value value,
                                  SmallVectorImpl<Operation *> &reshapes) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto alloc = dyn_cast<memref::AllocOp>(op))
      return alloc;
    if (!isa<memref::ExpandShapeOp, memref::CollapseShapeOp>(op))
      return {};
    reshapes.push_back(op);
    value = op->getOperand(0);
  }
  return {};
}

/// True if `memory` is used as a whole or in part, in whatever shape, before
/// `end` and not later, and not handed on. It may be freed later.
static bool isUsedBefore(Value memory, Operation *end) {
  return llvm::all_of(memory.getUsers(), [&](Operation *user) {
    if (isa<memref::DeallocOp>(user) && memory.getDefiningOp<memref::AllocOp>())
      return user->getBlock() == end->getBlock() && end->isBeforeInBlock(user);
    Operation *ancestor = end->getBlock()->findAncestorOpInBlock(*user);
    if (!ancestor || end->isBeforeInBlock(ancestor))
      return false;
    if (isa<ViewLikeOpInterface>(user))
      return llvm::all_of(user->getResults(), [&](Value result) {
        return isUsedBefore(result, end);
      });
    bool handsOn =
        user->hasTrait<OpTrait::IsTerminator>() ||
        isa<memref::ExtractAlignedPointerAsIndexOp>(user) ||
        llvm::any_of(user->getResultTypes(), llvm::IsaPred<BaseMemRefType>);
    return !handsOn;
  });
}

/// True if `reshape` can be undone before `alloc`: what it has split or merged
/// has sizes that are known there.
static bool canUndo(Operation *reshape, memref::AllocOp alloc) {
  auto collapse = dyn_cast<memref::CollapseShapeOp>(reshape);
  return !collapse || collapse.getSrcType().hasStaticShape() ||
         collapse.getSrc() == alloc;
}

/// `argument` in the shape that buffers have before `reshape`.
static Value undo(Operation *reshape, Value argument, memref::AllocOp alloc,
                  OpBuilder &builder) {
  Location loc = reshape->getLoc();
  if (auto expand = dyn_cast<memref::ExpandShapeOp>(reshape))
    return memref::CollapseShapeOp::create(builder, loc, expand.getSrcType(),
                                           argument,
                                           expand.getReassociationIndices());
  auto collapse = cast<memref::CollapseShapeOp>(reshape);
  if (!collapse.getSrcType().hasStaticShape())
    return memref::ExpandShapeOp::create(
        builder, loc, collapse.getSrcType(), argument,
        collapse.getReassociationIndices(), alloc.getMixedSizes());
  return memref::ExpandShapeOp::create(builder, loc, collapse.getSrcType(),
                                       argument,
                                       collapse.getReassociationIndices());
}

/// Makes `argument`, a result, the buffer that is copied to it.
static void writeInPlace(BlockArgument argument) {
  if (!argument.hasOneUse())
    return;
  auto copy = dyn_cast<memref::CopyOp>(*argument.user_begin());
  if (!copy || copy.getTarget() != argument ||
      copy->getBlock() != argument.getOwner() ||
      copy.getSource().getType() != argument.getType())
    return;
  SmallVector<Operation *> reshapes;
  memref::AllocOp alloc = findBuffer(copy.getSource(), reshapes);
  // Sizes that are not known are those of the result, which the caller knows.
  auto isPlain = [](Value value) {
    return cast<MemRefType>(value.getType()).getLayout().isIdentity();
  };
  if (!alloc || alloc->getBlock() != copy->getBlock() || !isPlain(alloc) ||
      !isPlain(argument) ||
      alloc.getType().getMemorySpace() !=
          cast<MemRefType>(argument.getType()).getMemorySpace() ||
      !llvm::all_of(reshapes,
                    [&](Operation *reshape) {
                      return isPlain(reshape->getResult(0)) &&
                             canUndo(reshape, alloc);
                    }) ||
      !isUsedBefore(alloc, copy))
    return;
  OpBuilder builder(alloc);
  Value buffer = argument;
  for (Operation *reshape : reshapes)
    buffer = undo(reshape, buffer, alloc, builder);
  copy.erase();
  for (Operation *reshape : reshapes)
    if (reshape->use_empty())
      reshape->erase();
  for (Operation *user : llvm::make_early_inc_range(alloc->getUsers()))
    if (isa<memref::DeallocOp>(user))
      user->erase();
  alloc.replaceAllUsesWith(buffer);
  alloc.erase();
}

namespace {
struct WriteResultsInPlacePass
    : chimera::impl::WriteResultsInPlacePassBase<WriteResultsInPlacePass> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    for (unsigned index = 0; index < function.getNumArguments(); ++index)
      if (function.removeArgAttr(index, kResultAttrName) &&
          !function.isExternal())
        writeInPlace(function.getArgument(index));
  }
};
} // namespace
