//===- BackEnd.h - What compiles for a family of machines -------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A back end is a pipeline from linalg on tensors to what its machines run. It
// is an entry of the table in BackEnds.cpp, and knows nothing of the others.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_PIPELINES_BACKEND_H
#define CHIMERA_LIB_CONVERSION_PIPELINES_BACKEND_H

#include "Chimera/Conversion/Pipelines.h"

#include "llvm/TargetParser/Triple.h"

namespace chimera {

struct BackEnd {
  /// What its triples are called, for messages.
  llvm::StringLiteral family;
  /// The options of `chimera-pipeline` that mean something to it, beside those
  /// that mean something to all.
  llvm::ArrayRef<llvm::StringLiteral> options;
  bool (*takes)(const llvm::Triple &triple);
  void (*build)(mlir::OpPassManager &pm, const TargetPipelineOptions &options);
  /// Under names of its own, with its own options.
  void (*registerPipeline)();
  /// Dialects and interfaces beside those of upstream.
  void (*registerDialects)(mlir::DialectRegistry &registry);
};

extern const BackEnd ascendBackEnd, nvidiaBackEnd, x86BackEnd;

} // namespace chimera

#endif // CHIMERA_LIB_CONVERSION_PIPELINES_BACKEND_H
