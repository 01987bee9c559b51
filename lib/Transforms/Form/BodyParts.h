//===- BodyParts.h - Values in the bodies of contractions -------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_FORM_BODYPARTS_H
#define CHIMERA_LIB_TRANSFORMS_FORM_BODYPARTS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"

namespace chimera {

/// How `op` indexes the operand whose elements `argument` of its body stands
/// for.
mlir::AffineMap mapOf(mlir::linalg::GenericOp op, mlir::BlockArgument argument);

/// The arguments that `part` of a body, or nothing, depends on.
llvm::SmallVector<mlir::BlockArgument> getArguments(mlir::Value part);

/// True if `part` of the body of `op`, or nothing, changes along `loop`.
bool changesAlong(mlir::linalg::GenericOp op, mlir::Value part, unsigned loop);

/// Copies `value` of one body, and what it is computed from, to another, in
/// which `mapping` has its arguments.
mlir::Value cloneValue(mlir::OpBuilder &builder, mlir::Value value,
                       mlir::IRMapping &mapping);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_FORM_BODYPARTS_H
