//===- Problem.cpp - Queries and checks of a chain ------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything else in the model takes a well-formed chain for granted. This is
// where that is made sure of, once, with an error that names what is wrong.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/Problem.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace chimera::model;

bool Operator::hasLoop(LoopId loop) const { return is_contained(loops, loop); }

bool ChainProblem::isShared(LoopId loop) const {
  auto hasLoop = [&](const Operator &op) { return op.hasLoop(loop); };
  if (!all_of(operators, hasLoop))
    return false;
  for (const Tensor &tensor : tensors)
    if (tensor.role == Role::Intermediate && !is_contained(tensor.dims, loop))
      return false;
  return true;
}

bool ChainProblem::isReduction(LoopId loop) const {
  return any_of(operators, [&](const Operator &op) {
    return op.hasLoop(loop) && !indexes(op.output, loop);
  });
}

bool ChainProblem::indexes(TensorId tensor, LoopId loop) const {
  return is_contained(tensors[tensor].dims, loop);
}

int64_t ChainProblem::sizeOf(TensorId tensor) const {
  int64_t size = 1;
  for (LoopId loop : tensors[tensor].dims)
    size *= loops[loop].extent;
  return size;
}

int64_t ChainProblem::multiplyAdds(const Operator &op) const {
  int64_t count = 1;
  for (LoopId loop : op.loops)
    count *= loops[loop].extent;
  return count;
}

int64_t ChainProblem::multiplyAdds() const {
  int64_t count = 0;
  for (const Operator &op : operators)
    count += multiplyAdds(op);
  return count;
}

//===----------------------------------------------------------------------===//
// check
//===----------------------------------------------------------------------===//

namespace {

/// Looks for the first thing that is wrong with a problem.
class ProblemChecker {
public:
  explicit ProblemChecker(const ChainProblem &problem) : problem(problem) {}

  /// An empty string if nothing is wrong.
  std::string run();

private:
  std::string checkLoops() const;
  std::string checkSize(const Operator &op) const;
  std::string checkTensor(const Tensor &tensor) const;
  std::string checkIds(const Operator &op) const;
  std::string checkOperator(const Operator &op) const;
  std::string checkKernelLoop(const Operator &op, LoopId loop,
                              StringRef what) const;
  std::string checkRole(TensorId tensor) const;

  std::string nameOf(LoopId loop) const { return problem.loops[loop].name; }

