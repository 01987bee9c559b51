//===- PlanThreads.cpp - Threads for groups that wait for memory ----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads each group as a kernel would have it, asks the model, and writes the
// answer down. Groups that write parts of one tensor from the same inputs are
// united before: one launch reads these once.
//
//===----------------------------------------------------------------------===//

#include "MemoryGroups.h"
#include "MemoryProgram.h"

#include "Chimera/Conversion/Passes.h"
#include "Chimera/Target/Target.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"

namespace chimera {
#define GEN_PASS_DEF_PLANTHREADSPASS
#include "Chimera/Conversion/NvidiaPasses.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

static constexpr StringRef groupAttrName() {
  return ChimeraDialect::getGroupAttrName();
}

static void setGroup(Operation *op, int64_t id, GroupKind kind) {
  auto old = op->getAttrOfType<GroupAttr>(groupAttrName());
  op->setAttr(groupAttrName(),
              GroupAttr::get(op->getContext(), id, kind, old.getMapping()));
}

/// True if `later` writes a part of the tensor that `earlier` has written a
/// part of, and reads nothing else of it.
static bool continues(const MemoryOps &earlier, const MemoryOps &later) {
  Operation *last = earlier.back();
  if (last->getNumResults() != 1 || !last->hasOneUse() ||
      last->getBlock() != later.back()->getBlock())
    return false;
  auto insert = dyn_cast<tensor::InsertSliceOp>(*last->user_begin());
  linalg::LinalgOp writer = later.back();
  OpOperand &init = *(writer.getDpsInitsMutable().end() - 1);
  auto slice = init.get().getDefiningOp<tensor::ExtractSliceOp>();
  // The slice that is written, and what puts it back.
  return insert && slice && slice.getSource() == insert.getResult() &&
         insert.getResult().hasNUses(2);
}

namespace {
struct PlanThreadsPass : chimera::impl::PlanThreadsPassBase<PlanThreadsPass> {
  using Base::Base;

  /// One group of `earlier` and `later`, if that is a kernel which reads less.
  bool unite(MemoryOps &earlier, MemoryOps &later) {
    if (!continues(earlier, later) || getThreadTiling(earlier.back()) ||
        getThreadTiling(later.back()))
      return false;
    MemoryOps both = earlier;
    llvm::append_range(both, later);
    Refusal refusal;
    FailureOr<MemoryProgram> program = MemoryProgram::read(both, refusal);
    if (failed(program) || program->getFigures().reduces)
      return false;
    auto group = earlier.front()->getAttrOfType<GroupAttr>(groupAttrName());
    for (linalg::LinalgOp op : both)
      setGroup(op, group.getId(), GroupKind::Memory);
    later = std::move(both);
    earlier.clear();
    return true;
  }

  void plan(ArrayRef<linalg::LinalgOp> ops, const model::Machine &machine,
            int64_t &nextId) {
    if (ops.empty() || getThreadTiling(ops.back()))
      return;
    Refusal refusal;
    FailureOr<MemoryProgram> program = MemoryProgram::read(ops, refusal);
    if (failed(program)) {
      remark::missed(refusal.op->getLoc(),
                     remark::RemarkOpts::name("no-kernel").category("chimera"))
          << (ops.size() > 1 ? "not one kernel: " : "no kernel: ") +
                 refusal.reason;
      if (ops.size() == 1)
        return;
      for (linalg::LinalgOp op : ops) {
        setGroup(op, nextId++, GroupKind::Single);
        plan(op, machine, nextId);
      }
      return;
    }
    model::ThreadTiling tiling = planThreads(program->getFigures(), machine);
    program->getRoot()->setAttr(
        ChimeraDialect::getThreadTilingAttrName(),
        ThreadTilingAttr::get(&getContext(), tiling.vector, tiling.team,
                              tiling.rows, tiling.steps,
                              static_cast<RowHome>(tiling.home)));
  }

  void runOnOperation() override {
    FailureOr<TargetAttrInterface> found =
        resolveTarget(getOperation(), target);
    if (failed(found))
      return signalPassFailure();
    model::Machine machine = found->getCommonFigures();
    if (!machine.groups) {
      getOperation()->emitError("target '")
          << target << "' has no threads with registers ('groups'); try 'h200'";
      return signalPassFailure();
    }
    int64_t nextId = 0;
    getOperation()->walk([&](Operation *op) {
      if (auto group = op->getAttrOfType<GroupAttr>(groupAttrName()))
        nextId = std::max(nextId, group.getId() + 1);
    });
    SmallVector<MemoryOps> groups = collectMemoryGroups(getOperation());
    for (size_t later = 1; later < groups.size(); ++later)
      for (size_t earlier = 0; earlier < later; ++earlier)
        if (!groups[earlier].empty() && !groups[later].empty())
          unite(groups[earlier], groups[later]);
    for (const MemoryOps &ops : groups)
      plan(ops, machine, nextId);
  }
};
} // namespace
