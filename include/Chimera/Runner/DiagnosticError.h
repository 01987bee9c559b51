//===- DiagnosticError.h - Errors at a place of a file ----------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the compiler says of a program has a place in it, which an editor wants
// by itself and a terminal in front of the text.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_RUNNER_DIAGNOSTICERROR_H
#define CHIMERA_RUNNER_DIAGNOSTICERROR_H

#include "mlir/IR/Location.h"
#include "llvm/Support/Error.h"

#include <string>

namespace chimera::runner {

/// A place in a file; lines and columns count from 1, and are 0 where they are
/// not known.
struct FilePlace {
  std::string file;
  unsigned line = 0, column = 0;

  /// As in `a.mlir:3:5`; empty if there is no file.
  std::string str() const;
};

/// The place that `location` stands for.
FilePlace findPlace(mlir::Location location);

/// An error in one line. Its message has the place in front.
class DiagnosticError : public llvm::ErrorInfo<DiagnosticError> {
public:
  static char ID;

  DiagnosticError(FilePlace place, std::string text)
      : place(std::move(place)), text(std::move(text)) {}

  const FilePlace &getPlace() const { return place; }
  /// What is wrong, without the place.
  llvm::StringRef getText() const { return text; }

  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;

private:
  FilePlace place;
  std::string text;
};

/// An error with the first line of `text`, at `location`.
llvm::Error makeError(mlir::Location location, llvm::StringRef text);

} // namespace chimera::runner

#endif // CHIMERA_RUNNER_DIAGNOSTICERROR_H
