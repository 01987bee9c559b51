//===- Annotations.h - What upstream's partitioning asks for ----*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `sharding-propagation` and `shard-partition` trust their input: in packages
// without assertions, what they do not expect crashes them or is cut wrong. So
// everything they rely on is checked before each of them, and an error on the
// operation says what to change.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_SHARD_ANNOTATIONS_H
#define CHIMERA_LIB_TRANSFORMS_SHARD_ANNOTATIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/Dialect/Shard/Interfaces/ShardingInterface.h"

namespace chimera {

/// True if `function` says how something in it is cut.
bool isAnnotated(mlir::func::FuncOp function);

/// The one grid that the annotations of `function` name, of static shape. Null,
/// with an error, if there is none.
mlir::shard::GridOp findGrid(mlir::func::FuncOp function);

/// Fails, with an error, if `sharding-propagation` cannot take `function`.
mlir::LogicalResult verifyBeforePropagation(mlir::func::FuncOp function,
                                            mlir::shard::GridOp grid);

/// True if processes can share the iterations of `loop`: they do not count
/// them, and where it is a reduction, their parts can be combined.
bool canCutLoop(mlir::shard::ShardingInterface op, unsigned loop);

/// Annotates what propagation left without: it is whole on all processes.
void completeAnnotations(mlir::func::FuncOp function, mlir::shard::GridOp grid);

/// Fails, with an error, if `shard-partition` would crash on `function`, or cut
/// it wrong.
mlir::LogicalResult verifyBeforePartition(mlir::func::FuncOp function,
                                          mlir::shard::GridOp grid);

/// The ranked tensor that is `value`'s type, if it has dimensions to cut.
mlir::RankedTensorType getTensor(mlir::Value value);

/// The axes that cut each dimension of `type`.
llvm::SmallVector<mlir::DenseI64ArrayAttr>
getAxes(mlir::RankedTensorType type, const mlir::shard::Sharding &sharding);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_SHARD_ANNOTATIONS_H
