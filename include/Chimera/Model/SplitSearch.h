//===- SplitSearch.h - Which loop of each operator is cut -------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Several processes share the work of a program operator by operator: each cuts
// one loop, or none and then all processes do the same. What one operator
// leaves cut along a dimension and the next wants otherwise has to be
// exchanged. The cheapest combination is found by a dynamic program over
// operators in order; its states are how the tensors that are still to be read
// are cut.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_MODEL_SPLITSEARCH_H
#define CHIMERA_MODEL_SPLITSEARCH_H

#include "Chimera/Model/Network.h"

#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace chimera::model {

/// How a tensor is cut: along a dimension, or not at all.
using Cut = int;
inline constexpr Cut wholeTensor = -1;

struct SplitTensor {
  int64_t bytes = 0;
  /// Elements along each dimension.
  llvm::SmallVector<int64_t, 4> shape;
  /// Every process can have any part of it for nothing: an argument, whose
  /// parts are handed out before, or what is made of nothing.
  bool isFree = false;
  /// Every process has to have all of it in the end.
  bool isResult = false;
};

/// One way to cut an operator.
struct SplitChoice {
  /// Which of the operator's loops, for those who ask; -1 for none.
  int loop = -1;
  /// How it wants its operands, and how its results come out.
  llvm::SmallVector<Cut, 4> operands, results;
  /// The results are parts of a sum (or a maximum, ...) over the processes.
  bool isPartial = false;
  /// What one process takes for it.
  double seconds = 0;
};

struct SplitOperator {
  /// Indices into SplitProblem::tensors.
  llvm::SmallVector<unsigned, 4> operands, results;
  llvm::SmallVector<SplitChoice, 4> choices;
};

struct SplitProblem {
  int64_t processes = 2;
  Network network;
  llvm::SmallVector<SplitTensor, 0> tensors;
  /// Each after those that make its operands.
  llvm::SmallVector<SplitOperator, 0> operators;
};

struct Split {
  /// For each operator the index of its choice.
  llvm::SmallVector<unsigned, 0> choices;
  /// For each operator how its results are kept: where its choice is partial a
  /// dimension means that parts are combined and dealt out along it.
  llvm::SmallVector<Cut, 0> kept;
  double computeSeconds = 0, networkSeconds = 0;
  /// No combination takes less time by this problem's figures: no state was
  /// dropped.
  bool isOptimal = true;

  double seconds() const { return computeSeconds + networkSeconds; }
};

struct SplitLimits {
  /// States that are kept after each operator, the cheapest first.
  size_t mostStates = 4096;
  /// Choices that may not be taken, by operator and choice.
  llvm::SmallVector<std::pair<unsigned, unsigned>, 1> excluded;
};

/// The cheapest split; none if there is no combination of choices.
std::optional<Split> findSplit(const SplitProblem &problem,
                               const SplitLimits &limits = {});

} // namespace chimera::model

#endif // CHIMERA_MODEL_SPLITSEARCH_H
