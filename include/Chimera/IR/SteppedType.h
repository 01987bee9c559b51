//===- SteppedType.h - Buffers seen in steps --------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations that show windows of a tensor are views of its buffer, in whatever
// dialect they are.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_IR_STEPPEDTYPE_H
#define CHIMERA_IR_STEPPEDTYPE_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace chimera {

/// The view of a buffer of type `source` that has `shape` and of which each
/// dimension moves along the dimension of the buffer in `steps`, and by how
/// many elements.
inline mlir::MemRefType
getSteppedType(mlir::MemRefType source, llvm::ArrayRef<int64_t> shape,
               llvm::ArrayRef<std::pair<unsigned, int64_t>> steps) {
  auto [apart, offset] = source.getStridesAndOffset();
  llvm::SmallVector<int64_t> strides;
  for (auto [position, step] : steps)
    strides.push_back(mlir::ShapedType::isDynamic(apart[position])
                          ? mlir::ShapedType::kDynamic
                          : apart[position] * step);
  return mlir::MemRefType::get(
      shape, source.getElementType(),
      mlir::StridedLayoutAttr::get(source.getContext(), offset, strides),
      source.getMemorySpace());
}

} // namespace chimera

#endif // CHIMERA_IR_STEPPEDTYPE_H
