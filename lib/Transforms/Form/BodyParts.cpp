//===- BodyParts.cpp - Values in the bodies of contractions ---------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Form/BodyParts.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace chimera;

AffineMap chimera::mapOf(linalg::GenericOp op, BlockArgument argument) {
  return op.getIndexingMapsArray()[argument.getArgNumber()];
}

SmallVector<BlockArgument> chimera::getArguments(Value part) {
  SmallVector<BlockArgument> arguments;
  llvm::SetVector<Value> slice;
  if (part)
    slice.insert(part);
  for (size_t i = 0; i < slice.size(); ++i)
    if (auto argument = dyn_cast<BlockArgument>(slice[i]))
      arguments.push_back(argument);
    else
      slice.insert_range(slice[i].getDefiningOp()->getOperands());
  return arguments;
}

bool chimera::changesAlong(linalg::GenericOp op, Value part, unsigned loop) {
  return llvm::any_of(getArguments(part), [&](BlockArgument argument) {
    return mapOf(op, argument).isFunctionOfDim(loop);
  });
}

Value chimera::cloneValue(OpBuilder &builder, Value value, IRMapping &mapping) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    cloneValue(builder, operand, mapping);
  return builder.clone(*op, mapping)->getResult(0);
}
