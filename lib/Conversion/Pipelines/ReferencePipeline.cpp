//===- ReferencePipeline.cpp - Upstream passes alone ----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What results are compared with: bufferization, loops, LLVM, by upstream
// passes in their plainest form. Shares nothing with Chimera's own lowering, so
// that a mistake there cannot hide here. (Both let linalg.softmax take itself
// apart.)
//
//===----------------------------------------------------------------------===//

#include "Chimera/Conversion/Passes.h"
#include "Chimera/Conversion/Pipelines.h"
#include "Chimera/Transforms/Passes.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ConvertToLLVM/ToLLVMPass.h"
#include "mlir/Conversion/MathToFuncs/MathToFuncs.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Pipelines/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

static void addBufferization(OpPassManager &pm, bool outParams) {
  bufferization::OneShotBufferizePassOptions bufferize;
  bufferize.bufferizeFunctionBoundaries = true;
  bufferize.functionBoundaryTypeConversion =
      bufferization::LayoutMapOption::IdentityLayoutMap;
  bufferize.allowReturnAllocsFromLoops = true;
  pm.addPass(bufferization::createOneShotBufferizePass(bufferize));
  if (outParams) {
    // Results are copied out: hoisting their allocations instead would crash on
    // a buffer that is returned twice.
    bufferization::BufferResultsToOutParamsPassOptions results;
    results.modifyPublicFunctions = true;
    pm.addPass(bufferization::createBufferResultsToOutParamsPass(results));
  }
  bufferization::buildBufferDeallocationPipeline(pm);
}

/// Mathematical functions become calls of libm, and instructions where libm has
/// none or they do the same.
static void addMathLowering(OpPassManager &pm) {
  math::MathExpandOpsPassOptions expand;
  expand.opMnemonics = {"clampf", "fpowi", "rsqrt"};
  pm.addPass(math::createMathExpandOpsPass(expand));
  pm.addPass(createConvertMathToFuncs());
  pm.addNestedPass<func::FuncOp>(createLowerPlainMathPass());
  pm.addPass(createConvertMathToLibmPass());
  // bf16 conversions as integer arithmetic: they need no runtime library.
  arith::ArithExpandOpsPassOptions arith;
  arith.includeBf16 = true;
  pm.addPass(arith::createArithExpandOpsPass(arith));
}

void chimera::buildReferencePipeline(OpPassManager &pm, bool outParams) {
  pm.addPass(createInlinerPass());
  pm.addPass(createDecomposeSoftmaxPass());
  pm.addPass(createConvertElementwiseToLinalgPass());
  addBufferization(pm, outParams);
  pm.addNestedPass<func::FuncOp>(createConvertLinalgToLoopsPass());
  pm.addPass(createForallToForLoopPass());
  addMathLowering(pm);
  pm.addPass(memref::createExpandOpsPass());
  pm.addPass(createExpandOpenShapesPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
}
