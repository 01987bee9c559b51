//===- FoldMoves.cpp - Moves that become parts of others ------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A concatenation makes a tensor that only exists to be taken apart again. What
// follows it, element by element or in another order, is done to its parts
// instead, and what is sliced from its result is sliced from them. Where the
// parts end up is decided later: each is computed in its place.
//
//===----------------------------------------------------------------------===//

#include "MemoryBound/FoldMoves.h"
#include "Sizes/SimplifyShapes.h"

#include "MemoryBound/MemoryBoundOps.h"

#include "Chimera/Chain/OpKinds.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace chimera;

//===----------------------------------------------------------------------===//
// Slices and concatenations
//===----------------------------------------------------------------------===//

static bool isStatic(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.hasStaticShape() && !type.getEncoding() &&
         type.getNumElements() > 0;
}

static bool isStatic(tensor::ConcatOp concat) {
  return isStatic(concat.getResult()) &&
         llvm::all_of(concat.getInputs(),
                      [](Value part) { return isStatic(part); });
}

/// True if `slice` has known bounds, no steps, and drops no dimension.
static bool isPlain(tensor::ExtractSliceOp slice) {
  return isStatic(slice.getSource()) && isStatic(slice.getResult()) &&
         slice.getSourceType().getRank() == slice.getType().getRank() &&
         !ShapedType::isDynamicShape(slice.getStaticOffsets()) &&
         slice.hasUnitStride();
}

static Value createSlice(OpBuilder &builder, Location loc, Value source,
                         ArrayRef<int64_t> offsets, ArrayRef<int64_t> sizes) {
  auto type = cast<RankedTensorType>(source.getType());
  if (type.getShape() == sizes)
    return source;
  MLIRContext *context = builder.getContext();
  return tensor::ExtractSliceOp::create(
      builder, loc, source, getAsIndexOpFoldResult(context, offsets),
      getAsIndexOpFoldResult(context, sizes),
      SmallVector<OpFoldResult>(sizes.size(), builder.getIndexAttr(1)));
}

static Value createConcat(OpBuilder &builder, Location loc, int64_t dim,
                          ArrayRef<Value> parts) {
  if (parts.size() == 1)
    return parts.front();
  return tensor::ConcatOp::create(builder, loc, dim, parts);
}

namespace {

/// A slice of a concatenation is one of slices of its parts.
struct SliceParts : OpRewritePattern<tensor::ExtractSliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::ExtractSliceOp slice,
                                PatternRewriter &rewriter) const override {
    auto concat = slice.getSource().getDefiningOp<tensor::ConcatOp>();
    if (!concat || !isPlain(slice) || !isStatic(concat))
      return failure();
    int64_t dim = concat.getDim(), end = 0;
    SmallVector<Value> parts;
    for (Value part : concat.getInputs()) {
      int64_t begin = end;
      end += cast<RankedTensorType>(part.getType()).getDimSize(dim);
      SmallVector<int64_t> offsets(slice.getStaticOffsets()),
          sizes(slice.getStaticSizes());
      int64_t first = std::max(begin, offsets[dim]);
      int64_t last = std::min(end, offsets[dim] + sizes[dim]);
      if (first >= last)
        continue;
      offsets[dim] = first - begin;
      sizes[dim] = last - first;
      parts.push_back(
          createSlice(rewriter, slice.getLoc(), part, offsets, sizes));
    }
    rewriter.replaceOp(slice,
                       createConcat(rewriter, slice.getLoc(), dim, parts));
    return success();
  }
};

/// A slice of dimensions that were joined is cut before they are, if it takes
/// whole steps of the outermost of them.
struct SliceBeforeJoining : OpRewritePattern<tensor::ExtractSliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::ExtractSliceOp slice,
                                PatternRewriter &rewriter) const override {
    auto collapse = slice.getSource().getDefiningOp<tensor::CollapseShapeOp>();
    if (!collapse || !isPlain(slice) || !isStatic(collapse.getSrc()))
      return failure();
    ArrayRef<int64_t> shape = collapse.getSrcType().getShape();
    SmallVector<int64_t> offsets(shape.size(), 0), sizes(shape);
    for (auto [dim, group] :
         llvm::enumerate(collapse.getReassociationIndices())) {
      int64_t step = 1;
      for (int64_t inner : ArrayRef(group).drop_front())
        step *= shape[inner];
      int64_t offset = slice.getStaticOffset(dim),
              size = slice.getStaticSize(dim);
      if (offset % step != 0 || size % step != 0)
        return failure();
      offsets[group.front()] = offset / step;
      sizes[group.front()] = size / step;
    }
    Value part = createSlice(rewriter, slice.getLoc(), collapse.getSrc(),
                             offsets, sizes);
    rewriter.replaceOpWithNewOp<tensor::CollapseShapeOp>(
        slice, slice.getType(), part, collapse.getReassociationIndices());
    return success();
  }
};

