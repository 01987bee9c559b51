//===- Combiner.cpp - How a reduction combines two values -----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Combiner.h"

#include "X86Intrinsics.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace chimera;

std::optional<Combiner> Combiner::find(BlockArgument held, Value yielded,
                                       bool hasAvx512) {
  Operation *operation = yielded.getDefiningOp();
  if (!operation || !held.hasOneUse() || !yielded.hasOneUse() ||
      *held.user_begin() != operation || !arith::getNeutralElement(operation))
    return std::nullopt;
  Combiner combiner;
  combiner.operation = operation;
  combiner.hasAvx512 = hasAvx512;
  unsigned position = held.use_begin()->getOperandNumber();
  combiner.contribution = operation->getOperand(1 - position);
  return combiner;
}

Value Combiner::getNeutral(OpBuilder &builder, VectorType type) const {
  auto element = cast<TypedAttr>(*arith::getNeutralElement(operation));
  // That of maxnumf is NaN, with which combineFast could not start. Infinity
  // differs from it only if not a single element is a number.
  if (isa<arith::MaxNumFOp, arith::MinNumFOp>(operation)) {
    const llvm::fltSemantics &semantics =
        cast<FloatType>(type.getElementType()).getFloatSemantics();
    element = builder.getFloatAttr(
        type.getElementType(),
        APFloat::getInf(semantics, isa<arith::MaxNumFOp>(operation)));
  }
  return arith::ConstantOp::create(builder, operation->getLoc(),
                                   DenseElementsAttr::get(type, element));
}

Value Combiner::combine(OpBuilder &builder, Value accumulator,
                        Value value) const {
  Operation *clone = builder.clone(*operation);
  clone->setOperands({accumulator, value});
  clone->getResult(0).setType(value.getType());
  return clone->getResult(0);
}

/// True if `operation` is the one for numbers of a kind that has two.
static bool propagatesNans(Operation *operation) {
  return isa<arith::MaximumFOp, arith::MinimumFOp>(operation);
}

bool Combiner::losesNans() const {
  if (!propagatesNans(operation))
    return false;
  auto flags = cast<arith::ArithFastMathInterface>(operation);
  return !bitEnumContainsAny(flags.getFastMathFlagsAttr().getValue(),
                             arith::FastMathFlags::nnan);
}

bool Combiner::isExact() const {
  return !propagatesNans(operation) &&
         !isa<arith::MaxNumFOp, arith::MinNumFOp>(operation);
}

Value Combiner::combineFast(OpBuilder &builder, Value accumulator,
                            Value value) const {
  Location loc = operation->getLoc();
  // The neutral element is a number, so the accumulator always is.
  if (isa<arith::MaxNumFOp, arith::MinNumFOp>(operation)) {
    auto predicate = isa<arith::MaxNumFOp>(operation)
                         ? arith::CmpFPredicate::OGT
                         : arith::CmpFPredicate::OLT;
    Value isBetter =
        arith::CmpFOp::create(builder, loc, predicate, value, accumulator);
    return arith::SelectOp::create(builder, loc, isBetter, value, accumulator);
  }
  if (!propagatesNans(operation))
    return combine(builder, accumulator, value);
  bool isMaximum = isa<arith::MaximumFOp>(operation);
  if (hasAvx512 && hasAvx512Form(value.getType()))
    return createRange(builder, loc, accumulator, value,
                       isMaximum ? RangeKind::Maximum : RangeKind::Minimum);
  Value combined = combine(builder, accumulator, value);
  combined.getDefiningOp()->setAttr(
      "fastmath", arith::FastMathFlagsAttr::get(builder.getContext(),
                                                arith::FastMathFlags::nnan));
  return combined;
}

Value chimera::combineLanes(OpBuilder &builder, Location loc,
                            const Combiner &combiner, SmallVector<Value> rows) {
  int64_t wanted = rows.size();
  rows.resize(llvm::PowerOf2Ceil(wanted), rows.back());
  int64_t lanes = cast<VectorType>(rows.front().getType()).getNumElements();
  auto shuffle = [&](Value lhs, Value rhs, ArrayRef<int64_t> order) {
    return vector::ShuffleOp::create(builder, loc, lhs, rhs, order).getResult();
  };
  // Parts of `part` neighbouring lanes belong to one row. Two vectors become
  // one with parts half as long, until there is one vector; then the halves of
  // its parts are combined in place.
  for (int64_t part = lanes; part > 1; part /= 2) {
    SmallVector<int64_t> first, second, swapped;
    for (int64_t lane = 0; lane < 2 * lanes; ++lane)
      (lane % part < part / 2 ? first : second).push_back(lane);
    for (int64_t lane = 0; lane < lanes; ++lane)
      swapped.push_back(lane ^ (part / 2));
    if (rows.size() == 1) {
      Value row = rows.front();
      rows.front() =
          combiner.combineFast(builder, row, shuffle(row, row, swapped));
      continue;
    }
    SmallVector<Value> merged;
    for (size_t i = 0; i < rows.size(); i += 2)
      merged.push_back(
          combiner.combineFast(builder, shuffle(rows[i], rows[i + 1], first),
                               shuffle(rows[i], rows[i + 1], second)));
    rows = std::move(merged);
  }
  SmallVector<int64_t> order;
  int64_t distance = lanes / static_cast<int64_t>(llvm::PowerOf2Ceil(wanted));
  for (int64_t row = 0; row < wanted; ++row)
    order.push_back(row * distance);
  return shuffle(rows.front(), rows.front(), order);
}
