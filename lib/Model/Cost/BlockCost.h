//===- BlockCost.h - Time of a block by its depth ---------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block falls into at most four kinds of register tiles. What they are does
// not depend on the depth, so blocks that differ in depth alone share it.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_MODEL_COST_BLOCKCOST_H
#define CHIMERA_LIB_MODEL_COST_BLOCKCOST_H

#include "Chimera/Model/Algorithms.h"

namespace chimera::model {

/// The share of vectors that lie across two lines of the innermost level, which
/// take two accesses: of the operand that supplies vectors, and of the output.
struct CrossingVectors {
  double operand = 0, output = 0;
};

/// Cycles of a block of given rows and columns on a register tile.
class BlockCost {
public:
  /// `down` splits the rows and `across` the vectors among register tiles. To
  /// load a vector takes `decodeInstructions` more than the load. An
  /// instruction multiplies `neighbours` along the reduction.
  BlockCost(const VectorUnit &unit, const BalancedSplit &down,
            const BalancedSplit &across, int64_t neighbours = 1,
            double decodeInstructions = 0, CrossingVectors crossing = {});

  double cycles(int64_t depth, bool loadsOutput) const;

private:
  struct TileCost {
    /// Cycles of one step of the reduction.
    double step = 0;
    /// Cycles to store the accumulators, and to load them too.
    double storing = 0, loadingAndStoring = 0;
  };
  double tileCycles(const TileCost &tile, int64_t depth,
                    bool loadsOutput) const;
  double stripCycles(const TileCost *strip, int64_t depth,
                     bool loadsOutput) const;

  BalancedSplit down, across;
  int64_t neighbours;
  double latency = 0;
  /// By large or small share of the rows, then of the vectors.
  TileCost tiles[2][2];
};

} // namespace chimera::model

#endif // CHIMERA_LIB_MODEL_COST_BLOCKCOST_H