  const ChainProblem &problem;
};

std::string ProblemChecker::run() {
  if (problem.operators.empty())
    return "the chain has no operators";
  if (std::string error = checkLoops(); !error.empty())
    return error;
  for (const Tensor &tensor : problem.tensors)
    if (std::string error = checkTensor(tensor); !error.empty())
      return "tensor '" + tensor.name + "': " + error;
  for (const Operator &op : problem.operators) {
    std::string error = checkIds(op);
    if (error.empty())
      error = checkOperator(op);
    if (error.empty())
      error = checkSize(op);
    if (!error.empty())
      return "operator '" + op.name + "': " + error;
  }
  for (TensorId tensor = 0; tensor < problem.tensors.size(); ++tensor)
    if (std::string error = checkRole(tensor); !error.empty())
      return "tensor '" + problem.tensors[tensor].name + "': " + error;
  return "";
}

/// No tensor moves more elements than its operator has multiply-adds, so this
/// keeps all figures of the model far from overflowing.
std::string ProblemChecker::checkSize(const Operator &op) const {
  constexpr int64_t most = int64_t(1) << 53;
  int64_t points = 1;
  for (LoopId loop : op.loops)
    if (MulOverflow(points, problem.loops[loop].extent, points) ||
        points > most)
      return "it has more than 2^53 multiply-adds, which the model does not "
             "count";
  return "";
}

std::string ProblemChecker::checkLoops() const {
  // Sets of loops are bit masks.
  if (problem.loops.size() > 64)
    return "the chain has " + std::to_string(problem.loops.size()) +
           " loops; the model takes at most 64";
  for (const Loop &loop : problem.loops)
    if (loop.extent < 1)
      return "loop '" + loop.name + "' has extent " +
             std::to_string(loop.extent) + ", which is below 1";
  return "";
}

std::string ProblemChecker::checkTensor(const Tensor &tensor) const {
  if (tensor.elementBytes < 1)
    return "its elements have " + std::to_string(tensor.elementBytes) +
           " bytes";
  SmallSet<LoopId, 4> seen;
  for (LoopId loop : tensor.dims) {
    if (loop >= problem.loops.size())
      return "a dimension is indexed by unknown loop " + std::to_string(loop);
    if (!seen.insert(loop).second)
      return "loop '" + nameOf(loop) + "' indexes two of its dimensions";
  }
  if (tensor.role != Role::Intermediate &&
      tensor.strides.size() != tensor.dims.size())
    return "it has " + std::to_string(tensor.dims.size()) + " dimensions but " +
           std::to_string(tensor.strides.size()) + " strides";
  return "";
}

std::string ProblemChecker::checkIds(const Operator &op) const {
  SmallSet<LoopId, 6> seen;
  for (LoopId loop : op.loops) {
    if (loop >= problem.loops.size())
      return "unknown loop " + std::to_string(loop);
    if (!seen.insert(loop).second)
      return "loop '" + nameOf(loop) + "' is listed twice";
  }
  SmallVector<TensorId, 6> ids(op.inputs.begin(), op.inputs.end());
  ids.append(op.epilogue.begin(), op.epilogue.end());
  ids.push_back(op.output);
  for (TensorId id : ids)
    if (id >= problem.tensors.size())
      return "unknown tensor " + std::to_string(id);
  if (op.inputs.empty())
    return "it has no inputs";
  return "";
}

std::string ProblemChecker::checkOperator(const Operator &op) const {
  auto outside = [&](TensorId id, auto &&inside) -> std::string {
    for (LoopId loop : problem.tensors[id].dims)
      if (!inside(loop))
        return "tensor '" + problem.tensors[id].name +
               "' is indexed by loop '" + nameOf(loop) +
               "', which is not one of ";
    return "";
  };
  auto ofOperator = [&](LoopId loop) { return op.hasLoop(loop); };
  auto ofOutput = [&](LoopId loop) { return problem.indexes(op.output, loop); };
  if (std::string error = outside(op.output, ofOperator); !error.empty())
    return error + "the operator's";
  for (TensorId input : op.inputs)
    if (std::string error = outside(input, ofOperator); !error.empty())
      return error + "the operator's";
  for (TensorId operand : op.epilogue)
    if (std::string error = outside(operand, ofOutput); !error.empty())
      return error + "the output's";
  for (LoopId loop : op.loops) {
    auto indexed = [&](TensorId input) { return problem.indexes(input, loop); };
    if (!ofOutput(loop) && none_of(op.inputs, indexed))
      return "loop '" + nameOf(loop) + "' indexes none of its tensors";
  }
  std::string error = checkKernelLoop(op, op.vectorLoop, "vector");
  return error.empty() ? checkKernelLoop(op, op.rowLoop, "row") : error;
}

std::string ProblemChecker::checkKernelLoop(const Operator &op, LoopId loop,
                                            StringRef what) const {
  if (!op.hasLoop(loop))
    return "its " + what.str() + " loop is not one of its loops";
  auto indexed = [&](TensorId input) { return problem.indexes(input, loop); };
  if (!problem.indexes(op.output, loop) || none_of(op.inputs, indexed))
    return "its " + what.str() + " loop '" + nameOf(loop) +
           "' must index the output and an input";
  return "";
}

std::string ProblemChecker::checkRole(TensorId tensor) const {
  unsigned producers = 0, firstConsumer = ~0u, producer = 0;
  for (const auto &[index, op] : enumerate(problem.operators)) {
    if (op.output == tensor) {
      ++producers;
      producer = index;
    }
    if (is_contained(op.inputs, tensor) || is_contained(op.epilogue, tensor))
      firstConsumer = std::min<unsigned>(firstConsumer, index);
  }
  bool consumed = firstConsumer != ~0u;
  switch (problem.tensors[tensor].role) {
  case Role::Input:
    if (producers)
      return "an operator produces it, but it is an input of the chain";
    return consumed ? "" : "no operator reads it";
  case Role::Output:
    if (consumed)
      return "an operator reads it, but it is an output of the chain";
    break;
  case Role::Intermediate:
    if (!consumed)
      return "it is an intermediate without consumer";
    if (producers == 1 && firstConsumer <= producer)
      return "it is read before it is produced";
    break;
  }
  if (producers != 1)
    return "it has " + std::to_string(producers) + " producers instead of one";
  return "";
}

} // namespace

Error ChainProblem::check() const {
  std::string error = ProblemChecker(*this).run();
  if (error.empty())
    return Error::success();
  return createStringError(Twine(error));
}
