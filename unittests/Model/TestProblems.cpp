//===- TestProblems.cpp - Chains and machines for the tests ---------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestProblems.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace chimera::model {

LoopId ProblemBuilder::loop(StringRef name, int64_t extent) {
  problem.loops.push_back({name.str(), extent});
  return problem.loops.size() - 1;
}

TensorId ProblemBuilder::tensor(StringRef name, Role role,
                                ArrayRef<LoopId> dims, int64_t elementBytes) {
  SmallVector<int64_t, 4> shape;
  Access access;
  for (LoopId loop : dims) {
    shape.push_back(problem.loops[loop].extent);
    access.indices.push_back(loop);
  }
  access.tensor = array(name, role, shape, elementBytes);
  plain[access.tensor] = access;
  return access.tensor;
}

TensorId ProblemBuilder::array(StringRef name, Role role,
                               ArrayRef<int64_t> shape, int64_t elementBytes) {
  Tensor tensor;
  tensor.name = name.str();
  tensor.role = role;
  tensor.elementBytes = elementBytes;
  tensor.shape.assign(shape.begin(), shape.end());
  if (role != Role::Intermediate) {
    tensor.strides.resize(shape.size());
    int64_t stride = 1;
    for (unsigned dim = shape.size(); dim-- > 0;) {
      tensor.strides[dim] = stride;
      stride *= shape[dim];
    }
  }
  problem.tensors.push_back(tensor);
  plain.resize(problem.tensors.size());
  return problem.tensors.size() - 1;
}

Operator &ProblemBuilder::contraction(StringRef name, ArrayRef<TensorId> inputs,
                                      TensorId output, LoopId rowLoop,
                                      LoopId vectorLoop) {
  SmallVector<Access, 2> accesses;
  for (TensorId input : inputs)
    accesses.push_back(access(input));
  return operation(name, accesses, access(output), rowLoop, vectorLoop);
}

Operator &ProblemBuilder::operation(StringRef name, ArrayRef<Access> inputs,
                                    const Access &output, LoopId rowLoop,
                                    LoopId vectorLoop) {
  Operator op;
  op.name = name.str();
  op.inputs.assign(inputs.begin(), inputs.end());
  op.output = output;
  op.rowLoop = rowLoop;
  op.vectorLoop = vectorLoop;
  SmallVector<Access, 4> accesses(inputs.begin(), inputs.end());
  accesses.push_back(output);
  for (const Access &access : accesses)
    for (const Index &index : access.indices)
      for (const Term &term : index.terms)
        if (!op.hasLoop(term.loop))
          op.loops.push_back(term.loop);
  problem.operators.push_back(op);
  return problem.operators.back();
}

ChainProblem makeGemm(int64_t b, int64_t m, int64_t n, int64_t k) {
  ProblemBuilder builder;
  LoopId lb = builder.loop("b", b), lm = builder.loop("m", m),
         ln = builder.loop("n", n), lk = builder.loop("k", k);
  TensorId ta = builder.tensor("A", Role::Input, {lb, lm, lk});
  TensorId tb = builder.tensor("B", Role::Input, {lb, lk, ln});
  TensorId tc = builder.tensor("C", Role::Output, {lb, lm, ln});
  builder.contraction("gemm", {ta, tb}, tc, lm, ln);
  return builder.problem;
}

ChainProblem makeChain(const ChainSizes &sizes) {
  ProblemBuilder builder;
  LoopId b = builder.loop("b", sizes.b), m = builder.loop("m", sizes.m),
         l = builder.loop("l", sizes.l), k = builder.loop("k", sizes.k),
         n = builder.loop("n", sizes.n);
  TensorId ta = builder.tensor("A", Role::Input, {b, m, k});
  TensorId tb = builder.tensor("B", Role::Input, {b, k, l});
  TensorId tc = builder.tensor("C", Role::Intermediate, {b, m, l});
  TensorId td = builder.tensor("D", Role::Input, {b, l, n});
  TensorId te = builder.tensor("E", Role::Output, {b, m, n});
  builder.contraction("first", {ta, tb}, tc, m, l);
  builder.contraction("second", {tc, td}, te, m, n);
  return builder.problem;
}

ChainProblem makeMlp(int64_t sm, int64_t sn, int64_t sk, int64_t sl) {
  ProblemBuilder builder;
  LoopId m = builder.loop("m", sm), l = builder.loop("l", sl),
         k = builder.loop("k", sk), n = builder.loop("n", sn);
  TensorId ta = builder.tensor("A", Role::Input, {m, k});
  TensorId tb = builder.tensor("B", Role::Input, {k, l});
  TensorId tc = builder.tensor("C", Role::Intermediate, {m, l});
  TensorId td = builder.tensor("D", Role::Input, {l, n});
  TensorId te = builder.tensor("E", Role::Output, {m, n});
  builder.contraction("first", {ta, tb}, tc, m, l);
  builder.contraction("second", {tc, td}, te, m, n);
  return builder.problem;
}

