//===- ImageOps.h - Operations that work in either layout -------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An image is a tensor of three to five dimensions: the batch, channels and one
// to three of space. An operation does not mind their order if it says by
// itself how it indexes them: convolutions and pools with the channels first,
// elementwise operations and reductions, padding and concatenations.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_LAYOUT_IMAGEOPS_H
#define CHIMERA_LIB_TRANSFORMS_LAYOUT_IMAGEOPS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace chimera {

/// True for types of images.
bool isImage(mlir::Type type);

/// The dimensions of an image of `rank` dimensions with the channels last.
llvm::SmallVector<int64_t> getChannelsLast(int64_t rank);

/// An operation that can have its images in either layout.
struct ImageOp {
  mlir::Operation *op = nullptr;
  /// Operands and results that are images.
  llvm::SmallVector<mlir::OpOperand *> images;
  llvm::SmallVector<mlir::Value> results;
  /// What a convolution multiplies its image with.
  mlir::OpOperand *filter = nullptr;
};

/// `op` as one that works in either layout; nothing if it does not. Empty
/// tensors, fills and constants are none: they start in any layout.
std::optional<ImageOp> readImageOp(mlir::Operation *op);

/// True if `value` is an image that starts in any layout: an empty tensor or
/// one with the same number everywhere.
bool startsInAnyLayout(mlir::Value value);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_LAYOUT_IMAGEOPS_H
