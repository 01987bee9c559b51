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

#ifndef CHIMERA_TOOLS_CHIMERA_RUN_PARTS_H
#define CHIMERA_TOOLS_CHIMERA_RUN_PARTS_H

#include "Chimera/IR/Chimera.h"
#include "Chimera/Runner/Tensor.h"

namespace chimera::run {

/// Where the part of `process` begins in the whole tensor.
llvm::SmallVector<int64_t> getPartOffsets(PartAttr part, int64_t process);

/// Copies the part at `offsets` out of `whole`.
void takePart(const runner::Tensor &whole, llvm::ArrayRef<int64_t> offsets,
              runner::Tensor &part);

/// Copies `part`, a dense tensor of `shape`, to its place in `whole`.
void putPart(const char *part, llvm::ArrayRef<int64_t> shape,
             llvm::ArrayRef<int64_t> offsets, runner::Tensor &whole);

} // namespace chimera::run

#endif // CHIMERA_TOOLS_CHIMERA_RUN_PARTS_H
