//===- ChimeraToX86Vector.cpp - Micro kernels to vector code --------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replaces micro kernels by the code of their implementations. A tile at the
// edge of a loop has a size known at run time only; a kernel lists the sizes
// that occur, and each gets code of its own, chosen by comparison. Any other
// size, and any kernel its implementation does not cover, runs by the kernel's
// naive semantics: slow, but right.
//
//===----------------------------------------------------------------------===//

#include "MicroKernelEmitter.h"

#include "Chimera/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace chimera {
#define GEN_PASS_DEF_CONVERTCHIMERATOX86VECTORPASS
#include "Chimera/Conversion/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

//===----------------------------------------------------------------------===//
// Naive semantics
//===----------------------------------------------------------------------===//

/// The kernel as a linalg.generic, after a fill with zero if it overwrites.
static void emitNaive(OpBuilder &builder, MicroKernelOp op) {
  Location loc = op.getLoc();
  if (op.getOverwrite()) {
    Type elementType = getElementTypeOrSelf(op.getOutput());
    Value zero = arith::ConstantOp::create(builder, loc,
                                           builder.getZeroAttr(elementType));
    linalg::FillOp::create(builder, loc, zero, op.getOutput());
  }
  SmallVector<utils::IteratorType> iterators;
  for (unsigned dim = 0; dim < op.getNumDims(); ++dim)
    iterators.push_back(op.isReduction(dim) ? utils::IteratorType::reduction
                                            : utils::IteratorType::parallel);
  linalg::GenericOp::create(
      builder, loc, op.getInputs(), op.getOutputs(), op.getMaps(), iterators,
      [&](OpBuilder &body, Location, ValueRange arguments) {
        IRMapping mapping;
        Block &source = op.getBody().front();
        mapping.map(source.getArguments(), arguments);
        for (Operation &nested : source.without_terminator()) {
          if (auto index = dyn_cast<IndexOp>(nested))
            mapping.map(index.getResult(),
                        linalg::IndexOp::create(body, loc, index.getDim()));
          else
            body.clone(nested, mapping);
        }
        SmallVector<Value> yielded;
        for (Value value : source.getTerminator()->getOperands())
          yielded.push_back(mapping.lookupOrDefault(value));
        linalg::YieldOp::create(body, loc, yielded);
      });
}

//===----------------------------------------------------------------------===//
// Specialisation
//===----------------------------------------------------------------------===//

namespace {

/// Where the run-time extent of a dimension can be read.
struct DimSource {
  Value memref;
  unsigned position;
};

class Specializer {
public:
  using Emit =
      llvm::function_ref<LogicalResult(OpBuilder &, ArrayRef<int64_t>)>;

  Specializer(OpBuilder &builder, MicroKernelOp op) : builder(builder), op(op) {
    extents.assign(op.getNumDims(), ShapedType::kDynamic);
    sources.resize(op.getNumDims());
    for (auto [map, operand] : llvm::zip_equal(op.getMaps(), op->getOperands()))
      if (auto type = dyn_cast<MemRefType>(operand.getType()))
        for (unsigned i = 0; i < map.getNumResults(); ++i) {
          unsigned dim = map.getDimPosition(i);
          if (!type.isDynamicDim(i))
            extents[dim] = type.getDimSize(i);
          sources[dim] = {operand, i};
        }
  }

  /// Emits code for every combination of listed extents of the dimensions from
  /// `dim` on, and the naive semantics for all others.
  LogicalResult specialize(unsigned dim, Emit emit);

private:
  OpBuilder &builder;
  MicroKernelOp op;
  Extents extents;
  SmallVector<DimSource> sources;
};

} // namespace

LogicalResult Specializer::specialize(unsigned dim, Emit emit) {
  if (dim == op.getNumDims())
    return emit(builder, extents);
  if (!ShapedType::isDynamic(extents[dim]))
    return specialize(dim + 1, emit);

  Location loc = op.getLoc();
  Value size = memref::DimOp::create(builder, loc, sources[dim].memref,
                                     sources[dim].position);
  OpBuilder::InsertionGuard guard(builder);
  for (int64_t extent : op.getExtentsOf(dim)) {
    Value expected = arith::ConstantIndexOp::create(builder, loc, extent);
    Value matches = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::eq, size, expected);
    auto ifOp = scf::IfOp::create(builder, loc, matches, /*withElse=*/true);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    extents[dim] = extent;
    if (failed(specialize(dim + 1, emit)))
      return failure();
    builder.setInsertionPointToStart(ifOp.elseBlock());
  }
  extents[dim] = ShapedType::kDynamic;
  emitNaive(builder, op);
  return success();
}

//===----------------------------------------------------------------------===//
// The implementation
//===----------------------------------------------------------------------===//

