//===- back-end.cpp - A back end of another program -----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plugin that chimera-opt loads: a back end for Arm CPUs. It plans for the
// machine it is given and lowers by the stages that CPUs share; there are no
// micro kernels for Arm here, so kernels become plain loops. A
// program that embeds Chimera calls `registerBackEnd` itself.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Conversion/BackEnd.h"
#include "Chimera/Conversion/Pipelines.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "llvm/Config/llvm-config.h"

using namespace mlir;

namespace {

struct ArmOptions : chimera::PlanningOptions {
  Option<bool> streaming{
      *this, "streaming",
      llvm::cl::desc("Let functions run in the streaming mode of SME"),
      llvm::cl::init(false)};
};

/// Marks the functions of a module for the streaming mode.
struct MarkStreamingPass
    : PassWrapper<MarkStreamingPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MarkStreamingPass)

  void runOnOperation() override {
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>())
      if (!function.isExternal())
        function.setArmLocallyStreaming(true);
  }
};

class ArmBackEnd : public chimera::BackEndWithOptions<ArmOptions> {
public:
  StringRef getName() const override { return "arm"; }
  StringRef getDescription() const override {
    return "From linalg on tensors to the LLVM dialect for Arm CPUs";
  }
  bool takes(const llvm::Triple &triple) const override {
    return triple.isAArch64();
  }
  bool takesMicroKernels() const override { return true; }
  void addPasses(OpPassManager &pm, const ArmOptions &options) const override {
    chimera::buildFrontEndPipeline(pm);
    chimera::buildPlanningPipeline(pm, options);
    chimera::LoweringOptions lowering;
    lowering.target = options.target;
    lowering.threads = options.threads;
    lowering.outParams = true;
    chimera::buildLoweringPipeline(pm, lowering);
    if (options.streaming)
      pm.addPass(std::make_unique<MarkStreamingPass>());
  }
};

} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "arm-back-end", LLVM_VERSION_STRING,
          [](DialectRegistry *registry) {
            auto backEnd = std::make_unique<ArmBackEnd>();
            // Dialects, interfaces and micro kernels, if it had any.
            backEnd->registerDialects(*registry);
            chimera::registerBackEnd(std::move(backEnd));
          }};
}
