//===- DiagnosticCollector.cpp - Diagnostics as one error -----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DiagnosticCollector.h"

using namespace mlir;
using namespace chimera::runner;

DiagnosticCollector::DiagnosticCollector(MLIRContext *context)
    : handler(context, [this](Diagnostic &diagnostic) {
        keepFirst(diagnostic);
        return success();
      }) {}

/// Notes and warnings would say more than fits in a line, and some messages
/// carry IR.
void DiagnosticCollector::keepFirst(Diagnostic &diagnostic) {
  if (diagnostic.getSeverity() != DiagnosticSeverity::Error || first)
    return;
  std::string text = diagnostic.str();
  first = std::make_unique<DiagnosticError>(
      findPlace(diagnostic.getLocation()),
      StringRef(text).split('\n').first.str());
}

llvm::Error DiagnosticCollector::takeError(StringRef fallback) {
  if (first)
    return llvm::Error(std::move(first));
  return llvm::createStringError(fallback);
}
