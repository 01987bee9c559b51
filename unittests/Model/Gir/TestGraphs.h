//===- TestGraphs.h - Operator graphs for the tests of Gir ------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Norms, softmax, moves, and graphs at random; and what they compute, element
// by element.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_UNITTESTS_MODEL_GIR_TESTGRAPHS_H
#define CHIMERA_UNITTESTS_MODEL_GIR_TESTGRAPHS_H

#include "Chimera/Model/GirTemplates.h"

#include <random>

namespace chimera::model {

/// Builds an operator graph.
class GraphBuilder {
public:
  TensorId tensor(llvm::StringRef name, llvm::ArrayRef<int64_t> shape,
                  bool isResult = false, int64_t elementBytes = 4);
  /// An operator over loops of `extents`. Inputs and output are indexed by the
  /// loops listed; -1 stands for position 0.
  struct Use {
    TensorId tensor;
    llvm::SmallVector<int, 4> loops;
  };
  GraphOperator &add(llvm::StringRef name, llvm::ArrayRef<int64_t> extents,
                     llvm::ArrayRef<Use> inputs, const Use &output,
                     double instructions = 1, double exponentials = 0);

  OperatorGraph graph;
};

/// All operators.
llvm::SmallVector<OperatorId, 8> allOf(const OperatorGraph &graph);

/// x, gamma, beta -> sum, deviation, sum of squares, root, y.
OperatorGraph makeLayerNorm(int64_t rows, int64_t columns);
/// x -> maximum, exponential, sum, y along the last or the first dimension.
OperatorGraph makeSoftmax(int64_t rows, int64_t columns, bool alongRows = true);
/// x, r -> h (a result), sum of squares, root, y.
OperatorGraph makeAddNorm(int64_t rows, int64_t columns);
OperatorGraph makeTranspose(int64_t rows, int64_t columns);
/// Two sums of one input along `rows` or along all.
OperatorGraph makeTwoSums(int64_t rows, int64_t columns, bool alongAll);
/// The two halves of [2, c, hw] with the channels dealt out in turn, as in
/// ShuffleNet: one of [c, 2, hw].
OperatorGraph makeShuffle(int64_t channels, int64_t pixels);

/// A few operators with broadcasts, reductions, transposes and several results.
OperatorGraph makeRandomGraph(std::mt19937 &random);

/// Integers for every tensor that no operator of `graph` makes.
std::vector<std::vector<int64_t>> makeInputs(const OperatorGraph &graph,
                                             std::mt19937 &random);

/// What `graph` computes of `values`, by tensor.
std::vector<std::vector<int64_t>>
interpret(const OperatorGraph &graph, std::vector<std::vector<int64_t>> values);

/// The inputs of a Gir, by its own tensors: those of the graph's tensors of the
/// same name.
std::vector<std::vector<int64_t>>
inputsOf(const Gir &gir, const OperatorGraph &graph,
         const std::vector<std::vector<int64_t>> &values);

/// Random shapes of levels and lines.
Machine makeRandomMachine(std::mt19937 &random);

} // namespace chimera::model

#endif // CHIMERA_UNITTESTS_MODEL_GIR_TESTGRAPHS_H
