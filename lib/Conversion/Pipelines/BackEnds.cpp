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

/// The options, beside those that mean something to all back ends, that ask for
/// anything.
static SmallVector<StringRef> getWishes(const TargetPipelineOptions &options) {
  SmallVector<StringRef> wishes;
  for (auto [name, isSet] :
       {std::pair<StringRef, bool>("threads", options.threads != 0),
        {"out-params", options.outParams},
        {"micro-kernels", !options.microKernels.empty()},
        {"tf32", options.tf32},
        {"format", options.format != "bin"},
        {"manifest", !options.manifest.empty()}})
    if (isSet)
      wishes.push_back(name);
  return wishes;
}

/// Fails if an option asks for something that `backEnd` does not do.
static LogicalResult checkOptions(ModuleOp module, const BackEnd &backEnd,
                                  const TargetPipelineOptions &options) {
  for (StringRef name : getWishes(options)) {
    if (llvm::is_contained(backEnd.options, name))
      continue;
    InFlightDiagnostic error = module.emitError("option '");
    error << name << "' means nothing for target '" << options.target
          << "', whose back end is " << backEnd.family
          << "; leave it out, it is for ";
    auto others = llvm::make_filter_range(backEnds, [&](const BackEnd *other) {
      return llvm::is_contained(other->options, name);
    });
    llvm::interleaveComma(
        others, error, [&](const BackEnd *other) { error << other->family; });
    return error;
  }
  return success();
}

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
    if (failed(checkOptions(getOperation(), **found, *options)))
      return signalPassFailure();
    if (getOperation()->hasAttr(ChimeraDialect::getMicroKernelsAttrName()) &&
        !llvm::is_contained((*found)->options, "micro-kernels")) {
      getOperation().emitError("programs can bring micro kernels for CPUs; "
                               "kernels of ")
          << (*found)->family << " are emitted as a whole";
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

namespace {
/// What planning takes: the pipeline of it alone knows no other options.
struct PlanningOptions : PassPipelineOptions<PlanningOptions> {
  Option<std::string> target{
      *this, "target",
      llvm::cl::desc("Machine to plan for: a name, or a file (machine.mlir)"),
      llvm::cl::init("host")};
  Option<int64_t> threads{
      *this, "threads",
      llvm::cl::desc("Threads that will run the code; 0 means one per core"),
      llvm::cl::init(0)};
  Option<FuseMode> fuse{*this, "fuse", llvm::cl::desc("Whether to fuse"),
                        llvm::cl::init(FuseMode::Auto), getFuseModes()};
};
} // namespace

void chimera::registerPipelines() {
  PassPipelineRegistration<TargetPipelineOptions>(
      "chimera-pipeline",
      "From linalg on tensors to what the target runs, the LLVM dialect on a "
      "CPU: form, plan, tile and lower chains",
      buildTargetPipeline);
  PassPipelineRegistration<PlanningOptions>(
      "chimera-planning-pipeline",
      "Form chains and decide how each runs; everything stays on tensors",
      [](OpPassManager &pm, const PlanningOptions &own) {
        PipelineOptions options;
        options.target = own.target;
        options.threads = own.threads;
        options.fuse = own.fuse;
        buildFrontEndPipeline(pm);
        buildPlanningPipeline(pm, options);
      });
  for (const BackEnd *backEnd : backEnds)
    backEnd->registerPipeline();
}
