//===- Machines.cpp - LLVM targets for Chimera targets --------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machines.h"

#include "DiagnosticCollector.h"
#include "ProcessorCheck.h"

#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"

using namespace mlir;
using namespace chimera;
using namespace chimera::runner;
using llvm::createStringError;
using llvm::Expected;

Expected<TargetAttrInterface> chimera::runner::getTargetOf(ModuleOp module,
                                                           StringRef name) {
  // A program that does not mention the dialect has not loaded it.
  module.getContext()->loadDialect<ChimeraDialect>();
  DiagnosticCollector diagnostics(module.getContext());
  FailureOr<TargetAttrInterface> target = resolveTarget(module, name);
  if (failed(target))
    return diagnostics.takeError("unknown target");
  return *target;
}

int64_t chimera::runner::resolveThreads(TargetAttrInterface target,
                                        int64_t threads) {
  if (threads > 0)
    return threads;
  return std::max<int64_t>(target.getCommonFigures().cores, 1);
}

namespace {
/// What LLVM is told about a processor.
struct Processor {
  std::string cpu, features;
};
} // namespace

static Processor makeProcessor(StringRef cpu,
                               llvm::SubtargetFeatures features) {
  // One vendor's, and of no use beside AVX. FMA4 and XOP go with it.
  features.AddFeature("sse4a", /*Enable=*/false);
  return {cpu.str(), features.getString()};
}

static Processor getHost() {
  llvm::SubtargetFeatures features;
  for (const auto &feature : llvm::sys::getHostCPUFeatures())
    features.AddFeature(feature.getKey(), feature.getValue());
  return makeProcessor(llvm::sys::getHostCPUName(), std::move(features));
}

static Processor getProcessor(TargetAttrInterface target) {
  if (target.getCpu().empty())
    return getHost();
  llvm::SubtargetFeatures features(target.getCpuFeatures());
  // LLVM copies with half of the registers of some processors, whose clock is
  // lower with the whole of them. Kernels take the whole in any case.
  model::VectorUnit unit = target.getCommonFigures().unit;
  if (unit.lanes * int64_t(sizeof(float)) == 64)
    features.AddFeature("prefer-256-bit", /*Enable=*/false);
  return makeProcessor(target.getCpu(), std::move(features));
}

static llvm::Triple getTriple() {
  return llvm::Triple(llvm::sys::getProcessTriple());
}

static Expected<const llvm::Target *> lookUpTarget() {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  // Micro kernels may hold inline assembly.
  llvm::InitializeNativeTargetAsmParser();
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(getTriple(), error);
  if (!target)
    return createStringError(llvm::Twine(error));
  return target;
}

/// An error if code for `target` is for another kind of processor.
static llvm::Error checkArchitecture(TargetAttrInterface target) {
  StringRef wanted = target.getTriple();
  if (wanted.empty() ||
      llvm::Triple(wanted).getArch() == llvm::Triple(getTriple()).getArch())
    return llvm::Error::success();
  return createStringError(
      llvm::Twine("code for this target is for another kind of processor (") +
      wanted + "); its chains can be planned, but not compiled here");
}

llvm::Error chimera::runner::checkRunsHere(TargetAttrInterface target,
                                           bool emulatesTiles) {
  if (llvm::Error error = checkArchitecture(target))
    return error;
  Expected<const llvm::Target *> llvmTarget = lookUpTarget();
  if (!llvmTarget)
    return llvmTarget.takeError();
  auto getSubtarget = [&](const Processor &processor) {
    return std::unique_ptr<llvm::MCSubtargetInfo>(
        (*llvmTarget)
            ->createMCSubtargetInfo(getTriple(), processor.cpu,
                                    processor.features));
  };
  std::unique_ptr<llvm::MCSubtargetInfo> wanted =
      getSubtarget(getProcessor(target));
  std::unique_ptr<llvm::MCSubtargetInfo> host = getSubtarget(getHost());
  if (!wanted || !host)
    return createStringError("LLVM does not know this processor");
  StringRef feature = findLackingFeature(*wanted, *host, !emulatesTiles);
  if (feature.empty())
    return llvm::Error::success();
  return createStringError("code for this target cannot run here: this machine "
                           "lacks " +
                           feature);
}

static llvm::CodeGenOptLevel getCodeGenLevel(unsigned level) {
  const llvm::CodeGenOptLevel levels[] = {
      llvm::CodeGenOptLevel::None, llvm::CodeGenOptLevel::Less,
      llvm::CodeGenOptLevel::Default, llvm::CodeGenOptLevel::Aggressive};
  return levels[std::min(level, 3u)];
}

Expected<std::unique_ptr<llvm::TargetMachine>>
chimera::runner::createTargetMachine(ModuleOp module,
                                     const CompileOptions &options) {
  Processor processor;
  if (options.lowering == Lowering::Chimera) {
    Expected<TargetAttrInterface> target = getTargetOf(module, options.target);
    if (!target)
      return target.takeError();
    if (llvm::Error error = checkArchitecture(*target))
      return std::move(error);
    processor = getProcessor(*target);
  } else {
    processor = getHost();
  }
  Expected<const llvm::Target *> llvmTarget = lookUpTarget();
  if (!llvmTarget)
    return llvmTarget.takeError();
  std::unique_ptr<llvm::TargetMachine> machine(
      (*llvmTarget)
          ->createTargetMachine(getTriple(), processor.cpu, processor.features,
                                llvm::TargetOptions(), llvm::Reloc::PIC_,
                                std::nullopt,
                                getCodeGenLevel(options.optimizationLevel)));
  if (!machine)
    return createStringError("LLVM has no code generator for this target");
  return machine;
}
