//===- Tile.cpp - Generate the loop tree of a chain -----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pass: chains with a schedule that can run become loops (TreeBuilder.h),
// others what they were made of.
//
//===----------------------------------------------------------------------===//

#include "Form/PutBackChains.h"
#include "Tile/TreeBuilder.h"

#include "Chimera/Chain/ChainAnalysis.h"
#include "Chimera/Chain/ScheduleConversion.h"
#include "Chimera/Transforms/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace chimera {
#define GEN_PASS_DEF_TILEPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

namespace {
struct TilePass : chimera::impl::TilePassBase<TilePass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<ChainOp> chains;
    getOperation()->walk([&](ChainOp chain) { chains.push_back(chain); });
    if (dissolve)
      getOperation()->walk([](PrepareOp op) {
        op.replaceAllUsesWith(op.getSource());
        op.erase();
      });
    for (ChainOp chain : chains) {
      if (dissolve || !chain.getSchedule()) {
        putBack(chain);
        continue;
      }
      FailureOr<ChainAnalysis> analysis = analyzeChain(chain);
      if (failed(analysis))
        return signalPassFailure();
      if (!isLowerable(*analysis)) {
        putBack(chain, *analysis, getText(analysis->obstacle));
        continue;
      }
      FailureOr<model::Schedule> schedule =
          convertSchedule(chain, *chain.getSchedule(), *analysis);
      if (failed(schedule))
        return signalPassFailure();
      // Code is for any extents of loops that are open.
      analysis->problem = analysis->typedProblem;
      // The schedule may be written by hand and never have met a target.
      const model::ChainProblem &problem = analysis->problem;
      llvm::Error error = model::verifyParallel(problem, *schedule);
      if (!error)
        error = model::verifyPacked(problem, *schedule);
      if (!error)
        error = model::verifyPrepacked(problem, *schedule);
      if (!error)
        error = model::verifyHeld(problem, *schedule);
      if (!error)
        error = model::verifyBlocks(problem, *schedule);
      if (!error)
        error = model::verifyOpen(problem, *schedule);
      if (error) {
        chain.emitError("schedule cannot run: ")
            << llvm::toString(std::move(error));
        return signalPassFailure();
      }
      Value result = TreeBuilder(chain, *analysis, *schedule).build();
      // Whoever looks at the whole program sees loops from here on.
      if (PlanAttr plan = chain.getPlanAttr())
        result.getDefiningOp()->setAttr(ChimeraDialect::getPlanAttrName(),
                                        plan);
      chain.getResult(0).replaceAllUsesWith(result);
      chain.erase();
    }
  }
};
} // namespace
