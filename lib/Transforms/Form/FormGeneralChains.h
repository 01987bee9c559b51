//===- FormGeneralChains.h - Wrap what can be planned -----------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_FORM_FORMGENERALCHAINS_H
#define CHIMERA_LIB_TRANSFORMS_FORM_FORMGENERALCHAINS_H

#include "mlir/IR/Operation.h"

namespace chimera {

/// Forms chains of everything the model can plan below `root`.
void formGeneralChains(mlir::Operation *root);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_FORM_FORMGENERALCHAINS_H
