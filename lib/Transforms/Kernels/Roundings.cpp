//===- Roundings.cpp - Numbers rounded once -------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernels/Roundings.h"

#include "Chimera/IR/NumberTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace chimera;

/// The conversion to a narrow type that `value`, in a wide one, is the result
/// of, if nobody else needs it.
static arith::TruncFOp getRounding(Value value) {
  auto widened = value.getDefiningOp<arith::ExtFOp>();
  if (!widened || !widened->hasOneUse())
    return arith::TruncFOp();
  auto narrowed = widened.getIn().getDefiningOp<arith::TruncFOp>();
  if (!narrowed || !narrowed->hasOneUse() ||
      narrowed.getIn().getType() != value.getType())
    return arith::TruncFOp();
  return narrowed;
}

/// True if `value` is the same in `type`.
static bool isExactIn(Value value, Type type) {
  if (auto widened = value.getDefiningOp<arith::ExtFOp>())
    return widened.getIn().getType() == type;
  APFloat number(0.0f);
  if (!matchPattern(value, m_ConstantFloat(&number)))
    return false;
  bool losesDigits = false;
  number.convert(cast<FloatType>(type).getFloatSemantics(),
                 APFloat::rmNearestTiesToEven, &losesDigits);
  return !losesDigits;
}

/// Rounds the result of `extremum` instead of its operands.
static void roundResult(Operation *extremum) {
  Type narrow;
  bool flushes = true;
  for (Value operand : extremum->getOperands())
    if (arith::TruncFOp rounding = getRounding(operand)) {
      narrow = rounding.getType();
      flushes &= flushesDenormals(rounding.getResult());
    }
  if (!narrow || !llvm::all_of(extremum->getOperands(), [&](Value operand) {
        return isExactIn(operand, narrow);
      }))
    return;
  for (OpOperand &operand : extremum->getOpOperands())
    if (arith::TruncFOp rounding = getRounding(operand.get()))
      operand.set(rounding.getIn());
  OpBuilder builder(extremum->getContext());
  builder.setInsertionPointAfter(extremum);
  Value result = extremum->getResult(0);
  Value narrowed = createNarrowed(builder, extremum->getLoc(), narrow, result);
  if (flushes)
    setFlushesDenormals(narrowed);
  Value rounded = arith::ExtFOp::create(builder, extremum->getLoc(),
                                        result.getType(), narrowed);
  result.replaceAllUsesExcept(rounded, narrowed.getDefiningOp());
}

/// Replaces `narrowing` by the number of its type that it converts back.
static void dropNarrowing(arith::TruncFOp narrowing) {
  auto widened = narrowing.getIn().getDefiningOp<arith::ExtFOp>();
  if (!widened || widened.getIn().getType() != narrowing.getType())
    return;
  Value narrow = widened.getIn();
  bool isOnly = narrow.hasOneUse() && widened->hasOneUse();
  // What may lose denormal numbers later may lose them now.
  if (isOnly && flushesDenormals(narrowing.getResult()))
    setFlushesDenormals(narrow);
  narrowing.replaceAllUsesWith(narrow);
}

void chimera::joinRoundings(Block &body) {
  for (Operation &op : llvm::make_early_inc_range(body)) {
    if (isa<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
            arith::MinNumFOp>(op))
      roundResult(&op);
    else if (auto narrowing = dyn_cast<arith::TruncFOp>(op))
      dropNarrowing(narrowing);
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isa<arith::ExtFOp, arith::TruncFOp>(op) && op.use_empty())
      op.erase();
}
