//===- TensorSlice.h - Slices of dense tensors ------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A slice of a tensor lies in memory, or in a file, in runs: elements that
// follow one another in the whole and in a dense copy of the slice.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_SUPPORT_TENSORSLICE_H
#define CHIMERA_SUPPORT_TENSORSLICE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>

namespace chimera {

/// `count` elements of a slice, in row-major order.
struct SliceRun {
  /// The first of them, in the slice and in the whole tensor.
  int64_t inSlice, inWhole;
  int64_t count;
};

/// Calls `visit` for the runs, as long as they can be, of the slice of extents
/// `sizes` that begins at `offsets` in a tensor of extents `whole`.
void forEachRun(llvm::ArrayRef<int64_t> whole, llvm::ArrayRef<int64_t> offsets,
                llvm::ArrayRef<int64_t> sizes,
                llvm::function_ref<void(const SliceRun &)> visit);

} // namespace chimera

#endif // CHIMERA_SUPPORT_TENSORSLICE_H
