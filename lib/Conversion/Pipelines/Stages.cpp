//===- Stages.cpp - What the pipelines of back ends share -----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Conversion/Pipelines.h"

#include "mlir/Conversion/TosaToArith/TosaToArith.h"
#include "mlir/Conversion/TosaToLinalg/TosaToLinalg.h"
#include "mlir/Conversion/TosaToTensor/TosaToTensor.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Tosa/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace chimera;

void chimera::buildFrontEndPipeline(OpPassManager &pm) {
  OpPassManager &func = pm.nest<func::FuncOp>();
  func.addPass(tosa::createTosaToLinalgNamed());
  func.addPass(tosa::createTosaToLinalg());
  func.addPass(createTosaToArithPass());
  func.addPass(createTosaToTensorPass());
  func.addPass(createCanonicalizerPass());
}

/// Forms and plans chains. Those that no code is generated from are put back
/// once they are planned, and what came back makes chains without them.
static void addPlanning(OpPassManager &func, SchedulePassOptions schedule) {
  FormChainsPassOptions form;
  form.target = schedule.target;
  WidenFactorsPassOptions widen;
  widen.target = schedule.target;
  PutBackChainsPassOptions putBack;
  putBack.target = schedule.target;
  func.addPass(createFormChainsPass(form));
  func.addPass(createOrientConstantsPass());
  func.addPass(createWidenFactorsPass(widen));
  func.addPass(createSchedulePass(schedule));
  func.addPass(createPutBackChainsPass(putBack));
  form.compiledOnly = true;
  schedule.newOnly = true;
  func.addPass(createFormChainsPass(form));
  func.addPass(createOrientConstantsPass());
  func.addPass(createWidenFactorsPass(widen));
  func.addPass(createSchedulePass(schedule));
}

void chimera::buildPlanningPipeline(OpPassManager &pm,
                                    const PlanningOptions &options) {
  SchedulePassOptions schedule;
  schedule.target = options.target;
  schedule.threads = options.threads;
  schedule.fuse = options.fuse;
  schedule.tiles = options.tiles;
  schedule.rank = options.rank;
  pm.addPass(createCutCollectivesPass());
  pm.addPass(createVersionSizesPass());
  OpPassManager &func = pm.nest<func::FuncOp>();
  ChooseLayoutsPassOptions layouts;
  layouts.target = options.target;
  layouts.threads = options.threads;
  WidenFloatsPassOptions widen;
  widen.target = options.target;
  func.addPass(createWidenFloatsPass(widen));
  MultiplyCodesPassOptions multiply;
  multiply.target = options.target;
  func.addPass(createMultiplyCodesPass(multiply));
  FoldDequantizationPassOptions decode;
  decode.target = options.target;
  func.addPass(createFoldDequantizationPass(decode));
  func.addPass(createFoldNormalizationPass());
  // Layouts are for products without offsets.
  SeparateOffsetsPassOptions separate;
  separate.target = options.target;
  func.addPass(createSeparateOffsetsPass(separate));
  func.addPass(createChooseLayoutsPass(layouts));
  func.addPass(createApplyLayoutsPass());
  func.addPass(createJoinTransposesPass());
  addPlanning(func, schedule);
}

void chimera::addTilingPasses(OpPassManager &pm,
                              const SchedulePassOptions &schedule) {
  OpPassManager &func = pm.nest<func::FuncOp>();
  addPlanning(func, schedule);
  func.addPass(createTilePass());
  func.addPass(createCanonicalizerPass());
  func.addPass(createCSEPass());
}

void chimera::addBufferizationPasses(OpPassManager &pm, bool outParams) {
  if (outParams)
    pm.addNestedPass<func::FuncOp>(createSeparateResultsPass());
  bufferization::OneShotBufferizePassOptions bufferize;
  bufferize.bufferizeFunctionBoundaries = true;
  bufferize.functionBoundaryTypeConversion =
      bufferization::LayoutMapOption::IdentityLayoutMap;
  bufferize.bufferAlignment = 64;
  bufferize.allowReturnAllocsFromLoops = true;
  pm.addPass(bufferization::createOneShotBufferizePass(bufferize));
  if (!outParams)
    return;
  bufferization::BufferResultsToOutParamsPassOptions results;
  results.hoistStaticAllocs = true;
  results.modifyPublicFunctions = true;
  // For chimera-write-results-in-place.
  results.addResultAttribute = true;
  pm.addPass(bufferization::createBufferResultsToOutParamsPass(results));
}
