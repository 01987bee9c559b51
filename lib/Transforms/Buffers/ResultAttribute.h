//===- ResultAttribute.h - Arguments that stand for results -----*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_BUFFERS_RESULTATTRIBUTE_H
#define CHIMERA_LIB_TRANSFORMS_BUFFERS_RESULTATTRIBUTE_H

#include "llvm/ADT/StringRef.h"

namespace chimera {

/// What upstream marks the arguments with that stand for results.
inline constexpr llvm::StringLiteral kResultAttrName = "bufferize.result";

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_BUFFERS_RESULTATTRIBUTE_H
