//===- Parts.h - Parts of tensors by process --------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each process of a program has a part of the arguments and results, as their
// attribute `chimera.part` says.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_IR_PARTS_H
#define CHIMERA_IR_PARTS_H

#include "Chimera/IR/Chimera.h"

namespace chimera {

/// The extents of all parts.
llvm::SmallVector<int64_t> getPartSizes(PartAttr part);

/// Where the part of `process` begins in the whole tensor.
llvm::SmallVector<int64_t> getPartOffsets(PartAttr part, int64_t process);

} // namespace chimera

#endif // CHIMERA_IR_PARTS_H
