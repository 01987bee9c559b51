//===- FuseMemoryBound.cpp - Few operations of many, outside chains -------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Front ends write a norm as a dozen operations, each of which would read and
// write memory. The rewrites are upstream's; what is decided here is which
// operations become one: those whose result nobody else reads, and those that
// are cheaper to compute again than to store. Never so that an operation reads
// one tensor along its rows and another along its columns: vectors can only run
// one way.
//
//===----------------------------------------------------------------------===//

#include "Form/DecomposeSoftmax.h"
#include "MemoryBound/ExposeWindows.h"
#include "MemoryBound/FoldMoves.h"
#include "MemoryBound/JoinParts.h"
#include "MemoryBound/MemoryBoundOps.h"
#include "MemoryBound/PlaceParts.h"

#include "Chimera/Chain/OpKinds.h"
#include "Chimera/Transforms/Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace chimera {
#define GEN_PASS_DEF_FUSEMEMORYBOUNDPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

//===----------------------------------------------------------------------===//
// What becomes one operation
//===----------------------------------------------------------------------===//

/// Operations of a body that is worth computing again: less than what it costs
/// to write a tensor and to read it again.
static constexpr size_t cheapOperations = 4;

/// Operations of one body, after which another pass over memory costs next to
/// nothing beside them. Each fusion copies both bodies, which takes quadratic
/// time in long programs without a limit.
static constexpr size_t mostOperations = 64;

static size_t countOperations(Block &body) {
  return llvm::count_if(body.without_terminator(), [](Operation &op) {
    return !op.hasTrait<OpTrait::ConstantLike>();
  });
}

/// True if computing `producer` in each of its users reads no more memory than
/// reading its result does, and takes next to no time.
static bool isCheap(linalg::GenericOp producer) {
  Block &body = *producer.getBody();
  if (isExpensive(body) || countOperations(body) > cheapOperations)
    return false;
  auto isFull = [&](OpOperand *input) {
    return producer.getMatchingIndexingMap(input).getNumResults() ==
           producer.getNumLoops();
  };
  return llvm::count_if(producer.getDpsInputOperands(), isFull) <= 1;
}

/// The maps of `operand`'s owner with those of `producer`'s inputs in the place
/// of `operand`'s own.
static SmallVector<AffineMap> getFusedMaps(linalg::GenericOp producer,
                                           OpOperand *operand) {
  auto consumer = cast<linalg::GenericOp>(operand->getOwner());
  // From the producer's loops to those of the consumer.
  AffineMap output = producer.getIndexingMapsArray().back();
  AffineMap loops = inversePermutation(output).compose(
      consumer.getMatchingIndexingMap(operand));
  SmallVector<AffineMap> maps;
  for (OpOperand *input : producer.getDpsInputOperands())
    maps.push_back(producer.getMatchingIndexingMap(input).compose(loops));
  for (OpOperand &other : consumer->getOpOperands())
    if (&other != operand)
      maps.push_back(consumer.getMatchingIndexingMap(&other));
  return maps;
}

static bool areProjectedPermutations(ArrayRef<AffineMap> maps) {
  return llvm::all_of(
      maps, [](AffineMap map) { return map.isProjectedPermutation(); });
}

