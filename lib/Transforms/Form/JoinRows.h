//===- JoinRows.h - Rows of pixels that are one row -------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_FORM_JOINROWS_H
#define CHIMERA_LIB_TRANSFORMS_FORM_JOINROWS_H

#include "Chimera/IR/MicroKernels.h"

#include "mlir/IR/Value.h"

namespace chimera {

/// Joins the last two dimensions of the result of `chain`, whose body is
/// normalized, wherever they are indexed, if all operations index them together
/// and the vectors of `support` are better filled or register tiles wider.
/// The chain stands for `results`. True if it joined any.
llvm::FailureOr<bool> joinRows(ChainOp chain,
                               llvm::ArrayRef<mlir::Value> results,
                               const OperatorSupport &support);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_FORM_JOINROWS_H
