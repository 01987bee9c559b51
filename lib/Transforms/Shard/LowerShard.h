//===- LowerShard.h - Collectives of `shard` as Chimera's -------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_SHARD_LOWERSHARD_H
#define CHIMERA_LIB_TRANSFORMS_SHARD_LOWERSHARD_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"

namespace chimera {

/// The index of this process among those along `axes`, the first outermost.
mlir::Value makeProcessIndex(mlir::OpBuilder &builder, mlir::Location loc,
                             llvm::ArrayRef<int64_t> axes,
                             mlir::shard::GridOp grid);

/// Makes collectives of Chimera from those that `shard-partition` leaves, and
/// joins those that are one. Fails, with an error, if any operation of `shard`
/// remains.
mlir::LogicalResult lowerShard(mlir::func::FuncOp function,
                               mlir::shard::GridOp grid);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_SHARD_LOWERSHARD_H
