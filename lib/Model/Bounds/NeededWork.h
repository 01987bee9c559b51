//===- NeededWork.h - What has to be read and computed ----------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lower bounds may only count what cannot be left out. A strided convolution
// skips rows of its input, whose producer then need not make them; taps that
// fall on padding multiply nothing. This is where the multiply-adds and the
// elements that are left are counted, and where operators whose accesses have
// the structure of a matrix product or a convolution are told from others.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_MODEL_BOUNDS_NEEDEDWORK_H
#define CHIMERA_LIB_MODEL_BOUNDS_NEEDEDWORK_H

#include "Chimera/Model/Problem.h"

namespace chimera::model {

/// What one operator cannot leave out.
struct OperatorWork {
  /// True if for all sets of multiply-adds
  ///   number <= sqrt(overlap * first inputs * second inputs * outputs),
  /// counting the distinct elements that they touch.
  bool isRecognised = false;
  /// The convolution's taps that may use one input element with one output
  /// element's neighbourhood; 1 for a contraction.
  double overlap = 1;
  double multiplyAdds = 0;
  /// The least number of them for one element of the output.
  double fewest = 0;
  /// Elements of the two inputs and the output that they touch.
  double inputs[2] = {0, 0};
  double output = 0;
};

struct NeededWork {
  /// One entry per operator.
  llvm::SmallVector<OperatorWork, 4> operators;
  /// Elements of each tensor that are needed; for inputs and outputs never more
  /// than what any schedule moves.
  llvm::SmallVector<double, 8> elements;
};

NeededWork findNeededWork(const ChainProblem &problem);

} // namespace chimera::model

#endif // CHIMERA_LIB_MODEL_BOUNDS_NEEDEDWORK_H
