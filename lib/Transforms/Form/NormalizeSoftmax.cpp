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

#include "Form/NormalizeChain.h"

#include "Chimera/Chain/Softmax.h"

#include "Chimera/Chain/ScalarExpressions.h"
#include "Chimera/Chain/SoftmaxExpression.h"

#include "Chimera/Chain/ChainAnalysis.h"
#include "Chimera/Chain/OpKinds.h"
#include "Chimera/IR/NumberTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
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
    auto dims = llvm::to_vector(llvm::seq<PointDim>(second.getNumLoops()));
    return applyPermutationMap<PointDim>(
        second.getMatchingIndexingMap(&operand), dims);
  }
  SmallVector<int64_t> getExtents(ArrayRef<PointDim> dims) {
    SmallVector<int64_t> ranges = second.getStaticLoopRanges();
    return llvm::map_to_vector(dims, [&](PointDim dim) { return ranges[dim]; });
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
  /// What the product's factor is rounded to; null if it is not.
  Type rounded;

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

/// Lets `op` read `tensor`, of its type or a narrower one, as `factor`.
static void setFactor(linalg::GenericOp op, OpOperand &factor, Value tensor) {
  BlockArgument scalar = op.getMatchingBlockArgument(&factor);
  Type type = scalar.getType(), narrow = getElementTypeOrSelf(tensor);
  factor.set(tensor);
  if (type == narrow)
    return;
  scalar.setType(narrow);
  OpBuilder builder = OpBuilder::atBlockBegin(op.getBlock());
  auto widened = arith::ExtFOp::create(builder, op.getLoc(), type, scalar);
  scalar.replaceAllUsesExcept(widened, widened);
}

/// True if each loop is in one of the maps. Sums over a dimension along which
/// both factors are repeated would lose it.
static bool coverLoops(ArrayRef<AffineMap> maps) {
  return llvm::all_of(llvm::seq(maps.front().getNumDims()), [&](unsigned loop) {
    return llvm::any_of(
        maps, [&](AffineMap map) { return map.isFunctionOfDim(loop); });
  });
}

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
    if (!coverLoops(maps))
      return scale;
    first.setIndexingMapsAttr(builder.getAffineMapArrayAttr(maps));
    setFactor(first, use, producer.getDpsInputs()[0]);
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
    dims = applyPermutationMap<PointDim>(
        written.compose(inversePermutation(read)), dims);
    value = user.getResult(0);
  }
  return value;
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

