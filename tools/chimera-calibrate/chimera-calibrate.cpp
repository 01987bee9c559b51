//===- chimera-calibrate.cpp - Write the target of this machine -----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Measures what the target `host` takes from the nearest processor that has a
// name, or what exchanges between processes take, and writes a file for
// `--target=machine.mlir`.
//
//===----------------------------------------------------------------------===//

#include "Network.h"

#include "Chimera/Calibration/Calibration.h"
#include "Chimera/Runner/Compiler.h"
#include "Chimera/Runner/Launch.h"
#include "Chimera/Support/OutputFile.h"
#include "Chimera/Target/Target.h"
#include "Chimera/Target/TargetFigures.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/TargetParser/Host.h"

#include <csignal>
#include <unistd.h>

using namespace mlir;
using namespace chimera;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;
namespace cl = llvm::cl;

static cl::opt<std::string> outputFile("o", cl::desc("where the target goes"),
                                       cl::value_desc("FILE.mlir"),
                                       cl::init("-"));
static cl::opt<std::string>
    base("base", cl::init("host"),
         cl::desc("the target whose other figures hold: a name, or a file"));
static cl::opt<int64_t> threads(
    "cores", cl::init(0),
    cl::desc("threads that measure together (default: the target's cores)"));

static cl::opt<int64_t> processes(
    "processes", cl::init(0), cl::value_desc("P"),
    cl::desc("measure exchanges between so many processes, which MPI starts, "
             "instead of the machine"));

/// The target `base`. The comments at the start of its file, if it has one, are
/// put in `comments`.
static Expected<TargetAttr> readBase(MLIRContext *context,
                                     std::string &comments) {
  if (TargetAttr target = getTarget(context, base))
    return target;
  StringRef path = base;
  if (!path.ends_with(".mlir"))
    return createStringError("no target is named '" + base + "'");
  auto target = readTarget(UnknownLoc::get(context), path);
  if (failed(target) || !isa<TargetAttr>(*target))
    return createStringError("'" + base + "' has no target of ours");
  if (auto file = llvm::MemoryBuffer::getFile(path))
    for (StringRef rest = (*file)->getBuffer(); rest.consume_front("//");) {
      StringRef line;
      std::tie(line, rest) = rest.split('\n');
      comments += ("//" + line + "\n").str();
    }
  return cast<TargetAttr>(*target);
}

static Error writeTarget(StringRef comments, TargetAttr target) {
  return writeFile(outputFile, [&](llvm::raw_ostream &os) {
    os << comments << target << '\n';
  });
}

static void sayLine(const Twine &line) { llvm::errs() << line << '\n'; }

/// Every process measures; the first writes `target` with the network.
static Error calibrateNetwork(TargetAttr target, StringRef comments) {
  if (Error error = runner::loadTransport())
    return error;
  Expected<NetworkAttr> network =
      calibrate::measureNetwork(target.getContext(), processes, sayLine);
  if (!network || runner::getStartedNumber() > 0)
    return network.takeError();
  TargetFigures figures(target);
  figures.network = *network;
  return writeTarget(comments, figures.assemble([&] {
    return emitError(UnknownLoc::get(target.getContext()));
  }));
}

static Error calibrateMachine(TargetAttr target) {
  int64_t wanted = runner::resolveThreads(target, threads);
  Expected<TargetAttr> measured = runner::calibrate(target, wanted, sayLine);
  if (!measured)
    return measured.takeError();
  return writeTarget(formatv("// {0}, measured by benchmarks/calibrate on {1} "
                             "threads.\n",
                             llvm::sys::getHostCPUName(), wanted)
                         .str(),
                     *measured);
}

static Error run(ArrayRef<const char *> arguments) {
  if (processes > 0 && !runner::isStartedByMPI())
    return runner::startProcesses(processes, /*threads=*/1, arguments);
  DialectRegistry registry;
  runner::registerDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  std::string comments;
  Expected<TargetAttr> target = readBase(&context, comments);
  if (!target)
    return target.takeError();
  return processes > 0 ? calibrateNetwork(*target, comments)
                       : calibrateMachine(*target);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  // A file that grows too large is an error like a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  cl::ParseCommandLineOptions(argc, argv, "measures the machine it runs on\n");
  Error error = run(ArrayRef(argv, argc));
  if (!error)
    return 0;
  // What one process finds, others may find too; the first to speak ends them.
  if (runner::isStartedByMPI() && runner::getStartedNumber() > 0)
    sleep(1);
  llvm::errs() << "chimera-calibrate: " << toString(std::move(error)) << '\n';
  return 1;
}