/// The hints in front of `op` that are meant for it.
static SmallVector<PrefetchOp> findPrefetches(MicroKernelOp op) {
  SmallVector<PrefetchOp> prefetches;
  if (op.getKind() != MicroKernelKind::Contraction)
    return prefetches;
  for (Operation *before = op->getPrevNode(); before;
       before = before->getPrevNode()) {
    if (auto prefetch = dyn_cast<PrefetchOp>(before))
      prefetches.push_back(prefetch);
    auto kernel = dyn_cast<MicroKernelOp>(before);
    if (before->getNumRegions() > 0 &&
        !(kernel && kernel.getKind() != MicroKernelKind::Contraction))
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

/// Emits `op` for known extents.
static LogicalResult emitFor(OpBuilder &builder, MicroKernelOp op,
                             int64_t lanes, const model::RegisterTile &tile,
                             ArrayRef<int64_t> extents,
                             ArrayRef<PrefetchOp> prefetches) {
  switch (op.getKind()) {
  case MicroKernelKind::Contraction:
    if (isInnerProduct(op))
      return emitInnerProduct(builder, op, lanes, extents);
    return emitOuterProduct(builder, op, lanes, tile, extents, prefetches);
  case MicroKernelKind::Reduction:
    return emitReduction(builder, op, lanes, extents);
  case MicroKernelKind::Elementwise:
    return emitElementwise(builder, op, lanes, extents);
  case MicroKernelKind::Pack:
    if (succeeded(emitElementwise(builder, op, lanes, extents)))
      return success();
    return emitTransposedCopy(builder, op, lanes, extents);
  }
  llvm_unreachable("all kinds are handled");
}

namespace {
struct OuterProductModel
    : MicroKernelAttrInterface::ExternalModel<OuterProductModel,
                                              OuterProductAttr> {
  std::optional<unsigned> getContiguousDim(Attribute, Operation *op) const {
    auto kernel = cast<MicroKernelOp>(op);
    AffineMap output = kernel.getMaps().back();
    if (output.getNumResults() == 0 || isInnerProduct(kernel))
      return std::nullopt;
    return output.getDimPosition(output.getNumResults() - 1);
  }

  LogicalResult emit(Attribute attribute, RewriterBase &rewriter,
                     Operation *operation) const {
    auto op = cast<MicroKernelOp>(operation);
    auto implementation = cast<OuterProductAttr>(attribute);
    int64_t lanes = implementation.getLanes();
    RegisterTileAttr registers = implementation.getRegisters();
    model::RegisterTile tile = {registers.getRows(), registers.getVectors(),
                                registers.getBroadcasts(),
                                registers.getDepth()};
    // Emitted in front of the kernel; taken away again if it does not work.
    Operation *before = op->getPrevNode();
    SmallVector<PrefetchOp> prefetches = findPrefetches(op);
    rewriter.setInsertionPoint(op);
    LogicalResult emitted =
        Specializer(rewriter, op)
            .specialize(0, [&](OpBuilder &builder, ArrayRef<int64_t> extents) {
              return emitFor(builder, op, lanes, tile, extents,
                             isAtEdge(op, extents) ? ArrayRef<PrefetchOp>()
                                                   : prefetches);
            });
    if (succeeded(emitted)) {
      rewriter.eraseOp(op);
      return success();
    }
    while (op->getPrevNode() != before)
      rewriter.eraseOp(op->getPrevNode());
    return failure();
  }
};
} // namespace

void chimera::registerX86VectorMicroKernels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ChimeraDialect *) {
    OuterProductAttr::attachInterface<OuterProductModel>(*context);
    context->loadDialect<LLVM::LLVMDialect, scf::SCFDialect,
                         memref::MemRefDialect, vector::VectorDialect>();
  });
}

//===----------------------------------------------------------------------===//
// The pass
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

struct ConvertChimeraToX86VectorPass
    : chimera::impl::ConvertChimeraToX86VectorPassBase<
          ConvertChimeraToX86VectorPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<MicroKernelOp> kernels;
    getOperation()->walk([&](MicroKernelOp op) { kernels.push_back(op); });
    EmittedOps emitted;
    IRRewriter rewriter(&getContext(), &emitted);
    for (MicroKernelOp op : kernels) {
      if (!isa<MemRefType>(op.getOutput().getType())) {
        op.emitError("must be bufferized before it is lowered; run "
                     "one-shot-bufferize first");
        return signalPassFailure();
      }
      MicroKernelAttrInterface implementation = op.getImplementationAttr();
      if (implementation && succeeded(implementation.emit(rewriter, op)))
        continue;
      remark::missed(op.getLoc(),
                     remark::RemarkOpts::name("naive").category("chimera"))
          << "micro kernel lowered by its naive semantics: "
          << (implementation ? "its implementation does not cover it"
                             : "it has no implementation");
      rewriter.setInsertionPoint(op);
      emitNaive(rewriter, op);
      rewriter.eraseOp(op);
    }
    getOperation()->walk([&](PrefetchOp op) { rewriter.eraseOp(op); });
    if (!kernels.empty() && (failed(approximateFunctions(emitted.get())) ||
                             failed(lowerVectorOperations())))
      signalPassFailure();
  }

  /// Functions become polynomials; those that the program has besides keep the
  /// precision they were written for.
  LogicalResult approximateFunctions(ArrayRef<Operation *> emitted) {
    SmallVector<Operation *> functions =
        llvm::to_vector(llvm::make_filter_range(emitted, [](Operation *op) {
          return isa<math::MathDialect>(op->getDialect());
        }));
    RewritePatternSet patterns(&getContext());
    populateMathAlgebraicSimplificationPatterns(patterns);
    MathPolynomialApproximationOptions approximation;
    approximation.enableAvx2 = false;
    populateMathPolynomialApproximationPatterns(patterns, approximation);
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
    return applyOpPatternsGreedily(functions, std::move(patterns), config);
  }

  /// Transposes of squares become shuffles.
  LogicalResult lowerVectorOperations() {
    RewritePatternSet patterns(&getContext());
    vector::populateVectorTransposeLoweringPatterns(
        patterns, vector::VectorTransposeLowering::Shuffle16x16);
    vector::populateVectorMaskOpLoweringPatterns(patterns);
    return applyPatternsGreedily(getOperation(), std::move(patterns));
  }
};
} // namespace
