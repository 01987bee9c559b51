//===- RequiredKernels.cpp - Where a kernel is missing --------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On a CPU, what no chain took runs as plain loops. A device runs kernels and
// nothing else, and what is no kernel must not be left behind silently.
//
//===----------------------------------------------------------------------===//

#include "RequiredKernels.h"

#include "Chimera/IR/Chimera.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace chimera;

static bool isContraction(linalg::LinalgOp op) {
  return linalg::isaContractionOpInterface(op) ||
         linalg::isaConvolutionOpInterface(op);
}

/// What can be done about it.
static StringRef getAdvice(linalg::LinalgOp op) {
  if (op.hasDynamicShape())
    return "its shape is not static; give its tensors static shapes";
  if (op.getNumReductionLoops() > 1 && op.hasOnlyProjectedPermutations())
    return "it adds up along several dimensions, as of an image that is as "
           "large as its windows; collapse them into one, of both operands";
  return "it is in no chain; the remarks of chimera-form-chains say why "
         "(--remarks-filter=chimera)";
}

LogicalResult chimera::checkNoContractionIsLeft(ModuleOp module) {
  LogicalResult result = success();
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<BlockOp, MicroKernelOp>(op))
      return WalkResult::skip();
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    if (linalgOp && isContraction(linalgOp))
      result = op->emitError("no kernel for this operator: ")
               << getAdvice(linalgOp);
    return WalkResult::advance();
  });
  return result;
}