/// Dimensions of a concatenation are split in its parts, if these are whole
/// steps of the outermost of what the concatenated one becomes.
struct SplitParts : OpRewritePattern<tensor::ExpandShapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::ExpandShapeOp expand,
                                PatternRewriter &rewriter) const override {
    auto concat = expand.getSrc().getDefiningOp<tensor::ConcatOp>();
    if (!concat || !isStatic(concat) || !isStatic(expand.getResult()))
      return failure();
    ArrayRef<int64_t> shape = expand.getResultType().getShape();
    SmallVector<ReassociationIndices> groups = expand.getReassociationIndices();
    const ReassociationIndices &group = groups[concat.getDim()];
    int64_t step = 1;
    for (int64_t inner : ArrayRef(group).drop_front())
      step *= shape[inner];
    SmallVector<int64_t> extents;
    for (Value part : concat.getInputs())
      extents.push_back(
          cast<RankedTensorType>(part.getType()).getDimSize(concat.getDim()));
    if (llvm::any_of(extents, [&](int64_t extent) { return extent % step; }))
      return failure();
    SmallVector<Value> parts;
    for (auto [part, extent] : llvm::zip_equal(concat.getInputs(), extents)) {
      SmallVector<int64_t> target(shape);
      target[group.front()] = extent / step;
      parts.push_back(tensor::ExpandShapeOp::create(
          rewriter, expand.getLoc(), expand.getResultType().clone(target), part,
          groups));
    }
    rewriter.replaceOp(
        expand, createConcat(rewriter, expand.getLoc(), group.front(), parts));
    return success();
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Operations on parts
//===----------------------------------------------------------------------===//

bool chimera::isElementwise(linalg::GenericOp op) {
  return !findObstacle(op) && isParallel(op) && op->getNumResults() == 1 &&
         !op.hasIndexSemantics() && isStatic(op.getResult(0)) &&
         op.getIndexingMapsArray().back().isPermutation() &&
         !op.payloadUsesValueFromOperand(op.getDpsInitOperand(0)) &&
         llvm::all_of(op.getIndexingMapsArray(), [](AffineMap map) {
           return map.isProjectedPermutation();
         });
}

/// `op` for `size` iterations of `loop` from `offset` on.
static Value createPart(OpBuilder &builder, linalg::GenericOp op, unsigned loop,
                        int64_t offset, int64_t size) {
  auto cut = [&](OpOperand &operand) -> Value {
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    std::optional<unsigned> dim =
        op.getMatchingIndexingMap(&operand).getResultPosition(
            builder.getAffineDimExpr(loop));
    if (!type || !dim)
      return operand.get();
    SmallVector<int64_t> offsets(type.getRank(), 0), sizes(type.getShape());
    offsets[*dim] = offset;
    sizes[*dim] = size;
    return createSlice(builder, op.getLoc(), operand.get(), offsets, sizes);
  };
  SmallVector<Value> inputs;
  for (OpOperand *input : op.getDpsInputOperands())
    inputs.push_back(cut(*input));
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  SmallVector<int64_t> shape(type.getShape());
  AffineMap output = op.getIndexingMapsArray().back();
  shape[*output.getResultPosition(builder.getAffineDimExpr(loop))] = size;
  Value empty = tensor::EmptyOp::create(builder, op.getLoc(), shape,
                                        type.getElementType());
  auto part = linalg::GenericOp::create(
      builder, op.getLoc(), empty.getType(), inputs, empty,
      op.getIndexingMapsArray(), op.getIteratorTypesArray());
  IRMapping mapping;
  op.getRegion().cloneInto(&part.getRegion(), mapping);
  return part.getResult(0);
}

/// The loop of `op` along which `operand`, of which nothing else is made, was
/// concatenated.
static std::optional<unsigned> findPartLoop(linalg::GenericOp op,
                                            OpOperand *operand) {
  auto concat = operand->get().getDefiningOp<tensor::ConcatOp>();
  if (!concat || !isStatic(concat) || concat->getBlock() != op->getBlock())
    return std::nullopt;
  if (!isMovement(op) && !concat->hasOneUse())
    return std::nullopt;
  return op.getMatchingIndexingMap(operand).getDimPosition(concat.getDim());
}

/// True if no element is in both slices of the same tensor.
static bool areDisjoint(tensor::ExtractSliceOp left,
                        tensor::ExtractSliceOp right) {
  return llvm::any_of(llvm::seq<int64_t>(0, left.getType().getRank()),
                      [&](int64_t dim) {
                        int64_t first = left.getStaticOffset(dim),
                                second = right.getStaticOffset(dim);
                        return first + left.getStaticSize(dim) <= second ||
                               second + right.getStaticSize(dim) <= first;
                      });
}

/// True if `value` is cut into slices, each for one operation that works
/// element by element, and no element is in two of them: who computes it can do
/// that there.
static bool isCutApart(Value value) {
  SmallVector<tensor::ExtractSliceOp> slices;
  for (Operation *user : value.getUsers()) {
    auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
    if (!slice || !isPlain(slice) || !slice->hasOneUse())
      return false;
    auto reader = dyn_cast<linalg::GenericOp>(*slice->user_begin());
    if (!reader || !isElementwise(reader) ||
        llvm::any_of(slices, [&](tensor::ExtractSliceOp other) {
          return !areDisjoint(slice, other);
        }))
      return false;
    slices.push_back(slice);
  }
  return true;
}

namespace {

/// What is done to each element of a concatenation is done to its parts.
struct ComputeParts : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (!isElementwise(op))
      return failure();
    for (OpOperand *input : op.getDpsInputOperands())
      if (std::optional<unsigned> loop = findPartLoop(op, input)) {
        replace(op, input, *loop, rewriter);
        return success();
      }
    return failure();
  }

  void replace(linalg::GenericOp op, OpOperand *input, unsigned loop,
               PatternRewriter &rewriter) const {
    auto concat = input->get().getDefiningOp<tensor::ConcatOp>();
    SmallVector<Value> parts;
    int64_t offset = 0;
    for (Value part : concat.getInputs()) {
      int64_t size =
          cast<RankedTensorType>(part.getType()).getDimSize(concat.getDim());
      parts.push_back(createPart(rewriter, op, loop, offset, size));
      offset += size;
    }
    AffineMap output = op.getIndexingMapsArray().back();
    unsigned dim = *output.getResultPosition(rewriter.getAffineDimExpr(loop));
    rewriter.replaceOp(op, createConcat(rewriter, op.getLoc(), dim, parts));
  }
};

