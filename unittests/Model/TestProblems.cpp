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
  Tensor tensor;
  tensor.name = name.str();
  tensor.role = role;
  tensor.elementBytes = elementBytes;
  tensor.dims.assign(dims.begin(), dims.end());
  if (role != Role::Intermediate) {
    tensor.strides.resize(dims.size());
    int64_t stride = 1;
    for (unsigned dim = dims.size(); dim-- > 0;) {
      tensor.strides[dim] = stride;
      stride *= problem.loops[dims[dim]].extent;
    }
  }
  problem.tensors.push_back(tensor);
  return problem.tensors.size() - 1;
}

Operator &ProblemBuilder::contraction(StringRef name, ArrayRef<TensorId> inputs,
                                      TensorId output, LoopId rowLoop,
                                      LoopId vectorLoop) {
  Operator op;
  op.name = name.str();
  op.inputs.assign(inputs.begin(), inputs.end());
  op.output = output;
  op.rowLoop = rowLoop;
  op.vectorLoop = vectorLoop;
  SmallVector<TensorId, 4> tensors(inputs.begin(), inputs.end());
  tensors.push_back(output);
  for (TensorId tensor : tensors)
    for (LoopId loop : problem.tensors[tensor].dims)
      if (!op.hasLoop(loop))
        op.loops.push_back(loop);
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
  up.epilogue = {tg};
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
  return machine;
}

//===----------------------------------------------------------------------===//
// Random cases
//===----------------------------------------------------------------------===//

static int64_t pick(std::mt19937 &random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

/// Gives `op` an epilogue with an operand over some of the output's dimensions.
static void addRandomEpilogue(std::mt19937 &random, ProblemBuilder &builder,
                              Operator &op) {
  op.hasEpilogue = true;
  SmallVector<LoopId, 4> dims;
  for (LoopId loop : builder.problem.tensors[op.output].dims)
    if (pick(random, 0, 1))
      dims.push_back(loop);
  if (dims.empty())
    return;
  op.epilogue.push_back(builder.tensor(
      "X" + std::to_string(builder.problem.tensors.size()), Role::Input, dims));
}

ChainProblem makeRandomProblem(std::mt19937 &random, int64_t maxExtent) {
  auto extent = [&] { return pick(random, 1, maxExtent); };
  ProblemBuilder builder;
  switch (pick(random, 0, 4)) {
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
  default:
    builder.problem =
        makeTriple(extent(), extent(), extent(), extent(), extent());
    break;
  }
  for (Tensor &tensor : builder.problem.tensors)
    tensor.elementBytes = int64_t(1) << pick(random, 0, 2);
  for (Operator &op : builder.problem.operators)
    if (pick(random, 0, 3) == 0)
      addRandomEpilogue(random, builder, op);
  return builder.problem;
}

Schedule makeRandomSchedule(std::mt19937 &random, const ChainProblem &problem,
                            unsigned numLevels) {
  SmallVector<int64_t, 6> size;
  SmallVector<LoopId, 6> loops;
  for (LoopId loop = 0; loop < problem.loops.size(); ++loop) {
    size.push_back(problem.loops[loop].extent);
    loops.push_back(loop);
  }
  Schedule schedule;
  for (unsigned level = 0; level < numLevels; ++level) {
    schedule.levels.emplace_back();
    std::shuffle(loops.begin(), loops.end(), random);
    for (LoopId loop : loops) {
      if (pick(random, 0, 3) == 0)
        continue;
      size[loop] = pick(random, 1, size[loop]);
      schedule.levels.back().order.push_back({loop, size[loop]});
    }
  }
  return schedule;
}

std::string reproducer(const ChainProblem &problem, const Schedule &schedule) {
  std::string text = "loops";
  for (const Loop &loop : problem.loops)
    text += " " + loop.name + "=" + std::to_string(loop.extent);
  text += "; tensors";
  for (const Tensor &tensor : problem.tensors) {
    text += " " + tensor.name + "[";
    for (LoopId loop : tensor.dims)
      text += problem.loops[loop].name;
    text += "]x" + std::to_string(tensor.elementBytes);
  }
  for (const Operator &op : problem.operators) {
    text += "; " + op.name + (op.hasEpilogue ? " with epilogue" : "");
    for (TensorId operand : op.epilogue)
      text += " " + problem.tensors[operand].name;
  }
  for (const LevelSchedule &level : schedule.levels) {
    text += "; order";
    for (const TiledLoop &entry : level.order)
      text += " " + problem.loops[entry.loop].name + ":" +
              std::to_string(entry.tile);
  }
  return text;
}

LoopId loopNamed(const ChainProblem &problem, StringRef name) {
  auto *loop = find_if(problem.loops,
                       [&](const Loop &loop) { return loop.name == name; });
  return loop - problem.loops.begin();
}

Schedule singleLevel(ArrayRef<TiledLoop> order) {
  Schedule schedule;
  schedule.levels.emplace_back();
  schedule.levels.back().order.assign(order.begin(), order.end());
  return schedule;
}

} // namespace chimera::model
