//===- FinishEmitter.h - Elementwise operations on sums ---------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What follows a product element by element can be done before its sums leave
// their registers. A pass of its own loads and stores each of them once more,
// which is much beside the few steps of a depthwise convolution, or of one with
// few channels.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_FINISHEMITTER_H
#define CHIMERA_LIB_CONVERSION_FINISHEMITTER_H

#include "BodyEmitter.h"

namespace chimera {

class FinishEmitter : public BodyEmitter {
public:
  /// Emits `finish`, the elementwise kernel that needs the sums of
  /// `contraction` last.
  FinishEmitter(mlir::OpBuilder &builder, MicroKernelOp finish,
                MicroKernelOp contraction, const VectorFigures &figures);

  /// True if vectors of sums can be finished one by one.
  bool isCovered();

  /// What has been emitted for the vectors of a column.
  using BodyEmitter::Values;
  /// What vectors of `count` lanes have in common that differ from the one at
  /// `point`, of the contraction, in other dimensions than the one along which
  /// vectors run.
  Values emitColumn(llvm::ArrayRef<mlir::Value> point, LaneCount count);
  /// Asks for what the vector of sums at `point` alone is finished with, and
  /// for where it is stored.
  void fetch(llvm::ArrayRef<mlir::Value> point);
  /// Finishes `sum` at `point` and stores it.
  void emit(mlir::Value sum, llvm::ArrayRef<mlir::Value> point, LaneCount count,
            Values values);

private:
  llvm::SmallVector<mlir::Value> toOwn(llvm::ArrayRef<mlir::Value> point);

  /// The argument that has the sums, and where they are in the contraction.
  mlir::BlockArgument sums;
  mlir::AffineMap sumMap;
};

} // namespace chimera

#endif // CHIMERA_LIB_CONVERSION_FINISHEMITTER_H
