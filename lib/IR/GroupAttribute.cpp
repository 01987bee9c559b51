//===- GroupAttribute.cpp - What a group of operators may be --------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operator is verified by itself. Whether its group can run is known to the
// pass that looks at the whole block.
//
//===----------------------------------------------------------------------===//

#include "Chimera/IR/Chimera.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace chimera;

LogicalResult
GroupAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                  int64_t id, GroupKind kind, Mapping mapping) {
  if (id < 0)
    return emitError() << "the id of a group must not be negative, got " << id;
  return success();
}

LogicalResult GroupAttr::verifyOn(Operation *op) const {
  if (llvm::any_of(op->getResultTypes(), llvm::IsaPred<TensorType>))
    return success();
  return op->emitError("'") << ChimeraDialect::getGroupAttrName()
                            << "' belongs on an operation that makes a tensor";
}
