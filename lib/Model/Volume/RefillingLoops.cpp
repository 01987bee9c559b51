//===- RefillingLoops.cpp - Loops that fill tiles again -------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Volume/RefillingLoops.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace llvm;
using namespace chimera::model;

/// True if every iteration of `nest` has blocks of `op`: it has no loops of its
/// own further inside.
static bool isDirectlyIn(const LoopNest &nest, unsigned op) {
  const LoopNest *inner = &nest;
  while (!inner->parts.empty()) {
    inner = &inner->partOf(op);
    if (!inner->loops.empty())
      return false;
  }
  return true;
}

namespace {

class LoopFinder {
public:
  LoopFinder(const ChainProblem &problem, const Schedule &schedule)
      : problem(problem), numParallel(schedule.numParallel) {}

  using Sizes = SmallVector<int64_t, 6>;
  /// Goes through `nest`, whose first `around` loops have no order in time;
  /// `sizes` are left of each loop.
  void walk(const LoopNest &nest, size_t around, Sizes sizes);
  void run(const LoopNest &tree);

  SmallVector<RefillingLoops, 3> found;

private:
  bool isRefilled(const Operator &op, ArrayRef<NestLoop> loops) const;

  const ChainProblem &problem;
  size_t numParallel;
};

} // namespace

/// True if one of `loops` chooses a factor of `op` from outside.
bool LoopFinder::isRefilled(const Operator &op,
                            ArrayRef<NestLoop> loops) const {
  return any_of(op.inputs, [&](const Access &input) {
    return problem.tensors[input].role != Role::Intermediate &&
           any_of(loops, [&](const NestLoop &loop) {
             return input.hasLoop(loop.loop);
           });
  });
}

void LoopFinder::walk(const LoopNest &nest, size_t around, Sizes sizes) {
  RefillingLoops loops{nest.firstOperator, nest.lastOperator};
  for (const auto &[place, loop] : enumerate(nest.loops)) {
    if (place >= around)
      loops.trips *= divideCeilSigned(sizes[loop.loop], loop.tile);
    sizes[loop.loop] = std::min(sizes[loop.loop], loop.tile);
  }
  ArrayRef<NestLoop> inTime =
      ArrayRef(nest.loops).drop_front(std::min(around, nest.loops.size()));
  for (unsigned op = nest.firstOperator; op <= nest.lastOperator; ++op)
    if (isDirectlyIn(nest, op) && isRefilled(problem.operators[op], inTime)) {
      loops.reader = op;
      found.push_back(loops);
      break;
    }
  for (const LoopNest &part : nest.parts)
    walk(part, 0, sizes);
}

void LoopFinder::run(const LoopNest &tree) {
  Sizes sizes;
  for (const Loop &loop : problem.loops)
    sizes.push_back(loop.extent);
  walk(tree, numParallel, sizes);
}

SmallVector<RefillingLoops, 3>
chimera::model::findRefillingLoops(const ChainProblem &problem,
                                   const Schedule &schedule,
                                   const LoopNest &tree) {
  LoopFinder finder(problem, schedule);
  finder.run(tree);
  return std::move(finder.found);
}
