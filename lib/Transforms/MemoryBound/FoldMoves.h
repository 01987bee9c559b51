//===- FoldMoves.h - Moves that become parts of others ----------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_MEMORYBOUND_FOLDMOVES_H
#define CHIMERA_LIB_TRANSFORMS_MEMORYBOUND_FOLDMOVES_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

namespace chimera {

/// True if each element of the only result of `op` is computed by itself, of
/// operands that loops index directly, wherever it is.
bool isElementwise(mlir::linalg::GenericOp op);

/// Patterns that bring concatenations behind what follows them, and slices in
/// front of what they cut: a channel shuffle, which concatenates, transposes
/// and splits, becomes a copy of each part to where it belongs. No pattern
/// makes more bytes move.
void populateFoldMovesPatterns(mlir::RewritePatternSet &patterns);

/// A pattern that drops copies that change nothing, as those of unit dimensions
/// are once these are gone.
void populateForwardCopiesPatterns(mlir::RewritePatternSet &patterns);

/// Where the parts of `concat` are tensors whose dimensions are split, joins
/// the tensors and splits dimensions of the whole. Who makes a tensor can make
/// it in its place then; the patterns above bring slices to it by the opposite.
void joinBeforeSplitting(mlir::tensor::ConcatOp concat);

/// Where the parts of `concat` are views that nobody makes, and what lies
/// behind the dimension that they are joined along lies together in them, makes
/// one dimension of it: copies of long rows.
void joinInnerDims(mlir::tensor::ConcatOp concat);

/// Joins dimensions of the parts of `concat` as `groups` say, of which the one
/// that has the parts in a row has otherwise unit dimensions, and splits those
/// of the result again.
void collapseConcat(mlir::tensor::ConcatOp concat,
                    llvm::ArrayRef<mlir::ReassociationIndices> groups);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_MEMORYBOUND_FOLDMOVES_H
