//===- ConvertMemoryGroups.cpp - Groups that wait for memory to kernels ---===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A group becomes a launch where its last operation is. Tensors become memory
// there: inputs as they are, results in memory of their own or in the part of a
// tensor that they were to be inserted in.
//
//===----------------------------------------------------------------------===//

#include "KernelFunction.h"
#include "MemoryEmitter.h"
#include "MemoryGroups.h"

#include "Chimera/Conversion/Passes.h"
#include "Chimera/IR/ElementBytes.h"
#include "Chimera/Target/Target.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/Support/FormatVariadic.h"

namespace chimera {
#define GEN_PASS_DEF_CONVERTMEMORYGROUPSTONVVMPASS
#include "Chimera/Conversion/NvidiaPasses.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

namespace {

/// Memory that kernels write parts of, by the tensors that it has been.
using KnownBuffers = llvm::DenseMap<Value, Value>;

class GroupConverter {
public:
  GroupConverter(const MemoryProgram &program, const model::Machine &machine,
                 NVVM::NVVMTargetAttr chip, KnownBuffers &known)
      : program(program), machine(machine), chip(chip), known(known),
        builder(program.getRoot()), loc(program.getRoot().getLoc()) {}

  LogicalResult run(SymbolTable &symbols, Refusal &refusal);

private:
  LogicalResult readTiling(Refusal &refusal);
  LogicalResult readCaptures(Refusal &refusal);
  gpu::GPUFuncOp createKernel();
  LogicalResult emitKernel(gpu::GPUFuncOp kernel, Refusal &refusal);
  Value getBuffer(Value tensor, bool isWritten);
  void launch(gpu::GPUFuncOp kernel);
  void replace(const MemoryStore &store, Value buffer);
  void eraseMembers();
  void report();

