//===- Isolate.cpp - Neighbouring operators by themselves -----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators that run as a kernel of their own are a problem of their own: what
// others make is an input, what others read is an output.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/Algorithms.h"
#include "Problem/Structure.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace chimera::model;

/// Strides of a tensor that lies in memory without gaps.
static SmallVector<int64_t, 4> denseStrides(const Tensor &tensor) {
  SmallVector<int64_t, 4> strides(tensor.shape.size());
  int64_t stride = 1;
  for (unsigned dim = tensor.shape.size(); dim-- > 0;) {
    strides[dim] = stride;
    stride *= tensor.shape[dim];
  }
  return strides;
}

namespace {

/// Copies neighbouring operators into a problem of their own and renumbers what
/// they use.
class Isolator {
public:
  Isolator(const ChainProblem &problem, unsigned first, unsigned last)
      : problem(problem), structure(problem), group{first, last} {}

  ChainProblem run();

private:
  LoopId mapLoop(LoopId loop);
  Access mapAccess(const Access &access);
  TensorId mapTensor(TensorId tensor);
  void addOperator(unsigned index);
  void addBands();
  void countOthers();
  void setRole(TensorId tensor, Tensor &copy) const;
  bool readsInside(const Operator &op) const;
  std::optional<LoopId> rowOf(unsigned index) const;

  const ChainProblem &problem;
  ChainStructure structure;
  Group group;
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

/// What a tensor is to the operators alone.
void Isolator::setRole(TensorId tensor, Tensor &copy) const {
  if (copy.role != Role::Intermediate)
    return;
  bool isMade = group.has(*structure.producerOf(tensor));
  OperatorSet readers = structure.readersOf(tensor);
  bool isReadInside = readers & group.set();
  bool isWanted = copy.isStored || !group.covers(readers);
  copy.isStored = isMade && isReadInside && isWanted;
  if (isMade && isReadInside)
    return;
  copy.role = isMade ? Role::Output : Role::Input;
  copy.strides = denseStrides(copy);
  copy.hasRowsApart = true;
}

TensorId Isolator::mapTensor(TensorId tensor) {
  auto *taken = find(tensorsTaken, tensor);
  TensorId mapped = taken - tensorsTaken.begin();
  if (taken == tensorsTaken.end()) {
    tensorsTaken.push_back(tensor);
    Tensor copy = problem.tensors[tensor];
    setRole(tensor, copy);
    alone.tensors.push_back(std::move(copy));
  }
  return mapped;
}

Access Isolator::mapAccess(const Access &access) {
  Access copy = access;
  copy.tensor = mapTensor(access);
  for (Index &index : copy.indices)
    for (Term &term : index.terms)
      term.loop = mapLoop(term.loop);
  return copy;
}

bool Isolator::readsInside(const Operator &op) const {
  return any_of(op.inputs, [&](const Access &input) {
    std::optional<unsigned> producer = structure.producerOf(input);
    return producer && group.has(*producer);
  });
}

/// The loop along which what `index` makes has to be complete before its
/// reader, which is outside, sees any of it: nobody corrects it there.
std::optional<LoopId> Isolator::rowOf(unsigned index) const {
  for (const auto &[reader, op] : enumerate(problem.operators))
    if (op.rescaledBy && !group.has(reader) &&
        is_contained(op.inputs, problem.operators[index].output.tensor))
      return op.rescaledBy;
  return std::nullopt;
}

void Isolator::addOperator(unsigned index) {
  Operator copy = problem.operators[index];
  // What is finished when it is read needs no correction.
  if (!readsInside(copy)) {
    copy.states.clear();
    copy.rescaledBy.reset();
  }
  if (std::optional<LoopId> row = rowOf(index)) {
    copy.completes.push_back(*row);
    copy.scoreInstructions.reset();
  }
  for (LoopId &loop : copy.loops)
    loop = mapLoop(loop);
  for (Access &input : copy.inputs)
    input = mapAccess(input);
  for (Access &operand : copy.epilogue)
    operand = mapAccess(operand);
  for (Access &state : copy.states)
    state = mapAccess(state);
  copy.output = mapAccess(copy.output);
  for (LoopId &loop : copy.completes)
    loop = mapLoop(loop);
  if (copy.rescaledBy)
    copy.rescaledBy = mapLoop(*copy.rescaledBy);
  copy.vectorLoop = mapLoop(copy.vectorLoop);
  copy.rowLoop = mapLoop(copy.rowLoop);
  alone.operators.push_back(std::move(copy));
}

/// The masks of softmaxes that stay whole. Of one that is cut, the scores are
/// made in full, and so is what is read of them.
void Isolator::addBands() {
  for (Band band : problem.bands) {
    if (!is_contained(loopsTaken, band.row) ||
        !is_contained(loopsTaken, band.column))
      continue;
    band.row = mapLoop(band.row);
    band.column = mapLoop(band.column);
    if (any_of(alone.operators, [&](const Operator &op) {
          return op.rescaledBy == band.column && op.hasLoop(band.row);
        }))
      alone.bands.push_back(band);
  }
}

/// Of the whole chain, what comes from outside and leaves.
void Isolator::countOthers() {
  alone.otherBytes = problem.otherBytes;
  for (const auto &[id, tensor] : enumerate(problem.tensors)) {
    bool isOutside = tensor.role == Role::Input || tensor.role == Role::Output;
    if (isOutside && !is_contained(tensorsTaken, id))
      alone.otherBytes += problem.sizeOf(id) * tensor.elementBytes;
  }
}

ChainProblem Isolator::run() {
  for (unsigned index = group.first; index <= group.last; ++index)
    addOperator(index);
  addBands();
  countOthers();
  return std::move(alone);
}

} // namespace

ChainProblem chimera::model::isolate(const ChainProblem &problem,
                                     unsigned first, unsigned last) {
  return Isolator(problem, first, last).run();
}
