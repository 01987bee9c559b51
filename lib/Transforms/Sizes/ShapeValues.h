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

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace chimera {

class ShapeValues {
public:
  /// Reads the body of `function`, whose arguments have static shapes. If it
  /// `takesSums`, what lies side by side gets placeholders of its own.
  explicit ShapeValues(mlir::func::FuncOp function, bool takesSums = false);

  /// The number that `value`, an integer or an index, is for any sizes.
  std::optional<int64_t> getNumber(mlir::Value value) const;
  /// The size of dimension `dim` of `tensor`.
  std::optional<int64_t> getSize(mlir::Value tensor, unsigned dim) const;
  /// The sizes of `tensor`; dynamic if they are not known.
  using Shape = llvm::SmallVector<int64_t>;
  Shape getShape(mlir::Value tensor) const;
  /// True if `lhs` is as large as `rhs`, or larger, for any sizes.
  bool isAtLeast(int64_t lhs, int64_t rhs) const;
  /// The open sizes of the function, and the sums that were found.
  const OpenSizes &getOpenSizes() const { return open; }

private:
  void read(mlir::Operation &op);
  std::optional<int64_t> evaluate(mlir::Operation &op) const;
  std::optional<int64_t> evaluate(mlir::affine::AffineApplyOp apply,
                                  mlir::AffineExpr expr) const;
  std::optional<int64_t> combine(mlir::AffineExprKind kind, int64_t lhs,
                                 int64_t rhs) const;
  std::optional<int64_t> compare(mlir::Operation &op) const;
  std::optional<int64_t> getSmaller(int64_t lhs, int64_t rhs) const;
  llvm::ArrayRef<int64_t> getTerms(const int64_t &size) const;
  bool addTerms(llvm::SmallVectorImpl<int64_t> &sum,
                llvm::ArrayRef<int64_t> terms, bool isNegative = false) const;
  std::optional<llvm::SmallVector<int64_t>> addTerms(int64_t lhs,
                                                     int64_t rhs) const;
  std::optional<int64_t> add(int64_t lhs, int64_t rhs) const;
  std::optional<int64_t> addSizes(int64_t lhs, int64_t rhs);
  void readConcat(mlir::tensor::ConcatOp concat);
  void setShape(mlir::Value tensor, Shape shape);
  Shape toShape(llvm::ArrayRef<mlir::OpFoldResult> sizes) const;

  OpenSizes open;
  bool takesSums;
  llvm::DenseMap<mlir::Value, int64_t> numbers;
  llvm::DenseMap<mlir::Value, Shape> shapes;
};

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_SIZES_SHAPEVALUES_H
