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

#include "Problem/Structure.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"

#include <cstdlib>
#include <tuple>

using namespace llvm;
using namespace chimera::model;

StringRef chimera::model::describe(Role role) {
  switch (role) {
  case Role::Input:
    return "input";
  case Role::Output:
    return "output";
  case Role::Intermediate:
    return "intermediate";
  case Role::State:
    return "state";
  }
  llvm_unreachable("unknown role");
}

static std::string describe(const ChainProblem &problem, const Index &index,
                            StringRef times) {
  auto describeTerm = [&](const Term &term) {
    std::string factor =
        term.factor == 1 ? "" : std::to_string(term.factor) + times.str();
    return factor + problem.loops[term.loop].name;
  };
  std::string text = join(map_range(index.terms, describeTerm), " + ");
  if (text.empty())
    return std::to_string(index.offset);
  if (index.offset != 0)
    text += (index.offset < 0 ? " - " : " + ") +
            std::to_string(std::abs(index.offset));
  return text;
}

std::string chimera::model::describe(const ChainProblem &problem,
                                     const Access &access, StringRef times) {
  auto describeIndex = [&](const Index &index) {
    return ::describe(problem, index, times);
  };
  return problem.tensors[access].name + "[" +
         join(map_range(access.indices, describeIndex), ", ") + "]";
}

bool Operator::hasLoop(LoopId loop) const { return is_contained(loops, loop); }

bool ChainProblem::consistsOfProducts() const {
  auto isPlain = [](const Access &access) {
    return !access.indices.empty() &&
           all_of(access.indices,
                  [](const Index &index) { return index.isLoop(); });
  };
  return all_of(operators, [&](const Operator &op) {
    return op.inputs.size() == 2 && all_of(op.inputs, isPlain) &&
           isPlain(op.output);
  });
}

bool ChainProblem::isShared(LoopId loop) const {
  auto hasLoop = [&](const Operator &op) { return op.hasLoop(loop); };
  if (!all_of(operators, hasLoop))
    return false;
  for (TensorId tensor = 0; tensor < tensors.size(); ++tensor)
    if (tensors[tensor].role == Role::Intermediate && !indexes(tensor, loop))
      return false;
  return true;
}

bool ChainProblem::isReduction(LoopId loop) const {
  return any_of(operators,
                [&](const Operator &op) { return op.isReduction(loop); });
}

bool ChainProblem::indexes(TensorId tensor, LoopId loop) const {
  auto accesses = [&](const Access &access) {
    return access == tensor && access.hasLoop(loop);
  };
  return any_of(operators, [&](const Operator &op) {
    return accesses(op.output) || any_of(op.inputs, accesses) ||
           any_of(op.epilogue, accesses) || any_of(op.states, accesses);
  });
}

int64_t ChainProblem::sizeOf(TensorId tensor) const {
  int64_t size = 1;
  for (int64_t extent : tensors[tensor].shape)
    size *= extent;
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
  /// What the figures of the model can count without overflow.
  static constexpr int64_t mostBytes = int64_t(1) << 56;

public:
  explicit ProblemChecker(const ChainProblem &problem) : problem(problem) {}

  /// An empty string if nothing is wrong.
  std::string run();

private:
  std::string checkLoops() const;
  std::string checkSize(const Operator &op) const;
  std::string checkTensor(const Tensor &tensor) const;
  std::string checkIds(const Operator &op) const;
  std::string checkAccess(const Access &access) const;
  std::string checkOperator(const Operator &op) const;
  std::string checkKernelLoop(const Operator &op, LoopId loop,
                              StringRef what) const;
  std::string checkRole(TensorId tensor) const;
  bool isReadThroughWindow(TensorId tensor) const;
  std::string checkDerivedLoops() const;
  bool isReadByItself(const Access &output, LoopId loop) const;

  std::string nameOf(LoopId loop) const { return problem.loops[loop].name; }

  const ChainProblem &problem;
};

