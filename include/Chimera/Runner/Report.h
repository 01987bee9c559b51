//===- Report.h - What was decided and what came of it ----------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A report holds the plan of every chain next to what was measured. It is
// printed as a table for people and as JSON for programs.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_RUNNER_REPORT_H
#define CHIMERA_RUNNER_REPORT_H

#include "Chimera/IR/Chimera.h"
#include "Chimera/Report/GraphReport.h"
#include "Chimera/Runner/Remarks.h"
#include "Chimera/Runner/Tensor.h"
#include "Chimera/Runner/Timing.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/JSON.h"

#include <optional>

namespace chimera::runner {

struct LevelReport {
  std::string name;
  int64_t predictedBytes = 0, unfusedBytes = 0, boundBytes = 0;
  int64_t capacityBytes = 0, usedBytes = 0;
};

/// One loop of one level's order.
struct LoopReport {
  std::string level, loop;
  int64_t tile = 1;
};

/// A `chimera.chain` after planning.
struct ChainReport {
  std::vector<std::string> operatorNames;
  int64_t operators = 0;
  std::string verdict, reason;
  /// The order of all levels, outermost loop first.
  std::vector<LoopReport> order;
  std::vector<LevelReport> levels;
  /// The schedule as a loop tree, for people.
  std::string drawing;
  /// The model's prediction.
  double seconds = 0, unfusedSeconds = 0;
};

struct PlanReport {
  std::vector<ChainReport> chains;
  /// Contractions that no chain took.
  int64_t contractionsOutside = 0;
  /// What it took to plan the whole module.
  double seconds = 0;
};

/// What the model predicts for all chains of `plan` together.
double getPredictedSeconds(const PlanReport &plan);

/// True if `partition` is of what another function of `all` prepares once,
/// before calls.
bool isPreparation(const GraphPlan &partition, llvm::ArrayRef<GraphPlan> all);

/// What the model predicts for all of `partitions` together: chains, and what
/// lies outside them. What is prepared before takes no time.
double getPredictedSeconds(llvm::ArrayRef<GraphPlan> partitions);

/// Another plan of the same program, timed beside the one that was chosen.
struct OtherPlan {
  /// "separate", "whole" or "runner-up N".
  std::string name;
  double predictedSeconds = 0;
  Samples time;
};

/// The program with other groups, timed beside those that were chosen.
struct OtherGroups {
  /// "greedy", "separate" or "next N".
  std::string name;
  int64_t kernels = 0;
  double predictedSeconds = 0;
  Samples time;
};

/// Reads the chains of a planned function.
PlanReport describePlan(mlir::func::FuncOp function);

/// A run of a program with dynamic sizes at some of them.
struct CaseReport {
  std::string sizes;
  bool passed = true;
  std::optional<Deviation> deviation;
  std::optional<Samples> time;
  /// Of a program for these sizes alone.
  std::optional<Samples> timeAlone;
};

struct Report {
  std::string file, entry, target;
  /// The dynamic sizes that the rest is about; empty if there are none.
  std::string sizes;
  /// Which plan runs for which sizes.
  std::string versions;
  /// What came of other sizes.
  std::vector<CaseReport> cases;
  int64_t threads = 1;
  uint64_t seed = 0;
  /// The machine we run on and the target's caches, in one line.
  std::string machine;
  PlanReport plan;
  /// Those that are to be shown.
  std::vector<Remark> remarks;
  /// From input text to object code.
  double compileSeconds = 0;
  /// The part of it after the passes: code generation.
  double objectSeconds = 0;
  std::optional<Samples> time, unfusedTime;
  /// If they were asked for: those that differ from what was chosen and from
  /// each other.
  std::vector<OtherPlan> otherPlans;
  /// How the function's blocks were partitioned, and other groups if they were
  /// asked for, as far as they differ.
  std::vector<GraphPlan> partitions;
  std::vector<OtherGroups> otherGroups;
  std::optional<double> referenceSeconds;
  std::optional<double> multiplyAdds;
  /// The element type of the peak.
  ElementKind peakKind = ElementKind::F32;
  /// Of the best slice of time, and of the median one.
  std::optional<double> peakFlops, medianPeakFlops;
  int64_t argumentBytes = 0, resultBytes = 0;
  /// Equal for equal bits of all results.
  std::string resultHash;
  /// Bytes per second of a plain read of as many bytes.
  std::optional<double> readRate;
  std::optional<Deviation> deviation;
  /// The largest relative error that passes.
  double allowedError = 0;
  /// What the result was compared with.
  std::string reference;

  std::optional<double> getFlops() const;
  std::optional<double> getFractionOfPeak() const;
  /// Bytes of arguments and results per second.
  std::optional<double> getByteRate() const;
  /// Only if the program is bound by reading: its multiply-adds at peak would
  /// take less time than the read.
  std::optional<double> getFractionOfRead() const;

  llvm::json::Object toJSON() const;
  void print(llvm::raw_ostream &os) const;
};

/// `number`, or null if it is missing or not finite.
llvm::json::Value toJSONNumber(std::optional<double> number);

/// The processor's name, the threads, and the caches of `target`.
std::string describeMachine(TargetAttrInterface target, int64_t threads);

} // namespace chimera::runner

#endif // CHIMERA_RUNNER_REPORT_H
