//===- RowFusionGroup.h - Operations that share loops over rows ----*- C++
//-*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A norm reads each row several times: for its sum, for its variance, to scale
// it. Such operations run group of rows by group of rows, one after the other,
// so that the rows stay close to the core. A row is what the outermost loops of
// the last operation of the group, the root, leave; the others belong to the
// group if the same loops cut what they produce into just the rows that are
// needed. Changes nothing.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_MEMORYBOUND_ROWFUSIONGROUP_H
#define CHIMERA_LIB_TRANSFORMS_MEMORYBOUND_ROWFUSIONGROUP_H

#include "Chimera/Model/Machine.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/MapVector.h"

namespace chimera {

struct RowFusionGroup {
  /// Extents of the loops over rows, outermost first.
  llvm::SmallVector<int64_t> extents;
  /// The operations in program order, the root last, each with its loops that
  /// are the loops over rows.
  llvm::MapVector<mlir::Operation *, llvm::SmallVector<unsigned>> members;
  /// Operations among the members that depend on a member but are none. They
  /// have to move behind the root.
  llvm::SmallVector<mlir::Operation *> delayed;

  mlir::linalg::LinalgOp getRoot() const;
  bool has(mlir::Operation *op) const { return members.count(op); }
  /// The loop over rows that `loop` of member `op` is, if it is one.
  std::optional<unsigned> getRow(mlir::Operation *op, unsigned loop) const;
};

/// How a group runs.
struct RowTiling {
  /// Rows of a task, per loop of the group.
  llvm::SmallVector<int64_t> tiles;
  bool isParallel = false;

  int64_t countTasks(const RowFusionGroup &group) const;
};

/// True if `op` can be a member of a group.
bool canBeMember(mlir::linalg::LinalgOp op);

/// The group with root `root` that is best for `threads` threads of `machine`.
/// It has no loops if `root` has none that are parallel.
RowFusionGroup findRowGroup(mlir::linalg::LinalgOp root,
                            const chimera::model::Machine &machine,
                            int64_t threads);

/// Cuts `group` into tasks.
RowTiling chooseTiling(const RowFusionGroup &group,
                       const chimera::model::Machine &machine, int64_t threads);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_MEMORYBOUND_ROWFUSIONGROUP_H
