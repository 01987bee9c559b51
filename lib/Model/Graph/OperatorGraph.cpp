//===- OperatorGraph.cpp - A whole program as the model sees it -----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the graph says of itself: sizes, order, and whether it makes sense.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/OperatorGraph.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;
using namespace chimera::model;

int64_t GraphTensor::elements() const {
  int64_t elements = 1;
  for (int64_t extent : shape)
    elements *= extent;
  return elements;
}

double GraphOperator::iterations() const {
  double iterations = 1;
  for (int64_t extent : extents)
    iterations *= static_cast<double>(extent);
  return iterations;
}

bool GraphOperator::isReduction(LoopId loop) const {
  return none_of(outputs, [&](const GraphAccess &output) {
    return output.isReshaped || output.hasLoop(loop);
  });
}

bool GraphOperator::hasReduction() const {
  return any_of(seq<LoopId>(extents.size()),
                [&](LoopId loop) { return isReduction(loop); });
}

std::optional<OperatorId> OperatorGraph::producerOf(TensorId tensor) const {
  for (auto [id, op] : enumerate(operators))
    if (is_contained(op.outputs, tensor))
      return static_cast<OperatorId>(id);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Check
//===----------------------------------------------------------------------===//

static Error fail(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

/// What is wrong with `access` of `op`, if anything.
static Error checkAccess(const OperatorGraph &graph, const GraphOperator &op,
                         const GraphAccess &access) {
  if (access.tensor >= graph.tensors.size())
    return fail("operator '" + op.name + "' accesses a tensor that is none");
  const GraphTensor &tensor = graph.tensors[access.tensor];
  if (access.isReshaped)
    return Error::success();
  if (access.indices.size() != tensor.shape.size())
    return fail("operator '" + op.name + "' accesses '" + tensor.name +
                "' with another number of indices than it has dimensions");
  for (const Index &index : access.indices)
    for (const Term &term : index.terms)
      if (term.loop >= op.extents.size())
        return fail("operator '" + op.name + "' accesses '" + tensor.name +
                    "' by a loop that is none");
  for (unsigned dim : access.indirect)
    if (dim >= access.indices.size() || !access.indices[dim].terms.empty())
      return fail("operator '" + op.name + "' accesses '" + tensor.name +
                  "' indirectly along a dimension that is none or that loops "
                  "index");
  return Error::success();
}

Error OperatorGraph::check() const {
  for (const GraphTensor &tensor : tensors) {
    if (tensor.elementBytes < 1)
      return fail("tensor '" + tensor.name + "' has elements without bytes");
    if (any_of(tensor.shape, [](int64_t extent) { return extent < 1; }))
      return fail("tensor '" + tensor.name + "' has no elements");
  }
  SmallVector<bool> isProduced(tensors.size());
  for (const GraphOperator &op : operators)
    for (const GraphAccess &output : op.outputs) {
      if (Error error = checkAccess(*this, op, output))
        return error;
      if (isProduced[output.tensor])
        return fail("tensor '" + tensors[output.tensor].name +
                    "' is written twice");
      isProduced[output.tensor] = true;
    }
  SmallVector<bool> isWritten(tensors.size());
  for (const GraphOperator &op : operators) {
    if (any_of(op.extents, [](int64_t extent) { return extent < 1; }))
      return fail("operator '" + op.name + "' has a loop without iterations");
    if (op.outputs.empty())
      return fail("operator '" + op.name + "' writes nothing");
    for (const GraphAccess &input : op.inputs) {
      if (Error error = checkAccess(*this, op, input))
        return error;
      if (isProduced[input.tensor] && !isWritten[input.tensor])
        return fail("operator '" + op.name + "' reads '" +
                    tensors[input.tensor].name + "' before it is written");
    }
    for (const GraphAccess &output : op.outputs)
      isWritten[output.tensor] = true;
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Uses
//===----------------------------------------------------------------------===//

GraphUses::GraphUses(const OperatorGraph &graph)
    : producer(graph.tensors.size(), none), readers(graph.tensors.size()),
      before(graph.operators.size()), after(graph.operators.size()) {
  for (auto [id, op] : enumerate(graph.operators)) {
    auto reader = static_cast<OperatorId>(id);
    for (const GraphAccess &input : op.inputs) {
      if (!is_contained(readers[input.tensor], reader))
        readers[input.tensor].push_back(reader);
      OperatorId writer = producer[input.tensor];
      if (writer == none || is_contained(before[reader], writer))
        continue;
      before[reader].push_back(writer);
      after[writer].push_back(reader);
    }
    llvm::sort(before[reader]);
    for (const GraphAccess &output : op.outputs)
      producer[output.tensor] = reader;
  }
}
