//===- Session.h - One function compiled, run, checked, timed ---*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_TOOLS_CHIMERA_RUN_SESSION_H
#define CHIMERA_TOOLS_CHIMERA_RUN_SESSION_H

#include "Check.h"
#include "Options.h"

#include "Chimera/Report/PlanCollector.h"
#include "Chimera/Runner/Report.h"
#include "Chimera/Runner/Sizes.h"

namespace chimera::run {

/// A program with what was planned for its entry.
struct PlannedProgram {
  std::string name;
  runner::PlanReport plan;
  std::vector<GraphPlan> partitions;
  /// True if this is what was chosen.
  bool isChosen = false;
  std::unique_ptr<runner::Program> program;
};

/// One function compiled, run, checked and timed.
class Session {
public:
  Session(const Options &options, mlir::ModuleOp module, llvm::StringRef entry,
          TargetAttrInterface target, double parseSeconds,
          runner::CompileListener &listener, PlanCollector &plans)
      : options(options), module(module), target(target), listener(listener),
        plans(plans) {
    report.file = options.file;
    report.entry = entry.str();
    report.target = options.target;
    report.seed = options.seed;
    report.threads = runner::resolveThreads(target, options.threads);
    report.machine = runner::describeMachine(target, report.threads);
    report.compileSeconds = parseSeconds;
  }

  /// Compiles, runs at the first of `cases`, and then at the others. Fails if
  /// something could not be done. A check that fails is a success here:
  /// `passed` tells.
  llvm::Error run(llvm::ArrayRef<runner::Sizes> cases);

  runner::Report report;
  bool passed = true;

private:
  llvm::Error prepare(const runner::Sizes &sizes);
  llvm::Error runFirst();
  llvm::Error runAt(const runner::Sizes &sizes);
  llvm::Error timeAt(runner::CaseReport &result);
  llvm::Error compileEntry();
  llvm::Expected<CheckResult> checkResults();
  llvm::Error check();
  llvm::Error measure();
  llvm::Expected<PlannedProgram> compilePlan(llvm::StringRef name,
                                             FuseMode fuse, unsigned rank);
  llvm::Expected<PlannedProgram> compileGroups(llvm::StringRef name,
                                               PartitionSearchKind groups,
                                               unsigned rank);
  llvm::Error compileOtherGroups(std::vector<PlannedProgram> &others);
  llvm::Error compileOtherPlans(std::vector<PlannedProgram> &others);
  llvm::Expected<std::vector<PlannedProgram>> compileOthers();
  void reportOthers(llvm::ArrayRef<PlannedProgram> others,
                    llvm::ArrayRef<runner::Samples> times);
  llvm::Error measurePrograms(llvm::ArrayRef<PlannedProgram> others);
  llvm::Error measurePlainRead();
  llvm::Error measureReference();
  llvm::Error writeOutputs();

  const Options &options;
  mlir::ModuleOp module;
  /// The program with its dynamic sizes fixed, and the function that is run.
  mlir::OwningOpRef<mlir::ModuleOp> fixed;
  mlir::func::FuncOp entry;
  TargetAttrInterface target;
  runner::CompileListener &listener;
  /// Hears how blocks are partitioned.
  PlanCollector &plans;
  std::unique_ptr<runner::Program> program;
  TensorList arguments, results;
};

} // namespace chimera::run

#endif // CHIMERA_TOOLS_CHIMERA_RUN_SESSION_H
