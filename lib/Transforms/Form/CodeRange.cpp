//===- CodeRange.cpp - Between which numbers integers lie -----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Form/CodeRange.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"

using namespace mlir;
using namespace chimera;

/// Longer computations are not followed.
static constexpr unsigned mostDepth = 32;

static ConstantIntRanges rangeOf(Value value, unsigned depth);

static bool isInteger(Value value) {
  auto type = dyn_cast<IntegerType>(getElementTypeOrSelf(value));
  return type && type.isSignless() && type.getWidth() <= 32;
}

static ConstantIntRanges maxRangeOf(Value value) {
  return ConstantIntRanges::maxRange(
      ConstantIntRanges::getStorageBitwidth(getElementTypeOrSelf(value)));
}

/// The range of what `op` yields as result `number`, in its body.
static ConstantIntRanges rangeOfResult(linalg::LinalgOp op, unsigned number,
                                       unsigned depth) {
  return rangeOf(op.getBlock()->getTerminator()->getOperand(number), depth);
}

/// The range that `op` infers from those of its operands.
static ConstantIntRanges inferRange(InferIntRangeInterface op, Value value,
                                    unsigned depth) {
  SmallVector<ConstantIntRanges> operands;
  for (Value operand : op->getOperands())
    operands.push_back(rangeOf(operand, depth));
  ConstantIntRanges range = maxRangeOf(value);
  op.inferResultRanges(operands,
                       [&](Value result, const ConstantIntRanges &inferred) {
                         if (result == value)
                           range = inferred;
                       });
  return range;
}

static ConstantIntRanges rangeOf(Value value, unsigned depth) {
  if (depth == mostDepth || !getElementTypeOrSelf(value).isIntOrIndex())
    return maxRangeOf(value);
  ++depth;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto op = dyn_cast<linalg::LinalgOp>(argument.getOwner()->getParentOp());
    bool isInput = op && argument.getArgNumber() < op.getNumDpsInputs();
    return isInput ? rangeOf(op->getOperand(argument.getArgNumber()), depth)
                   : maxRangeOf(value);
  }
  Operation *op = value.getDefiningOp();
  DenseIntElementsAttr constant;
  if (isa<ShapedType>(value.getType()) &&
      matchPattern(value, m_Constant(&constant))) {
    ConstantIntRanges range =
        ConstantIntRanges::constant(*constant.value_begin<APInt>());
    for (const APInt &element : constant.getValues<APInt>())
      range = range.rangeUnion(ConstantIntRanges::constant(element));
    return range;
  }
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return rangeOf(fill.getInputs()[0], depth);
  if (auto structured = dyn_cast<linalg::LinalgOp>(op);
      structured && structured.getNumReductionLoops() == 0)
    return rangeOfResult(structured, cast<OpResult>(value).getResultNumber(),
                         depth);
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
          tensor::ExtractSliceOp, tensor::CastOp>(op))
    return rangeOf(op->getOperand(0), depth);
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op)) {
    ConstantIntRanges inserted = rangeOf(insert.getSource(), depth);
    // What nobody has written yet can be anything, and so what is inserted.
    if (insert.getDest().getDefiningOp<tensor::EmptyOp>())
      return inserted;
    return inserted.rangeUnion(rangeOf(insert.getDest(), depth));
  }
  if (auto concat = dyn_cast<tensor::ConcatOp>(op)) {
    ConstantIntRanges range = rangeOf(concat.getInputs().front(), depth);
    for (Value input : concat.getInputs().drop_front())
      range = range.rangeUnion(rangeOf(input, depth));
    return range;
  }
  if (auto infer = dyn_cast<InferIntRangeInterface>(op);
      infer && !isa<ShapedType>(value.getType()))
    return inferRange(infer, value, depth);
  return maxRangeOf(value);
}

std::optional<CodeRange> chimera::findRange(Value tensor, bool isSigned) {
  if (!isInteger(tensor))
    return std::nullopt;
  ConstantIntRanges range = rangeOf(tensor, /*depth=*/0);
  if (isSigned)
    return CodeRange{range.smin().getSExtValue(), range.smax().getSExtValue()};
  return CodeRange{static_cast<int64_t>(range.umin().getZExtValue()),
                   static_cast<int64_t>(range.umax().getZExtValue())};
}
