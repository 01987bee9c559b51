//===- VectorKinds.h - Scalar operations and instructions -------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The instruction of the vector unit that an operation on scalars is.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_VECTORKINDS_H
#define CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_VECTORKINDS_H

#include "Chimera/Ascend/Ascend.h"

namespace chimera::ascend {

std::optional<VectorKind> getBinaryKind(mlir::Operation &op);
std::optional<VectorKind> getUnaryKind(mlir::Operation &op);
/// How elements are compared; nothing where what is no number matters.
std::optional<CompareKind> getCompareKind(mlir::Operation &op);
/// The instruction that takes a number for the second operand.
VectorKind withScalar(VectorKind kind);

} // namespace chimera::ascend

#endif // CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_VECTORKINDS_H
