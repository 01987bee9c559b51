//===- NormalizeChain.cpp - One form for every chain ----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rewrites are upstream's; the order is what makes them converge:
//  1. named operations become generic;
//  2. unit dimensions go and reshapes merge through elementwise operations, so
//     that loops stay as long as they can be;
//  3. reshapes that split or merge real dimensions between contractions are
//     undone by expanding both sides;
//  4. accumulators that are not zero become additions;
//  5. elementwise operations fuse into one after each contraction, transposes
//     and broadcasts into the indexing maps of their consumers.
// What is left at the boundary moves out of the chain.
//
//===----------------------------------------------------------------------===//

#include "NormalizeChain.h"

#include "Chimera/Transforms/ChainAnalysis.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace chimera;

//===----------------------------------------------------------------------===//
// Kinds of operations
//===----------------------------------------------------------------------===//

static bool isParallel(linalg::LinalgOp op) {
  return op.getNumLoops() == op.getNumParallelLoops();
}

static bool isReshape(Operation *op) {
  return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op);
}

/// What only provides values to start from; cheap enough to exist twice.
static bool isSource(Operation *op) {
  return isa<tensor::EmptyOp, linalg::FillOp>(op) ||
         matchPattern(op, m_Constant());
}

bool chimera::isMovement(linalg::LinalgOp op) {
  if (!isParallel(op) || op.getNumDpsInputs() != 1 ||
      op.getNumDpsInits() != 1 ||
      !isa<RankedTensorType>(op.getDpsInputs()[0].getType()))
    return false;
  Block *body = op.getBlock();
  return body->getTerminator()->getOperand(0) == body->getArgument(0);
}

bool chimera::isUnitReshape(Operation *op) {
  if (!isReshape(op))
    return false;
  auto source = cast<RankedTensorType>(op->getOperand(0).getType());
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  if (!source.hasStaticShape() || !result.hasStaticShape())
    return false;
  auto isReal = [](int64_t extent) { return extent != 1; };
  return llvm::equal(llvm::make_filter_range(source.getShape(), isReal),
                     llvm::make_filter_range(result.getShape(), isReal));
}

/// The contraction that elementwise `op` finishes: the last one that it alone
/// reads.
static linalg::GenericOp getFinished(linalg::GenericOp op) {
  linalg::GenericOp last;
  for (Value input : op.getDpsInputs()) {
    auto producer = input.getDefiningOp<linalg::GenericOp>();
    if (!producer || isParallel(producer) ||
        !llvm::all_of(producer->getUsers(),
                      [&](Operation *user) { return user == op; }))
      continue;
    if (!last || last->isBeforeInBlock(producer))
      last = producer;
  }
  return last;
}

//===----------------------------------------------------------------------===//
// The body
//===----------------------------------------------------------------------===//

namespace {

class BodyNormalizer {
public:
  explicit BodyNormalizer(ChainOp chain)
      : chain(chain), body(chain.getBody().front()),
        rewriter(chain.getContext()) {}

  LogicalResult run();

private:
  LogicalResult apply(RewritePatternSet patterns);
  LogicalResult generalize();
  LogicalResult mergeDimensions();
  LogicalResult splitDimensions();
  void splitAccumulators();
  void splitAccumulator(linalg::GenericOp op);
  LogicalResult fuse();
  LogicalResult fuseElementwise();
  void duplicateMovements();
  bool alignEpilogues();
  bool alignEpilogue(linalg::GenericOp op);
  void transposeResult(linalg::GenericOp op);

  /// The operations of the body of type `OpTy`, safe against rewriting.
  template <typename OpTy>
  SmallVector<OpTy> collect() {
    return llvm::to_vector(body.getOps<OpTy>());
  }

  ChainOp chain;
  Block &body;
  IRRewriter rewriter;
};

} // namespace

LogicalResult BodyNormalizer::apply(RewritePatternSet patterns) {
  // The bound only serves to survive two patterns that undo each other.
  GreedyRewriteConfig config;
  config.setMaxNumRewrites(10000);
  return applyPatternsGreedily(chain.getBody(), std::move(patterns), config);
}

