//===- NormalizeSoftmax.h - One form for a softmax --------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_FORM_NORMALIZESOFTMAX_H
#define CHIMERA_LIB_TRANSFORMS_FORM_NORMALIZESOFTMAX_H

#include "Chimera/IR/Chimera.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace chimera {

/// Brings what lies between two contractions of `chain` into the form of
/// Chain/Softmax.h. The body holds generic operations with projected
/// permutations as maps. Succeeds without doing anything if nothing is reduced
/// between two contractions; fails if what is cannot be corrected later.
llvm::LogicalResult normalizeSoftmax(ChainOp chain);

/// True if `op` makes bytes of an input's truth values, which are loaded as
/// such. It stays by itself, in front of the chain: what reads the bytes fused
/// with it would read truth values again.
bool widensTruthValues(mlir::linalg::GenericOp op);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_FORM_NORMALIZESOFTMAX_H
