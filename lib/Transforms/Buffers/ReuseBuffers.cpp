//===- ReuseBuffers.cpp - One buffer for what is not needed at once -------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A network needs the results of few layers at a time. A buffer that is no
// longer read serves the next of its type, which finds it in the cache, and a
// buffer that nothing follows in is freed after its last use: a program of many
// layers takes the memory of one.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Transforms/Passes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace chimera {
#define GEN_PASS_DEF_REUSEBUFFERSPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

namespace {
/// A buffer that one block creates and frees.
struct Buffer {
  memref::AllocOp alloc;
  memref::DeallocOp dealloc;
  /// The operation of the block that uses it last, itself or in a region.
  Operation *last = nullptr;
};
} // namespace

/// Extends the life of `buffer` by the uses of `memory`, the buffer or a view
/// of it. Returns false if the end of its life is not known, since something
/// else may refer to it.
static bool addUses(Value memory, Buffer &buffer) {
  Block *block = buffer.alloc->getBlock();
  return llvm::all_of(memory.getUsers(), [&](Operation *user) {
    if (auto dealloc = dyn_cast<memref::DeallocOp>(user)) {
      if (memory != buffer.alloc || buffer.dealloc ||
          dealloc->getBlock() != block)
        return false;
      buffer.dealloc = dealloc;
      return true;
    }
    Operation *ancestor = block->findAncestorOpInBlock(*user);
    if (buffer.last->isBeforeInBlock(ancestor))
      buffer.last = ancestor;
    if (isa<ViewLikeOpInterface>(user))
      return llvm::all_of(user->getResults(),
                          [&](Value view) { return addUses(view, buffer); });
    return !user->hasTrait<OpTrait::IsTerminator>() &&
           !isa<memref::ExtractAlignedPointerAsIndexOp>(user) &&
           llvm::none_of(user->getResultTypes(), llvm::IsaPred<BaseMemRefType>);
  });
}

static std::optional<Buffer> findLife(memref::AllocOp alloc) {
  Buffer buffer{alloc, {}, alloc};
  if (!alloc.getType().hasStaticShape() || !addUses(alloc, buffer) ||
      !buffer.dealloc)
    return std::nullopt;
  return buffer;
}

/// Lets `buffer` serve `next`, whose life begins after its own.
static void reuse(Buffer &buffer, Buffer &next) {
  next.alloc.replaceAllUsesWith(buffer.alloc.getResult());
  buffer.dealloc.erase();
  next.alloc.erase();
  next.alloc = buffer.alloc;
}

static void reuseBuffers(Block &block) {
  llvm::DenseMap<Operation *, SmallVector<Buffer, 1>> ending;
  // By type and attributes, the one that was used last at the end.
  llvm::DenseMap<std::pair<Type, Attribute>, SmallVector<Buffer, 1>> unused;
  auto kindOf = [](memref::AllocOp alloc) {
    return std::pair<Type, Attribute>(alloc.getType(),
                                      alloc->getAttrDictionary());
  };
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto alloc = dyn_cast<memref::AllocOp>(op))
      if (std::optional<Buffer> buffer = findLife(alloc)) {
        SmallVector<Buffer, 1> &candidates = unused[kindOf(alloc)];
        if (!candidates.empty()) {
          Buffer earlier = candidates.pop_back_val();
          reuse(earlier, *buffer);
        }
        ending[buffer->last].push_back(*buffer);
        continue;
      }
    auto ended = ending.find(&op);
    if (ended == ending.end())
      continue;
    for (Buffer &buffer : ended->second) {
      buffer.dealloc->moveAfter(&op);
      unused[kindOf(buffer.alloc)].push_back(buffer);
    }
    ending.erase(ended);
  }
}

namespace {
struct ReuseBuffersPass
    : chimera::impl::ReuseBuffersPassBase<ReuseBuffersPass> {
  using Base::Base;

  void runOnOperation() override {
    getOperation()->walk([](Block *block) { reuseBuffers(*block); });
  }
};
} // namespace
