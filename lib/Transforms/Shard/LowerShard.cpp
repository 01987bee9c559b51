//===- LowerShard.cpp - Collectives of `shard` as Chimera's ---------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collectives of `shard` go along any dimension. Parts that libraries exchange
// lie one after the other in memory, that is, along the first dimension: what
// goes along another one gets a dimension for the processes in front, by
// reshapes and a transposition, which other operations may absorb.
//
//===----------------------------------------------------------------------===//

#include "LowerShard.h"

#include "Chimera/IR/Collectives.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace chimera;

//===----------------------------------------------------------------------===//
// Groups of processes
//===----------------------------------------------------------------------===//

/// The axes of a group. None are meant to be all.
static SmallVector<int64_t> getAxes(ArrayRef<shard::GridAxis> axes,
                                    shard::GridOp grid) {
  if (axes.empty())
    return llvm::to_vector(llvm::seq<int64_t>(grid.getRank()));
  return SmallVector<int64_t>(axes.begin(), axes.end());
}

static int64_t countProcesses(ArrayRef<int64_t> axes, shard::GridOp grid) {
  int64_t count = 1;
  for (int64_t axis : axes)
    count *= grid.getShape()[axis];
  return count;
}

Value chimera::makeProcessIndex(OpBuilder &builder, Location loc,
                                ArrayRef<int64_t> axes, shard::GridOp grid) {
  Value index;
  for (int64_t axis : axes) {
    Value own =
        ProcessIndexOp::create(builder, loc, builder.getIndexType(), axis);
    if (!index) {
      index = own;
      continue;
    }
    Value size =
        arith::ConstantIndexOp::create(builder, loc, grid.getShape()[axis]);
    index = arith::AddIOp::create(
        builder, loc, arith::MulIOp::create(builder, loc, index, size), own);
  }
  return index;
}

//===----------------------------------------------------------------------===//
// A dimension for the processes
//===----------------------------------------------------------------------===//

static Value makeEmpty(OpBuilder &builder, Location loc,
                       ArrayRef<int64_t> shape, Type element) {
  return tensor::EmptyOp::create(builder, loc, shape, element);
}

/// Dimension `dim` becomes two, the first of `count`.
static Value splitDim(OpBuilder &builder, Location loc, Value value,
                      unsigned dim, int64_t count) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] /= count;
  shape.insert(shape.begin() + dim, count);
  SmallVector<ReassociationIndices> groups;
  for (int64_t i = 0, next = 0; i < type.getRank(); ++i) {
    groups.push_back({next++});
    if (i == dim)
      groups.back().push_back(next++);
  }
  return tensor::ExpandShapeOp::create(builder, loc, type.clone(shape), value,
                                       groups);
}

/// Dimension `dim` and the next become one.
static Value joinDims(OpBuilder &builder, Location loc, Value value,
                      unsigned dim) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<ReassociationIndices> groups;
  for (int64_t i = 0; i < type.getRank(); ++i) {
    if (i == dim + 1)
      groups.back().push_back(i);
    else
      groups.push_back({i});
  }
  return tensor::CollapseShapeOp::create(builder, loc, value, groups);
}

