//===- ThreadTilingAttribute.cpp - What a tiling for threads may say ------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/IR/Chimera.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/Support/MathExtras.h"

#include <utility>

using namespace mlir;
using namespace chimera;

/// Threads of a warp, and the most of a block (CUDA C++ Programming Guide,
/// Compute Capabilities).
static constexpr int64_t warpThreads = 32, mostThreads = 1024;

LogicalResult
ThreadTilingAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                         int64_t vector, int64_t team, int64_t rows,
                         int64_t steps, RowHome home) {
  for (auto [name, number] :
       {std::pair("vector", vector), {"team", team}, {"rows", rows}})
    if (number < 1 || !llvm::isPowerOf2_64(number))
      return emitError() << "'" << name << "' must be a power of two, got "
                         << number;
  if (steps < 1)
    return emitError() << "'steps' must be positive, got " << steps;
  if (team > mostThreads || rows > mostThreads || team * rows > mostThreads ||
      team * rows < warpThreads)
    return emitError() << "a block has " << warpThreads << " to " << mostThreads
                       << " threads, but 'team' is " << team << " and 'rows' "
                       << rows;
  return success();
}

LogicalResult ThreadTilingAttr::verifyOn(Operation *op) const {
  if (isa<linalg::LinalgOp>(op) && op->getNumResults() > 0)
    return success();
  return op->emitError("'") << ChimeraDialect::getThreadTilingAttrName()
                            << "' belongs on an operation of linalg on tensors";
}
