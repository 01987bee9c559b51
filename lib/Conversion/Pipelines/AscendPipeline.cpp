//===- AscendPipeline.cpp - From linalg to C++ for Ascend cores -----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BackEnd.h"
#include "Stages.h"

#include "Chimera/Ascend/Ascend.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/EmitC/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace chimera;

void chimera::buildAscendPipeline(OpPassManager &pm,
                                  const AscendPipelineOptions &options) {
  buildFrontEndPipeline(pm);
  SchedulePassOptions schedule;
  schedule.target = options.target;
  schedule.threads = options.threads;
  schedule.fuse = options.fuse;
  addTiling(pm, schedule);
  MapMicroKernelsPassOptions map;
  map.target = options.target;
  pm.addNestedPass<func::FuncOp>(createMapMicroKernelsPass(map));
  pm.addPass(createCanonicalizerPass());
  addBufferization(pm, /*outParams=*/true);
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createCanonicalizerPass());
  pm.addNestedPass<func::FuncOp>(createWriteResultsInPlacePass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createLoopInvariantCodeMotionPass());
  pm.addPass(createCSEPass());
  ConvertChimeraToAscendPassOptions convert;
  convert.target = options.target;
  convert.required = options.required;
  pm.addPass(createConvertChimeraToAscendPass(convert));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addNestedPass<func::FuncOp>(createInsertAscendBarriersPass());
  ConvertAscendToEmitCPassOptions emission;
  emission.emit = options.emit;
  pm.addPass(createConvertAscendToEmitCPass(emission));
  pm.addPass(emitc::createFormExpressionsPass());
}

static void build(OpPassManager &pm, const TargetPipelineOptions &options) {
  AscendPipelineOptions own;
  own.target = options.target;
  own.threads = options.threads;
  own.fuse = options.fuse;
  buildAscendPipeline(pm, own);
}

static void registerPipeline() {
  PassPipelineRegistration<AscendPipelineOptions>(
      "chimera-ascend-pipeline",
      "From linalg on tensors to C++ for Ascend cores: form, plan, tile and "
      "lower chains",
      buildAscendPipeline);
}

static void registerDialects(DialectRegistry &registry) {
  registry.insert<ascend::AscendDialect>();
  registerAscendMicroKernels(registry);
}

/// Results are always arguments, so `out-params` asks for nothing else.
static constexpr StringLiteral ownOptions[] = {"out-params", "threads"};

static bool takes(const llvm::Triple &triple) {
  return triple.getArchName() == "davinci";
}

const BackEnd chimera::ascendBackEnd = {
    "davinci", ownOptions, takes, build, registerPipeline, registerDialects};
