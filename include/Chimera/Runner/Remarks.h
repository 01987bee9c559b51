//===- Remarks.h - What the compiler says of its decisions ------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes explain themselves by MLIR remarks, which nobody sees unless the
// context has somewhere to put them.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_RUNNER_REMARKS_H
#define CHIMERA_RUNNER_REMARKS_H

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace chimera::runner {

struct Remark {
  /// passed, missed, failed or analysis.
  std::string kind;
  /// What it is about in a word, such as not-in-chain.
  std::string name;
  /// As in `a.mlir:3:5`; empty if it is about no place in a file.
  std::string place;
  std::string text;
};

/// While it lives, Chimera's remarks of a context are kept. It takes the place
/// of the context's remark engine, so there must be no other.
class RemarkCollector {
public:
  explicit RemarkCollector(mlir::MLIRContext *context);
  ~RemarkCollector();

  /// The remarks so far, each once.
  std::vector<Remark> take();

private:
  mlir::MLIRContext *context;
  std::vector<Remark> remarks;
};

/// Prints a line for each of `remarks`.
void printRemarks(llvm::ArrayRef<Remark> remarks, llvm::raw_ostream &os);

} // namespace chimera::runner

#endif // CHIMERA_RUNNER_REMARKS_H
