//===- Registration.cpp - Whether the dialect came with its models --------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/IR/Registration.h"

#include "Chimera/IR/Chimera.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"

using namespace mlir;

LogicalResult chimera::verifyRegistration(Operation *op) {
  op->getContext()->getOrLoadDialect<ChimeraDialect>();
  OperationName kernel(MicroKernelOp::getOperationName(), op->getContext());
  if (kernel.hasInterface<bufferization::BufferizableOpInterface>())
    return success();
  return op->emitError(
      "Chimera's passes are here without its dialects: a tool that loads "
      "plugins needs --load-dialect-plugin=libChimeraPlugin.so beside "
      "--load-pass-plugin, a program has to call chimera::registerAllDialects "
      "on the registry of its context");
}