/// A slice of a copy in another order is a copy of a slice. So is one of what
/// is computed element by element, if nothing is computed twice then.
struct SliceBeforeMoving : OpRewritePattern<tensor::ExtractSliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::ExtractSliceOp slice,
                                PatternRewriter &rewriter) const override {
    auto op = slice.getSource().getDefiningOp<linalg::GenericOp>();
    if (!op || !isPlain(slice) || !isElementwise(op) ||
        !(isMovement(op) || isCutApart(op.getResult(0))))
      return failure();
    for (auto [dim, extent] :
         llvm::enumerate(slice.getSourceType().getShape())) {
      int64_t size = slice.getStaticSize(dim);
      if (size == extent)
        continue;
      AffineMap output = op.getIndexingMapsArray().back();
      Value part = createPart(rewriter, op, output.getDimPosition(dim),
                              slice.getStaticOffset(dim), size);
      SmallVector<int64_t> offsets(slice.getStaticOffsets());
      offsets[dim] = 0;
      rewriter.replaceOp(slice, createSlice(rewriter, slice.getLoc(), part,
                                            offsets, slice.getStaticSizes()));
      return success();
    }
    return failure();
  }
};

} // namespace

namespace {
/// A copy in the same order is what it copies.
struct ForwardCopy : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (!isElementwise(op) || !isMovement(op) ||
        op.getIndexingMapsArray().front() != op.getIndexingMapsArray().back())
      return failure();
    rewriter.replaceOp(op, op.getInputs()[0]);
    return success();
  }
};
} // namespace

/// The dimension of what the parts of `concat` are made of that it joins them
/// along. Nothing if they are not all split in the same way, in whole steps of
/// the outermost dimension that comes of one.
static std::optional<int64_t> findDimBeforeSplitting(tensor::ConcatOp concat) {
  auto first =
      concat.getInputs().front().getDefiningOp<tensor::ExpandShapeOp>();
  if (!first)
    return std::nullopt;
  SmallVector<ReassociationIndices> groups = first.getReassociationIndices();
  for (Value part : concat.getInputs()) {
    auto expand = part.getDefiningOp<tensor::ExpandShapeOp>();
    if (!expand || expand.getReassociationIndices() != groups)
      return std::nullopt;
  }
  int64_t dim = concat.getDim();
  for (auto [source, group] : llvm::enumerate(groups))
    if (group.front() == dim)
      return source;
  return std::nullopt;
}

