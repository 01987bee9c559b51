//===- Bounds.cpp - Bytes no schedule can avoid ---------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan's volume means little without knowing how far down it could go. The
// bounds here hold for every order of the multiply-adds of the standard
// algorithm, tiled or not, as long as none of them is done twice. docs/model.md
// has the proofs; the names B0 to B4 are those used there.
//
// All sizes are in bytes. The work of a contraction is weighted with the root
// of its tensors' element sizes, which makes the element-counting proof go
// through.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/Algorithms.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

using namespace llvm;
using namespace chimera::model;

namespace {

/// sqrt(27/32): where the two branches of psi meet.
const double psiKnee = std::sqrt(27.0 / 32.0);

class BoundCalculator {
public:
  BoundCalculator(const ChainProblem &problem, int64_t capacityBytes);

  int64_t run() const;

private:
  /// Transfers that `work` needs if `free` bytes of one class arrive for free.
  double psi(double work, double free) const;
  double workOf(const Operator &op) const;
  double bytesOf(TensorId tensor) const;
  double contractionBound() const;
  double chainBound() const;
  double epilogueBytes() const;
  bool isContraction(const Operator &op) const;
  /// The factor that is not `known`.
  TensorId otherInput(const Operator &op, TensorId known) const;

  const ChainProblem &problem;
  double largestElement = 0;
  /// With mixed element sizes a window may overshoot by one element, so the
  /// proofs work with a capacity that is one element larger.
  double capacity;
  double overshoot = 0;
};

BoundCalculator::BoundCalculator(const ChainProblem &problem,
                                 int64_t capacityBytes)
    : problem(problem), capacity(capacityBytes) {
  double smallest = problem.tensors.front().elementBytes;
  for (const Tensor &tensor : problem.tensors) {
    largestElement = std::max<double>(largestElement, tensor.elementBytes);
    smallest = std::min<double>(smallest, tensor.elementBytes);
  }
  if (smallest != largestElement)
    overshoot = largestElement;
  capacity += overshoot;
}

double BoundCalculator::psi(double work, double free) const {
  if (work <= psiKnee * free * std::sqrt(capacity))
    return work * work / (free * capacity);
  return 2 * psiKnee * work / std::sqrt(capacity) - psiKnee * psiKnee * free;
}

double BoundCalculator::bytesOf(TensorId tensor) const {
  return static_cast<double>(problem.sizeOf(tensor)) *
         problem.tensors[tensor].elementBytes;
}

double BoundCalculator::workOf(const Operator &op) const {
  double weight = problem.tensors[op.output].elementBytes;
  for (TensorId input : op.inputs)
    weight *= problem.tensors[input].elementBytes;
  return problem.multiplyAdds(op) * std::sqrt(weight);
}

/// The proofs rest on the Loomis-Whitney inequality, which asks that every loop
/// indexes at least two of the three tensors.
bool BoundCalculator::isContraction(const Operator &op) const {
  if (op.inputs.size() != 2 || op.inputs[0] == op.inputs[1])
    return false;
  return all_of(op.loops, [&](LoopId loop) {
    return problem.indexes(op.inputs[0], loop) +
               problem.indexes(op.inputs[1], loop) +
               problem.indexes(op.output, loop) >=
           2;
  });
}

TensorId BoundCalculator::otherInput(const Operator &op, TensorId known) const {
  return op.inputs[0] == known ? op.inputs[1] : op.inputs[0];
}

/// C = A * B.
double BoundCalculator::contractionBound() const {
  const Operator &op = problem.operators[0];
  double work = workOf(op), bound = 2 * work / std::sqrt(capacity) - capacity;
  for (TensorId tensor : {op.inputs[0], op.inputs[1], op.output})
    bound = std::max(bound, bytesOf(tensor) + psi(work, bytesOf(tensor)));
  return bound;
}

/// E = (A * B) * D, with the intermediate C. What meets the rows of C and what
/// meets its columns form two classes; either factor of C may stand on either
/// side, so both pairings give bounds.
double BoundCalculator::chainBound() const {
  const Operator &first = problem.operators[0], &second = problem.operators[1];
  double work = workOf(first) + workOf(second);
  double c = bytesOf(first.output), e = bytesOf(second.output);
  double d = bytesOf(otherInput(second, first.output));
  double b1 = psi(work, c);
  double b2 = 2 * work / std::sqrt(capacity) - c - capacity;
  double bound = std::max(b1, b2);
  for (unsigned mate : {0, 1}) {
    double rows = bytesOf(first.inputs[mate]) + e;
    double columns = bytesOf(first.inputs[1 - mate]) + d;
    double b3 = rows + psi(work, rows) - c;
    double b4 = columns + psi(work, columns) - c;
    bound = std::max({bound, b3, b4});
  }
  return bound;
}

/// What only epilogues read arrives on top of everything else.
double BoundCalculator::epilogueBytes() const {
  double bytes = 0;
  for (TensorId tensor = 0; tensor < problem.tensors.size(); ++tensor)
    if (problem.tensors[tensor].role == Role::Input &&
        none_of(problem.operators, [&](const Operator &op) {
          return is_contained(op.inputs, tensor);
        }))
      bytes += bytesOf(tensor);
  return bytes;
}

int64_t BoundCalculator::run() const {
  double compulsory = 0;
  for (TensorId tensor = 0; tensor < problem.tensors.size(); ++tensor)
    if (problem.tensors[tensor].role != Role::Intermediate)
      compulsory += bytesOf(tensor);
  double bound = 0;
  if (all_of(problem.operators,
             [&](const Operator &op) { return isContraction(op); })) {
    if (problem.operators.size() == 1)
      bound = contractionBound();
    if (problem.operators.size() == 2 &&
        is_contained(problem.operators[1].inputs, problem.operators[0].output))
      bound = chainBound();
  }
  bound += epilogueBytes() - overshoot;
  return static_cast<int64_t>(std::ceil(std::max(compulsory, bound) - 1e-6));
}

} // namespace

int64_t chimera::model::lowerBound(const ChainProblem &problem,
                                   int64_t capacityBytes) {
  return BoundCalculator(problem, capacityBytes).run();
}
