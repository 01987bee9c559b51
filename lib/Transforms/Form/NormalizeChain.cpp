//===- NormalizeChain.cpp - One form for every chain ----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rewrites are upstream's; the order is what makes them converge:
//  1. named operations become generic, and what windows do not reach is cut
//     off;
//  2. unit dimensions go and reshapes merge through elementwise operations, so
//     that loops stay as long as they can be;
//  3. reshapes that split or merge real dimensions between contractions are
//     undone by expanding both sides;
//  4. accumulators that are not zero become additions;
//  5. a softmax between contractions gets the form that can be corrected later;
//  6. elementwise operations fuse into one after each contraction, transposes
//     and broadcasts into the indexing maps of their consumers.
//
//===----------------------------------------------------------------------===//

#include "Form/NormalizeChain.h"

#include "Form/DecomposeSoftmax.h"
#include "Form/NormalizeSoftmax.h"

#include "Chimera/Chain/ChainAnalysis.h"
#include "Chimera/Chain/OpKinds.h"
#include "Chimera/IR/NumberTypes.h"
#include "Chimera/Model/Layouts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace chimera;

//===----------------------------------------------------------------------===//
// Kinds of operations
//===----------------------------------------------------------------------===//

linalg::GenericOp chimera::getFinishedContraction(linalg::GenericOp op) {
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
  BodyNormalizer(ChainOp chain, const OperatorSupport &support)
      : chain(chain), body(chain.getBody().front()),
        rewriter(chain.getContext()), support(support) {}

  LogicalResult run();

private:
  LogicalResult apply(RewritePatternSet patterns);
  LogicalResult generalize();
  linalg::GenericOp generalize(linalg::LinalgOp op);
  void cropWindows();
  void cropWindows(linalg::GenericOp op, OpOperand &input);
  LogicalResult mergeDimensions();
  LogicalResult splitDimensions();
  void splitAccumulators();
  void splitAccumulator(linalg::GenericOp op);
  LogicalResult fuse();
  bool mayFuse(OpOperand *operand);
  bool staysTransposed(linalg::GenericOp transpose, OpOperand &operand);
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
  const OperatorSupport &support;
};

} // namespace

LogicalResult BodyNormalizer::apply(RewritePatternSet patterns) {
  // The bound is far from what a body takes; it only serves to survive two
  // patterns that undo each other.
  GreedyRewriteConfig config;
  config.setMaxNumRewrites(100 * (body.getOperations().size() + 10));
  return applyPatternsGreedily(chain.getBody(), std::move(patterns), config);
}

LogicalResult chimera::generalizeElementwise(ChainOp chain) {
  if (failed(decomposeSoftmax(chain)))
    return failure();
  RewritePatternSet patterns(chain.getContext());
  linalg::populateElementwiseToLinalgConversionPatterns(patterns);
  return applyPatternsGreedily(chain.getBody(), std::move(patterns));
}

/// The loops of `op` with the taps of windows before what is summed up for each
/// of them.
static SmallVector<unsigned> orderLoops(linalg::LinalgOp op) {
  auto isTap = [&](unsigned loop) {
    return llvm::any_of(op.getIndexingMapsArray(), [&](AffineMap map) {
      return llvm::any_of(map.getResults(), [&](AffineExpr index) {
        return !isa<AffineDimExpr>(index) && index.isFunctionOfDim(loop);
      });
    });
  };
  SmallVector<unsigned> reductions, sorted,
      order = llvm::to_vector(llvm::seq<unsigned>(0, op.getNumLoops()));
  op.getReductionDims(reductions);
  for (bool taps : {true, false})
    llvm::copy_if(reductions, std::back_inserter(sorted),
                  [&](unsigned loop) { return isTap(loop) == taps; });
  for (auto [position, loop] : llvm::zip_equal(reductions, sorted))
    order[position] = loop;
  return order;
}

