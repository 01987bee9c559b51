//===- NormalizeSoftmax.cpp - One form for a softmax in any spelling ------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What lies between two contractions, and behind the second, is read as
// expressions. SoftmaxExpression.cpp says whether they are a softmax and what
// the result becomes; here they are read and written as operations in the one
// form, and that form is matched for those who rely on it.
//
//===----------------------------------------------------------------------===//

#include "Form/NormalizeSoftmax.h"

#include "Chimera/Chain/Softmax.h"

#include "Chimera/Chain/ScalarExpressions.h"
#include "Chimera/Chain/SoftmaxExpression.h"

#include "Chimera/Chain/ChainAnalysis.h"
#include "Chimera/Chain/OpKinds.h"
#include "Chimera/IR/NumberTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;
using namespace chimera;

//===----------------------------------------------------------------------===//

namespace {

class SoftmaxNormalizer {
public:
  SoftmaxNormalizer(linalg::GenericOp first, linalg::GenericOp second,
                    OpOperand &factor);

  LogicalResult run();

private:
  Value followTail(SmallVector<PointDim> &dims);
  double takeScale(unsigned operand);

  void emitSoftmax();
  void emitResult(ExprId result, Value tail, ArrayRef<PointDim> dims);
  Value emitReduction(Value source, double neutral, bool isMaximum);
  Value emitExponential();
  Value emitNarrowed(Value exponential);

  SmallVector<PointDim> getDims(OpOperand &operand) {
    AffineMap map = second.getMatchingIndexingMap(&operand);
    SmallVector<PointDim> dims;
    for (unsigned i = 0; i < map.getNumResults(); ++i)
      dims.push_back(map.getDimPosition(i));
    return dims;
  }
  SmallVector<int64_t> getExtents(ArrayRef<PointDim> dims) {
    SmallVector<int64_t> ranges = second.getStaticLoopRanges(), extents;
    for (PointDim dim : dims)
      extents.push_back(ranges[dim]);
    return extents;
  }
  Location loc() { return second.getLoc(); }

  linalg::GenericOp first, second;
  OpOperand &factor;
  OpBuilder builder;
  PointDim rowDim;
  ExprPool pool;
  ExprReader reader;
  /// In which the softmax is computed.
  Type wide;

  SmallVector<PointDim> scoreDims, rowDims, outputDims;
  ShiftedExponential own;
  Value scoreTensor, maximumTensor, exponentialTensor, sumTensor;
};

} // namespace

static PointDim getReducedDim(linalg::GenericOp op) {
  SmallVector<unsigned> reduced;
  op.getReductionDims(reduced);
  return reduced[0];
}

SoftmaxNormalizer::SoftmaxNormalizer(linalg::GenericOp first,
                                     linalg::GenericOp second,
                                     OpOperand &factor)
    : first(first), second(second), factor(factor), builder(second),
      rowDim(getReducedDim(second)),
      pool(second.getContext(), rowDim, second.getStaticLoopRanges()),
      reader(pool, rowDim, second.getStaticLoopRanges()[rowDim]),
      wide(getElementTypeOrSelf(first.getResult(0))) {}

/// Lets `first` read its operand before it is scaled, and returns the factor.
double SoftmaxNormalizer::takeScale(unsigned operand) {
  double scale = 1;
  while (true) {
    OpOperand &use = first->getOpOperand(operand);
    auto producer = use.get().getDefiningOp<linalg::GenericOp>();
    if (!producer)
      return scale;
    std::optional<double> own = getScale(producer);
    if (!own && !isMovement(producer))
      return scale;
    AffineMap written = producer.getIndexingMapsArray().back();
    AffineMap read = producer.getIndexingMapsArray().front();
    if (!written.isPermutation())
      return scale;
    SmallVector<AffineMap> maps = first.getIndexingMapsArray();
    maps[operand] =
        read.compose(inversePermutation(written)).compose(maps[operand]);
    first.setIndexingMapsAttr(builder.getAffineMapArrayAttr(maps));
    use.set(producer.getDpsInputs()[0]);
    scale *= own.value_or(1);
  }
}

