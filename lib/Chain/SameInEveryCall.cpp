//===- SameInEveryCall.cpp - What is the same in every call ---------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Chain/SameInEveryCall.h"

#include "Chimera/Chain/OpKinds.h"
#include "Chimera/IR/Chimera.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace chimera;

/// Longer computations stay where they are. Most inputs depend on an argument
/// that is another in every call, and are not followed back to the start of the
/// program to find it.
static constexpr size_t mostOperationsMoved = 256;

/// Adds what computes `value` to `operations`, each after its own, of which
/// `left` more are looked at.
static LogicalResult collect(Value value, SetVector<Operation *> &operations,
                             size_t &left) {
  Operation *definition = value.getDefiningOp();
  if (!definition) {
    auto argument = cast<BlockArgument>(value);
    auto function =
        dyn_cast_or_null<func::FuncOp>(argument.getOwner()->getParentOp());
    return success(function && argument.getOwner()->isEntryBlock() &&
                   function.getArgAttr(argument.getArgNumber(),
                                       ChimeraDialect::getConstantAttrName()));
  }
  if (operations.contains(definition))
    return success();
  if (!isa<func::FuncOp>(definition->getParentOp()) ||
      !isMemoryEffectFree(definition) || left-- == 0)
    return failure();
  for (Value operand : getReadValues(definition))
    if (failed(collect(operand, operations, left)))
      return failure();
  operations.insert(definition);
  return success();
}

FailureOr<SetVector<Operation *>>
chimera::findConstantComputation(Value value) {
  SetVector<Operation *> operations;
  size_t left = mostOperationsMoved;
  if (failed(collect(value, operations, left)))
    return failure();
  return operations;
}

SmallVector<BlockArgument>
chimera::findArguments(const SetVector<Operation *> &operations) {
  SetVector<BlockArgument> arguments;
  for (Operation *operation : operations)
    for (Value value : getReadValues(operation))
      if (auto argument = dyn_cast<BlockArgument>(value))
        arguments.insert(argument);
  return arguments.takeVector();
}

SmallVector<BlockArgument> chimera::findConstantArguments(Value value) {
  FailureOr<SetVector<Operation *>> operations = findConstantComputation(value);
  if (failed(operations))
    return {};
  if (auto argument = dyn_cast<BlockArgument>(value))
    return {argument};
  return findArguments(*operations);
}
