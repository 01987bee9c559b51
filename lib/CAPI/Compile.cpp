//===- Compile.cpp - From modules to programs ---------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Handles.h"

#include "Chimera/Runner/DiagnosticError.h"
#include "Chimera/Runner/Timing.h"
#include "Chimera/Transforms/Sizes.h"

#include "llvm/Support/Threading.h"

#include <optional>

using namespace mlir;
using namespace chimera;
using namespace chimera::capi;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

static Expected<func::FuncOp> lookUp(ModuleOp module, StringRef name) {
  if (auto function = module.lookupSymbol<func::FuncOp>(name))
    return function;
  return createStringError("the options are about '" + name +
                           "', but the program has no such function");
}

/// Writes what options say of arguments down in `module`.
static Error applyOptions(ModuleOp module, const capi::Options &options) {
  for (const auto &[name, arguments] : options.constants) {
    Expected<func::FuncOp> function = lookUp(module, name);
    if (!function)
      return function.takeError();
    if (Error error = runner::markConstants(*function, arguments))
      return error;
  }
  for (const auto &[name, sizes] : options.sizes) {
    Expected<func::FuncOp> function = lookUp(module, name);
    if (!function)
      return function.takeError();
    if (Error error = runner::setSizes(*function, sizes))
      return error;
  }
  return Error::success();
}

static Expected<runner::CompileOptions>
resolveOptions(const capi::Options &options) {
  constexpr unsigned mostThreads = 1024;
  runner::CompileOptions compile = options.compile;
  if (compile.threads > mostThreads || compile.jobs > mostThreads)
    return createStringError("programs run on and are compiled by up to %u "
                             "threads",
                             mostThreads);
  if (compile.jobs == 0)
    compile.jobs = llvm::hardware_concurrency().compute_thread_count();
  return compile;
}

/// The function of `planned` that runs `function`: of one with dynamic sizes
/// that for the first of those it is planned for.
static func::FuncOp findPlanned(ModuleOp planned, func::FuncOp function) {
  std::optional<runner::Sizes> sizes = runner::getFirstSizes(function);
  if (!sizes)
    return runner::findVersion(planned, function);
  OwningOpRef<func::FuncOp> fixed = function.clone();
  if (failed(fixSizes(*fixed, *sizes)))
    return {};
  return runner::findVersion(planned, *fixed);
}

namespace {
/// Compiles one module, and keeps what there is to report.
class Compilation {
public:
  Compilation(capi::Module &input, const capi::Options &options)
      : input(input), options(options), module(input.module->clone()) {}

  Expected<std::unique_ptr<capi::Program>> run();

private:
  Expected<runner::LoweredModule> lower(const runner::CompileOptions &compile);
  Expected<runner::ObjectFiles> emit(runner::LoweredModule &lowered,
                                     const runner::CompileOptions &compile);
  void describePlans(ModuleOp planned, double seconds);
  void warnOfObstacles(const runner::ModuleInterface &interface);
  runner::Report makeReport(const runner::Function &function,
                            const capi::Program &program);

  capi::Module &input;
  const capi::Options &options;
  OwningOpRef<ModuleOp> module;
  llvm::StringMap<runner::Report> reports;
  std::vector<runner::Remark> remarks;
  double compileSeconds = 0, objectSeconds = 0;
};
} // namespace

void Compilation::describePlans(ModuleOp planned, double seconds) {
  for (auto function : module->getOps<func::FuncOp>()) {
    if (!function.isPublic())
      continue;
    runner::Report &report = reports[function.getName()];
    if (func::FuncOp version = findPlanned(planned, function))
      report.plan = runner::describePlan(version);
    report.plan.seconds = seconds;
    if (std::optional<runner::Sizes> sizes = runner::getFirstSizes(function))
      report.sizes = runner::toString(*sizes);
    report.versions = runner::describeVersions(planned, function.getName());
  }
}