static bool mayFuse(OpOperand *operand) {
  auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
  auto consumer = dyn_cast<linalg::GenericOp>(operand->getOwner());
  if (!producer || !consumer || producer->getBlock() != consumer->getBlock() ||
      findObstacle(producer) || findObstacle(consumer) ||
      !isParallel(producer) || producer->getNumResults() != 1 ||
      !producer.getIndexingMapsArray().back().isPermutation())
    return false;
  if (countOperations(*producer.getBody()) +
          countOperations(*consumer.getBody()) >
      mostOperations)
    return false;
  bool isOnlyUser = llvm::all_of(
      producer->getUsers(), [&](Operation *user) { return user == consumer; });
  if (!isOnlyUser && !isCheap(producer))
    return false;
  // Along a broadcast each element would be computed many times.
  bool isBroadcast = consumer.getMatchingIndexingMap(operand).getNumResults() <
                     consumer.getNumLoops();
  if (isBroadcast && countOperations(*producer.getBody()) > 0)
    return false;
  SmallVector<AffineMap> maps = getFusedMaps(producer, operand);
  return areProjectedPermutations(maps) &&
         (consumer.getNumLoops() == 0 || findVectorDim(maps));
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

class FuseMemoryBoundPass
    : public chimera::impl::FuseMemoryBoundPassBase<FuseMemoryBoundPass> {
public:
  using Base::Base;
  void runOnOperation() override;

private:
  template <typename OpTy>
  SmallVector<OpTy> collect();
  void apply(RewritePatternSet patterns);
  LogicalResult generalize();
  void foldMoves();
  void dropUnitDims();
  void fuse();
  void separateTransposes(linalg::GenericOp op);
  void transposeOperand(linalg::GenericOp op, OpOperand *operand,
                        unsigned last);
  void dropUnreadInits(linalg::GenericOp op);
};

} // namespace

template <typename OpTy>
SmallVector<OpTy> FuseMemoryBoundPass::collect() {
  SmallVector<OpTy> found;
  for (Operation *op : collectOutside(getOperation()))
    if (auto wanted = dyn_cast<OpTy>(op))
      found.push_back(wanted);
  return found;
}

/// True for a slice that a block of a chain reads or writes. In another shape,
/// the block's result would have to be copied to where it already is.
static bool servesBlock(Operation *op) {
  return llvm::any_of(op->getUsers(), llvm::IsaPred<BlockOp>) ||
         llvm::any_of(op->getOperands(), [](Value operand) {
           return isa_and_present<BlockOp>(operand.getDefiningOp());
         });
}

/// Applies `patterns` to what lies outside chains. What is left alone may still
/// have its operands replaced. The program is the same wherever they stop.
void FuseMemoryBoundPass::apply(RewritePatternSet patterns) {
  SmallVector<Operation *> ops;
  for (Operation *op : collectOutside(getOperation())) {
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    if (linalgOp ? !findObstacle(linalgOp)
                 : (isa_and_present<tensor::TensorDialect>(op->getDialect()) &&
                    !servesBlock(op)) ||
                       OpTrait::hasElementwiseMappableTraits(op))
      ops.push_back(op);
  }
  GreedyRewriteConfig config;
  config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
  // Far from what it takes; it only serves to survive two patterns that undo
  // each other.
  config.setMaxNumRewrites(100 * (ops.size() + 10));
  (void)applyOpPatternsGreedily(ops, std::move(patterns), config);
}

/// Gives every operation the generic form but fills, which start reductions.
LogicalResult FuseMemoryBoundPass::generalize() {
  IRRewriter rewriter(&getContext());
  if (failed(decomposeSoftmax(getOperation())))
    return failure();
  RewritePatternSet patterns(&getContext());
  linalg::populateElementwiseToLinalgConversionPatterns(patterns);
  apply(std::move(patterns));
  for (auto op : collect<linalg::LinalgOp>()) {
    auto fill = dyn_cast<linalg::FillOp>(op.getOperation());
    bool isStart = fill && matchPattern(fill.getInputs()[0], m_Constant());
    if (!isStart && succeeded(exposeWindows(rewriter, op)))
      continue;
    if (isStart || isa<linalg::GenericOp>(op) || findObstacle(op))
      continue;
    rewriter.setInsertionPoint(op);
    // What has no generic form runs by itself.
    (void)linalg::generalizeNamedOp(rewriter, op);
  }
  return success();
}

/// Puts each unit dimension of `shape` but `kept` together with a neighbour.
static SmallVector<ReassociationIndices> joinUnitDims(ArrayRef<int64_t> shape,
                                                      int64_t kept) {
  SmallVector<ReassociationIndices> groups;
  ReassociationIndices group;
  for (auto [dim, extent] : llvm::enumerate(shape)) {
    group.push_back(dim);
    if (extent == 1 && static_cast<int64_t>(dim) != kept)
      continue;
    groups.push_back(group);
    group.clear();
  }
  groups.back().append(group);
  return groups;
}

