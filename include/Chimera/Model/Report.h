//===- Report.h - What there is to say about a verdict ----------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The solver keeps of a plan what it needs to compare plans: sums. Whoever
// wants to know why a sum is what it is asks here for the terms. Everything
// follows from the problem, the machine and the schedule; nothing is decided.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_MODEL_REPORT_H
#define CHIMERA_MODEL_REPORT_H

#include "Chimera/Model/Algorithms.h"
#include "Chimera/Model/ClosedForm.h"

#include <vector>

namespace chimera::model {

/// A part of a tensor that a level holds, and the operators during which it
/// does.
struct LiveBuffer {
  TensorId tensor = 0;
  int64_t bytes = 0;
  OperatorSet during = 0;
};

/// The terms of the sums that `evaluate` makes for level `level`: the buffers
/// during each operator add up to Evaluation::liveAt.
llvm::SmallVector<LiveBuffer, 8> listBuffers(const ChainProblem &problem,
                                             const Schedule &schedule,
                                             unsigned level,
                                             const Transfer &transfer = {});

/// One level of a kernel.
struct LevelReport {
  Evaluation evaluation;
  llvm::SmallVector<LiveBuffer, 8> buffers;
  Bound bound;
};

/// A run of operators as one kernel. Tensors, loops and operators are those of
/// `problem`, which has only the operators `first` to `last` of the chain.
struct KernelReport {
  unsigned first = 0, last = 0;
  ChainProblem problem;
  Plan plan;
  /// Of what runs before the next kernel; see Segment::secondsAfter.
  double secondsAfter = 0;
  LoopNest tree;
  /// In the order of Machine::levels.
  std::vector<LevelReport> levels;

  double seconds() const { return plan.seconds + secondsAfter; }
};

KernelReport describeKernel(const ChainProblem &problem, const Machine &machine,
                            const SolveOptions &options,
                            const Segment &segment);

/// The level that takes longest, or nothing if arithmetic does.
std::optional<unsigned> findBottleneck(const Plan &plan);

/// What rounding and the search make of a closed form, for a single level with
/// the room that a plan has there, and tiles of any size.
struct FormComparison {
  unsigned level = 0;
  ClosedForm form;
  /// The order and tiles with the least volume.
  Schedule exact;
  int64_t exactBytes = 0;
};

/// The comparison for the slowest level that `plan` cuts into tiles, the items
/// of a batch aside; nothing if it cuts none, or if there is no closed form.
std::optional<FormComparison> compareWithForm(const ChainProblem &problem,
                                              const Plan &plan);

/// True if the plan computes something more than once.
bool recomputes(const ChainProblem &problem, const Plan &plan);

/// The highest arithmetic rate of the cores that `threads` occupy, in floating
/// point operations per second.
double peakFlops(const Machine &machine, int64_t threads);

/// Bytes per second that these cores bring into a level.
double bandwidthInto(const MemoryLevel &level, int64_t threads);

/// Where a plan stands under the roof of one level.
struct RooflinePoint {
  /// Operations per byte that crosses the boundary outside the level.
  double intensity = 0;
  /// Operations per second: predicted, and what the level and the arithmetic
  /// would allow at this intensity.
  double flops = 0, attainable = 0;
};

/// The point of a chain of `multiplyAdds` that moves `bytes` and takes
/// `seconds`.
RooflinePoint placeUnderRoof(const Machine &machine, int64_t threads,
                             unsigned level, int64_t multiplyAdds,
                             int64_t bytes, double seconds);

} // namespace chimera::model

#endif // CHIMERA_MODEL_REPORT_H
