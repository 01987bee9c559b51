//===- ConvertElements.h - Tensors of another float -------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_FORM_CONVERTELEMENTS_H
#define CHIMERA_LIB_TRANSFORMS_FORM_CONVERTELEMENTS_H

#include "mlir/IR/Builders.h"

namespace chimera {

/// `tensor`, of floats, with elements of `type`, another float.
mlir::Value createConverted(mlir::OpBuilder &builder, mlir::Value tensor,
                            mlir::Type type);

/// `tensor`, of floats, with elements rounded to `narrow`, in their own type.
mlir::Value createAllRounded(mlir::OpBuilder &builder, mlir::Value tensor,
                             mlir::Type narrow);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_FORM_CONVERTELEMENTS_H
