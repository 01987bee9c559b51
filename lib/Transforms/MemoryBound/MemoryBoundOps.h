//===- MemoryBoundOps.h - Operations outside chains -------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What chains do not hold runs by the same micro kernels if it is elementwise
// or reduces, static, and on tensors: norms, softmax, transposes. Three passes
// must agree on what that is: one makes few operations of many, one plans them,
// and one makes loops of them.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_MEMORYBOUND_MEMORYBOUNDOPS_H
#define CHIMERA_LIB_TRANSFORMS_MEMORYBOUND_MEMORYBOUNDOPS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace chimera {

/// Why `op` is left to other passes, in words to follow "left to plain loops:
/// "; nothing if it is not. The words are empty for contractions and
/// convolutions: what becomes of them is told elsewhere.
std::optional<llvm::StringRef> findObstacle(mlir::linalg::LinalgOp op);

/// All operations in `root` but those in chains, blocks and micro kernels, in
/// parallel loops, and in the bodies of linalg operations.
llvm::SmallVector<mlir::Operation *> collectOutside(mlir::Operation *root);

/// The dimension that vectors can run along: every map that is a function of it
/// has it last. If there are several, the one that `maps.back()` has last.
std::optional<unsigned> findVectorDim(llvm::ArrayRef<mlir::AffineMap> maps);

/// True if `op` on scalars takes many instructions: a function, a division.
bool isFunction(mlir::Operation &op);

/// Instructions and functions for an element of a vector.
struct ElementWork {
  double instructions = 0, functions = 0;
};

/// Counts what the body of `op` computes for one element. What is the same for
/// all elements of a vector, such as the root of a row's variance, is computed
/// once for the row, and does not count.
ElementWork countWork(mlir::linalg::LinalgOp op);

/// True if the body takes so much more time than arithmetic does that nobody
/// wants it computed twice.
bool isExpensive(mlir::Block &body);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_MEMORYBOUND_MEMORYBOUNDOPS_H
