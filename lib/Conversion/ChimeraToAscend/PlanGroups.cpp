//===- PlanGroups.cpp - Tiles for what runs on the vector unit ------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The model decides; these passes bring its groups together on tensors, and
// write its decision down on memory.
//
//===----------------------------------------------------------------------===//

#include "GroupProgram.h"

#include "Chimera/Conversion/Passes.h"
#include "Chimera/Target/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

namespace chimera {
#define GEN_PASS_DEF_GATHERASCENDGROUPSPASS
#define GEN_PASS_DEF_PLANASCENDGROUPSPASS
#include "Chimera/Conversion/AscendPasses.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;
using namespace chimera::ascend;

//===----------------------------------------------------------------------===//
// Gathering
//===----------------------------------------------------------------------===//

static GroupAttr getGroup(Operation *op) {
  return op->getAttrOfType<GroupAttr>(ChimeraDialect::getGroupAttrName());
}

/// Gives `op` a start of its own for what it adds up or overwrites.
static void copyStarts(linalg::LinalgOp op,
                       llvm::DenseMap<Operation *, GroupAttr> &fills) {
  OpBuilder builder(op);
  for (OpOperand &init : op.getDpsInitsMutable()) {
    Operation *start = init.get().getDefiningOp();
    auto fill = dyn_cast_or_null<linalg::FillOp>(start);
    Operation *memory = fill ? fill.getOutputs()[0].getDefiningOp() : start;
    if (!isa_and_nonnull<tensor::EmptyOp>(memory))
      continue;
    IRMapping mapping;
    Operation *copy = builder.clone(*memory, mapping);
    if (fill) {
      copy = builder.clone(*fill, mapping);
      fills[copy] = getGroup(op);
    }
    init.set(copy->getResult(0));
    if (fill && fill->use_empty())
      fill->erase();
  }
}

/// Moves `members`, in the order of the block, in front of the last one, and
/// what depends on one of them behind it.
static void gather(ArrayRef<Operation *> members) {
  Operation *last = members.back(), *behind = last;
  llvm::SmallPtrSet<Operation *, 16> own(members.begin(), members.end());
  llvm::SmallPtrSet<Operation *, 16> dependent;
  Block *block = last->getBlock();
  SmallVector<Operation *> between;
  for (Operation *op = members.front(); op != last; op = op->getNextNode())
    between.push_back(op);
  auto dependsOnMembers = [&](Operation *op) {
    bool found = false;
    op->walk([&](Operation *inside) {
      for (Value operand : inside->getOperands()) {
        Operation *definition = operand.getDefiningOp();
        if (!definition)
          continue;
        Operation *ancestor = block->findAncestorOpInBlock(*definition);
        found |= ancestor && ancestor != op &&
                 (own.contains(ancestor) || dependent.contains(ancestor));
      }
    });
    return found;
  };
  for (Operation *op : between) {
    if (own.contains(op)) {
      op->moveBefore(last);
    } else if (dependsOnMembers(op)) {
      dependent.insert(op);
      op->moveAfter(behind);
      behind = op;
    }
  }
}

namespace {
struct GatherAscendGroupsPass
    : chimera::impl::GatherAscendGroupsPassBase<GatherAscendGroupsPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<linalg::LinalgOp> ops;
    getOperation()->walk([&](linalg::LinalgOp op) {
      if (getGroup(op) && op.hasPureTensorSemantics())
        ops.push_back(op);
    });
    // What starts sums belongs to a group, too.
    llvm::DenseMap<Operation *, GroupAttr> groupOf;
    for (linalg::LinalgOp op : ops)
      copyStarts(op, groupOf);
    for (linalg::LinalgOp op : ops)
      groupOf[op] = getGroup(op);
    std::map<std::pair<Block *, int64_t>, SmallVector<Operation *>> groups;
    OpBuilder builder(&getContext());
    for (auto [op, group] : groupOf) {
      groups[{op->getBlock(), group.getId()}].push_back(op);
      op->removeAttr(ChimeraDialect::getGroupAttrName());
      op->setAttr(kGroupAttrName, builder.getI64IntegerAttr(group.getId()));
    }
    // Others, whose kernels are made already, belong to none from here on.
    getOperation()->walk([](Operation *op) {
      op->removeAttr(ChimeraDialect::getGroupAttrName());
    });
    for (auto &[key, members] : groups) {
      // Others may have moved since.
      llvm::sort(members, [](Operation *left, Operation *right) {
        return left->isBeforeInBlock(right);
      });
      gather(members);
    }
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

/// Truth values lie in memory as bytes: what makes bytes of them is the same
/// memory.
static void foldWidenings(func::FuncOp function) {
  SmallVector<linalg::GenericOp> ops;
  function.walk([&](linalg::GenericOp op) { ops.push_back(op); });
  for (linalg::GenericOp op : ops) {
    auto isPlain = [](Value memory) {
      auto type = dyn_cast<MemRefType>(memory.getType());
      return type && type.getLayout().isIdentity();
    };
    if (op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1 ||
        !isa<arith::ExtUIOp>(op.getBlock()->front()) ||
        !llvm::all_of(op->getOperands(), isPlain) ||
        !llvm::all_of(op.getIndexingMapsArray(),
                      [](AffineMap map) { return map.isIdentity(); }))
      continue;
    Value truths = op.getDpsInputs()[0], bytes = op.getDpsInits()[0];
    auto alloc = bytes.getDefiningOp<memref::AllocOp>();
    if (!alloc || !getElementTypeOrSelf(truths).isInteger(1) ||
        !getElementTypeOrSelf(bytes).isInteger(8))
      continue;
    OpBuilder builder(op);
    Value same = UnrealizedConversionCastOp::create(builder, op.getLoc(),
                                                    bytes.getType(), truths)
                     .getResult(0);
    op.erase();
    for (Operation *user : llvm::make_early_inc_range(alloc->getUsers()))
      if (isa<memref::DeallocOp>(user))
        user->erase();
    alloc.replaceAllUsesWith(same);
    alloc.erase();
  }
}

namespace {
struct PlanAscendGroupsPass
    : chimera::impl::PlanAscendGroupsPassBase<PlanAscendGroupsPass> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<TargetAttrInterface> found =
        resolveTarget(getOperation(), target);
    if (failed(found))
      return signalPassFailure();
    std::optional<Architecture> architecture = getArchitecture(found->getCpu());
    if (!architecture || getOperation().isDeclaration())
      return;
    model::VectorCore core =
        getVectorCore(found->getCommonFigures(), *architecture, &getContext());
    if (threads > 0)
      core.cores = threads;
    foldWidenings(getOperation());
    for (Block &block : getOperation().getBody())
      for (SmallVector<linalg::LinalgOp> &group : findGroups(block))
        if (failed(plan(group, core, *architecture)))
          for (size_t first = 0, i = 0; i < group.size(); ++i)
            if (!isa<linalg::FillOp>(group[i].getOperation())) {
              (void)plan(ArrayRef(group).slice(first, i + 1 - first), core,
                         *architecture);
              first = i + 1;
            }
  }

