//===- X86Pipeline.cpp - From scheduled chains to the LLVM dialect --------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Conversion/BackEnd.h"
#include "Chimera/Conversion/Pipelines.h"
#include "Chimera/Target/Target.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/BufferizationToMemRef/BufferizationToMemRef.h"
#include "mlir/Conversion/ConvertToLLVM/ToLLVMPass.h"
#include "mlir/Conversion/MathToFuncs/MathToFuncs.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/OpenMPToLLVM/ConvertOpenMPToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToOpenMP/SCFToOpenMP.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Pipelines/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace chimera;

/// Loops and blocks for what lies outside chains. What is the same twice is
/// made once between the steps.
static void tileOthers(OpPassManager &pm, const LoweringOptions &options) {
  FuseMemoryBoundPassOptions fuse;
  fuse.takesParts = true;
  pm.addNestedPass<func::FuncOp>(createFuseMemoryBoundPass(fuse));
  pm.addPass(createCSEPass());
  pm.addNestedPass<func::FuncOp>(createSplitReductionsPass());
  pm.addPass(createCSEPass());
  PartitionPassOptions partition;
  partition.target = options.target;
  partition.threads = options.threads;
  partition.search = options.groups;
  partition.rank = options.groupRank;
  pm.addNestedPass<func::FuncOp>(createPartitionPass(partition));
  PlanMemoryBoundPassOptions plan;
  plan.target = options.target;
  plan.threads = options.threads;
  pm.addNestedPass<func::FuncOp>(createPlanMemoryBoundPass(plan));
  pm.addNestedPass<func::FuncOp>(createTileMemoryBoundPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

/// True if a micro kernel works on `buffer` or on part of it.
static bool isUsedByMicroKernel(Value buffer) {
  return llvm::any_of(buffer.getUsers(), [](Operation *user) {
    if (isa<memref::SubViewOp>(user))
      return isUsedByMicroKernel(user->getResult(0));
    return isa<MicroKernelOp>(user);
  });
}

/// Bytes of a buffer of numbers whose shape is static, if they can be counted.
static std::optional<int64_t> getBytes(MemRefType type) {
  if (!type.hasStaticShape() || !type.getElementType().isIntOrFloat())
    return std::nullopt;
  int64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  for (int64_t size : type.getShape())
    if (llvm::MulOverflow(bytes, size, bytes))
      return std::nullopt;
  return bytes;
}

/// Bytes of the buffers that are on the stack as long as `scope` runs.
static int64_t countStackBytes(Operation *scope) {
  int64_t sum = 0;
  scope->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op != scope && op->hasTrait<OpTrait::AutomaticAllocationScope>())
      return WalkResult::skip();
    if (auto buffer = dyn_cast<memref::AllocaOp>(op))
      sum += getBytes(buffer.getType()).value_or(0);
    return WalkResult::advance();
  });
  return sum;
}

/// Bytes of a thread's stack that buffers in `scope` may take.
static int64_t getStackBytes(Operation *scope, StringRef target) {
  FailureOr<TargetAttrInterface> found = resolveTarget(scope, target);
  return succeeded(found) ? found->getCommonFigures().stackBytes : 0;
}

/// True if `buffer` is one that a schedule keeps close to the core: small, and
/// worked on by micro kernels of the thread that creates it. Others stay on the
/// heap, and so does what comes after as many as a thread's stack has room for:
/// a function has those of all its chains at once.
static bool belongsOnStack(Value buffer, StringRef target) {
  // No buffer may take the room of many.
  constexpr int64_t shareOfOne = 8;
  std::optional<int64_t> bytes = getBytes(cast<MemRefType>(buffer.getType()));
  if (!bytes || !isUsedByMicroKernel(buffer))
    return false;
  Operation *scope =
      buffer.getDefiningOp()
          ->getParentWithTrait<OpTrait::AutomaticAllocationScope>();
  if (!scope)
    return false;
  int64_t most = getStackBytes(scope, target);
  return *bytes <= most / shareOfOne && *bytes + countStackBytes(scope) <= most;
}

