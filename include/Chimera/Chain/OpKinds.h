//===- OpKinds.h - What kind of operation something is ----------*- C++ -*-===//
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

#ifndef CHIMERA_CHAIN_OPKINDS_H
#define CHIMERA_CHAIN_OPKINDS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"

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

/// True if each index of `map` is a sum of loops, with positive factors and no
/// offset, and no loop is part of two.
bool isSumOfLoops(mlir::AffineMap map, llvm::ArrayRef<int64_t> extents);

/// True if `type` is no tensor or buffer, or one of static shape with elements.
bool isStaticAndNotEmpty(mlir::Type type);

/// True if `op` is a product of two tensors, summed up, over static tensors: a
/// contraction or convolution in which something is read more than once. The
/// factors may be converted to a wider type first.
bool isComputeIntensive(mlir::linalg::LinalgOp op);

/// True if the body computes scalars from scalars, without effects.
bool hasScalarBody(mlir::linalg::LinalgOp op);

/// True if `op` multiplies and adds in the way of a contraction or convolution,
/// whatever its types and shapes.
bool multipliesTensors(mlir::linalg::LinalgOp op);

/// True if `op` multiplies by what codes stand for (see ProductBody.h).
bool hasQuantizedFactor(mlir::linalg::LinalgOp op);

/// True if `op` works element by element or reduces along rows, on static
/// tensors, each indexed by some of the loops.
bool isPointwise(mlir::linalg::LinalgOp op);

/// True if `op` only moves data, or converts it to a wider type on the way.
bool isMove(mlir::Operation *op);

/// True if `op` pads with zeros by constant amounts.
bool isZeroPad(mlir::tensor::PadOp op);

/// True if `op` starts a tensor with one number, or with none.
bool isStart(mlir::Operation *op);

/// True if all loops of `op` are parallel.
bool isParallel(mlir::linalg::LinalgOp op);

/// True if `op` expands or collapses the dimensions of a tensor.
bool isReshape(mlir::Operation *op);

/// True if `op` only moves data: it yields its single input, transposed or
/// broadcast.
bool isMovement(mlir::linalg::LinalgOp op);

/// True if `op` converts the elements of a tensor to a narrower type, or rounds
/// them to what such a type has, in place.
bool isNarrowing(mlir::linalg::LinalgOp op);

/// The type that `op`, for which isNarrowing holds, converts or rounds to.
mlir::Type getNarrowedType(mlir::linalg::LinalgOp op);

/// True if `op` is a static reshape of a tensor that adds or drops dimensions
/// of extent one and does nothing else.
bool isUnitReshape(mlir::Operation *op);

/// True if `op` is a reduction along rows that is no contraction.
bool isRowReduction(mlir::linalg::LinalgOp op);

/// The number that `op` multiplies its only tensor by, if it does nothing else
/// but convert it to a wider type before.
std::optional<double> getScale(mlir::linalg::LinalgOp op);

/// True if `op` multiplies a tensor by a number.
bool isScaling(mlir::linalg::LinalgOp op);

/// A contraction as code is generated from it, apart from its accumulator.
bool isSupportedContraction(mlir::linalg::LinalgOp op);

/// An elementwise operation that makes floats, as code is generated from it
/// after a contraction. It may read numbers of any type.
bool isSupportedElementwise(mlir::linalg::LinalgOp op);

/// The same, or with inputs that are indexed by sums of loops with positive
/// factors: a convolution.
bool isSupportedOperator(mlir::linalg::LinalgOp op);

/// True if `value` is a tensor filled with positive zero.
bool isZeroFill(mlir::Value value);

/// True if `op` is something a chain is made of, in whatever form and type.
bool isContractionLike(mlir::linalg::LinalgOp op);

/// Everything `op` reads, what its regions read of what is around them
/// included.
llvm::SetVector<mlir::Value> getReadValues(mlir::Operation *op);

} // namespace chimera

#endif // CHIMERA_CHAIN_OPKINDS_H
