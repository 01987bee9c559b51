//===- Combination.cpp - One result of the parts of blocks ----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Combination.h"

#include "Chimera/IR/Chimera.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace chimera;

std::optional<int64_t> chimera::getTrips(scf::ForallOp forall, unsigned loop) {
  auto lower = getConstantIntValue(forall.getMixedLowerBound()[loop]),
       upper = getConstantIntValue(forall.getMixedUpperBound()[loop]),
       step = getConstantIntValue(forall.getMixedStep()[loop]);
  if (!lower || !upper || !step)
    return std::nullopt;
  return llvm::divideCeil(*upper - *lower, *step);
}

/// True if `blocks` leave accumulators and states. A chain has one result.
static bool makesParts(scf::ForallOp blocks) {
  return blocks->getNumResults() > 1;
}

/// The one loop that reads all that `blocks` make; null if there is none.
static scf::ForallOp findReader(scf::ForallOp blocks) {
  scf::ForallOp reader;
  for (Operation *user : blocks->getUsers()) {
    auto own = user->getParentOfType<scf::ForallOp>();
    if (!own || own->getBlock() != blocks->getBlock() ||
        (reader && own != reader))
      return {};
    reader = own;
  }
  return reader;
}

bool chimera::dependsOn(Value index, Value other) {
  if (index == other)
    return true;
  Operation *def = index.getDefiningOp();
  return def && llvm::any_of(def->getOperands(), [&](Value operand) {
           return !isa<ShapedType>(operand.getType()) &&
                  dependsOn(operand, other);
         });
}

/// The loop that says which part a block makes: its place is the first index.
static std::optional<unsigned> findSplit(scf::ForallOp blocks) {
  auto inserts = blocks.getTerminator().getOps<tensor::ParallelInsertSliceOp>();
  if (inserts.empty())
    return std::nullopt;
  auto part = dyn_cast<Value>((*inserts.begin()).getMixedOffsets().front());
  for (unsigned loop = 0; part && loop < blocks.getRank(); ++loop)
    if (dependsOn(part, blocks.getInductionVar(loop)))
      return loop;
  return std::nullopt;
}

static bool isSameLoop(scf::ForallOp left, unsigned leftLoop,
                       scf::ForallOp right, unsigned rightLoop) {
  return left.getMixedLowerBound()[leftLoop] ==
             right.getMixedLowerBound()[rightLoop] &&
         left.getMixedUpperBound()[leftLoop] ==
             right.getMixedUpperBound()[rightLoop] &&
         left.getMixedStep()[leftLoop] == right.getMixedStep()[rightLoop];
}

FailureOr<Combination> Combination::find(scf::ForallOp blocks) {
  Combination combination;
  if (!makesParts(blocks))
    return combination;
  combination.forall = findReader(blocks);
  if (!combination)
    return failure();
  std::optional<unsigned> split = findSplit(blocks);
  if (!split || combination.forall.getRank() + 1 != blocks.getRank())
    return failure();
  combination.split = *split;
  for (unsigned loop = 0; loop < blocks.getRank(); ++loop) {
    std::optional<int64_t> trips = getTrips(blocks, loop);
    bool isOfParts = loop == *split;
    if (!trips || (!isOfParts && !isSameLoop(blocks, loop, combination.forall,
                                             loop - (loop > *split ? 1 : 0))))
      return failure();
    (isOfParts ? combination.numParts : combination.numTiles) *= *trips;
  }
  return combination;
}

/// The last of the blocks of a chain that read what `forall` leaves, if they
/// are in no loop over tiles.
static BlockOp findLastBlock(scf::ForallOp forall) {
  SetVector<Operation *> readers;
  ForwardSliceOptions options;
  options.filter = [](Operation *op) { return !isa<scf::ForallOp>(op); };
  for (Operation *user : forall->getUsers())
    if (Operation *own = forall->getBlock()->findAncestorOpInBlock(*user))
      getForwardSlice(own, &readers, options);
  BlockOp last;
  for (Operation *reader : readers)
    if (auto block = dyn_cast<BlockOp>(reader);
        block && block->getBlock() == forall->getBlock() &&
        (!last || last->isBeforeInBlock(block)))
      last = block;
  return last;
}

void chimera::wrapCombination(scf::ForallOp blocks) {
  BlockOp last = makesParts(blocks) ? findLastBlock(blocks) : BlockOp();
  if (!last || last->getNumResults() != 1)
    return;
  SetVector<Operation *> combining;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitUsesFromAbove = false;
  options.filter = [&](Operation *op) {
    return op->getBlock() == blocks->getBlock() && blocks->isBeforeInBlock(op);
  };
  if (failed(getBackwardSlice(last.getOperation(), &combining, options)))
    return;
  OpBuilder builder(last);
  Location loc = last.getLoc();
  Value result = last->getResult(0);
  auto type = cast<RankedTensorType>(result.getType());
  Value place = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  auto forall = scf::ForallOp::create(
      builder, loc, ArrayRef<OpFoldResult>(), ArrayRef<OpFoldResult>(),
      ArrayRef<OpFoldResult>(), place, /*mapping=*/std::nullopt);
  result.replaceAllUsesWith(forall->getResult(0));
  for (Operation *op : combining)
    op->moveBefore(forall.getTerminator());
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0)),
      ones(type.getRank(), builder.getIndexAttr(1)),
      sizes = getAsIndexOpFoldResult(builder.getContext(), type.getShape());
  builder.setInsertionPointToStart(forall.getTerminator().getBody());
  tensor::ParallelInsertSliceOp::create(builder, loc, result,
                                        forall.getRegionIterArgs()[0], offsets,
                                        sizes, ones);
}
