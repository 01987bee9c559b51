//===- MemoryGroups.cpp - The groups of a program -------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryGroups.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace chimera;

ThreadTilingAttr chimera::getThreadTiling(Operation *op) {
  return op->getAttrOfType<ThreadTilingAttr>(
      ChimeraDialect::getThreadTilingAttrName());
}

SmallVector<MemoryOps> chimera::collectMemoryGroups(ModuleOp module) {
  llvm::MapVector<std::pair<Block *, int64_t>, MemoryOps> groups;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<ChainOp, BlockOp, scf::ForallOp>(op))
      return WalkResult::skip();
    auto group =
        op->getAttrOfType<GroupAttr>(ChimeraDialect::getGroupAttrName());
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    if (group && linalgOp &&
        (group.getKind() == GroupKind::Memory ||
         group.getKind() == GroupKind::Single))
      groups[{op->getBlock(), group.getId()}].push_back(linalgOp);
    return WalkResult::advance();
  });
  SmallVector<MemoryOps> found;
  for (auto &[place, ops] : groups)
    found.push_back(std::move(ops));
  return found;
}

LogicalResult chimera::closeRanks(ArrayRef<linalg::LinalgOp> members) {
  llvm::SmallPtrSet<Operation *, 8> dependent;
  SmallVector<Operation *> delayed;
  for (linalg::LinalgOp member : members)
    dependent.insert(member);
  Operation *last = members.back();
  for (Operation *op = members.front(); op != last; op = op->getNextNode()) {
    if (dependent.contains(op))
      continue;
    bool depends = false;
    op->walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        depends |= dependent.contains(operand.getDefiningOp());
    });
    if (!depends)
      continue;
    if (!isMemoryEffectFree(op))
      return failure();
    // What members read cannot wait for them.
    for (linalg::LinalgOp member : members)
      for (Value operand : member->getOperands())
        if (operand.getDefiningOp() == op)
          return success();
    dependent.insert(op);
    delayed.push_back(op);
  }
  for (Operation *op : llvm::reverse(delayed))
    op->moveAfter(last);
  return success();
}
