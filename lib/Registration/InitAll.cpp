//===- InitAll.cpp - Register everything ----------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/InitAll.h"

#include "Chimera/Conversion/BackEnd.h"
#include "Chimera/Conversion/Passes.h"
#include "Chimera/Conversion/Pipelines.h"
#include "Chimera/Target/Passes.h"
#include "Chimera/Transforms/Passes.h"

#include "mlir/Conversion/ConvertToLLVM/ToLLVMInterface.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"

using namespace mlir;

void chimera::registerAllBackEnds() {
#define CHIMERA_BACK_END(NAME)                                                 \
  registerBackEnd(create##NAME##BackEnd(), BackEndPrecedence::Chimera);
#include "Chimera/Conversion/BackEnds.def"
}

void chimera::registerAllDialects(DialectRegistry &registry) {
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<ChimeraDialect>();
  registerBufferizableOpInterfaceExternalModels(registry);
  registerShardingInterfaceExternalModels(registry);
  registerFunctionMicroKernels(registry);
  registerAllBackEnds();
  for (const BackEnd *backEnd : getBackEnds())
    backEnd->registerDialects(registry);
}

void chimera::registerAllPasses() {
  registerChimeraTransformsPasses();
  registerChimeraConversionPasses();
#define CHIMERA_BACK_END(NAME) registerChimera##NAME##Passes();
#include "Chimera/Conversion/BackEnds.def"
  registerChimeraTargetPasses();
  registerPipelines();
  registerAllBackEnds();
}
