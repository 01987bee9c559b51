//===- Updates.cpp - What is an update of what ----------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Buffers/Updates.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

using namespace mlir;

OpOperand *chimera::getUpdated(OpResult result) {
  Operation *op = result.getOwner();
  if (auto forall = dyn_cast<scf::ForallOp>(op))
    return &forall.getOutputsMutable()[result.getResultNumber()];
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return loop.getTiedLoopInit(result);
  auto updating = dyn_cast<DestinationStyleOpInterface>(op);
  return updating ? updating.getTiedOpOperand(result) : nullptr;
}
