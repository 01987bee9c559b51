//===- VectorKinds.h - Scalar operations and instructions -------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The instruction of the vector unit that an operation on scalars is, and what
// it costs.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_VECTORKINDS_H
#define CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_VECTORKINDS_H

#include "Chimera/Ascend/Ascend.h"
#include "Chimera/Model/VectorProgram.h"

namespace chimera::ascend {

std::optional<VectorKind> getBinaryKind(mlir::Operation &op);
std::optional<VectorKind> getUnaryKind(mlir::Operation &op);
/// How elements are compared; nothing where what is no number matters.
std::optional<CompareKind> getCompareKind(mlir::Operation &op);
/// The instruction that takes a number for the second operand.
VectorKind withScalar(VectorKind kind);
/// Cycles of the instructions for `op`, one of whose operands is a number if
/// `hasNumber`, and the places in UB that they need; nothing if there is no
/// code.
std::optional<model::VectorValue> getCosts(mlir::Operation &op, bool hasNumber,
                                           Architecture architecture);

} // namespace chimera::ascend

#endif // CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_VECTORKINDS_H
