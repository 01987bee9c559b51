//===- TestGraphs.cpp - Operator graphs for the tests of Gir --------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Gir/TestGraphs.h"

#include "TestProblems.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace llvm;

namespace chimera::model {

TensorId GraphBuilder::tensor(StringRef name, ArrayRef<int64_t> shape,
                              bool isResult, int64_t elementBytes) {
  GraphTensor &added = graph.tensors.emplace_back();
  added.name = name.str();
  added.shape.assign(shape.begin(), shape.end());
  added.isResult = isResult;
  added.elementBytes = elementBytes;
  return static_cast<TensorId>(graph.tensors.size() - 1);
}

static GraphAccess accessOf(const GraphBuilder::Use &use) {
  GraphAccess access;
  access.tensor = use.tensor;
  for (int loop : use.loops)
    access.indices.push_back(loop < 0 ? Index()
                                      : Index(static_cast<LoopId>(loop)));
  return access;
}

GraphOperator &GraphBuilder::add(StringRef name, ArrayRef<int64_t> extents,
                                 ArrayRef<Use> inputs, const Use &output,
                                 double instructions, double exponentials) {
  GraphOperator &op = graph.operators.emplace_back();
  op.name = name.str();
  op.extents.assign(extents.begin(), extents.end());
  for (const Use &input : inputs)
    op.inputs.push_back(accessOf(input));
  op.outputs.push_back(accessOf(output));
  op.instructions = instructions;
  op.exponentials = exponentials;
  return op;
}

SmallVector<OperatorId, 8> allOf(const OperatorGraph &graph) {
  return to_vector<8>(seq<OperatorId>(graph.operators.size()));
}

OperatorGraph makeLayerNorm(int64_t rows, int64_t columns) {
  GraphBuilder b;
  TensorId x = b.tensor("x", {rows, columns});
  TensorId gamma = b.tensor("gamma", {columns}),
           beta = b.tensor("beta", {columns});
  TensorId sum = b.tensor("sum", {rows}),
           centred = b.tensor("centred", {rows, columns});
  TensorId squares = b.tensor("squares", {rows}),
           root = b.tensor("root", {rows});
  TensorId y = b.tensor("y", {rows, columns}, true);
  b.add("sum", {rows, columns}, {{x, {0, 1}}}, {sum, {0}});
  b.add("centre", {rows, columns}, {{x, {0, 1}}, {sum, {0}}},
        {centred, {0, 1}});
  b.add("squares", {rows, columns}, {{centred, {0, 1}}}, {squares, {0}});
  b.add("root", {rows}, {{squares, {0}}}, {root, {0}}, 3, 1);
  b.add("scale", {rows, columns},
        {{centred, {0, 1}}, {root, {0}}, {gamma, {1}}, {beta, {1}}},
        {y, {0, 1}}, 2);
  return b.graph;
}

OperatorGraph makeSoftmax(int64_t rows, int64_t columns, bool alongRows) {
  GraphBuilder b;
  int kept = alongRows ? 0 : 1;
  int64_t many = alongRows ? rows : columns;
  TensorId x = b.tensor("x", {rows, columns});
  TensorId most = b.tensor("most", {many}), e = b.tensor("e", {rows, columns});
  TensorId sum = b.tensor("sum", {many});
  TensorId y = b.tensor("y", {rows, columns}, true);
  b.add("most", {rows, columns}, {{x, {0, 1}}}, {most, {kept}});
  b.add("exp", {rows, columns}, {{x, {0, 1}}, {most, {kept}}}, {e, {0, 1}}, 1,
        1);
  b.add("sum", {rows, columns}, {{e, {0, 1}}}, {sum, {kept}});
  b.add("divide", {rows, columns}, {{e, {0, 1}}, {sum, {kept}}}, {y, {0, 1}},
        1);
  return b.graph;
}

OperatorGraph makeAddNorm(int64_t rows, int64_t columns) {
  GraphBuilder b;
  TensorId x = b.tensor("x", {rows, columns}),
           r = b.tensor("r", {rows, columns});
  TensorId gamma = b.tensor("gamma", {columns});
  TensorId h = b.tensor("h", {rows, columns}, true);
  TensorId squares = b.tensor("squares", {rows}),
           root = b.tensor("root", {rows});
  TensorId y = b.tensor("y", {rows, columns}, true);
  b.add("add", {rows, columns}, {{x, {0, 1}}, {r, {0, 1}}}, {h, {0, 1}});
  b.add("squares", {rows, columns}, {{h, {0, 1}}}, {squares, {0}});
  b.add("root", {rows}, {{squares, {0}}}, {root, {0}}, 3, 1);
  b.add("scale", {rows, columns}, {{h, {0, 1}}, {root, {0}}, {gamma, {1}}},
        {y, {0, 1}}, 2);
  return b.graph;
}

OperatorGraph makeTranspose(int64_t rows, int64_t columns) {
  GraphBuilder b;
  TensorId x = b.tensor("x", {rows, columns});
  TensorId y = b.tensor("y", {columns, rows}, true);
  b.add("turn", {columns, rows}, {{x, {1, 0}}}, {y, {0, 1}}).body =
      BodyKind::Move;
  return b.graph;
}

OperatorGraph makeTwoSums(int64_t rows, int64_t columns, bool alongAll) {
  GraphBuilder b;
  TensorId x = b.tensor("x", {rows, columns});
  SmallVector<int64_t> shape;
  SmallVector<int, 4> loops;
  if (!alongAll) {
    shape = {columns};
    loops = {1};
  }
  TensorId s = b.tensor("s", shape, true), t = b.tensor("t", shape, true);
  b.add("sum", {rows, columns}, {{x, {0, 1}}}, {s, loops});
  b.add("squares", {rows, columns}, {{x, {0, 1}}}, {t, loops});
  return b.graph;
}

OperatorGraph makeShuffle(int64_t channels, int64_t pixels) {
  GraphBuilder b;
  TensorId x = b.tensor("x", {2, channels, pixels});
  TensorId y = b.tensor("y", {channels, 2, pixels}, true);
  b.add("shuffle", {channels, 2, pixels}, {{x, {1, 0, 2}}}, {y, {0, 1, 2}})
      .body = BodyKind::Move;
  return b.graph;
}

//===----------------------------------------------------------------------===//
// At random
//===----------------------------------------------------------------------===//

static int64_t pick(std::mt19937 &random, int64_t least, int64_t most) {
  return std::uniform_int_distribution<int64_t>(least, most)(random);
}

/// Goes over the elements of a tensor in one row, twice: once to move and once
/// to compute.
static void addReshape(GraphBuilder &b, TensorId from) {
  GraphTensor shape = b.graph.tensors[from];
  int64_t elements = shape.elements();
  TensorId flat = b.tensor("flat", {elements}, false, shape.elementBytes);
  TensorId last = b.tensor("last", {elements}, true, shape.elementBytes);
  GraphOperator &op = b.add("reshape", {elements}, {{from, {}}}, {flat, {0}});
  op.body = BodyKind::Move;
  op.inputs[0].isReshaped = true;
  b.add("after", {elements}, {{flat, {0}}}, {last, {0}});
}

/// Makes inputs that one operator reads parts of larger tensors.
static void readParts(OperatorGraph &graph, std::mt19937 &random) {
  SmallVector<int, 16> uses(graph.tensors.size(), 0);
  for (const GraphOperator &op : graph.operators)
    for (const GraphAccess &input : op.inputs)
      ++uses[input.tensor];
  for (GraphOperator &op : graph.operators)
    for (GraphAccess &input : op.inputs) {
      if (uses[input.tensor] != 1 || graph.producerOf(input.tensor) ||
          input.isReshaped || pick(random, 0, 2))
        continue;
      for (auto [index, extent] :
           zip(input.indices, graph.tensors[input.tensor].shape)) {
        index.offset = pick(random, 0, 3);
        if (!index.terms.empty())
          index.terms[0].factor = pick(random, 1, 2);
        extent = extent * 2 + index.offset + pick(random, 0, 2);
      }
    }
}

OperatorGraph makeRandomGraph(std::mt19937 &random) {
  GraphBuilder b;
  SmallVector<int64_t, 3> extents;
  auto rank = pick(random, 1, 3);
  for (int64_t dim = 0; dim < rank; ++dim)
    extents.push_back(pick(random, 1, dim + 1 == rank ? 40 : 9));
  SmallVector<int64_t, 3> bytes = {1, 2, 4, 8};
  int64_t elementBytes = bytes[pick(random, 0, 3)];
  // Tensors by the loops that index them.
  SmallVector<GraphBuilder::Use, 8> known;
  auto makeTensor = [&](SmallVector<int, 4> loops) {
    SmallVector<int64_t, 4> shape;
    for (int loop : loops)
      shape.push_back(extents[loop]);
    TensorId id = b.tensor("t" + std::to_string(b.graph.tensors.size()), shape,
                           false, elementBytes);
    return GraphBuilder::Use{id, loops};
  };
  SmallVector<int, 4> all;
  for (int loop = 0; loop < rank; ++loop)
    all.push_back(loop);
  known.push_back(makeTensor(all));
  auto count = pick(random, 1, 5);
  for (int64_t op = 0; op < count; ++op) {
    SmallVector<GraphBuilder::Use, 3> inputs = {
        known[pick(random, 0, known.size() - 1)]};
    bool isMove = pick(random, 0, 5) == 0 && inputs[0].loops.size() > 1;
    if (!isMove && pick(random, 0, 1)) {
      if (pick(random, 0, 1)) {
        inputs.push_back(known[pick(random, 0, known.size() - 1)]);
      } else {
        SmallVector<int, 4> some;
        for (int loop : all)
          if (pick(random, 0, 1))
            some.push_back(loop);
        inputs.push_back(makeTensor(some));
      }
    }
    // The loops of the operator, and which of them its output keeps.
    SmallVector<int, 4> loops;
    for (int loop : all)
      if (any_of(inputs, [&](const auto &use) {
            return is_contained(use.loops, loop);
          }))
        loops.push_back(loop);
    SmallVector<int, 4> kept = loops;
    if (isMove)
      std::shuffle(kept.begin(), kept.end(), random);
    else if (!kept.empty() && pick(random, 0, 2) == 0)
      kept.erase(kept.begin() + pick(random, 0, kept.size() - 1));
    GraphBuilder::Use output = makeTensor(kept);
    auto local = [&](const GraphBuilder::Use &use) {
      GraphBuilder::Use mapped = use;
      for (int &loop : mapped.loops)
        loop = find(loops, loop) - loops.begin();
      return mapped;
    };
    SmallVector<int64_t, 4> own;
    for (int loop : loops)
      own.push_back(extents[loop]);
    SmallVector<GraphBuilder::Use, 3> uses;
    for (const auto &input : inputs)
      uses.push_back(local(input));
    GraphOperator &added =
        b.add("op" + std::to_string(op), own, uses, local(output),
              pick(random, 1, 4), pick(random, 0, 1));
    if (isMove)
      added.body = BodyKind::Move;
    if (pick(random, 0, 3) == 0)
      b.graph.tensors[output.tensor].isResult = true;
    known.push_back(output);
  }
  if (pick(random, 0, 4) == 0)
    addReshape(b, known.back().tensor);
  readParts(b.graph, random);
  return b.graph;
}

std::vector<std::vector<int64_t>> makeInputs(const OperatorGraph &graph,
                                             std::mt19937 &random) {
  std::vector<std::vector<int64_t>> values(graph.tensors.size());
  for (auto [id, tensor] : enumerate(graph.tensors)) {
    if (graph.producerOf(id))
      continue;
    for (int64_t element = 0; element < tensor.elements(); ++element)
      values[id].push_back(pick(random, 0, 1000));
  }
  return values;
}

static int64_t elementAt(const OperatorGraph &graph, const GraphOperator &op,
                         const GraphAccess &access, ArrayRef<int64_t> at) {
  int64_t element = 0;
  if (access.isReshaped) {
    for (auto [position, extent] : zip(at, op.extents))
      element = element * extent + position;
    return element;
  }
  for (auto [index, extent] :
       zip(access.indices, graph.tensors[access.tensor].shape)) {
    int64_t position = index.offset;
    for (const Term &term : index.terms)
      position += term.factor * at[term.loop];
    element = element * extent + position;
  }
  return element;
}

std::vector<std::vector<int64_t>>
interpret(const OperatorGraph &graph,
          std::vector<std::vector<int64_t>> values) {
  for (auto [id, op] : enumerate(graph.operators)) {
    for (const GraphAccess &output : op.outputs)
      values[output.tensor].assign(graph.tensors[output.tensor].elements(), 0);
    SmallVector<int64_t, 4> at(op.extents.size(), 0);
    for (auto count = static_cast<int64_t>(op.iterations()); count > 0;
         --count) {
      SmallVector<int64_t, 3> operands;
      for (const GraphAccess &input : op.inputs)
        operands.push_back(
            values[input.tensor][elementAt(graph, op, input, at)]);
      for (auto [position, output] : enumerate(op.outputs)) {
        int64_t value =
            op.body == BodyKind::Move
                ? operands[0]
                : applyFunction(id * 4 + static_cast<int64_t>(position),
                                operands);
        auto &element = values[output.tensor][elementAt(graph, op, output, at)];
        element = static_cast<int64_t>(static_cast<uint64_t>(element) +
                                       static_cast<uint64_t>(value));
      }
      for (size_t loop = at.size(); loop-- > 0;) {
        if (++at[loop] < op.extents[loop])
          break;
        at[loop] = 0;
      }
    }
  }
  return values;
}

std::vector<std::vector<int64_t>>
inputsOf(const Gir &gir, const OperatorGraph &graph,
         const std::vector<std::vector<int64_t>> &values) {
  std::vector<std::vector<int64_t>> inputs(gir.tensors.size());
  for (auto [id, tensor] : enumerate(gir.tensors))
    for (auto [from, named] : enumerate(graph.tensors))
      if (tensor.isInput && named.name == tensor.name)
        inputs[id] = values[from];
  return inputs;
}

Machine makeRandomMachine(std::mt19937 &random) {
  Machine machine = makeZen5();
  auto levels = pick(random, 1, 3);
  machine.levels.resize(levels);
  int64_t room = 256;
  for (MemoryLevel &level : reverse(machine.levels)) {
    room *= pick(random, 2, 8);
    level.capacityBytes = room;
    level.lineBytes = int64_t(8) << pick(random, 0, 3);
    level.sharers = pick(random, 1, 2);
    level.ways = pick(random, 0, 3) == 0 ? 0 : 8;
  }
  machine.unit.lanes = int64_t(1) << pick(random, 0, 4);
  return machine;
}

} // namespace chimera::model
