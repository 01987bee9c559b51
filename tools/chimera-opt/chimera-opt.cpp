//===- chimera-opt.cpp - The optimiser driver -----------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mlir-opt with Chimera's dialect, passes and pipelines added: every upstream
// dialect, extension and pass is registered too, so that a program from any
// front end lowers in one run. And it reports what was planned.
//
//===----------------------------------------------------------------------===//

#include "Chimera/IR/Chimera.h"
#include "Chimera/InitAll.h"
#include "Chimera/Report/PlanReport.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/WithColor.h"

#include <mutex>

using namespace mlir;

static llvm::cl::opt<std::string> reportFile(
    "chimera-report",
    llvm::cl::desc("Write a report of all chains that are planned: a page "
                   "(.html), data (.json), or text; - is standard output"),
    llvm::cl::value_desc("file"));

namespace {

/// The plans of all contexts and threads.
struct PlanList {
  std::mutex mutex;
  std::vector<chimera::ChainPlan> plans;
};

class PlanCollector : public chimera::PlanListener {
public:
  PlanCollector(Dialect *dialect, PlanList &list)
      : PlanListener(dialect), list(list) {}

  void planned(chimera::ChainPlan plan) override {
    std::lock_guard<std::mutex> lock(list.mutex);
    list.plans.push_back(std::move(plan));
  }

private:
  PlanList &list;
};

/// Attaches a collector to the dialect in every context.
class CollectorExtension
    : public DialectExtension<CollectorExtension, chimera::ChimeraDialect> {
public:
  explicit CollectorExtension(PlanList &list) : list(list) {}

  void apply(MLIRContext *, chimera::ChimeraDialect *dialect) const override {
    dialect->addInterface<PlanCollector>(list);
  }

  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CollectorExtension)

private:
  PlanList &list;
};

} // namespace

static LogicalResult writePlans(PlanList &list) {
  std::string error;
  std::unique_ptr<llvm::ToolOutputFile> file =
      openOutputFile(reportFile, &error);
  if (!file) {
    llvm::WithColor::error(llvm::errs(), "chimera-opt") << error << '\n';
    return failure();
  }
  chimera::sortPlans(list.plans);
  chimera::writeReport(file->os(), list.plans,
                       chimera::getReportFormat(reportFile));
  file->keep();
  return success();
}

int main(int argc, char **argv) {
  mlir::registerAllPasses();
  chimera::registerAllPasses();

  DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  chimera::registerAllDialects(registry);
  PlanList list;
  registry.addExtension(TypeID::get<CollectorExtension>(),
                        std::make_unique<CollectorExtension>(list));

  LogicalResult result = MlirOptMain(
      argc, argv, "Chimera: analytical fusion of operator chains\n", registry);
  if (succeeded(result) && !reportFile.empty())
    result = writePlans(list);
  return asMainReturnCode(result);
}
