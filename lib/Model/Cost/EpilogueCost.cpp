//===- EpilogueCost.cpp - Work element by element beside products ---------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is done to each element between contractions, and what a softmax takes
// whose rows are made in parts.
//
//===----------------------------------------------------------------------===//

#include "Cost/CostModel.h"

#include "Chimera/Model/Routes.h"

#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace chimera::model;

/// Vectors of what `op` makes. Kernels that work in caches go row by row: a row
/// of few columns, such as scores of two keys, takes a vector like a longer
/// one.
double CostModel::countResultVectors(const Operator &op) const {
  auto elements = static_cast<double>(problem.sizeOf(op.output));
  int64_t lanes = machine.unit.lanes;
  if (machine.levels.back().ways == 0 || !op.output.hasLoop(op.vectorLoop))
    return elements / lanes;
  int64_t columns = problem.loops[op.vectorLoop].extent;
  return elements / columns * divideCeilSigned(columns, lanes);
}

double CostModel::epilogueCycles(const Operator &op, bool inRegisters) const {
  if (machine.matrix && machine.groups)
    return groupEpilogueCycles(op);
  if ((!op.hasEpilogue && op.epilogue.empty()) || leavesByRoute(op, machine))
    return 0;
  const VectorUnit &unit = machine.unit;
  double vectors = countResultVectors(op);
  // A matrix unit's sums are not in vector registers, nor are functions
  // computed beside sums.
  bool isPass = !inRegisters || machine.matrix || op.epilogueExponentials > 0;
  double loads = isPass + op.epilogue.size(), stores = isPass;
  double instructions =
      op.epilogueCost + op.epilogueExponentials * unit.exponentialCost;
  return vectors * (instructions / unit.fmaPerCycle +
                    loads / unit.loadsPerCycle + stores / unit.storesPerCycle);
}

double CostModel::rescaleCycles(const Operator &op, int64_t parts) const {
  if (!op.rescaledBy)
    return 0;
  if (machine.matrix && machine.groups)
    return groupRescaleCycles(op, parts);
  const VectorUnit &unit = machine.unit;
  double vectors = countResultVectors(op);
  // Each part but the first multiplies what is there.
  return (parts - 1) * vectors *
         (1 / unit.fmaPerCycle + 1 / unit.loadsPerCycle +
          1 / unit.storesPerCycle);
}

/// In each part lanes are brought together for the maximum and the sum of its
/// rows. Each but the first goes on from those of the parts before, and the
/// exponential of what the maximum has grown by is waited for. Instructions of
/// one row depend on each other; those of the other rows of a block fill the
/// gaps.
double CostModel::softmaxPartCycles(const Operator &op,
                                    const Work &work) const {
  if (!op.rescaledBy || machine.levels.back().ways == 0)
    return 0;
  const VectorUnit &unit = machine.unit;
  int64_t rows = 1, blocks = 1;
  for (LoopId loop : op.loops)
    if (op.output.hasLoop(loop) && loop != op.vectorLoop) {
      rows *= problem.loops[loop].extent;
      blocks *= countOf(work.parts[loop]);
    }
  // Of a maximum and a sum.
  double halving = 2 * lanesTogether(unit);
  double instructions =
      halving + (work.rescales - 1) * (unit.exponentialCost + halving);
  return instructions *
         (blocks * unit.fmaLatency + (rows - blocks) / unit.fmaPerCycle);
}

/// Each part is scaled and added, which takes as long as to rescale it. The
/// other parallel loops share the work, once all parts are there.
double CostModel::combineSeconds(const Schedule &schedule) const {
  int64_t parts = countSplitParts(schedule);
  if (parts == 1)
    return 0;
  if (machine.matrix && machine.groups)
    return groupCombineCycles(schedule, parts) / machine.contractionClock();
  Tasks tasks = evenTasks(tasksOf(schedule).count / parts);
  return tasks.busiestShare *
             rescaleCycles(problem.operators.back(), parts + 1) /
             machine.contractionClock() +
         startSeconds(tasks);
}
