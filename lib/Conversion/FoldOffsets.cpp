//===- FoldOffsets.cpp - Constants out of products of indices -------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows of a register tile are row + 0, row + 1, ..., and each has an
// address with (row + i) * stride. What they have in common is row * stride,
// and the rest is an offset that instructions hold. LLVM sees that where such
// an index has one use; the row of an image that is read through windows has
// one for each tap, and got a register of its own for each address, more than
// there are.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Conversion/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

namespace chimera {
#define GEN_PASS_DEF_FOLDOFFSETSPASS
#include "Chimera/Conversion/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

/// Replaces the product (x + a) * b of an index with constants by x * b + ab.
static void distribute(IRRewriter &rewriter, LLVM::MulOp product) {
  auto sum = product.getLhs().getDefiningOp<LLVM::AddOp>();
  APInt factor, offset;
  if (!sum || !matchPattern(product.getRhs(), m_ConstantInt(&factor)) ||
      !matchPattern(sum.getRhs(), m_ConstantInt(&offset)))
    return;
  Location loc = product.getLoc();
  rewriter.setInsertionPoint(product);
  Value common =
      LLVM::MulOp::create(rewriter, loc, sum.getLhs(), product.getRhs());
  Value rest = LLVM::ConstantOp::create(
      rewriter, loc, product.getType(),
      rewriter.getIntegerAttr(product.getType(), offset * factor));
  rewriter.replaceOpWithNewOp<LLVM::AddOp>(product, common, rest);
}

namespace {
class FoldOffsetsPass
    : public chimera::impl::FoldOffsetsPassBase<FoldOffsetsPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<LLVM::MulOp> products;
    getOperation()->walk([&](LLVM::MulOp op) {
      if (isa<IntegerType>(op.getType()))
        products.push_back(op);
    });
    for (LLVM::MulOp product : products)
      distribute(rewriter, product);
  }
};
} // namespace