std::string ProblemChecker::run() {
  if (problem.operators.empty())
    return "the chain has no operators";
  // Sets of operators are bit masks.
  if (problem.operators.size() > 32)
    return "the chain has " + std::to_string(problem.operators.size()) +
           " operators; the model takes at most 32";
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
  return checkDerivedLoops();
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
  if (tensor.elementBytes < 1 || tensor.accumulatorBytes < 0)
    return "its elements have " + std::to_string(tensor.elementBytes) +
           " bytes, its partial sums " +
           std::to_string(tensor.accumulatorBytes);
  int64_t bytes = tensor.heldBytes();
  for (int64_t extent : tensor.shape)
    if (extent < 1 || MulOverflow(bytes, extent, bytes) || bytes > mostBytes)
      return "a dimension of " + std::to_string(extent) +
             " elements is out of range";
  bool needsStrides = tensor.role == Role::Input || tensor.role == Role::Output;
  if (needsStrides && tensor.strides.size() != tensor.shape.size())
    return "it has " + std::to_string(tensor.shape.size()) +
           " dimensions but " + std::to_string(tensor.strides.size()) +
           " strides";
  if (tensor.isStored && tensor.role != Role::Intermediate)
    return "only an intermediate can be stored besides";
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
  for (LoopId loop : op.completes)
    if (!seen.contains(loop))
      return "its epilogue reduces over a loop it does not have";
  if (op.rescaledBy && !seen.contains(*op.rescaledBy))
    return "it is rescaled by a loop it does not have";
  SmallVector<Access, 6> accesses(op.inputs.begin(), op.inputs.end());
  accesses.append(op.epilogue.begin(), op.epilogue.end());
  accesses.append(op.states.begin(), op.states.end());
  accesses.push_back(op.output);
  for (const Access &access : accesses)
    if (std::string error = checkAccess(access); !error.empty())
      return error;
  if (op.inputs.empty())
    return "it has no inputs";
  return "";
}

/// What holds of an access by itself.
std::string ProblemChecker::checkAccess(const Access &access) const {
  if (access.tensor >= problem.tensors.size())
    return "unknown tensor " + std::to_string(access.tensor);
  const Tensor &tensor = problem.tensors[access.tensor];
  std::string where = "tensor '" + tensor.name + "' ";
  if (access.indices.size() != tensor.shape.size())
    return where + "has " + std::to_string(tensor.shape.size()) +
           " dimensions, but " + std::to_string(access.indices.size()) +
           " indices";
  SmallSet<LoopId, 4> seen;
  for (const Index &index : access.indices)
    for (const Term &term : index.terms) {
      if (term.loop >= problem.loops.size())
        return where + "is indexed by unknown loop " +
               std::to_string(term.loop);
      if (!seen.insert(term.loop).second)
        return where + "is indexed twice by loop '" + nameOf(term.loop) + "'";
      if (term.factor < 1)
        return where + "is indexed by loop '" + nameOf(term.loop) + "' times " +
               std::to_string(term.factor) + "; factors must be positive";
    }
  return "";
}

