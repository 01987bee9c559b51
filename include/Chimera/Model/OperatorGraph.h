//===- OperatorGraph.h - A whole program as the model sees it ---*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A chain is a part of a program; which operators make a part is a question
// about the whole. The operator graph holds what the model has to know for it:
// the operators of a block in program order, each with loops of its own, and
// the tensors between them, with the affine maps by which operators access
// them.
//
// A layer norm is five operators in a row: a sum, a subtraction, a sum of
// squares, a reciprocal root, a scaling. The tensors between them are as large
// as the input, and none of them need be stored.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_MODEL_OPERATORGRAPH_H
#define CHIMERA_MODEL_OPERATORGRAPH_H

#include "Chimera/Model/Problem.h"

namespace chimera::model {

/// Index into OperatorGraph::operators.
using OperatorId = unsigned;

/// An array that operators of the graph share.
struct GraphTensor {
  std::string name;
  int64_t elementBytes = 4;
  /// Elements along each dimension, outermost first.
  llvm::SmallVector<int64_t, 4> shape;
  /// What lies outside the graph reads it, so it has to be stored.
  bool isResult = false;
  /// An input that is the same in every run.
  bool isConstant = false;

  int64_t elements() const;
  int64_t bytes() const { return elements() * elementBytes; }
};

/// How an operator of the graph accesses a tensor. The terms of its indices
/// are the operator's own loops.
struct GraphAccess : Access {
  /// The dimensions whose position a value read elsewhere decides (gather): any
  /// of them may be touched. Their indices have no terms.
  llvm::SmallVector<unsigned, 1> indirect;
  /// The elements are those of the tensor in row-major order under another
  /// shape (reshape): the indices are meaningless.
  bool isReshaped = false;
};

/// What an operator computes in one iteration.
enum class BodyKind {
  /// Passes on what it reads: transposes, slices, broadcasts, gathers.
  Move,
  /// Arithmetic on scalars. What it reduces it adds up, or takes the largest.
  Arithmetic,
  /// Adds up products of two inputs: contractions and convolutions.
  Product,
  /// Nobody knows: it runs by itself.
  Opaque,
};

/// One operator. Its reductions are the loops that index no output.
struct GraphOperator {
  std::string name;
  BodyKind body = BodyKind::Arithmetic;
  /// Iterations of each loop.
  llvm::SmallVector<int64_t, 4> extents;
  llvm::SmallVector<GraphAccess, 3> inputs;
  /// Each tensor has one operator that writes it.
  llvm::SmallVector<GraphAccess, 1> outputs;
  /// Vector instructions that an iteration takes beside loads and stores, per
  /// vector, and exponentials (or divisions, roots and the like) among them.
  double instructions = 1, exponentials = 0;
  /// Seconds that it takes by itself, if it has been planned already, and the
  /// bytes that it moves between memory and the outermost level.
  std::optional<double> plannedSeconds;
  double plannedBytes = 0;

  double iterations() const;
  bool isReduction(LoopId loop) const;
  bool hasReduction() const;
};

/// Operators in an order in which each follows those that it reads from.
struct OperatorGraph {
  llvm::SmallVector<GraphTensor, 0> tensors;
  llvm::SmallVector<GraphOperator, 0> operators;

  /// Says what is wrong with the graph, if anything: ids out of range, an
  /// access with another number of indices than the tensor has dimensions, a
  /// tensor written twice or read before it is written.
  llvm::Error check() const;

  /// The operator that writes `tensor`, if it is not an input of the graph.
  std::optional<OperatorId> producerOf(TensorId tensor) const;
};

/// Who writes and who reads each tensor, and which operators follow which.
struct GraphUses {
  explicit GraphUses(const OperatorGraph &graph);

  /// By tensor; `none` for inputs of the graph.
  llvm::SmallVector<OperatorId, 0> producer;
  llvm::SmallVector<llvm::SmallVector<OperatorId, 2>, 0> readers;
  /// By operator, without repetition, in ascending order.
  llvm::SmallVector<llvm::SmallVector<OperatorId, 4>, 0> before, after;

  static constexpr OperatorId none = ~0u;
};

} // namespace chimera::model

#endif // CHIMERA_MODEL_OPERATORGRAPH_H
