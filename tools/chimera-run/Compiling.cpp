//===- Compiling.cpp - What all runs compile with -------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compiling.h"

#include "Chimera/Runner/Memory.h"
#include "Chimera/Runner/Timing.h"
#include "Chimera/Runner/Work.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Threading.h"

using namespace mlir;
using namespace chimera;
using namespace chimera::run;
using namespace chimera::runner;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

CompileOptions chimera::run::getCompileOptions(const Options &options) {
  CompileOptions result;
  result.target = options.target;
  result.threads = options.threads;
  result.fuse = options.fuse;
  result.tiles = options.tiles;
  result.groups = options.groups;
  result.microKernels = options.microKernels;
  result.emulateTiles = options.emulateTiles;
  result.isHosted = !options.hostRuntime.empty();
  result.jobs = options.jobs
                    ? options.jobs
                    : llvm::hardware_concurrency().compute_thread_count();
  return result;
}

Error chimera::run::checkMemory(func::FuncOp function, const Options &options) {
  double needed = estimateBytes(function), available = getAvailableBytes();
  auto refuse = [&](double bytes, StringRef what, StringRef advice) {
    return createStringError(
        "'%s' needs %.1f GB for its arguments, results and largest "
        "intermediate%s; this machine has %.1f GB available%s",
        function.getName().str().c_str(), 1e-9 * bytes, what.str().c_str(),
        1e-9 * available, advice.str().c_str());
  };
  if (needed > available)
    return refuse(needed, "", "");
  // The reference takes twice as much in f64; unfused code has its own results.
  if (options.check && 3.5 * needed > available)
    return refuse(3.5 * needed, " and for the check", "; try --no-check");
  return Error::success();
}

Error chimera::run::cutProgram(ModuleOp module, const Options &options,
                               int64_t threads, int64_t process) {
  ShardPassOptions own;
  own.processes = options.processes;
  own.process = process;
  own.split = options.split;
  own.overlap = options.overlap;
  own.target = options.target;
  own.threads = threads;
  std::string said;
  ScopedDiagnosticHandler handler(
      module.getContext(), [&](Diagnostic &diagnostic) {
        if (said.empty() &&
            diagnostic.getSeverity() == DiagnosticSeverity::Error)
          said = diagnostic.str();
        return success();
      });
  PassManager pm(module.getContext());
  pm.addPass(createShardPass(own));
  if (succeeded(pm.run(module)))
    return Error::success();
  return createStringError(said.empty() ? "the program cannot be cut" : said);
}

std::vector<Remark> chimera::run::selectRemarks(std::vector<Remark> remarks,
                                                const Options &options) {
  if (!options.remarks)
    llvm::erase_if(remarks, [](const Remark &remark) {
      return remark.kind != "missed" && remark.kind != "failed";
    });
  return remarks;
}

Expected<Compiled> chimera::run::compileTimed(ModuleOp module,
                                              const CompileOptions &options) {
  Compiled compiled;
  RemarkCollector remarks(module.getContext());
  std::optional<Expected<LoweredModule>> lowered;
  compiled.seconds = timeOnce([&] { lowered.emplace(lower(module, options)); });
  if (!*lowered)
    return lowered->takeError();
  compiled.remarks = remarks.take();
  std::optional<Expected<ObjectFiles>> objects;
  compiled.objectSeconds = timeOnce([&] {
    objects.emplace(
        emitCode(**lowered, llvm::CodeGenFileType::ObjectFile, options));
  });
  if (!*objects)
    return objects->takeError();
  compiled.seconds += compiled.objectSeconds;
  Expected<std::unique_ptr<Program>> program =
      Program::load(std::move(**objects), std::move((*lowered)->interface));
  if (!program)
    return program.takeError();
  compiled.program = std::move(*program);
  return compiled;
}
