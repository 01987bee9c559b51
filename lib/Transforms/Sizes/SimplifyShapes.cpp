//===- SimplifyShapes.cpp - Programs that compute their shapes ------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sizes/SimplifyShapes.h"

#include "Chimera/IR/Chimera.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace chimera;

namespace {

/// A tensor that the body reads at the indices of loops is an operand.
struct ReadAsOperand : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override;
};

/// The index of a loop, unless the loop has one iteration, which has index
/// zero, is the index of the loop.
struct SelectIndex : OpRewritePattern<arith::SelectOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::SelectOp op,
                                PatternRewriter &rewriter) const override;
};

/// The same constant in each place is a constant.
struct BroadcastConstant : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override;
};

/// A reshape between static shapes in terms of merged and split dimensions.
struct ReshapeByGroups : OpRewritePattern<tensor::ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::ReshapeOp op,
                                PatternRewriter &rewriter) const override;
};

} // namespace

/// The map by which `extract`, in the body of `op`, reads its tensor, if that
/// follows from the loops and stays inside.
static std::optional<AffineMap> getMap(linalg::GenericOp op,
                                       tensor::ExtractOp extract) {
  auto type = extract.getTensor().getType();
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  if (ShapedType::isDynamicShape(extents) || !type.hasStaticShape())
    return std::nullopt;
  SmallVector<AffineExpr> results;
  Builder builder(op.getContext());
  // A loop over one element is as good as its only index, and names the
  // dimension.
  auto isUnitLoop = [&](unsigned dim) {
    return dim < extents.size() && extents[dim] == 1;
  };
  for (auto [dim, index] : llvm::enumerate(extract.getIndices())) {
    int64_t size = type.getDimSize(dim);
    auto loop = index.getDefiningOp<linalg::IndexOp>();
    if (loop && loop->getParentOp() == op && extents[loop.getDim()] == size)
      results.push_back(builder.getAffineDimExpr(loop.getDim()));
    else if (size == 1 && isConstantIntValue(index, 0))
      results.push_back(isUnitLoop(dim) ? builder.getAffineDimExpr(dim)
                                        : builder.getAffineConstantExpr(0));
    else
      return std::nullopt;
  }
  return AffineMap::get(op.getNumLoops(), 0, results, op.getContext());
}

LogicalResult ReadAsOperand::matchAndRewrite(linalg::GenericOp op,
                                             PatternRewriter &rewriter) const {
  if (!op.hasPureTensorSemantics())
    return failure();
  for (auto extract : op.getBody()->getOps<tensor::ExtractOp>()) {
    if (op->isAncestor(extract.getTensor().getParentRegion()->getParentOp()))
      continue;
    std::optional<AffineMap> map = getMap(op, extract);
    if (!map)
      continue;
    SmallVector<Value> inputs = op.getInputs();
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    maps.insert(maps.begin() + inputs.size(), *map);
    inputs.push_back(extract.getTensor());
    auto reading = linalg::GenericOp::create(
        rewriter, op.getLoc(), op.getResultTypes(), inputs, op.getOutputs(),
        maps, op.getIteratorTypesArray());
    rewriter.inlineRegionBefore(op.getRegion(), reading.getRegion(),
                                reading.getRegion().begin());
    Value element = reading.getBody()->insertArgument(
        inputs.size() - 1, extract.getType(), extract.getLoc());
    rewriter.replaceOp(extract, element);
    rewriter.replaceOp(op, reading);
    return success();
  }
  return failure();
}

LogicalResult SelectIndex::matchAndRewrite(arith::SelectOp op,
                                           PatternRewriter &rewriter) const {
  auto test = op.getCondition().getDefiningOp<arith::CmpIOp>();
  auto index = op.getFalseValue().getDefiningOp<linalg::IndexOp>();
  if (!test || !index || test.getPredicate() != arith::CmpIPredicate::eq ||
      !isConstantIntValue(op.getTrueValue(), 0) ||
      !isConstantIntValue(test.getRhs(), 1))
    return failure();
  auto size = test.getLhs().getDefiningOp<SizeOp>();
  auto loops = dyn_cast<linalg::LinalgOp>(index->getParentOp());
  if (!size || !loops ||
      loops.getStaticLoopRanges()[index.getDim()] !=
          static_cast<int64_t>(size.getPlaceholder()))
    return failure();
  rewriter.replaceOp(op, index);
  return success();
}

LogicalResult
BroadcastConstant::matchAndRewrite(linalg::GenericOp op,
                                   PatternRewriter &rewriter) const {
  SplatElementsAttr splat;
  if (op.getNumResults() != 1 || op.getNumDpsInputs() != 1 ||
      !matchPattern(op.getInputs()[0], m_Constant(&splat)))
    return failure();
  auto type = dyn_cast<RankedTensorType>(op.getResult(0).getType());
  Operation *yield = op.getBody()->getTerminator();
  if (!type || !type.hasStaticShape() ||
      yield->getOperand(0) != op.getBody()->getArgument(0))
    return failure();
  rewriter.replaceOpWithNewOp<arith::ConstantOp>(
      op, SplatElementsAttr::get(type, splat.getSplatValue<Attribute>()));
  return success();
}

