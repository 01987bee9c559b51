//===- ShapeValues.h - What programs compute of sizes -----------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exporters compute the shapes of a program's tensors. With placeholders for
// the sizes that are not known, most of what they compute is a product of
// those: a number that holds whatever the sizes are.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_SIZES_SHAPEVALUES_H
#define CHIMERA_LIB_TRANSFORMS_SIZES_SHAPEVALUES_H

#include "Chimera/Chain/OpenSizes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace chimera {

class ShapeValues {
public:
  /// Reads the body of `function`, whose arguments have static shapes.
  explicit ShapeValues(mlir::func::FuncOp function);

  /// The number that `value`, an integer or an index, is for any sizes.
  std::optional<int64_t> getNumber(mlir::Value value) const;
  /// The size of dimension `dim` of `tensor`.
  std::optional<int64_t> getSize(mlir::Value tensor, unsigned dim) const;

private:
  using Shape = llvm::SmallVector<int64_t>;

  void read(mlir::Operation &op);
  std::optional<int64_t> evaluate(mlir::Operation &op) const;
  std::optional<int64_t> compare(mlir::Operation &op) const;
  void setShape(mlir::Value tensor, Shape shape);
  Shape getShape(mlir::Value tensor) const;
  Shape toShape(llvm::ArrayRef<mlir::OpFoldResult> sizes) const;

  OpenSizes open;
  llvm::DenseMap<mlir::Value, int64_t> numbers;
  llvm::DenseMap<mlir::Value, Shape> shapes;
};

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_SIZES_SHAPEVALUES_H
