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

#include "Chimera/Conversion/BackEnd.h"
#include "Chimera/Conversion/Pipelines.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/NVGPUToNVVM/NVGPUToNVVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace chimera;

namespace {

struct NvidiaOptions : PassPipelineOptions<NvidiaOptions> {
  Option<std::string> target{
      *this, "target",
      llvm::cl::desc("GPU to compile for: a name, or a file (machine.mlir)"),
      llvm::cl::init("h200")};
  Option<FuseMode> fuse{*this, "fuse", llvm::cl::desc("Whether to fuse"),
                        llvm::cl::init(FuseMode::Auto), getFuseModes()};
  Option<TileMode> tiles{*this, "tiles",
                         llvm::cl::desc("Where orders and tiles come from"),
                         llvm::cl::init(TileMode::Exact), getTileModes()};
  Option<bool> tf32{
      *this, "tf32",
      llvm::cl::desc("Multiply f32 as tf32, which keeps 10 of 23 bits, where "
                     "the GPU can; otherwise f32 has no kernels"),
      llvm::cl::init(false)};
  Option<std::string> format{
      *this, "format",
      llvm::cl::desc("What the binary holds: isa (PTX), bin or fatbin, for "
                     "which ptxas is needed"),
      llvm::cl::init("bin")};
  Option<std::string> manifest{
      *this, "manifest",
      llvm::cl::desc("File that says in JSON how the kernels are launched"),
      llvm::cl::init("")};
};

class NvidiaBackEnd : public BackEndWithOptions<NvidiaOptions> {
public:
  StringRef getName() const override { return "nvidia"; }
  StringRef getDescription() const override {
    return "From linalg on tensors to kernels for NVIDIA GPUs, a gpu.binary "
           "with the code of each, and the functions that launch them";
  }
  bool takes(const llvm::Triple &triple) const override {
    return triple.isNVPTX();
  }
  void addPasses(OpPassManager &pm,
                 const NvidiaOptions &options) const override;
  void registerDialects(DialectRegistry &registry) const override;
};

} // namespace

/// Images with their channels last, which the kernels of convolutions take.
static void addLayouts(OpPassManager &pm, const std::string &target) {
  ChooseLayoutsPassOptions layouts;
  layouts.target = target;
  OpPassManager &func = pm.nest<func::FuncOp>();
  func.addPass(createChooseLayoutsPass(layouts));
  func.addPass(createApplyLayoutsPass());
}

/// Kernels for what lies outside chains, in groups that the model chooses.
static void addMemoryGroups(OpPassManager &pm, const std::string &target) {
  pm.addPass(createDecomposeSoftmaxPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addNestedPass<func::FuncOp>(createFuseMemoryBoundPass());
  pm.addPass(createCSEPass());
  pm.addNestedPass<func::FuncOp>(createSplitReductionsPass());
  pm.addPass(createCSEPass());
  PartitionPassOptions partition;
  partition.target = target;
  pm.addNestedPass<func::FuncOp>(createPartitionPass(partition));
  PlanThreadsPassOptions plan;
  plan.target = target;
  pm.addPass(createPlanThreadsPass(plan));
  ConvertMemoryGroupsToNVVMPassOptions convert;
  convert.target = target;
  pm.addPass(createConvertMemoryGroupsToNVVMPass(convert));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

/// What is left of the functions: launches, on memrefs.
static void addHost(OpPassManager &pm) {
  addBufferizationPasses(pm, /*outParams=*/true);
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

void NvidiaBackEnd::addPasses(OpPassManager &pm,
                              const NvidiaOptions &options) const {
  if (llvm::is_contained({"bin", "binary", "fatbin"}, options.format))
    pm.addPass(createFindAssemblerPass());
  buildFrontEndPipeline(pm);
  addLayouts(pm, options.target);
  SchedulePassOptions schedule;
  schedule.target = options.target;
  schedule.fuse = options.fuse;
  schedule.tiles = options.tiles;
  schedule.tf32 = options.tf32;
  addTilingPasses(pm, schedule);
  ConvertChimeraToNVVMPassOptions convert;
  convert.target = options.target;
  convert.tf32 = options.tf32;
  // There is nothing else that could run on the GPU.
  convert.required = true;
  pm.addPass(createConvertChimeraToNVVMPass(convert));
  addMemoryGroups(pm, options.target);
  addHost(pm);
  WriteManifestPassOptions manifest;
  manifest.file = options.manifest;
  pm.addPass(createWriteManifestPass(manifest));
  addKernels(pm);
  GpuModuleToBinaryPassOptions binary;
  binary.compilationTarget = options.format;
  pm.addPass(createGpuModuleToBinaryPass(binary));
}

void NvidiaBackEnd::registerDialects(DialectRegistry &registry) const {
  // Kernels become LLVM IR, and code, within the pipeline.
  registerAllGPUToLLVMIRTranslations(registry);
  registerNVVMMicroKernels(registry);
}

std::unique_ptr<BackEnd> chimera::createNvidiaBackEnd() {
  return std::make_unique<NvidiaBackEnd>();
}
