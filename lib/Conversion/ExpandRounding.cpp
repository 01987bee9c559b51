//===- ExpandRounding.cpp - Round to bf16 with integers -------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's `arith-expand` does this and more: it would take apart maxima of
// vectors, which are an instruction.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace chimera {
#define GEN_PASS_DEF_EXPANDROUNDINGPASS
#include "Chimera/Conversion/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

namespace {
struct ExpandRoundingPass
    : chimera::impl::ExpandRoundingPassBase<ExpandRoundingPass> {
  void runOnOperation() override {
    SmallVector<Operation *> conversions;
    getOperation()->walk([&](Operation *op) {
      if (isa<arith::TruncFOp, arith::ExtFOp>(op))
        conversions.push_back(op);
    });
    RewritePatternSet patterns(&getContext());
    arith::populateExpandBFloat16Patterns(patterns);
    if (failed(applyOpPatternsGreedily(conversions, std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
