//===- RandomGraphs.cpp - Operator graphs for the tests -------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomGraphs.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace chimera::model;

TensorId GraphBuilder::input(int64_t elements) {
  GraphTensor tensor;
  tensor.name = "t" + std::to_string(graph.tensors.size());
  tensor.shape.push_back(elements);
  graph.tensors.push_back(tensor);
  return graph.tensors.size() - 1;
}

TensorId GraphBuilder::add(ArrayRef<TensorId> inputs, int64_t elements,
                           BodyKind body) {
  TensorId result = input(elements);
  GraphOperator op;
  op.name = "op" + std::to_string(graph.operators.size());
  op.body = body;
  op.extents.push_back(elements);
  for (TensorId tensor : inputs) {
    GraphAccess access;
    access.tensor = tensor;
    access.indices.push_back(Index(0));
    op.inputs.push_back(access);
  }
  GraphAccess output;
  output.tensor = result;
  output.indices.push_back(Index(0));
  op.outputs.push_back(output);
  if (body == BodyKind::Product)
    op.instructions = 256;
  graph.operators.push_back(op);
  return result;
}

OperatorGraph GraphBuilder::take() {
  GraphUses uses(graph);
  for (auto [id, readers] : enumerate(uses.readers))
    graph.tensors[id].isResult |= readers.empty();
  return std::move(graph);
}

OperatorGraph chimera::model::makeRandomGraph(std::mt19937 &random,
                                              unsigned numOperators) {
  auto draw = [&](unsigned below) { return random() % below; };
  GraphBuilder builder;
  unsigned numInputs = 1 + draw(3);
  auto drawSize = [&] { return int64_t(1) << (8 + draw(12)); };
  for (unsigned i = 0; i < numInputs; ++i)
    builder.input(drawSize());
  while (builder.graph.operators.size() < numOperators) {
    SmallVector<TensorId> inputs;
    unsigned numRead = 1 + draw(3), numTensors = builder.graph.tensors.size();
    for (unsigned i = 0; i < numRead; ++i) {
      // Mostly what was made just before.
      TensorId tensor = draw(3) == 0
                            ? draw(numTensors)
                            : numTensors - 1 - draw(std::min(3u, numTensors));
      if (!is_contained(inputs, tensor))
        inputs.push_back(tensor);
    }
    builder.add(inputs, drawSize(),
                draw(4) == 0 ? BodyKind::Product : BodyKind::Arithmetic);
  }
  OperatorGraph graph = builder.take();
  for (GraphTensor &tensor : graph.tensors)
    tensor.isResult |= draw(10) == 0;
  return graph;
}

//===----------------------------------------------------------------------===//
// Prices
//===----------------------------------------------------------------------===//

bool SimplePricer::mayGrow(ArrayRef<OperatorId> members) {
  size_t products = count_if(members, [&](OperatorId op) {
    return graph.operators[op].body == BodyKind::Product;
  });
  return products <= mostProducts && members.size() <= mostMembers;
}

bool SimplePricer::isLegal(ArrayRef<OperatorId> members) {
  return mayGrow(members);
}

double SimplePricer::bytesOf(ArrayRef<OperatorId> members) const {
  double bytes = 0;
  // Members are in ascending order.
  auto isInside = [&](OperatorId op) {
    return llvm::binary_search(members, op);
  };
  SmallDenseSet<TensorId, 16> read;
  for (OperatorId op : members) {
    for (const GraphAccess &input : graph.operators[op].inputs) {
      OperatorId producer = uses.producer[input.tensor];
      if ((producer == GraphUses::none || !isInside(producer)) &&
          read.insert(input.tensor).second)
        bytes += graph.tensors[input.tensor].bytes();
    }
    for (const GraphAccess &output : graph.operators[op].outputs)
      if (graph.tensors[output.tensor].isResult ||
          !all_of(uses.readers[output.tensor], isInside))
        bytes += graph.tensors[output.tensor].bytes();
  }
  return bytes;
}

double SimplePricer::bound(ArrayRef<OperatorId> members) {
  double instructions = 0;
  for (OperatorId op : members)
    instructions +=
        graph.operators[op].iterations() * graph.operators[op].instructions;
  return std::max(bytesOf(members) / 20e9, instructions / 100e9) +
         launchSeconds;
}

/// Fusing two products makes them slower; so does a large group.
double SimplePricer::cost(ArrayRef<OperatorId> members) {
  ++numCosts;
  size_t products = count_if(members, [&](OperatorId op) {
    return graph.operators[op].body == BodyKind::Product;
  });
  double penalty = products > 1 ? 1.3 : 1.0;
  return bound(members) * (penalty + 0.01 * (members.size() - 1));
}
