//===- MemoryProgram.h - A group that waits for memory ----------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `chimera-partition` put into one group becomes one kernel. Its
// operations have loops of their own; this finds out which of these are the
// same: the axes of the group. What some operation reduces are its columns, all
// others its rows. Then every tensor has an element for each place of the axes,
// or one for each row, and lies in memory as strides of the axes say.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_MEMORYPROGRAM_H
#define CHIMERA_LIB_CONVERSION_MEMORYPROGRAM_H

#include "Program.h"
#include "TensorView.h"

#include "Chimera/Model/ThreadTiling.h"

namespace chimera {

/// Elements of a tensor in memory, by the axes of a group.
struct MemoryAccess {
  mlir::Value base;
  mlir::Type elementType;
  int64_t offset = 0;
  /// By axis.
  llvm::SmallVector<int64_t> strides;

  bool operator==(const MemoryAccess &other) const {
    return base == other.base && offset == other.offset &&
           strides == other.strides;
  }
};

/// What an operand of a member is.
struct MemoryOperand {
  enum class Kind {
    /// Its place is never looked at.
    Unused,
    /// A number, the same for all elements.
    Scalar,
    /// What another member makes.
    Made,
    /// In memory.
    Loaded
  };
  Kind kind = Kind::Unused;
  mlir::Value scalar;
  mlir::OpResult made;
  /// Index of the access.
  unsigned load = 0;
};

/// An operation of the group.
struct MemoryMember {
  mlir::linalg::LinalgOp op;
  /// The axis of each loop.
  llvm::SmallVector<unsigned> axes;
  /// True if it has no columns.
  bool isOfRow = false;
  bool reduces = false;
  llvm::SmallVector<MemoryOperand> operands;
  /// Reductions that have to be there before it runs.
  unsigned pass = 0;
};

/// A result that is stored.
struct MemoryStore {
  mlir::OpResult result;
  MemoryAccess access;
  /// What it is written into a part of; null if it is a tensor of its own.
  mlir::Operation *insert = nullptr;
};

class MemoryProgram {
public:
  /// Reads operations of one block, in order. Fails with a reason if they are
  /// no kernel.
  static llvm::FailureOr<MemoryProgram>
  read(llvm::ArrayRef<mlir::linalg::LinalgOp> ops, Refusal &refusal);

  /// The last operation, which has the decision.
  mlir::linalg::LinalgOp getRoot() const { return members.back().op; }
  const model::ThreadGroup &getFigures() const { return figures; }

  llvm::ArrayRef<MemoryMember> getMembers() const { return members; }
  const MemoryMember *getMember(mlir::Operation *op) const;
  llvm::ArrayRef<MemoryAccess> getLoads() const { return loads; }
  llvm::ArrayRef<MemoryStore> getStores() const { return stores; }
  unsigned getNumPasses() const { return figures.passes; }

  /// Extents of the axes: first rows, then columns, the outermost first.
  llvm::ArrayRef<int64_t> getExtents() const { return extents; }
  unsigned getNumRowAxes() const { return numRowAxes; }
  /// The axis that vectors go along, and the one that what is turned is
  /// contiguous along.
  std::optional<unsigned> getVectorAxis() const { return vectorAxis; }
  std::optional<unsigned> getTurnedAxis() const { return turnedAxis; }

  bool isOfColumns(const MemoryAccess &access) const;
  bool isAlongVector(const MemoryAccess &access) const {
    return vectorAxis && access.strides[*vectorAxis] != 0;
  }
  /// True if a vector of `access` is contiguous.
  bool isContiguous(const MemoryAccess &access) const {
    return vectorAxis && access.strides[*vectorAxis] == 1;
  }
  bool isTurned(const MemoryAccess &access) const {
    return turnedAxis && access.strides[*turnedAxis] == 1;
  }

private:
  llvm::LogicalResult readMembers(llvm::ArrayRef<mlir::linalg::LinalgOp> ops,
                                  Refusal &refusal);
  llvm::LogicalResult readBody(const MemoryMember &member, Refusal &refusal);
  llvm::LogicalResult uniteAxes(Refusal &refusal);
  llvm::LogicalResult shareRows(Refusal &refusal);
  llvm::LogicalResult readOperands(Refusal &refusal);
  llvm::LogicalResult readStores(Refusal &refusal);
  llvm::FailureOr<MemoryAccess> readAccess(const MemoryMember &member,
                                           mlir::AffineMap map,
                                           mlir::Value tensor);
  void countPasses();
  void chooseVectorAxis();
  void findTurnedAxis();
  void orderAxes();
  void joinAxes();
  void permuteAxes(llvm::ArrayRef<unsigned> order, unsigned numRows);
  void countFigures();

  llvm::SmallVector<MemoryMember> members;
  llvm::SmallVector<MemoryAccess> loads;
  llvm::SmallVector<MemoryStore> stores;
  llvm::SmallVector<int64_t> extents;
  /// By axis, before they are ordered.
  llvm::SmallVector<bool> isColumn;
  unsigned numRowAxes = 0;
  std::optional<unsigned> vectorAxis, turnedAxis;
  model::ThreadGroup figures;
};

} // namespace chimera

#endif // CHIMERA_LIB_CONVERSION_MEMORYPROGRAM_H
