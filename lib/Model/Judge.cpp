//===- Judge.cpp - Fuse or not, and why -----------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fusion is a means, not an end. The fused plan competes with the best plans of
// the separate operators under the same model, and the figures of both are kept
// for the report.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/Algorithms.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace chimera::model;

StringRef chimera::model::describe(Reason reason) {
  switch (reason) {
  case Reason::SavesTraffic:
    return "the intermediate stays on chip";
  case Reason::SavesTime:
    return "one pass has less overhead than separate ones";
  case Reason::DoesNotFit:
    return "no fused plan fits the memory levels";
  case Reason::UnfusedIsFaster:
    return "separate operators are predicted to be faster";
  }
  return "";
}

/// Strides of a tensor that lies in memory without gaps.
static SmallVector<int64_t, 4> denseStrides(const ChainProblem &problem,
                                            const Tensor &tensor) {
  SmallVector<int64_t, 4> strides(tensor.dims.size());
  int64_t stride = 1;
  for (unsigned dim = tensor.dims.size(); dim-- > 0;) {
    strides[dim] = stride;
    stride *= problem.loops[tensor.dims[dim]].extent;
  }
  return strides;
}

namespace {

/// Copies one operator into a problem of its own and renumbers what it uses.
class Isolator {
public:
  Isolator(const ChainProblem &problem, const Operator &op)
      : problem(problem), op(op) {}

  ChainProblem run();

private:
  LoopId mapLoop(LoopId loop);
  TensorId mapTensor(TensorId tensor, Role role);

  const ChainProblem &problem;
  const Operator &op;
  ChainProblem alone;
  SmallVector<LoopId, 6> loopsTaken;
  SmallVector<TensorId, 6> tensorsTaken;
};

LoopId Isolator::mapLoop(LoopId loop) {
  auto *taken = find(loopsTaken, loop);
  LoopId mapped = taken - loopsTaken.begin();
  if (taken == loopsTaken.end()) {
    loopsTaken.push_back(loop);
    alone.loops.push_back(problem.loops[loop]);
  }
  return mapped;
}

TensorId Isolator::mapTensor(TensorId tensor, Role role) {
  auto *taken = find(tensorsTaken, tensor);
  TensorId mapped = taken - tensorsTaken.begin();
  if (taken != tensorsTaken.end())
    return mapped;
  tensorsTaken.push_back(tensor);
  Tensor copy = problem.tensors[tensor];
  if (copy.role == Role::Intermediate)
    copy.strides = denseStrides(problem, copy);
  copy.role = role;
  for (LoopId &loop : copy.dims)
    loop = mapLoop(loop);
  alone.tensors.push_back(copy);
  return mapped;
}

ChainProblem Isolator::run() {
  Operator copy = op;
  for (LoopId &loop : copy.loops)
    loop = mapLoop(loop);
  for (TensorId &input : copy.inputs)
    input = mapTensor(input, Role::Input);
  for (TensorId &operand : copy.epilogue)
    operand = mapTensor(operand, Role::Input);
  copy.output = mapTensor(copy.output, Role::Output);
  copy.vectorLoop = mapLoop(copy.vectorLoop);
  copy.rowLoop = mapLoop(copy.rowLoop);
  alone.operators.push_back(copy);
  return alone;
}

} // namespace

ChainProblem chimera::model::isolate(const ChainProblem &problem, unsigned op) {
  return Isolator(problem, problem.operators[op]).run();
}

/// Fills in the plans of the separate operators; false if one has none.
static bool judgeUnfused(const ChainProblem &problem, const Machine &machine,
                         const SolveOptions &options, Verdict &verdict) {
  verdict.unfusedBytes.assign(machine.levels.size(), 0);
  for (unsigned op = 0; op < problem.operators.size(); ++op) {
    std::optional<Plan> plan = solve(isolate(problem, op), machine, options);
    if (!plan)
      return false;
    verdict.unfusedSeconds += plan->seconds;
    for (auto [total, level] : zip(verdict.unfusedBytes, plan->levels))
      total += level.bytes;
    verdict.unfused.push_back(*plan);
  }
  return true;
}

/// Bytes of `level` and of everything nearer to the cores, registers included,
/// of all threads together: a bound has to allow for all of them.
static int64_t nearBytes(const ChainProblem &problem, const Machine &machine,
                         int64_t threads, unsigned level) {
  int64_t elementBytes = 0;
  for (const Tensor &tensor : problem.tensors)
    elementBytes = std::max(elementBytes, tensor.elementBytes);
  const VectorUnit &unit = machine.unit;
  int64_t bytes = threads * unit.registers * unit.lanes * elementBytes;
  for (const MemoryLevel &near : ArrayRef(machine.levels).drop_front(level)) {
    int64_t sharers = std::max<int64_t>(1, near.sharers);
    bytes += divideCeilSigned(threads, sharers) * near.capacityBytes;
  }
  return bytes;
}

SmallVector<int64_t, 3>
chimera::model::lowerBounds(const ChainProblem &problem, const Machine &machine,
                            const SolveOptions &options) {
  SmallVector<int64_t, 3> bounds;
  for (unsigned level = 0; level < machine.levels.size(); ++level)
    bounds.push_back(lowerBound(
        problem, nearBytes(problem, machine, options.threads, level)));
  return bounds;
}

Verdict chimera::model::judge(const ChainProblem &problem,
                              const Machine &machine,
                              const SolveOptions &options) {
  Verdict verdict;
  verdict.boundBytes = lowerBounds(problem, machine, options);
  verdict.fused = solve(problem, machine, options);
  bool canSplit = judgeUnfused(problem, machine, options, verdict);
  if (!verdict.fused)
    return verdict;
  verdict.fuse = !canSplit || verdict.fused->seconds < verdict.unfusedSeconds;
  if (!verdict.fuse)
    verdict.reason = Reason::UnfusedIsFaster;
  else if (canSplit &&
           verdict.fused->levels.front().bytes >= verdict.unfusedBytes.front())
    verdict.reason = Reason::SavesTime;
  else
    verdict.reason = Reason::SavesTraffic;
  return verdict;
}
