//===- ChimeraToNVVM.cpp - Tiled chains to kernels of a GPU ---------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Takes the scf.forall that `chimera-tile` leaves of a chain apart from its
// function: the body becomes a kernel in a gpu.module of its own, the loop a
// gpu.launch_func. That says all there is to say on the host: the kernel, its
// grid, its blocks, its shared memory and its arguments.
//
//===----------------------------------------------------------------------===//

#include "JoinLoops.h"
#include "KernelFunction.h"
#include "ProgramEmitter.h"

#include "../Support/RequiredKernels.h"

#include "Chimera/Conversion/Passes.h"
#include "Chimera/IR/ElementBytes.h"
#include "Chimera/IR/MicroKernels.h"
#include "Chimera/Model/Machine.h"
#include "Chimera/Target/Target.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/TargetParser/Triple.h"

namespace chimera {
#define GEN_PASS_DEF_CONVERTCHIMERATONVVMPASS
#include "Chimera/Conversion/NvidiaPasses.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;
using llvm::formatv;

//===----------------------------------------------------------------------===//
// One program
//===----------------------------------------------------------------------===//

namespace {

class ProgramConverter {
public:
  ProgramConverter(scf::ForallOp forall, const BlockLimits &limits,
                   NVVM::NVVMTargetAttr chip)
      : forall(forall), last(forall), limits(limits), chip(chip),
        builder(forall), loc(forall.getLoc()) {}

  /// Replaces the loop, and the one that combines what it leaves, with half the
  /// rows for each warp if registers do not do. Fails, with a reason and
  /// without changing anything, if it is not covered.
  LogicalResult run(SymbolTable &symbols, Refusal &refusal);

private:
  LogicalResult findCombination(Refusal &refusal);
  LogicalResult readGrid(Refusal &refusal);
  LogicalResult readCaptures(Refusal &refusal);
  gpu::GPUFuncOp createKernel(const Program &program);
  LogicalResult emitKernel(Program &program, gpu::GPUFuncOp kernel,
                           Refusal &refusal);
  Value createCounters(SymbolTable &symbols, StringRef kernel);
  void launch(const Program &program, gpu::GPUFuncOp kernel,
              SymbolTable &symbols);
  MemRefType getCounterType() {
    return MemRefType::get(combination.numTiles, builder.getI32Type());
  }

  scf::ForallOp forall;
  Combination combination;
  /// The loop that makes the results.
  scf::ForallOp last;
  BlockLimits limits;
  NVVM::NVVMTargetAttr chip;
  OpBuilder builder;
  Location loc;
  int64_t numBlocks = 1;
  /// What the body uses from outside: arguments of the kernel, and constants,
  /// which are made again inside. Behind the arguments follow what parts leave
  /// and counters, where parts are combined, and the results.
  SmallVector<Value> arguments, constants;
};

} // namespace

LogicalResult ProgramConverter::findCombination(Refusal &refusal) {
  FailureOr<Combination> found = Combination::find(forall);
  if (failed(found))
    return refusal.set(forall, "what blocks make of parts of a reduction is "
                               "not combined by a loop over their tiles");
  combination = *found;
  if (combination)
    last = combination.forall;
  return success();
}

LogicalResult ProgramConverter::readGrid(Refusal &refusal) {
  for (unsigned loop = 0; loop < forall.getRank(); ++loop) {
    std::optional<int64_t> trips = getTrips(forall, loop);
    if (!trips)
      return refusal.set(forall, "the number of thread blocks is not known; "
                                 "give tensors static shapes");
    numBlocks *= *trips;
  }
  return success();
}

LogicalResult ProgramConverter::readCaptures(Refusal &refusal) {
  for (Value output : last.getOutputs())
    if (Operation *def = output.getDefiningOp(); !def || !isEmptyTensor(def))
      return refusal.set(last, "the result is written over a value; write it "
                               "to an empty tensor");
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(forall.getRegion(), captured);
  if (combination)
    getUsedValuesDefinedAbove(last.getRegion(), captured);
  for (Value value : captured) {
    auto tensor = dyn_cast<RankedTensorType>(value.getType());
    if (!tensor && matchPattern(value, m_Constant())) {
      constants.push_back(value);
      continue;
    }
    if (Operation *def = value.getDefiningOp();
        def && (isEmptyTensor(def) || def == forall))
      continue;
    bool isStatic = tensor && tensor.hasStaticShape() && tensor.getRank() > 0 &&
                    tensor.getElementType().isIntOrIndexOrFloat();
    if (!isStatic && !value.getType().isIntOrIndexOrFloat())
      return refusal.set(value.getDefiningOp() ? value.getDefiningOp() : forall,
                         "a value from outside has no static shape");
    if (std::optional<ImageWindows> windows = ImageWindows::find(value))
      value = windows->image;
    if (!llvm::is_contained(arguments, value))
      arguments.push_back(value);
  }
  return success();
}

/// An empty kernel with a module of its own around it.
gpu::GPUFuncOp ProgramConverter::createKernel(const Program &program) {
  SmallVector<Type> types;
  for (Value value : arguments)
    types.push_back(isa<RankedTensorType>(value.getType())
                        ? getBufferType(value)
                        : value.getType());
  if (combination) {
    for (Value part : forall.getOutputs())
      types.push_back(getBufferType(part));
    types.push_back(getCounterType());
  }
  for (Value output : last.getOutputs())
    types.push_back(getBufferType(output));
  gpu::GPUFuncOp kernel = chimera::createKernel(
      forall, types, chip, program.getLayout().threads(), numBlocks);
  // Rather one block on an SM than spilled registers.
  kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                  builder.getI32IntegerAttr(1));
  return kernel;
}

