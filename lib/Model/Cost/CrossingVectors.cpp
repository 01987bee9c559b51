//===- CrossingVectors.cpp - Vectors across two lines of a cache ----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows that are no whole lines begin anywhere in one, and most of their vectors
// then end in the next: each takes two accesses.
//
//===----------------------------------------------------------------------===//

#include "Cost/CostModel.h"

#include "Chimera/Model/AlignedRow.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace llvm;
using namespace chimera::model;

/// The share of vectors of `vector` bytes that lie across two lines of `line`
/// bytes each, if rows are multiples of `apart` bytes apart, and the first one
/// begins with a line.
static double shareAcrossLines(int64_t vector, int64_t line, int64_t apart) {
  int64_t step = std::gcd(std::gcd(line, vector), apart);
  int64_t starts = line / step, inside = std::max<int64_t>(line - vector, 0);
  return static_cast<double>(starts - 1 - inside / step) / starts;
}

/// The same of vectors of `access` where it lies.
double CostModel::crossingShare(const Operator &op,
                                const Access &access) const {
  const Tensor &tensor = problem.tensors[access];
  const MemoryLevel &innermost = machine.levels.back();
  if (machine.matrix || innermost.ways == 0 || tensor.strides.empty() ||
      isStrided(op, access) || !access.hasLoop(op.vectorLoop))
    return 0;
  int64_t apart = 0;
  for (auto [index, stride] : zip(access.indices, tensor.strides))
    for (const Term &term : index.terms)
      if (term.loop != op.vectorLoop && problem.loops[term.loop].extent > 1)
        apart = std::gcd(apart, stride * term.factor * tensor.elementBytes);
  return shareAcrossLines(machine.unit.lanes * tensor.elementBytes,
                          innermost.lineBytes, apart);
}

/// The same of a copy of the tile of `operand`.
double CostModel::crossingShareOfCopy(const Operator &op, const Access &operand,
                                      const Work &work) const {
  const MemoryLevel &innermost = machine.levels.back();
  if (machine.matrix || innermost.ways == 0)
    return 0;
  int64_t bytes = problem.tensors[operand].elementBytes;
  int64_t columns = work.parts[op.vectorLoop].front().size;
  int64_t row =
      alignedRow(columns, std::max<int64_t>(1, innermost.lineBytes / bytes));
  return shareAcrossLines(std::min(machine.unit.lanes, columns) * bytes,
                          innermost.lineBytes, row * bytes);
}

CrossingVectors CostModel::crossingVectors(const Schedule &schedule,
                                           const Operator &op,
                                           const Work &work) const {
  CrossingVectors crossing;
  if (problem.tensors[op.output].role == Role::Output)
    crossing.output = crossingShare(op, op.output);
  const Access *operand = vectorOperand(op);
  if (!operand || is_contained(schedule.staged, operand->tensor) ||
      is_contained(schedule.prepacked, operand->tensor))
    return crossing;
  crossing.operand = is_contained(schedule.packed, operand->tensor)
                         ? crossingShareOfCopy(op, *operand, work)
                         : crossingShare(op, *operand);
  return crossing;
}

/// What the arithmetic takes longer for if the vectors of `operand` lie as they
/// do and not as in a copy.
double CostModel::crossingSeconds(const Schedule &schedule, const Operator &op,
                                  const Access &operand, const Work &work,
                                  const Tasks &tasks) const {
  double inPlace = crossingShare(op, operand),
         inCopy = crossingShareOfCopy(op, operand, work);
  if (inPlace <= inCopy)
    return 0;
  SmallVector<ArrayRef<Parts>, 6> parts(work.parts.begin(), work.parts.end());
  auto cyclesOf = [&](double share) {
    return operatorCycles(op, parts, schedule.registerTile, {share, 0});
  };
  return tasks.busiestShare * work.repeats *
         (cyclesOf(inPlace) - cyclesOf(inCopy)) / machine.contractionClock();
}