ChainProblem makeGate(int64_t sm, int64_t sn, int64_t sk, int64_t sl) {
  ProblemBuilder builder;
  LoopId m = builder.loop("m", sm), l = builder.loop("l", sl),
         k = builder.loop("k", sk), n = builder.loop("n", sn);
  TensorId ta = builder.tensor("A", Role::Input, {m, k});
  TensorId tv = builder.tensor("V", Role::Input, {k, l});
  TensorId tw = builder.tensor("W", Role::Input, {k, l});
  TensorId tg = builder.tensor("G", Role::Intermediate, {m, l});
  TensorId th = builder.tensor("H", Role::Intermediate, {m, l});
  TensorId td = builder.tensor("D", Role::Input, {l, n});
  TensorId te = builder.tensor("E", Role::Output, {m, n});
  builder.contraction("gate", {ta, tv}, tg, m, l);
  Operator &up = builder.contraction("up", {ta, tw}, th, m, l);
  up.epilogue = {builder.access(tg)};
  up.hasEpilogue = true;
  up.epilogueCost = 10;
  builder.contraction("down", {th, td}, te, m, n);
  return builder.problem;
}

ChainProblem makeTriple(int64_t sm, int64_t sl, int64_t sk, int64_t sn,
                        int64_t sp) {
  ProblemBuilder builder;
  LoopId m = builder.loop("m", sm), l = builder.loop("l", sl),
         k = builder.loop("k", sk), n = builder.loop("n", sn),
         p = builder.loop("p", sp);
  TensorId ta = builder.tensor("A", Role::Input, {m, k});
  TensorId tb = builder.tensor("B", Role::Input, {k, l});
  TensorId tc = builder.tensor("C", Role::Intermediate, {m, l});
  TensorId td = builder.tensor("D", Role::Input, {l, n});
  TensorId te = builder.tensor("E", Role::Intermediate, {m, n});
  TensorId tf = builder.tensor("F", Role::Input, {n, p});
  TensorId tg = builder.tensor("G", Role::Output, {m, p});
  builder.contraction("first", {ta, tb}, tc, m, l);
  builder.contraction("second", {tc, td}, te, m, n);
  builder.contraction("third", {te, tf}, tg, m, p);
  return builder.problem;
}

//===----------------------------------------------------------------------===//
// Convolutions and attention
//===----------------------------------------------------------------------===//

namespace {

/// Adds one convolution after the other to a chain.
class ConvChainBuilder {
public:
  explicit ConvChainBuilder(const ConvSizes &sizes);

  ChainProblem run();

private:
  void addLayer(const ConvLayer &layer, bool isLast);
  void addChannels(const ConvLayer &layer);
  void addWindow(const ConvLayer &layer, bool isFirst);
  TensorId arrayOf(StringRef name, Role role);
  Access accessTo(TensorId tensor, ArrayRef<LoopId> channels,
                  ArrayRef<Index> image) const;
  std::string numbered(StringRef name) const {
    return name.str() + std::to_string(number);
  }

