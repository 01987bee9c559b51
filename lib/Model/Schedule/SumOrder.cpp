//===- SumOrder.cpp - The order in which a sum is taken -------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A result has the same bits in every plan, so the order of its sums is up to
// the problem and the target. One loop is taken from its begin to its end,
// whatever cuts it. Of several, kernels take a part of the innermost by turns
// with all of the others, so tiles have to end where parts do.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/Algorithms.h"

#include "Schedule/LoopTree.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace llvm;
using namespace chimera::model;

/// Steps of all loops with one part, at most: for two vectors of columns the
/// constants of 3 x 3 taps and a whole long part, 147 KB of eight lanes, 295 of
/// sixteen, fit the second level of a processor.
static constexpr int64_t mostStepsOfPart = 9 * longReductionPart;

int64_t chimera::model::longPartOf(const Machine &machine) {
  return machine.matrix ? 0 : longReductionPart;
}

/// The loops over which `op` adds up, outermost first. One iteration is no
/// loop.
static SmallVector<LoopId, 4> reductionsOf(const ChainProblem &problem,
                                           const Operator &op) {
  SmallVector<LoopId, 4> reductions;
  for (LoopId loop : op.loops)
    if (op.isReduction(loop) &&
        (problem.loops[loop].extent > 1 || problem.loops[loop].isOpen))
      reductions.push_back(loop);
  return reductions;
}

std::optional<LoopId> chimera::model::partedLoop(const ChainProblem &problem,
                                                 const Operator &op) {
  SmallVector<LoopId, 4> reductions = reductionsOf(problem, op);
  if (reductions.size() < 2)
    return std::nullopt;
  return reductions.back();
}

bool chimera::model::hasConstantVectors(const ChainProblem &problem,
                                        const Operator &op) {
  return !op.rescaledBy && op.rowLoop != op.vectorLoop &&
         any_of(op.inputs, [&](const Access &input) {
           return problem.tensors[input].isConstant &&
                  input.hasLoop(op.vectorLoop);
         });
}

int64_t chimera::model::reductionPartOf(const ChainProblem &problem,
                                        const Operator &op, int64_t part) {
  if (part <= reductionPart || op.decodeInstructions > 0 ||
      !hasConstantVectors(problem, op))
    return reductionPart;
  SmallVector<LoopId, 4> reductions = reductionsOf(problem, op);
  if (reductions.size() < 2)
    return reductionPart;
  int64_t others = 1;
  for (LoopId loop : ArrayRef(reductions).drop_back())
    others *= problem.loops[loop].extent;
  while (part > reductionPart && part * others > mostStepsOfPart)
    part /= 2;
  return std::max(part, reductionPart);
}

int64_t chimera::model::orderedUnit(const ChainProblem &problem,
                                    const Operator &op, LoopId loop,
                                    int64_t part) {
  std::optional<LoopId> parted = partedLoop(problem, op);
  if (!parted)
    return 1;
  int64_t own = reductionPartOf(problem, op, part);
  // Kernels that decode take groups of a loop one after the other.
  if (loop == *parted || op.decodeInstructions > 0)
    return own;
  bool isFirst = loop == reductionsOf(problem, op).front();
  bool isOnePart = problem.loops[*parted].extent <= own;
  return isFirst && isOnePart ? 1 : problem.loops[loop].extent;
}

/// True if the loops of `nest` and of its parts cut no sum out of order.
static bool isInOrder(const ChainProblem &problem, const LoopNest &nest,
                      int64_t part) {
  for (const Operator &op :
       ArrayRef(problem.operators).slice(nest.firstOperator, nest.size()))
    for (const NestLoop &loop : nest.loops)
      if (op.decodeInstructions == 0 && op.isReduction(loop.loop) &&
          loop.tile % orderedUnit(problem, op, loop.loop, part) != 0)
        return false;
  return all_of(nest.parts, [&](const LoopNest &inner) {
    return isInOrder(problem, inner, part);
  });
}

bool chimera::model::addsUpInOrder(const ChainStructure &structure,
                                   const Schedule &schedule) {
  const ChainProblem &problem = structure.getProblem();
  if (none_of(problem.operators, [&](const Operator &op) {
        return partedLoop(problem, op).has_value();
      }))
    return true;
  return isInOrder(problem, treeOfCode(structure, schedule),
                   schedule.registerTile.part);
}

bool chimera::model::addsUpInOrder(const ChainProblem &problem,
                                   const Schedule &schedule) {
  return addsUpInOrder(ChainStructure(problem), schedule);
}
