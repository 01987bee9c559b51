//===- DropBarriers.cpp - Threads meet once behind a parallel loop --------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop that waits for memory takes microseconds, and threads that meet take
// half of one. Behind a loop that ends a parallel region they would meet twice.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Conversion/Passes.h"

#include "mlir/Dialect/OpenMP/OpenMPDialect.h"

namespace chimera {
#define GEN_PASS_DEF_DROPBARRIERSPASS
#include "Chimera/Conversion/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

/// True if the parallel region of `loop` does nothing behind it. What threads
/// reduce is combined behind the loop, so such loops are left alone.
static bool endsRegion(omp::WsloopOp loop) {
  return isa<omp::ParallelOp>(loop->getParentOp()) &&
         isa<omp::TerminatorOp>(loop->getNextNode()) &&
         loop.getReductionVars().empty();
}

namespace {
struct DropBarriersPass
    : chimera::impl::DropBarriersPassBase<DropBarriersPass> {
  void runOnOperation() override {
    getOperation()->walk([](omp::WsloopOp loop) {
      if (endsRegion(loop))
        loop.setNowait(true);
    });
  }
};
} // namespace
