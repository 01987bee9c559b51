//===- CodeRange.h - Between which numbers integers lie ---------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programs unpack weights of four bits by shifts and masks, and hand them on in
// wider types. How many bits they need is seen from the operations that make
// them.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_FORM_CODERANGE_H
#define CHIMERA_LIB_TRANSFORMS_FORM_CODERANGE_H

#include "mlir/IR/Value.h"

#include <optional>

namespace chimera {

/// All integers from `least` to `most`.
struct CodeRange {
  int64_t least = 0, most = 0;

  int64_t size() const { return most - least + 1; }
};

/// The range of the elements of `tensor`, or of `tensor` itself in the body of
/// a structured operation, with the sign that `isSigned` gives their highest
/// bit; nothing if they are no integers of at most 32 bits.
std::optional<CodeRange> findRange(mlir::Value tensor, bool isSigned);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_FORM_CODERANGE_H