Value SoftmaxNormalizer::emitReduction(Value source, double neutral,
                                       bool isMaximum) {
  IRRewriter rewriter(builder);
  Value init =
      createFilled(rewriter, loc(), wide, getExtents(rowDims), neutral);
  int64_t row = std::distance(scoreDims.begin(), llvm::find(scoreDims, rowDim));
  auto reduction = linalg::ReduceOp::create(
      rewriter, loc(), source, init, row,
      [&](OpBuilder &body, Location loc, ValueRange arguments) {
        Value combined =
            isMaximum ? arith::MaximumFOp::create(body, loc, arguments[1],
                                                  arguments[0],
                                                  arith::FastMathFlags::nnan)
                            .getResult()
                      : createSum(body, loc, arguments[1], arguments[0]);
        linalg::YieldOp::create(body, loc, combined);
      });
  return linalg::generalizeNamedOp(rewriter, reduction)->getResult(0);
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

/// What the elements of `tensor` are, if a generic operation computes them.
static Value getYielded(Value tensor) {
  auto op = tensor.getDefiningOp<linalg::GenericOp>();
  return op ? op.getBody()->getTerminator()->getOperand(0) : Value();
}

/// True if the conversion that ends the computation of `tensor` may make zeros
/// of denormal numbers.
static bool isFlushed(Value tensor) {
  Value yielded = getYielded(tensor);
  return yielded && flushesDenormals(yielded);
}

/// `exponential` as the product reads it: in the type of its factors, and
/// rounded if they are.
Value SoftmaxNormalizer::emitNarrowed(Value exponential) {
  Type type = getElementTypeOrSelf(factor.get());
  if (type == wide && !rounded)
    return exponential;
  ExprId element = pool.operation("arith.truncf", rounded ? rounded : type,
                                  {pool.tensor(exponential, scoreDims)});
  if (type == wide)
    element = pool.operation("arith.extf", wide, {element});
  Value narrowed =
      pool.emit(builder, loc(), element, scoreDims, getExtents(scoreDims));
  // Expressions have no flags.
  if (isFlushed(factor.get()))
    setFlushesDenormals(getYielded(narrowed));
  return narrowed;
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
  maps[operand] = AffineMap::getMultiDimMapWithTargets(
      second.getNumLoops(), scoreDims, builder.getContext());
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

bool chimera::widensTruthValues(linalg::GenericOp op) {
  auto isTruth = [](Value value) {
    return getElementTypeOrSelf(value).isInteger(1);
  };
  if (op.getNumDpsInputs() != 1 || op->getNumResults() != 1 ||
      !isTruth(op.getDpsInputs()[0]) ||
      !isa<arith::ExtUIOp>(op.getBlock()->front()))
    return false;
  Value source = op.getDpsInputs()[0];
  while (Operation *reshape = source.getDefiningOp()) {
    if (!isReshape(reshape))
      return false;
    source = reshape->getOperand(0);
  }
  return true;
}

LogicalResult SoftmaxNormalizer::run() {
  SmallVector<PointDim> tailDims = outputDims =
      getDims(*second.getDpsInitOperand(0));
  for (auto op : second->getBlock()->getOps<linalg::GenericOp>())
    if (widensTruthValues(op))
      reader.define(op.getResult(0));
  double scale = takeScale(0) * takeScale(1);
  reader.define(first.getResult(0), scale);
  std::optional<ExprId> factorExpr = reader.read(factor.get(), getDims(factor));
  std::optional<SmallVector<PointDim>> point =
      reader.getPoint(first.getResult(0));
  if (!factorExpr || !point)
    return failure();
  // To be rounded again once the rest has moved behind the product.
  ExprId narrow = *factorExpr;
  if (pool.isOperation(narrow, "arith.extf"))
    narrow = pool[narrow].operands[0];
  if (pool.isOperation(narrow, "arith.truncf")) {
    rounded = pool[narrow].type;
    factorExpr = pool[narrow].operands[0];
  }
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

/// Brings what lies between a contraction and `factor` of `second` into the
/// form, if something is reduced there.
static LogicalResult normalizeFactor(linalg::GenericOp second,
                                     OpOperand &factor) {
  llvm::SetVector<Operation *> sources;
  SmallVector<linalg::GenericOp> contractions;
  bool hasReduction = false;
  auto add = [&](Value value) {
    if (auto op = value.getDefiningOp<linalg::GenericOp>())
      sources.insert(op);
  };
  add(factor.get());
  for (size_t i = 0; i < sources.size(); ++i) {
    auto op = cast<linalg::GenericOp>(sources[i]);
    if (isSupportedContraction(op)) {
      contractions.push_back(op);
      continue;
    }
    hasReduction |= !isParallel(op);
    llvm::for_each(op->getOperands(), add);
  }
  if (!hasReduction || contractions.empty())
    return success();
  if (contractions.size() != 1 || second.getNumReductionLoops() != 1)
    return failure();
  return SoftmaxNormalizer(contractions[0], second, factor).run();
}

/// Truth values lie in memory as bytes, and are loaded as such: reads each
/// input of them, reshaped or not, through a conversion, which can be made
/// outside the chain.
static void widenTruthValues(ChainOp chain) {
  OpBuilder builder(chain.getContext());
  auto arguments = chain.getBody().front().getArguments();
  SmallVector<Value> inputs(arguments.begin(), arguments.end());
  for (size_t i = 0; i < inputs.size(); ++i) {
    Value input = inputs[i];
    auto type = dyn_cast<RankedTensorType>(input.getType());
    if (!type || !type.getElementType().isInteger(1) || type.getRank() == 0)
      continue;
    for (Operation *user : input.getUsers())
      if (isReshape(user))
        inputs.push_back(user->getResult(0));
    builder.setInsertionPointAfterValue(input);
    Type byte = builder.getI8Type();
    auto dims = llvm::to_vector(llvm::seq<PointDim>(type.getRank()));
    ExprPool pool(chain.getContext(), /*rowDim=*/0, type.getShape());
    auto emit = [&](ExprId expr) {
      return pool.emit(builder, chain.getLoc(), expr, dims, type.getShape());
    };
    Value widened =
        emit(pool.operation("arith.extui", byte, {pool.tensor(input, dims)}));
    Value narrowed = emit(pool.compare(
        "arith.cmpi", static_cast<int64_t>(arith::CmpIPredicate::ne),
        pool.tensor(widened, dims), pool.number(0, byte)));
    input.replaceUsesWithIf(narrowed, [&](OpOperand &use) {
      return use.getOwner() != widened.getDefiningOp() &&
             !isReshape(use.getOwner());
    });
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