/// Gives every linalg operation but fills the generic form, and operations
/// like `arith.addf` on tensors too.
LogicalResult BodyNormalizer::generalize() {
  RewritePatternSet patterns(chain.getContext());
  linalg::populateElementwiseToLinalgConversionPatterns(patterns);
  if (failed(apply(std::move(patterns))))
    return failure();
  for (linalg::LinalgOp op : collect<linalg::LinalgOp>()) {
    if (isa<linalg::GenericOp, linalg::FillOp>(op))
      continue;
    rewriter.setInsertionPoint(op);
    if (failed(linalg::generalizeNamedOp(rewriter, op)))
      return failure();
  }
  return success();
}

/// Patterns that drop unit dimensions, and those that simplify the reshapes
/// they leave behind.
static void populateUnitDimPatterns(RewritePatternSet &patterns) {
  linalg::ControlDropUnitDims control;
  linalg::populateFoldUnitExtentDimsPatterns(patterns, control);
  linalg::populateFoldUnitExtentDimsCanonicalizationPatterns(patterns, control);
  linalg::populateMoveInitOperandsToInputPattern(patterns);
  linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
}

LogicalResult BodyNormalizer::mergeDimensions() {
  // Contractions keep their dimensions here: only what lies between them gives
  // way, until reshapes meet and cancel.
  auto isBetween = [](OpOperand *operand) {
    auto op = dyn_cast<linalg::GenericOp>(operand->getOwner());
    if (!op)
      op = operand->get().getDefiningOp<linalg::GenericOp>();
    return op && isParallel(op);
  };
  RewritePatternSet patterns(chain.getContext());
  populateUnitDimPatterns(patterns);
  linalg::populateFoldReshapeOpsByCollapsingPatterns(patterns, isBetween);
  return apply(std::move(patterns));
}

LogicalResult BodyNormalizer::splitDimensions() {
  // Reshapes of unit dimensions are left to the patterns that drop those, which
  // would undo the expansion otherwise.
  auto splitsDimensions = [](OpOperand *operand) {
    Operation *reshape = operand->getOwner();
    if (!isReshape(reshape))
      reshape = operand->get().getDefiningOp();
    return reshape && isReshape(reshape) && !isUnitReshape(reshape);
  };
  RewritePatternSet patterns(chain.getContext());
  populateUnitDimPatterns(patterns);
  linalg::populateFoldReshapeOpsByExpansionPatterns(patterns, splitsDimensions);
  return apply(std::move(patterns));
}

//===----------------------------------------------------------------------===//
// Accumulators
//===----------------------------------------------------------------------===//

static Value createZeroFill(OpBuilder &builder, Location loc,
                            RankedTensorType type) {
  Value zero = arith::ConstantOp::create(
      builder, loc, builder.getZeroAttr(type.getElementType()));
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  return linalg::FillOp::create(builder, loc, zero, empty).getResult(0);
}

