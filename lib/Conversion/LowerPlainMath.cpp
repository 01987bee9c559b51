//===- LowerPlainMath.cpp - Functions that are instructions ---------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two upstream passes lower functions, and neither does it all: that to LLVM is
// inaccurate for small arguments of expm1 and log1p, that to libm knows no
// integers and no signs. Each gets what it does well; here, the first.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Conversion/Passes.h"

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Transforms/DialectConversion.h"

namespace chimera {
#define GEN_PASS_DEF_LOWERPLAINMATHPASS
#include "Chimera/Conversion/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

namespace {
struct LowerPlainMathPass
    : chimera::impl::LowerPlainMathPassBase<LowerPlainMathPass> {
  void runOnOperation() override {
    LLVMTypeConverter converter(&getContext());
    RewritePatternSet patterns(&getContext());
    populateMathToLLVMConversionPatterns(converter, patterns,
                                         /*approximateLog1p=*/false);
    ConversionTarget target(getContext());
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    target.addIllegalOp<
        math::AbsFOp, math::AbsIOp, math::CeilOp, math::CopySignOp,
        math::CountLeadingZerosOp, math::CountTrailingZerosOp, math::CtPopOp,
        math::FloorOp, math::FmaOp, math::IsFiniteOp, math::IsInfOp,
        math::IsNaNOp, math::IsNormalOp, math::RoundEvenOp, math::RoundOp,
        math::RsqrtOp, math::SincosOp, math::SqrtOp, math::TruncOp>();
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