  const ConvSizes &sizes;
  ProblemBuilder builder;
  unsigned number = 0;
  LoopId batch;
  /// The tensor that the next layer reads, its channel loops and image.
  TensorId current = 0;
  SmallVector<LoopId, 2> channels, image;
  SmallVector<int64_t, 2> extents;
  /// What indexes the weights and, along the image, the layer's input.
  SmallVector<LoopId, 6> weights;
  SmallVector<Index, 2> windows;
};

ConvChainBuilder::ConvChainBuilder(const ConvSizes &sizes)
    : sizes(sizes), batch(builder.loop("b", sizes.batch)),
      extents(sizes.image) {
  if (sizes.groups)
    channels.push_back(builder.loop("g", sizes.groups));
  channels.push_back(builder.loop("c0", sizes.channels));
  current = arrayOf("X", Role::Input);
}

ChainProblem ConvChainBuilder::run() {
  for (const ConvLayer &layer : sizes.layers)
    addLayer(layer, &layer == &sizes.layers.back());
  return builder.problem;
}

/// A tensor over the batch, the present channels and the present image.
TensorId ConvChainBuilder::arrayOf(StringRef name, Role role) {
  SmallVector<int64_t, 5> shape = {sizes.batch};
  auto addChannels = [&] {
    for (LoopId loop : channels)
      shape.push_back(builder.problem.loops[loop].extent);
  };
  if (!sizes.channelsLast)
    addChannels();
  append_range(shape, extents);
  if (sizes.channelsLast)
    addChannels();
  return builder.array(name, role, shape);
}

Access ConvChainBuilder::accessTo(TensorId tensor, ArrayRef<LoopId> channels,
                                  ArrayRef<Index> image) const {
  Access access{tensor, {batch}};
  if (!sizes.channelsLast)
    append_range(access.indices, channels);
  append_range(access.indices, image);
  if (sizes.channelsLast)
    append_range(access.indices, channels);
  return access;
}

void ConvChainBuilder::addLayer(const ConvLayer &layer, bool isLast) {
  bool isFirst = number++ == 0;
  TensorId input = current;
  SmallVector<LoopId, 2> inputChannels = channels;
  weights.clear();
  windows.clear();
  addChannels(layer);
  addWindow(layer, isFirst);
  TensorId weight = builder.tensor(numbered("W"), Role::Input, weights);
  current = arrayOf(isLast ? "Y" : numbered("T"),
                    isLast ? Role::Output : Role::Intermediate);
  SmallVector<Index, 2> outputs(image.begin(), image.end());
  builder.operation(
      numbered("conv"),
      {accessTo(input, inputChannels, windows), builder.access(weight)},
      accessTo(current, channels, outputs), image.back(), channels.back());
}

void ConvChainBuilder::addChannels(const ConvLayer &layer) {
  SmallVector<LoopId, 2> inputChannels = channels;
  if (layer.kind == ConvLayer::Depthwise) {
    append_range(weights, channels);
    return;
  }
  if (layer.kind == ConvLayer::Dense)
    channels.clear();
  else
    channels.resize(1);
  channels.push_back(builder.loop(numbered("c"), layer.channels));
  append_range(weights, channels);
  for (LoopId loop : inputChannels)
    if (!is_contained(channels, loop))
      weights.push_back(loop);
}

void ConvChainBuilder::addWindow(const ConvLayer &layer, bool isFirst) {
  bool isPointwise =
      layer.kernel == 1 && layer.stride == 1 && layer.padding == 0;
  bool sharesImage = isPointwise && !isFirst;
  if (!sharesImage)
    image.clear();
  for (unsigned axis = 0; axis < extents.size(); ++axis) {
    bool isRow = axis == 0;
    extents[axis] = layer.outputs(extents[axis]);
    if (!sharesImage)
      image.push_back(builder.loop(numbered(isRow ? "y" : "x"), extents[axis]));
    Index index;
    index.terms.push_back({image[axis], layer.stride});
    index.offset = -layer.padding;
    if (layer.kernel > 1) {
      LoopId window = builder.loop(numbered(isRow ? "r" : "s"), layer.kernel);
      index.terms.push_back({window, layer.dilation});
      weights.push_back(window);
    }
    windows.push_back(index);
  }
}

} // namespace

ChainProblem makeConvChain(const ConvSizes &sizes) {
  return ConvChainBuilder(sizes).run();
}

ChainProblem makeAttention(const AttentionSizes &sizes) {
  ProblemBuilder builder;
  LoopId h = builder.loop("h", sizes.heads),
         q = builder.loop("q", sizes.queries), m = builder.loop("m", sizes.m),
         l = builder.loop("l", sizes.l), k = builder.loop("k", sizes.k),
         n = builder.loop("n", sizes.n);
  TensorId tq = builder.tensor("Q", Role::Input, {h, q, m, k});
  TensorId tk = builder.tensor("K", Role::Input, {h, l, k});
  TensorId ts = builder.tensor("S", Role::Intermediate, {h, q, m, l});
  TensorId tv = builder.tensor("V", Role::Input, {h, l, n});
  TensorId to = builder.tensor("O", Role::Output, {h, q, m, n});
  Operator &scores = builder.contraction("scores", {tq, tk}, ts, m, l);
  scores.hasEpilogue = true;
  scores.epilogueCost = 12;
  if (!sizes.isOnline)
    scores.completes = {l};
  Operator &values = builder.contraction("values", {ts, tv}, to, m, n);
  values.hasEpilogue = true;
  if (sizes.isOnline) {
    TensorId most = builder.tensor("max", Role::State, {h, q, m});
    TensorId sum = builder.tensor("sum", Role::State, {h, q, m});
    values.states = {builder.access(most), builder.access(sum)};
    values.rescaledBy = l;
  }
  return builder.problem;
}

