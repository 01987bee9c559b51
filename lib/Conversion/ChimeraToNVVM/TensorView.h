//===- TensorView.h - Where elements of a tensor lie ------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Slices and reshapes move nothing: a kernel reads and writes their elements
// where they lie in the tensor behind.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_TENSORVIEW_H
#define CHIMERA_LIB_CONVERSION_TENSORVIEW_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

namespace chimera {

struct TensorView {
  /// The elements of `tensor`, of static shape, in the tensor that it is a
  /// slice of or another shape of, as far behind as strides can say.
  static TensorView of(mlir::Value tensor);

  mlir::Value base;
  int64_t offset = 0;
  llvm::SmallVector<int64_t> sizes, strides;

  int64_t baseElements() const {
    return llvm::cast<mlir::RankedTensorType>(base.getType()).getNumElements();
  }
};

} // namespace chimera

#endif // CHIMERA_LIB_CONVERSION_TENSORVIEW_H
