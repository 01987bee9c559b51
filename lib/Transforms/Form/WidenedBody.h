//===- WidenedBody.h - Scalar bodies computed in f32 ------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The body of a linalg operation whose narrow floats are computed, and handed
// in and out where the tensors are wide, in the type of sums. Conversions to a
// narrow type round as they did.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_FORM_WIDENEDBODY_H
#define CHIMERA_LIB_TRANSFORMS_FORM_WIDENEDBODY_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace chimera {

class WidenedBody {
public:
  /// `isWidened` says of which types numbers are computed in f32; `tensors` has
  /// the wide tensors that stand for narrow ones outside.
  WidenedBody(mlir::OpBuilder &builder,
              llvm::function_ref<bool(mlir::Type)> isWidened,
              const llvm::DenseMap<mlir::Value, mlir::Value> &tensors)
      : builder(builder), isWidened(isWidened), tensors(tensors) {}

  /// Emits `body` at the builder's position. `arguments` stand for those of
  /// `body`; each has the type of the old one, or is wider or narrower than it.
  /// Returns what is yielded, wide where the old value is of a widened type.
  /// If `rounds`, what arithmetic on a narrow type yields is rounded to it.
  llvm::SmallVector<mlir::Value> emit(mlir::Block &body,
                                      mlir::ValueRange arguments, bool rounds);

  /// True if something of a widened type was left as it is in f32.
  bool isUnrounded() const { return leftUnrounded; }

private:
  void emit(mlir::Operation &op, bool rounds);
  void provideCaptured(mlir::Operation &op);
  bool emitConversion(mlir::Operation &op);
  void emitInWideType(mlir::Operation &op, bool rounds);
  void emitAsItIs(mlir::Operation &op);
  bool concernsWidened(mlir::Operation &op);
  mlir::Value convert(mlir::Value value, mlir::Type type);

  mlir::OpBuilder &builder;
  llvm::function_ref<bool(mlir::Type)> isWidened;
  const llvm::DenseMap<mlir::Value, mlir::Value> &tensors;
  /// New values by old ones, in f32 where the old ones are of a widened type.
  mlir::IRMapping values;
  bool leftUnrounded = false;
};

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_FORM_WIDENEDBODY_H
