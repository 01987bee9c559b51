//===- NormalizeChain.h - One form for every chain --------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Front ends spell the same chain in many ways: named operations, transposed
// copies of weights, unit dimensions, reshapes between operators, biases in the
// accumulator. What follows `chimera-form-chains` should see one. This is the
// step from a chain as it was found to the form ChainAnalysis.h describes.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_FORM_NORMALIZECHAIN_H
#define CHIMERA_LIB_TRANSFORMS_FORM_NORMALIZECHAIN_H

#include "Chimera/IR/Chimera.h"

#include "Chimera/IR/MicroKernels.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace chimera {

/// A chain with the operations that had to be put around it.
struct FormedChain {
  ChainOp chain;
  /// What prepares operands before the chain, the chain, and what unpacks the
  /// result after it, in program order.
  llvm::SmallVector<mlir::Operation *> operations;
  /// Stand for the values the chain was formed for.
  llvm::SmallVector<mlir::Value> results;

  /// Takes all of it back.
  void erase() {
    for (mlir::Operation *op : llvm::reverse(operations))
      op->erase();
  }
};

/// Makes `linalg.generic` of elementwise operations on tensors, and of softmax,
/// in the body of `chain`.
llvm::LogicalResult generalizeElementwise(ChainOp chain);

/// Puts the taps of windows before what is summed up for each of them, so that
/// sums do not depend on the order in which images lie in memory.
llvm::LogicalResult orderReductions(ChainOp chain);

/// Sums of products of integers, in the loops of `op`: `factors`, indexed as
/// `maps` say, of which `integerOf` makes numbers of i32, added to `start`.
mlir::Value createIntegerSums(
    mlir::OpBuilder &builder, mlir::linalg::LinalgOp op,
    mlir::ValueRange factors, llvm::ArrayRef<mlir::AffineMap> maps,
    mlir::Value start,
    llvm::function_ref<mlir::Value(mlir::OpBuilder &, unsigned, mlir::Value)>
        integerOf);

/// Removes operations at the top of `function` whose results nobody reads.
void eraseUnused(mlir::func::FuncOp function);

/// A tensor of `shape` filled with `number`.
mlir::Value createFilled(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Type type, llvm::ArrayRef<int64_t> shape,
                         double number);

/// Rewrites the body of `chain`, in place, towards the form that `support` has
/// code for. Fails if some operation has no form at all; success is no promise
/// that the form is reached, only `analyzeChain` can tell.
llvm::LogicalResult normalizeBody(ChainOp chain,
                                  const OperatorSupport &support);

/// Replaces `chain` by one without the reshapes and copies that only touch its
/// operands or its result; those move outside. Operations are ordered so that
/// each elementwise operation follows the contraction it finishes.
FormedChain moveBoundaryOut(ChainOp chain);

/// The contraction that elementwise `op` finishes: the last of those that only
/// `op` reads. Null if there is none.
mlir::linalg::GenericOp getFinishedContraction(mlir::linalg::GenericOp op);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_FORM_NORMALIZECHAIN_H
