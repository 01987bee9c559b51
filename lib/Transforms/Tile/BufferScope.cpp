//===- BufferScope.cpp - Where buffers are created ------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Transforms/BufferScope.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

Block *chimera::getBufferScope(Operation *op) {
  Operation *scope = op;
  while (scope->getParentOp() &&
         !isa<FunctionOpInterface, scf::ForallOp, scf::ParallelOp>(scope))
    scope = scope->getParentOp();
  return &scope->getRegion(0).front();
}
