//===- Report.cpp - What there is to say about a verdict ------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/Report.h"

#include "ClosedForm/Families.h"
#include "Volume/Evaluator.h"
#include "Volume/Waves.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>

using namespace llvm;
using namespace chimera::model;

SmallVector<LiveBuffer, 8>
chimera::model::listBuffers(const ChainProblem &problem,
                            const Schedule &schedule, unsigned level,
                            const Transfer &transfer) {
  ChainStructure structure(problem);
  Evaluator evaluator(structure, schedule, level, transfer);
  SmallVector<LiveBuffer, 8> buffers;
  evaluator.countLive(
      [&](const Evaluator::Parts &parts, OperatorSet during, bool isHome) {
        buffers.push_back({parts.access.tensor,
                           evaluator.bytesOfBuffer(parts, isHome), during});
      });
  return buffers;
}

KernelReport chimera::model::describeKernel(const ChainProblem &problem,
                                            const Machine &machine,
                                            const SolveOptions &options,
                                            const Segment &segment) {
  KernelReport report;
  report.first = segment.first;
  report.last = segment.last;
  bool isWhole =
      segment.first == 0 && segment.last + 1 == problem.operators.size();
  report.problem =
      isWhole ? problem : isolate(problem, segment.first, segment.last);
  report.plan = segment.plan;
  report.secondsAfter = segment.secondsAfter;
  const Schedule &schedule = report.plan.schedule;
  report.tree =
      buildLoopTree(report.problem, schedule, schedule.levels.size() - 1);
  SmallVector<Bound, 3> bounds =
      findBounds(report.problem, machine, options,
                 recomputes(report.problem, report.plan));
  ChainStructure structure(report.problem);
  for (unsigned level = 0; level < machine.levels.size(); ++level)
    report.levels.push_back(
        {evaluateOn(structure, machine, schedule, level, options.threads),
         listBuffers(report.problem,
                     servesWaves(machine, level)
                         ? scheduleOfWaves(structure, schedule, level,
                                           options.threads, /*streams=*/false)
                         : schedule,
                     level,
                     transferInto(machine, schedule, level, options.threads)),
         bounds[level]});
  return report;
}

std::optional<unsigned> chimera::model::findBottleneck(const Plan &plan) {
  std::optional<unsigned> slowest;
  double most = plan.computeSeconds;
  for (unsigned level = 0; level < plan.levels.size(); ++level)
    if (plan.levels[level].seconds > most) {
      most = plan.levels[level].seconds;
      slowest = level;
    }
  return slowest;
}

/// The slowest level with loops beside those of a batch.
static std::optional<unsigned> findCutLevel(const ChainProblem &problem,
                                            const Schedule &schedule) {
  SmallVector<LoopId, 4> batch = batchLoopsOf(problem);
  for (const auto &[index, level] : enumerate(schedule.levels))
    for (const TiledLoop &entry : level.order)
      if (!is_contained(batch, entry.loop) &&
          entry.tile < problem.loops[entry.loop].extent)
        return index;
  return std::nullopt;
}

std::optional<FormComparison>
chimera::model::compareWithForm(const ChainProblem &problem, const Plan &plan) {
  std::optional<unsigned> level = findCutLevel(problem, plan.schedule);
  if (!level)
    return std::nullopt;
  int64_t capacity = plan.levels[*level].capacityBytes;
  SmallVector<int64_t, 8> granularity(problem.loops.size(), 1);
  std::optional<ClosedForm> form =
      solveClosedForm(problem, capacity, granularity);
  if (!form)
    return std::nullopt;
  std::optional<Schedule> exact = solveVolume(problem, capacity, granularity);
  if (!exact)
    return std::nullopt;
  return FormComparison{*level, *form, *exact,
                        evaluate(problem, *exact, 0).volumeBytes()};
}

bool chimera::model::recomputes(const ChainProblem &problem, const Plan &plan) {
  return plan.multiplyAdds > problem.multiplyAdds();
}

double chimera::model::peakFlops(const Machine &machine, int64_t threads) {
  return coreFlops(machine) * std::min(threads, machine.cores);
}

double chimera::model::bandwidthInto(const MemoryLevel &level,
                                     int64_t threads) {
  return std::min(threads * level.bytesPerSecondPerCore, level.bytesPerSecond);
}

RooflinePoint chimera::model::placeUnderRoof(const Machine &machine,
                                             int64_t threads, unsigned level,
                                             int64_t multiplyAdds,
                                             int64_t bytes, double seconds) {
  RooflinePoint point;
  double operations = 2.0 * multiplyAdds;
  point.intensity =
      bytes > 0 ? operations / bytes : std::numeric_limits<double>::infinity();
  point.flops = seconds > 0 ? operations / seconds : 0;
  point.attainable =
      std::min(peakFlops(machine, threads),
               point.intensity * bandwidthInto(machine.levels[level], threads));
  return point;
}
