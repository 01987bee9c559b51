//===- Staging.h - Copies of inputs on their way in -------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory likes long runs, micro kernels like small tiles. A staged input is
// copied where it enters the level outside the innermost, row by row, into the
// tiles that blocks read:
//
//   rows x columns  ->  panels x rows x columns of a panel
//
// A panel is as wide as the tile of the innermost level. An operand that the
// micro kernel broadcasts from keeps its shape; its copy only has rows that lie
// in different sets of the cache. Prepacked inputs lie in panels as a whole,
// before the first loop.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_TILE_STAGING_H
#define CHIMERA_LIB_TRANSFORMS_TILE_STAGING_H

#include "Tile/BlockBuilder.h"

namespace chimera {

class Stager {
public:
  /// Copies go where `builder` stands.
  Stager(mlir::OpBuilder &builder, BlockBuilder &blocks,
         const ChainAnalysis &analysis, const model::Schedule &schedule,
         mlir::Location loc)
      : builder(builder), blocks(blocks), problem(analysis.problem),
        schedule(schedule), loc(loc) {}

  /// Copies the staged inputs of operators in `nest` that only loops of the
  /// innermost level index from loop `depth` of the nest on.
  void stage(const model::LoopNest &nest, unsigned depth,
             TreePosition &position);

  /// Brings the prepacked inputs into panels, outside all loops.
  void prepack(TreePosition &position);

  /// The slice of `tensor`, which lies in panels at `position`, for a tile of
  /// `loop` with `moved` offsets; the innermost loop over its columns chooses a
  /// panel. Null in loops of other operators, which do not read it and may be
  /// cut otherwise.
  mlir::Value slice(model::TensorId tensor, const model::NestLoop &loop,
                    llvm::ArrayRef<LoopOffset> moved, TreePosition &position);

private:
  mlir::Value copyPlain(unsigned op, model::TensorId tensor,
                        const TreePosition &position);
  mlir::Value copyToPanels(unsigned op, model::TensorId tensor, int64_t columns,
                           const TreePosition &position);

  mlir::OpBuilder &builder;
  BlockBuilder &blocks;
  const model::ChainProblem &problem;
  const model::Schedule &schedule;
  mlir::Location loc;
};

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_TILE_STAGING_H
