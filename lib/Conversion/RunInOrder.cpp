//===- RunInOrder.cpp - Parallel loops for one thread ---------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// To start and end a parallel region takes more than a tenth of a microsecond
// even if one thread is all there is: as long as attention of a few keys.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Conversion/Passes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

namespace chimera {
#define GEN_PASS_DEF_RUNINORDERPASS
#include "Chimera/Conversion/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

static bool hasStackBuffers(scf::ParallelOp loop) {
  return loop.getBody()
      ->walk([](memref::AllocaOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// Moves the body of `loop` into `block`. Its buffers on the stack belong to
/// one iteration, which loops in order say by a scope.
static void moveBody(IRRewriter &rewriter, scf::ParallelOp loop, Block *block,
                     ValueRange ivs) {
  rewriter.eraseOp(loop.getBody()->getTerminator());
  if (!hasStackBuffers(loop)) {
    rewriter.inlineBlockBefore(loop.getBody(), block->getTerminator(), ivs);
    return;
  }
  rewriter.setInsertionPoint(block->getTerminator());
  auto scope = memref::AllocaScopeOp::create(rewriter, loop.getLoc(), {});
  Block *inside = rewriter.createBlock(&scope.getBodyRegion());
  memref::AllocaScopeReturnOp::create(rewriter, loop.getLoc(), ValueRange());
  rewriter.inlineBlockBefore(loop.getBody(), inside->getTerminator(), ivs);
}

namespace {
class RunInOrderPass
    : public chimera::impl::RunInOrderPassBase<RunInOrderPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<scf::ParallelOp> loops;
    getOperation()->walk([&](scf::ParallelOp loop) {
      if (loop.getInitVals().empty())
        loops.push_back(loop);
    });
    for (scf::ParallelOp loop : loops) {
      rewriter.setInsertionPoint(loop);
      scf::LoopNest nest =
          scf::buildLoopNest(rewriter, loop.getLoc(), loop.getLowerBound(),
                             loop.getUpperBound(), loop.getStep());
      SmallVector<Value> ivs;
      for (scf::ForOp each : nest.loops)
        ivs.push_back(each.getInductionVar());
      moveBody(rewriter, loop, nest.loops.back().getBody(), ivs);
      rewriter.eraseOp(loop);
    }
  }
};
} // namespace
