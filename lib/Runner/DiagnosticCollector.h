//===- DiagnosticCollector.h - Diagnostics as one error ---------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR reports errors to handlers; programs that embed the compiler want a
// value. While a collector lives, the first error of its context is kept, in
// one line, and nothing is printed.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_RUNNER_DIAGNOSTICCOLLECTOR_H
#define CHIMERA_LIB_RUNNER_DIAGNOSTICCOLLECTOR_H

#include "Chimera/Runner/DiagnosticError.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace chimera::runner {

class DiagnosticCollector {
public:
  explicit DiagnosticCollector(mlir::MLIRContext *context);

  /// The error reported first; `fallback` if none was.
  llvm::Error takeError(llvm::StringRef fallback);

private:
  void keepFirst(mlir::Diagnostic &diagnostic);

  std::unique_ptr<DiagnosticError> first;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace chimera::runner

#endif // CHIMERA_LIB_RUNNER_DIAGNOSTICCOLLECTOR_H
