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

/// The place in a file that `location` stands for, as in `a.mlir:3:5: `; empty
/// if there is none.
static std::string describePlace(Location location) {
  FileLineColLoc place;
  location->walk([&](Location part) {
    place = dyn_cast<FileLineColLoc>(part);
    return place ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (!place)
    return "";
  std::string text;
  llvm::raw_string_ostream(text)
      << place.getFilename().getValue() << ':' << place.getLine() << ':'
      << place.getColumn() << ": ";
  return text;
}

/// The first error in one line; notes and warnings would say more than fits.
static void keepFirstError(std::string &message, Diagnostic &diagnostic) {
  if (diagnostic.getSeverity() != DiagnosticSeverity::Error || !message.empty())
    return;
  message = describePlace(diagnostic.getLocation()) + diagnostic.str();
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
