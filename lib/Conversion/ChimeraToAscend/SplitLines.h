//===- SplitLines.h - Rows of pixels one by one -----------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cube unit multiplies matrices, and a tile of an image is one for each row
// of pixels. Micro kernels that work on several get loops around them, inside
// all others: as the model counts it.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_SPLITLINES_H
#define CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_SPLITLINES_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace chimera::ascend {

void splitLines(mlir::scf::ForallOp forall);

} // namespace chimera::ascend

#endif // CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_SPLITLINES_H
