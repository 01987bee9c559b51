//===- ImageOps.h - Operations that work in either layout -------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An image is a tensor of the batch, channels and one to three dimensions of
// space. Channels are one dimension, or two where they come in groups. An
// operation does not mind their order if it says by itself how it indexes them:
// convolutions and pools with the channels first, elementwise operations and
// reductions, padding and concatenations, and reshapes that make groups of
// channels or channels of groups.
//
// A tensor of five dimensions may be a volume or have groups. Convolutions and
// reshapes tell; what else reads or makes the same tensor follows them.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_LAYOUT_IMAGEOPS_H
#define CHIMERA_LIB_TRANSFORMS_LAYOUT_IMAGEOPS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/EquivalenceClasses.h"

namespace chimera {

/// The dimensions of an image of `rank` dimensions, `numChannelDims` of which
/// are channels, with the channels last.
llvm::SmallVector<int64_t> getChannelsLast(int64_t rank,
                                           int64_t numChannelDims);

/// An operation that can have its images in either layout.
struct ImageOp {
  mlir::Operation *op = nullptr;
  /// Operands and results that are images, channels first as they are given. A
  /// transpose has one of them, and the other side with channels last.
  llvm::SmallVector<mlir::OpOperand *> images;
  llvm::SmallVector<mlir::Value> results;
  /// What a convolution multiplies its image with.
  mlir::OpOperand *filter = nullptr;
  /// Dimensions of channels of its operands and of its results: two if they
  /// come in groups.
  int64_t numChannelDims = 1, numResultChannelDims = 1;
};

/// Reads operations as those that work in either layout.
class ImageReader {
public:
  /// For the operations inside `root`.
  explicit ImageReader(mlir::Operation *root);

  /// `op` as one that works in either layout; nothing if it does not. Empty
  /// tensors, fills and constants are none: they start in any layout.
  std::optional<ImageOp> read(mlir::Operation *op) const;

private:
  /// Tensors that have their channels in as many dimensions, and one of each
  /// class that has groups.
  llvm::EquivalenceClasses<const void *> alike;
  llvm::DenseSet<const void *> grouped;
};

/// True if `value` is an image that starts in any layout: an empty tensor or
/// one with the same number everywhere.
bool startsInAnyLayout(mlir::Value value);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_LAYOUT_IMAGEOPS_H
