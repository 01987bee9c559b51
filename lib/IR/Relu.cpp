//===- Relu.cpp - Zero for negative numbers -------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/IR/Relu.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

Value chimera::getReluOperand(Operation *op) {
  if (!isa_and_nonnull<arith::MaximumFOp, arith::MaxNumFOp>(op))
    return {};
  for (unsigned number : {0, 1})
    if (matchPattern(op->getOperand(number), m_AnyZeroFloat()))
      return op->getOperand(1 - number);
  return {};
}
