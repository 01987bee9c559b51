//===- SeparateSums.h - Sums that are results ------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cube unit adds up in a memory of its own. Where results are f32 a
// schedule adds up in the result itself, as a CPU would; here such sums get a
// buffer, and what finishes them, or a copy, hands them on.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_SEPARATESUMS_H
#define CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_SEPARATESUMS_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace chimera::ascend {

/// Gives contractions in `forall` that add up in memory outside of it buffers
/// to do so. What has another form than tiles of results is left as it is.
void separateSums(mlir::scf::ForallOp forall);

} // namespace chimera::ascend

#endif // CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_SEPARATESUMS_H