void BodyNormalizer::splitAccumulator(linalg::GenericOp op) {
  Location loc = op.getLoc();
  Value init = op.getDpsInits()[0];
  auto type = cast<RankedTensorType>(init.getType());
  rewriter.setInsertionPoint(op);
  op.getDpsInitsMutable()[0].set(createZeroFill(rewriter, loc, type));
  if (matchPattern(init, m_PosZeroFloat()))
    return;

  rewriter.setInsertionPointAfter(op);
  Value empty = tensor::EmptyOp::create(rewriter, loc, type.getShape(),
                                        type.getElementType());
  SmallVector<AffineMap> maps(3,
                              rewriter.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  Value product = op.getResult(0);
  auto sum = linalg::GenericOp::create(
      rewriter, loc, type, ValueRange{product, init}, empty, maps, iterators,
      [](OpBuilder &builder, Location loc, ValueRange arguments) {
        Value added =
            arith::AddFOp::create(builder, loc, arguments[0], arguments[1]);
        linalg::YieldOp::create(builder, loc, added);
      });
  rewriter.replaceAllUsesExcept(product, sum.getResult(0), sum);
}

void BodyNormalizer::splitAccumulators() {
  for (linalg::GenericOp op : collect<linalg::GenericOp>())
    if (isSupportedContraction(op) && !isZeroFill(op.getDpsInits()[0]))
      splitAccumulator(op);
}

//===----------------------------------------------------------------------===//
// Fusion
//===----------------------------------------------------------------------===//

/// Gives each user of a transpose or broadcast one of its own, so that it can
/// become the map of each.
void BodyNormalizer::duplicateMovements() {
  SmallVector<linalg::GenericOp> ops = collect<linalg::GenericOp>();
  for (linalg::GenericOp op : llvm::reverse(ops)) {
    if (!isMovement(op))
      continue;
    while (!op->use_empty() && !op->hasOneUse()) {
      rewriter.setInsertionPoint(op);
      Operation *copy = rewriter.clone(*op);
      op->use_begin()->set(copy->getResult(0));
    }
  }
}

/// Elementwise operations fuse into their only user. Into a contraction only
/// what is a matter of indexing does; and a transpose or broadcast moves on to
/// its own users rather than take in what it reads.
static bool mayFuse(OpOperand *operand) {
  auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
  auto consumer = cast<linalg::LinalgOp>(operand->getOwner());
  if (!producer || !isParallel(producer))
    return false;
  if (!isParallel(consumer) || isMovement(consumer))
    return isMovement(producer);
  return llvm::all_of(producer->getUsers(),
                      [&](Operation *user) { return user == consumer; });
}

LogicalResult BodyNormalizer::fuseElementwise() {
  RewritePatternSet patterns(chain.getContext());
  linalg::populateElementwiseOpsFusionPatterns(patterns, mayFuse);
  linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
  tensor::CollapseShapeOp::getCanonicalizationPatterns(patterns,
                                                       chain.getContext());
  tensor::ExpandShapeOp::getCanonicalizationPatterns(patterns,
                                                     chain.getContext());
  return apply(std::move(patterns));
}

/// Rewrites `op`, whose output map is a permutation, to write its loops in
/// their order, with a transpose behind it.
void BodyNormalizer::transposeResult(linalg::GenericOp op) {
  AffineMap outputMap = op.getIndexingMapsArray().back();
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  SmallVector<int64_t> shape = op.getStaticLoopRanges();
  AffineMap identity = rewriter.getMultiDimIdentityMap(shape.size());
  Location loc = op.getLoc();

  rewriter.setInsertionPoint(op);
  Value empty =
      tensor::EmptyOp::create(rewriter, loc, shape, type.getElementType());
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  maps.back() = identity;
  auto straight = linalg::GenericOp::create(rewriter, loc, empty.getType(),
                                            op.getDpsInputs(), empty, maps,
                                            op.getIteratorTypesArray());
  rewriter.inlineRegionBefore(op.getRegion(), straight.getRegion(),
                              straight.getRegion().end());
  Value target = tensor::EmptyOp::create(rewriter, loc, type.getShape(),
                                         type.getElementType());
  auto transposed = linalg::GenericOp::create(
      rewriter, loc, type, straight.getResult(0), target,
      ArrayRef<AffineMap>{inversePermutation(outputMap), identity},
      op.getIteratorTypesArray(),
      [](OpBuilder &builder, Location loc, ValueRange arguments) {
        linalg::YieldOp::create(builder, loc, arguments[0]);
      });
  rewriter.replaceOp(op, transposed.getResults());
}

/// Makes `op` read the contraction it finishes, and write its result, with the
/// identity map. True if something had to change.
bool BodyNormalizer::alignEpilogue(linalg::GenericOp op) {
  linalg::GenericOp finished = getFinished(op);
  if (!finished || isMovement(op) || op.getNumDpsInits() != 1)
    return false;
  unsigned position =
      std::distance(op->operand_begin(),
                    llvm::find(op->getOperands(), finished.getResult(0)));
  AffineMap map = op.getIndexingMapsArray()[position];
  AffineMap outputMap = op.getIndexingMapsArray().back();
  if (!map.isPermutation() || !outputMap.isPermutation() ||
      (map.isIdentity() && outputMap.isIdentity()))
    return false;
  if (!map.isIdentity()) {
    SmallVector<unsigned> order;
    for (unsigned i = 0; i < map.getNumResults(); ++i)
      order.push_back(map.getDimPosition(i));
    rewriter.setInsertionPoint(op);
    FailureOr<linalg::GenericOp> interchanged =
        linalg::interchangeGenericOp(rewriter, op, order);
    if (failed(interchanged))
      return false;
    op = *interchanged;
  }
  if (!op.getIndexingMapsArray().back().isIdentity())
    transposeResult(op);
  return true;
}

bool BodyNormalizer::alignEpilogues() {
  bool changed = false;
  for (linalg::GenericOp op : collect<linalg::GenericOp>())
    if (isParallel(op))
      changed |= alignEpilogue(op);
  return changed;
}

/// Aligning leaves transposes, which fuse into what comes next, which may have
/// to be aligned in turn: one round per operator at most.
LogicalResult BodyNormalizer::fuse() {
  size_t rounds = collect<linalg::GenericOp>().size() + 1;
  for (size_t round = 0; round < rounds; ++round) {
    duplicateMovements();
    if (failed(fuseElementwise()))
      return failure();
    if (!alignEpilogues())
      return success();
  }
  return failure();
}

LogicalResult BodyNormalizer::run() {
  if (failed(generalize()) || failed(mergeDimensions()) ||
      failed(splitDimensions()))
    return failure();
  splitAccumulators();
  return fuse();
}

LogicalResult chimera::normalizeBody(ChainOp chain) {
  return BodyNormalizer(chain).run();
}

//===----------------------------------------------------------------------===//
// The boundary
//===----------------------------------------------------------------------===//

namespace {

/// Builds the final chain from a normalized one, starting from its result: an
/// operation is copied after what it reads, inside or in front of the chain.
class BoundaryMover {
public:
  explicit BoundaryMover(ChainOp chain)
      : chain(chain), inside(chain.getContext()), outside(chain) {}

  FormedChain run();

private:
  Value emitInside(Value value);
  Value emitOutside(Value value);
  bool isKnownOutside(Value value);
  bool isMovableOut(Operation *op);
  SmallVector<Value> getReadValues(Operation *op);
  void emitOperation(Operation *op);
  void unpackResult(ArrayRef<Operation *> steps, Value value);

  ChainOp chain;
  OpBuilder inside, outside;
  Block *body = nullptr;
  IRMapping insideValues, outsideValues;
  llvm::DenseMap<Value, bool> knownOutside;
  /// The input of the new chain for each value outside.
  llvm::DenseMap<Value, Value> arguments;
  SmallVector<Value> inputs;
  FormedChain formed;
};

} // namespace

bool BoundaryMover::isMovableOut(Operation *op) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  return isReshape(op) || (generic && isParallel(generic));
}

