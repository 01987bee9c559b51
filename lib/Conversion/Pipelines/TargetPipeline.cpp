//===- TargetPipeline.cpp - The pipeline that a target asks for -----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which passes come after planning depends on the target, which may be an
// attribute of the module: so the back end is chosen when the module is there,
// by the target's triple.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Conversion/BackEnd.h"
#include "Chimera/Conversion/Pipelines.h"
#include "Chimera/Target/Target.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace chimera;

/// The options of the back end's own pipeline. The target may be the name of a
/// file, with any characters.
static FailureOr<std::string>
getOwnOptions(ModuleOp module, const TargetPipelineOptions &options) {
  StringRef target = options.target;
  StringRef quote = target.contains('"') ? "'" : "\"";
  if (target.contains(quote))
    return module.emitError("target ")
           << target << " has both kinds of quotes in its name, so that it "
           << "cannot be handed to a back end; rename the file";
  std::string text = ("target=" + quote + target + quote).str();
  if (options.threads != 0)
    text += " threads=" + std::to_string(options.threads);
  if (options.fuse == FuseMode::Never)
    text += " fuse=never";
  else if (options.fuse == FuseMode::Always)
    text += " fuse=always";
  if (options.tiles == TileMode::ClosedForm)
    text += " tiles=closed-form";
  return text + " " + options.backEnd;
}

/// The back end for the triple of `target`, or an error on `module`.
static const BackEnd *findBackEnd(ModuleOp module, TargetAttrInterface target,
                                  StringRef name) {
  SmallVector<const BackEnd *> backEnds = getBackEnds();
  llvm::Triple triple(target.getTriple());
  const auto *found = llvm::find_if(
      backEnds, [&](const BackEnd *backEnd) { return backEnd->takes(triple); });
  if (found != backEnds.end())
    return *found;
  InFlightDiagnostic error = module.emitError("there is no back end for '");
  error << target.getTriple() << "', the triple of target '" << name
        << "'; there are ";
  llvm::interleaveComma(backEnds, error, [&](const BackEnd *backEnd) {
    error << backEnd->getName();
  });
  return nullptr;
}

/// Adds the passes of `backEnd`, which is for `target`.
static LogicalResult addPasses(OpPassManager &pm, ModuleOp module,
                               const BackEnd &backEnd,
                               const TargetPipelineOptions &options) {
  FailureOr<std::string> own = getOwnOptions(module, options);
  if (failed(own))
    return failure();
  std::string message;
  llvm::raw_string_ostream errors(message);
  if (succeeded(backEnd.addPasses(pm, *own, errors)))
    return success();
  StringRef reason = StringRef(message).trim();
  reason.consume_front("<Pass-Options-Parser>: ");
  return module.emitError("the back end of target '")
         << options.target << "', " << backEnd.getName()
         << ", does not take these options: " << reason
         << "; those it takes are the options of chimera-" << backEnd.getName()
         << "-pipeline";
}

/// Cuts the program for several processes, if it runs as that.
static LogicalResult addSharding(OpPassManager &pm, ModuleOp module,
                                 const BackEnd &backEnd,
                                 const TargetPipelineOptions &options) {
  if (options.processes < 0)
    return module.emitError("'processes' must not be negative, got ")
           << options.processes;
  if (options.processes < 2 && module.getOps<shard::GridOp>().empty())
    return success();
  if (!backEnd.exchangesData())
    return module.emitError("the back end ")
           << backEnd.getName()
           << " compiles for one process alone; leave out 'processes'";
  buildFrontEndPipeline(pm);
  ShardPassOptions own;
  own.processes = options.processes;
  own.split = options.split;
  own.overlap = options.overlap;
  own.target = options.target;
  own.threads = options.threads;
  pm.addPass(createShardPass(own));
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
    for (const BackEnd *backEnd : getBackEnds()) {
      OpPassManager pm(ModuleOp::getOperationName());
      if (succeeded(backEnd->addPasses(pm, "", llvm::nulls())))
        pm.getDependentDialects(registry);
    }
    createShardPass()->getDependentDialects(registry);
  }

  void runOnOperation() override {
    if (failed(compile(getOperation())))
      signalPassFailure();
  }

private:
  LogicalResult compile(ModuleOp module) {
    FailureOr<TargetAttrInterface> target =
        resolveTarget(module, options->target);
    if (failed(target))
      return failure();
    const BackEnd *backEnd = findBackEnd(module, *target, options->target);
    if (!backEnd)
      return failure();
    OpPassManager pm(ModuleOp::getOperationName());
    if (failed(addSharding(pm, module, *backEnd, *options)) ||
        failed(addPasses(pm, module, *backEnd, *options)))
      return failure();
    if (module->hasAttr(ChimeraDialect::getMicroKernelsAttrName()) &&
        !backEnd->takesMicroKernels())
      return module.emitError("programs cannot bring micro kernels for the "
                              "back end ")
             << backEnd->getName() << ", which emits kernels as a whole";
    return runPipeline(pm, module);
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

void chimera::registerPipelines() {
  PassPipelineRegistration<TargetPipelineOptions>(
      "chimera-pipeline",
      "From linalg on tensors to what the target runs, the LLVM dialect on a "
      "CPU: form, plan, tile and lower chains",
      buildTargetPipeline);
  PassPipelineRegistration<PlanningOptions>(
      "chimera-planning-pipeline",
      "Form chains and decide how each runs; everything stays on tensors",
      [](OpPassManager &pm, const PlanningOptions &options) {
        buildFrontEndPipeline(pm);
        buildPlanningPipeline(pm, options);
      });
  PassPipelineRegistration<LoweringOptions>(
      "chimera-lowering-pipeline",
      "From scheduled chains to the LLVM dialect; schedules are taken as they "
      "are",
      buildLoweringPipeline);
}
