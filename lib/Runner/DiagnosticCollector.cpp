//===- DiagnosticCollector.cpp - Diagnostics as one error -----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DiagnosticCollector.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace chimera::runner;

std::string chimera::runner::describePlace(Location location) {
  FileLineColLoc place;
  location->walk([&](Location part) {
    place = dyn_cast<FileLineColLoc>(part);
    return place ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (!place)
    return "";
  std::string text;
  llvm::raw_string_ostream(text) << place.getFilename().getValue() << ':'
                                 << place.getLine() << ':' << place.getColumn();
  return text;
}

/// The first error in one line; notes and warnings would say more than fits.
static void keepFirstError(std::string &message, Diagnostic &diagnostic) {
  if (diagnostic.getSeverity() != DiagnosticSeverity::Error || !message.empty())
    return;
  message = describePlace(diagnostic.getLocation());
  message += (message.empty() ? "" : ": ") + diagnostic.str();
  // Some messages carry IR.
  message = StringRef(message).split('\n').first.str();
}

DiagnosticCollector::DiagnosticCollector(MLIRContext *context)
    : handler(context, [this](Diagnostic &diagnostic) {
        keepFirstError(message, diagnostic);
        return success();
      }) {}

llvm::Error DiagnosticCollector::takeError(llvm::StringRef fallback) {
  return llvm::createStringError(message.empty() ? llvm::Twine(fallback)
                                                 : llvm::Twine(message));
}
