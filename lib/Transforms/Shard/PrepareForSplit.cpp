//===- PrepareForSplit.cpp - Spellings that upstream can cut --------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChooseSplit.h"
#include "Generators.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace chimera;

//===----------------------------------------------------------------------===//
// Indices that are always zero
//===----------------------------------------------------------------------===//

static bool isConstantZero(AffineExpr expr) {
  auto constant = dyn_cast<AffineConstantExpr>(expr);
  return constant && constant.getValue() == 0;
}

/// Groups of dimensions of which one each has an index; none if all are zero.
static SmallVector<ReassociationIndices> groupDims(AffineMap map) {
  SmallVector<ReassociationIndices> groups;
  ReassociationIndices open;
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    open.push_back(dim);
    if (isConstantZero(expr))
      continue;
    groups.push_back(std::move(open));
    open.clear();
  }
  if (!groups.empty())
    groups.back().append(open.begin(), open.end());
  return groups;
}

/// True if some index is zero, and that of dimensions of size one alone.
static bool hasUnitIndices(linalg::GenericOp op) {
  bool hasZeros = false;
  for (OpOperand &operand : op->getOpOperands())
    for (auto [expr, size] :
         llvm::zip(op.getMatchingIndexingMap(&operand).getResults(),
                   op.getShape(&operand))) {
      if (!isConstantZero(expr))
        continue;
      if (size != 1)
        return false;
      hasZeros = true;
    }
  return hasZeros;
}

namespace {
/// Takes dimensions of size one away where a map says that their index is zero.
struct DropZeroIndices : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    if (!hasUnitIndices(op) || !op.hasPureTensorSemantics() ||
        !llvm::all_of(op->getOperandTypes(), [](Type type) {
          auto shaped = dyn_cast<RankedTensorType>(type);
          return !shaped || shaped.hasStaticShape();
        }))
      return failure();
    Location loc = op.getLoc();
    SmallVector<Value> operands;
    SmallVector<SmallVector<ReassociationIndices>> groups;
    for (auto [operand, map] : llvm::zip_equal(op->getOperands(), maps)) {
      groups.push_back(groupDims(map));
      bool isChanged = llvm::any_of(map.getResults(), isConstantZero);
      operands.push_back(isChanged ? tensor::CollapseShapeOp::create(
                                         rewriter, loc, operand, groups.back())
                                         .getResult()
                                   : operand);
      SmallVector<AffineExpr> kept;
      for (AffineExpr expr : map.getResults())
        if (!isConstantZero(expr))
          kept.push_back(expr);
      map = AffineMap::get(map.getNumDims(), 0, kept, op.getContext());
    }
    unsigned inputs = op.getNumDpsInputs();
    auto inits = ArrayRef(operands).drop_front(inputs);
    auto made =
        linalg::GenericOp::create(rewriter, loc, ValueRange(inits).getTypes(),
                                  ArrayRef(operands).take_front(inputs), inits,
                                  maps, op.getIteratorTypesArray());
    rewriter.inlineRegionBefore(op.getRegion(), made.getRegion(),
                                made.getRegion().end());
    SmallVector<Value> results;
    for (auto [old, result, group] :
         llvm::zip_equal(op.getResults(), made.getResults(),
                         ArrayRef(groups).drop_front(inputs)))
      results.push_back(old.getType() == result.getType()
                            ? Value(result)
                            : tensor::ExpandShapeOp::create(
                                  rewriter, loc, old.getType(), result, group)
                                  .getResult());
    rewriter.replaceOp(op, results);
    return success();
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// What is made of nothing
//===----------------------------------------------------------------------===//

bool chimera::isGenerator(Operation *op) {
  if (!op)
    return false;
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return fill->getNumResults() == 1 &&
           isGenerator(fill.getOutputs().front().getDefiningOp());
  return isa<tensor::EmptyOp>(op) ||
         (op->hasTrait<OpTrait::ConstantLike>() &&
          isa<RankedTensorType>(op->getResult(0).getType()));
}

/// A copy of a generator and of what it is made from.
static Value copyGenerator(OpBuilder &builder, Operation *generator) {
  IRMapping copies;
  for (Value operand : generator->getOperands())
    if (isGenerator(operand.getDefiningOp()) &&
        isa<RankedTensorType>(operand.getType()))
      copies.map(operand, copyGenerator(builder, operand.getDefiningOp()));
  return builder.clone(*generator, copies)->getResult(0);
}

void chimera::copyGenerators(func::FuncOp function) {
  SmallVector<Operation *> originals, readers;
  for (Operation &op : function.getBody().front())
    (isGenerator(&op) ? originals : readers).push_back(&op);
  OpBuilder builder(function.getContext());
  for (Operation *reader : readers)
    for (OpOperand &operand : reader->getOpOperands())
      if (Operation *made = operand.get().getDefiningOp(); isGenerator(made)) {
        builder.setInsertionPoint(reader);
        operand.set(copyGenerator(builder, made));
      }
  for (Operation *original : llvm::reverse(originals))
    if (original->use_empty())
      original->erase();
}

void chimera::inlineNumbers(func::FuncOp function) {
  RewritePatternSet patterns(function.getContext());
  linalg::populateInlineConstantOperandsPatterns(patterns);
  (void)applyPatternsGreedily(function, std::move(patterns));
}

void chimera::prepareForSplit(func::FuncOp function) {
  inlineNumbers(function);
  RewritePatternSet patterns(function.getContext());
  patterns.add<DropZeroIndices>(function.getContext());
  tensor::EmptyOp::getCanonicalizationPatterns(patterns, function.getContext());
  tensor::populateFoldTensorEmptyPatterns(patterns);
  linalg::FillOp::getCanonicalizationPatterns(patterns, function.getContext());
  tensor::CollapseShapeOp::getCanonicalizationPatterns(patterns,
                                                       function.getContext());
  (void)applyPatternsGreedily(function, std::move(patterns));
  copyGenerators(function);
}
