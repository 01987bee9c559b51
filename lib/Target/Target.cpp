//===- Target.cpp - Named and detected machines ---------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Target/Target.h"

#include "X86.h"

using namespace mlir;
using namespace chimera;

SmallVector<StringRef> chimera::getTargetNames() {
  SmallVector<StringRef> names = {"host"};
  llvm::append_range(names, getX86TargetNames());
  return names;
}

TargetAttr chimera::getTarget(MLIRContext *context, StringRef name) {
  if (name == "host")
    return detectX86Host(context);
  return getX86Target(context, name);
}

FailureOr<TargetAttrInterface> chimera::resolveTarget(Operation *op,
                                                      StringRef name) {
  for (Operation *scope = op; scope; scope = scope->getParentOp())
    if (Attribute attribute = scope->getDiscardableAttr(kTargetAttrName)) {
      if (auto target = dyn_cast<TargetAttrInterface>(attribute))
        return target;
      return scope->emitError("'")
             << kTargetAttrName << "' must be a target such as "
             << "#chimera.target<...>, got " << attribute;
    }
  if (TargetAttr target = getTarget(op->getContext(), name))
    return cast<TargetAttrInterface>(target);
  InFlightDiagnostic diagnostic = op->emitError("unknown target '")
                                  << name << "'; known are ";
  llvm::interleaveComma(getTargetNames(), diagnostic);
  return diagnostic;
}
