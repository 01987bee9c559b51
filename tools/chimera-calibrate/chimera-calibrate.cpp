//===- chimera-calibrate.cpp - Write the target of this machine -----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Measures what the target `host` takes from the nearest processor that has a
// name, and writes a file for `--target=machine.mlir`.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Runner/Calibration.h"
#include "Chimera/Runner/Compiler.h"
#include "Chimera/Support/OutputFile.h"
#include "Chimera/Target/Target.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/TargetParser/Host.h"

#include <csignal>

using namespace mlir;
using namespace chimera;
namespace cl = llvm::cl;

static cl::opt<std::string> outputFile("o", cl::desc("where the target goes"),
                                       cl::value_desc("FILE.mlir"),
                                       cl::init("-"));
static cl::opt<std::string>
    base("base", cl::init("host"),
         cl::desc("the target whose other figures hold"));
static cl::opt<int64_t> threads(
    "cores", cl::init(0),
    cl::desc("threads that measure together (default: the target's cores)"));

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  // A file that grows too large is an error like a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  cl::ParseCommandLineOptions(argc, argv, "measures the machine it runs on\n");
  llvm::ExitOnError exitOnError("chimera-calibrate: ");
  DialectRegistry registry;
  runner::registerDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  TargetAttr target = getTarget(&context, base);
  if (!target)
    exitOnError(llvm::createStringError("no target is named '" + base + "'"));
  int64_t wanted = runner::resolveThreads(target, threads);
  TargetAttr measured = exitOnError(runner::calibrate(
      target, wanted, [](const Twine &line) { llvm::errs() << line << '\n'; }));
  exitOnError(writeFile(outputFile, [&](llvm::raw_ostream &os) {
    os << "// " << llvm::sys::getHostCPUName()
       << ", measured by benchmarks/calibrate on " << wanted << " threads.\n"
       << measured << '\n';
  }));
  return 0;
}
