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
// whether to unroll it. What is left to unroll are rows of few vectors, whose
// loops would take as long as what they do.
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

/// True if `loop` works on so few vectors that straight code is short, too.
static bool isShort(scf::ForOp loop) {
  constexpr int64_t mostOperations = 150;
  std::optional<APInt> trips = loop.getStaticTripCount();
  if (!trips || trips->ugt(mostOperations))
    return false;
  int64_t operations = 0;
  bool hasVectors = false;
  loop.getBody()->walk([&](Operation *op) {
    ++operations;
    hasVectors |= isa<vector::LoadOp, vector::StoreOp>(op);
  });
  return hasVectors && trips->getZExtValue() * operations <= mostOperations;
}

static bool hasLoops(scf::ForOp loop) {
  return loop.getBody()
      ->walk([](LoopLikeOpInterface) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

static LLVM::LoopAnnotationAttr annotate(LLVM::LoopUnrollAttr unroll) {
  return LLVM::LoopAnnotationAttr::get(unroll.getContext(), {}, {}, {}, unroll,
                                       {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                                       {});
}

namespace {
class LimitUnrollingPass
    : public chimera::impl::LimitUnrollingPassBase<LimitUnrollingPass> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    BoolAttr yes = BoolAttr::get(context, true);
    LLVM::LoopAnnotationAttr never = annotate(LLVM::LoopUnrollAttr::get(
        context, /*disable=*/yes, {}, {}, {}, {}, {}, {}));
    LLVM::LoopAnnotationAttr wholly = annotate(LLVM::LoopUnrollAttr::get(
        context, {}, {}, {}, /*full=*/yes, {}, {}, {}));
    getOperation()->walk([&](scf::ForOp loop) {
      if (loop->hasAttr(kLoopAnnotation))
        return;
      if (hasLoops(loop) || isUnrolled(loop))
        loop->setAttr(kLoopAnnotation, never);
      else if (isShort(loop))
        loop->setAttr(kLoopAnnotation, wholly);
    });
  }
};
} // namespace
