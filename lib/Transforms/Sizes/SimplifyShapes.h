//===- SimplifyShapes.h - Programs that compute their shapes ----*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exporters compute the shapes of programs with dynamic sizes, and test in
// loops whether a dimension is broadcast. Once sizes are known, little of that
// is left, but it is spelled in ways that chains are not formed of.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_SIZES_SIMPLIFYSHAPES_H
#define CHIMERA_LIB_TRANSFORMS_SIZES_SIMPLIFYSHAPES_H

#include "mlir/IR/PatternMatch.h"

namespace chimera {

/// Patterns that let `tensor.concat` know its parts as they were before a cast
/// to other shapes, and leave out those without elements.
void populateKnownPartsPatterns(mlir::RewritePatternSet &patterns);

/// The same, and patterns that
///  - make operands of tensors that the body of a `linalg.generic` reads by
///    `tensor.extract`, where it reads them at the indices of loops;
///  - leave out tests whether the dimension of a loop is broadcast;
///  - turn broadcasts of constants into constants;
///  - turn `tensor.reshape` between static shapes into `tensor.collapse_shape`
///    and `tensor.expand_shape`.
void populateSimplifyShapesPatterns(mlir::RewritePatternSet &patterns);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_SIZES_SIMPLIFYSHAPES_H
