//===- PlannedTypes.h - Tensors as large as is planned for ------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Placeholders for open sizes are far too large to plan with. While a pass
// looks at the operations of functions and changes none, their tensors have
// the sizes that are planned for.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_SIZES_PLANNEDTYPES_H
#define CHIMERA_LIB_TRANSFORMS_SIZES_PLANNEDTYPES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SmallVector.h"

namespace chimera {

class OpenSizes;

class PlannedTypes {
public:
  /// Gives the values of functions, `root` or in it, their planned types, until
  /// this is gone.
  explicit PlannedTypes(mlir::Operation *root);
  ~PlannedTypes();
  PlannedTypes(const PlannedTypes &) = delete;
  PlannedTypes &operator=(const PlannedTypes &) = delete;

private:
  void replaceTypes(mlir::func::FuncOp function);
  void replaceType(mlir::Value value, const OpenSizes &open);

  /// Values with open sizes, and their types with placeholders.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Type>> types;
};

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_SIZES_PLANNEDTYPES_H
