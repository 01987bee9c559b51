//===- InitAll.cpp - Register everything ----------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/InitAll.h"

#include "Chimera/Ascend/Ascend.h"
#include "Chimera/Conversion/Passes.h"
#include "Chimera/Target/Passes.h"
#include "Chimera/Transforms/Passes.h"
#include "Chimera/Transforms/Pipelines.h"

#include "mlir/Conversion/ConvertToLLVM/ToLLVMInterface.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"

using namespace mlir;

void chimera::registerAllDialects(DialectRegistry &registry) {
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<ascend::AscendDialect, ChimeraDialect>();
  // Kernels become LLVM IR, and code, within a pipeline.
  registerAllGPUToLLVMIRTranslations(registry);
  registerBufferizableOpInterfaceExternalModels(registry);
  registerX86VectorMicroKernels(registry);
}

void chimera::registerAllPasses() {
  registerChimeraTransformsPasses();
  registerChimeraConversionPasses();
  registerChimeraTargetPasses();
  registerPipelines();
}
