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
// buffer, and what finishes them, or a copy, hands them on. So do the maximum
// and the sum of each row where the columns of a softmax are shared out, and
// whoever combines the parts has to be told.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_SEPARATESUMS_H
#define CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_SEPARATESUMS_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace chimera::ascend {

/// On an allocation: it has a number for each row, of which each is a block of
/// 32 bytes, as the vector unit has them.
constexpr llvm::StringLiteral kRowsAttrName = "ascend.rows";

/// Gives kernels in `forall` that add up in memory outside of it, or update
/// what they know of rows there, buffers to do so. Memory of rows is marked.
/// What has another form than tiles is left as it is.
void separateSums(mlir::scf::ForallOp forall);

} // namespace chimera::ascend

#endif // CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_SEPARATESUMS_H
