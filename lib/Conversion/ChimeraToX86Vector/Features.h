//===- Features.h - Which instructions a target has -------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_FEATURES_H
#define CHIMERA_LIB_CONVERSION_FEATURES_H

#include "Chimera/IR/Chimera.h"

namespace chimera {

/// True if the processor that `target` names has `needed`, whatever the length
/// of its vectors is said to be.
bool hasFeatures(TargetAttrInterface target,
                 llvm::ArrayRef<llvm::StringRef> needed);

} // namespace chimera

#endif // CHIMERA_LIB_CONVERSION_FEATURES_H
