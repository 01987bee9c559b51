//===- DiagnosticError.cpp - Errors at a place of a file ------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Runner/DiagnosticError.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace chimera::runner;

char DiagnosticError::ID = 0;

std::string FilePlace::str() const {
  if (file.empty())
    return "";
  return file + ':' + std::to_string(line) + ':' + std::to_string(column);
}

FilePlace chimera::runner::findPlace(Location location) {
  FileLineColLoc place;
  location->walk([&](Location part) {
    place = dyn_cast<FileLineColLoc>(part);
    return place ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (!place)
    return {};
  return {place.getFilename().getValue().str(), place.getLine(),
          place.getColumn()};
}

void DiagnosticError::log(llvm::raw_ostream &os) const {
  std::string where = place.str();
  os << where << (where.empty() ? "" : ": ") << text;
}

std::error_code DiagnosticError::convertToErrorCode() const {
  return llvm::inconvertibleErrorCode();
}

llvm::Error chimera::runner::makeError(Location location,
                                       llvm::StringRef text) {
  return llvm::make_error<DiagnosticError>(findPlace(location),
                                           text.split('\n').first.str());
}