/// Everything `op` reads, its body included.
SmallVector<Value> BoundaryMover::getReadValues(Operation *op) {
  llvm::SetVector<Value> values(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), values);
  return values.takeVector();
}

/// True if `value` depends on the operands of the chain alone and can be had
/// without a contraction. Sources are for either side to copy.
bool BoundaryMover::isKnownOutside(Value value) {
  if (isa<BlockArgument>(value))
    return true;
  auto [it, isNew] = knownOutside.insert({value, false});
  if (!isNew)
    return it->second;
  Operation *op = value.getDefiningOp();
  bool known =
      isMovableOut(op) && llvm::all_of(getReadValues(op), [&](Value read) {
        Operation *producer = read.getDefiningOp();
        return (producer && isSource(producer)) || isKnownOutside(read);
      });
  knownOutside[value] = known;
  return known;
}

Value BoundaryMover::emitOutside(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return chain.getInputs()[argument.getArgNumber()];
  if (!outsideValues.contains(value)) {
    Operation *op = value.getDefiningOp();
    for (Value read : getReadValues(op))
      outsideValues.map(read, emitOutside(read));
    formed.around.push_back(outside.clone(*op, outsideValues));
  }
  return outsideValues.lookup(value);
}

/// Copies `op` into the chain, after what it reads. The contraction that an
/// elementwise operation finishes comes right before it, after any other.
void BoundaryMover::emitOperation(Operation *op) {
  linalg::GenericOp finished;
  if (auto generic = dyn_cast<linalg::GenericOp>(op);
      generic && isParallel(generic))
    finished = getFinished(generic);
  SmallVector<Value> values = getReadValues(op);
  if (finished) {
    for (Value value : values)
      if (value.getDefiningOp<linalg::GenericOp>() && !isKnownOutside(value) &&
          value != finished.getResult(0))
        emitInside(value);
    emitInside(finished.getResult(0));
  }
  for (Value value : values)
    emitInside(value);
  inside.clone(*op, insideValues);
}

