//===- AlignedRow.h - How long a row of a copy is ---------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Vectors that lie across two lines of a cache take two accesses. Passes that
// make copies and intermediates, and the model that prices them, have to agree
// on where rows start.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_MODEL_ALIGNEDROW_H
#define CHIMERA_MODEL_ALIGNEDROW_H

#include "llvm/Support/MathExtras.h"

#include <cstdint>

namespace chimera::model {

/// Elements that a row of `elements` takes in a copy or an intermediate, with
/// `line` elements in a line of the cache: whole lines, unless that adds more
/// than half of them.
inline int64_t alignedRow(int64_t elements, int64_t line) {
  auto aligned = static_cast<int64_t>(llvm::alignTo(elements, line));
  return 2 * (aligned - elements) <= elements ? aligned : elements;
}

} // namespace chimera::model

#endif // CHIMERA_MODEL_ALIGNEDROW_H
