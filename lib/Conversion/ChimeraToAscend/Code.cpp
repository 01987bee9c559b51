//===- Code.cpp - Writing the program of a core ---------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Code.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace chimera;
using namespace chimera::ascend;

Value Code::number(OpFoldResult value) {
  return getValueOrCreateConstantIndexOp(builder, loc, value);
}

Value Code::offset(Value base, Value elements) {
  if (isConstantIntValue(elements, 0))
    return base;
  return OffsetOp::create(builder, loc, base.getType(), base, elements);
}

Value Code::part(Value whole, Value first, int64_t size) {
  if (std::optional<int64_t> extent = getConstantIntValue(whole);
      extent && *extent % size == 0)
    return number(size);
  return min(sub(whole, first), number(size));
}

void Code::loop(Value lower, Value upper, int64_t step,
                llvm::function_ref<void(Value)> body) {
  std::optional<int64_t> first = getConstantIntValue(lower),
                         last = getConstantIntValue(upper);
  if (first && last && *last - *first <= step) {
    if (*first < *last)
      body(lower);
    return;
  }
  auto loop = scf::ForOp::create(builder, loc, lower, upper, number(step));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

void Code::goOnIfAny(Value count) {
  Value isAny = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sgt,
                                      count, number(0));
  auto branch =
      scf::IfOp::create(builder, loc, isAny, /*withElseRegion=*/false);
  builder.setInsertionPoint(branch.thenYield());
}
