//===- AscendPipeline.cpp - From linalg to C++ for Ascend cores -----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NarrowChains.h"

#include "Chimera/Transforms/Pipelines.h"

#include "Chimera/Conversion/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Bufferization/Pipelines/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/EmitC/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace chimera;

/// Tensors to memrefs, with results in memory that the caller provides.
static void addBufferization(OpPassManager &pm) {
  pm.addNestedPass<func::FuncOp>(createSeparateResultsPass());
  bufferization::OneShotBufferizePassOptions bufferize;
  bufferize.bufferizeFunctionBoundaries = true;
  bufferize.functionBoundaryTypeConversion =
      bufferization::LayoutMapOption::IdentityLayoutMap;
  bufferize.allowReturnAllocsFromLoops = true;
  pm.addPass(bufferization::createOneShotBufferizePass(bufferize));
  bufferization::BufferResultsToOutParamsPassOptions results;
  results.hoistStaticAllocs = true;
  results.modifyPublicFunctions = true;
  pm.addPass(bufferization::createBufferResultsToOutParamsPass(results));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createLoopInvariantCodeMotionPass());
  pm.addPass(createCSEPass());
}

void chimera::buildAscendPipeline(OpPassManager &pm,
                                  const AscendPipelineOptions &options) {
  SchedulePassOptions schedule;
  schedule.target = options.target;
  schedule.threads = options.threads;
  schedule.fuse = options.fuse;
  addNarrowTiling(pm, schedule);
  MapMicroKernelsPassOptions map;
  map.target = options.target;
  pm.addNestedPass<func::FuncOp>(createMapMicroKernelsPass(map));
  pm.addPass(createCanonicalizerPass());
  addBufferization(pm);
  ConvertChimeraToAscendPassOptions convert;
  convert.target = options.target;
  pm.addPass(createConvertChimeraToAscendPass(convert));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  ConvertAscendToEmitCPassOptions emission;
  emission.emit = options.emit;
  pm.addPass(createConvertAscendToEmitCPass(emission));
  pm.addPass(emitc::createFormExpressionsPass());
}
