//===- EmitFile.cpp - What --emit writes ----------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmitFile.h"

#include "Compiling.h"

#include "Chimera/Runner/CHeader.h"
#include "Chimera/Runner/Manifest.h"
#include "Chimera/Runner/Remarks.h"
#include "Chimera/Runner/Safetensors.h"
#include "Chimera/Runner/Timing.h"
#include "Chimera/Support/OutputFile.h"

#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace chimera;
using namespace chimera::run;
using namespace chimera::runner;
using llvm::Error;
using llvm::Expected;

/// Plans `module` and writes it.
static Error emitMLIR(const CompileOptions &options, ModuleOp module,
                      StringRef path) {
  if (Error error = plan(module, options))
    return error;
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  os << '\n';
  return writeText(path, text);
}

/// The plans of all functions of a planned module.
static PlanReport describePlans(ModuleOp planned, double seconds) {
  PlanReport plans;
  for (auto function : planned.getOps<func::FuncOp>()) {
    PlanReport plan = describePlan(function);
    llvm::append_range(plans.chains, std::move(plan.chains));
    plans.contractionsOutside += plan.contractionsOutside;
  }
  plans.seconds = seconds;
  return plans;
}

/// Says which public functions a program in another language cannot call.
static void warnOfObstacles(ModuleOp module, const ModuleInterface &interface) {
  for (auto function : module.getOps<func::FuncOp>()) {
    auto obstacle = interface.obstacles.find(function.getName());
    if (function.isPublic() && obstacle != interface.obstacles.end())
      llvm::errs() << "chimera-run: warning: no C interface: "
                   << obstacle->second << '\n';
  }
}

static bool isText(Emit emit) {
  return emit != Emit::Object && emit != Emit::SharedLibrary;
}

static std::string getPath(const Options &options) {
  if (!options.outputFile.empty())
    return options.outputFile;
  if (isText(options.emit))
    return "-";
  return (llvm::sys::path::stem(options.file) +
          (options.emit == Emit::Object ? ".o" : ".so"))
      .str();
}

/// Writes what `lowered` becomes to the file `path`.
static Error emitLowered(const Options &options,
                         const CompileOptions &compileOptions,
                         LoweredModule &lowered, StringRef path) {
  if (isText(options.emit))
    if (Error error = joinParts(lowered))
      return error;
  if (options.emit == Emit::LLVM) {
    std::string text;
    llvm::raw_string_ostream os(text);
    os << *lowered.parts.front().module;
    return writeText(path, text);
  }
  Expected<ObjectFiles> code = emitCode(
      lowered,
      options.emit == Emit::Assembly ? llvm::CodeGenFileType::AssemblyFile
                                     : llvm::CodeGenFileType::ObjectFile,
      compileOptions);
  if (!code)
    return code.takeError();
  if (isText(options.emit))
    return writeText(path, code->front()->getBuffer());
  if (!options.header.empty())
    if (Error error = writeText(
            options.header, writeCHeader(lowered.interface,
                                         llvm::sys::path::stem(options.file))))
      return error;
  Stage stage(compileOptions.listener, "link");
  if (options.emit == Emit::SharedLibrary)
    return linkSharedLibrary(*code, path, options.hostRuntime);
  Expected<std::unique_ptr<llvm::MemoryBuffer>> whole =
      mergeObjects(std::move(*code));
  if (!whole)
    return whole.takeError();
  return writeText(path, (*whole)->getBuffer());
}

/// The functions of `module` as they were compiled in `extended`, which has the
/// sizes of their results besides.
static ModuleInterface describe(ModuleOp module,
                                const ModuleInterface &extended) {
  ModuleInterface interface = extended;
  interface.functions.clear();
  for (const Function &function : extended.functions) {
    if (!module.lookupSymbol(function.name))
      continue;
    std::string sizes = function.name + "_sizes";
    interface.functions.push_back(function);
    interface.functions.back().hasSizes =
        !module.lookupSymbol(sizes) &&
        llvm::any_of(extended.functions, [&](const Function &other) {
          return other.name == sizes;
        });
  }
  return interface;
}

/// Says of the function that `options` mean where its weights are.
static Error nameWeights(const Options &options,
                         std::vector<Function> &functions) {
  if (options.weights.empty())
    return Error::success();
  Expected<SafetensorsFile> file = SafetensorsFile::open(options.weights);
  if (!file)
    return file.takeError();
  StringRef entry = options.entry.empty() ? "main" : StringRef(options.entry);
  for (Function &function : functions) {
    if (function.name != entry && functions.size() > 1)
      continue;
    for (const SafetensorsFile::Entry &weight : file->getEntries())
      if (unsigned argument; llvm::to_integer(weight.name, argument) &&
                             argument < function.arguments.size())
        function.weights.push_back({argument, options.weights, weight.name});
    llvm::sort(function.weights, [](const auto &left, const auto &right) {
      return left.argument < right.argument;
    });
  }
  return Error::success();
}

/// Compiles `module` to the file `path` and fills `manifest`.
static Error emitProgram(const Options &options, CompileOptions compileOptions,
                         ModuleOp module, StringRef path, Manifest &manifest) {
  compileOptions.onPlanned = [&](ModuleOp planned, double seconds) {
    manifest.plan = describePlans(planned, seconds);
  };
  OwningOpRef<ModuleOp> extended = module.clone();
  if (Error error = addResultSizes(*extended))
    return error;
  Expected<LoweredModule> lowered = lower(*extended, compileOptions);
  if (!lowered)
    return lowered.takeError();
  StringRef entry = options.entry == "*" ? "" : StringRef(options.entry);
  if (!isText(options.emit))
    if (Error error = verifyCallable(module, lowered->interface, entry))
      return error;
  warnOfObstacles(module, lowered->interface);
  manifest.interface = describe(module, lowered->interface);
  if (Error error = nameWeights(options, manifest.interface.functions))
    return error;
  return emitLowered(options, compileOptions, *lowered, path);
}

/// Makes the program that any of several processes runs.
static Error cutForAny(ModuleOp module, const Options &options) {
  if (Error error = runFrontEnd(module))
    return error;
  return cutProgram(module, options, options.threads, /*process=*/-1);
}

Error chimera::run::emitFile(const Options &options,
                             CompileOptions compileOptions, ModuleOp module,
                             CompileListener &listener) {
  std::string path = getPath(options);
  RemarkCollector remarks(module.getContext());
  Manifest manifest;
  manifest.target = options.target;
  compileOptions.listener = &listener;
  auto emit = [&]() -> Error {
    OwningOpRef<ModuleOp> own = module.clone();
    if (options.processes > 1)
      if (Error error = cutForAny(*own, options))
        return error;
    return options.emit == Emit::MLIR
               ? emitMLIR(compileOptions, *own, path)
               : emitProgram(options, compileOptions, *own, path, manifest);
  };
  Error error = Error::success();
  manifest.compileSeconds =
      timeOnce([&] { error = llvm::joinErrors(std::move(error), emit()); });
  manifest.remarks = remarks.take();
  if (options.remarks)
    printRemarks(manifest.remarks, llvm::errs());
  if (error || options.json.empty())
    return error;
  return writeJSON(options.json, manifest.toJSON());
}
