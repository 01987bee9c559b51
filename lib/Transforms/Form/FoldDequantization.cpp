//===- FoldDequantization.cpp - Contractions with quantized factors -------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programs with quantized weights make floats of them, multiply these by their
// scales, reshape and transpose them, and hand them to a product. Computed once
// before the first call, the floats would take four to eight times the memory
// of the codes, and so would reading them, which is what a product with few
// rows waits for. So the contraction itself decodes what it reads:
//
//   copies of what makes the weights move into a copy of the contraction,
//     from the product back to the integers; where groups of codes have been
//     merged into one dimension, its loop is split;
//   a scale that does not change along the sum moves behind it;
//   codes of at most eight bits, four or eight to a word, become fields of it.
//
// A factor that does not end up in the form of ProductBody.h stays as it was.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Chain/OpKinds.h"
#include "Chimera/Chain/SameInEveryCall.h"
#include "Chimera/IR/Chimera.h"
#include "Chimera/IR/MicroKernels.h"
#include "Chimera/IR/NumberTypes.h"
#include "Chimera/IR/ProductBody.h"
#include "Chimera/Target/Target.h"
#include "Chimera/Transforms/Passes.h"
#include "Form/BodyParts.h"
#include "Form/CodeRange.h"
#include "Form/NormalizeChain.h"
#include "Form/SplitLoop.h"
#include "Form/StoreCodes.h"
#include "NamedRemarks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

namespace chimera {
#define GEN_PASS_DEF_FOLDDEQUANTIZATIONPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

//===----------------------------------------------------------------------===//
// What makes weights
//===----------------------------------------------------------------------===//

/// The structured operation that makes `value` element by element, if one does.
static linalg::LinalgOp getElementwise(Value value) {
  auto op = value.getDefiningOp<linalg::LinalgOp>();
  return op && isParallel(op) && op.getNumDpsInits() == 1 &&
                 op.hasPureTensorSemantics() &&
                 !isa<linalg::FillOp>(op.getOperation())
             ? op
             : nullptr;
}

static bool decodes(linalg::LinalgOp op) {
  return llvm::any_of(*op.getBlock(), [](Operation &nested) {
    return isa<arith::SIToFPOp, arith::UIToFPOp>(nested);
  });
}

/// True if `value`, floats, is computed from integers.
static bool isDecoded(Value value) {
  llvm::SetVector<Value> slice;
  slice.insert(value);
  for (size_t i = 0; i < slice.size(); ++i) {
    if (!isa<FloatType>(getElementTypeOrSelf(slice[i])))
      continue;
    Operation *op = slice[i].getDefiningOp();
    linalg::LinalgOp elementwise = getElementwise(slice[i]);
    if (elementwise && decodes(elementwise))
      return true;
    if (op && (elementwise || isReshape(op)))
      slice.insert_range(op->getOperands());
  }
  return false;
}

/// True if `op` subtracts zeros from codes as integers.
static bool subtractsIntegers(linalg::LinalgOp op) {
  return op.getNumDpsInputs() > 1 &&
         llvm::any_of(op.getBlock()->getOps<arith::SubIOp>(),
                      [](Operation *) { return true; });
}

namespace {

/// Makes a contraction with a quantized factor of one with a factor of floats.
class DequantizationFolder {
public:
  DequantizationFolder(linalg::LinalgOp op, unsigned weight)
      : rewriter(op->getContext()), original(op), weight(weight) {}

  /// Fails, with the program as it was, if there is no such factor.
  LogicalResult run();

private:
  bool mayFold();
  LogicalResult fold();
  LogicalResult copy();
  LogicalResult absorb();
  LogicalResult absorb(OpOperand &operand);
  LogicalResult absorbElementwise(OpOperand &operand);
  LogicalResult absorbCollapse(OpOperand &operand,
                               tensor::CollapseShapeOp collapse);
  LogicalResult absorbExpand(OpOperand &operand, tensor::ExpandShapeOp expand);
  void subtractAsFloats();
  Value createFactor(OpBuilder &body, Value code, IRMapping &mapping) const;
  bool hasCommonScale() const;
  void addOperands(Value part, SmallVectorImpl<Value> &operands,
                   SmallVectorImpl<AffineMap> &maps,
                   SmallVectorImpl<Value> &sources);
  linalg::GenericOp createContraction();
  Value scale(Value sums);

