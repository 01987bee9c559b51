//===- PlaceParts.h - Parts of tensors where they belong --------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A concatenation and a tensor with padding are made of parts. What computes a
// part can write it where it belongs, and then nothing is left to be copied.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_MEMORYBOUND_PLACEPARTS_H
#define CHIMERA_LIB_TRANSFORMS_MEMORYBOUND_PLACEPARTS_H

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace chimera {

/// Replaces `concat` by its parts. Whatever makes one writes it into the whole,
/// the others are copied. Dynamic shapes are left alone.
void placeParts(mlir::tensor::ConcatOp concat);

/// Replaces `pad`, if it pads with one number, by a tensor whose border is
/// filled and into which whatever makes the middle writes it. Dynamic shapes
/// are left alone.
void placeParts(mlir::tensor::PadOp pad);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_MEMORYBOUND_PLACEPARTS_H