/// Concatenates along the same dimension without the unit dimensions, for which
/// upstream has no pattern.
static void dropUnitDims(tensor::ConcatOp concat) {
  RankedTensorType type = concat.getResultType();
  SmallVector<ReassociationIndices> groups =
      joinUnitDims(type.getShape(), concat.getDim());
  if (static_cast<int64_t>(groups.size()) < type.getRank())
    collapseConcat(concat, groups);
}

static bool hasStaticShapes(tensor::ConcatOp concat) {
  auto hasStaticShape = [](Type type) {
    return cast<RankedTensorType>(type).hasStaticShape();
  };
  return hasStaticShape(concat.getResultType()) &&
         llvm::all_of(concat->getOperandTypes(), hasStaticShape);
}

void FuseMemoryBoundPass::foldMoves() {
  RewritePatternSet patterns(&getContext());
  populateFoldMovesPatterns(patterns);
  apply(std::move(patterns));
}

void FuseMemoryBoundPass::dropUnitDims() {
  for (auto concat : collect<tensor::ConcatOp>())
    if (hasStaticShapes(concat))
      ::dropUnitDims(concat);
  RewritePatternSet patterns(&getContext());
  linalg::ControlDropUnitDims control;
  linalg::populateFoldUnitExtentDimsPatterns(patterns, control);
  linalg::populateFoldUnitExtentDimsCanonicalizationPatterns(patterns, control);
  linalg::populateMoveInitOperandsToInputPattern(patterns);
  linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
  apply(std::move(patterns));
}

void FuseMemoryBoundPass::fuse() {
  RewritePatternSet patterns(&getContext());
  populateForwardCopiesPatterns(patterns);
  linalg::populateElementwiseOpsFusionPatterns(patterns, mayFuse);
  linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
  apply(std::move(patterns));
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

/// Gives `op` a copy of `operand` with the dimensions in the order of the loops
/// that index them, but that of loop `last` at the end.
void FuseMemoryBoundPass::transposeOperand(linalg::GenericOp op,
                                           OpOperand *operand, unsigned last) {
  OpBuilder builder(op);
  AffineMap map = op.getMatchingIndexingMap(operand);
  SmallVector<std::tuple<bool, unsigned, unsigned>> order;
  for (unsigned i = 0; i < map.getNumResults(); ++i)
    order.push_back({map.getDimPosition(i) == last, map.getDimPosition(i), i});
  llvm::sort(order);
  auto type = cast<RankedTensorType>(operand->get().getType());
  SmallVector<int64_t> shape;
  SmallVector<unsigned> position(order.size());
  SmallVector<AffineExpr> loops;
  for (auto [isLast, loop, dim] : order) {
    position[dim] = shape.size();
    shape.push_back(type.getDimSize(dim));
    loops.push_back(builder.getAffineDimExpr(loop));
  }
  Value empty = tensor::EmptyOp::create(builder, op.getLoc(), shape,
                                        type.getElementType());
  auto copy = linalg::GenericOp::create(
      builder, op.getLoc(), empty.getType(), operand->get(), empty,
      ArrayRef<AffineMap>{
          AffineMap::getPermutationMap(position, builder.getContext()),
          builder.getMultiDimIdentityMap(shape.size())},
      SmallVector<utils::IteratorType>(shape.size(),
                                       utils::IteratorType::parallel),
      [](OpBuilder &body, Location loc, ValueRange arguments) {
        linalg::YieldOp::create(body, loc, arguments[0]);
      });
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  maps[operand->getOperandNumber()] =
      AffineMap::get(op.getNumLoops(), 0, loops, builder.getContext());
  operand->set(copy.getResult(0));
  op.setIndexingMapsAttr(builder.getAffineMapArrayAttr(maps));
}

/// The loop that vectors should run along: that of the result's contiguous
/// dimension, or of the largest operand's if `op` reduces.
static unsigned getLastLoop(linalg::GenericOp op) {
  AffineMap largest = op.getIndexingMapsArray().back();
  if (!isParallel(op))
    for (AffineMap map : op.getIndexingMapsArray())
      if (map.getNumResults() > largest.getNumResults())
        largest = map;
  return largest.getDimPosition(largest.getNumResults() - 1);
}

/// Copies move data between layouts; everything else gets its operands in one
/// that vectors can run along.
void FuseMemoryBoundPass::separateTransposes(linalg::GenericOp op) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  if (findObstacle(op) || isMovement(op) || !areProjectedPermutations(maps) ||
      op.getNumLoops() == 0 || findVectorDim(maps))
    return;
  unsigned last = getLastLoop(op);
  for (OpOperand *input : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(input);
    if (map.isFunctionOfDim(last) &&
        map.getDimPosition(map.getNumResults() - 1) != last)
      transposeOperand(op, input, last);
  }
}

