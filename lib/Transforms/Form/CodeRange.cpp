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

static bool isInteger(Value value) {
  auto type = dyn_cast<IntegerType>(getElementTypeOrSelf(value));
  return type && type.isSignless() && type.getWidth() <= 32;
}

static ConstantIntRanges maxRangeOf(Value value) {
  return ConstantIntRanges::maxRange(
      ConstantIntRanges::getStorageBitwidth(getElementTypeOrSelf(value)));
}

namespace {

/// Finds ranges back along what computes values.
class RangeFinder {
public:
  ConstantIntRanges find(Value value) {
    if (known.size() == mostValues ||
        !getElementTypeOrSelf(value).isIntOrIndex())
      return maxRangeOf(value);
    if (auto it = known.find(value); it != known.end())
      return it->second;
    // Stands for a value that depends on itself, through the input of a loop.
    known.try_emplace(value, maxRangeOf(value));
    ConstantIntRanges range = compute(value);
    known.find(value)->second = range;
    return range;
  }

private:
  /// Longer computations are not followed.
  static constexpr unsigned mostValues = 256;

  ConstantIntRanges compute(Value value);
  ConstantIntRanges infer(InferIntRangeInterface op, Value value);

  llvm::DenseMap<Value, ConstantIntRanges> known;
};

} // namespace

/// The range that `op` infers from those of its operands.
ConstantIntRanges RangeFinder::infer(InferIntRangeInterface op, Value value) {
  SmallVector<ConstantIntRanges> operands;
  for (Value operand : op->getOperands())
    operands.push_back(find(operand));
  ConstantIntRanges range = maxRangeOf(value);
  op.inferResultRanges(operands,
                       [&](Value result, const ConstantIntRanges &inferred) {
                         if (result == value)
                           range = inferred;
                       });
  return range;
}

ConstantIntRanges RangeFinder::compute(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto op = dyn_cast<linalg::LinalgOp>(argument.getOwner()->getParentOp());
    bool isInput = op && argument.getArgNumber() < op.getNumDpsInputs();
    return isInput ? find(op->getOperand(argument.getArgNumber()))
                   : maxRangeOf(value);
  }
  Operation *op = value.getDefiningOp();
  DenseIntElementsAttr constant;
  if (isa<ShapedType>(value.getType()) &&
      matchPattern(value, m_Constant(&constant)) && !constant.empty()) {
    ConstantIntRanges range =
        ConstantIntRanges::constant(*constant.value_begin<APInt>());
    for (const APInt &element : constant.getValues<APInt>())
      range = range.rangeUnion(ConstantIntRanges::constant(element));
    return range;
  }
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return find(fill.getInputs()[0]);
  if (auto structured = dyn_cast<linalg::LinalgOp>(op);
      structured && structured.getNumReductionLoops() == 0)
    return find(structured.getBlock()->getTerminator()->getOperand(
        cast<OpResult>(value).getResultNumber()));
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
          tensor::ExtractSliceOp, tensor::CastOp>(op))
    return find(op->getOperand(0));
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op)) {
    ConstantIntRanges inserted = find(insert.getSource());
    // What nobody has written yet can be anything, and so what is inserted.
    if (insert.getDest().getDefiningOp<tensor::EmptyOp>())
      return inserted;
    return inserted.rangeUnion(find(insert.getDest()));
  }
  if (auto concat = dyn_cast<tensor::ConcatOp>(op)) {
    ConstantIntRanges range = find(concat.getInputs().front());
    for (Value input : concat.getInputs().drop_front())
      range = range.rangeUnion(find(input));
    return range;
  }
  if (auto inferring = dyn_cast<InferIntRangeInterface>(op);
      inferring && !isa<ShapedType>(value.getType()))
    return infer(inferring, value);
  return maxRangeOf(value);
}

std::optional<CodeRange> chimera::findRange(Value tensor, bool isSigned) {
  if (!isInteger(tensor))
    return std::nullopt;
  ConstantIntRanges range = RangeFinder().find(tensor);
  if (isSigned)
    return CodeRange{range.smin().getSExtValue(), range.smax().getSExtValue()};
  return CodeRange{static_cast<int64_t>(range.umin().getZExtValue()),
                   static_cast<int64_t>(range.umax().getZExtValue())};
}
