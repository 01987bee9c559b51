//===- BufferLife.cpp - From where to where a buffer is used --------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Buffers/BufferLife.h"

#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace chimera;

/// Extends the life of `buffer` by the uses of `memory`, the buffer or a view
/// of it. Returns false if the end of its life is not known, since something
/// else may refer to it.
static bool addUses(Value memory, BufferLife &buffer) {
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

std::optional<BufferLife> chimera::findLife(memref::AllocOp alloc) {
  BufferLife buffer{alloc, {}, alloc};
  if (!alloc.getType().hasStaticShape() || !addUses(alloc, buffer) ||
      !buffer.dealloc)
    return std::nullopt;
  return buffer;
}