Machine makeZen5() {
  Machine machine;
  machine.name = "zen5";
  MemoryLevel l3, l2, l1;
  l3.name = "L3";
  l3.capacityBytes = 32 << 20;
  l3.bytesPerSecondPerCore = 50e9;
  l3.bytesPerSecond = 90e9;
  l3.sharers = 2;
  l3.ways = 16;
  l2.name = "L2";
  l2.capacityBytes = 1 << 20;
  l2.bytesPerSecondPerCore = 60e9;
  l2.bytesPerSecond = 120e9;
  l2.ways = 16;
  l1.name = "L1";
  l1.capacityBytes = 48 << 10;
  l1.bytesPerSecondPerCore = 130e9;
  l1.bytesPerSecond = 260e9;
  l1.ways = 12;
  machine.levels = {l3, l2, l1};
  machine.unit.lanes = 16;
  machine.unit.registers = 32;
  machine.unit.cyclesPerSecond = 4.1e9;
  machine.cores = 2;
  // The bandwidths are what products of images reach.
  machine.overheads.besideCost = 0;
  return machine;
}

//===----------------------------------------------------------------------===//
// Reproducer
//===----------------------------------------------------------------------===//

static std::string textOf(const ChainProblem &problem, const Index &index) {
  std::string text;
  for (const Term &term : index.terms)
    text += (text.empty() ? "" : "+") +
            (term.factor == 1 ? "" : std::to_string(term.factor)) +
            problem.loops[term.loop].name;
  if (index.offset || text.empty())
    text += (index.offset < 0 ? "" : "+") + std::to_string(index.offset);
  return text;
}

static std::string textOf(const ChainProblem &problem, const Access &access) {
  std::string text = problem.tensors[access].name + "[";
  for (const auto &[dim, index] : enumerate(access.indices))
    text += (dim ? "," : "") + textOf(problem, index);
  return text + "]";
}

static std::string textOf(ArrayRef<int64_t> numbers) {
  std::string text;
  for (int64_t number : numbers)
    text += (text.empty() ? "" : ",") + std::to_string(number);
  return "(" + text + ")";
}

static std::string textOf(const Tensor &tensor) {
  static constexpr const char *roles[] = {"input", "output", "intermediate",
                                          "state"};
  return std::string(roles[static_cast<int>(tensor.role)]) + " " + tensor.name +
         " shape " + textOf(tensor.shape) + " strides " +
         textOf(tensor.strides) + " bytes " +
         std::to_string(tensor.elementBytes) + "/" +
         std::to_string(tensor.accumulatorBytes) +
         (tensor.isStored ? " stored" : "");
}

static std::string textOf(const ChainProblem &problem, const Operator &op) {
  std::string text = op.name + ": " + textOf(problem, op.output) + " =";
  for (const Access &input : op.inputs)
    text += " " + textOf(problem, input);
  if (op.hasEpilogue)
    text += " with epilogue";
  for (const Access &operand : op.epilogue)
    text += " " + textOf(problem, operand);
  for (LoopId loop : op.completes)
    text += " completing " + problem.loops[loop].name;
  for (const Access &state : op.states)
    text += " with state " + textOf(problem, state);
  if (op.rescaledBy)
    text += " rescaled by " + problem.loops[*op.rescaledBy].name;
  return text;
}

std::string reproducer(const ChainProblem &problem, const Schedule &schedule) {
  std::string text = "\n  loops";
  for (const Loop &loop : problem.loops)
    text += " " + loop.name + "=" + std::to_string(loop.extent);
  for (const Tensor &tensor : problem.tensors)
    text += "\n  " + textOf(tensor);
  for (const Operator &op : problem.operators)
    text += "\n  " + textOf(problem, op);
  for (const LevelSchedule &level : schedule.levels) {
    text += "\n  order";
    for (const TiledLoop &entry : level.order) {
      text += " " + problem.loops[entry.loop].name + ":" +
              std::to_string(entry.tile);
      if (entry.operators)
        text += "@" + std::to_string(entry.operators);
    }
  }
  if (!schedule.rolling.empty())
    text += "\n  rolling";
  for (TensorId tensor : schedule.rolling)
    text += " " + problem.tensors[tensor].name;
  if (!schedule.homes.empty())
    text += "\n  homes";
  for (const auto &[tensor, home] : enumerate(schedule.homes))
    if (problem.tensors[tensor].role == Role::Intermediate)
      text += " " + problem.tensors[tensor].name + "@" + std::to_string(home);
  return text + "\n";
}

LoopId loopNamed(const ChainProblem &problem, StringRef name) {
  auto *loop = find_if(problem.loops,
                       [&](const Loop &loop) { return loop.name == name; });
  return loop - problem.loops.begin();
}

TensorId tensorNamed(const ChainProblem &problem, StringRef name) {
  auto *tensor = find_if(problem.tensors, [&](const Tensor &tensor) {
    return tensor.name == name;
  });
  return tensor - problem.tensors.begin();
}

Schedule singleLevel(ArrayRef<TiledLoop> order) {
  Schedule schedule;
  schedule.levels.emplace_back();
  schedule.levels.back().order.assign(order.begin(), order.end());
  return schedule;
}

} // namespace chimera::model