  Location loc() { return original.getLoc(); }
  /// The other factor's operand: what is made in the contraction takes the
  /// place of the weights.
  unsigned getFactorNumber() {
    return weight == 0 ? contraction.getNumDpsInputs() - 1 : 0;
  }

  IRRewriter rewriter;
  linalg::LinalgOp original;
  unsigned weight;
  /// What the original becomes.
  linalg::GenericOp contraction;
  ProductBody product;
  StoredCodes codes;
};

} // namespace

/// True if `original` multiplies weights that are the same in every call, made
/// of integers, by vectors of them.
bool DequantizationFolder::mayFold() {
  std::optional<ProductBody> body = matchProductBody(*original.getBlock());
  if (!body || body->isQuantized() || !isSupportedContraction(original) ||
      !isZeroFill(original.getDpsInits()[0]))
    return false;
  SmallVector<AffineMap> maps = original.getIndexingMapsArray();
  unsigned columns = maps[2].getDimPosition(maps[2].getNumResults() - 1);
  Value weights = original.getDpsInputs()[weight];
  return maps[weight].isFunctionOfDim(columns) &&
         !maps[1 - weight].isFunctionOfDim(columns) &&
         isSameInEveryCall(weights) && isDecoded(weights);
}

/// Starts with a copy of the contraction.
LogicalResult DequantizationFolder::copy() {
  rewriter.setInsertionPoint(original);
  Operation *clone = rewriter.clone(*original);
  contraction = dyn_cast<linalg::GenericOp>(clone);
  if (!contraction) {
    FailureOr<linalg::GenericOp> generic =
        linalg::generalizeNamedOp(rewriter, cast<linalg::LinalgOp>(clone));
    if (failed(generic))
      return failure();
    contraction = *generic;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// From floats back to integers
//===----------------------------------------------------------------------===//

LogicalResult DequantizationFolder::absorbElementwise(OpOperand &operand) {
  linalg::LinalgOp producer = getElementwise(operand.get());
  rewriter.setInsertionPoint(contraction);
  // With a user besides, it would stay, and its result with it.
  auto clone = cast<linalg::LinalgOp>(rewriter.clone(*producer));
  auto generic = dyn_cast<linalg::GenericOp>(clone.getOperation());
  if (!generic) {
    FailureOr<linalg::GenericOp> made =
        linalg::generalizeNamedOp(rewriter, clone);
    if (failed(made))
      return failure();
    generic = *made;
  }
  operand.set(generic.getResult(0));
  if (!linalg::areElementwiseOpsFusable(&operand))
    return failure();
  FailureOr<linalg::ElementwiseOpFusionResult> fused =
      linalg::fuseElementwiseOps(rewriter, &operand);
  if (failed(fused) || fused->fusedOp->getNumResults() != 1)
    return failure();
  rewriter.eraseOp(contraction);
  rewriter.eraseOp(generic);
  contraction = cast<linalg::GenericOp>(fused->fusedOp);
  return success();
}

/// Reads what `collapse` merges with a loop for each of its dimensions.
LogicalResult
DequantizationFolder::absorbCollapse(OpOperand &operand,
                                     tensor::CollapseShapeOp collapse) {
  unsigned number = operand.getOperandNumber();
  ArrayRef<int64_t> shape = collapse.getSrcType().getShape();
  SmallVector<ReassociationIndices> groups = collapse.getReassociationIndices();
  // From the last on, so that dimensions keep their numbers.
  for (size_t dim = groups.size(); dim-- > 0;) {
    ArrayRef<int64_t> group = groups[dim];
    if (group.size() == 1)
      continue;
    auto index = dyn_cast<AffineDimExpr>(
        contraction.getMatchingIndexingMap(&contraction->getOpOperand(number))
            .getResult(dim));
    if (!index)
      return failure();
    SmallVector<int64_t> sizes;
    for (int64_t part : group)
      sizes.push_back(shape[part]);
    FailureOr<linalg::GenericOp> split =
        splitLoop(rewriter, contraction, index.getPosition(), sizes);
    if (failed(split))
      return failure();
    contraction = *split;
  }
  OpOperand &expanded = contraction->getOpOperand(number);
  if (expanded.get().getType() != collapse.getSrcType())
    return failure();
  expanded.set(collapse.getSrc());
  return success();
}

/// Reads what an elementwise operation of one tensor makes of an expanded shape
/// rather than the expanded result.
LogicalResult DequantizationFolder::absorbExpand(OpOperand &operand,
                                                 tensor::ExpandShapeOp expand) {
  linalg::LinalgOp producer = getElementwise(expand.getSrc());
  if (!producer || producer.getNumDpsInputs() != 1 ||
      !llvm::all_of(producer.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return failure();
  rewriter.setInsertionPoint(contraction);
  ArrayRef<int64_t> shape = expand.getResultType().getShape();
  auto expandValue = [&](Value value) -> Value {
    auto type = cast<RankedTensorType>(value.getType());
    return tensor::ExpandShapeOp::create(rewriter, loc(), type.clone(shape),
                                         value,
                                         expand.getReassociationIndices());
  };
  Value source = expandValue(producer.getDpsInputs()[0]);
  Value empty = tensor::EmptyOp::create(
      rewriter, loc(), shape, expand.getResultType().getElementType());
  SmallVector<AffineMap> maps(2, rewriter.getMultiDimIdentityMap(shape.size()));
  SmallVector<utils::IteratorType> iterators(shape.size(),
                                             utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(rewriter, loc(), empty.getType(),
                                           source, empty, maps, iterators);
  rewriter.cloneRegionBefore(producer->getRegion(0), generic.getRegion(),
                             generic.getRegion().begin());
  operand.set(generic.getResult(0));
  return success();
}

/// True if what `value` holds should be computed in the contraction.
static bool isAbsorbed(Value value) {
  if (auto collapse = value.getDefiningOp<tensor::CollapseShapeOp>();
      collapse && isa<FloatType>(getElementTypeOrSelf(value)))
    return isAbsorbed(collapse.getSrc());
  linalg::LinalgOp op = getElementwise(value);
  if (!isa<FloatType>(getElementTypeOrSelf(value)))
    return op && subtractsIntegers(op);
  return isDecoded(value) || (op && isMove(op));
}

LogicalResult DequantizationFolder::absorb(OpOperand &operand) {
  Operation *producer = operand.get().getDefiningOp();
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(producer))
    return absorbCollapse(operand, collapse);
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(producer))
    return absorbExpand(operand, expand);
  return absorbElementwise(operand);
}

/// Moves into the contraction what makes floats of codes, scales and zeros.
LogicalResult DequantizationFolder::absorb() {
  // What makes weights takes fewer steps.
  constexpr unsigned most = 32;
  for (unsigned step = 0; step < most; ++step) {
    auto inputs = contraction.getDpsInputOperands();
    auto next = llvm::find_if(inputs, [&](OpOperand *operand) {
      return operand->getOperandNumber() != getFactorNumber() &&
             isAbsorbed(operand->get());
    });
    if (next == inputs.end())
      return success();
    if (failed(absorb(**next)))
      return failure();
  }
  return failure();
}

/// Differences of integers as differences of the same floats, where these are
/// exact.
void DequantizationFolder::subtractAsFloats() {
  constexpr int64_t most = int64_t(1) << 22;
  auto isSmall = [](Value value) {
    std::optional<CodeRange> range = findRange(value, /*isSigned=*/true);
    return range && range->least >= -most && range->most <= most;
  };
  for (Operation &nested :
       llvm::make_early_inc_range(*contraction.getBlock())) {
    auto decoding = dyn_cast<arith::SIToFPOp>(nested);
    auto difference =
        decoding ? decoding.getIn().getDefiningOp<arith::SubIOp>() : nullptr;
    if (!difference || !isSmall(difference.getLhs()) ||
        !isSmall(difference.getRhs()))
      continue;
    rewriter.setInsertionPoint(decoding);
    auto toFloat = [&](Value integer) -> Value {
      return arith::SIToFPOp::create(rewriter, loc(), decoding.getType(),
                                     integer);
    };
    rewriter.replaceOpWithNewOp<arith::SubFOp>(
        decoding, toFloat(difference.getLhs()), toFloat(difference.getRhs()));
  }
}

//===----------------------------------------------------------------------===//
// The contraction
//===----------------------------------------------------------------------===//

/// True if all that is added up for an element has the same scale.
bool DequantizationFolder::hasCommonScale() const {
  if (!product.scale)
    return false;
  for (auto [loop, iterator] :
       llvm::enumerate(linalg::GenericOp(contraction).getIteratorTypesArray()))
    if (linalg::isReductionIterator(iterator) &&
        changesAlong(contraction, product.scale, loop))
      return false;
  return true;
}

/// What the other factor is multiplied by.
Value DequantizationFolder::createFactor(OpBuilder &body, Value code,
                                         IRMapping &mapping) const {
  Location loc = code.getLoc();
  Value number = codes.createNumber(body, product, code);
  Type type = number.getType();
  Value zero = product.zero ? cloneValue(body, product.zero, mapping) : Value();
  if (codes.least != 0 && zero)
    zero = arith::SubFOp::create(body, loc, zero,
                                 createNumber(body, loc, type, codes.least));
  else if (codes.least != 0)
    zero = createNumber(body, loc, type, -codes.least);
  if (zero)
    number = arith::SubFOp::create(body, loc, number, zero);
  if (!product.scale || hasCommonScale())
    return number;
  return createProduct(body, loc, number,
                       cloneValue(body, product.scale, mapping));
}

/// `value` without dimensions of one element, and `map`, by which it is
/// indexed, without these.
static Value dropUnits(OpBuilder &builder, Value value, AffineMap &map) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<AffineExpr> indices;
  SmallVector<int64_t> shape;
  for (auto [index, size] : llvm::zip_equal(map.getResults(), type.getShape()))
    if (isa<AffineDimExpr>(index)) {
      indices.push_back(index);
      shape.push_back(size);
    }
  if (shape.size() == type.getShape().size())
    return value;
  map = AffineMap::get(map.getNumDims(), 0, indices, builder.getContext());
  return tensor::createCanonicalRankReducingExtractSliceOp(
      builder, value.getLoc(), value, type.clone(shape));
}

/// What `part` of the body is for all elements of `value`, which `argument`,
/// the only one that it depends on, stands for.
static Value createPart(OpBuilder &builder, Value part, BlockArgument argument,
                        Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  Location loc = value.getLoc();
  Value empty =
      tensor::EmptyOp::create(builder, loc, type.getShape(), part.getType());
  AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  auto op = linalg::GenericOp::create(
      builder, loc, empty.getType(), value, empty, ArrayRef{identity, identity},
      iterators, [&](OpBuilder &body, Location, ValueRange scalars) {
        IRMapping mapping;
        mapping.map(argument, scalars[0]);
        linalg::YieldOp::create(body, loc, cloneValue(body, part, mapping));
      });
  return op.getResult(0);
}

/// Adds the tensors that `part` of the body is computed from, and which values
/// of it their elements are: `part` itself, if it depends on one of them and is
/// more than that.
void DequantizationFolder::addOperands(Value part,
                                       SmallVectorImpl<Value> &operands,
                                       SmallVectorImpl<AffineMap> &maps,
                                       SmallVectorImpl<Value> &sources) {
  SmallVector<BlockArgument> arguments = getArguments(part);
  for (BlockArgument argument : arguments) {
    AffineMap map = mapOf(contraction, argument);
    Value value = dropUnits(
        rewriter, contraction.getInputs()[argument.getArgNumber()], map);
    // Kernels widen floats themselves.
    bool isPart = arguments.size() == 1 && skipWidening(part) != argument;
    operands.push_back(isPart ? createPart(rewriter, part, argument, value)
                              : value);
    maps.push_back(map);
    sources.push_back(isPart ? part : Value(argument));
  }
}

/// The value computed once, if something computes it.
static Value prepare(OpBuilder &builder, Value value) {
  if (!value.getDefiningOp())
    return value;
  return PrepareOp::create(builder, value.getLoc(), value);
}

linalg::GenericOp DequantizationFolder::createContraction() {
  rewriter.setInsertionPoint(contraction);
  SmallVector<Value> operands = {
      contraction.getInputs()[product.factor.getArgNumber()], codes.tensor};
  SmallVector<AffineMap> maps = {mapOf(contraction, product.factor), codes.map};
  SmallVector<Value> sources = {product.factor, product.code};
  addOperands(product.zero, operands, maps, sources);
  if (!hasCommonScale())
    addOperands(product.scale, operands, maps, sources);
  for (Value &operand : MutableArrayRef(operands).drop_front())
    operand = prepare(rewriter, operand);
  maps.push_back(contraction.getIndexingMapsArray().back());
  return linalg::GenericOp::create(
      rewriter, loc(), contraction.getResultTypes(), operands,
      contraction.getOutputs(), maps, contraction.getIteratorTypesArray(),
      [&](OpBuilder &body, Location, ValueRange scalars) {
        IRMapping mapping;
        for (auto [source, scalar] : llvm::zip(sources, scalars))
          mapping.map(source, scalar);
        Value weight = createFactor(body, scalars[1], mapping);
        Value other = scalars[0];
        if (other.getType() != weight.getType())
          other = arith::ExtFOp::create(body, loc(), weight.getType(), other);
        Value added = createProduct(body, loc(), other, weight);
        linalg::YieldOp::create(body, loc(),
                                createSum(body, loc(), scalars.back(), added));
      });
}

/// `sums` times the scale that all of their products share.
Value DequantizationFolder::scale(Value sums) {
  SmallVector<Value> operands = {sums};
  SmallVector<Value> sources;
  auto type = cast<RankedTensorType>(sums.getType());
  AffineMap identity = rewriter.getMultiDimIdentityMap(type.getRank());
  SmallVector<AffineMap> maps;
  addOperands(product.scale, operands, maps, sources);
  // From loops of the contraction to dimensions of its result.
  SmallVector<AffineExpr> dims(contraction.getNumLoops(),
                               rewriter.getAffineConstantExpr(0));
  for (auto [dim, loop] :
       llvm::enumerate(contraction.getIndexingMapsArray().back().getResults()))
    dims[cast<AffineDimExpr>(loop).getPosition()] =
        rewriter.getAffineDimExpr(dim);
  for (AffineMap &map : maps)
    map = map.replaceDimsAndSymbols(dims, {}, type.getRank(), 0);
  maps.insert(maps.begin(), identity);
  maps.push_back(identity);
  Value empty = tensor::EmptyOp::create(rewriter, loc(), type.getShape(),
                                        type.getElementType());
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  auto scaled = linalg::GenericOp::create(
      rewriter, loc(), type, operands, empty, maps, iterators,
      [&](OpBuilder &body, Location, ValueRange scalars) {
        IRMapping mapping;
        for (auto [source, scalar] : llvm::zip(sources, scalars.drop_front()))
          mapping.map(source, scalar);
        linalg::YieldOp::create(
            body, loc(),
            createProduct(body, loc(), scalars[0],
                          cloneValue(body, product.scale, mapping)));
      });
  return scaled.getResult(0);
}

LogicalResult DequantizationFolder::run() {
  if (!mayFold())
    return failure();
  if (succeeded(fold()))
    return success();
  remark::missed(loc(), named("quantized"))
      << "weights are made floats before the first call: they are not "
         "'(integer - zero) * scale', with zeros and scales for groups of "
         "them";
  return failure();
}

LogicalResult DequantizationFolder::fold() {
  if (failed(copy()) || failed(absorb()))
    return failure();
  subtractAsFloats();
  std::optional<ProductBody> body = matchProductBody(*contraction.getBlock());
  if (!body || !body->isQuantized())
    return failure();
  product = *body;
  FailureOr<StoredCodes> stored = storeCodes(rewriter, contraction, product);
  if (failed(stored))
    return failure();
  codes = *stored;
  linalg::GenericOp decoding = createContraction();
  if (!isSupportedContraction(decoding))
    return failure();
  Value result = decoding.getResult(0);
  if (hasCommonScale())
    result = scale(result);
  remark::passed(loc(), named("quantized"))
      << llvm::formatv("weights are read as codes of {0} bits", codes.bits())
             .str();
  rewriter.replaceOp(original, result);
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct FoldDequantizationPass
    : chimera::impl::FoldDequantizationPassBase<FoldDequantizationPass> {
  using Base::Base;

  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    FailureOr<TargetAttrInterface> found =
        resolveTarget(getOperation(), target);
    if (failed(found))
      return signalPassFailure();
    if (!getOperatorSupport(getOperation(), *found).decodes)
      return;
    SmallVector<linalg::LinalgOp> contractions;
    getOperation()->walk([&](linalg::LinalgOp op) {
      if (multipliesTensors(op) && op.getNumDpsInputs() == 2)
        contractions.push_back(op);
    });
    for (linalg::LinalgOp op : contractions)
      for (unsigned weight : {0, 1})
        if (succeeded(DequantizationFolder(op, weight).run()))
          break;
    // Copies that led nowhere are among it.
    eraseUnused(getOperation());
  }
};
} // namespace
