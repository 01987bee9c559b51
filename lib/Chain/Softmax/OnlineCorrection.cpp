//===- OnlineCorrection.cpp - Can a softmax be corrected later? -----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A small algebra: each scalar operation maps the kinds of its operands to the
// kind of its result. What is not listed is Other, which is always safe.
//
//===----------------------------------------------------------------------===//

#include "Softmax/OnlineCorrection.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace chimera;

static bool isConstant(RowKind kind) {
  return kind == RowKind::Constant || kind == RowKind::Zero;
}

/// True for an element, also for whether it is the lowest number.
static bool isElement(RowKind kind) {
  return kind == RowKind::Element || kind == RowKind::Lowest ||
         kind == RowKind::NotLowest;
}

static bool isCast(Operation *op) {
  return isa<arith::ExtFOp, arith::TruncFOp>(op);
}

namespace {

/// The kinds of the scalars in the body of one operation.
class BodyClassifier {
public:
  void set(Value value, RowKind kind) { kinds[value] = kind; }
  RowKind get(Value value) const;
  RowKind classify(Operation *op) const;

private:
  RowKind classifyElement(Operation *op) const;
  RowKind classifyMixed(Operation *op) const;

  llvm::DenseMap<Value, RowKind> kinds;
};

} // namespace

/// Scalars from outside the body are the same for all elements.
RowKind BodyClassifier::get(Value value) const {
  if (auto it = kinds.find(value); it != kinds.end())
    return it->second;
  bool isZero =
      matchPattern(value, m_AnyZeroFloat()) || matchPattern(value, m_Zero());
  return isZero ? RowKind::Zero : RowKind::Constant;
}

RowKind BodyClassifier::classify(Operation *op) const {
  auto all = [&](llvm::function_ref<bool(RowKind)> isAllowed) {
    return llvm::all_of(op->getOperands(),
                        [&](Value operand) { return isAllowed(get(operand)); });
  };
  if (op->getNumOperands() == 0) {
    bool isIndex = isa<linalg::IndexOp>(op);
    return isIndex ? RowKind::Element : get(op->getResult(0));
  }
  if (all(isConstant))
    return isCast(op) ? get(op->getOperand(0)) : RowKind::Constant;
  if (all([](RowKind kind) { return isConstant(kind) || isElement(kind); }))
    return classifyElement(op);
  if (all([](RowKind kind) { return isConstant(kind) || isRow(kind); }))
    return RowKind::Row;
  return classifyMixed(op);
}

/// `op` has elements and constants for operands.
RowKind BodyClassifier::classifyElement(Operation *op) const {
  auto comparison = dyn_cast<arith::CmpFOp>(op);
  FloatAttr number;
  if (!comparison || !matchPattern(comparison.getRhs(), m_Constant(&number)) ||
      !isLowest(number.getValueAsDouble()))
    return RowKind::Element;
  if (comparison.getPredicate() == arith::CmpFPredicate::OEQ)
    return RowKind::Lowest;
  return comparison.getPredicate() == arith::CmpFPredicate::UNE
             ? RowKind::NotLowest
             : RowKind::Element;
}

/// `op` has operands of different kinds, or ones that are neither elements nor
/// rows.
RowKind BodyClassifier::classifyMixed(Operation *op) const {
  RowKind first = get(op->getOperand(0));
  if (isCast(op))
    return first;
  if (isa<math::ExpOp, math::Exp2Op>(op))
    return first == RowKind::Shifted ? RowKind::Scaled : RowKind::Other;
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    RowKind condition = get(select.getCondition());
    auto isScaled = [&](Value value) {
      RowKind kind = get(value);
      return kind == RowKind::Scaled || kind == RowKind::Zero;
    };
    // What a condition on the row makes zero is lost if it changes later.
    bool isFactor = isElement(condition) || condition == RowKind::EmptyRow;
    return isFactor && isScaled(select.getTrueValue()) &&
                   isScaled(select.getFalseValue())
               ? RowKind::Scaled
               : RowKind::Other;
  }
  if (op->getNumOperands() != 2)
    return RowKind::Other;

  RowKind second = get(op->getOperand(1));
  auto isTerm = [](RowKind kind) {
    return isConstant(kind) || isElement(kind) || isRow(kind) ||
           kind == RowKind::Shifted;
  };
  auto isFactor = [](RowKind kind) {
    return isConstant(kind) || isElement(kind) || isRow(kind);
  };
  if (isa<arith::AddFOp, arith::SubFOp>(op))
    return isTerm(first) && isTerm(second) ? RowKind::Shifted : RowKind::Other;
  if (isa<arith::MulFOp>(op)) {
    if (first != RowKind::Scaled && first != RowKind::Shifted)
      std::swap(first, second);
    if (first == RowKind::Shifted && isConstant(second))
      return RowKind::Shifted;
    return first == RowKind::Scaled && isFactor(second) ? RowKind::Scaled
                                                        : RowKind::Other;
  }
  if (isa<arith::DivFOp>(op) && first == RowKind::Scaled && isFactor(second))
    return RowKind::Scaled;
  return RowKind::Other;
}

/// The kind of what a reduction makes of `yielded`, which combines its own
/// former value, `accumulator`, with another.
static RowKind classifyReduction(const BodyClassifier &body, Value yielded,
                                 Value accumulator) {
  Operation *combiner = yielded.getDefiningOp();
  if (!combiner || combiner->getNumOperands() != 2 ||
      !llvm::is_contained(combiner->getOperands(), accumulator))
    return RowKind::Other;
  Value other =
      combiner->getOperand(combiner->getOperand(0) == accumulator ? 1 : 0);
  RowKind kind = body.get(other);
  bool isSum = isa<arith::AddFOp>(combiner);
  bool isUpdated =
      isSum || isa<arith::MaximumFOp, arith::MaxNumFOp, arith::MinimumFOp,
                   arith::MinNumFOp, arith::AndIOp, arith::OrIOp>(combiner);
  bool isEmptyRow = (isa<arith::AndIOp>(combiner) && kind == RowKind::Lowest) ||
                    (isa<arith::OrIOp>(combiner) && kind == RowKind::NotLowest);
  if (isEmptyRow)
    return RowKind::EmptyRow;
  if (isUpdated && (isConstant(kind) || isElement(kind)))
    return RowKind::Row;
  return isSum && kind == RowKind::Scaled ? RowKind::Row : RowKind::Other;
}

SmallVector<RowKind>
chimera::classifyResults(linalg::LinalgOp op,
                         llvm::function_ref<RowKind(OpOperand &)> kindOf) {
  bool isReduction = op.getNumReductionLoops() > 0;
  BodyClassifier body;
  for (OpOperand &operand : op->getOpOperands()) {
    bool isAccumulator = isReduction && op.isDpsInit(&operand);
    body.set(op.getMatchingBlockArgument(&operand),
             isAccumulator ? RowKind::Other : kindOf(operand));
  }
  for (Operation &nested : op.getBlock()->without_terminator())
    for (Value result : nested.getResults())
      body.set(result, body.classify(&nested));

  SmallVector<RowKind> kinds;
  for (auto [yielded, init] :
       llvm::zip_equal(op.getBlock()->getTerminator()->getOperands(),
                       op.getDpsInitsMutable())) {
    Value accumulator = op.getMatchingBlockArgument(&init);
    kinds.push_back(isReduction ? classifyReduction(body, yielded, accumulator)
                                : body.get(yielded));
  }
  return kinds;
}