  const MemoryProgram &program;
  const model::Machine &machine;
  NVVM::NVVMTargetAttr chip;
  KnownBuffers &known;
  OpBuilder builder;
  Location loc;
  model::ThreadTiling tiling;
  /// Arguments of the kernel: tensors that are read or written a part of,
  /// numbers, and results with memory of their own. Constants are made again
  /// inside.
  llvm::SetVector<Value> arguments;
  SmallVector<Value> constants;
};

} // namespace

LogicalResult GroupConverter::readTiling(Refusal &refusal) {
  ThreadTilingAttr attribute = getThreadTiling(program.getRoot());
  tiling.vector = attribute.getVector();
  tiling.team = attribute.getTeam();
  tiling.rows = attribute.getRows();
  tiling.steps = attribute.getSteps();
  tiling.home = static_cast<model::RowHome>(attribute.getHome());
  const model::ThreadGroup &group = program.getFigures();
  if (group.mostVector % tiling.vector != 0)
    return refusal.set(program.getRoot(),
                       "at most " + Twine(group.mostVector) +
                           " elements can be loaded at once");
  if (group.isTurned &&
      (tiling.team != model::turnedTile || tiling.vector != 1 ||
       tiling.rows * tiling.steps != model::turnedTile))
    return refusal.set(program.getRoot(), "what is turned goes by tiles of " +
                                              Twine(model::turnedTile) +
                                              " rows and columns");
  if (group.reduces && countSteps(group, tiling) != tiling.steps)
    return refusal.set(program.getRoot(), "a thread has to take " +
                                              Twine(countSteps(group, tiling)) +
                                              " vectors of a row");
  if (!group.reduces && tiling.home != model::RowHome::Registers)
    return refusal.set(program.getRoot(), "nothing is reduced, so that there "
                                          "is one pass, and nothing to keep");
  if (!fits(group, tiling, machine))
    return refusal.set(program.getRoot(),
                       "threads have not so many registers, or blocks not so "
                       "much shared memory");
  return success();
}

LogicalResult GroupConverter::readCaptures(Refusal &refusal) {
  for (const MemoryAccess &load : program.getLoads())
    arguments.insert(load.base);
  for (const MemoryMember &member : program.getMembers()) {
    llvm::SetVector<Value> used;
    getUsedValuesDefinedAbove(member.op->getRegions(), used);
    for (const MemoryOperand &operand : member.operands)
      if (operand.kind == MemoryOperand::Kind::Scalar)
        used.insert(operand.scalar);
    for (Value value : used) {
      if (matchPattern(value, m_Constant()))
        constants.push_back(value);
      else if (value.getType().isIntOrIndexOrFloat())
        arguments.insert(value);
      else
        return refusal.set(member.op, "its body uses more than numbers");
    }
  }
  for (const MemoryStore &store : program.getStores())
    arguments.insert(store.access.base);
  return success();
}

gpu::GPUFuncOp GroupConverter::createKernel() {
  SmallVector<Type> types;
  for (Value value : arguments)
    types.push_back(isa<TensorType>(value.getType()) ? getBufferType(value)
                                                     : value.getType());
  return chimera::createKernel(program.getRoot(), types, chip, tiling.threads(),
                               countBlocks(program.getFigures(), tiling));
}

LogicalResult GroupConverter::emitKernel(gpu::GPUFuncOp kernel,
                                         Refusal &refusal) {
  OpBuilder inside = OpBuilder::atBlockBegin(&kernel.getBody().front());
  ThreadLayout layout;
  layout.warps = tiling.threads() / warpSize;
  KernelBuilder kernelBuilder(inside, loc, layout);
  IRMapping mapping;
  mapping.map(arguments.getArrayRef(), kernel.getArguments());
  for (Value constant : constants)
    mapping.map(constant,
                inside.clone(*constant.getDefiningOp())->getResult(0));
  if (failed(
          MemoryEmitter(kernelBuilder, program, tiling, mapping).emit(refusal)))
    return failure();
  gpu::ReturnOp::create(inside, loc);
  return success();
}

/// The memory of `tensor`. What a kernel fills has none so far.
Value GroupConverter::getBuffer(Value tensor, bool isWritten) {
  if (Value buffer = known.lookup(tensor))
    return buffer;
  Operation *source = tensor.getDefiningOp();
  bool isNew =
      program.getMember(source) ||
      isa_and_nonnull<tensor::EmptyOp, bufferization::AllocTensorOp>(source);
  if (isWritten && isNew)
    return known[tensor] =
               memref::AllocOp::create(builder, loc, getBufferType(tensor));
  return bufferization::ToBufferOp::create(builder, loc, getBufferType(tensor),
                                           tensor, /*read_only=*/!isWritten);
}

/// True if `op` is in the block of `other`, before it.
static bool isBefore(Operation *op, Operation *other) {
  return op->getBlock() == other->getBlock() && op->isBeforeInBlock(other);
}

/// What `store` has written is in `buffer` from now on.
void GroupConverter::replace(const MemoryStore &store, Value buffer) {
  Value result = store.insert ? store.insert->getResult(0) : store.result;
  known[result] = buffer;
  Value tensor = bufferization::ToTensorOp::create(
      builder, loc, result.getType(), buffer, /*restrict=*/true,
      /*writable=*/true);
  known[tensor] = buffer;
  result.replaceUsesWithIf(tensor, [&](OpOperand &use) {
    // What stands before goes with the members.
    return !program.getMember(use.getOwner()) &&
           !isBefore(use.getOwner(), program.getRoot());
  });
}

/// Erases the members, what put their results into parts of tensors, and the
/// slices that they were to write.
void GroupConverter::eraseMembers() {
  auto erase = [](Operation *op) {
    if (op && op->use_empty())
      op->erase();
  };
  llvm::DenseMap<Operation *, SmallVector<Operation *>> inserts;
  for (const MemoryStore &store : program.getStores())
    if (store.insert)
      inserts[store.result.getOwner()].push_back(store.insert);
  for (const MemoryMember &member : llvm::reverse(program.getMembers())) {
    Operation *op = member.op;
    for (Operation *insert : inserts.lookup(op))
      erase(insert);
    SmallVector<Value> inits =
        llvm::to_vector(cast<linalg::LinalgOp>(op).getDpsInits());
    erase(op);
    for (Value init : inits)
      if (auto slice = init.getDefiningOp<tensor::ExtractSliceOp>())
        erase(slice);
  }
}

void GroupConverter::launch(gpu::GPUFuncOp kernel) {
  llvm::SmallDenseSet<Value> written;
  for (const MemoryStore &store : program.getStores())
    written.insert(store.access.base);
  builder.setInsertionPointAfter(program.getRoot());
  SmallVector<Value> operands;
  for (Value value : arguments)
    operands.push_back(isa<TensorType>(value.getType())
                           ? getBuffer(value, written.contains(value))
                           : value);
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  const model::ThreadGroup &group = program.getFigures();
  Value one = constant(1);
  Value sharedBytes = arith::ConstantIntOp::create(
      builder, loc, builder.getI32Type(), countSharedBytes(group, tiling));
  gpu::LaunchFuncOp::create(
      builder, loc, kernel,
      gpu::KernelDim3{constant(countBlocks(group, tiling)), one, one},
      gpu::KernelDim3{constant(tiling.threads()), one, one}, sharedBytes,
      operands);
  for (const MemoryStore &store : program.getStores()) {
    unsigned place =
        llvm::find(arguments, store.access.base) - arguments.begin();
    replace(store, operands[place]);
  }
}

/// Says what the kernel loads of each argument and what it stores.
void GroupConverter::report() {
  const model::ThreadGroup &group = program.getFigures();
  std::string text = llvm::formatv(
      "one launch of {0} operation(s), {1} block(s) of {2} threads: {3:F1} "
      "us; ",
      program.getMembers().size(), countBlocks(group, tiling), tiling.threads(),
      predictSeconds(group, tiling, machine) * 1e6);
  llvm::raw_string_ostream stream(text);
  auto list = [&](StringRef what, auto getBytes) {
    stream << what << " [";
    llvm::interleaveComma(
        llvm::seq<size_t>(0, arguments.size()), stream, [&](size_t place) {
          stream << static_cast<int64_t>(getBytes(arguments[place]));
        });
    stream << "]";
  };
  list("loads", [&](Value base) {
    double bytes = 0;
    for (auto [load, access] : llvm::zip_equal(program.getLoads(), group.loads))
      if (load.base == base)
        bytes += countBytes(access, group, tiling);
    return bytes;
  });
  list(", stores", [&](Value base) {
    double bytes = 0;
    for (const MemoryStore &store : program.getStores()) {
      double own = bytesOf(store.access.elementType);
      for (auto [stride, extent] :
           llvm::zip_equal(store.access.strides, program.getExtents()))
        own *= stride != 0 ? static_cast<double>(extent) : 1;
      if (store.access.base == base)
        bytes += own;
    }
    return bytes;
  });
  remark::passed(loc, remark::RemarkOpts::name("kernel").category("chimera"))
      << text;
}

LogicalResult GroupConverter::run(SymbolTable &symbols, Refusal &refusal) {
  if (failed(readTiling(refusal)) || failed(readCaptures(refusal)))
    return failure();
  gpu::GPUFuncOp kernel = createKernel();
  auto module = kernel->getParentOfType<gpu::GPUModuleOp>();
  if (failed(emitKernel(kernel, refusal))) {
    module.erase();
    return failure();
  }
  symbols.insert(module);
  report();
  launch(kernel);
  eraseMembers();
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct ConvertMemoryGroupsToNVVMPass
    : chimera::impl::ConvertMemoryGroupsToNVVMPassBase<
          ConvertMemoryGroupsToNVVMPass> {
  using Base::Base;

  void convert(ArrayRef<linalg::LinalgOp> ops, const model::Machine &machine,
               NVVM::NVVMTargetAttr chip, SymbolTable &symbols,
               KnownBuffers &known) {
    if (!getThreadTiling(ops.back()))
      return;
    Refusal refusal;
    FailureOr<MemoryProgram> program = MemoryProgram::read(ops, refusal);
    if (failed(closeRanks(ops)))
      (void)refusal.set(ops.back(), "what runs between its operations cannot "
                                    "wait for them");
    else if (succeeded(program) &&
             succeeded(GroupConverter(*program, machine, chip, known)
                           .run(symbols, refusal)))
      return;
    remark::missed(refusal.op->getLoc(),
                   remark::RemarkOpts::name("no-kernel").category("chimera"))
        << "no kernel for this group: " + refusal.reason;
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<TargetAttrInterface> found = resolveTarget(module, target);
    if (failed(found))
      return signalPassFailure();
    model::Machine machine = found->getCommonFigures();
    if (!llvm::Triple(found->getTriple()).isNVPTX() || !machine.groups) {
      module.emitError("target '")
          << target << "' is no GPU that CUDA runs on; try 'h200'";
      return signalPassFailure();
    }
    auto chip = NVVM::NVVMTargetAttr::get(&getContext(), /*optLevel=*/3,
                                          found->getTriple(), found->getCpu(),
                                          found->getCpuFeatures());
    SymbolTable symbols(module);
    KnownBuffers known;
    SmallVector<MemoryOps> groups = collectMemoryGroups(module);
    // Whoever reads what another group makes is launched behind it.
    llvm::DenseMap<Operation *, unsigned> order;
    module.walk([&](Operation *op) { order.try_emplace(op, order.size()); });
    llvm::sort(groups, [&](const MemoryOps &left, const MemoryOps &right) {
      return order.lookup(left.back()) < order.lookup(right.back());
    });
    for (const MemoryOps &ops : groups)
      convert(ops, machine, chip, symbols, known);
    if (!module.getOps<gpu::GPUModuleOp>().empty())
      module->setAttr(gpu::GPUDialect::getContainerModuleAttrName(),
                      UnitAttr::get(&getContext()));
    module.walk([](Operation *op) {
      op->removeDiscardableAttr(ChimeraDialect::getGroupAttrName());
      op->removeDiscardableAttr(ChimeraDialect::getThreadTilingAttrName());
    });
  }
};
} // namespace
