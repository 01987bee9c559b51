//===- Work.h - How much a program computes ---------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Figures that are read off the program before it runs.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_RUNNER_WORK_H
#define CHIMERA_RUNNER_WORK_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace chimera::runner {

struct Work {
  /// Multiply-adds of all contractions and convolutions; nothing if a shape is
  /// dynamic or a contraction runs an unknown number of times.
  std::optional<double> multiplyAdds = 0;
  int64_t contractions = 0;
};

/// The work of `function` and of what it calls; linalg on tensors.
Work countWork(mlir::func::FuncOp function);

/// Bytes of the arguments and results and of the largest tensor in between.
double estimateBytes(mlir::func::FuncOp function);

} // namespace chimera::runner

#endif // CHIMERA_RUNNER_WORK_H