/// The elementwise operations that alone read the product, one after the other.
/// Returns the last value; `dims` becomes where it is read.
Value SoftmaxNormalizer::followTail(SmallVector<PointDim> &dims) {
  Value value = second.getResult(0);
  while (value.hasOneUse()) {
    OpOperand &use = *value.use_begin();
    auto user = dyn_cast<linalg::GenericOp>(use.getOwner());
    if (!user || !isParallel(user) || user.getNumDpsInits() != 1)
      break;
    AffineMap read = user.getMatchingIndexingMap(&use);
    AffineMap written = user.getIndexingMapsArray().back();
    if (!read.isPermutation() || !written.isPermutation())
      break;
    SmallVector<PointDim> loops(user.getNumLoops()), result;
    for (auto [index, dim] : llvm::enumerate(dims))
      loops[read.getDimPosition(index)] = dim;
    for (unsigned i = 0; i < written.getNumResults(); ++i)
      result.push_back(loops[written.getDimPosition(i)]);
    dims = std::move(result);
    value = user.getResult(0);
  }
  return value;
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

static Value createFilled(OpBuilder &builder, Location loc, Type type,
                          ArrayRef<int64_t> shape, double value) {
  Value number = createNumber(builder, loc, type, value);
  Value empty = tensor::EmptyOp::create(builder, loc, shape, type);
  return linalg::FillOp::create(builder, loc, number, empty).getResult(0);
}

Value SoftmaxNormalizer::emitReduction(Value source, double neutral,
                                       bool isMaximum) {
  Value init = createFilled(builder, loc(), wide, getExtents(rowDims), neutral);
  SmallVector<AffineExpr> results;
  SmallVector<utils::IteratorType> iterators;
  for (auto [index, dim] : llvm::enumerate(scoreDims)) {
    bool isReduced = dim == rowDim;
    iterators.push_back(isReduced ? utils::IteratorType::reduction
                                  : utils::IteratorType::parallel);
    if (!isReduced)
      results.push_back(builder.getAffineDimExpr(index));
  }
  SmallVector<AffineMap> maps = {
      builder.getMultiDimIdentityMap(scoreDims.size()),
      AffineMap::get(scoreDims.size(), 0, results, builder.getContext())};
  auto reduction = linalg::GenericOp::create(
      builder, loc(), init.getType(), source, init, maps, iterators,
      [&](OpBuilder &body, Location loc, ValueRange arguments) {
        Value combined =
            isMaximum ? arith::MaximumFOp::create(body, loc, arguments[1],
                                                  arguments[0],
                                                  arith::FastMathFlags::nnan)
                            .getResult()
                      : createSum(body, loc, arguments[1], arguments[0]);
        linalg::YieldOp::create(body, loc, combined);
      });
  return reduction.getResult(0);
}

/// exp(factor * (score - maximum)), or of the score alone where the maximum is
/// minus infinity.
Value SoftmaxNormalizer::emitExponential() {
  ExprId element = pool.tensor(scoreTensor, scoreDims);
  ExprId most = pool.tensor(maximumTensor, rowDims);
  ExprId isMasked = pool.compare(
      "arith.cmpf", static_cast<int64_t>(arith::CmpFPredicate::OEQ), most,
      pool.number(-INFINITY, wide));
  ExprId shift = pool.operation("arith.select", wide,
                                {isMasked, pool.number(0.0, wide), most});
  ExprId exponent = pool.operation("arith.subf", wide, {element, shift});
  if (own.exponentFactor != 1)
    exponent = pool.operation(
        "arith.mulf", wide, {exponent, pool.number(own.exponentFactor, wide)});
  return pool.emit(builder, loc(),
                   pool.operation(pool[own.exponential].name, wide, {exponent}),
                   scoreDims, getExtents(scoreDims));
}

/// `exponential` in the type of the product's factors.
Value SoftmaxNormalizer::emitNarrowed(Value exponential) {
  Type type = getElementTypeOrSelf(factor.get());
  if (type == wide)
    return exponential;
  ExprId element = pool.tensor(exponential, scoreDims);
  return pool.emit(builder, loc(),
                   pool.operation("arith.truncf", type, {element}), scoreDims,
                   getExtents(scoreDims));
}

void SoftmaxNormalizer::emitSoftmax() {
  builder.setInsertionPoint(second);
  scoreTensor = first.getResult(0);
  if (own.score != pool.tensor(scoreTensor, scoreDims))
    scoreTensor =
        pool.emit(builder, loc(), own.score, scoreDims, getExtents(scoreDims));
  maximumTensor = emitReduction(scoreTensor, -INFINITY, /*isMaximum=*/true);
  exponentialTensor = emitExponential();
  sumTensor = emitReduction(exponentialTensor, 0, /*isMaximum=*/false);

  unsigned operand = factor.getOperandNumber();
  SmallVector<AffineMap> maps = second.getIndexingMapsArray();
  SmallVector<AffineExpr> results;
  for (PointDim dim : scoreDims)
    results.push_back(builder.getAffineDimExpr(dim));
  maps[operand] =
      AffineMap::get(second.getNumLoops(), 0, results, builder.getContext());
  second.setIndexingMapsAttr(builder.getAffineMapArrayAttr(maps));
  factor.set(emitNarrowed(exponentialTensor));
}

/// Puts `result`, read at `dims`, in the place of `tail`.
void SoftmaxNormalizer::emitResult(ExprId result, Value tail,
                                   ArrayRef<PointDim> dims) {
  builder.setInsertionPointAfterValue(tail);
  Value value =
      pool.emit(builder, loc(), result, outputDims, getExtents(outputDims));
  if (dims != ArrayRef<PointDim>(outputDims)) {
    ExprId element = pool.tensor(value, outputDims);
    value = pool.emit(builder, loc(), element, dims, getExtents(dims));
  }
  tail.replaceUsesWithIf(value, [&](OpOperand &use) {
    return use.getOwner() != value.getDefiningOp();
  });
}

LogicalResult SoftmaxNormalizer::run() {
  SmallVector<PointDim> tailDims = outputDims =
      getDims(*second.getDpsInitOperand(0));
  double scale = takeScale(0) * takeScale(1);
  reader.define(first.getResult(0), scale);
  std::optional<ExprId> factorExpr = reader.read(factor.get(), getDims(factor));
  std::optional<SmallVector<PointDim>> point =
      reader.getPoint(first.getResult(0));
  if (!factorExpr || !point)
    return failure();
  // To be rounded again once the rest has moved behind the product.
  if (pool.isOperation(*factorExpr, "arith.truncf"))
    factorExpr = pool[*factorExpr].operands[0];
  std::optional<ShiftedExponential> found = findExponential(pool, *factorExpr);
  if (!found)
    return failure();
  own = *found;
  scoreDims = *point;
  for (PointDim dim : scoreDims)
    if (dim != rowDim)
      rowDims.push_back(dim);
  if (rowDims.size() + 1 != scoreDims.size() ||
      !llvm::all_of(rowDims, [&](PointDim dim) {
        return llvm::is_contained(outputDims, dim);
      }))
    return failure();

  Value tail = followTail(tailDims);
  reader.define(second.getResult(0), 1, outputDims);
  std::optional<ExprId> tailExpr = reader.read(tail, tailDims);
  if (!tailExpr)
    return failure();
  emitSoftmax();
  SoftmaxParts parts;
  parts.product = pool.tensor(second.getResult(0), outputDims);
  parts.sum = pool.tensor(sumTensor, rowDims);
  parts.maximum = pool.tensor(maximumTensor, rowDims);
  std::optional<ExprId> result =
      moveBehindProduct(pool, own, parts, *factorExpr, *tailExpr);
  if (!result)
    return failure();
  emitResult(*result, tail, tailDims);
  return success();
}

//===----------------------------------------------------------------------===//
// The body
//===----------------------------------------------------------------------===//

/// Collects the contractions that `value` depends on and what is reduced on the
/// way to them.
static void collectProducers(Value value,
                             llvm::SetVector<Operation *> &contractions,
                             llvm::SetVector<Operation *> &reductions,
                             llvm::DenseSet<Operation *> &seen) {
  auto op = value.getDefiningOp<linalg::GenericOp>();
  if (!op || !seen.insert(op).second)
    return;
  if (isSupportedContraction(op)) {
    contractions.insert(op);
    return;
  }
  if (!isParallel(op))
    reductions.insert(op);
  for (Value operand : op->getOperands())
    collectProducers(operand, contractions, reductions, seen);
}

static LogicalResult normalizeFactor(linalg::GenericOp second,
                                     OpOperand &factor) {
  llvm::SetVector<Operation *> contractions, reductions;
  llvm::DenseSet<Operation *> seen;
  collectProducers(factor.get(), contractions, reductions, seen);
  if (reductions.empty() || contractions.empty())
    return success();
  if (contractions.size() != 1 || second.getNumReductionLoops() != 1)
    return failure();
  auto first = cast<linalg::GenericOp>(contractions[0]);
  return SoftmaxNormalizer(first, second, factor).run();
}

/// Truth values lie in memory as bytes, and are loaded as such: reads each
/// input of them through a conversion, which can be made outside the chain.
static void widenTruthValues(ChainOp chain) {
  Block &body = chain.getBody().front();
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  for (BlockArgument argument : body.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type || !type.getElementType().isInteger(1) || type.getRank() == 0)
      continue;
    Type byte = builder.getI8Type();
    auto convert = [&](Value source, Type to, auto body) {
      Value empty =
          tensor::EmptyOp::create(builder, chain.getLoc(), type.getShape(), to);
      return linalg::GenericOp::create(
                 builder, chain.getLoc(), empty.getType(), source, empty,
                 SmallVector<AffineMap>(
                     2, builder.getMultiDimIdentityMap(type.getRank())),
                 SmallVector<utils::IteratorType>(
                     type.getRank(), utils::IteratorType::parallel),
                 body)
          .getResult(0);
    };
    Value widened = convert(
        argument, byte, [&](OpBuilder &b, Location loc, ValueRange arguments) {
          Value wide = arith::ExtUIOp::create(b, loc, byte, arguments[0]);
          linalg::YieldOp::create(b, loc, wide);
        });
    Operation *widening = widened.getDefiningOp();
    Value narrowed =
        convert(widened, builder.getI1Type(),
                [&](OpBuilder &b, Location loc, ValueRange arguments) {
                  Value zero = arith::ConstantIntOp::create(b, loc, byte, 0);
                  Value isSet = arith::CmpIOp::create(
                      b, loc, arith::CmpIPredicate::ne, arguments[0], zero);
                  linalg::YieldOp::create(b, loc, isSet);
                });
    argument.replaceAllUsesExcept(narrowed, widening);
  }
}

LogicalResult chimera::normalizeSoftmax(ChainOp chain) {
  Block &body = chain.getBody().front();
  bool hasReduction =
      llvm::any_of(body.getOps<linalg::GenericOp>(), [](linalg::GenericOp op) {
        return isRowReduction(op) && !isSupportedContraction(op);
      });
  if (!hasReduction)
    return success();
  widenTruthValues(chain);
  for (linalg::GenericOp op :
       llvm::to_vector(body.getOps<linalg::GenericOp>())) {
    if (!isSupportedContraction(op))
      continue;
    for (OpOperand *factor : op.getDpsInputOperands())
      if (failed(normalizeFactor(op, *factor)))
        return failure();
  }
  // What nobody reads any more.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      op.erase();
  return success();
}
