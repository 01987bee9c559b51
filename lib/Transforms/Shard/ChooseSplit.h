//===- ChooseSplit.h - Cut a program that does not say how ------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's propagation completes what somebody has annotated, and asks for no
// cost. Here the model chooses for each operator which of its loops is cut, and
// everything is annotated as it chose.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_SHARD_CHOOSESPLIT_H
#define CHIMERA_LIB_TRANSFORMS_SHARD_CHOOSESPLIT_H

#include "Chimera/Model/Machine.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"

namespace chimera {

/// What a function is cut for.
struct SplitSetting {
  mlir::shard::GridOp grid;
  int64_t processes;
  const model::Machine &machine;
  int64_t threads;
};

/// Writes constants without dimensions, which upstream cannot cut, into the
/// bodies of what reads them.
void inlineNumbers(mlir::func::FuncOp function);

/// Gives each reader of what is made of nothing its own, cut as it likes.
/// Otherwise what has no contents would be exchanged.
void copyGenerators(mlir::func::FuncOp function);

/// Rewrites what upstream cannot cut in a form that it can: operands with
/// indices that are always zero, and what is made of nothing for several
/// readers.
void prepareForSplit(mlir::func::FuncOp function);

/// Annotates `function`, which has been prepared, with the cheapest split. The
/// text says what it costs and what comes next. None if there is nothing to
/// cut.
std::optional<std::string> annotateBestSplit(mlir::func::FuncOp function,
                                             const SplitSetting &setting);

/// Seconds that `function` takes on one process by the model of whole programs,
/// with what its collectives take.
double priceFunction(mlir::func::FuncOp function, const model::Machine &machine,
                     int64_t threads);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_SHARD_CHOOSESPLIT_H
