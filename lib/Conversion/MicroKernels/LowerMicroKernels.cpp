//===- LowerMicroKernels.cpp - Micro kernels to code ----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What all implementations have in common when micro kernels become code: sizes
// known at run time only, tiles of one size, hints, and what becomes of a
// kernel that its implementation does not cover. An implementation is left with
// emitting code for extents that it knows.
//
//===----------------------------------------------------------------------===//

#include "KernelTiles.h"
#include "MicroKernelLibrary.h"
#include "Specializer.h"

#include "Chimera/Conversion/Passes.h"
#include "Chimera/IR/MicroKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/MapVector.h"

namespace chimera {
#define GEN_PASS_DEF_LOWERMICROKERNELSPASS
#include "Chimera/Conversion/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

/// The hints in front of `op` that are meant for it.
static SmallVector<PrefetchOp> findPrefetches(MicroKernelOp op) {
  SmallVector<PrefetchOp> prefetches;
  if (op.getKind() != MicroKernelKind::Contraction)
    return prefetches;
  for (Operation *before = op->getPrevNode(); before;
       before = before->getPrevNode()) {
    if (auto prefetch = dyn_cast<PrefetchOp>(before))
      prefetches.push_back(prefetch);
    if (before->getNumRegions() > 0)
      break;
  }
  return prefetches;
}

/// True if tiles of `extents` lie at the edge of a result: there is one of them
/// for many others, and not worth the code to fetch anything beside it.
static bool isAtEdge(MicroKernelOp op, ArrayRef<int64_t> extents) {
  return llvm::any_of(llvm::enumerate(extents), [&](const auto &entry) {
    return !op.isReduction(entry.index()) &&
           llvm::any_of(op.getExtentsOf(entry.index()),
                        [&](int64_t listed) { return listed > entry.value(); });
  });
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

namespace {

/// The operations that are emitted and still there.
class EmittedOps : public RewriterBase::Listener {
public:
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    emitted.insert(op);
  }
  void notifyOperationErased(Operation *op) override { emitted.remove(op); }
  ArrayRef<Operation *> get() const { return emitted.getArrayRef(); }

private:
  llvm::SetVector<Operation *> emitted;
};

class KernelLowering {
public:
  explicit KernelLowering(MLIRContext *context) : rewriter(context, &emitted) {}

  void lower(MicroKernelOp op);
  /// True if `op` was computed while the contraction before it was.
  bool isDone(Operation *op) const { return finished.contains(op); }
  /// Applies the patterns of all kernels that were tried to what was emitted.
  LogicalResult finish();

private:
  LogicalResult tryKernel(MicroKernelOp op, MicroKernelAttrInterface kernel,
                          SmallVectorImpl<MicroKernelOp> &edges);

  EmittedOps emitted;
  IRRewriter rewriter;
  /// One of each sort of kernel.
  llvm::MapVector<TypeID, MicroKernelAttrInterface> tried;
  /// Elementwise kernels that are gone with contractions.
  llvm::DenseSet<Operation *> finished;
};

} // namespace

LogicalResult KernelLowering::tryKernel(MicroKernelOp op,
                                        MicroKernelAttrInterface kernel,
                                        SmallVectorImpl<MicroKernelOp> &edges) {
  tried.insert({kernel.getTypeID(), kernel});
  if (!computes(kernel, op))
    return failure();
  // Code is emitted in front of the kernel; taken away again if it does not
  // work.
  Operation *before = op->getPrevNode();
  SmallVector<PrefetchOp> prefetches = findPrefetches(op);
  MicroKernelOp finish = op.getFinish();
  if (finish && !kernel.finishes(op, finish))
    finish = {};
  // What the finishing kernel reads has to be there.
  while (finish && op->getNextNode() != finish)
    rewriter.moveOpBefore(op->getNextNode(), op);
  rewriter.setInsertionPoint(op);
  auto emitOthers = [&] {
    emitNaive(rewriter, op);
    if (finish)
      emitNaive(rewriter, finish);
  };
  auto takesAny = [&](unsigned dim) { return kernel.takesAnyExtent(op, dim); };
  SmallVector<int64_t> tile = kernel.getTile(op);
  LogicalResult result = specialize(
      rewriter, op, takesAny, tile.empty() && kernel.takesOpenExtents(op),
      [&](OpBuilder &, ArrayRef<int64_t> extents) {
        // No kernel has to expect that there is nothing to compute.
        if (llvm::is_contained(extents, 0)) {
          emitOthers();
          return success();
        }
        KernelContext context;
        context.finish = finish;
        if (!isAtEdge(op, extents))
          context.prefetches = prefetches;
        if (tile.empty())
          return kernel.emit(rewriter, op, extents, context);
        return emitInTiles(rewriter, op, kernel, tile, extents,
                           context.prefetches, edges);
      },
      emitOthers);
  if (succeeded(result)) {
    if (finish) {
      finished.insert(finish);
      rewriter.eraseOp(finish);
    }
    return success();
  }
  edges.clear();
  while (op->getPrevNode() != before)
    rewriter.eraseOp(op->getPrevNode());
  return failure();
}

void KernelLowering::lower(MicroKernelOp op) {
  SmallVector<MicroKernelOp> edges;
  bool isLowered = false;
  for (MicroKernelAttrInterface kernel :
       {op.getImplementationAttr(), op.getOtherwiseAttr()})
    isLowered |=
        !isLowered && kernel && succeeded(tryKernel(op, kernel, edges));
  if (!isLowered) {
    remark::missed(op.getLoc(),
                   remark::RemarkOpts::name("naive").category("chimera"))
        << "micro kernel lowered by its naive semantics: "
        << (op.getImplementationAttr() ? "its implementation does not cover it"
                                       : "it has no implementation");
    rewriter.setInsertionPoint(op);
    emitNaive(rewriter, op);
  }
  rewriter.eraseOp(op);
  for (MicroKernelOp edge : edges)
    lower(edge);
}

LogicalResult KernelLowering::finish() {
  RewritePatternSet patterns(rewriter.getContext());
  for (auto &[id, kernel] : tried)
    kernel.populatePatterns(patterns);
  GreedyRewriteConfig config;
  config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
  return applyOpPatternsGreedily(emitted.get(), std::move(patterns), config);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct LowerMicroKernelsPass
    : chimera::impl::LowerMicroKernelsPassBase<LowerMicroKernelsPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<MicroKernelOp> kernels;
    getOperation()->walk([&](MicroKernelOp op) { kernels.push_back(op); });
    KernelLowering lowering(&getContext());
    for (MicroKernelOp op : kernels) {
      if (lowering.isDone(op))
        continue;
      if (!isa<MemRefType>(op.getOutput().getType())) {
        op.emitError("must be bufferized before it is lowered; run "
                     "one-shot-bufferize first");
        return signalPassFailure();
      }
      lowering.lower(op);
    }
    getOperation()->walk([](PrefetchOp op) { op.erase(); });
    removeMicroKernelLibrary(getOperation());
    if (kernels.empty())
      return;
    // Constants of all kernels are shared once the code is finished.
    if (failed(lowering.finish()) ||
        failed(applyPatternsGreedily(getOperation(),
                                     RewritePatternSet(&getContext()))))
      signalPassFailure();
  }
};
} // namespace