LogicalResult chimera::orderReductions(ChainOp chain) {
  IRRewriter rewriter(chain.getContext());
  for (auto op :
       llvm::to_vector(chain.getBody().front().getOps<linalg::LinalgOp>())) {
    if (!isSupportedOperator(op))
      continue;
    SmallVector<unsigned> order = orderLoops(op);
    if (llvm::is_sorted(order))
      continue;
    rewriter.setInsertionPoint(op);
    auto generic = dyn_cast<linalg::GenericOp>(op.getOperation());
    if (!generic) {
      FailureOr<linalg::GenericOp> made =
          linalg::generalizeNamedOp(rewriter, op);
      if (failed(made))
        return failure();
      generic = *made;
    }
    if (failed(linalg::interchangeGenericOp(rewriter, generic, order)))
      return failure();
  }
  return success();
}

/// Gives every linalg operation but fills the generic form, and operations
/// like `arith.addf` on tensors too.
LogicalResult BodyNormalizer::generalize() {
  if (failed(generalizeElementwise(chain)))
    return failure();
  for (linalg::LinalgOp op : collect<linalg::LinalgOp>())
    if (!isa<linalg::GenericOp, linalg::FillOp>(op) && !generalize(op))
      return failure();
  return success();
}

/// `op`, a named operation, in the generic form; null if it has none.
linalg::GenericOp BodyNormalizer::generalize(linalg::LinalgOp op) {
  rewriter.setInsertionPoint(op);
  return linalg::generalizeNamedOp(rewriter, op).value_or(linalg::GenericOp());
}

/// Cuts off what windows do not reach of `input`, where they move nowhere or
/// have one tap: without their unit dimensions they would seem to reach it.
void BodyNormalizer::cropWindows(linalg::GenericOp op, OpOperand &input) {
  auto type = cast<RankedTensorType>(input.get().getType());
  SmallVector<int64_t> extents = op.getStaticLoopRanges(),
                       shape(type.getShape());
  for (auto [size, expr] :
       llvm::zip_equal(shape, op.getMatchingIndexingMap(&input).getResults())) {
    std::optional<AffineIndex> index = linearize(expr, extents);
    if (!index || index->terms.size() > 1 || isa<AffineDimExpr>(expr))
      continue;
    size = index->offset + 1;
    for (auto [loop, factor] : index->terms)
      size += factor * (extents[loop] - 1);
  }
  if (shape == type.getShape())
    return;
  SmallVector<OpFoldResult> offsets(shape.size(), rewriter.getIndexAttr(0)),
      ones(shape.size(), rewriter.getIndexAttr(1));
  rewriter.setInsertionPoint(op);
  input.set(tensor::ExtractSliceOp::create(
      rewriter, op.getLoc(), input.get(), offsets,
      getAsIndexOpFoldResult(op.getContext(), shape), ones));
}

void BodyNormalizer::cropWindows() {
  for (linalg::GenericOp op : collect<linalg::GenericOp>())
    if (isSupportedOperator(op))
      for (OpOperand *input : op.getDpsInputOperands())
        cropWindows(op, *input);
}

namespace {
/// Where a unit dimension merged with another, an index is still divided by the
/// extent of the other, which it is below.
template <typename OpTy, bool isRemainder>
struct FoldShortIndex : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    auto index = op.getLhs().template getDefiningOp<linalg::IndexOp>();
    APInt divisor;
    if (!index || !matchPattern(op.getRhs(), m_ConstantInt(&divisor)))
      return failure();
    auto loops = cast<linalg::LinalgOp>(index->getParentOp());
    int64_t extent = loops.getStaticLoopRanges()[index.getDim()];
    if (ShapedType::isDynamic(extent) || extent > divisor.getSExtValue())
      return failure();
    if (isRemainder)
      rewriter.replaceOp(op, index);
    else
      rewriter.replaceOpWithNewOp<arith::ConstantIndexOp>(op, 0);
    return success();
  }
};
} // namespace

