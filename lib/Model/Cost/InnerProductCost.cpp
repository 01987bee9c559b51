//===- InnerProductCost.cpp - Products of a few rows with a matrix --------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A matrix whose rows lie along the reduction is multiplied where it is by up
// to four vectors: a vector of sums for each element of the result, whose lanes
// are combined at the end. No register tile has a part in it.
//
//===----------------------------------------------------------------------===//

#include "Cost/CostModel.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace llvm;
using namespace chimera::model;

/// To combine the lanes of several sums, two of them are shuffled and added for
/// each. Shuffles have as many ports as FMAs.
static constexpr double shufflesPerSum = 2;

const Access *CostModel::matrixReadInRows(const Operator &op) const {
  const auto *matrix = find_if(op.inputs, [&](const Access &input) {
    return input.hasLoop(op.vectorLoop) &&
           problem.tensors[input].role == Role::Input &&
           isReadInRows(op, input);
  });
  return matrix == op.inputs.end() ? nullptr : matrix;
}

double CostModel::innerProductCycles(const Operator &op, const Access &matrix,
                                     ArrayRef<ArrayRef<Parts>> parts) const {
  const VectorUnit &unit = machine.unit;
  // Elements of the result and of what is read of the matrix for one vector of
  // the reduction, blocks of them, and vectors and blocks of the reduction.
  double sums = 1, columns = 1, blocks = 1, vectors = 0, depths = 0;
  for (LoopId loop : op.loops) {
    if (op.isReduction(loop)) {
      for (Parts depth : parts[loop]) {
        vectors += static_cast<double>(depth.count) *
                   divideCeilSigned(depth.size, unit.lanes * unit.depth);
        depths += depth.count;
      }
      continue;
    }
    double all = totalOf(parts[loop]);
    sums *= all;
    blocks *= countOf(parts[loop]);
    if (matrix.hasLoop(loop))
      columns *= all;
  }
  double products =
      vectors * std::max(sums / unit.fmaPerCycle, columns / unit.loadsPerCycle);
  double waiting = unit.fmaLatency * lanesTogether(unit);
  double kept =
      sums / unit.lanes * (1 / unit.loadsPerCycle + 1 / unit.storesPerCycle);
  return products + depths * sums * shufflesPerSum / unit.fmaPerCycle +
         (depths - 1) * kept +
         blocks * depths * (waiting + machine.overheads.blockCycles);
}