/// Dimension `from` becomes dimension `to`; the others keep their order.
static Value moveDim(OpBuilder &builder, Location loc, Value value,
                     unsigned from, unsigned to) {
  if (from == to)
    return value;
  auto type = cast<RankedTensorType>(value.getType());
  auto order = llvm::to_vector(llvm::seq<int64_t>(type.getRank()));
  order.erase(order.begin() + from);
  order.insert(order.begin() + to, from);
  SmallVector<int64_t> shape;
  for (int64_t dim : order)
    shape.push_back(type.getDimSize(dim));
  Value room = makeEmpty(builder, loc, shape, type.getElementType());
  return linalg::TransposeOp::create(builder, loc, value, room, order)
      ->getResult(0);
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

static std::optional<ReductionKind> getReduction(shard::ReductionKind kind) {
  switch (kind) {
  case shard::ReductionKind::Sum:
    return ReductionKind::Sum;
  case shard::ReductionKind::Product:
    return ReductionKind::Product;
  case shard::ReductionKind::Min:
    return ReductionKind::Minimum;
  case shard::ReductionKind::Max:
    return ReductionKind::Maximum;
  default:
    return std::nullopt;
  }
}

/// A collective that moves `input` into new room of shape `shape`.
template <typename OpT, typename... Args>
static Value makeMoving(OpBuilder &builder, Location loc, Value input,
                        ArrayRef<int64_t> shape, ArrayRef<int64_t> axes,
                        shard::GridOp grid, Args... args) {
  auto type = cast<RankedTensorType>(input.getType());
  Value room = makeEmpty(builder, loc, shape, type.getElementType());
  return OpT::create(builder, loc, TypeRange(room.getType()), args..., input,
                     room, axes, countProcesses(axes, grid))
      .getResult(0);
}

static Value lower(OpBuilder &builder, shard::AllReduceOp op,
                   shard::GridOp grid) {
  std::optional<ReductionKind> reduction = getReduction(op.getReduction());
  if (!reduction || op.getInput().getType() != op.getResult().getType())
    return {};
  SmallVector<int64_t> axes = getAxes(op.getGridAxes(), grid);
  return AllReduceOp::create(builder, op.getLoc(), TypeRange(op.getType()),
                             *reduction, op.getInput(), axes,
                             countProcesses(axes, grid))
      .getResult(0);
}

static Value lower(OpBuilder &builder, shard::AllSliceOp op,
                   shard::GridOp grid) {
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(op.getType());
  int64_t dim = op.getSliceAxis().getSExtValue(), size = type.getDimSize(dim);
  SmallVector<int64_t> axes = getAxes(op.getGridAxes(), grid);
  Value first = arith::MulIOp::create(
      builder, loc, makeProcessIndex(builder, loc, axes, grid),
      arith::ConstantIndexOp::create(builder, loc, size));
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0)),
      ones(type.getRank(), builder.getIndexAttr(1));
  offsets[dim] = first;
  return tensor::ExtractSliceOp::create(
      builder, loc, type, op.getInput(), offsets,
      getAsIndexOpFoldResult(op.getContext(), type.getShape()), ones);
}

static Value lower(OpBuilder &builder, shard::AllGatherOp op,
                   shard::GridOp grid) {
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(op.getInput().getType());
  unsigned dim = op.getGatherAxis().getZExtValue();
  SmallVector<int64_t> axes = getAxes(op.getGridAxes(), grid);
  int64_t count = countProcesses(axes, grid);
  SmallVector<int64_t> shape(type.getShape());
  shape.front() *= count;
  Value whole =
      makeMoving<AllGatherOp>(builder, loc, op.getInput(), shape, axes, grid);
  if (dim == 0)
    return whole;
  Value parts = splitDim(builder, loc, whole, 0, count);
  return joinDims(builder, loc, moveDim(builder, loc, parts, 0, dim), dim);
}

static Value lower(OpBuilder &builder, shard::ReduceScatterOp op,
                   shard::GridOp grid) {
  std::optional<ReductionKind> reduction = getReduction(op.getReduction());
  auto type = cast<RankedTensorType>(op.getType());
  if (!reduction ||
      getElementTypeOrSelf(op.getInput()) != type.getElementType())
    return {};
  Location loc = op.getLoc();
  unsigned dim = op.getScatterAxis().getZExtValue();
  SmallVector<int64_t> axes = getAxes(op.getGridAxes(), grid);
  Value input = op.getInput();
  if (dim != 0) {
    Value parts =
        splitDim(builder, loc, input, dim, countProcesses(axes, grid));
    input = joinDims(builder, loc, moveDim(builder, loc, parts, dim, 0), 0);
  }
  return makeMoving<ReduceScatterOp>(builder, loc, input, type.getShape(), axes,
                                     grid, *reduction);
}

static Value lower(OpBuilder &builder, shard::AllToAllOp op,
                   shard::GridOp grid) {
  Location loc = op.getLoc();
  unsigned split = op.getSplitAxis().getZExtValue(),
           concat = op.getConcatAxis().getZExtValue();
  SmallVector<int64_t> axes = getAxes(op.getGridAxes(), grid);
  Value parts =
      splitDim(builder, loc, op.getInput(), split, countProcesses(axes, grid));
  parts = moveDim(builder, loc, parts, split, 0);
  auto type = cast<RankedTensorType>(parts.getType());
  parts =
      makeMoving<AllToAllOp>(builder, loc, parts, type.getShape(), axes, grid);
  return joinDims(builder, loc, moveDim(builder, loc, parts, 0, concat),
                  concat);
}

/// True if the elements of `value` can be exchanged.
static bool isExchanged(Value value) {
  Type type = getElementTypeOrSelf(value);
  return isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(type) ||
         type.isInteger(8) || type.isInteger(32) || type.isInteger(64);
}

