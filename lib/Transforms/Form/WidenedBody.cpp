//===- WidenedBody.cpp - Scalar bodies computed in f32 --------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WidenedBody.h"

#include "Chimera/IR/NumberTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace chimera;

/// True if `op` yields one of its operands, or one with another sign: a number
/// that the narrow type has.
static bool isExact(Operation &op) {
  return isa<arith::SelectOp, arith::NegFOp, arith::MaximumFOp,
             arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp,
             math::AbsFOp, math::CopySignOp, math::FloorOp, math::CeilOp,
             math::TruncOp, math::RoundOp, math::RoundEvenOp>(op);
}

/// True if `op` can be computed in a wider type, and what it yields is nearer
/// to the true value then: its results are rounded once, as those of hardware
/// that has no narrow arithmetic are.
static bool isArithmetic(Operation &op) {
  return op.getNumRegions() == 0 &&
         OpTrait::hasElementwiseMappableTraits(&op) && isPure(&op) &&
         (isa<arith::CmpFOp, arith::SelectOp>(op) ||
          llvm::all_of(op.getResultTypes(), llvm::IsaPred<FloatType>)) &&
         !isa<arith::BitcastOp, arith::SIToFPOp, arith::UIToFPOp>(op);
}

/// `value` in `type`, another float or the same.
Value WidenedBody::convert(Value value, Type type) {
  Type from = value.getType();
  if (from == type)
    return value;
  bool isWider = from.getIntOrFloatBitWidth() < type.getIntOrFloatBitWidth();
  return isWider ? arith::ExtFOp::create(builder, value.getLoc(), type, value)
                       .getResult()
                 : createNarrowed(builder, value.getLoc(), type, value);
}

SmallVector<Value> WidenedBody::emit(Block &body, ValueRange arguments,
                                     bool rounds) {
  Type wide = getWideType(builder.getContext());
  for (auto [old, argument] : llvm::zip_equal(body.getArguments(), arguments)) {
    bool isFloat = isa<FloatType>(old.getType());
    Type type = isWidened(old.getType()) ? wide : old.getType();
    values.map(old, isFloat ? convert(argument, type) : argument);
  }
  for (Operation &op : body.without_terminator())
    emit(op, rounds);
  provideCaptured(*body.getTerminator());
  return llvm::map_to_vector(
      body.getTerminator()->getOperands(),
      [&](Value yielded) { return values.lookupOrDefault(yielded); });
}

bool WidenedBody::concernsWidened(Operation &op) {
  return llvm::any_of(op.getOperandTypes(), isWidened) ||
         llvm::any_of(op.getResultTypes(), isWidened);
}

/// Makes known what `op` reads from outside the body.
void WidenedBody::provideCaptured(Operation &op) {
  Type wide = getWideType(op.getContext());
  for (Value operand : op.getOperands()) {
    if (!isWidened(operand.getType()) || values.contains(operand))
      continue;
    FloatAttr number;
    values.map(operand, matchPattern(operand, m_Constant(&number))
                            ? createNumber(builder, op.getLoc(), wide,
                                           number.getValueAsDouble())
                            : convert(operand, wide));
  }
}

void WidenedBody::emit(Operation &op, bool rounds) {
  provideCaptured(op);
  if (emitConversion(op))
    return;
  if (concernsWidened(op) && isArithmetic(op))
    return emitInWideType(op, rounds);
  emitAsItIs(op);
}

/// Constants, conversions and elements of tensors outside.
bool WidenedBody::emitConversion(Operation &op) {
  if (op.getNumResults() != 1)
    return false;
  Value result = op.getResult(0);
  Type type = result.getType();
  FloatAttr number;
  if (isWidened(type) && matchPattern(result, m_Constant(&number))) {
    values.map(result,
               createNumber(builder, op.getLoc(), getWideType(op.getContext()),
                            number.getValueAsDouble()));
    return true;
  }
  if (auto extension = dyn_cast<arith::ExtFOp>(op);
      extension && isWidened(extension.getIn().getType())) {
    values.map(result, convert(values.lookup(extension.getIn()), type));
    return true;
  }
  if (auto truncation = dyn_cast<arith::TruncFOp>(op);
      truncation && isWidened(type)) {
    Value in = values.lookupOrDefault(truncation.getIn());
    Value narrow = createNarrowed(builder, op.getLoc(), type, in);
    values.map(result, convert(narrow, getWideType(op.getContext())));
    return true;
  }
  if (auto extract = dyn_cast<tensor::ExtractOp>(op))
    if (Value tensor = tensors.lookup(extract.getTensor())) {
      SmallVector<Value> indices =
          llvm::map_to_vector(extract.getIndices(), [&](Value index) {
            return values.lookupOrDefault(index);
          });
      values.map(result, tensor::ExtractOp::create(builder, op.getLoc(), tensor,
                                                   indices));
      return true;
    }
  return false;
}

void WidenedBody::emitInWideType(Operation &op, bool rounds) {
  Type wide = getWideType(op.getContext());
  Operation *clone = builder.clone(op, values);
  for (auto [old, result] :
       llvm::zip_equal(op.getResults(), clone->getResults())) {
    values.map(old, result);
    if (!isWidened(old.getType()))
      continue;
    result.setType(wide);
    if (isExact(op))
      continue;
    if (rounds)
      values.map(old,
                 createRounded(builder, op.getLoc(), old.getType(), result));
    else
      leftUnrounded = true;
  }
}

/// `op` on the types that it had.
void WidenedBody::emitAsItIs(Operation &op) {
  IRMapping narrow;
  auto provide = [&](Value operand) {
    if (Value value = values.lookupOrNull(operand))
      narrow.map(operand, isWidened(operand.getType())
                              ? convert(value, operand.getType())
                              : value);
  };
  op.walk([&](Operation *nested) {
    llvm::for_each(nested->getOperands(), provide);
  });
  Operation *clone = builder.clone(op, narrow);
  Type wide = getWideType(op.getContext());
  for (auto [old, result] :
       llvm::zip_equal(op.getResults(), clone->getResults()))
    values.map(old, isWidened(old.getType()) ? convert(result, wide) : result);
}
