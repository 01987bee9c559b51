//===- Problem.h - A chain of operators as the model sees it ----*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The analytical model never looks at IR. What it needs to know of a chain of
// compute-intensive operators is this: the independent loops, the tensors with
// the loops that index them, and the operators in producer-consumer order.
//
// Two GEMMs, C = A * B and E = C * D, have five loops (b, m, l, k, n); b, m and
// l are shared, k is private to the first operator and n to the second. A chain
// of one operator is a chain too: the unfused plans are made of them.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_MODEL_PROBLEM_H
#define CHIMERA_MODEL_PROBLEM_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>

namespace chimera::model {

/// Index into ChainProblem::loops.
using LoopId = unsigned;
/// Index into ChainProblem::tensors.
using TensorId = unsigned;

/// One iteration dimension of the whole chain.
struct Loop {
  std::string name;
  int64_t extent = 1;
};

/// What a tensor is to the chain.
enum class Role { Input, Output, Intermediate };

/// A tensor whose every dimension is indexed by exactly one loop.
struct Tensor {
  std::string name;
  Role role = Role::Input;
  int64_t elementBytes = 4;
  /// The loop that indexes each dimension, outermost dimension first.
  llvm::SmallVector<LoopId, 4> dims;
  /// Distance in elements between neighbours along each dimension, as the
  /// tensor lies in memory. Empty for intermediates: their layout is ours.
  llvm::SmallVector<int64_t, 4> strides;
};

/// A contraction: output[...] += product of the inputs, over `loops`.
struct Operator {
  std::string name;
  /// Every loop of the operator, in no particular order.
  llvm::SmallVector<LoopId, 6> loops;
  /// The factors. One of them may be the intermediate of an earlier operator.
  llvm::SmallVector<TensorId, 2> inputs;
  TensorId output = 0;
  /// Tensors that elementwise operators combine with the finished output
  /// (bias, residual); they run right after the operator's reduction is done.
  llvm::SmallVector<TensorId, 2> epilogue;
  /// True if elementwise operators follow, even those without other operands.
  bool hasEpilogue = false;
  /// Vector instructions per vector of output spent in the epilogue.
  int64_t epilogueCost = 0;
  /// The loop that runs along vector lanes: it indexes `output` and one input.
  LoopId vectorLoop = 0;
  /// The loop that runs along register rows, if there is one: it indexes
  /// `output` and the other input. Equal to vectorLoop if there is none.
  LoopId rowLoop = 0;

  bool hasLoop(LoopId loop) const;
};

/// The chain. `check` must succeed before any other function is called.
struct ChainProblem {
  llvm::SmallVector<Loop, 6> loops;
  llvm::SmallVector<Tensor, 6> tensors;
  /// Producers before consumers.
  llvm::SmallVector<Operator, 2> operators;

  /// Says what is wrong with the problem, if anything: extents below one, ids
  /// out of range, an output not indexed by its operator's loops, an
  /// intermediate without producer or consumer, and so on.
  llvm::Error check() const;

  /// True if `loop` belongs to every operator and indexes every intermediate.
  /// (A loop that belongs to all but reduces into an intermediate must end
  /// before the intermediate is read, so it cannot be on the shared path.)
  bool isShared(LoopId loop) const;
  /// True if some operator has `loop` but its output is not indexed by it.
  bool isReduction(LoopId loop) const;
  /// True if one of the dimensions of `tensor` is indexed by `loop`.
  bool indexes(TensorId tensor, LoopId loop) const;
  /// Elements of the whole tensor.
  int64_t sizeOf(TensorId tensor) const;
  /// Multiply-adds of the whole chain.
  int64_t multiplyAdds() const;
  int64_t multiplyAdds(const Operator &op) const;
};

} // namespace chimera::model

#endif // CHIMERA_MODEL_PROBLEM_H
