//===- GroupProgram.h - Groups of operations for the model ------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations of linalg on memory that make one kernel of the vector unit, as
// the values that it computes for a tile. Who plans and who lowers reads them
// in the same way.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_GROUPPROGRAM_H
#define CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_GROUPPROGRAM_H

#include "KernelLowering.h"

#include "Chimera/Model/VectorProgram.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace chimera::ascend {

/// What computes a value of a group.
enum class GroupCode {
  Number,
  Load,
  /// An instruction or a few for an operation of a body.
  Scalar,
  /// The operand for each element of the value.
  Spread,
  /// To f16 and back.
  Round,
  Reduce
};

struct GroupValue {
  GroupCode code = GroupCode::Number;
  /// The operation of a body, or the one that combines.
  mlir::Operation *op = nullptr;
  double number = 0;
  /// Truth values, as bits.
  bool isMask = false;
};

struct GroupProgram {
  model::VectorProgram model;
  /// By value, and by tensor of the model.
  llvm::SmallVector<GroupValue, 0> values;
  llvm::SmallVector<mlir::Value, 0> tensors;
};

/// Reads `ops`, neighbours in a block. Fails, with a reason, if the vector unit
/// of `architecture` has no code for something.
llvm::FailureOr<GroupProgram>
readGroup(llvm::ArrayRef<mlir::linalg::LinalgOp> ops, Architecture architecture,
          Refusal &refusal);

/// True if `memref` is memory of `ops` alone, which none of them needs.
bool isInside(llvm::ArrayRef<mlir::linalg::LinalgOp> ops, mlir::Value memref);

/// The groups of a block of memory: operations of linalg that have the same
/// `ascend.group`, with nothing but memory between them, up to one that has a
/// tiling.
llvm::SmallVector<llvm::SmallVector<mlir::linalg::LinalgOp>>
findGroups(mlir::Block &block);

/// The vector unit of `machine` and its buffer.
model::VectorCore getVectorCore(const model::Machine &machine,
                                Architecture architecture,
                                mlir::MLIRContext *context);

} // namespace chimera::ascend

#endif // CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_GROUPPROGRAM_H