std::string ProblemChecker::checkOperator(const Operator &op) const {
  auto outside = [&](const Access &access, auto &&inside) -> std::string {
    for (const Index &index : access.indices)
      for (const Term &term : index.terms)
        if (!inside(term.loop))
          return "tensor '" + problem.tensors[access].name +
                 "' is indexed by loop '" + nameOf(term.loop) +
                 "', which is not one of ";
    return "";
  };
  auto ofOperator = [&](LoopId loop) { return op.hasLoop(loop); };
  auto ofOutput = [&](LoopId loop) { return op.output.hasLoop(loop); };
  if (std::string error = outside(op.output, ofOperator); !error.empty())
    return error + "the operator's";
  for (const Access &input : op.inputs)
    if (std::string error = outside(input, ofOperator); !error.empty())
      return error + "the operator's";
  for (const Access &operand : op.epilogue)
    if (std::string error = outside(operand, ofOutput); !error.empty())
      return error + "the output's";
  for (const Access &state : op.states)
    if (std::string error = outside(state, ofOutput); !error.empty())
      return error + "the output's";
  for (const auto &[dim, index] : enumerate(op.output.indices)) {
    if (!index.isLoop())
      return "dimension " + std::to_string(dim) +
             " of its output is not indexed by a loop itself";
    if (problem.loops[index.terms[0].loop].extent !=
        problem.tensors[op.output].shape[dim])
      return "loop '" + nameOf(index.terms[0].loop) +
             "' does not run over dimension " + std::to_string(dim) +
             " of its output";
  }
  for (LoopId loop : op.loops) {
    auto indexed = [&](const Access &input) { return input.hasLoop(loop); };
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
  auto indexed = [&](const Access &input) { return input.hasLoop(loop); };
  if (!op.output.hasLoop(loop) || none_of(op.inputs, indexed))
    return "its " + what.str() + " loop '" + nameOf(loop) +
           "' must index the output and an input";
  return "";
}

/// True if a reader's index is not the loop itself.
bool ProblemChecker::isReadThroughWindow(TensorId tensor) const {
  auto reads = [&](const Access &access) {
    return access == tensor && !all_of(access.indices, [](const Index &index) {
             return index.isLoop();
           });
  };
  return any_of(problem.operators, [&](const Operator &op) {
    return any_of(op.inputs, reads) || any_of(op.epilogue, reads);
  });
}

/// The range of a derived loop follows from who reads one tensor. Others whose
/// iterations it also drives must be content with that.
std::string ProblemChecker::checkDerivedLoops() const {
  ChainStructure structure(problem);
  for (LoopId loop = 0; loop < problem.loops.size(); ++loop) {
    if (!structure.isDerived(loop))
      continue;
    for (const auto &[index, op] : enumerate(problem.operators))
      if (op.hasLoop(loop) && index != structure.ownerOf(loop) &&
          !isReadByItself(op.output, loop))
        return "loop '" + nameOf(loop) + "' of operator '" + op.name +
               "' follows from the readers of another operator's result";
  }
  return "";
}

/// True if `output` is an intermediate with a dimension along `loop` that
/// everybody reads by that very loop.
bool ProblemChecker::isReadByItself(const Access &output, LoopId loop) const {
  if (problem.tensors[output].role != Role::Intermediate ||
      !output.hasLoop(loop))
    return false;
  auto reads = [&](const Access &access) {
    return access != output.tensor ||
           any_of(access.indices, [&](const Index &index) {
             return index.isLoop() && index.hasLoop(loop);
           });
  };
  return all_of(problem.operators, [&](const Operator &op) {
    return all_of(op.inputs, reads) && all_of(op.epilogue, reads);
  });
}

std::string ProblemChecker::checkRole(TensorId tensor) const {
  unsigned producers = 0, keepers = 0, firstConsumer = ~0u, producer = 0;
  auto isTensor = [&](const Access &access) { return access == tensor; };
  for (const auto &[index, op] : enumerate(problem.operators)) {
    if (op.output == tensor) {
      ++producers;
      producer = index;
    }
    keepers += count_if(op.states, isTensor);
    if (any_of(op.inputs, isTensor) || any_of(op.epilogue, isTensor))
      firstConsumer = std::min<unsigned>(firstConsumer, index);
  }
  bool isState = problem.tensors[tensor].role == Role::State;
  if (keepers != (isState ? 1 : 0))
    return "it is kept as state by " + std::to_string(keepers) + " operators";
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
    if (problem.tensors[tensor].isStored && isReadThroughWindow(tensor))
      return "it is stored, but only the windows that read it are computed";
    break;
  case Role::State:
    return producers || consumed ? "it is a state, but somebody else uses it"
                                 : "";
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

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

/// Everything of a tensor but its name.
static auto keyOf(const Tensor &tensor) {
  return std::tie(tensor.role, tensor.shape, tensor.strides,
                  tensor.elementBytes, tensor.accumulatorBytes, tensor.isStored,
                  tensor.isConstant, tensor.panelColumns, tensor.isOnlyInPanels,
                  tensor.hasRowsApart, tensor.isMadeByPass);
}

/// Everything of an operator but its name and its accesses.
static auto keyOf(const Operator &op) {
  return std::tie(op.loops, op.hasEpilogue, op.epilogueCost,
                  op.epilogueExponentials, op.routeInstructions,
                  op.decodeInstructions, op.digitInstructions,
                  op.scoreInstructions, op.completes, op.rescaledBy,
                  op.vectorLoop, op.rowLoop);
}

static bool areEqual(const Access &left, const Access &right) {
  return left.tensor == right.tensor && left.indices == right.indices;
}

static bool areEqual(ArrayRef<Access> left, ArrayRef<Access> right) {
  return equal(left, right, [](const Access &left, const Access &right) {
    return areEqual(left, right);
  });
}

static bool areAlike(const Operator &left, const Operator &right) {
  return keyOf(left) == keyOf(right) && areEqual(left.inputs, right.inputs) &&
         areEqual(left.epilogue, right.epilogue) &&
         areEqual(left.states, right.states) &&
         areEqual(left.output, right.output);
}

bool chimera::model::areAlike(const ChainProblem &left,
                              const ChainProblem &right) {
  return equal(left.loops, right.loops,
               [](const Loop &left, const Loop &right) {
                 return left.extent == right.extent &&
                        left.isOpen == right.isOpen &&
                        left.isWhole == right.isWhole;
               }) &&
         equal(left.tensors, right.tensors,
               [](const Tensor &left, const Tensor &right) {
                 return keyOf(left) == keyOf(right);
               }) &&
         equal(left.operators, right.operators,
               [](const Operator &left, const Operator &right) {
                 return ::areAlike(left, right);
               }) &&
         left.bands == right.bands;
}
