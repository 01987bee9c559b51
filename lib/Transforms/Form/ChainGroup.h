//===- ChainGroup.h - What a chain of given operators holds -----*- C++ -*-===//
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

#ifndef CHIMERA_LIB_TRANSFORMS_FORM_CHAINGROUP_H
#define CHIMERA_LIB_TRANSFORMS_FORM_CHAINGROUP_H

#include "Chimera/IR/Chimera.h"
#include "Chimera/IR/MicroKernels.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/SetVector.h"

namespace chimera {

using OperationSet = llvm::SetVector<mlir::Operation *>;
/// Operators of one block, in program order.
using OperatorList = llvm::ArrayRef<mlir::linalg::LinalgOp>;

/// What becomes of a chain, which decides what it may hold.
enum class ChainForm {
  /// Code is generated from it. The operators reach the last one and nothing
  /// else, through elementwise operations, and through rows that are reduced
  /// where it is a softmax of two operators. What follows the last one is in a
  /// row, and its end is all that others read.
  Compiled,
  /// It is planned. It may hold whatever the model takes, and others may read
  /// everything.
  Planned
};

/// True if `op` is a contraction or convolution of any type and shape.
bool isOperatorLike(mlir::linalg::LinalgOp op);

/// The nearest operators among `candidates` that read what `op` computes, at
/// the end of paths of operations that may lie between operators.
llvm::SmallVector<mlir::linalg::LinalgOp>
findReaders(mlir::linalg::LinalgOp op, const OperationSet &candidates);

/// True if a path of any operations leads from `op` to another operator, or
/// from another to `op`.
bool hasDistantNeighbour(mlir::linalg::LinalgOp op);

/// The contraction whose rows a softmax works on before `op` reads them, in any
/// spelling. Null if there is none.
mlir::linalg::LinalgOp findSoftmaxProducer(mlir::linalg::LinalgOp op);

/// The operations before `end` that need one of `values`, directly or through
/// each other, in program order.
OperationSet findEarlyReaders(mlir::ValueRange values, mlir::Operation *end);

/// Operations of one block that a chain would hold.
class ChainGroup {
public:
  /// The group of `operators` alone, for which there is code as far as
  /// `support` says.
  ChainGroup(OperatorList operators, ChainForm form,
             const OperatorSupport &support);

  /// Empty, or why there is no such chain.
  llvm::StringRef getReason() const { return reason; }
  size_t getNumOperators() const { return operators.size(); }
  /// The operators are two, with a softmax between them that code is generated
  /// from. It may end behind the second, with the division by the sum.
  bool hasSoftmax() const { return isSoftmax; }

  /// The numbers of operations from the tail that leave no more values to
  /// others than there are last operators, most operations first.
  llvm::SmallVector<size_t> getTailLengths() const;
  /// Takes the first `length` operations of the tail into the group.
  void takeTail(size_t length);

  /// The values that others read, in program order.
  llvm::SmallVector<mlir::Value> getExports() const;
  /// Clones the group into a chain behind its last operation. The chain yields
  /// what stands for the exports.
  ChainOp clone() const;
  /// Lets others read `values` instead of the exports, and erases what nobody
  /// needs any more.
  void replaceExports(mlir::ValueRange values);

private:
  bool isCompiled() const { return form == ChainForm::Compiled; }
  bool mayHold(mlir::Operation *op) const;
  bool isLeftBehind(mlir::Operation *op) const;
  bool isPreparation(mlir::Operation *op) const;
  bool isBorder(mlir::tensor::PadOp pad) const;
  void collectAfter();
  void collectPaths(const OperationSet &ends);
  void collectTail();
  void collectTailInRow();
  bool isRead(mlir::Value value, const OperationSet &set) const;
  llvm::SmallVector<mlir::Value> getExports(const OperationSet &set) const;
  void addPreparations(mlir::Operation *op, OperationSet &group) const;
  llvm::SmallVector<mlir::Operation *> getOperations() const;

  const OperatorSupport &support;
  ChainForm form;
  bool isSoftmax;
  OperationSet operators;
  /// What depends on the operators, in the block: everything or, if the chain
  /// is compiled, everything before the end of the tail.
  OperationSet after;
  /// The operators, what lies between them, and the tail that was taken.
  OperationSet members;
  llvm::SmallVector<mlir::Operation *> tail;
  size_t numLast = 1;
  std::string reason;
};

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_FORM_CHAINGROUP_H
