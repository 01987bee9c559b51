//===- Check.h - Comparison with the reference ------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The reference shares nothing with Chimera's lowering: upstream passes, plain
// loops. f32 programs are computed in f64, so that the error reported is that
// of the compiled program and not of the reference.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_TOOLS_CHIMERA_RUN_CHECK_H
#define CHIMERA_TOOLS_CHIMERA_RUN_CHECK_H

#include "Chimera/Runner/Compiler.h"

namespace chimera::run {

/// Arguments or results of a function.
class TensorList {
public:
  static llvm::Expected<TensorList>
  allocate(llvm::ArrayRef<runner::ValueType> types);

  /// Random values; argument i is stream i of the seed.
  void fillRandom(uint64_t seed);

  std::vector<runner::Tensor> tensors;
  llvm::SmallVector<runner::Tensor *> getPointers();
};

class Reference {
public:
  /// Compiles the reference for all functions of `module`. `optimizationLevel`
  /// weighs the time to compile it against the time to run it.
  static llvm::Expected<Reference> create(mlir::ModuleOp module,
                                          unsigned optimizationLevel);

  /// Runs the reference on `arguments` and compares.
  llvm::Expected<runner::Deviation> check(llvm::StringRef function,
                                          TensorList &arguments,
                                          TensorList &results);

  /// What results are compared with, in words.
  std::string description;
  /// The largest relative error of a correct program.
  double tolerance = 0;

private:
  std::unique_ptr<runner::Program> program;
};

} // namespace chimera::run

#endif // CHIMERA_TOOLS_CHIMERA_RUN_CHECK_H
