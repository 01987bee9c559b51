//===- Context.cpp - Contexts and modules of the C interface ------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Handles.h"

#include "Chimera/Runner/DiagnosticError.h"

#include "llvm/Support/raw_ostream.h"

using namespace chimera;
using namespace chimera::capi;
using llvm::Error;
using llvm::Expected;

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

static void printDiagnostic(const ChimeraDiagnostic *diagnostic, void *) {
  llvm::raw_ostream &os = llvm::errs();
  os << "chimera: ";
  os << (diagnostic->severity == CHIMERA_SEVERITY_ERROR ? "error: "
                                                        : "warning: ");
  if (diagnostic->file.length > 0)
    os << unwrap(diagnostic->file) << ':' << diagnostic->line << ':'
       << diagnostic->column << ": ";
  os << unwrap(diagnostic->message) << '\n';
}

void capi::Context::report(Error error, ChimeraSeverity severity) {
  auto tell = [&](llvm::StringRef text, const runner::FilePlace &place) {
    ChimeraDiagnostic diagnostic = {severity, wrap(text), wrap(place.file),
                                    place.line, place.column};
    (handler ? handler : printDiagnostic)(&diagnostic, userData);
  };
  llvm::handleAllErrors(
      std::move(error),
      [&](const runner::DiagnosticError &diagnostic) {
        tell(diagnostic.getText(), diagnostic.getPlace());
      },
      [&](const llvm::ErrorInfoBase &info) {
        std::string message = info.message();
        tell(llvm::StringRef(message).rtrim().split('\n').first, {});
      });
}

ChimeraLogicalResult capi::Context::conclude(Error error) {
  bool isSuccess = !error;
  report(std::move(error));
  return {isSuccess};
}

ChimeraContext chimeraContextCreate(void) {
  mlir::DialectRegistry registry;
  runner::registerDialects(registry);
  auto *context = new capi::Context;
  context->owned = std::make_unique<mlir::MLIRContext>(
      registry, mlir::MLIRContext::Threading::DISABLED);
  context->mlir = context->owned.get();
  return {context};
}

void chimeraContextDestroy(ChimeraContext context) { delete unwrap(context); }

void chimeraContextSetDiagnosticHandler(ChimeraContext context,
                                        ChimeraDiagnosticHandler handler,
                                        void *userData) {
  if (capi::Context *self = unwrap(context)) {
    self->handler = handler;
    self->userData = userData;
  }
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

static ChimeraModule
finishModule(capi::Context &context,
             Expected<mlir::OwningOpRef<mlir::ModuleOp>> module,
             llvm::StringRef name) {
  if (module)
    return {new capi::Module{context, std::move(*module), name.str()}};
  context.report(module.takeError());
  return {nullptr};
}

ChimeraModule chimeraModuleParse(ChimeraContext context, ChimeraStringRef text,
                                 ChimeraStringRef name) {
  capi::Context *self = unwrap(context);
  if (!self)
    return {nullptr};
  return finishModule(*self,
                      runner::parseText(unwrap(text), unwrap(name), self->mlir),
                      unwrap(name));
}

ChimeraModule chimeraModuleParseFile(ChimeraContext context,
                                     ChimeraStringRef path) {
  capi::Context *self = unwrap(context);
  if (!self)
    return {nullptr};
  return finishModule(*self, runner::parseFile(unwrap(path), self->mlir),
                      unwrap(path));
}

void chimeraModuleDestroy(ChimeraModule module) { delete unwrap(module); }
