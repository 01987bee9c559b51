//===- ElementBytes.h - What an element takes in memory ---------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_IR_ELEMENTBYTES_H
#define CHIMERA_IR_ELEMENTBYTES_H

#include "mlir/IR/Types.h"
#include "llvm/Support/MathExtras.h"

namespace chimera {

/// Bytes that a number of `type` takes in a buffer: whole bytes, a power of two
/// of them. An index has the 64 bits of a pointer.
inline int64_t bytesOf(mlir::Type type) {
  if (type.isIndex())
    return 8;
  return llvm::PowerOf2Ceil(llvm::divideCeil(type.getIntOrFloatBitWidth(), 8));
}

} // namespace chimera

#endif // CHIMERA_IR_ELEMENTBYTES_H
