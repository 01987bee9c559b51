//===- OnlineSoftmax.h - A softmax computed tile by tile --------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile of scores knows its part of a row only. So the operator that reads the
// exponentials keeps the maximum and the sum of the rows seen so far; a tile
// that raises the maximum shrinks the sum and what has been accumulated by the
// exponential of the difference. This builds those blocks; the loops that carry
// the states are built around them.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_TILE_ONLINESOFTMAX_H
#define CHIMERA_LIB_TRANSFORMS_TILE_ONLINESOFTMAX_H

#include "Tile/BlockBuilder.h"

namespace chimera {

class OnlineSoftmax {
public:
  OnlineSoftmax(BlockBuilder &blocks, const ChainAnalysis &analysis,
                mlir::Location loc)
      : blocks(blocks), analysis(analysis), problem(analysis.problem),
        loc(loc) {}

  /// Buffers of the states that operator `op` keeps from here on, its maximum
  /// and its sum. None if it keeps none.
  llvm::SmallVector<mlir::Value> createStates(unsigned op,
                                              const TreePosition &position);
  /// `states` of rows of which nothing is known.
  llvm::SmallVector<mlir::Value>
  clearStates(unsigned op, const TreePosition &position,
              llvm::ArrayRef<mlir::Value> states);

  /// Turns a tile of scores, fresh from the contraction, into exponentials, and
  /// brings `carried`, the output and the states of its reader, up to date.
  /// The output `isCorrected`, if the reader has accumulated something yet.
  mlir::Value finishScore(unsigned op, const TreePosition &position,
                          mlir::Value score, bool isCorrected,
                          llvm::MutableArrayRef<mlir::Value> carried);

  /// Adds what another `part` of the reduction has come to, its output and its
  /// states, to `carried`. Whichever has the lower maximum shrinks.
  void combine(const TreePosition &position, llvm::ArrayRef<mlir::Value> part,
               llvm::MutableArrayRef<mlir::Value> carried);

private:
  unsigned findReader() const;
  mlir::Value startSum(unsigned op, const TreePosition &position,
                       mlir::OpFoldResult count, mlir::Value state);
  /// True if what follows the scores of operator `op` is computed for their
  /// maximum and again for their exponentials, and never stored.
  bool repeatsEpilogue(unsigned op) const;
  mlir::Value finishElement(unsigned op, const TreePosition &position,
                            mlir::OpBuilder &body, mlir::Value score);
  mlir::Value createExponential(unsigned op, const TreePosition &position,
                                mlir::OpBuilder &body, mlir::Value score,
                                mlir::Value maximum);
  std::pair<mlir::Value, mlir::Value>
  buildScore(unsigned op, const TreePosition &position, mlir::Value score,
             mlir::Value maximum, model::TensorId rows);
  void correct(unsigned op, unsigned reader, const TreePosition &position,
               mlir::Value highest, llvm::MutableArrayRef<mlir::Value> carried);

  BlockBuilder &blocks;
  const ChainAnalysis &analysis;
  const model::ChainProblem &problem;
  mlir::Location loc;
};

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_TILE_ONLINESOFTMAX_H
