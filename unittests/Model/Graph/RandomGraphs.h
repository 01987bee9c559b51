//===- RandomGraphs.h - Operator graphs for the tests -----------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Graphs by their edges alone, random ones, and a price of groups that is
// simple and yet has all that makes partitions hard: launches, traffic that
// fusion saves, arithmetic that it does not, at most so many products.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_UNITTESTS_MODEL_GRAPH_RANDOMGRAPHS_H
#define CHIMERA_UNITTESTS_MODEL_GRAPH_RANDOMGRAPHS_H

#include "Chimera/Model/Partition.h"

#include <random>
#include <vector>

namespace chimera::model {

/// Builds graphs of vectors, operator by operator.
class GraphBuilder {
public:
  /// A tensor from outside.
  TensorId input(int64_t elements);
  /// An operator that reads `inputs`; returns what it writes.
  TensorId add(llvm::ArrayRef<TensorId> inputs, int64_t elements,
               BodyKind body = BodyKind::Arithmetic);
  /// What nobody in the graph reads is a result.
  OperatorGraph take();

  OperatorGraph graph;
};

/// Forks, joins, shared inputs, several results, some products.
OperatorGraph makeRandomGraph(std::mt19937 &random, unsigned numOperators);

/// A group takes its launch, and as long as its traffic with the outside or its
/// arithmetic, whichever is more.
class SimplePricer : public GroupPricer {
public:
  explicit SimplePricer(const OperatorGraph &graph)
      : graph(graph), uses(graph) {}

  bool mayGrow(llvm::ArrayRef<OperatorId> members) override;
  bool isLegal(llvm::ArrayRef<OperatorId> members) override;
  double bound(llvm::ArrayRef<OperatorId> members) override;
  double cost(llvm::ArrayRef<OperatorId> members) override;

  double launchSeconds = 1.5e-6;
  size_t mostProducts = 2, mostMembers = 64;
  size_t numCosts = 0;

private:
  double bytesOf(llvm::ArrayRef<OperatorId> members) const;

  const OperatorGraph &graph;
  GraphUses uses;
};

} // namespace chimera::model

#endif // CHIMERA_UNITTESTS_MODEL_GRAPH_RANDOMGRAPHS_H
