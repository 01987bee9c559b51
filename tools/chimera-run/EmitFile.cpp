//===- EmitFile.cpp - What --emit writes ----------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmitFile.h"

#include "Chimera/Runner/CHeader.h"
#include "Chimera/Runner/Remarks.h"
#include "Chimera/Support/OutputFile.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace chimera;
using namespace chimera::run;
using namespace chimera::runner;
using llvm::Error;
using llvm::Expected;

static Error writeText(StringRef path, StringRef text) {
  return writeFile(path, [&](llvm::raw_ostream &os) { os << text; });
}

static Error emitMLIR(const CompileOptions &options, ModuleOp module,
                      StringRef path) {
  OwningOpRef<ModuleOp> planned = module.clone();
  if (Error error = plan(*planned, options))
    return error;
  std::string text;
  llvm::raw_string_ostream os(text);
  planned->print(os);
  os << '\n';
  return writeText(path, text);
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

Error chimera::run::emitFile(const Options &options,
                             CompileOptions compileOptions, ModuleOp module,
                             CompileListener &listener) {
  std::string path = getPath(options);
  RemarkCollector remarks(module.getContext());
  llvm::scope_exit showRemarks([&] {
    if (options.remarks)
      printRemarks(remarks.take(), llvm::errs());
  });
  compileOptions.listener = &listener;
  if (options.emit == Emit::MLIR)
    return emitMLIR(compileOptions, module, path);
  Expected<LoweredModule> lowered = lower(module, compileOptions);
  if (!lowered)
    return lowered.takeError();
  StringRef entry = options.entry == "*" ? "" : StringRef(options.entry);
  if (!isText(options.emit))
    if (Error error = verifyCallable(module, lowered->interface, entry))
      return error;
  warnOfObstacles(module, lowered->interface);
  if (isText(options.emit))
    if (Error error = joinParts(*lowered))
      return error;
  if (options.emit == Emit::LLVM) {
    std::string text;
    llvm::raw_string_ostream os(text);
    os << *lowered->parts.front().module;
    return writeText(path, text);
  }
  Expected<ObjectFiles> code = emitCode(
      *lowered,
      options.emit == Emit::Assembly ? llvm::CodeGenFileType::AssemblyFile
                                     : llvm::CodeGenFileType::ObjectFile,
      compileOptions);
  if (!code)
    return code.takeError();
  if (isText(options.emit))
    return writeText(path, code->front()->getBuffer());
  if (!options.header.empty())
    if (Error error = writeText(
            options.header, writeCHeader(lowered->interface,
                                         llvm::sys::path::stem(options.file))))
      return error;
  Stage stage(&listener, "link");
  if (options.emit == Emit::SharedLibrary)
    return linkSharedLibrary(*code, path);
  Expected<std::unique_ptr<llvm::MemoryBuffer>> whole =
      mergeObjects(std::move(*code));
  if (!whole)
    return whole.takeError();
  return writeText(path, (*whole)->getBuffer());
}
