//===- MLIR.cpp - Chimera in contexts of MLIR's C interface -------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "chimera-c/MLIR.h"

#include "Handles.h"

#include "Chimera/InitAll.h"

#include "mlir/CAPI/IR.h"

using namespace chimera;
using llvm::createStringError;

void chimeraRegisterAllDialects(MlirDialectRegistry registry) {
  if (registry.ptr)
    runner::registerDialects(*::unwrap(registry));
}

void chimeraRegisterAllPasses(void) { registerAllPasses(); }

ChimeraContext chimeraContextCreateFromMlir(MlirContext context) {
  if (!context.ptr)
    return {nullptr};
  mlir::DialectRegistry registry;
  runner::registerDialects(registry);
  auto *self = new capi::Context;
  self->mlir = ::unwrap(context);
  self->mlir->appendDialectRegistry(registry);
  return {self};
}

ChimeraModule chimeraModuleCreateFromMlir(ChimeraContext context,
                                          MlirModule module,
                                          ChimeraStringRef name) {
  capi::Context *self = capi::unwrap(context);
  if (!self || !module.ptr)
    return {nullptr};
  mlir::ModuleOp op = ::unwrap(module);
  if (op->getContext() != self->mlir) {
    self->report(createStringError("the module is in another MLIR context than "
                                   "the one it is to be compiled in"));
    return {nullptr};
  }
  if (llvm::Error error = runner::verifyModule(op)) {
    self->report(std::move(error));
    return {nullptr};
  }
  return {new capi::Module{*self, op.clone(), capi::unwrap(name).str()}};
}
