//===- PadBuffers.cpp - A line more in each row of a buffer ---------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows of a buffer between two kernels are as long as the program says,
// often a power of two, so that the rows of a register tile meet in one set of
// the first-level cache. Where no one else sees the layout of such a buffer, it
// can be a better one.
//
//===----------------------------------------------------------------------===//

#include "Tile/RowPadding.h"

#include "Chimera/Target/Target.h"
#include "Chimera/Transforms/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"

namespace chimera {
#define GEN_PASS_DEF_PADBUFFERSPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

/// Neighbouring rows that share no more than so many sets meet in few. Shorter
/// rows spread over more, and a line would add more to the size of the buffer
/// than is worth it.
static constexpr int64_t fewSets = 4;

/// The shape of `type` with padded rows; none if they are well as they are.
static std::optional<SmallVector<int64_t>>
getPaddedShape(MemRefType type, const model::MemoryLevel &cache) {
  Type element = type.getElementType();
  if (!type.hasStaticShape() || !type.getLayout().isIdentity() ||
      !element.isIntOrFloat())
    return std::nullopt;
  int64_t bits = element.getIntOrFloatBitWidth();
  if (bits < 8 || cache.lineBytes * 8 % bits != 0)
    return std::nullopt;
  SmallVector<int64_t> shape(type.getShape());
  auto isMany = [](int64_t size) { return size > 1; };
  if (shape.empty() || shape.back() == 0 ||
      llvm::none_of(ArrayRef(shape).drop_back(), isMany))
    return std::nullopt;
  int64_t row =
      padRow(shape.back(), element,
             std::max<int64_t>(1, cache.sets() / fewSets), cache.lineBytes);
  if (row == shape.back())
    return std::nullopt;
  shape.back() = row;
  return shape;
}

/// True if a copy from or to memory of `type` becomes one of a block of bytes.
static bool isContiguous(MemRefType type) {
  return type.getLayout().isIdentity() ||
         memref::isStaticShapeAndContiguousRowMajor(type);
}

/// True if the user can read and write rows that lie further apart. Unknown
/// ones cannot.
static bool takesAnyRows(OpOperand &use) {
  Operation *user = use.getOwner();
  if (auto store = dyn_cast<memref::StoreOp>(user))
    return &use == &store.getMemrefMutable();
  if (auto copy = dyn_cast<memref::CopyOp>(user))
    return copy.getSource() == copy.getTarget() ||
           !isContiguous(cast<MemRefType>(use.get().getType()));
  return isa<MicroKernelOp, linalg::LinalgOp, memref::DimOp, memref::LoadOp,
             memref::PrefetchOp>(user);
}

/// True if `op` is a part of memory, or joins dimensions of it other than its
/// rows: what lies further apart if rows do.
static bool isView(Operation *op) {
  auto collapse = dyn_cast<memref::CollapseShapeOp>(op);
  return isa<memref::SubViewOp>(op) ||
         (collapse && !collapse.getReassociationIndices().empty() &&
          collapse.getReassociationIndices().back().size() == 1);
}

/// The views of `buffer`, each after the one it is a part of; none if something
/// depends on the layout of the buffer or of a view.
static std::optional<SmallVector<Operation *>>
getViews(memref::AllocOp buffer) {
  SmallVector<Operation *> views;
  auto collect = [&](Value memory) {
    return llvm::all_of(memory.getUses(), [&](OpOperand &use) {
      if (isView(use.getOwner())) {
        views.push_back(use.getOwner());
        return true;
      }
      bool isFreed = isa<memref::DeallocOp>(use.getOwner());
      return isFreed ? memory == buffer.getMemref() : takesAnyRows(use);
    });
  };
  bool isPrivate = collect(buffer);
  for (size_t next = 0; isPrivate && next < views.size(); ++next)
    isPrivate = collect(views[next]->getResult(0));
  if (!isPrivate)
    return std::nullopt;
  return views;
}

/// The type of a view now that what it is a part of has another one.
static MemRefType getViewType(Operation *op) {
  if (auto collapse = dyn_cast<memref::CollapseShapeOp>(op))
    return memref::CollapseShapeOp::computeCollapsedType(
        collapse.getSrcType(), collapse.getReassociationIndices());
  auto view = cast<memref::SubViewOp>(op);
  return memref::SubViewOp::inferRankReducedResultType(
      view.getType().getShape(), view.getSourceType(), view.getStaticOffsets(),
      view.getStaticSizes(), view.getStaticStrides());
}

/// Gives `buffer` the padded shape. What has read and written it does so
/// through a view of the shape that it had.
static void pad(memref::AllocOp buffer, ArrayRef<int64_t> paddedShape,
                ArrayRef<Operation *> views) {
  MemRefType type = buffer.getType();
  SmallVector<int64_t> zeros(type.getRank(), 0), ones(type.getRank(), 1);
  buffer.getResult().setType(MemRefType::Builder(type).setShape(paddedShape));
  OpBuilder builder(buffer->getContext());
  builder.setInsertionPointAfter(buffer);
  auto whole = memref::SubViewOp::create(builder, buffer.getLoc(), buffer,
                                         zeros, type.getShape(), ones);
  buffer.getResult().replaceUsesWithIf(whole, [&](OpOperand &use) {
    return use.getOwner() != whole && !isa<memref::DeallocOp>(use.getOwner());
  });
  for (Operation *view : views)
    view->getResult(0).setType(getViewType(view));
}

namespace {
struct PadBuffersPass : chimera::impl::PadBuffersPassBase<PadBuffersPass> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<TargetAttrInterface> found =
        resolveTarget(getOperation(), target);
    if (failed(found))
      return signalPassFailure();
    model::Machine machine = found->getCommonFigures();
    const model::MemoryLevel &cache = machine.levels.back();
    if (cache.ways == 0)
      return;
    getOperation()->walk([&](memref::AllocOp buffer) {
      auto shape = getPaddedShape(buffer.getType(), cache);
      if (!shape)
        return;
      if (auto views = getViews(buffer))
        pad(buffer, *shape, *views);
    });
  }
};
} // namespace
