//===- Pipelines.h - The stages put together --------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `chimera-pipeline` takes linalg on tensors down to what the target runs, on a
// CPU the LLVM dialect. Programs that embed Chimera for a CPU may call the two
// halves: what decides, and what lowers.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_CONVERSION_PIPELINES_H
#define CHIMERA_CONVERSION_PIPELINES_H

#include "Chimera/Conversion/Passes.h"
#include "Chimera/Transforms/Passes.h"

#include "mlir/Pass/PassOptions.h"

namespace chimera {

/// What the option `fuse` can be.
inline llvm::cl::ValuesClass getFuseModes() {
  return llvm::cl::values(
      clEnumValN(FuseMode::Auto, "auto", "where the model predicts a gain"),
      clEnumValN(FuseMode::Never, "never", "operators run one by one"),
      clEnumValN(FuseMode::Always, "always",
                 "every chain that fits the target"));
}

struct PipelineOptions : mlir::PassPipelineOptions<PipelineOptions> {
  Option<std::string> target{
      *this, "target",
      llvm::cl::desc(
          "Machine to compile for: a name, or a file (machine.mlir)"),
      llvm::cl::init("host")};
  Option<int64_t> threads{
      *this, "threads",
      llvm::cl::desc("Threads that will run the code; 0 means one per core"),
      llvm::cl::init(0)};
  Option<FuseMode> fuse{*this, "fuse", llvm::cl::desc("Whether to fuse"),
                        llvm::cl::init(FuseMode::Auto), getFuseModes()};
  Option<bool> outParams{
      *this, "out-params",
      llvm::cl::desc("Turn results into arguments that the caller allocates"),
      llvm::cl::init(false)};
};

struct NvidiaPipelineOptions
    : mlir::PassPipelineOptions<NvidiaPipelineOptions> {
  Option<std::string> target{
      *this, "target",
      llvm::cl::desc("GPU to compile for: a name, or a file (machine.mlir)"),
      llvm::cl::init("h200")};
  Option<FuseMode> fuse{*this, "fuse", llvm::cl::desc("Whether to fuse"),
                        llvm::cl::init(FuseMode::Auto), getFuseModes()};
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

/// The options of all back ends. One that asks for what the target's back end
/// does not do is an error.
struct TargetPipelineOptions : PipelineOptions {
  Option<std::string> microKernels{
      *this, "micro-kernels",
      llvm::cl::desc("File with micro kernels for a CPU, see "
                     "chimera-load-micro-kernels"),
      llvm::cl::init("")};
  Option<bool> tf32{
      *this, "tf32",
      llvm::cl::desc(
          "Let GPUs multiply f32 as tf32, which keeps 10 of 23 bits"),
      llvm::cl::init(false)};
  Option<std::string> format{
      *this, "format",
      llvm::cl::desc("What the binary of a GPU holds: isa (PTX), bin or "
                     "fatbin, for which ptxas is needed"),
      llvm::cl::init("bin")};
  Option<std::string> manifest{
      *this, "manifest",
      llvm::cl::desc("File that says in JSON how the kernels of a GPU are "
                     "launched"),
      llvm::cl::init("")};
};

/// From linalg on tensors to what the target runs, as its triple says.
void buildTargetPipeline(mlir::OpPassManager &pm,
                         const TargetPipelineOptions &options);

/// TOSA and named operations to linalg; a no-op on linalg.
void buildFrontEndPipeline(mlir::OpPassManager &pm);

/// Chains formed and scheduled; everything still on tensors.
void buildPlanningPipeline(mlir::OpPassManager &pm,
                           const PipelineOptions &options);

/// From scheduled chains to the LLVM dialect.
void buildLoweringPipeline(mlir::OpPassManager &pm,
                           const PipelineOptions &options);

/// From linalg on tensors to the LLVM dialect by upstream passes alone: plain
/// loops, the reference that results are compared with.
void buildReferencePipeline(mlir::OpPassManager &pm, bool outParams);

struct AscendPipelineOptions
    : mlir::PassPipelineOptions<AscendPipelineOptions> {
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

/// From linalg on tensors to C++ for the cores of an Ascend processor, as
/// `mlir-translate --mlir-to-cpp` takes it.
void buildAscendPipeline(mlir::OpPassManager &pm,
                         const AscendPipelineOptions &options);

/// From linalg on tensors to functions that launch kernels, and a gpu.binary
/// with the code of each.
void buildNvidiaPipeline(mlir::OpPassManager &pm,
                         const NvidiaPipelineOptions &options);

/// What the pipelines need beside upstream's dialects and Chimera's own.
void registerBackEndDialects(mlir::DialectRegistry &registry);

/// Registers `chimera-pipeline` and its two halves, `chimera-planning-pipeline`
/// and `chimera-lowering-pipeline`, `chimera-ascend-pipeline` and
/// `chimera-nvidia-pipeline`.
void registerPipelines();

} // namespace chimera

#endif // CHIMERA_CONVERSION_PIPELINES_H
