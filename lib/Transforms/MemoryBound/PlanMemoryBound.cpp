//===- PlanMemoryBound.cpp - In which tasks operations run ----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the groups of operations that can share loops over rows, one for each
// depth of the loops, and has the model choose. What it chooses is written down
// at the root of the group. `chimera-tile-memory-bound` finds the group again.
//
// It replaces a group by loops before it looks for the next one. Here nothing
// is replaced, so what loops would change is taken into account: the members of
// a group belong to no other, and what has to follow the loops is put behind
// the root until all groups are found.
//
//===----------------------------------------------------------------------===//

#include "MemoryBound/MemoryBoundOps.h"
#include "MemoryBound/RowFusionGroup.h"
#include "Sizes/PlannedTypes.h"

#include "Chimera/Target/Target.h"
#include "Chimera/Transforms/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"

namespace chimera {
#define GEN_PASS_DEF_PLANMEMORYBOUNDPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

namespace {

/// Plans the operations of a function.
class RowPlanner {
public:
  /// For `threads` threads; 0 means one per core.
  RowPlanner(StringRef target, int64_t threads)
      : target(target), threads(threads) {}
  ~RowPlanner() { restoreOrders(); }

  LogicalResult plan(linalg::LinalgOp op);

private:
  LogicalResult choose(linalg::LinalgOp root);
  double getProgramBytes(linalg::LinalgOp op);
  void take(const RowFusionGroup &group);
  void restoreOrders();

  StringRef target;
  int64_t threads;
  /// Of all tensors of each function.
  llvm::DenseMap<Operation *, double> programBytes;
  TakenOperations taken;
  /// The operations of blocks whose order has changed, in the order they had.
  llvm::MapVector<Block *, SmallVector<Operation *>> orders;
};

} // namespace

/// Marks the members of `group`, and puts what depends on them behind it.
void RowPlanner::take(const RowFusionGroup &group) {
  Operation *root = group.getRoot();
  for (const auto &member : group.members)
    taken[member.first] = root;
  if (group.delayed.empty())
    return;
  Block *block = root->getBlock();
  auto [order, isNew] = orders.insert({block, {}});
  if (isNew)
    for (Operation &op : *block)
      order->second.push_back(&op);
  for (Operation *op : llvm::reverse(group.delayed))
    op->moveAfter(root);
}

void RowPlanner::restoreOrders() {
  for (auto &[block, order] : orders)
    for (Operation *op : order)
      op->moveBefore(block, block->end());
}

/// Plans the group whose root is `op`, if it is one.
LogicalResult RowPlanner::plan(linalg::LinalgOp op) {
  if (taken.contains(op))
    return success();
  if (getRowTiling(op)) {
    FailureOr<RowFusionGroup> group = findTiledGroup(op, taken);
    if (succeeded(group))
      take(*group);
    return group;
  }
  return canBeMember(op) && isRoot(op) ? choose(op) : success();
}

/// What loops can go over of `rank` dimensions: neighbours, the first ones
/// first, since these are what comes next to each other in memory; or these and
/// the last one, as the columns of what is reduced along one between.
static SmallVector<SmallVector<unsigned>> listLoops(unsigned rank) {
  SmallVector<SmallVector<unsigned>> loops;
  for (unsigned first = 0; first < rank; ++first)
    for (unsigned end = first + 1; end <= rank; ++end)
      loops.push_back(llvm::to_vector(llvm::seq(first, end)));
  for (unsigned first = 0; first < rank; ++first)
    for (unsigned end = first + 1; end + 1 < rank; ++end) {
      loops.push_back(llvm::to_vector(llvm::seq(first, end)));
      loops.back().push_back(rank - 1);
    }
  if (rank == 0)
    loops.emplace_back();
  return loops;
}

/// Bytes of all tensors of the function that `op` is in.
double RowPlanner::getProgramBytes(linalg::LinalgOp op) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  if (!function)
    return 0;
  auto [known, isNew] = programBytes.insert({function, 0});
  if (isNew)
    known->second = countProgramBytes(function);
  return known->second;
}

/// Has the model choose a group for `root`, and says so there.
LogicalResult RowPlanner::choose(linalg::LinalgOp root) {
  FailureOr<TargetAttrInterface> found = resolveTarget(root, target);
  if (failed(found))
    return failure();
  model::Machine machine = found->getCommonFigures();
  unsigned rank = root.getIndexingMapsArray().back().getNumResults();
  SmallVector<RowFusionGroup> groups;
  SmallVector<SmallVector<unsigned>> loops;
  for (ArrayRef<unsigned> dims : listLoops(rank))
    if (auto group = findRowGroup(root, dims, taken)) {
      groups.push_back(std::move(*group));
      loops.emplace_back(dims);
    }
  if (groups.empty())
    return success();
  // A number has no rows, and nothing is open.
  model::RowPlan plan;
  double bytes = getProgramBytes(root);
  auto getGroupFigures = [&](const RowFusionGroup &group) {
    return getFigures(group, bytes);
  };
  if (rank > 0)
    plan = model::planRows(llvm::map_to_vector<4>(groups, getGroupFigures),
                           machine, threads == 0 ? machine.cores : threads);
  // The first dimensions need no list.
  SmallVector<int64_t> dims = llvm::to_vector_of<int64_t>(loops[plan.group]);
  if (dims == llvm::to_vector(llvm::seq<int64_t>(0, dims.size())))
    dims.clear();
  SmallVector<int64_t> late;
  for (auto [maker, storer] : plan.tiling.late)
    late.append({maker, storer});
  SmallVector<int64_t> rowwise;
  for (auto [member, rows] : plan.tiling.rowwise)
    rowwise.append({member, rows});
  root->setAttr(ChimeraDialect::getRowTilingAttrName(),
                RowTilingAttr::get(root.getContext(), plan.tiling.tiles, dims,
                                   plan.tiling.isParallel, plan.tiling.streamed,
                                   late, plan.tiling.ahead, rowwise));
  take(groups[plan.group]);
  return success();
}

namespace {
struct PlanMemoryBoundPass
    : chimera::impl::PlanMemoryBoundPassBase<PlanMemoryBoundPass> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(verifyPlanningOptions(getOperation(), target, threads)))
      return signalPassFailure();
    SmallVector<Operation *> ops = collectOutside(getOperation());
    PlannedTypes planned(getOperation());
    RowPlanner planner(target, threads);
    for (Operation *op : llvm::reverse(ops)) {
      auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
      if (linalgOp && failed(planner.plan(linalgOp)))
        return signalPassFailure();
    }
  }
};
} // namespace
