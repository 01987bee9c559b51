//===- TypedGraphs.h - Operators of each type for the tests --- -*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Vectors and operators between them whose accesses make them what their names
// say.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_UNITTESTS_MODEL_GRAPH_TYPEDGRAPHS_H
#define CHIMERA_UNITTESTS_MODEL_GRAPH_TYPEDGRAPHS_H

#include "RandomGraphs.h"

namespace chimera::model {

class TypedBuilder : public GraphBuilder {
public:
  static constexpr int64_t usualSize = 1 << 14;

  TensorId opaque(llvm::ArrayRef<TensorId> inputs = {}) {
    return add(inputs, usualSize, BodyKind::Opaque);
  }
  TensorId oneToOne(llvm::ArrayRef<TensorId> inputs,
                    int64_t elements = usualSize) {
    return add(inputs, elements);
  }
  /// Adds one number to all elements.
  TensorId bias(TensorId x) {
    TensorId result = add({x, input(1)}, usualSize);
    last().inputs[1].indices[0] = Index();
    return result;
  }
  TensorId oneToMany(TensorId x) {
    TensorId result = add({x}, usualSize);
    last().inputs[0].indices[0] = Index();
    return result;
  }
  TensorId reorganize(TensorId x) {
    TensorId result = add({x}, usualSize);
    last().inputs[0].isReshaped = true;
    return result;
  }
  /// Many-to-one.
  TensorId reduction(TensorId x) { return addReducing({x}, 16); }
  TensorId product(TensorId x) {
    TensorId result = addReducing({x, input(1 << 10)}, usualSize);
    last().body = BodyKind::Product;
    return result;
  }

private:
  GraphOperator &last() { return graph.operators.back(); }
  TensorId addReducing(llvm::ArrayRef<TensorId> inputs, int64_t elements) {
    TensorId result = add(inputs, elements);
    last().extents.push_back(1 << 10);
    for (GraphAccess &access : last().inputs)
      access.indices[0] = Index(1);
    return result;
  }
};

/// All groups are legal, and cost what equation 6 of Gao et al. counts: the
/// bytes that come from other groups, once for each reader.
class EdgePricer : public GroupPricer {
public:
  explicit EdgePricer(const OperatorGraph &graph) : graph(graph), uses(graph) {}

  bool mayGrow(llvm::ArrayRef<OperatorId>) override { return true; }
  bool isLegal(llvm::ArrayRef<OperatorId>) override { return true; }
  double bound(llvm::ArrayRef<OperatorId> members) override {
    return cost(members);
  }
  double cost(llvm::ArrayRef<OperatorId> members) override {
    double bytes = 0;
    for (auto [tensor, producer] : llvm::enumerate(uses.producer))
      if (producer != GraphUses::none && !llvm::is_contained(members, producer))
        for (OperatorId reader : uses.readers[tensor])
          if (llvm::is_contained(members, reader))
            bytes += graph.tensors[tensor].bytes();
    return bytes;
  }

private:
  const OperatorGraph &graph;
  GraphUses uses;
};

} // namespace chimera::model

#endif // CHIMERA_UNITTESTS_MODEL_GRAPH_TYPEDGRAPHS_H
