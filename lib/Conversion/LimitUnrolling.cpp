//===- LimitUnrolling.cpp - Which loops LLVM leaves alone -----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiles and micro kernels come with the loops that the schedule wants. LLVM
// would examine each of them again, at every depth of the nest and twice, for
// whether to unroll it.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Conversion/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace chimera {
#define GEN_PASS_DEF_LIMITUNROLLINGPASS
#include "Chimera/Conversion/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

/// The name under which branches of the LLVM dialect know it.
static constexpr llvm::StringLiteral kLoopAnnotation = "loop_annotation";

/// True if the body of an innermost loop keeps the vector units busy as it is.
static bool isUnrolled(scf::ForOp loop) {
  constexpr int64_t enoughMultiplyAdds = 8;
  int64_t multiplyAdds = 0;
  loop->walk([&](vector::FMAOp) { ++multiplyAdds; });
  return multiplyAdds >= enoughMultiplyAdds;
}

static bool hasLoops(scf::ForOp loop) {
  return loop.getBody()
      ->walk([](LoopLikeOpInterface) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

namespace {
class LimitUnrollingPass
    : public chimera::impl::LimitUnrollingPassBase<LimitUnrollingPass> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    auto unroll = LLVM::LoopUnrollAttr::get(
        context, /*disable=*/BoolAttr::get(context, true), {}, {}, {}, {}, {},
        {});
    auto annotation =
        LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, unroll, {}, {}, {},
                                      {}, {}, {}, {}, {}, {}, {}, {});
    getOperation()->walk([&](scf::ForOp loop) {
      if (!loop->hasAttr(kLoopAnnotation) &&
          (hasLoops(loop) || isUnrolled(loop)))
        loop->setAttr(kLoopAnnotation, annotation);
    });
  }
};
} // namespace
