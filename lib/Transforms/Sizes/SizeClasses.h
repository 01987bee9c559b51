//===- SizeClasses.h - Which dimensions have one size -----------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_SIZES_SIZECLASSES_H
#define CHIMERA_LIB_TRANSFORMS_SIZES_SIZECLASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/IntEqClasses.h"

namespace chimera {

/// The dimensions of all tensors of a function, those together that have the
/// same size in every call that is defined: operations of linalg index them by
/// one loop, a tensor is made with the size of another, or they lie side by
/// side.
class SizeClasses {
public:
  explicit SizeClasses(mlir::func::FuncOp function);

  /// A number that dimensions of one size share.
  unsigned getClass(mlir::Value tensor, unsigned dim) const;

private:
  unsigned getId(mlir::Value value, unsigned dim);
  void join(mlir::Value one, unsigned dimOfOne, mlir::Value other,
            unsigned dimOfOther);
  void joinLoops(mlir::Operation *op);
  void joinShapes(mlir::Operation *op);
  void joinParts(mlir::Operation *op);
  template <typename Reshape>
  void joinReshaped(Reshape op, mlir::Value split, mlir::Value merged);

  llvm::DenseMap<std::pair<mlir::Value, unsigned>, unsigned> ids;
  llvm::IntEqClasses classes;
};

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_SIZES_SIZECLASSES_H
