//===- Combination.h - One result of the parts of blocks --------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a schedule splits the reduction of a softmax, `chimera-tile` leaves two
// loops: in the first each thread block makes accumulators and states of a part
// of the reduction, the second makes one result of the parts. Both are one
// kernel, in which the block that is the last of its tile does the second.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_COMBINATION_H
#define CHIMERA_LIB_CONVERSION_COMBINATION_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace chimera {

struct Combination {
  /// The loop that combines; null if there are no parts.
  mlir::scf::ForallOp forall;
  /// Which loop of the blocks makes the parts, and how many.
  unsigned split = 0;
  int64_t numParts = 1;
  /// Tiles of the result, each of as many parts.
  int64_t numTiles = 1;

  explicit operator bool() const { return static_cast<bool>(forall); }

  /// That of what `blocks` leave. Fails if these are parts, but no loop makes
  /// one result of them for each tile.
  static llvm::FailureOr<Combination> find(mlir::scf::ForallOp blocks);
};

/// Puts what combines the parts that `blocks` leave into a loop of no
/// dimensions, if there is one tile alone, and no loop.
void wrapCombination(mlir::scf::ForallOp blocks);

/// The same for a chain without parallel loops, whose results are one tile, if
/// `op` makes its result.
void wrapTile(mlir::Operation *op);

/// True if `other` is among the numbers that `index` is computed from.
bool dependsOn(mlir::Value index, mlir::Value other);

/// The number of iterations of loop number `loop` of `forall`; nothing if it is
/// not known.
std::optional<int64_t> getTrips(mlir::scf::ForallOp forall, unsigned loop);

} // namespace chimera

#endif // CHIMERA_LIB_CONVERSION_COMBINATION_H
