//===- RowFusionGroup.h - Operations sharing loops over rows ----*- C++ -*-===//
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

#include "Chimera/IR/Chimera.h"
#include "Chimera/Model/RowTiling.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
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
  /// The member that has this number in program order.
  mlir::linalg::LinalgOp getMember(int64_t number) const;
  /// The loop over rows that `loop` of member `op` is, if it is one.
  std::optional<unsigned> getRow(mlir::Operation *op, unsigned loop) const;
};

/// The groups that operations belong to already, by their roots.
using TakenOperations = llvm::DenseMap<mlir::Operation *, mlir::Operation *>;

/// What `op` has as #chimera.row_tiling; null if it has none.
RowTilingAttr getRowTiling(mlir::Operation *op);

/// True if `op` can be a member of a group.
bool canBeMember(mlir::linalg::LinalgOp op);

/// True if `op`, which can be a member, makes something that is needed as it
/// is, and not in no time. What only starts accumulators is made where they
/// are.
bool isRoot(mlir::linalg::LinalgOp op);

/// The group with root `root` whose loops go over dimensions `dims` of its last
/// result; without loops it is the root alone. None if there is no
/// such group. What is `taken` stays out, and so does what has a tiling of its
/// own.
std::optional<RowFusionGroup> findRowGroup(mlir::linalg::LinalgOp root,
                                           llvm::ArrayRef<unsigned> dims,
                                           const TakenOperations &taken);

/// The group that the tiling of `root` is for. Fails with an error if it cannot
/// run so.
llvm::FailureOr<RowFusionGroup>
findTiledGroup(mlir::linalg::LinalgOp root,
               const TakenOperations &taken = TakenOperations());

/// True if a member of `group` reads `result`, which another one makes; and if
/// somebody else does.
bool isReadInGroup(const RowFusionGroup &group, mlir::OpResult result);
bool isReadOutside(const RowFusionGroup &group, mlir::OpResult result);

/// True if a member, which reads by `use` what another one makes for others as
/// well, can store it: it adds it up, element by element.
bool canStoreLate(const RowFusionGroup &group, mlir::OpOperand &use);

/// The operands by which each task reads another part of a tensor from outside:
/// those of `member`, and those of members before it that have the same loops.
llvm::SmallVector<mlir::OpOperand *> findOwnParts(const RowFusionGroup &group,
                                                  mlir::Operation *member);

/// Why members cannot do what `tiling` lists them for; nothing if they can.
std::optional<std::string> findMisuse(const RowFusionGroup &group,
                                      RowTilingAttr tiling);

/// The figures of `group`, which has loops, for the model, in a program whose
/// tensors take `programBytes`.
model::RowGroup getFigures(const RowFusionGroup &group, double programBytes);

/// Bytes of the arguments of `function`, which has a body, and of all tensors
/// that operations and loops make there.
double countProgramBytes(mlir::FunctionOpInterface function);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_MEMORYBOUND_ROWFUSIONGROUP_H
