//===- MatchSoftmax.cpp - The normal form of a softmax --------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Chain/Softmax.h"

#include "Chimera/Chain/OpKinds.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;
using namespace chimera;

/// The only operation that `op`'s body yields the result of, if it is an
/// `OpTy`.
template <typename OpTy>
static OpTy getYielded(linalg::GenericOp op) {
  return op.getBlock()->getTerminator()->getOperand(0).getDefiningOp<OpTy>();
}

static bool isFilledWith(Value value, double number) {
  auto fill = value.getDefiningOp<linalg::FillOp>();
  FloatAttr constant;
  return fill && matchPattern(fill.getInputs()[0], m_Constant(&constant)) &&
         constant.getValueAsDouble() == number;
}

/// True if `op` reduces `source` by `OpTy`, in order, starting from `neutral`.
template <typename OpTy>
static bool reduces(linalg::GenericOp op, Value source, double neutral) {
  if (op.getNumReductionLoops() != 1 || op.getNumDpsInputs() != 1 ||
      op.getNumDpsInits() != 1 || op.getDpsInputs()[0] != source ||
      !op.getIndexingMapsArray()[0].isIdentity() ||
      !isFilledWith(op.getDpsInits()[0], neutral))
    return false;
  auto combiner = getYielded<OpTy>(op);
  return combiner && combiner.getLhs() == op.getBlock()->getArgument(1) &&
         combiner.getRhs() == op.getBlock()->getArgument(0);
}

/// True if `shift` is `maximum`, or zero where that is minus infinity.
static bool isShift(Value shift, Value maximum) {
  auto select = shift.getDefiningOp<arith::SelectOp>();
  auto isMasked = select ? select.getCondition().getDefiningOp<arith::CmpFOp>()
                         : arith::CmpFOp();
  return isMasked && select.getFalseValue() == maximum &&
         matchPattern(select.getTrueValue(), m_AnyZeroFloat()) &&
         isMasked.getPredicate() == arith::CmpFPredicate::OEQ &&
         isMasked.getLhs() == maximum &&
         matchPattern(isMasked.getRhs(), m_NegInfFloat());
}

/// The argument of the exponential, to the base e or two, that `op` yields.
static Value getExponent(linalg::GenericOp op) {
  if (auto exp = getYielded<math::ExpOp>(op))
    return exp.getOperand();
  auto exp2 = getYielded<math::Exp2Op>(op);
  return exp2 ? exp2.getOperand() : Value();
}

/// True if the body of `op` is exp(factor * (element - maximum)), or of the
/// element alone where the maximum is minus infinity.
static bool isExponential(linalg::GenericOp op, Value score, Value maximum) {
  if (!isParallel(op) || op.getNumDpsInputs() != 2)
    return false;
  bool isSwapped = op.getDpsInputs()[0] == maximum;
  if (op.getDpsInputs()[isSwapped] != score ||
      op.getDpsInputs()[!isSwapped] != maximum ||
      !op.getIndexingMapsArray()[isSwapped].isIdentity())
    return false;
  Value exponent = getExponent(op);
  if (!exponent)
    return false;
  if (auto product = exponent.getDefiningOp<arith::MulFOp>()) {
    FloatAttr factor;
    exponent = product.getLhs();
    if (!matchPattern(product.getRhs(), m_Constant(&factor)) ||
        factor.getValueAsDouble() <= 0)
      return false;
  }
  auto difference = exponent.getDefiningOp<arith::SubFOp>();
  return difference &&
         difference.getLhs() == op.getBlock()->getArgument(isSwapped) &&
         isShift(difference.getRhs(), op.getBlock()->getArgument(!isSwapped));
}

std::optional<Softmax> chimera::matchSoftmax(Value score) {
  Softmax softmax;
  for (Operation *user : score.getUsers())
    if (auto op = dyn_cast<linalg::GenericOp>(user);
        op && reduces<arith::MaximumFOp>(op, score, -INFINITY))
      softmax.maximum = op;
  if (!softmax.maximum)
    return std::nullopt;
  Value maximum = softmax.maximum.getResult(0);
  for (Operation *user : score.getUsers())
    if (auto op = dyn_cast<linalg::GenericOp>(user);
        op && op != softmax.maximum && isExponential(op, score, maximum))
      softmax.exponential = op;
  if (!softmax.exponential || llvm::range_size(score.getUsers()) != 2)
    return std::nullopt;
  Value exponential = softmax.exponential.getResult(0);
  for (Operation *user : exponential.getUsers())
    if (auto op = dyn_cast<linalg::GenericOp>(user);
        op && reduces<arith::AddFOp>(op, exponential, 0))
      softmax.sum = op;
    else if (op && isNarrowing(op))
      softmax.narrowed = op;
  if (!softmax.sum)
    return std::nullopt;
  return softmax;
}