LogicalResult ProgramConverter::emitKernel(Program &program,
                                           gpu::GPUFuncOp kernel,
                                           Refusal &refusal) {
  OpBuilder inside = OpBuilder::atBlockBegin(&kernel.getBody().front());
  KernelBuilder kernelBuilder(inside, loc, program.getLayout());
  llvm::DenseMap<Value, Value> memrefs;
  ProgramIndices indices;
  for (auto [value, argument] : llvm::zip(arguments, kernel.getArguments())) {
    if (isa<MemRefType>(argument.getType()))
      memrefs[value] = argument;
    else
      indices.set(value, argument);
  }
  auto rest = kernel.getArguments().drop_front(arguments.size());
  Value counters;
  if (combination) {
    for (auto [own, part, argument] :
         llvm::zip(forall.getRegionIterArgs(), forall.getResults(), rest))
      memrefs[own] = memrefs[part] = argument;
    counters = rest[forall.getNumResults()];
    rest = rest.drop_front(forall.getNumResults() + 1);
  }
  for (auto [output, argument] :
       llvm::zip_equal(last.getRegionIterArgs(), rest))
    memrefs[output] = argument;
  for (Value constant : constants)
    indices.set(constant,
                inside.clone(*constant.getDefiningOp())->getResult(0));
  if (failed(ProgramEmitter(kernelBuilder, program, memrefs, indices, counters)
                 .emit(refusal)))
    return failure();
  gpu::ReturnOp::create(inside, loc);
  return success();
}

/// Zeros, which a launch finds and leaves.
Value ProgramConverter::createCounters(SymbolTable &symbols, StringRef kernel) {
  MemRefType type = getCounterType();
  OpBuilder atTop(builder.getContext());
  auto zeros = DenseElementsAttr::get(
      RankedTensorType::get(type.getShape(), type.getElementType()),
      atTop.getI32IntegerAttr(0));
  auto global = memref::GlobalOp::create(
      atTop, loc, (kernel + "_counters").str(), atTop.getStringAttr("private"),
      type, zeros, /*constant=*/false, /*alignment=*/IntegerAttr());
  symbols.insert(global);
  return memref::GetGlobalOp::create(builder, loc, type, global.getSymName());
}