Value BoundaryMover::emitInside(Value value) {
  if (insideValues.contains(value))
    return insideValues.lookup(value);
  if (isKnownOutside(value)) {
    Value input = emitOutside(value);
    auto [it, isNew] = arguments.insert({input, Value()});
    if (isNew) {
      inputs.push_back(input);
      it->second = body->addArgument(input.getType(), value.getLoc());
    }
    insideValues.map(value, it->second);
  } else {
    emitOperation(value.getDefiningOp());
  }
  return insideValues.lookup(value);
}

/// Applies `steps`, last one first, to the result of the chain.
void BoundaryMover::unpackResult(ArrayRef<Operation *> steps, Value value) {
  OpBuilder after(chain.getContext());
  after.setInsertionPointAfter(formed.chain);
  IRMapping mapping;
  mapping.map(value, formed.chain.getResult(0));
  for (Operation *step : llvm::reverse(steps)) {
    for (Value read : getReadValues(step)) {
      if (mapping.contains(read))
        continue;
      Operation *copy = after.clone(*read.getDefiningOp(), mapping);
      formed.around.push_back(copy);
    }
    formed.around.push_back(after.clone(*step, mapping));
  }
  formed.result = formed.around.empty() || steps.empty()
                      ? formed.chain.getResult(0)
                      : formed.around.back()->getResult(0);
}

FormedChain BoundaryMover::run() {
  Region region;
  body = &region.emplaceBlock();
  inside.setInsertionPointToEnd(body);

  // Peel the reshapes and transposes that come after everything else.
  Value value = chain.getBody().front().getTerminator()->getOperand(0);
  SmallVector<Operation *> steps;
  auto isStep = [](Operation *op) {
    if (isReshape(op))
      return true;
    auto generic = dyn_cast_or_null<linalg::GenericOp>(op);
    return generic && isMovement(generic) &&
           generic.getDpsInits()[0].getDefiningOp<tensor::EmptyOp>();
  };
  while (!isa<BlockArgument>(value) && isStep(value.getDefiningOp())) {
    steps.push_back(value.getDefiningOp());
    value = value.getDefiningOp()->getOperand(0);
  }

  YieldOp::create(inside, chain.getLoc(), emitInside(value));
  formed.chain = ChainOp::create(outside, chain.getLoc(), value.getType(),
                                 inputs, nullptr, nullptr);
  formed.chain.getBody().takeBody(region);
  unpackResult(steps, value);
  chain.erase();
  return std::move(formed);
}

FormedChain chimera::moveBoundaryOut(ChainOp chain) {
  return BoundaryMover(chain).run();
}

void FormedChain::erase() {
  // The operations around the chain only feed each other and the chain, so
  // they go in any order once no one reads them.
  for (Operation *op : around)
    op->dropAllUses();
  chain->dropAllUses();
  chain.erase();
  for (Operation *op : llvm::reverse(around))
    op->erase();
}