namespace {
template <typename OpT>
struct LowerCollective : OpRewritePattern<OpT> {
  LowerCollective(MLIRContext *context, shard::GridOp grid)
      : OpRewritePattern<OpT>(context), grid(grid) {}

  LogicalResult matchAndRewrite(OpT op,
                                PatternRewriter &rewriter) const override {
    if (!isExchanged(op.getInput()) && !isa<shard::AllSliceOp>(op))
      return failure();
    Value made = lower(rewriter, op, grid);
    if (!made)
      return failure();
    rewriter.replaceOp(op, made);
    return success();
  }

  shard::GridOp grid;
};

/// The coordinates of a process, one by one.
struct LowerMultiIndex : OpRewritePattern<shard::ProcessMultiIndexOp> {
  LowerMultiIndex(MLIRContext *context, shard::GridOp grid)
      : OpRewritePattern(context), grid(grid) {}

  LogicalResult matchAndRewrite(shard::ProcessMultiIndexOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> indices;
    for (int64_t axis : getAxes(op.getAxes(), grid))
      indices.push_back(ProcessIndexOp::create(rewriter, op.getLoc(),
                                               rewriter.getIndexType(), axis));
    rewriter.replaceOp(op, indices);
    return success();
  }

  shard::GridOp grid;
};

struct LowerLinearIndex : OpRewritePattern<shard::ProcessLinearIndexOp> {
  LowerLinearIndex(MLIRContext *context, shard::GridOp grid)
      : OpRewritePattern(context), grid(grid) {}

  LogicalResult matchAndRewrite(shard::ProcessLinearIndexOp op,
                                PatternRewriter &rewriter) const override {
    rewriter.replaceOp(
        op, makeProcessIndex(rewriter, op.getLoc(), getAxes({}, grid), grid));
    return success();
  }

  shard::GridOp grid;
};

//===----------------------------------------------------------------------===//
// Folds
//===----------------------------------------------------------------------===//

/// A part of a sum that nobody needs as a whole: half the bytes.
struct FoldSliceOfSum : OpRewritePattern<shard::AllSliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(shard::AllSliceOp op,
                                PatternRewriter &rewriter) const override {
    auto sum = op.getInput().getDefiningOp<shard::AllReduceOp>();
    if (!sum || !sum->hasOneUse() || sum.getGridAxes() != op.getGridAxes())
      return failure();
    rewriter.replaceOpWithNewOp<shard::ReduceScatterOp>(
        op, op.getType(), sum.getGridAttr(), sum.getGridAxesAttr(),
        sum.getInput(), sum.getReductionAttr(), op.getSliceAxisAttr());
    rewriter.eraseOp(sum);
    return success();
  }
};

/// The part that this process gave.
struct FoldSliceOfGather : OpRewritePattern<shard::AllSliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(shard::AllSliceOp op,
                                PatternRewriter &rewriter) const override {
    auto gather = op.getInput().getDefiningOp<shard::AllGatherOp>();
    if (!gather || gather.getGridAxes() != op.getGridAxes() ||
        gather.getGatherAxis() != op.getSliceAxis() ||
        gather.getInput().getType() != op.getType())
      return failure();
    rewriter.replaceOp(op, gather.getInput());
    return success();
  }
};
} // namespace

LogicalResult chimera::lowerShard(func::FuncOp function, shard::GridOp grid) {
  MLIRContext *context = function.getContext();
  RewritePatternSet folds(context);
  folds.add<FoldSliceOfSum, FoldSliceOfGather>(context);
  tensor::CastOp::getCanonicalizationPatterns(folds, context);
  (void)applyPatternsGreedily(function, std::move(folds));
  RewritePatternSet patterns(context);
  patterns.add<
      LowerCollective<shard::AllReduceOp>, LowerCollective<shard::AllSliceOp>,
      LowerCollective<shard::AllGatherOp>,
      LowerCollective<shard::ReduceScatterOp>,
      LowerCollective<shard::AllToAllOp>, LowerMultiIndex, LowerLinearIndex>(
      context, grid);
  (void)applyPatternsGreedily(function, std::move(patterns));
  WalkResult rest = function.walk([](Operation *op) {
    if (!isa<shard::ShardDialect>(op->getDialect()))
      return WalkResult::advance();
    op->emitError(
        "is not exchanged between processes: sums, products, largest "
        "and smallest numbers of f64, f32, f16, bf16, i64, i32 and i8 "
        "are");
    return WalkResult::interrupt();
  });
  return failure(rest.wasInterrupted());
}