/// What is not read need not be filled first.
void FuseMemoryBoundPass::dropUnreadInits(linalg::GenericOp op) {
  if (findObstacle(op))
    return;
  OpBuilder builder(op);
  for (OpOperand &init : op.getDpsInitsMutable()) {
    if (op.payloadUsesValueFromOperand(&init) ||
        init.get().getDefiningOp<tensor::EmptyOp>())
      continue;
    auto type = cast<RankedTensorType>(init.get().getType());
    init.set(tensor::EmptyOp::create(builder, op.getLoc(), type.getShape(),
                                     type.getElementType()));
  }
}

/// The one tensor that `op` makes, an empty one, from numbers alone.
static Value findFilled(DestinationStyleOpInterface op) {
  if (op->getNumResults() != 1 || op.getNumDpsInits() != 1)
    return {};
  Value filled = op.getDpsInits()[0];
  auto type = dyn_cast<RankedTensorType>(filled.getType());
  bool readsTensors = llvm::any_of(op.getDpsInputs(), [](Value input) {
    return isa<TensorType>(input.getType());
  });
  return type && type.hasStaticShape() && !readsTensors &&
                 filled.getDefiningOp<tensor::EmptyOp>()
             ? filled
             : Value();
}

/// Gives each loop that starts from what `start` fills a tensor of its own.
/// They all write to it, and to fill another one takes less than to copy it.
static void separateStarts(DestinationStyleOpInterface start) {
  Value filled = findFilled(start);
  if (!filled)
    return;
  for (OpOperand &use : llvm::make_early_inc_range(start->getUses())) {
    if (start->hasOneUse() || !isa<LoopLikeOpInterface>(use.getOwner()))
      continue;
    OpBuilder builder(use.getOwner());
    // Empty tensors would become one again, and so would what fills them.
    Value own = bufferization::AllocTensorOp::create(
        builder, start.getLoc(), cast<RankedTensorType>(filled.getType()),
        ValueRange());
    IRMapping mapping;
    mapping.map(filled, own);
    use.set(builder.clone(*start, mapping)->getResult(0));
  }
}

void FuseMemoryBoundPass::runOnOperation() {
  if (failed(generalize()))
    return signalPassFailure();
  foldMoves();
  dropUnitDims();
  fuse();
  for (auto op : collect<linalg::GenericOp>()) {
    separateTransposes(op);
    dropUnreadInits(op);
  }
  getOperation()->walk(separateStarts);
  for (auto concat : collect<tensor::ConcatOp>())
    joinInnerDims(concat);
  for (auto concat : collect<tensor::ConcatOp>())
    joinBeforeSplitting(concat);
  for (auto concat : collect<tensor::ConcatOp>())
    if (concat->use_empty())
      concat.erase();
    else if (!takesParts || !joinParts(concat))
      placeParts(concat);
  for (auto pad : collect<tensor::PadOp>())
    placeParts(pad);
}
