//===- MaskBands.h - What masks leave of a matrix of scores -----*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A causal mask sets every score above the diagonal to minus infinity, a
// sliding window those far below it too. What such a mask leaves lies between
// two diagonals, and tiles outside contribute nothing to a softmax.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CHAIN_SOFTMAX_MASKBANDS_H
#define CHIMERA_LIB_CHAIN_SOFTMAX_MASKBANDS_H

#include "Chimera/Model/Problem.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace chimera {

/// The bands that the masks in the body of `op` leave; every one of them holds.
/// `loops` is the loop of each of its dimensions.
llvm::SmallVector<model::Band> findBands(mlir::linalg::GenericOp op,
                                         llvm::ArrayRef<model::LoopId> loops);

} // namespace chimera

#endif // CHIMERA_LIB_CHAIN_SOFTMAX_MASKBANDS_H