/// The launch, and the memory of the results and of what parts leave.
void ProgramConverter::launch(const Program &program, gpu::GPUFuncOp kernel,
                              SymbolTable &symbols) {
  // Everything that the second loop reads is there.
  builder.setInsertionPoint(last);
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  SmallVector<Value> operands, results;
  for (Value value : arguments)
    operands.push_back(isa<RankedTensorType>(value.getType())
                           ? bufferization::ToBufferOp::create(
                                 builder, loc, getBufferType(value), value,
                                 /*read_only=*/true)
                           : value);
  auto allocate = [&](Value tensor) {
    operands.push_back(
        memref::AllocOp::create(builder, loc, getBufferType(tensor)));
    return operands.back();
  };
  SmallVector<Value> parts;
  if (combination) {
    for (Value part : forall.getOutputs())
      parts.push_back(allocate(part));
    operands.push_back(createCounters(symbols, kernel.getName()));
  }
  for (Value output : last.getOutputs())
    results.push_back(allocate(output));
  Value one = constant(1);
  Value sharedBytes = arith::ConstantIntOp::create(
      builder, loc, builder.getI32Type(), program.getSharedBytes());
  gpu::LaunchFuncOp::create(
      builder, loc, kernel, gpu::KernelDim3{constant(numBlocks), one, one},
      gpu::KernelDim3{constant(program.getLayout().threads()), one, one},
      sharedBytes, operands);
  for (Value part : parts)
    memref::DeallocOp::create(builder, loc, part);
  for (auto [buffer, result] : llvm::zip_equal(results, last.getResults()))
    result.replaceAllUsesWith(bufferization::ToTensorOp::create(
        builder, loc, result.getType(), buffer, /*restrict=*/true,
        /*writable=*/true));
  last.erase();
  if (combination)
    forall.erase();
}

