//===- ExpandMaxima.cpp - Maxima with zero as two instructions ------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `vmaxps` returns its second operand where one is no number, and where both
// are zeros. A maximum with zero wants the one that is no number, and of the
// zeros the positive one: LLVM compares for the first and selects, which in
// place becomes a store with a mask, which is slow on processors with AVX2.
// Where all are numbers it needs neither.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

namespace chimera {
#define GEN_PASS_DEF_EXPANDMAXIMAPASS
#include "Chimera/Conversion/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

/// Adding zero makes the negative zero a positive one and leaves everything
/// else. Then `zero > sum ? zero : sum` is the maximum, and `vmaxps`.
static void expand(arith::MaximumFOp op, Value zero) {
  Value other = op.getLhs() == zero ? op.getRhs() : op.getLhs();
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value sum = arith::AddFOp::create(builder, loc, other, zero);
  Value isLess =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT, sum, zero);
  Value maximum =
      arith::SelectOp::create(builder, loc, isLess, zero, sum).getResult();
  op.getResult().replaceAllUsesWith(maximum);
  op.erase();
}

namespace {
struct ExpandMaximaPass
    : chimera::impl::ExpandMaximaPassBase<ExpandMaximaPass> {
  void runOnOperation() override {
    getOperation()->walk([](arith::MaximumFOp op) {
      Type type = getElementTypeOrSelf(op.getType());
      bool isNumber = arith::bitEnumContainsAll(op.getFastmath(),
                                                arith::FastMathFlags::nnan);
      if (isNumber || (!type.isF32() && !type.isF64()))
        return;
      for (Value operand : {op.getRhs(), op.getLhs()})
        if (matchPattern(operand, m_PosZeroFloat()))
          return expand(op, operand);
    });
  }
};
} // namespace
