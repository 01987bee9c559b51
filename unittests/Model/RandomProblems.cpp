//===- RandomProblems.cpp - Random chains and schedules -------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the closed forms are checked on: chains of every kind that programs
// bring, with orders that no planner would choose.
//
//===----------------------------------------------------------------------===//

#include "TestProblems.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace llvm;

namespace chimera::model {

//===----------------------------------------------------------------------===//
// Random problems
//===----------------------------------------------------------------------===//

static int64_t pick(std::mt19937 &random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

/// True once in `times`.
static bool onceIn(std::mt19937 &random, int64_t times) {
  return pick(random, 1, times) == 1;
}

/// Up to six products, each of the result of the one before or, sometimes, of
/// two results, over a batch that the weights may lack. Equal widths make
/// residuals possible.
static ChainProblem makeRandomProducts(std::mt19937 &random,
                                       int64_t maxExtent) {
  ProblemBuilder builder;
  auto extent = [&] { return pick(random, 1, maxExtent); };
  LoopId b = builder.loop("b", extent()), g = builder.loop("g", extent()),
         m = builder.loop("m", extent()), k = builder.loop("k0", extent());
  bool hasBatch = onceIn(random, 2), hasGroups = onceIn(random, 3);
  auto tensor = [&](std::string name, Role role, LoopId row, LoopId column,
                    bool isBroadcast) {
    SmallVector<LoopId, 4> dims;
    if (hasBatch && !isBroadcast)
      dims.push_back(b);
    if (hasGroups && !(isBroadcast && onceIn(random, 2)))
      dims.push_back(g);
    dims.append({row, column});
    return builder.tensor(name, role, dims);
  };
  int64_t count = pick(random, 1, 6), width = extent();
  TensorId current = tensor("A", Role::Input, m, k, false);
  LoopId column = k;
  for (int64_t number = 1; number <= count; ++number) {
    std::string suffix = std::to_string(number);
    LoopId next =
        builder.loop("k" + suffix, onceIn(random, 2) ? width : extent());
    TensorId weight =
        tensor("W" + suffix, Role::Input, column, next, onceIn(random, 2));
    TensorId result =
        number == count
            ? tensor("Y", Role::Output, m, next, false)
            : tensor("T" + suffix, Role::Intermediate, m, next, false);
    builder.contraction("product" + suffix, {current, weight}, result, m, next);
    current = result;
    column = next;
  }
  return builder.problem;
}

/// S = (X Wq) (X Wk)^T: both factors of an operator made by others, from rows
/// of one input; then another product.
static ChainProblem makeRandomProjections(std::mt19937 &random,
                                          int64_t maxExtent) {
  ProblemBuilder builder;
  auto extent = [&] { return pick(random, 1, maxExtent); };
  int64_t rows = extent();
  LoopId m = builder.loop("m", rows), l = builder.loop("l", rows),
         k = builder.loop("k", extent()), d = builder.loop("d", extent()),
         n = builder.loop("n", extent());
  TensorId tx = builder.tensor("X", Role::Input, {m, k});
  TensorId twq = builder.tensor("Wq", Role::Input, {k, d});
  TensorId twk = builder.tensor("Wk", Role::Input, {k, d});
  TensorId tq = builder.tensor("Q", Role::Intermediate, {m, d});
  TensorId tk = builder.tensor("K", Role::Intermediate, {l, d});
  bool isLast = onceIn(random, 2);
  TensorId ts =
      builder.tensor("S", isLast ? Role::Output : Role::Intermediate, {m, l});
  builder.contraction("queries", {tx, twq}, tq, m, d);
  Access other{tx, {l, k}};
  builder.operation("keys", {other, builder.access(twk)}, builder.access(tk), l,
                    d);
  builder.contraction("scores", {tq, tk}, ts, m, l);
  if (!isLast) {
    TensorId tv = builder.tensor("V", Role::Input, {l, n});
    TensorId to = builder.tensor("O", Role::Output, {m, n});
    builder.contraction("values", {ts, tv}, to, m, n);
  }
  return builder.problem;
}

static ChainProblem makeRandomConvChain(std::mt19937 &random,
                                        int64_t maxExtent) {
  ConvSizes sizes;
  auto extent = [&] { return pick(random, 1, maxExtent); };
  bool isSquare = onceIn(random, 2);
  int64_t few = isSquare ? 3 : maxExtent;
  sizes.batch = pick(random, 1, 2);
  sizes.channels = pick(random, 1, few);
  sizes.groups = onceIn(random, 4) ? pick(random, 1, 3) : 0;
  sizes.channelsLast = onceIn(random, 2);
  sizes.image.assign(isSquare ? 2 : 1, 2 * extent());
  if (isSquare)
    sizes.image[1] = extent();
  SmallVector<int64_t, 2> left = sizes.image;
  bool hasGroups = sizes.groups > 0;
  for (int64_t count = pick(random, 1, isSquare ? 3 : 5); count > 0; --count) {
    ConvLayer layer;
    layer.channels = pick(random, 1, few);
    int64_t kind = pick(random, 0, 3);
    if (kind == 0)
      layer.kind = ConvLayer::Depthwise;
    else if (kind == 1 && hasGroups)
      layer.kind = ConvLayer::Grouped;
    hasGroups = hasGroups && layer.kind != ConvLayer::Dense;
    if (!onceIn(random, 4)) {
      layer.kernel = pick(random, 1, 3);
      layer.stride = onceIn(random, 3) ? pick(random, 2, 3) : 1;
      layer.dilation = onceIn(random, 4) ? 2 : 1;
      layer.padding = pick(random, 0, layer.dilation * (layer.kernel - 1));
    }
    bool fits = true;
    for (int64_t extent : left)
      fits &= extent + 2 * layer.padding > layer.dilation * (layer.kernel - 1);
    if (!fits)
      layer.kernel = layer.stride = 1, layer.padding = 0;
    for (int64_t &extent : left)
      extent = layer.outputs(extent);
    sizes.layers.push_back(layer);
  }
  return makeConvChain(sizes);
}

/// A residual block that halves its image: two convolutions whose result is
/// added to that of a third, all from one input.
static ChainProblem makeRandomShortcut(std::mt19937 &random,
                                       int64_t maxExtent) {
  ProblemBuilder builder;
  auto extent = [&] { return pick(random, 1, maxExtent); };
  int64_t rows = 2 * extent(), half = rows / 2;
  LoopId c = builder.loop("c", extent()), d = builder.loop("d", extent()),
         e = builder.loop("e", extent()), p = builder.loop("p", half),
         h = builder.loop("h", half), r = builder.loop("r", 3),
         s = builder.loop("s", 3);
  TensorId tx =
      builder.array("X", Role::Input, {builder.problem.loops[c].extent, rows});
  TensorId tu = builder.tensor("U", Role::Input, {d, c, r});
  TensorId tv = builder.tensor("V", Role::Input, {e, d, s});
  TensorId tw = builder.tensor("W", Role::Input, {e, c});
  TensorId tt = builder.tensor("T", Role::Intermediate, {d, p});
  TensorId tz = builder.tensor("Z", Role::Intermediate, {e, h});
  TensorId ty = builder.tensor("Y", Role::Output, {e, h});
  Index halved, window, next;
  halved.terms = {{h, 2}};
  window.terms = {{p, 2}, {r, 1}};
  window.offset = -1;
  next.terms = {{h, 1}, {s, 1}};
  next.offset = -1;
  builder.operation("first", {Access{tx, {c, window}}, builder.access(tu)},
                    builder.access(tt), p, d);
  builder.operation("shortcut", {Access{tx, {c, halved}}, builder.access(tw)},
                    builder.access(tz), h, e);
  builder
      .operation("second", {Access{tt, {d, next}}, builder.access(tv)},
                 builder.access(ty), h, e)
      .epilogue = {builder.access(tz)};
  return builder.problem;
}

static ChainProblem makeRandomAttention(std::mt19937 &random,
                                        int64_t maxExtent) {
  auto extent = [&] { return pick(random, 1, maxExtent); };
  ProblemBuilder builder;
  builder.problem =
      makeAttention({pick(random, 1, 3), pick(random, 1, 3), extent(), extent(),
                     extent(), extent(), !onceIn(random, 4)});
  if (onceIn(random, 2))
    return builder.problem;
  // A projection of all heads follows.
  ChainProblem &problem = builder.problem;
  TensorId result = tensorNamed(problem, "O");
  problem.tensors[result].role = Role::Intermediate;
  problem.tensors[result].strides.clear();
  LoopId h = loopNamed(problem, "h"), q = loopNamed(problem, "q"),
         m = loopNamed(problem, "m"), n = loopNamed(problem, "n"),
         o = builder.loop("o", extent());
  TensorId weight = builder.tensor("P", Role::Input, {h, q, n, o});
  TensorId output = builder.tensor("Y", Role::Output, {m, o});
  builder.operation("projection",
                    {problem.operators[1].output, builder.access(weight)},
                    builder.access(output), m, o);
  return problem;
}

/// Gives `op` an epilogue with an operand over some of the output's dimensions,
/// or one that completes a dimension first.
static void addRandomEpilogue(std::mt19937 &random, ProblemBuilder &builder,
                              unsigned op) {
  SmallVector<LoopId, 4> dims, all;
  for (const Index &index : builder.problem.operators[op].output.indices) {
    all.push_back(index.terms[0].loop);
    if (onceIn(random, 2))
      dims.push_back(all.back());
  }
  Operator &info = builder.problem.operators[op];
  info.hasEpilogue = true;
  if (onceIn(random, 4))
    info.completes = {all[pick(random, 0, all.size() - 1)]};
  if (dims.empty())
    return;
  std::string name = "X" + std::to_string(builder.problem.tensors.size());
  TensorId operand = builder.tensor(name, Role::Input, dims);
  info.epilogue.push_back(builder.access(operand));
}

/// How `reader` can take an intermediate into its epilogue, if it has the same
/// shape as the result.
static std::optional<Access> residualAccess(const ChainProblem &problem,
                                            const Access &made,
                                            const Operator &reader) {
  const Tensor &result = problem.tensors[reader.output];
  if (problem.tensors[made].shape != result.shape)
    return std::nullopt;
  return Access{made.tensor, reader.output.indices};
}

/// Lets a later operator add an intermediate to its result.
static void addRandomResidual(std::mt19937 &random, ChainProblem &problem) {
  unsigned count = problem.operators.size();
  if (count < 2)
    return;
  unsigned producer = pick(random, 0, count - 2);
  unsigned reader = pick(random, producer + 1, count - 1);
  const Access &made = problem.operators[producer].output;
  Operator &info = problem.operators[reader];
  if (auto access = residualAccess(problem, made, info)) {
    info.epilogue.push_back(*access);
    info.hasEpilogue = true;
  }
}

static bool isReadByLoopsAlone(const ChainProblem &problem, TensorId tensor) {
  auto isPlain = [&](const Access &access) {
    return access != tensor || all_of(access.indices, [](const Index &index) {
             return index.isLoop();
           });
  };
  return all_of(problem.operators, [&](const Operator &op) {
    return all_of(op.inputs, isPlain) && all_of(op.epilogue, isPlain);
  });
}

/// Dense strides with the dimensions in any order.
static void shuffleLayout(std::mt19937 &random, Tensor &tensor) {
  SmallVector<unsigned, 4> dims;
  for (unsigned dim = 0; dim < tensor.shape.size(); ++dim)
    dims.push_back(dim);
  std::shuffle(dims.begin(), dims.end(), random);
  // Sometimes only every other element belongs to the tensor.
  int64_t stride = onceIn(random, 4) ? 2 : 1;
  for (unsigned dim : dims) {
    tensor.strides[dim] = stride;
    stride *= tensor.shape[dim];
  }
}

static void randomiseTensors(std::mt19937 &random, ChainProblem &problem) {
  bool isMixed = onceIn(random, 2);
  for (TensorId id = 0; id < problem.tensors.size(); ++id) {
    Tensor &tensor = problem.tensors[id];
    if (isMixed)
      tensor.elementBytes = int64_t(1) << pick(random, 0, 3);
    if (tensor.role != Role::Input && onceIn(random, 3))
      tensor.accumulatorBytes = tensor.elementBytes * 2;
    if (!tensor.strides.empty() && onceIn(random, 3))
      shuffleLayout(random, tensor);
    if (tensor.role == Role::Intermediate && onceIn(random, 6))
      tensor.isStored = isReadByLoopsAlone(problem, id);
  }
}

static ChainProblem drawProblem(std::mt19937 &random, int64_t maxExtent) {
  auto extent = [&] { return pick(random, 1, maxExtent); };
  ProblemBuilder builder;
  switch (pick(random, 0, 15)) {
  case 0:
    builder.problem = makeGemm(extent(), extent(), extent(), extent());
    break;
  case 1:
    builder.problem =
        makeChain({extent(), extent(), extent(), extent(), extent()});
    break;
  case 2:
    builder.problem = makeMlp(extent(), extent(), extent(), extent());
    break;
  case 3:
    builder.problem = makeGate(extent(), extent(), extent(), extent());
    break;
  case 4:
    builder.problem =
        makeTriple(extent(), extent(), extent(), extent(), extent());
    break;
  case 5:
  case 6:
    builder.problem = makeRandomProducts(random, maxExtent);
    break;
  case 7:
    builder.problem = makeRandomProjections(random, maxExtent);
    break;
  case 8:
  case 9:
    builder.problem = makeRandomAttention(random, maxExtent);
    break;
  case 10:
    builder.problem = makeRandomShortcut(random, maxExtent);
    break;
  default:
    builder.problem = makeRandomConvChain(random, maxExtent);
    break;
  }
  for (unsigned op = 0; op < builder.problem.operators.size(); ++op)
    if (onceIn(random, 4))
      addRandomEpilogue(random, builder, op);
  if (onceIn(random, 2))
    addRandomResidual(random, builder.problem);
  randomiseTensors(random, builder.problem);
  return builder.problem;
}

ChainProblem makeRandomProblem(std::mt19937 &random, int64_t maxExtent) {
  // A residual may need other rows than the windows that a loop follows: such
  // a chain is none.
  while (true) {
    ChainProblem problem = drawProblem(random, maxExtent);
    std::string error = llvm::toString(problem.check());
    if (error.find("follows from the readers") == std::string::npos)
      return problem;
  }
}

//===----------------------------------------------------------------------===//
// Random schedules
//===----------------------------------------------------------------------===//

namespace {

/// Draws the orders of all levels, each with tiles that those outside leave.
class OrderMaker {
public:
  OrderMaker(std::mt19937 &random, const ChainProblem &problem);

  SmallVector<TiledLoop, 6> makeOrder();

private:
  void addEntry(LoopId loop, OperatorSet operators,
                SmallVectorImpl<TiledLoop> &order);
  SmallVector<LoopId, 8> shuffledLoops();

  std::mt19937 &random;
  const ChainProblem &problem;
  const OperatorSet everyone;
  /// What is left of each loop to each operator.
  std::vector<SmallVector<int64_t, 8>> left;
};

OrderMaker::OrderMaker(std::mt19937 &random, const ChainProblem &problem)
    : random(random), problem(problem),
      everyone((OperatorSet(1) << problem.operators.size()) - 1),
      left(problem.operators.size()) {
  for (auto &sizes : left)
    for (const Loop &loop : problem.loops)
      sizes.push_back(loop.extent);
}

/// In half of the cases, loops of the last results come first: they keep
/// operators together.
SmallVector<LoopId, 8> OrderMaker::shuffledLoops() {
  SmallVector<LoopId, 8> loops;
  for (LoopId loop = 0; loop < problem.loops.size(); ++loop)
    loops.push_back(loop);
  std::shuffle(loops.begin(), loops.end(), random);
  if (onceIn(random, 2))
    std::partition(loops.begin(), loops.end(), [&](LoopId loop) {
      return problem.operators.back().output.hasLoop(loop);
    });
  return loops;
}

void OrderMaker::addEntry(LoopId loop, OperatorSet operators,
                          SmallVectorImpl<TiledLoop> &order) {
  int64_t most = problem.loops[loop].extent;
  for (unsigned op = 0; op < left.size(); ++op)
    if (operators >> op & 1)
      most = std::min(most, left[op][loop]);
  int64_t tile = pick(random, 1, most);
  for (unsigned op = 0; op < left.size(); ++op)
    if (operators >> op & 1)
      left[op][loop] = tile;
  order.push_back({loop, tile, operators});
}

SmallVector<TiledLoop, 6> OrderMaker::makeOrder() {
  SmallVector<TiledLoop, 6> order;
  SmallVector<OperatorSet, 8> rest(problem.loops.size(), everyone);
  bool isPlain = onceIn(random, 2);
  for (LoopId loop : shuffledLoops()) {
    if (onceIn(random, 4))
      continue;
    if (isPlain || !onceIn(random, 4)) {
      addEntry(loop, everyone, order);
      order.back().operators = 0;
      rest[loop] = 0;
      continue;
    }
    // All operators, to be recomputed, or any of them.
    OperatorSet some =
        onceIn(random, 2) ? everyone : OperatorSet(pick(random, 1, everyone));
    addEntry(loop, some, order);
    rest[loop] &= ~some;
  }
  for (LoopId loop = 0; loop < problem.loops.size(); ++loop)
    if (rest[loop] && rest[loop] != everyone && onceIn(random, 2))
      addEntry(loop, rest[loop], order);
  return order;
}

} // namespace

Schedule makeRandomSchedule(std::mt19937 &random, const ChainProblem &problem,
                            unsigned numLevels) {
  Schedule schedule;
  OrderMaker orders(random, problem);
  for (unsigned level = 0; level < numLevels; ++level) {
    schedule.levels.emplace_back();
    schedule.levels.back().order = orders.makeOrder();
  }
  if (onceIn(random, 3))
    for (unsigned tensor = 0; tensor < problem.tensors.size(); ++tensor)
      schedule.homes.push_back(pick(random, 0, numLevels - 1));
  if (onceIn(random, 3))
    for (TensorId tensor = 0; tensor < problem.tensors.size(); ++tensor) {
      Role role = problem.tensors[tensor].role;
      if ((role == Role::Input || role == Role::Intermediate) &&
          onceIn(random, 2))
        schedule.rolling.push_back(tensor);
    }
  return schedule;
}

} // namespace chimera::model
