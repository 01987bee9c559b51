//===- JoinParts.h - Parts of a row that read the same ----------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The halves of a rotary embedding are made of the same two halves of a row. By
// themselves they read each of them twice, and the second time it comes from
// memory again. Parts that lie next to each other in rows, and read the same,
// become one operation instead, with a loop over the parts: what they read does
// not depend on that, and a kernel that takes all parts at once loads it once.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_MEMORYBOUND_JOINPARTS_H
#define CHIMERA_LIB_TRANSFORMS_MEMORYBOUND_JOINPARTS_H

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace chimera {

/// Makes one operation of those that make the parts of `concat`, if rows
/// consist of these, they are equally long, and each reads something that
/// another one reads, too. `concat` is gone then.
bool joinParts(mlir::tensor::ConcatOp concat);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_MEMORYBOUND_JOINPARTS_H
