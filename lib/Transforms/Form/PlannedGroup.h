//===- PlannedGroup.h - What could be planned as a chain --------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operations that a chain of given operators holds: what lies on paths
// between them, what follows the last ones, and what moves or makes operands.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_FORM_PLANNEDGROUP_H
#define CHIMERA_LIB_TRANSFORMS_FORM_PLANNEDGROUP_H

#include "Form/ChainFormer.h"

#include "Chimera/IR/Chimera.h"

namespace chimera {

/// True if `op` is a contraction or convolution of any type and shape.
bool isOperatorLike(mlir::linalg::LinalgOp op);

/// True if `op` may lie between two operators of a chain.
bool mayLieBetween(mlir::Operation *op);

/// The nearest operators among `candidates` that read what `op` computes, at
/// the end of paths of operations that may lie between operators.
llvm::SmallVector<mlir::linalg::LinalgOp>
findReaders(mlir::linalg::LinalgOp op, const OperationSet &candidates);

/// True if a path of any operations leads from `op` to another operator, or
/// from another to `op`.
bool hasDistantNeighbour(mlir::linalg::LinalgOp op);

/// Clones `group`, in program order, into a chain in front of the operation
/// after its last one. The chain yields what stands for `results`.
ChainOp cloneIntoChain(llvm::ArrayRef<mlir::Operation *> group,
                       mlir::ValueRange results);

/// Operations of one block that a chain would hold.
class PlannedGroup {
public:
  /// The group of `operators`. If there is none, `getReason` says why.
  explicit PlannedGroup(OperatorList operators);

  bool isValid() const { return reason.empty(); }
  llvm::StringRef getReason() const { return reason; }

  /// The numbers of operations from the tail that leave no more values to
  /// others than there are last operators, most operations first.
  llvm::SmallVector<size_t> getTailLengths() const;
  /// Takes the first `length` operations of the tail into the group.
  void takeTail(size_t length);

  /// Everything to clone, in program order.
  llvm::SmallVector<mlir::Operation *> getOperations() const;
  /// The values that others read, in program order.
  llvm::SmallVector<mlir::Value> getExports() const;
  /// Lets others read `values` instead of the exports, and erases what nobody
  /// needs any more.
  void replaceExports(mlir::ValueRange values);

private:
  void collectPaths();
  void collectTail();
  bool isRead(mlir::Value value, const OperationSet &set) const;
  llvm::SmallVector<mlir::Value> getExports(const OperationSet &set) const;
  void addPreparations(mlir::Operation *op, OperationSet &group) const;

  OperationSet operators;
  /// Everything in the block that depends on the operators.
  OperationSet after;
  /// The operators, what lies between them, and the tail that was taken.
  OperationSet members;
  llvm::SmallVector<mlir::Operation *> tail;
  size_t numLast = 0;
  std::string reason;
};

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_FORM_PLANNEDGROUP_H
