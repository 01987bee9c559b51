//===- GeneralOps.h - What general chains are made of -----------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kinds of operations as the planner sees them, told apart by indexing maps,
// iterator types and bodies, never by name.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_GENERALOPS_H
#define CHIMERA_LIB_TRANSFORMS_GENERALOPS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <optional>

namespace chimera {

/// One index into a tensor: the sum of some loops of an operation, times
/// factors, and an offset.
struct AffineIndex {
  llvm::SmallVector<std::pair<unsigned, int64_t>, 2> terms;
  int64_t offset = 0;
};

/// `expr`, over loops with these extents, as a sum; loops of extent one are
/// left out. Nothing if it is not one with positive factors.
std::optional<AffineIndex> linearize(mlir::AffineExpr expr,
                                     llvm::ArrayRef<int64_t> extents);

/// True if `op` is a product of two tensors, summed up, over static tensors: a
/// contraction or convolution in which something is read more than once. The
/// factors may be converted to a wider type first.
bool isComputeIntensive(mlir::linalg::LinalgOp op);

/// True if the body computes scalars from scalars, without effects.
bool hasScalarBody(mlir::linalg::LinalgOp op);

/// True if `op` multiplies and adds in the way of a contraction or convolution,
/// whatever its types and shapes.
bool multipliesTensors(mlir::linalg::LinalgOp op);

/// True if `op` works element by element or reduces along rows, on static
/// tensors, each indexed by some of the loops.
bool isPointwise(mlir::linalg::LinalgOp op);

/// True if `op` only moves data, or converts it to a wider type on the way.
bool isMove(mlir::Operation *op);

/// True if `op` pads with zeros by constant amounts.
bool isZeroPad(mlir::tensor::PadOp op);

/// True if `op` starts a tensor with one number, or with none.
bool isStart(mlir::Operation *op);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_GENERALOPS_H