/// The shape that `op` asks for, as far as it is constant.
static SmallVector<int64_t> getShape(tensor::ReshapeOp op) {
  SmallVector<int64_t> shape(op.getType().getShape());
  DenseIntElementsAttr numbers;
  auto elements = op.getShape().getDefiningOp<tensor::FromElementsOp>();
  if (matchPattern(op.getShape(), m_Constant(&numbers))) {
    for (auto [size, number] :
         llvm::zip_equal(shape, numbers.getValues<APInt>()))
      size = number.getSExtValue();
  } else if (elements) {
    for (auto [size, element] : llvm::zip_equal(shape, elements.getElements()))
      size = getConstantIntValue(element).value_or(size);
  }
  return shape;
}

/// `value` with the shape of `type`, if either merges or splits dimensions of
/// the other; else null. All shapes are static.
static Value reshape(OpBuilder &builder, Location loc, Value value,
                     RankedTensorType type) {
  auto source = cast<RankedTensorType>(value.getType());
  if (source == type)
    return value;
  auto groups = source.getRank() == type.getRank()
                    ? std::nullopt
                    : getReassociationIndicesForReshape(source, type);
  if (!groups)
    return Value();
  if (source.getRank() > type.getRank())
    return tensor::CollapseShapeOp::create(builder, loc, type, value, *groups);
  return tensor::ExpandShapeOp::create(builder, loc, type, value, *groups);
}

LogicalResult
ReshapeByGroups::matchAndRewrite(tensor::ReshapeOp op,
                                 PatternRewriter &rewriter) const {
  Value source = op.getSource();
  if (auto cast = source.getDefiningOp<tensor::CastOp>())
    source = cast.getSource();
  auto given = dyn_cast<RankedTensorType>(source.getType());
  auto asked = dyn_cast<RankedTensorType>(op.getType());
  if (!given || !asked || !given.hasStaticShape() || given.getRank() == 0 ||
      asked.getRank() == 0)
    return failure();
  RankedTensorType type = asked.clone(getShape(op));
  if (!type.hasStaticShape() || type.getNumElements() != given.getNumElements())
    return failure();
  Location loc = op.getLoc();
  // Dimensions of nothing do not say how others are merged.
  Value reshaped =
      type.getNumElements() == 0
          ? tensor::EmptyOp::create(rewriter, loc, type, ValueRange())
                .getResult()
          : reshape(rewriter, loc, source, type);
  if (!reshaped) {
    auto line = given.clone({given.getNumElements()});
    reshaped =
        reshape(rewriter, loc, reshape(rewriter, loc, source, line), type);
  }
  if (type != asked)
    reshaped = tensor::CastOp::create(rewriter, loc, asked, reshaped);
  rewriter.replaceOp(op, reshaped);
  return success();
}

namespace {
/// Parts are as large as they were before importers forgot it. Those that add
/// nothing go, as they might start where the whole ends.
struct KnownParts : OpRewritePattern<tensor::ConcatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::ConcatOp concat,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> parts;
    for (Value part : concat.getInputs()) {
      if (auto cast = part.getDefiningOp<tensor::CastOp>())
        if (auto type = dyn_cast<RankedTensorType>(cast.getSource().getType());
            type && type.hasStaticShape())
          part = cast.getSource();
      auto type = cast<RankedTensorType>(part.getType());
      if (!type.hasStaticShape() || type.getDimSize(concat.getDim()) > 0)
        parts.push_back(part);
    }
    if (parts.empty() || llvm::equal(parts, concat.getInputs()))
      return failure();
    // Without the other parts it may be known how large the whole is.
    auto joined = tensor::ConcatOp::create(rewriter, concat.getLoc(),
                                           concat.getDim(), parts);
    Value result = joined.getResult();
    if (result.getType() != concat.getType())
      result = tensor::CastOp::create(rewriter, concat.getLoc(),
                                      concat.getType(), result);
    rewriter.replaceOp(concat, result);
    return success();
  }
};

} // namespace

void chimera::populateKnownPartsPatterns(RewritePatternSet &patterns) {
  patterns.add<KnownParts>(patterns.getContext());
}

void chimera::populateSimplifyShapesPatterns(RewritePatternSet &patterns) {
  populateKnownPartsPatterns(patterns);
  patterns.add<BroadcastConstant, ReadAsOperand, ReshapeByGroups, SelectIndex>(
      patterns.getContext());
}
