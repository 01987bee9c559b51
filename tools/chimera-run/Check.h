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
  /// What the elements take; of numbers of four bits, two share a byte.
  int64_t getBytes() const;
  /// Equal for equal bits of all tensors.
  std::string getHash() const;
};

/// Calls `function` of `program`. If it ends in a fatal signal, the process
/// does too, with an error that says it came while `what` was done.
llvm::Error runOnce(runner::Program &program, llvm::StringRef function,
                    TensorList &arguments, TensorList &results,
                    const char *what);

/// What came of a check.
struct CheckResult {
  runner::Deviation deviation;
  /// The largest relative error of a correct program.
  double allowed = 0;
  /// Of the results.
  std::string hash = {};

  bool passed() const { return deviation.maxRel <= allowed; }
};

/// How far results may be off.
struct Tolerance {
  /// Of the errors that Deviation::maxRel is the largest of.
  double base = 0;
  /// Where that does not do: so many times the error of the program as it is
  /// written, in plain loops, but no more than `most`. Two correct programs
  /// round differently, and what is compared is the worst of many elements.
  double amplification = 0, most = 0;
};

class Reference {
public:
  /// Compiles the reference for all functions of `module`. `optimizationLevel`
  /// weighs the time to compile it against the time to run it.
  static llvm::Expected<Reference> create(mlir::ModuleOp module,
                                          unsigned optimizationLevel);

  /// Runs the reference on `arguments` and compares.
  ///
  /// A program can amplify rounding (softmax of large numbers does, and so does
  /// cancellation) so that no code stays within the usual bound. Where the
  /// error exceeds it, plain loops in the program's own types are run too, and
  /// an error like theirs is allowed.
  llvm::Expected<CheckResult> check(llvm::StringRef function,
                                    TensorList &arguments, TensorList &results);

  /// What results are compared with, in words.
  std::string description;

private:
  llvm::Expected<runner::Deviation> measurePlain(llvm::StringRef function,
                                                 TensorList &arguments,
                                                 TensorList &expected);

  /// The program in its own types, compiled when it is first needed.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::unique_ptr<runner::Program> plain;
  unsigned optimizationLevel = 3;

  std::unique_ptr<runner::Program> program;
  /// Whether `program` has wider types than the module.
  bool isWider = false;
  /// The relative error of each function that passes without a closer look.
  llvm::StringMap<Tolerance> tolerances;
};

} // namespace chimera::run

#endif // CHIMERA_TOOLS_CHIMERA_RUN_CHECK_H
