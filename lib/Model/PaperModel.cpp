//===- PaperModel.cpp - The paper's Algorithm 1 ---------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Algorithm 1 line by line, so that its figures can be set beside the exact
// ones. It knows inputs and outputs of the operators only (no epilogue
// operands), pads edges (footprint times trips), lets one-trip loops end reuse,
// charges an accumulator once and counts no buffer outside the operator that
// uses it.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/Algorithms.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace chimera::model;

namespace {

int64_t footprintOf(const Tensor &tensor, ArrayRef<int64_t> tiles) {
  int64_t footprint = 1;
  for (LoopId loop : tensor.dims)
    footprint *= tiles[loop];
  return footprint;
}

bool isPrivate(const ChainProblem &problem, LoopId loop) {
  return count_if(problem.operators,
                  [&](const Operator &op) { return op.hasLoop(loop); }) == 1;
}

/// Lines 8 to 15: the movement of one tensor of one operator.
int64_t movementOf(const ChainProblem &problem, const Operator &op,
                   TensorId tensor, ArrayRef<LoopId> permutation,
                   ArrayRef<int64_t> tiles) {
  int64_t movement = footprintOf(problem.tensors[tensor], tiles);
  bool keepReuse = true;
  for (LoopId loop : reverse(permutation)) {
    if (!op.hasLoop(loop))
      continue;
    if (problem.indexes(tensor, loop))
      keepReuse = false;
    if (!keepReuse)
      movement *= divideCeilSigned(problem.loops[loop].extent, tiles[loop]);
  }
  return movement;
}

} // namespace

PaperEstimate chimera::model::evaluatePaper(const ChainProblem &problem,
                                            ArrayRef<LoopId> permutation,
                                            ArrayRef<int64_t> tiles) {
  PaperEstimate estimate;
  estimate.movement.resize(problem.tensors.size());
  estimate.footprint.resize(problem.tensors.size());
  SmallVector<LoopId, 6> remaining(permutation);
  for (const Operator &op : problem.operators) {
    int64_t totalFootprint = 0;
    SmallVector<TensorId, 3> tensors(op.inputs.begin(), op.inputs.end());
    tensors.push_back(op.output);
    for (TensorId tensor : tensors) {
      estimate.footprint[tensor] = footprintOf(problem.tensors[tensor], tiles);
      totalFootprint += estimate.footprint[tensor];
      if (problem.tensors[tensor].role == Role::Intermediate)
        continue;
      int64_t movement = movementOf(problem, op, tensor, remaining, tiles);
      estimate.movement[tensor] += movement;
      estimate.volume += movement;
    }
    erase_if(remaining, [&](LoopId loop) {
      return op.hasLoop(loop) && isPrivate(problem, loop);
    });
    estimate.memoryUsage = std::max(estimate.memoryUsage, totalFootprint);
  }
  return estimate;
}
