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
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
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

/// Puts `ops`, which make `result`, into a loop of no dimensions.
static void wrap(const SetVector<Operation *> &ops, Value result) {
  OpBuilder builder(result.getDefiningOp());
  Location loc = result.getLoc();
  auto type = cast<RankedTensorType>(result.getType());
  Value place = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  auto forall = scf::ForallOp::create(
      builder, loc, ArrayRef<OpFoldResult>(), ArrayRef<OpFoldResult>(),
      ArrayRef<OpFoldResult>(), place, /*mapping=*/std::nullopt);
  result.replaceAllUsesWith(forall->getResult(0));
  for (Operation *op : ops)
    op->moveBefore(forall.getTerminator());
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0)),
      ones(type.getRank(), builder.getIndexAttr(1)),
      sizes = getAsIndexOpFoldResult(builder.getContext(), type.getShape());
  builder.setInsertionPointToStart(forall.getTerminator().getBody());
  tensor::ParallelInsertSliceOp::create(builder, loc, result,
                                        forall.getRegionIterArgs()[0], offsets,
                                        sizes, ones);
}

/// What makes `result` of what `isPart` says belongs to it, itself included.
static SetVector<Operation *>
collectMakers(Value result, llvm::function_ref<bool(Operation *)> isPart) {
  SetVector<Operation *> makers;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitUsesFromAbove = false;
  options.filter = isPart;
  if (failed(getBackwardSlice(result.getDefiningOp(), &makers, options)))
    return {};
  return makers;
}

void chimera::wrapCombination(scf::ForallOp blocks) {
  BlockOp last = makesParts(blocks) ? findLastBlock(blocks) : BlockOp();
  if (!last || last->getNumResults() != 1)
    return;
  Value result = last->getResult(0);
  wrap(collectMakers(result,
                     [&](Operation *op) {
                       return op->getBlock() == blocks->getBlock() &&
                              blocks->isBeforeInBlock(op);
                     }),
       result);
}

/// What `tensor`, made by blocks and loops, is written over.
static Value getDestination(Value tensor) {
  while (Operation *def = tensor.getDefiningOp()) {
    unsigned index = cast<OpResult>(tensor).getResultNumber();
    if (auto block = dyn_cast<BlockOp>(def))
      tensor = block.getOutputs()[index];
    else if (auto loop = dyn_cast<scf::ForOp>(def))
      tensor = loop.getInits()[index];
    else if (auto insert = dyn_cast<tensor::InsertSliceOp>(def))
      tensor = insert.getDest();
    else if (auto slice = dyn_cast<tensor::ExtractSliceOp>(def))
      tensor = slice.getSource();
    else
      break;
  }
  return tensor;
}

/// True if blocks of the same chain go on with `tensor`.
static bool isWrittenOver(Value tensor) {
  return llvm::any_of(tensor.getUsers(), [&](Operation *user) {
    if (auto block = dyn_cast<BlockOp>(user))
      return llvm::is_contained(block.getOutputs(), tensor);
    if (auto insert = dyn_cast<tensor::InsertSliceOp>(user))
      return insert.getDest() == tensor;
    return isa<scf::ForOp>(user);
  });
}

/// True if `op` is made of blocks of a chain, or is there for them alone.
static bool isOfChain(Operation *op) {
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return slice.hasUnitStride() && slice.getDroppedDims().none() &&
           llvm::all_of(op->getUsers(), isOfChain);
  if (isa<scf::ForOp>(op))
    return op->walk([](BlockOp) { return WalkResult::interrupt(); })
        .wasInterrupted();
  return isa<BlockOp, tensor::InsertSliceOp, bufferization::AllocTensorOp>(op);
}

void chimera::wrapTile(Operation *op) {
  if (!isOfChain(op) || op->getNumResults() != 1)
    return;
  // What stays within the chain is written over memory of its own.
  Value result = op->getResult(0);
  if (isWrittenOver(result) ||
      !getDestination(result).getDefiningOp<tensor::EmptyOp>())
    return;
  wrap(collectMakers(result,
                     [&](Operation *maker) {
                       return maker->getBlock() == op->getBlock() &&
                              isOfChain(maker);
                     }),
       result);
}
