//===- PutBackChains.cpp - Undo chains ------------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A chain that is planned but not compiled has told what there is to tell once
// it has a plan. Its operators go on by themselves.
//
//===----------------------------------------------------------------------===//

#include "Form/PutBackChains.h"

#include "NamedRemarks.h"

#include "Chimera/IR/MicroKernels.h"
#include "Chimera/Target/Target.h"
#include "Chimera/Transforms/Passes.h"

#include "mlir/IR/Remarks.h"

namespace chimera {
#define GEN_PASS_DEF_PUTBACKCHAINSPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

void chimera::putBack(ChainOp chain) {
  Block &body = chain.getBody().front();
  for (auto [argument, input] :
       llvm::zip_equal(body.getArguments(), chain.getInputs()))
    argument.replaceAllUsesWith(input);
  Operation *yield = body.getTerminator();
  for (auto [result, value] :
       llvm::zip_equal(chain.getResults(), yield->getOperands()))
    result.replaceAllUsesWith(value);
  chain->getBlock()->getOperations().splice(Block::iterator(chain),
                                            body.getOperations(), body.begin(),
                                            Block::iterator(yield));
  chain.erase();
}

void chimera::putBack(ChainOp chain, const ChainAnalysis &analysis,
                      const Twine &obstacle) {
  Operation *cause = analysis.obstacleOp ? analysis.obstacleOp : chain;
  remark::missed(cause->getLoc(), named("not-lowered")) << remark::add(
      "no code is generated from the chain: {0}", obstacle.str());
  putBack(chain);
}

namespace {
struct PutBackChainsPass
    : chimera::impl::PutBackChainsPassBase<PutBackChainsPass> {
  using Base::Base;

  void runOnOperation() override {
    // A wrong option is an error even where there is nothing to put back.
    if (failed(resolveTarget(getOperation(), target)))
      return signalPassFailure();
    SmallVector<ChainOp> chains;
    getOperation()->walk([&](ChainOp chain) { chains.push_back(chain); });
    for (ChainOp chain : chains) {
      FailureOr<ChainAnalysis> analysis = analyzeChain(chain);
      if (failed(analysis))
        return signalPassFailure();
      FailureOr<TargetAttrInterface> found = resolveTarget(chain, target);
      if (failed(found))
        return signalPassFailure();
      OperatorSupport support = getOperatorSupport(chain, *found);
      LoweringObstacle obstacle = getObstacle(*analysis, support);
      if (obstacle != LoweringObstacle::None)
        putBack(chain, *analysis, getText(obstacle, support));
    }
  }
};
} // namespace