void chimera::joinBeforeSplitting(tensor::ConcatOp concat) {
  std::optional<int64_t> dim = findDimBeforeSplitting(concat);
  if (!dim || !isStatic(concat))
    return;
  OpBuilder builder(concat);
  SmallVector<Value> parts;
  for (Value part : concat.getInputs())
    parts.push_back(part.getDefiningOp<tensor::ExpandShapeOp>().getSrc());
  auto groups = concat.getInputs()
                    .front()
                    .getDefiningOp<tensor::ExpandShapeOp>()
                    .getReassociationIndices();
  Value joined = createConcat(builder, concat.getLoc(), *dim, parts);
  concat.replaceAllUsesWith(
      tensor::ExpandShapeOp::create(builder, concat.getLoc(),
                                    concat.getResultType(), joined, groups)
          .getResult());
  concat.erase();
}

/// Elements of `value` that lie together, at least, from the start of its last
/// dimensions on.
static int64_t countTogether(Value value) {
  Operation *op = value.getDefiningOp();
  if (op && isReshape(op))
    return countTogether(op->getOperand(0));
  auto type = cast<RankedTensorType>(value.getType());
  auto slice = dyn_cast_if_present<tensor::ExtractSliceOp>(op);
  if (!slice)
    return type.getNumElements();
  // Dropped dimensions are of one element.
  ArrayRef<int64_t> sizes = slice.getStaticSizes();
  if (!slice.hasUnitStride() || ShapedType::isDynamicShape(sizes))
    return 1;
  int64_t together = 1;
  for (size_t dim = sizes.size(); dim-- > 0;) {
    together *= sizes[dim];
    if (sizes[dim] != slice.getSourceType().getDimSize(dim))
      break;
  }
  return std::min(together, countTogether(slice.getSource()));
}

/// True if `part` is a view, of which the last elements, as many as `together`,
/// lie together.
static bool isViewOf(Value part, int64_t together) {
  Operation *op = part.getDefiningOp();
  bool isView = !op || isReshape(op) || isa<tensor::ExtractSliceOp>(op);
  return isView && countTogether(part) >= together;
}

void chimera::collapseConcat(tensor::ConcatOp concat,
                             ArrayRef<ReassociationIndices> groups) {
  OpBuilder builder(concat);
  Location loc = concat.getLoc();
  SmallVector<Value> parts;
  for (Value part : concat.getInputs())
    parts.push_back(
        tensor::CollapseShapeOp::create(builder, loc, part, groups));
  auto hasDim = [&](const ReassociationIndices &group) {
    return llvm::is_contained(group, static_cast<int64_t>(concat.getDim()));
  };
  int64_t dim = llvm::find_if(groups, hasDim) - groups.begin();
  Value joined = tensor::ConcatOp::create(builder, loc, dim, parts);
  Value result = tensor::ExpandShapeOp::create(
      builder, loc, concat.getResultType(), joined, groups);
  concat.getResult().replaceAllUsesWith(result);
  concat.erase();
}

void chimera::joinInnerDims(tensor::ConcatOp concat) {
  RankedTensorType type = concat.getResultType();
  auto dim = static_cast<int64_t>(concat.getDim());
  int64_t together = 1;
  for (int64_t extent : type.getShape().drop_front(dim + 1))
    together *= extent;
  if (type.getRank() - dim < 3 || !isStatic(concat) ||
      !llvm::all_of(
          concat.getInputs(),
          [&](Value part) { return isViewOf(part, together); }))
    return;
  SmallVector<ReassociationIndices> groups;
  for (int64_t outer = 0; outer <= dim; ++outer)
    groups.push_back({outer});
  groups.push_back(llvm::to_vector(llvm::seq(dim + 1, type.getRank())));
  collapseConcat(concat, groups);
}

void chimera::populateForwardCopiesPatterns(RewritePatternSet &patterns) {
  patterns.add<ForwardCopy>(patterns.getContext());
}

void chimera::populateFoldMovesPatterns(RewritePatternSet &patterns) {
  populateKnownPartsPatterns(patterns);
  patterns.add<SliceParts, SliceBeforeJoining, SplitParts, ComputeParts,
               SliceBeforeMoving>(patterns.getContext());
}
