//===- ForeignModel.h - Models that are no MLIR yet -------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_TOOLS_CHIMERA_RUN_FOREIGNMODEL_H
#define CHIMERA_TOOLS_CHIMERA_RUN_FOREIGNMODEL_H

#include "Options.h"

#include "Chimera/Support/OutputFile.h"

#include "llvm/Support/Error.h"

namespace chimera::run {

/// An ONNX model, a program of torch.export or StableHLO, imported by the
/// Python package into files that last as long as this does.
class ForeignModel {
public:
  ~ForeignModel();

  /// Imports `options.file` if it is such a model, and lets `options` name what
  /// it became.
  llvm::Error import(Options &options);

private:
  TemporaryFile program;
  std::string weights;
};

} // namespace chimera::run

#endif // CHIMERA_TOOLS_CHIMERA_RUN_FOREIGNMODEL_H
