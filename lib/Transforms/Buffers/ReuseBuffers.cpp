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

#include "Buffers/BufferLife.h"

#include "Chimera/Transforms/Passes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace chimera {
#define GEN_PASS_DEF_REUSEBUFFERSPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

/// Lets `buffer` serve `next`, whose life begins after its own.
static void reuse(BufferLife &buffer, BufferLife &next) {
  next.alloc.replaceAllUsesWith(buffer.alloc.getResult());
  buffer.dealloc.erase();
  next.alloc.erase();
  next.alloc = buffer.alloc;
}

static void reuseBuffers(Block &block) {
  llvm::DenseMap<Operation *, SmallVector<BufferLife, 1>> ending;
  // By type and attributes, the one that was used last at the end.
  llvm::DenseMap<std::pair<Type, Attribute>, SmallVector<BufferLife, 1>> unused;
  auto kindOf = [](memref::AllocOp alloc) {
    return std::pair<Type, Attribute>(alloc.getType(),
                                      alloc->getAttrDictionary());
  };
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto alloc = dyn_cast<memref::AllocOp>(op))
      if (std::optional<BufferLife> buffer = findLife(alloc)) {
        SmallVector<BufferLife, 1> &candidates = unused[kindOf(alloc)];
        if (!candidates.empty()) {
          BufferLife earlier = candidates.pop_back_val();
          reuse(earlier, *buffer);
        }
        ending[buffer->last].push_back(*buffer);
        continue;
      }
    auto ended = ending.find(&op);
    if (ended == ending.end())
      continue;
    for (BufferLife &buffer : ended->second) {
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
