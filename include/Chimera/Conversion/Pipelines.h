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
// halves: what decides, and what lowers. A back end of another program is made
// of the same stages.
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

/// What the option `tiles` can be.
inline llvm::cl::ValuesClass getTileModes() {
  return llvm::cl::values(
      clEnumValN(TileMode::Exact, "exact",
                 "a search over all orders and useful tiles"),
      clEnumValN(TileMode::ClosedForm, "closed-form",
                 "formulas, in microseconds; the search where there are none"));
}

/// What the option `groups` can be.
inline llvm::cl::ValuesClass getGroupModes() {
  return llvm::cl::values(
      clEnumValN(PartitionSearchKind::Exact, "exact", "the cheapest partition"),
      clEnumValN(PartitionSearchKind::Greedy, "greedy",
                 "by rules, without a look at costs"),
      clEnumValN(PartitionSearchKind::Separate, "separate",
                 "each operator by itself"));
}

/// What planning depends on.
struct PlanningOptions : mlir::PassPipelineOptions<PlanningOptions> {
  Option<std::string> target{
      *this, "target",
      llvm::cl::desc(
          "Machine to plan and compile for: a name, or a file (machine.mlir)"),
      llvm::cl::init("host")};
  Option<int64_t> threads{
      *this, "threads",
      llvm::cl::desc("Threads that will run the code; 0 means one per core"),
      llvm::cl::init(0)};
  Option<FuseMode> fuse{*this, "fuse", llvm::cl::desc("Whether to fuse"),
                        llvm::cl::init(FuseMode::Auto), getFuseModes()};
  Option<TileMode> tiles{*this, "tiles",
                         llvm::cl::desc("Where orders and tiles come from"),
                         llvm::cl::init(TileMode::Exact), getTileModes()};
  Option<unsigned> rank{
      *this, "rank",
      llvm::cl::desc("Runner-up to take instead of each chain's best plan"),
      llvm::cl::init(0)};
};

/// What lowering for a CPU takes, where planning is over.
struct LoweringOptions : mlir::PassPipelineOptions<LoweringOptions> {
  Option<std::string> target{
      *this, "target",
      llvm::cl::desc("CPU to compile for: a name, or a file (machine.mlir)"),
      llvm::cl::init("host")};
  Option<int64_t> threads{
      *this, "threads",
      llvm::cl::desc("Threads that will run the code; 0 means one per core"),
      llvm::cl::init(0)};
  Option<bool> outParams{
      *this, "out-params",
      llvm::cl::desc("Turn results into arguments that the caller allocates"),
      llvm::cl::init(false)};
  Option<PartitionSearchKind> groups{
      *this, "groups",
      llvm::cl::desc("How operators outside chains become groups"),
      llvm::cl::init(PartitionSearchKind::Exact), getGroupModes()};
  Option<unsigned> groupRank{
      *this, "group-rank",
      llvm::cl::desc("Partition to take instead of the cheapest, by its rank"),
      llvm::cl::init(0)};
  Option<bool> emulateTiles{
      *this, "emulate-tiles",
      llvm::cl::desc("Compute tiles of AMX on vectors, to test on machines "
                     "without it"),
      llvm::cl::init(false)};
};

/// What option `split` can be.
inline llvm::cl::ValuesClass getSplitModes() {
  return llvm::cl::values(
      clEnumValN(SplitMode::Auto, "auto", "where the model predicts a gain"),
      clEnumValN(SplitMode::Always, "always",
                 "the best cut there is, even if it takes longer"));
}

/// What option `overlap` can be.
inline llvm::cl::ValuesClass getOverlapModes() {
  return llvm::cl::values(
      clEnumValN(OverlapMode::Auto, "auto", "where the model predicts a gain"),
      clEnumValN(OverlapMode::Never, "never",
                 "each waits for what it exchanges"),
      clEnumValN(OverlapMode::Always, "always",
                 "in the best number of blocks, even if it takes longer"));
}

/// What planning depends on is common to all targets; the rest the target's
/// back end is told.
struct TargetPipelineOptions : PlanningOptions {
  Option<int64_t> processes{
      *this, "processes",
      llvm::cl::desc("Processes that run the program together, see "
                     "chimera-shard; 0: as many as its grid has, or one"),
      llvm::cl::init(0)};
  Option<SplitMode> split{
      *this, "split",
      llvm::cl::desc("Whether processes share the work of programs that do not "
                     "say so"),
      llvm::cl::init(SplitMode::Auto), getSplitModes()};
  Option<OverlapMode> overlap{
      *this, "overlap",
      llvm::cl::desc("Whether all-reduces overlap with computing"),
      llvm::cl::init(OverlapMode::Auto), getOverlapModes()};
  Option<std::string> backEnd{
      *this, "back-end",
      llvm::cl::desc("Options of the target's back end in braces, as its own "
                     "pipeline takes them: back-end={format=isa}; they come "
                     "last, and overrule the others"),
      llvm::cl::init("")};
};

/// From linalg on tensors to what the target runs, as its triple says.
void buildTargetPipeline(mlir::OpPassManager &pm,
                         const TargetPipelineOptions &options);

/// TOSA and named operations to linalg; a no-op on linalg.
void buildFrontEndPipeline(mlir::OpPassManager &pm);

/// Chains formed and scheduled; everything still on tensors.
void buildPlanningPipeline(mlir::OpPassManager &pm,
                           const PlanningOptions &options);

/// From scheduled chains to the LLVM dialect, for a CPU. Micro kernels that no
/// implementation takes are plain loops, so any CPU will do.
void buildLoweringPipeline(mlir::OpPassManager &pm,
                           const LoweringOptions &options);

/// Its two parts. The first makes micro kernels on buffers and says what was
/// decided; the second works on functions by themselves and says nothing.
void buildKernelPipeline(mlir::OpPassManager &pm,
                         const LoweringOptions &options);
void buildCodePipeline(mlir::OpPassManager &pm, const LoweringOptions &options);

/// Forms chains, plans and tiles them, with a buffer of its own for every
/// tensor: for back ends that go on from tiles on tensors.
void addTilingPasses(mlir::OpPassManager &pm,
                     const SchedulePassOptions &schedule);

/// Tensors to memrefs, with `outParams` results in memory that the caller
/// provides.
void addBufferizationPasses(mlir::OpPassManager &pm, bool outParams);

/// From linalg on tensors to the LLVM dialect by upstream passes alone: plain
/// loops, the reference that results are compared with.
void buildReferencePipeline(mlir::OpPassManager &pm, bool outParams);

/// Registers `chimera-pipeline` and the two halves that CPUs share,
/// `chimera-planning-pipeline` and `chimera-lowering-pipeline`.
void registerPipelines();

} // namespace chimera

#endif // CHIMERA_CONVERSION_PIPELINES_H
