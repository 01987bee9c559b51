//===- NvidiaPipeline.cpp - Kernels for NVIDIA GPUs -----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chains are formed, planned and tiled as for any target, with operands of 16
// bits, or of tf32 if that may be. From the tiles on the way is another one:
// kernels straight from tensors, by upstream passes to PTX, by ptxas to machine
// code.
//
//===----------------------------------------------------------------------===//

#include "BackEnd.h"
#include "Stages.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace chimera;

/// What is left of the functions: launches, on memrefs.
static void addHost(OpPassManager &pm) {
  addBufferization(pm, /*outParams=*/true);
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addNestedPass<func::FuncOp>(createWriteResultsInPlacePass());
}

/// Kernels to the LLVM dialect.
static void addKernels(OpPassManager &pm) {
  OpPassManager &kernel = pm.nest<gpu::GPUModuleOp>();
  kernel.addPass(createCanonicalizerPass());
  kernel.addPass(createCSEPass());
  kernel.addPass(createLoopInvariantCodeMotionPass());
  kernel.addPass(createConvertNVGPUToNVVMPass());
  kernel.addPass(createConvertVectorToSCFPass());
  kernel.addPass(createSCFToControlFlowPass());
  kernel.addPass(createConvertNVVMToLLVMPass());
  kernel.addPass(memref::createExpandStridedMetadataPass());
  kernel.addPass(createLowerAffinePass());
  ConvertGpuOpsToNVVMOpsOptions toNVVM;
  toNVVM.useBarePtrCallConv = true;
  kernel.addPass(createConvertGpuOpsToNVVMOps(toNVVM));
  kernel.addPass(createDeclareSharedMemoryPass());
  kernel.addPass(createConvertVectorToLLVMPass());
  kernel.addPass(createConvertIndexToLLVMPass());
  kernel.addPass(createArithToLLVMConversionPass());
  kernel.addPass(createCanonicalizerPass());
  kernel.addPass(createCSEPass());
  kernel.addPass(createReconcileUnrealizedCastsPass());
}

void chimera::buildNvidiaPipeline(OpPassManager &pm,
                                  const NvidiaPipelineOptions &options) {
  buildFrontEndPipeline(pm);
  SchedulePassOptions schedule;
  schedule.target = options.target;
  schedule.fuse = options.fuse;
  schedule.tf32 = options.tf32;
  addTiling(pm, schedule);
  ConvertChimeraToNVVMPassOptions convert;
  convert.target = options.target;
  convert.tf32 = options.tf32;
  // There is nothing else that could run on the GPU.
  convert.required = true;
  pm.addPass(createConvertChimeraToNVVMPass(convert));
  addHost(pm);
  WriteManifestPassOptions manifest;
  manifest.file = options.manifest;
  pm.addPass(createWriteManifestPass(manifest));
  addKernels(pm);
  GpuModuleToBinaryPassOptions binary;
  binary.compilationTarget = options.format;
  pm.addPass(createGpuModuleToBinaryPass(binary));
}

static void build(OpPassManager &pm, const TargetPipelineOptions &options) {
  NvidiaPipelineOptions own;
  own.target = options.target;
  own.fuse = options.fuse;
  own.tf32 = options.tf32;
  own.format = options.format;
  own.manifest = options.manifest;
  buildNvidiaPipeline(pm, own);
}

static void registerPipeline() {
  PassPipelineRegistration<NvidiaPipelineOptions>(
      "chimera-nvidia-pipeline",
      "From linalg on tensors to kernels for NVIDIA GPUs and the functions "
      "that launch them",
      buildNvidiaPipeline);
}

static void registerDialects(DialectRegistry &registry) {
  // Kernels become LLVM IR, and code, within the pipeline.
  registerAllGPUToLLVMIRTranslations(registry);
  registerNVVMMicroKernels(registry);
}

/// Results are always arguments, so `out-params` asks for nothing else.
static constexpr StringLiteral ownOptions[] = {"out-params", "tf32", "format",
                                               "manifest"};

const BackEnd chimera::nvidiaBackEnd = {
    "nvptx",
    ownOptions,
    [](const llvm::Triple &triple) { return triple.isNVPTX(); },
    build,
    registerPipeline,
    registerDialects};