/// Patterns that drop unit dimensions, and those that simplify the reshapes
/// and indices they leave behind.
static void populateUnitDimPatterns(RewritePatternSet &patterns) {
  patterns.add<FoldShortIndex<arith::RemSIOp, true>,
               FoldShortIndex<arith::DivSIOp, false>>(patterns.getContext());
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

Value chimera::createIntegerSums(
    OpBuilder &builder, linalg::LinalgOp op, ValueRange factors,
    ArrayRef<AffineMap> maps, Value start,
    function_ref<Value(OpBuilder &, unsigned, Value)> integerOf) {
  return linalg::GenericOp::create(
             builder, op.getLoc(), start.getType(), factors, start, maps,
             op.getIteratorTypesArray(),
             [&](OpBuilder &body, Location loc, ValueRange arguments) {
               Value product = arith::MulIOp::create(
                   body, loc, integerOf(body, 0, arguments[0]),
                   integerOf(body, 1, arguments[1]));
               linalg::YieldOp::create(body, loc,
                                       Value(arith::AddIOp::create(
                                           body, loc, arguments[2], product)));
             })
      .getResult(0);
}

void chimera::eraseUnused(func::FuncOp function) {
  SmallVector<Operation *> ops;
  for (Operation &op : function.getBody().front())
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      op->erase();
}

Value chimera::createFilled(OpBuilder &builder, Location loc, Type type,
                            ArrayRef<int64_t> shape, double number) {
  Value value = createNumber(builder, loc, type, number);
  Value empty = tensor::EmptyOp::create(builder, loc, shape, type);
  return linalg::FillOp::create(builder, loc, value, empty).getResult(0);
}

void BodyNormalizer::splitAccumulator(linalg::GenericOp op) {
  Location loc = op.getLoc();
  Value init = op.getDpsInits()[0], product = op.getResult(0);
  auto type = cast<RankedTensorType>(init.getType());
  rewriter.setInsertionPoint(op);
  op.getDpsInitsMutable()[0].set(createFilled(
      rewriter, loc, type.getElementType(), type.getShape(), /*number=*/0));
  if (isZero(init))
    return;
  rewriter.setInsertionPointAfter(op);
  Value empty = tensor::EmptyOp::create(rewriter, loc, type.getShape(),
                                        type.getElementType());
  linalg::GenericOp sum = generalize(linalg::AddOp::create(
      rewriter, loc, ValueRange{product, init}, ValueRange{empty}));
  rewriter.replaceAllUsesExcept(product, sum.getResult(0), sum);
}

void BodyNormalizer::splitAccumulators() {
  for (linalg::GenericOp op : collect<linalg::GenericOp>())
    if (isSupportedOperator(op) && !isZeroFill(op.getDpsInits()[0]))
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

/// True if `value` is an operand of the chain, moved and reshaped.
static bool isOperandOfChain(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (!isReshape(op) && !(generic && isMovement(generic)))
      return false;
    value = op->getOperand(0);
  }
  return true;
}

/// True if a loop of `type` of `op` moves along dimension `dim` of `operand`.
static bool moves(linalg::GenericOp op, OpOperand &operand, unsigned dim,
                  utils::IteratorType type) {
  AffineExpr index = op.getMatchingIndexingMap(&operand).getResult(dim);
  return llvm::any_of(
      llvm::enumerate(op.getIteratorTypesArray()), [&](const auto &loop) {
        return loop.value() == type && index.isFunctionOfDim(loop.index());
      });
}

/// True if `operand` had better be read from what `transpose` makes of an
/// operand of the chain than across. Vectors run along the last dimension of a
/// result: an elementwise kernel gathers none, and what a contraction reads
/// without that dimension gives it rows, for which the model says.
bool BodyNormalizer::staysTransposed(linalg::GenericOp transpose,
                                     OpOperand &operand) {
  auto op = cast<linalg::GenericOp>(operand.getOwner());
  std::optional<SmallVector<int64_t>> order =
      linalg::isaTransposeOpInterface(transpose);
  AffineMap read = op.getMatchingIndexingMap(&operand),
            written = op.getIndexingMapsArray().back();
  auto columns = dyn_cast_if_present<AffineDimExpr>(
      written.getNumResults() == 0 ? AffineExpr()
                                   : written.getResults().back());
  if (support.lanes == 0 || !order || order->empty() || !columns ||
      !isOperandOfChain(transpose.getInputs().front()))
    return false;
  // Of what is transposed, neighbours in memory lie along `neighbours`.
  unsigned last = order->size() - 1,
           neighbours = llvm::find(*order, last) - order->begin();
  if (isParallel(op))
    return neighbours != last && read.getResult(last) == columns;
  if (read.isFunctionOfDim(columns.getPosition()) ||
      moves(op, operand, last, utils::IteratorType::parallel) ||
      !moves(op, operand, last, utils::IteratorType::reduction) ||
      !moves(op, operand, neighbours, utils::IteratorType::parallel))
    return false;
  double uses = 1.0 / support.lanes;
  for (int64_t extent : op.getStaticLoopRanges())
    uses *= extent;
  auto type = cast<RankedTensorType>(operand.get().getType());
  bool hasWindows = llvm::any_of(read.getResults(), [](AffineExpr index) {
    return !isa<AffineDimExpr>(index);
  });
  bool comesAgain =
      hasWindows || llvm::is_contained(support.inPairs, type.getElementType());
  return uses / type.getNumElements() >=
         (comesAgain ? model::repeatedUsesWorthTransposing
                     : support.usesWorthTransposing);
}

/// Elementwise operations fuse into their only user. Into a contraction only
/// what is a matter of indexing does; and a transpose or broadcast moves on to
/// its own users rather than take in what it reads.
bool BodyNormalizer::mayFuse(OpOperand *operand) {
  auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
  auto consumer = cast<linalg::LinalgOp>(operand->getOwner());
  if (!producer || !isParallel(producer) || widensTruthValues(producer))
    return false;
  if (isMovement(producer) && !isMovement(consumer) &&
      staysTransposed(producer, *operand))
    return false;
  if (!isParallel(consumer) || isMovement(consumer))
    return isMovement(producer);
  return llvm::all_of(producer->getUsers(),
                      [&](Operation *user) { return user == consumer; });
}

LogicalResult BodyNormalizer::fuseElementwise() {
  RewritePatternSet patterns(chain.getContext());
  linalg::populateElementwiseOpsFusionPatterns(
      patterns, [this](OpOperand *operand) { return mayFuse(operand); });
  linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
  tensor::CollapseShapeOp::getCanonicalizationPatterns(patterns,
                                                       chain.getContext());
  tensor::ExpandShapeOp::getCanonicalizationPatterns(patterns,
                                                     chain.getContext());
  return apply(std::move(patterns));
}

/// Lets `op`, whose output map is a permutation, write its loops in their
/// order, with a transpose behind it.
void BodyNormalizer::transposeResult(linalg::GenericOp op) {
  Location loc = op.getLoc();
  Value result = op.getResult(0);
  auto type = cast<RankedTensorType>(result.getType());
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<int64_t> order = llvm::to_vector(
      llvm::map_range(maps.back().getResults(), [](AffineExpr expr) -> int64_t {
        return cast<AffineDimExpr>(expr).getPosition();
      }));
  maps.back() = rewriter.getMultiDimIdentityMap(order.size());
  rewriter.setInsertionPoint(op);
  Value empty = tensor::EmptyOp::create(rewriter, loc, op.getStaticLoopRanges(),
                                        type.getElementType());
  op.getDpsInitsMutable()[0].set(empty);
  op.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(maps));
  result.setType(cast<RankedTensorType>(empty.getType()));

  rewriter.setInsertionPointAfter(op);
  Value target = tensor::EmptyOp::create(rewriter, loc, type.getShape(),
                                         type.getElementType());
  linalg::GenericOp transposed = generalize(
      linalg::TransposeOp::create(rewriter, loc, result, target, order));
  rewriter.replaceAllUsesExcept(result, transposed.getResult(0), transposed);
}

/// Makes `op` read the contraction it finishes, and write its result, with the
/// identity map. True if something had to change.
bool BodyNormalizer::alignEpilogue(linalg::GenericOp op) {
  linalg::GenericOp finished = getFinishedContraction(op);
  if (!finished || isMovement(op) || op.getNumDpsInits() != 1)
    return false;
  // A producer that was fused into the contraction may have left its result
  // there, beside the sums.
  auto isSum = [&](Value operand) {
    return operand.getDefiningOp() == finished;
  };
  unsigned position = std::distance(op->operand_begin(),
                                    llvm::find_if(op->getOperands(), isSum));
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
  if (failed(generalize()))
    return failure();
  cropWindows();
  if (failed(orderReductions(chain)) || failed(mergeDimensions()) ||
      failed(splitDimensions()))
    return failure();
  splitAccumulators();
  if (failed(normalizeSoftmax(chain)))
    return failure();
  return fuse();
}

LogicalResult chimera::normalizeBody(ChainOp chain,
                                     const OperatorSupport &support) {
  return BodyNormalizer(chain, support).run();
}
