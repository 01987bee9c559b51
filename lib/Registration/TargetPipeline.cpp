//===- TargetPipeline.cpp - The pipeline that a target asks for -----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which passes come after planning depends on the target, which may be an
// attribute of the module: so they are chosen when the module is there, by the
// target's triple.
//
//===----------------------------------------------------------------------===//

#include "TargetPipeline.h"

#include "Chimera/Target/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;
using namespace chimera;

static void buildProcessorPipeline(OpPassManager &pm,
                                   const CompileOptions &options) {
  buildFrontEndPipeline(pm);
  buildPlanningPipeline(pm, options);
  buildLoweringPipeline(pm, options);
}

static void buildGraphicsPipeline(OpPassManager &pm,
                                  const CompileOptions &options) {
  NvidiaPipelineOptions own;
  own.target = options.target;
  own.fuse = options.fuse;
  own.tf32 = options.tf32;
  own.format = options.format;
  own.manifest = options.manifest;
  buildNvidiaPipeline(pm, own);
}

static void buildNeuralPipeline(OpPassManager &pm,
                                const CompileOptions &options) {
  AscendPipelineOptions own;
  own.target = options.target;
  own.threads = options.threads;
  own.fuse = options.fuse;
  buildFrontEndPipeline(pm);
  buildAscendPipeline(pm, own);
}

using BackEnd = void (*)(OpPassManager &, const CompileOptions &);

/// The back end for `triple`; null if there is none.
static BackEnd findBackEnd(StringRef triple) {
  llvm::Triple parsed(triple);
  if (triple.empty() || parsed.isX86())
    return buildProcessorPipeline;
  if (parsed.isNVPTX())
    return buildGraphicsPipeline;
  if (parsed.getArchName() == "davinci")
    return buildNeuralPipeline;
  return nullptr;
}

namespace {
struct CompilePass : PassWrapper<CompilePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CompilePass)

  explicit CompilePass(std::shared_ptr<const CompileOptions> options)
      : options(std::move(options)) {}

  StringRef getDescription() const override {
    return "Compile for a target, as its triple says";
  }

  void getDependentDialects(DialectRegistry &registry) const override {
    for (BackEnd build :
         {buildProcessorPipeline, buildGraphicsPipeline, buildNeuralPipeline}) {
      OpPassManager pm(ModuleOp::getOperationName());
      build(pm, *options);
      pm.getDependentDialects(registry);
    }
  }

  void runOnOperation() override {
    FailureOr<TargetAttrInterface> target =
        resolveTarget(getOperation(), options->target);
    if (failed(target))
      return signalPassFailure();
    BackEnd build = findBackEnd(target->getTriple());
    if (!build) {
      getOperation().emitError("there is no back end for '")
          << target->getTriple() << "', the triple of target '"
          << options->target << "'; there are x86, nvptx and davinci";
      return signalPassFailure();
    }
    OpPassManager pm(ModuleOp::getOperationName());
    build(pm, *options);
    if (failed(runPipeline(pm, getOperation())))
      signalPassFailure();
  }

  std::shared_ptr<const CompileOptions> options;
};
} // namespace

void chimera::buildTargetPipeline(OpPassManager &pm,
                                  const CompileOptions &options) {
  auto own = std::make_shared<CompileOptions>();
  own->copyOptionValuesFrom(options);
  pm.addPass(std::make_unique<CompilePass>(std::move(own)));
}
