//===- PlanReportText.h - Words and figures of reports ----------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the writers of the different formats say in the same way.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_REPORT_PLANREPORTTEXT_H
#define CHIMERA_REPORT_PLANREPORTTEXT_H

#include "Chimera/Report/PlanReport.h"

namespace chimera::report {

/// Three digits and a unit.
std::string formatBytes(int64_t bytes);
std::string formatSeconds(double seconds);
std::string formatFlops(double flops);
std::string formatBandwidth(double bytesPerSecond);
/// Two digits behind the point.
std::string formatRatio(double ratio);
/// As in "+3.1 %".
std::string formatLoss(double seconds, double best);

llvm::StringRef getText(ChainOutcome outcome);

/// `chain`, or the kind of operation, of each member in order: `add, mul`.
std::string listOperators(const GraphPlan &plan, const GroupPlan &group);
/// `file:line:column`, or what is known of it.
std::string describePlace(const GraphPlan &plan);

/// The reason for a decision, its figures with units that suit them.
std::string describeReason(const ChainPlan &plan);
/// `file:line:column`, or what is known of it.
std::string describePlace(const ChainPlan &plan);
/// The target with its levels.
std::string describeMachine(const ChainPlan &plan);
/// `gemm0 > gemm1`.
std::string listOperators(const model::ChainProblem &problem);
/// `mid0[m, l] += in0[m, k] * in1[k, l]`, and what follows.
std::string describeOperator(const model::ChainProblem &problem,
                             const model::Operator &op);
/// `8 x 512 x 64`.
std::string describeShape(const model::Tensor &tensor);
/// `L3: b by 1; L1: l by 64, m by 12`.
std::string describeOrder(const model::ChainProblem &problem,
                          const model::Schedule &schedule);
std::string describeRegisters(const model::ChainProblem &problem,
                              const model::Plan &plan);
/// `L1`, or `arithmetic`.
std::string describeBottleneck(const model::Plan &plan);
/// What is computed more than once; empty if nothing is.
std::string describeRecomputation(const model::ChainProblem &problem,
                                  const model::Plan &plan);
/// The theorem, its term, and how far it may be out of reach.
std::string describeBound(const model::Bound &bound);

/// A line of a drawn loop tree: a loop, or an operator.
struct TreeLine {
  unsigned depth = 0;
  /// For operators: which; and the tile of each of its loops.
  std::optional<unsigned> op;
  std::string tiles;
  /// For loops.
  std::string loop, level;
  int64_t tile = 1, extent = 1;
  bool isParallel = false;
  /// A parallel loop whose parts are combined in the end.
  bool isSplit = false;

  /// `L3, parallel`.
  std::string describeLevel() const;
};
std::vector<TreeLine> listTree(const model::KernelReport &kernel);

/// Closed form, rounding and search for one level, beside the plan; see
/// FormComparison.
struct FormLine {
  std::string source, order;
  int64_t bytes = 0;
};
struct FormTable {
  /// `L1 alone, with tiles of any size (family: A and E stay)`.
  std::string title;
  std::vector<FormLine> lines;
};
std::optional<FormTable> describeForm(const model::KernelReport &kernel);

/// What a chain would do as separate operators, if that is known.
struct UnfusedFigures {
  bool isKnown = false;
  double seconds = 0;
  llvm::ArrayRef<int64_t> bytes;
};
UnfusedFigures getUnfused(const ChainPlan &plan);

void writeMarkdown(llvm::raw_ostream &os, llvm::ArrayRef<ChainPlan> plans,
                   llvm::ArrayRef<GraphPlan> partitions);
void writeJson(llvm::raw_ostream &os, llvm::ArrayRef<ChainPlan> plans,
               llvm::ArrayRef<GraphPlan> partitions);
void writeHtml(llvm::raw_ostream &os, llvm::ArrayRef<ChainPlan> plans,
               llvm::ArrayRef<GraphPlan> partitions);

} // namespace chimera::report

#endif // CHIMERA_REPORT_PLANREPORTTEXT_H
