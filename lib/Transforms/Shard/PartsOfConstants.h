//===- PartsOfConstants.h - Constants of what is cut ------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream cuts no constants but splats. The others pass through its hands as
// arguments, behind those of the function, and come back as parts.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_SHARD_PARTSOFCONSTANTS_H
#define CHIMERA_LIB_TRANSFORMS_SHARD_PARTSOFCONSTANTS_H

#include "Chimera/IR/Chimera.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"

namespace chimera {

/// Makes arguments of the constants of `function` that are tensors of more than
/// one number.
llvm::SmallVector<mlir::arith::ConstantOp>
takeConstants(mlir::func::FuncOp function);

/// Puts `taken` back in place of the last arguments, which have become `parts`
/// of them: for process number `process` as its part, and for any process, if
/// that is negative, as a slice that begins where the process stands.
void putBackConstants(mlir::func::FuncOp function, mlir::shard::GridOp grid,
                      llvm::ArrayRef<mlir::arith::ConstantOp> taken,
                      llvm::ArrayRef<PartAttr> parts, int64_t process);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_SHARD_PARTSOFCONSTANTS_H
