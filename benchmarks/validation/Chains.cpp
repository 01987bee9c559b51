//===- Chains.cpp - The chains that are validated -------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chains.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace chimera::model;
using namespace chimera::validation;

std::string ChainSizes::str() const {
  std::string text;
  for (int64_t size : {rows, columns, channels[0], channels[1], channels[2],
                       edges[0], edges[1], padding, int64_t(isDepthwise)})
    text += (text.empty() ? "" : ",") + std::to_string(size);
  return text;
}

bool chimera::validation::isChannel(const Loop &loop) {
  return is_contained({"c0", "c1", "c2", "k", "l", "n"}, loop.name);
}

namespace {

class ChainBuilder {
public:
  ChainBuilder(const ChainSizes &sizes, int64_t channelUnit)
      : sizes(sizes), channelUnit(channelUnit), rows(sizes.rows),
        columns(sizes.columns) {}

  ChainProblem run();

private:
  LoopId addLoop(const char *name, const char *productName, int64_t extent);
  TensorId addTensor(const char *name, Role role, ArrayRef<int64_t> shape,
                     int64_t elementBytes);
  void addLayer(unsigned number);
  Operator makeOperator(unsigned number, LoopId output, int64_t padding);

  const ChainSizes &sizes;
  const int64_t channelUnit;
  ChainProblem problem;
  /// What the next layer reads, and its loops.
  TensorId image = 0;
  LoopId channel = 0, row = 0, column = 0;
  int64_t rows, columns;
};

ChainProblem ChainBuilder::run() {
  int64_t channels = sizes.channels[0] / channelUnit;
  if (!sizes.isDepthwise)
    channel = addLoop("c0", "k", channels);
  image = addTensor("X", Role::Input, {rows, columns, channels},
                    elementBytes * channelUnit);
  addLayer(0);
  addLayer(1);
  return problem;
}

LoopId ChainBuilder::addLoop(const char *name, const char *productName,
                             int64_t extent) {
  problem.loops.push_back(
      {sizes.isMatrixProduct() ? productName : name, extent});
  return problem.loops.size() - 1;
}

TensorId ChainBuilder::addTensor(const char *name, Role role,
                                 ArrayRef<int64_t> shape,
                                 int64_t elementBytes) {
  Tensor tensor;
  tensor.name = name;
  tensor.role = role;
  tensor.elementBytes = elementBytes;
  tensor.shape.assign(shape.begin(), shape.end());
  if (role != Role::Intermediate) {
    tensor.strides.resize(shape.size());
    int64_t stride = 1;
    for (unsigned dim = shape.size(); dim-- > 0; stride *= shape[dim])
      tensor.strides[dim] = stride;
  }
  problem.tensors.push_back(tensor);
  return problem.tensors.size() - 1;
}

void ChainBuilder::addLayer(unsigned number) {
  bool isFirst = number == 0;
  int64_t edge = sizes.edges[number];
  int64_t outputs = sizes.channels[number + 1] / channelUnit;
  LoopId output = addLoop(isFirst ? "c1" : "c2", isFirst ? "l" : "n", outputs);
  int64_t padding = edge == 1 ? 0 : sizes.padding;
  rows += 2 * padding - edge + 1;
  columns += 2 * padding - edge + 1;
  // A pointwise layer runs over the same pixels as the one before.
  if (isFirst || edge > 1) {
    row = addLoop(isFirst ? "y1" : "y2", "y", rows);
    column = addLoop(isFirst ? "x1" : "x2", "m", columns);
  }
  Operator op = makeOperator(number, output, padding);
  TensorId result = addTensor(
      isFirst ? "T" : "Y", isFirst ? Role::Intermediate : Role::Output,
      {rows, columns, outputs}, elementBytes * channelUnit);
  op.output = {result, {row, column, output}};
  op.vectorLoop = output;
  op.rowLoop = column;
  problem.operators.push_back(op);
  image = result;
  channel = output;
}

/// What the layer reads, and its loops.
Operator ChainBuilder::makeOperator(unsigned number, LoopId output,
                                    int64_t padding) {
  bool isFirst = number == 0, isDepthwise = isFirst && sizes.isDepthwise;
  int64_t edge = sizes.edges[number];
  LoopId windowRow = addLoop(isFirst ? "r1" : "r2", "r", edge),
         windowColumn = addLoop(isFirst ? "s1" : "s2", "s", edge);
  auto indexOf = [&](LoopId pixel, LoopId position) {
    Index index(pixel);
    if (edge > 1)
      index.terms.push_back({position, 1});
    index.offset = -padding;
    return index;
  };
  SmallVector<LoopId, 4> channels = {output};
  if (!isDepthwise)
    channels.insert(channels.begin(), channel);
  SmallVector<int64_t, 4> shape = {edge, edge};
  int64_t weightBytes = elementBytes;
  for (LoopId loop : channels) {
    shape.push_back(problem.loops[loop].extent);
    weightBytes *= channelUnit;
  }
  TensorId weights =
      addTensor(isFirst ? "W1" : "W2", Role::Input, shape, weightBytes);
  Operator op;
  op.name = isFirst ? "first" : "second";
  op.loops = {row, column, output, windowRow, windowColumn};
  if (!isDepthwise)
    op.loops.insert(op.loops.begin() + 3, channel);
  Access filter{weights, {windowRow, windowColumn}};
  for (LoopId loop : channels)
    filter.indices.push_back(loop);
  op.inputs = {{image,
                {indexOf(row, windowRow), indexOf(column, windowColumn),
                 Index(channels.front())}},
               filter};
  return op;
}

} // namespace

ChainProblem chimera::validation::makeChain(const ChainSizes &sizes,
                                            int64_t channelUnit) {
  return ChainBuilder(sizes, channelUnit).run();
}
