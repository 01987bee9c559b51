//===- VerifyFigures.h - What figures in attributes may be ------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_IR_VERIFYFIGURES_H
#define CHIMERA_LIB_IR_VERIFYFIGURES_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <utility>

namespace chimera {

using EmitError = llvm::function_ref<mlir::InFlightDiagnostic()>;

/// Fails unless every one of the named figures is positive.
inline llvm::LogicalResult
verifyPositive(EmitError emitError,
               llvm::ArrayRef<std::pair<llvm::StringRef, int64_t>> figures) {
  for (auto [name, value] : figures)
    if (value < 1)
      return emitError() << "'" << name << "' must be positive, got " << value;
  return llvm::success();
}

} // namespace chimera

#endif // CHIMERA_LIB_IR_VERIFYFIGURES_H
