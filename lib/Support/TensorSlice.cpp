//===- TensorSlice.cpp - Slices of dense tensors --------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Support/TensorSlice.h"

#include "llvm/ADT/STLExtras.h"

using namespace chimera;
using llvm::ArrayRef;

static int64_t count(ArrayRef<int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes)
    product *= size;
  return product;
}

/// Visits what lies behind the slice's index `inSlice`, and the whole's
/// `inWhole`, of dimensions outside those given. The first `outer` of these
/// have an index in each run.
static void visitRuns(ArrayRef<int64_t> whole, ArrayRef<int64_t> offsets,
                      ArrayRef<int64_t> sizes, size_t outer,
                      llvm::function_ref<void(const SliceRun &)> visit,
                      int64_t inSlice = 0, int64_t inWhole = 0) {
  if (outer > 0) {
    for (int64_t i = 0; i < sizes.front(); ++i)
      visitRuns(whole.drop_front(), offsets.drop_front(), sizes.drop_front(),
                outer - 1, visit, inSlice * sizes.front() + i,
                inWhole * whole.front() + offsets.front() + i);
    return;
  }
  int64_t first = offsets.empty() ? 0 : offsets.front();
  int64_t inner = count(whole.drop_front(whole.empty() ? 0 : 1));
  int64_t extent = whole.empty() ? 1 : whole.front();
  visit({inSlice * count(sizes), (inWhole * extent + first) * inner,
         count(sizes)});
}

void chimera::forEachRun(ArrayRef<int64_t> whole, ArrayRef<int64_t> offsets,
                         ArrayRef<int64_t> sizes,
                         llvm::function_ref<void(const SliceRun &)> visit) {
  if (llvm::is_contained(sizes, 0))
    return;
  // The innermost dimension that is cut, and what is inside it.
  size_t outer = sizes.empty() ? 0 : sizes.size() - 1;
  while (outer > 0 && sizes[outer] == whole[outer])
    --outer;
  visitRuns(whole, offsets, sizes, outer, visit);
}
