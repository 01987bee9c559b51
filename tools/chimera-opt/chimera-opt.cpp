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

#include "Chimera/Conversion/Passes.h"
#include "Chimera/InitAll.h"
#include "Chimera/Report/PlanCollector.h"
#include "Chimera/Support/OutputFile.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/WithColor.h"

#include <csignal>

using namespace mlir;

static llvm::cl::opt<std::string> reportFile(
    "chimera-report",
    llvm::cl::desc("Write a report of all chains that are planned: a page "
                   "(.html), data (.json), or text; - is standard output"),
    llvm::cl::value_desc("file"));

static llvm::cl::opt<std::string> microKernelsFile(
    "chimera-micro-kernels",
    llvm::cl::desc("Take micro kernels from a file into the program before "
                   "all passes"),
    llvm::cl::value_desc("file"));

/// Prints what went wrong, if anything did.
static LogicalResult reportError(llvm::Error error) {
  if (!error)
    return success();
  llvm::WithColor::error(llvm::errs(), "chimera-opt")
      << llvm::toString(std::move(error)) << '\n';
  return failure();
}

/// What mlir-opt does between its command line and its exit, but with an output
/// file that is written whole or not at all: mlir-opt ends in a crash where the
/// disk is full.
static LogicalResult optimize(StringRef inputFile, StringRef outputFile,
                              DialectRegistry &registry,
                              const MlirOptMainConfig &config) {
  if (inputFile == "-" && llvm::sys::Process::StandardInIsUserInput())
    llvm::errs() << "(processing input from stdin now, hit ctrl-c/ctrl-d to "
                    "interrupt)\n";
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> input =
      openInputFile(inputFile, &message);
  if (!input) {
    llvm::errs() << message << '\n';
    return failure();
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  LogicalResult result = MlirOptMain(os, std::move(input), registry, config);
  // What there is before an error is shown, but not kept.
  if (failed(result) && outputFile != "-")
    return failure();
  LogicalResult written = reportError(chimera::writeFile(
      outputFile, [&](llvm::raw_ostream &file) { file << text; }));
  return success(succeeded(result) && succeeded(written));
}

/// Puts a pass that reads the micro kernels of the command line in front of all
/// others.
static void loadMicroKernels(MlirOptMainConfig &config,
                             const MlirOptMainConfig &given) {
  config.setPassPipelineSetupFn([&given](PassManager &pm) {
    chimera::LoadMicroKernelsPassOptions load;
    load.file = microKernelsFile;
    pm.addPass(chimera::createLoadMicroKernelsPass(load));
    return given.setupPassPipeline(pm);
  });
}

int main(int argc, char **argv) {
  mlir::registerAllPasses();
  chimera::registerAllPasses();

  DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  chimera::registerAllDialects(registry);
  chimera::PlanCollector plans;
  plans.listen(registry);

  auto [inputFile, outputFile] = registerAndParseCLIOptions(
      argc, argv, "Chimera: analytical fusion of operator chains\n", registry);
  MlirOptMainConfig given = MlirOptMainConfig::createFromCLOptions();
  MlirOptMainConfig config = given;
  if (!microKernelsFile.empty())
    loadMicroKernels(config, given);
  if (config.shouldShowDialects() || config.shouldListPasses())
    return asMainReturnCode(
        MlirOptMain(argc, argv, inputFile, outputFile, registry));
  llvm::InitLLVM initialized(argc, argv);
  // A file that grows too large is an error like a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  LogicalResult result = optimize(inputFile, outputFile, registry, config);
  if (succeeded(result) && !reportFile.empty())
    result = reportError(plans.write(reportFile));
  return asMainReturnCode(result);
}
