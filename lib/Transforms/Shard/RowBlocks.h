//===- RowBlocks.h - Compute a tensor in blocks of rows ---------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block of rows is what one process of a grid would have, so operations are
// cut as processes cut them, by upstream's `ShardingInterface`: only that one
// process computes all blocks, one after the other.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_SHARD_ROWBLOCKS_H
#define CHIMERA_LIB_TRANSFORMS_SHARD_ROWBLOCKS_H

#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

#include <vector>

namespace chimera {

class RowBlocks {
public:
  /// Finds what of the block of `value` can be computed in as many blocks as
  /// `grid`, which has one axis, has processes: `value` along dimension `dim`,
  /// and what leads to it as far as nothing else reads it. `reader` is what
  /// reads `value`.
  RowBlocks(mlir::Value value, unsigned dim, mlir::Operation *reader,
            mlir::shard::GridOp grid);

  /// The operations that are computed in blocks, in order; none if not even
  /// `value` can be.
  llvm::SmallVector<mlir::Operation *> getOperations() const {
    return llvm::to_vector(
        llvm::reverse(llvm::make_first_range(cuts.getArrayRef())));
  }

  /// Computes rows of `value` before `at`: those of the block with index
  /// `block`. Null, with nothing changed, if a model of an operation fails.
  mlir::Value compute(mlir::Operation *at, int64_t block) const;

private:
  /// How an operation wants its operands, and how its result comes out.
  struct Cut {
    std::vector<mlir::shard::Sharding> operands, results;
  };

  std::optional<Cut> cut(mlir::Operation *op, unsigned dim) const;
  std::optional<unsigned> findCommonDim(mlir::Value result) const;
  mlir::shard::Sharding makeSharding(unsigned dim) const;
  mlir::Value slice(mlir::OpBuilder &builder, mlir::Value whole, unsigned dim,
                    int64_t block) const;
  int64_t count() const;

  mlir::Value value;
  unsigned dim;
  mlir::Operation *reader;
  mutable mlir::shard::GridOp grid;
  /// In reverse order.
  llvm::MapVector<mlir::Operation *, Cut> cuts;
};

/// A grid of `count` processes for blocks of rows, in the module of `op`. To be
/// erased.
mlir::shard::GridOp makeGridOfBlocks(mlir::Operation *op, int64_t count);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_SHARD_ROWBLOCKS_H