/// On-chip buffers on the stack of the thread that uses them, the others with
/// rows in different sets of the cache. What differs in its buffers alone is
/// one function from then on.
static void placeBuffers(OpPassManager &pm, const std::string &target) {
  pm.addNestedPass<func::FuncOp>(bufferization::createPromoteBuffersToStackPass(
      [target](Value buffer) { return belongsOnStack(buffer, target); }));
  // Loops carry buffers until they are found to be the same in each iteration,
  // and copies of a buffer to itself have two names for it.
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  PadBuffersPassOptions pad;
  pad.target = target;
  pm.addNestedPass<func::FuncOp>(createPadBuffersPass(pad));
  pm.addNestedPass<func::FuncOp>(createWriteResultsInPlacePass());
  pm.addPass(createShareKernelsPass());
}

/// Frees what was allocated, or lets it serve again, and allocates the rest at
/// once.
static void freeBuffers(OpPassManager &pm, const std::string &target) {
  pm.addPass(bufferization::createOwnershipBasedBufferDeallocationPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(bufferization::createBufferDeallocationSimplificationPass());
  pm.addPass(bufferization::createLowerDeallocationsPass());
  pm.addPass(createConvertBufferizationToMemRefPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createCanonicalizerPass());
  pm.addNestedPass<func::FuncOp>(createReuseBuffersPass());
  JoinBuffersPassOptions join;
  join.target = target;
  pm.addNestedPass<func::FuncOp>(createJoinBuffersPass(join));
}

/// scf, memref, vector, omp and the rest to the LLVM dialect. Passes that need
/// not see more than a function do not: patterns run until nothing changes, and
/// one kernel would send them through all others again.
static void addLLVMLowering(OpPassManager &pm, const LoweringOptions &options) {
  pm.addNestedPass<func::FuncOp>(createSplitCopiesPass());
  pm.addNestedPass<func::FuncOp>(createConvertLinalgToLoopsPass());
  pm.addNestedPass<func::FuncOp>(createForallToParallelLoopPass());
  if (options.threads == 1)
    pm.addNestedPass<func::FuncOp>(createRunInOrderPass());
  pm.addNestedPass<func::FuncOp>(createExpandOpenShapesPass());
  // Parts and other shapes become pointers and strides. Folding them into loads
  // instead would take each index apart.
  pm.addNestedPass<func::FuncOp>(memref::createExpandStridedMetadataPass());
  pm.addNestedPass<func::FuncOp>(createLowerAffinePass());
  pm.addNestedPass<func::FuncOp>(createCanonicalizerPass());
  pm.addNestedPass<func::FuncOp>(createCSEPass());
  pm.addNestedPass<func::FuncOp>(createLoopInvariantCodeMotionPass());
  pm.addPass(createConvertSCFToOpenMPPass());
  pm.addNestedPass<func::FuncOp>(createDropBarriersPass());
  pm.addNestedPass<func::FuncOp>(createShareTileSizesPass());
  pm.addPass(options.emulateTiles ? createEmulateTilesPass()
                                  : createRequestTilesPass());
  pm.addNestedPass<func::FuncOp>(createCanonicalizerPass());
  pm.addNestedPass<func::FuncOp>(createLimitUnrollingPass());
  // Scopes of stack buffers have one block each, so they go before the control
  // flow does.
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addNestedPass<func::FuncOp>(createLowerControlFlowPass());
  pm.addPass(createConvertMathToFuncs());
  pm.addNestedPass<func::FuncOp>(createLowerPlainMathPass());
  pm.addPass(createConvertMathToLibmPass());
  pm.addNestedPass<func::FuncOp>(createExpandRoundingPass());
  pm.addNestedPass<func::FuncOp>(createExpandMaximaPass());
  pm.addNestedPass<func::FuncOp>(createConvertVectorToLLVMPass());
  pm.addPass(createConvertOpenMPToLLVMPass());
  pm.addPass(createConvertToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addNestedPass<LLVM::LLVMFuncOp>(createAnnotateBranchesPass());
  pm.addNestedPass<LLVM::LLVMFuncOp>(createMaskIntegersPass());
  SplitMaskedMovesPassOptions split;
  split.target = options.target;
  pm.addPass(createSplitMaskedMovesPass(split));
  pm.addNestedPass<LLVM::LLVMFuncOp>(createFoldOffsetsPass());
}

void chimera::buildKernelPipeline(OpPassManager &pm,
                                  const LoweringOptions &options) {
  pm.addNestedPass<func::FuncOp>(createTilePass());
  // What several chains prepare of one constant is kept once.
  pm.addPass(createCSEPass());
  InterleaveConstantsPassOptions interleave;
  interleave.target = options.target;
  pm.addNestedPass<func::FuncOp>(createInterleaveConstantsPass(interleave));
  pm.addPass(createPrepareConstantsPass());
  pm.addPass(createDecomposeSoftmaxPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  tileOthers(pm, options);
  pm.addNestedPass<func::FuncOp>(createRestoreSizesPass());
  MapMicroKernelsPassOptions map;
  map.target = options.target;
  pm.addNestedPass<func::FuncOp>(createMapMicroKernelsPass(map));
  pm.addNestedPass<func::FuncOp>(createSeparateDestinationsPass());
  pm.addNestedPass<func::FuncOp>(createReadFromWholesPass());
  addBufferizationPasses(pm, options.outParams);
  pm.addPass(createDispatchVersionsPass());
}

void chimera::buildCodePipeline(OpPassManager &pm,
                                const LoweringOptions &options) {
  placeBuffers(pm, options.target);
  pm.addNestedPass<func::FuncOp>(createStartCollectivesPass());
  freeBuffers(pm, options.target);
  pm.addPass(createLowerMicroKernelsPass());
  pm.addPass(createConvertCollectivesToCallsPass());
  addLLVMLowering(pm, options);
}

void chimera::buildLoweringPipeline(OpPassManager &pm,
                                    const LoweringOptions &options) {
  buildKernelPipeline(pm, options);
  buildCodePipeline(pm, options);
}

//===----------------------------------------------------------------------===//
// The back end
//===----------------------------------------------------------------------===//

namespace {

struct X86Options : PlanningOptions {
  Option<bool> outParams{
      *this, "out-params",
      llvm::cl::desc("Turn results into arguments that the caller allocates"),
      llvm::cl::init(false)};
  Option<std::string> microKernels{
      *this, "micro-kernels",
      llvm::cl::desc("File with micro kernels, see "
                     "chimera-load-micro-kernels"),
      llvm::cl::init("")};
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

class X86BackEnd : public BackEndWithOptions<X86Options> {
public:
  StringRef getName() const override { return "x86"; }
  StringRef getDescription() const override {
    return "From linalg on tensors to the LLVM dialect for x86 CPUs: form, "
           "plan, tile and lower chains";
  }
  bool takes(const llvm::Triple &triple) const override {
    return triple.str().empty() || triple.isX86();
  }
  bool takesMicroKernels() const override { return true; }
  bool exchangesData() const override { return true; }
  void addPasses(OpPassManager &pm, const X86Options &options) const override;
  void registerDialects(DialectRegistry &registry) const override {
    registerX86VectorMicroKernels(registry);
  }
};

} // namespace

void X86BackEnd::addPasses(OpPassManager &pm, const X86Options &options) const {
  buildFrontEndPipeline(pm);
  if (!options.microKernels.empty()) {
    LoadMicroKernelsPassOptions load;
    load.file = options.microKernels;
    pm.addPass(createLoadMicroKernelsPass(load));
  }
  buildPlanningPipeline(pm, options);
  LoweringOptions lowering;
  lowering.target = options.target;
  lowering.threads = options.threads;
  lowering.outParams = options.outParams;
  lowering.groups = options.groups;
  lowering.groupRank = options.groupRank;
  lowering.emulateTiles = options.emulateTiles;
  buildLoweringPipeline(pm, lowering);
}

std::unique_ptr<BackEnd> chimera::createX86BackEnd() {
  return std::make_unique<X86BackEnd>();
}
