//===- ImageWindows.h - Images that are read through windows ----*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A convolution reads its image through windows, which reach into padding at
// the border. Where programs move data by themselves neither exists in memory:
// copies compute where in the image each pixel under a tap lies, and fill in
// zeros for those that lie outside.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_SUPPORT_IMAGEWINDOWS_H
#define CHIMERA_LIB_CONVERSION_SUPPORT_IMAGEWINDOWS_H

#include "Chimera/IR/Chimera.h"

#include "llvm/ADT/SmallVector.h"

namespace chimera {

struct ImageWindows {
  /// What `tensor` shows windows of; nothing if it is in memory as it is.
  static std::optional<ImageWindows> find(mlir::Value tensor);

  /// One dimension of the image.
  struct Side {
    /// Where the first window begins: less than 0 in padding.
    int64_t first = 0;
    /// True if some window reaches beyond the image.
    bool isPadded = false;
  };

  /// True if the last dimension of the image is that of the windows.
  bool hasPlainRows() const;

  /// The tensor in memory.
  mlir::Value image;
  llvm::SmallVector<Side> sides;
  /// For each dimension of the windows the one of the image that it moves
  /// along, and by how many elements.
  llvm::SmallVector<std::pair<unsigned, int64_t>> steps;
};

/// Where the image under `windows` is padded and loses dimensions of one
/// element afterwards, lets it lose them before: `ImageWindows` sees the
/// padding then. So comes what more than a convolution reads.
void loseUnitsBeforePadding(WindowsOp windows);

/// Where `windows` show a part of an image that begins where it does, lets them
/// show the image: they end where they did. So come strides over pixels that
/// leave some at the end, and nobody has to take the part.
void showWholeImage(WindowsOp windows);

} // namespace chimera

#endif // CHIMERA_LIB_CONVERSION_SUPPORT_IMAGEWINDOWS_H
