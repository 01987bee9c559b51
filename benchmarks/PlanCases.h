//===- PlanCases.h - The chains and machines that are planned ---*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The paper's shape tables as problems of the model, in f32 for processors and
// in f16, summed up in f32, for everything else.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_BENCHMARKS_PLANCASES_H
#define CHIMERA_BENCHMARKS_PLANCASES_H

#include "Chimera/Model/Problem.h"
#include "Chimera/Target/Target.h"

#include <string>
#include <vector>

namespace chimera::plans {

struct Case {
  std::string name;
  model::ChainProblem problem;
  /// The loops of the paper's order m, l, k, n and what plays their part in two
  /// convolutions: rows and columns of the image, channels between the layers,
  /// those before and those behind. Empty if the second layer has windows.
  llvm::SmallVector<model::LoopId, 2> m;
  model::LoopId l = 0, k = 0, n = 0;
};

/// G1 to G12 and C1 to C8 in f32. Ends the program if a table cannot be read.
std::vector<Case> readGemmChains();
std::vector<Case> readConvChains();

struct NamedMachine {
  std::string name;
  /// `f32` or `f16`.
  std::string type;
  model::Machine machine;
};
/// The machine of that name. Ends the program if there is none.
NamedMachine getMachine(mlir::MLIRContext &context, llvm::StringRef name);

/// `problem` with the elements that `machine` takes.
model::ChainProblem inTypeOf(const NamedMachine &machine,
                             model::ChainProblem problem);

} // namespace chimera::plans

#endif // CHIMERA_BENCHMARKS_PLANCASES_H
