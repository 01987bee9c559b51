//===- JoinBuffers.cpp - One allocation for the buffers of a block --------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An allocator keeps a buffer for the next call as long as it is not too large,
// and all of them only if together they are not much more than the largest;
// what it returns to the system has to be provided and cleared again, page by
// page. One buffer that holds all of them is kept, and takes no more room than
// the most that is in use at a time needs.
//
//===----------------------------------------------------------------------===//

#include "Buffers/BufferLife.h"

#include "Chimera/Target/Target.h"
#include "Chimera/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

namespace chimera {
#define GEN_PASS_DEF_JOINBUFFERSPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

namespace {

/// A buffer that gets a place in another.
struct PlacedBuffer {
  BufferLife life;
  int64_t bytes = 0, alignment = 1;
  /// Positions in the block of its first and last use.
  size_t first = 0, last = 0;
  int64_t offset = 0;

  int64_t end() const { return offset + bytes; }
  bool livesWith(const PlacedBuffer &other) const {
    return first <= other.last && other.first <= last;
  }
};

} // namespace

/// `alloc` as a buffer without a place, if it is bytes without a layout.
static std::optional<PlacedBuffer> readBuffer(memref::AllocOp alloc) {
  MemRefType type = alloc.getType();
  if (!type.getLayout().isIdentity() || type.getMemorySpace() ||
      !type.getElementType().isIntOrFloat())
    return std::nullopt;
  std::optional<BufferLife> life = findLife(alloc);
  if (!life)
    return std::nullopt;
  PlacedBuffer buffer;
  buffer.life = *life;
  buffer.bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  for (int64_t size : type.getShape())
    if (llvm::MulOverflow(buffer.bytes, size, buffer.bytes))
      return std::nullopt;
  buffer.alignment = alloc.getAlignment().value_or(1);
  return buffer;
}

/// Puts `buffer` into the first gap between those `placed` that live with it.
static void place(PlacedBuffer &buffer, ArrayRef<PlacedBuffer> placed) {
  SmallVector<const PlacedBuffer *> others;
  for (const PlacedBuffer &other : placed)
    if (other.livesWith(buffer))
      others.push_back(&other);
  llvm::sort(others, [](const PlacedBuffer *left, const PlacedBuffer *right) {
    return left->offset < right->offset;
  });
  buffer.offset = 0;
  for (const PlacedBuffer *other : others) {
    if (buffer.end() <= other->offset)
      return;
    buffer.offset = std::max<int64_t>(
        buffer.offset, llvm::alignTo(other->end(), buffer.alignment));
  }
}

/// Places for `buffers`, the largest ones first, as many as stay below `most`
/// bytes with what aligning takes.
static SmallVector<PlacedBuffer> placeAll(SmallVector<PlacedBuffer> buffers,
                                          int64_t most) {
  llvm::sort(buffers, [](const PlacedBuffer &left, const PlacedBuffer &right) {
    return std::make_pair(-left.bytes, left.first) <
           std::make_pair(-right.bytes, right.first);
  });
  SmallVector<PlacedBuffer> placed;
  for (PlacedBuffer &buffer : buffers) {
    place(buffer, placed);
    if (buffer.end() + buffer.alignment < most)
      placed.push_back(buffer);
  }
  return placed;
}

/// Makes views of one buffer of those in `placed`.
static void join(ArrayRef<PlacedBuffer> placed) {
  int64_t bytes = 0, alignment = 1;
  memref::AllocOp first = placed.front().life.alloc;
  memref::DeallocOp last = placed.front().life.dealloc;
  for (const PlacedBuffer &buffer : placed) {
    bytes = std::max(bytes, buffer.end());
    alignment = std::max(alignment, buffer.alignment);
    if (buffer.life.alloc->isBeforeInBlock(first))
      first = buffer.life.alloc;
    if (last->isBeforeInBlock(buffer.life.dealloc))
      last = buffer.life.dealloc;
  }
  OpBuilder builder(first);
  Value whole = memref::AllocOp::create(
      builder, first.getLoc(), MemRefType::get({bytes}, builder.getI8Type()),
      builder.getI64IntegerAttr(alignment));
  builder.setInsertionPoint(last);
  memref::DeallocOp::create(builder, last.getLoc(), whole);
  for (const PlacedBuffer &buffer : placed) {
    memref::AllocOp alloc = buffer.life.alloc;
    builder.setInsertionPoint(alloc);
    Value offset =
        arith::ConstantIndexOp::create(builder, alloc.getLoc(), buffer.offset);
    Value view = memref::ViewOp::create(
        builder, alloc.getLoc(), alloc.getType(), whole, offset, ValueRange());
    memref::DeallocOp(buffer.life.dealloc).erase();
    alloc.replaceAllUsesWith(view);
    alloc.erase();
  }
}

static void joinBuffers(Block &block, int64_t most) {
  llvm::DenseMap<Operation *, size_t> positions;
  SmallVector<PlacedBuffer> buffers;
  for (auto [position, op] : llvm::enumerate(block)) {
    positions[&op] = position;
    if (auto alloc = dyn_cast<memref::AllocOp>(op))
      if (std::optional<PlacedBuffer> buffer = readBuffer(alloc))
        buffers.push_back(*buffer);
  }
  for (PlacedBuffer &buffer : buffers) {
    buffer.first = positions[buffer.life.alloc];
    buffer.last = positions[buffer.life.last];
  }
  SmallVector<PlacedBuffer> placed = placeAll(std::move(buffers), most);
  if (placed.size() > 1)
    join(placed);
}

namespace {
struct JoinBuffersPass : chimera::impl::JoinBuffersPassBase<JoinBuffersPass> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<TargetAttrInterface> found =
        resolveTarget(getOperation(), target);
    if (failed(found))
      return signalPassFailure();
    int64_t most = found->getCommonFigures().overheads.reusedBytes;
    for (Block &block : getOperation().getBody())
      joinBuffers(block, most);
  }
};
} // namespace
