//===- AscendPipeline.cpp - From linalg to C++ for Ascend cores -----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Ascend/Ascend.h"
#include "Chimera/Conversion/BackEnd.h"
#include "Chimera/Conversion/Pipelines.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Dialect/EmitC/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace chimera;

namespace {

struct AscendOptions : PassPipelineOptions<AscendOptions> {
  Option<std::string> target{
      *this, "target",
      llvm::cl::desc(
          "Processor to compile for: a name, or a file (machine.mlir)"),
      llvm::cl::init("ascend910")};
  Option<int64_t> threads{
      *this, "threads",
      llvm::cl::desc("Cores that will run the code; 0 means all"),
      llvm::cl::init(0)};
  Option<FuseMode> fuse{*this, "fuse", llvm::cl::desc("Whether to fuse"),
                        llvm::cl::init(FuseMode::Auto), getFuseModes()};
  Option<TileMode> tiles{*this, "tiles",
                         llvm::cl::desc("Where orders and tiles come from"),
                         llvm::cl::init(TileMode::Exact), getTileModes()};
  Option<bool> required{
      *this, "required",
      llvm::cl::desc("Fail where no kernel can be made; otherwise the function "
                     "stays as it is"),
      llvm::cl::init(true)};
  Option<AscendEmission> emit{
      *this, "emit", llvm::cl::desc("How to write matrix products"),
      llvm::cl::init(AscendEmission::Call),
      llvm::cl::values(clEnumValN(AscendEmission::Call, "call", "as calls"),
                       clEnumValN(AscendEmission::Nest, "nest", "as loops"))};
};

class AscendBackEnd : public BackEndWithOptions<AscendOptions> {
public:
  StringRef getName() const override { return "ascend"; }
  StringRef getDescription() const override {
    return "From linalg on tensors to C++ for Ascend cores, as mlir-translate "
           "--mlir-to-cpp takes it: form, plan, tile and lower chains";
  }
  bool takes(const llvm::Triple &triple) const override {
    return triple.getArchName() == "davinci";
  }
  void addPasses(OpPassManager &pm,
                 const AscendOptions &options) const override;
  void registerDialects(DialectRegistry &registry) const override;
};

} // namespace

void AscendBackEnd::addPasses(OpPassManager &pm,
                              const AscendOptions &options) const {
  buildFrontEndPipeline(pm);
  SchedulePassOptions schedule;
  schedule.target = options.target;
  schedule.threads = options.threads;
  schedule.fuse = options.fuse;
  schedule.tiles = options.tiles;
  addTilingPasses(pm, schedule);
  pm.addNestedPass<func::FuncOp>(createShowAscendImagesPass());
  pm.addNestedPass<func::FuncOp>(createFuseMemoryBoundPass());
  pm.addPass(createCSEPass());
  PartitionPassOptions partition;
  partition.target = options.target;
  partition.threads = options.threads;
  pm.addNestedPass<func::FuncOp>(createPartitionPass(partition));
  MapMicroKernelsPassOptions map;
  map.target = options.target;
  pm.addNestedPass<func::FuncOp>(createMapMicroKernelsPass(map));
  pm.addPass(createCanonicalizerPass());
  pm.addNestedPass<func::FuncOp>(createGatherAscendGroupsPass());
  addBufferizationPasses(pm, /*outParams=*/true);
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createCanonicalizerPass());
  pm.addNestedPass<func::FuncOp>(createWriteResultsInPlacePass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createLoopInvariantCodeMotionPass());
  pm.addPass(createCSEPass());
  PlanAscendGroupsPassOptions groups;
  groups.target = options.target;
  groups.threads = options.threads;
  pm.addNestedPass<func::FuncOp>(createPlanAscendGroupsPass(groups));
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

void AscendBackEnd::registerDialects(DialectRegistry &registry) const {
  registry.insert<ascend::AscendDialect>();
  ascend::registerBufferization(registry);
  registerAscendMicroKernels(registry);
}

std::unique_ptr<BackEnd> chimera::createAscendBackEnd() {
  return std::make_unique<AscendBackEnd>();
}
