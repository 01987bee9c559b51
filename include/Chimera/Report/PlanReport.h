//===- PlanReport.h - Reports of what was decided ---------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `chimera-schedule` tells whoever wants to know, by a listener attached to the
// dialect, what it decided for each chain and what the model says about it. A
// list of such plans can be written as a text, a page or data (docs/report.md).
//
// A listener belongs to the context, so it hears of every pass in every
// pipeline, whatever the nesting:
//
//   registry.addExtension(+[](MLIRContext *, ChimeraDialect *dialect) {
//     dialect->addInterface<MyListener>(...);
//   });
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_REPORT_PLANREPORT_H
#define CHIMERA_REPORT_PLANREPORT_H

#include "Chimera/Model/Report.h"
#include "Chimera/Report/GraphReport.h"

#include "mlir/IR/DialectInterface.h"
#include "llvm/Support/raw_ostream.h"

namespace chimera {

/// What becomes of a chain.
enum class ChainOutcome {
  /// It has one operator, which is planned by itself.
  Single,
  /// It runs as one kernel.
  Fused,
  /// It runs as several kernels, some of them of several operators.
  PartlyFused,
  /// Every operator is a kernel of its own.
  Split,
  /// No plan was made: the operators are left alone.
  Unfused,
  /// The schedule was there before.
  Given,
};

/// A chain with what was decided for it.
struct ChainPlan {
  /// Where the chain is in the source; empty and zero if that is not known.
  std::string file;
  unsigned line = 0, column = 0;
  std::string function;
  ChainOutcome outcome = ChainOutcome::Unfused;
  /// The reason, with its figures.
  std::string explanation;
  /// Why no code can be generated from the chain; empty if it can.
  std::string obstacle;
  std::string elementType;
  model::ChainProblem problem;
  /// Has no levels if the target has no unit for the element type.
  model::Machine machine;
  int64_t threads = 1;
  /// Empty if the schedule was given, or nothing was planned.
  model::Verdict verdict;
  /// What no schedule of the whole chain can go below, for each level.
  llvm::SmallVector<model::Bound, 3> bounds;
  /// What is to run, and the best that was not chosen: separate operators if
  /// the chain is fused, the fused kernel if it is not.
  std::vector<model::KernelReport> kernels, alternative;

  /// Predicted seconds of some kernels, one after the other.
  static double secondsOf(llvm::ArrayRef<model::KernelReport> kernels);
  /// Bytes that they move into and out of a level.
  static int64_t bytesOf(llvm::ArrayRef<model::KernelReport> kernels,
                         unsigned level);
};

/// Hears of every chain that is planned in a context. May be called by several
/// threads at once.
class PlanListener : public mlir::DialectInterface::Base<PlanListener> {
public:
  PlanListener(mlir::Dialect *dialect) : Base(dialect) {}

  virtual void planned(ChainPlan plan) = 0;

  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlanListener)
};

/// Puts plans in the order of the source, whatever order they were made in.
/// Those at one place stay in order.
void sortPlans(llvm::MutableArrayRef<ChainPlan> plans);

enum class ReportFormat { Markdown, Json, Html };

/// The format that goes with the name of a file: `.json`, `.html` or, for
/// everything else, Markdown.
ReportFormat getReportFormat(llvm::StringRef fileName);

/// Writes a report of chains, and of what blocks were partitioned into. The
/// pages it makes are complete: they load nothing.
void writeReport(llvm::raw_ostream &os, llvm::ArrayRef<ChainPlan> plans,
                 ReportFormat format,
                 llvm::ArrayRef<GraphPlan> partitions = {});

} // namespace chimera

#endif // CHIMERA_REPORT_PLANREPORT_H