/// Says which public functions cannot be called.
void Compilation::warnOfObstacles(const runner::ModuleInterface &interface) {
  for (auto function : module->getOps<func::FuncOp>()) {
    auto obstacle = interface.obstacles.find(function.getName());
    if (function.isPublic() && obstacle != interface.obstacles.end())
      input.context.report(
          runner::makeError(function.getLoc(), obstacle->second),
          CHIMERA_SEVERITY_WARNING);
  }
}

/// Lowers the module. Remarks are kept unless they go somewhere already.
Expected<runner::LoweredModule>
Compilation::lower(const runner::CompileOptions &compile) {
  MLIRContext *context = module->getContext();
  std::optional<runner::RemarkCollector> collector;
  if (!context->getRemarkEngine())
    collector.emplace(context);
  std::optional<Expected<runner::LoweredModule>> lowered;
  compileSeconds = runner::timeOnce(
      [&] { lowered.emplace(runner::lower(*module, compile)); });
  if (collector)
    remarks = collector->take();
  return std::move(*lowered);
}

Expected<runner::ObjectFiles>
Compilation::emit(runner::LoweredModule &lowered,
                  const runner::CompileOptions &compile) {
  std::optional<Expected<runner::ObjectFiles>> objects;
  objectSeconds = runner::timeOnce([&] {
    objects.emplace(
        runner::emitCode(lowered, llvm::CodeGenFileType::ObjectFile, compile));
  });
  compileSeconds += objectSeconds;
  return std::move(*objects);
}

/// Bytes of values of `types` in memory; 0 if a size is known in calls only.
static int64_t countBytes(ArrayRef<runner::ValueType> types) {
  int64_t bytes = 0;
  for (const runner::ValueType &type : types) {
    if (!type.hasStaticShape())
      return 0;
    bytes += type.getBytes();
  }
  return bytes;
}

runner::Report Compilation::makeReport(const runner::Function &function,
                                       const capi::Program &program) {
  runner::Report report = std::move(reports[function.name]);
  report.file = program.name;
  report.entry = function.name;
  report.target = options.compile.target;
  report.threads = program.interface.threads;
  report.machine = runner::describeMachine(program.target, report.threads);
  report.argumentBytes = countBytes(function.arguments);
  report.resultBytes = countBytes(function.results);
  report.compileSeconds = compileSeconds;
  report.objectSeconds = objectSeconds;
  llvm::copy_if(remarks, std::back_inserter(report.remarks),
                [](const runner::Remark &remark) {
                  return remark.kind == "missed" || remark.kind == "failed";
                });
  return report;
}

Expected<std::unique_ptr<capi::Program>> Compilation::run() {
  Expected<runner::CompileOptions> compile = resolveOptions(options);
  if (!compile)
    return compile.takeError();
  if (Error error = applyOptions(*module, options))
    return std::move(error);
  Expected<TargetAttrInterface> target =
      runner::getTargetOf(*module, compile->target);
  if (!target)
    return target.takeError();
  compile->onPlanned = [&](ModuleOp planned, double seconds) {
    describePlans(planned, seconds);
  };
  Expected<runner::LoweredModule> lowered = lower(*compile);
  if (!lowered)
    return lowered.takeError();
  if (Error error = runner::verifyCallable(*module, lowered->interface))
    return std::move(error);
  warnOfObstacles(lowered->interface);
  Expected<runner::ObjectFiles> objects = emit(*lowered, *compile);
  if (!objects)
    return objects.takeError();
  std::unique_ptr<capi::Program> program(new capi::Program{
      input.context, input.name, *target, std::move(lowered->interface),
      std::move(*objects), /*reports=*/{}, remarks, /*loaded=*/nullptr});
  for (const runner::Function &function : program->interface.functions)
    program->reports.push_back(makeReport(function, *program));
  return program;
}

ChimeraProgram chimeraCompile(ChimeraModule module, ChimeraOptions options) {
  capi::Module *self = unwrap(module);
  if (!self)
    return {nullptr};
  capi::Options defaults;
  const capi::Options *given = unwrap(options);
  Expected<std::unique_ptr<capi::Program>> program =
      Compilation(*self, given ? *given : defaults).run();
  if (program)
    return {program->release()};
  self->context.report(program.takeError());
  return {nullptr};
}
