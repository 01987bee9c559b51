//===- BackEnds.cpp - The pipeline that a target asks for -----------------===//
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

#include "BackEnd.h"

#include "Chimera/Target/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace chimera;

static const BackEnd *const backEnds[] = {&x86BackEnd, &nvidiaBackEnd,
                                          &ascendBackEnd};

namespace {
struct CompilePass : PassWrapper<CompilePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CompilePass)

  explicit CompilePass(std::shared_ptr<const TargetPipelineOptions> options)
      : options(std::move(options)) {}

  StringRef getDescription() const override {
    return "Compile for a target, as its triple says";
  }

  void getDependentDialects(DialectRegistry &registry) const override {
    for (const BackEnd *backEnd : backEnds) {
      OpPassManager pm(ModuleOp::getOperationName());
      backEnd->build(pm, *options);
      pm.getDependentDialects(registry);
    }
  }

  void runOnOperation() override {
    FailureOr<TargetAttrInterface> target =
        resolveTarget(getOperation(), options->target);
    if (failed(target))
      return signalPassFailure();
    llvm::Triple triple(target->getTriple());
    const auto *found = llvm::find_if(backEnds, [&](const BackEnd *backEnd) {
      return backEnd->takes(triple);
    });
    if (found == std::end(backEnds)) {
      InFlightDiagnostic error =
          getOperation().emitError("there is no back end for '");
      error << target->getTriple() << "', the triple of target '"
            << options->target << "'; there are ";
      llvm::interleaveComma(backEnds, error, [&](const BackEnd *backEnd) {
        error << backEnd->family;
      });
      return signalPassFailure();
    }
    OpPassManager pm(ModuleOp::getOperationName());
    (*found)->build(pm, *options);
    if (failed(runPipeline(pm, getOperation())))
      signalPassFailure();
  }

  std::shared_ptr<const TargetPipelineOptions> options;
};
} // namespace

void chimera::buildTargetPipeline(OpPassManager &pm,
                                  const TargetPipelineOptions &options) {
  auto own = std::make_shared<TargetPipelineOptions>();
  own->copyOptionValuesFrom(options);
  pm.addPass(std::make_unique<CompilePass>(std::move(own)));
}

void chimera::registerBackEndDialects(DialectRegistry &registry) {
  for (const BackEnd *backEnd : backEnds)
    backEnd->registerDialects(registry);
}

void chimera::registerPipelines() {
  PassPipelineRegistration<TargetPipelineOptions>(
      "chimera-pipeline",
      "From linalg on tensors to what the target runs, the LLVM dialect on a "
      "CPU: form, plan, tile and lower chains",
      buildTargetPipeline);
  PassPipelineRegistration<PipelineOptions>(
      "chimera-planning-pipeline",
      "Form chains and decide how each runs; everything stays on tensors",
      [](OpPassManager &pm, const PipelineOptions &options) {
        buildFrontEndPipeline(pm);
        buildPlanningPipeline(pm, options);
      });
  for (const BackEnd *backEnd : backEnds)
    backEnd->registerPipeline();
}
