//===- TransposedPanels.h - Panels of transposed constants ------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A weight that is stored by columns is transposed first, and then copied into
// panels. Transposing it into the panels takes no memory for what is between,
// which would be as much again as the weight.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_TILE_TRANSPOSEDPANELS_H
#define CHIMERA_LIB_TRANSFORMS_TILE_TRANSPOSEDPANELS_H

#include "Tile/BlockBuilder.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace chimera {

/// The result of `transpose`, of a static shape, in panels of `columns` columns
/// for operator `op`: panels x its other dimensions x columns. The columns that
/// the last panel has beyond the result's are not set.
mlir::Value buildTransposedPanels(mlir::OpBuilder &builder,
                                  BlockBuilder &blocks, unsigned op,
                                  mlir::linalg::TransposeOp transpose,
                                  int64_t columns);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_TILE_TRANSPOSEDPANELS_H