LogicalResult ProgramConverter::run(SymbolTable &symbols, Refusal &refusal) {
  if (failed(findCombination(refusal)) || failed(readGrid(refusal)) ||
      failed(readCaptures(refusal)))
    return failure();
  while (true) {
    FailureOr<Program> program =
        Program::read(forall, combination, limits, refusal);
    if (failed(program))
      return failure();
    gpu::GPUFuncOp kernel = createKernel(*program);
    auto module = kernel->getParentOfType<gpu::GPUModuleOp>();
    if (succeeded(emitKernel(*program, kernel, refusal))) {
      symbols.insert(module);
      launch(*program, kernel, symbols);
      return success();
    }
    module.erase();
    if (!refusal.isOfRegisters || program->getWantedRowTiles() <= 1)
      return failure();
    // As the planner does.
    limits.rowTiles = program->getWantedRowTiles() / 2;
    refusal = Refusal();
  }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct ConvertChimeraToNVVMPass
    : chimera::impl::ConvertChimeraToNVVMPassBase<ConvertChimeraToNVVMPass> {
  using Base::Base;

  /// Fragments are those of one instruction for each type, and plans for a unit
  /// of another shape would be plans for another machine.
  LogicalResult checkShape(TargetAttrInterface found,
                           MatrixProgramAttr instruction) {
    for (Type type : instruction.getFactors()) {
      int64_t depth = getMmaDepth(bytesOf(type));
      auto isOfFragments = [&](int64_t rows, int64_t columns, int64_t own) {
        return rows == mmaRows && columns == mmaColumns && own == depth;
      };
      auto complain = [&](const Twine &what) {
        return getOperation()->emitError("target '")
               << target << "' has " << what << " for " << type
               << ", but kernels are made of mma.sync, which is " << mmaRows
               << " x " << mmaColumns << " x " << depth;
      };
      if (!isOfFragments(instruction.getRows(), instruction.getColumns(),
                         instruction.getDepth()))
        return complain(formatv("an offer of {0} x {1} x {2}",
                                instruction.getRows(), instruction.getColumns(),
                                instruction.getDepth()));
      FailureOr<model::Machine> machine = found.getMachine(type);
      if (failed(machine) || !machine->matrix)
        continue;
      const model::MatrixUnit &unit = *machine->matrix;
      if (!isOfFragments(unit.rows, unit.columns, unit.depth))
        return complain(formatv("a matrix unit of {0} x {1} x {2}", unit.rows,
                                unit.columns, unit.depth));
    }
    return success();
  }

  LogicalResult readTarget(BlockLimits &limits, NVVM::NVVMTargetAttr &chip) {
    ModuleOp module = getOperation();
    FailureOr<TargetAttrInterface> found = resolveTarget(module, target);
    if (failed(found))
      return failure();
    limits.instructions = getMatrixPrograms(module, *found);
    if (!llvm::Triple(found->getTriple()).isNVPTX() ||
        limits.instructions.empty()) {
      module.emitError("target '")
          << target << "' is no GPU that CUDA runs on; try 'h200'";
      return failure();
    }
    model::Machine machine = found->getCommonFigures();
    if (!machine.groups || machine.groups->threads != warpSize) {
      module.emitError("target '")
          << target << "' does not say what warps of " << warpSize
          << " threads have of its registers ('groups')";
      return failure();
    }
    for (MatrixProgramAttr instruction : limits.instructions)
      if (failed(checkShape(*found, instruction)))
        return failure();
    const model::MemoryLevel &shared = machine.levels.back();
    limits.sharedBytes = shared.usableBytes();
    limits.buffers = shared.buffers;
    limits.allowsTF32 = tf32;
    limits.groups = *machine.groups;
    chip = NVVM::NVVMTargetAttr::get(&getContext(), /*optLevel=*/3,
                                     found->getTriple(), found->getCpu(),
                                     found->getCpuFeatures());
    return success();
  }

  /// The loops around blocks. Blocks outside of any make no kernel.
  LogicalResult findPrograms(SetVector<scf::ForallOp> &programs) {
    SmallVector<scf::ForallOp> foralls;
    getOperation()->walk(
        [&](scf::ForallOp forall) { foralls.push_back(forall); });
    llvm::for_each(foralls, wrapCombination);
    SmallVector<Operation *> tiles;
    getOperation()->walk([&](Operation *op) {
      if (isa<BlockOp, scf::ForOp>(op) && isa<func::FuncOp>(op->getParentOp()))
        tiles.push_back(op);
    });
    llvm::for_each(tiles, wrapTile);
    WalkResult result = getOperation()->walk([&](BlockOp block) {
      scf::ForallOp outermost;
      for (auto loop = block->getParentOfType<scf::ForallOp>(); loop;
           loop = loop->getParentOfType<scf::ForallOp>())
        outermost = loop;
      if (outermost) {
        programs.insert(outermost);
        return WalkResult::advance();
      }
      return WalkResult(refuse(block.getStructuredOp()->getLoc(),
                               "its schedule has no parallel "
                               "loop to make thread blocks of, nor is its "
                               "result one tile"));
    });
    // What combines parts belongs to the loop that makes them.
    SmallVector<scf::ForallOp> found(programs.begin(), programs.end());
    for (scf::ForallOp forall : found)
      if (FailureOr<Combination> combination = Combination::find(forall);
          succeeded(combination) && *combination)
        programs.remove(combination->forall);
    return failure(result.wasInterrupted());
  }

  /// Says why there is no kernel; fails if there has to be one.
  LogicalResult refuse(Location loc, const Twine &reason) {
    std::string text = ("no kernel for this chain: " + reason).str();
    if (required)
      return emitError(loc) << text;
    remark::missed(loc,
                   remark::RemarkOpts::name("no-kernel").category("chimera"))
        << text;
    return success();
  }

  void runOnOperation() override {
    BlockLimits limits;
    NVVM::NVVMTargetAttr chip;
    SetVector<scf::ForallOp> programs;
    if (failed(readTarget(limits, chip)) || failed(findPrograms(programs)) ||
        (required && failed(checkNoContractionIsLeft(getOperation()))))
      return signalPassFailure();
    getOperation()->walk(loseUnitsBeforePadding);
    getOperation()->walk(showWholeImage);
    // A GPU's program has no part that runs once.
    getOperation()->walk([](PrepareOp op) {
      op.replaceAllUsesWith(op.getSource());
      op.erase();
    });
    SymbolTable symbols(getOperation());
    for (scf::ForallOp forall : programs) {
      Refusal refusal;
      Location loc = forall.getLoc();
      joinLoops(forall);
      LogicalResult converted =
          ProgramConverter(forall, limits, chip).run(symbols, refusal);
      if (refusal.op)
        loc = refusal.op->getLoc();
      if (failed(converted) && failed(refuse(loc, refusal.reason)))
        return signalPassFailure();
    }
    if (!programs.empty())
      getOperation()->setAttr(gpu::GPUDialect::getContainerModuleAttrName(),
                              UnitAttr::get(&getContext()));
  }
};
} // namespace