  /// Fails if `group` cannot be one kernel.
  LogicalResult plan(ArrayRef<linalg::LinalgOp> group,
                     const model::VectorCore &core, Architecture architecture) {
    linalg::LinalgOp last = group.back();
    if (last->hasAttr(kTilingAttrName))
      return success();
    Refusal refusal = {last->getLoc(), ""};
    FailureOr<GroupProgram> program = readGroup(group, architecture, refusal);
    std::optional<model::VectorTiling> tiling;
    if (succeeded(program))
      tiling = findVectorTiling(program->model, core, refusal.reason);
    if (!tiling) {
      remark::missed(
          refusal.loc,
          remark::RemarkOpts::name("vector-group").category("chimera"))
          << "no kernel of the vector unit: " << refusal.reason;
      return failure();
    }
    last->setAttr(kTilingAttrName, TilingAttr::get(&getContext(), tiling->rows,
                                                   tiling->columns));
    model::VectorPlan plan = planVectorProgram(program->model, *tiling, core);
    const model::VectorFigures &figures = plan.figures;
    remark::passed(last->getLoc(),
                   remark::RemarkOpts::name("vector-group").category("chimera"))
        << llvm::formatv(
               "tiles of {0} x {1} of {2} x {3}, {4} tasks of {5} steps: "
               "GM->UB {6} bytes, UB->GM {7} bytes, UB {8} bytes, {9} cycles",
               tiling->rows, tiling->columns, program->model.rows(),
               program->model.columns(), plan.schedule.tasks,
               plan.schedule.pieces, figures.loadedBytes, figures.storedBytes,
               figures.roomBytes, static_cast<int64_t>(figures.cycles))
               .str();
    return success();
  }
};
} // namespace
