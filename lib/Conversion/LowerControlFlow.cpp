//===- LowerControlFlow.cpp - Loops that test at their end ----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's loops test before each iteration. LLVM turns them over so that
// they test after it, one by one, and walks through what all loops around use
// each time, which is quadratic in the nests of many tiles that programs have.
// Made that way in the first place they leave it nothing to do.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Conversion/Passes.h"

#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/DialectConversion.h"

namespace chimera {
#define GEN_PASS_DEF_LOWERCONTROLFLOWPASS
#include "Chimera/Conversion/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

/// True if `loop` has an iteration, whatever the program is called with.
static bool hasIteration(scf::ForOp loop) {
  APInt lower, upper;
  if (!matchPattern(loop.getLowerBound(), m_ConstantInt(&lower)) ||
      !matchPattern(loop.getUpperBound(), m_ConstantInt(&upper)))
    return false;
  return loop.getUnsignedCmp() ? lower.ult(upper) : lower.slt(upper);
}

namespace {
/// A test whether there is an iteration, the body, and a test whether there is
/// another one. The body's blocks are the loop's own.
struct LowerFor : OpRewritePattern<scf::ForOp> {
  LowerFor(MLIRContext *context)
      // Rather than upstream's.
      : OpRewritePattern<scf::ForOp>(context, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(scf::ForOp loop,
                                PatternRewriter &rewriter) const override {
    Location loc = loop.getLoc();
    arith::CmpIPredicate less = loop.getUnsignedCmp()
                                    ? arith::CmpIPredicate::ult
                                    : arith::CmpIPredicate::slt;
    Block *before = rewriter.getInsertionBlock();
    Block *after = rewriter.splitBlock(before, rewriter.getInsertionPoint());
    Block *first = loop.getBody();
    Block *last = &loop.getRegion().back();
    SmallVector<Location> locs(loop.getNumResults(), loc);
    after->addArguments(loop.getResultTypes(), locs);
    rewriter.inlineRegionBefore(loop.getRegion(), after);

    Operation *yield = last->getTerminator();
    rewriter.setInsertionPointToEnd(last);
    SmallVector<Value> results = llvm::to_vector(yield->getOperands());
    Value next = arith::AddIOp::create(rewriter, loc, first->getArgument(0),
                                       loop.getStep());
    Value again =
        arith::CmpIOp::create(rewriter, loc, less, next, loop.getUpperBound());
    SmallVector<Value> carried = {next};
    llvm::append_range(carried, results);
    auto branch = cf::CondBranchOp::create(rewriter, loc, again, first, carried,
                                           after, results);
    keepAnnotation(loop, branch);
    rewriter.eraseOp(yield);

    rewriter.setInsertionPointToEnd(before);
    SmallVector<Value> initial = {loop.getLowerBound()};
    llvm::append_range(initial, loop.getInitArgs());
    if (hasIteration(loop)) {
      cf::BranchOp::create(rewriter, loc, first, initial);
    } else {
      Value any = arith::CmpIOp::create(
          rewriter, loc, less, loop.getLowerBound(), loop.getUpperBound());
      cf::CondBranchOp::create(rewriter, loc, any, first, initial, after,
                               loop.getInitArgs());
    }
    rewriter.replaceOp(loop, after->getArguments());
    return success();
  }

private:
  /// What the loop says to LLVM, the branch back says.
  static void keepAnnotation(scf::ForOp loop, cf::CondBranchOp branch) {
    for (NamedAttribute attribute : loop->getDiscardableAttrs())
      if (isa<LLVM::LLVMDialect>(attribute.getValue().getDialect()))
        branch->setDiscardableAttr(attribute.getName(), attribute.getValue());
  }
};

class LowerControlFlowPass
    : public chimera::impl::LowerControlFlowPassBase<LowerControlFlowPass> {
public:
  using LowerControlFlowPassBase::LowerControlFlowPassBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<LowerFor>(&getContext());
    populateSCFToControlFlowConversionPatterns(patterns);
    ConversionTarget target(getContext());
    target.addIllegalDialect<scf::SCFDialect>();
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
