//===- Plugin.cpp - Chimera in stock tools --------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What mlir-opt and its like load to know Chimera: as a dialect plugin, which
// brings dialects and the interfaces that passes ask for, and as a pass plugin,
// which brings passes and pipelines. The tool has to use the same libMLIR.so.
// One that has Chimera in it, such as chimera-opt, keeps what it has.
//
//===----------------------------------------------------------------------===//

#include "Chimera/IR/Chimera.h"
#include "Chimera/InitAll.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm/Config/llvm-config.h"

using namespace mlir;

#define CHIMERA_PLUGIN_EXPORTED                                                \
  LLVM_ATTRIBUTE_WEAK LLVM_ATTRIBUTE_VISIBILITY_DEFAULT

static void registerDialects(DialectRegistry *registry) {
  StringRef name = chimera::ChimeraDialect::getDialectNamespace();
  if (!registry->getDialectAllocator(name))
    chimera::registerAllDialects(*registry);
}

static void registerPasses() {
  if (!PassInfo::lookup("chimera-schedule"))
    chimera::registerAllPasses();
}

extern "C" {

CHIMERA_PLUGIN_EXPORTED DialectPluginLibraryInfo mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "Chimera", LLVM_VERSION_STRING,
          registerDialects};
}

CHIMERA_PLUGIN_EXPORTED PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "Chimera", LLVM_VERSION_STRING,
          registerPasses};
}

} // extern "C"
