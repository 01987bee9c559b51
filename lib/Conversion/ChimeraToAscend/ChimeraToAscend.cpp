//===- ChimeraToAscend.cpp - Parallel loops to kernels --------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each parallel loop of a function becomes a kernel: its tasks are dealt out to
// the cores, and what they do is lowered to instructions. A function goes only
// if all of it can; otherwise it stays as it is.
//
//===----------------------------------------------------------------------===//

#include "CheckTarget.h"
#include "GroupKernel.h"
#include "KernelLowering.h"
#include "SeparateCores.h"
#include "SeparateSums.h"
#include "SplitLines.h"

#include "../Support/RequiredKernels.h"

#include "Chimera/Conversion/Passes.h"
#include "Chimera/IR/MicroKernels.h"
#include "Chimera/Target/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/Support/FormatVariadic.h"

namespace chimera {
#define GEN_PASS_DEF_CONVERTCHIMERATOASCENDPASS
#include "Chimera/Conversion/AscendPasses.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;
using namespace chimera::ascend;

namespace {

/// Makes the kernels of one function.
class FunctionSplitter {
public:
  FunctionSplitter(func::FuncOp function, const Cores &machine)
      : builder(function), function(function), machine(machine) {}

  /// Fails, with a reason, if some of the function cannot be lowered; then
  /// nothing has changed.
  LogicalResult run(Refusal &refusal);

private:
  LogicalResult checkOutside(Refusal &refusal);
  FailureOr<func::FuncOp> makeKernel(scf::ForallOp forall, StringRef name,
                                     Refusal &refusal);
  FailureOr<func::FuncOp> makeKernel(scf::ForallOp forall, StringRef name,
                                     EventSharing &sharing, Refusal &refusal);
  FailureOr<func::FuncOp> makeGroupKernel(scf::ForallOp forall, StringRef name,
                                          EventSharing &sharing,
                                          Refusal &refusal);
  func::FuncOp createKernel(Location loc, StringRef name,
                            ArrayRef<Value> memory);
  void finishKernel(func::FuncOp kernel,
                    ArrayRef<std::pair<Memory, int64_t>> room);
  void describeWorkspaces(func::FuncOp kernel, ArrayRef<MemRefType> types);
  std::string describe(Value value);
  std::string getFreeName(std::string name);

  OpBuilder builder;
  func::FuncOp function;
  Cores machine;
  SmallVector<scf::ForallOp> foralls;
  /// Places that kernels need for themselves, of all of them.
  unsigned numWorkspaces = 0;
};

} // namespace

/// True if `op` is memory under another shape or under windows, or truth values
/// as bytes.
static bool isOtherView(Operation *op) {
  return isa<memref::CollapseShapeOp, memref::ExpandShapeOp,
             memref::ReinterpretCastOp, ImageOp, UnrealizedConversionCastOp>(
      op);
}

/// True if `value` has a number for each row, each of which is a block.
static bool isMemoryOfRows(Value value) {
  Operation *op = value.getDefiningOp();
  return op && op->hasAttr(kRowsAttrName);
}

/// `ops`, and before them the buffers from further up that nobody else uses.
static SmallVector<Operation *> addOwnBuffers(ArrayRef<Operation *> ops) {
  llvm::SmallPtrSet<Operation *, 16> inside(llvm::from_range, ops);
  Block *block = ops.front()->getBlock();
  SmallVector<Operation *> all;
  for (auto alloc : block->getOps<memref::AllocOp>())
    if (!inside.contains(alloc) &&
        llvm::all_of(alloc->getUsers(), [&](Operation *user) {
          return inside.contains(block->findAncestorOpInBlock(*user));
        }))
      all.push_back(alloc);
  llvm::append_range(all, ops);
  return all;
}

/// Puts `ops`, neighbours in a block, into a parallel loop of one iteration.
/// What is used after them, buffers above all, stays before it, and so do other
/// shapes of memory: a kernel takes them as its arguments.
static void wrapInLoop(ArrayRef<Operation *> ops) {
  OpBuilder builder(ops.front());
  llvm::SmallPtrSet<Operation *, 16> inside;
  for (Operation *op : ops)
    if (!isOtherView(op))
      inside.insert(op);
  bool changed = true;
  while (changed) {
    changed = false;
    for (Operation *op : ops)
      changed |=
          inside.contains(op) &&
          llvm::any_of(op->getUsers(),
                       [&](Operation *user) {
                         return !inside.contains(
                             op->getBlock()->findAncestorOpInBlock(*user));
                       }) &&
          inside.erase(op);
  }
  builder.setInsertionPointAfter(ops.back());
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  auto forall = scf::ForallOp::create(
      builder, ops.front()->getLoc(), ArrayRef(zero), ArrayRef(one),
      ArrayRef(one), ValueRange(), /*mapping=*/std::nullopt);
  for (Operation *op : ops)
    if (inside.contains(op))
      op->moveBefore(forall.getBody()->getTerminator());
}

/// What runs outside of parallel loops becomes the only task of one.
static void wrapSerialParts(func::FuncOp function) {
  SmallVector<SmallVector<Operation *>> parts(1);
  for (Operation &op : function.getBody().front().without_terminator()) {
    if (isa<scf::ForallOp, memref::CopyOp>(op))
      parts.emplace_back();
    else
      parts.back().push_back(&op);
  }
  for (ArrayRef<Operation *> part : parts)
    if (llvm::any_of(part, [](Operation *op) {
          return op->walk([](MicroKernelOp) { return WalkResult::interrupt(); })
              .wasInterrupted();
        }))
      wrapInLoop(addOwnBuffers(part));
}

/// True if `forall` is a group of the vector unit, whose only iteration is the
/// group itself.
static bool isGroup(scf::ForallOp forall) {
  return !forall.getBody()->getOps<linalg::LinalgOp>().empty();
}

/// Groups of the vector unit become parallel loops of one iteration, with the
/// memory that nobody else sees.
static void wrapGroups(func::FuncOp function) {
  Block &body = function.getBody().front();
  for (ArrayRef<linalg::LinalgOp> group : findGroups(body)) {
    OpBuilder builder(function.getContext());
    builder.setInsertionPointAfter(group.back());
    OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
    auto forall = scf::ForallOp::create(
        builder, group.back()->getLoc(), ArrayRef(zero), ArrayRef(one),
        ArrayRef(one), ValueRange(), /*mapping=*/std::nullopt);
    llvm::SetVector<Operation *> inside;
    for (linalg::LinalgOp op : group)
      for (Value operand : op->getOperands())
        if (isa<MemRefType>(operand.getType()) && isInside(group, operand))
          for (Operation *memory = operand.getDefiningOp(); memory;
               memory = memory->getNumOperands() == 0
                            ? nullptr
                            : memory->getOperand(0).getDefiningOp())
            inside.insert(memory);
    SmallVector<Operation *> memory(inside.begin(), inside.end());
    llvm::sort(memory, [](Operation *left, Operation *right) {
      return left->isBeforeInBlock(right);
    });
    Operation *end = forall.getBody()->getTerminator();
    for (Operation *op : memory)
      op->moveBefore(end);
    for (linalg::LinalgOp op : group)
      op->moveBefore(end);
  }
}

/// Parts of memory that are the same for all tasks are taken inside.
static void sinkSubviews(func::FuncOp function) {
  Block &body = function.getBody().front();
  SmallVector<memref::SubViewOp> subviews(body.getOps<memref::SubViewOp>());
  for (memref::SubViewOp subview : llvm::reverse(subviews)) {
    for (auto forall : body.getOps<scf::ForallOp>()) {
      auto isInside = [&](OpOperand &use) {
        return forall->isProperAncestor(use.getOwner());
      };
      if (llvm::none_of(subview->getUses(), isInside))
        continue;
      OpBuilder builder = OpBuilder::atBlockBegin(forall.getBody());
      Value copy = builder.clone(*subview)->getResult(0);
      subview.getResult().replaceUsesWithIf(copy, isInside);
    }
    if (subview.use_empty())
      subview.erase();
  }
}

/// The buffer or argument that `value` is another view of.
static Value getViewed(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isOtherView(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// Between kernels there may be memory and nothing that computes.
LogicalResult FunctionSplitter::checkOutside(Refusal &refusal) {
  if (!function.getBody().hasOneBlock()) {
    refusal = {function.getLoc(), "it has control flow"};
    return failure();
  }
  for (Operation &op : function.getBody().front()) {
    if (auto forall = dyn_cast<scf::ForallOp>(op)) {
      foralls.push_back(forall);
      continue;
    }
    if (isa<memref::AllocOp, memref::DeallocOp, func::ReturnOp>(op) ||
        isOtherView(&op) || op.hasTrait<OpTrait::ConstantLike>())
      continue;
    if (isa<memref::SubViewOp, memref::CopyOp, linalg::FillOp>(op))
      refusal = {
          op.getLoc(),
          "a tensor is copied or padded in memory; zeros around the rows "
          "and columns of an image, under windows of several taps, need "
          "no copy, anything else has to be part of what the program "
          "takes"};
    else
      refusal = {op.getLoc(), ("'" + op.getName().getStringRef() +
                               "' is outside of all parallel loops, where "
                               "nothing runs; take what it makes as an "
                               "argument, or leave it to the caller")
                                  .str()};
    return failure();
  }
  if (foralls.empty()) {
    refusal = {function.getLoc(), "it has no parallel loop"};
    return failure();
  }
  return success();
}

/// Sizes and elements, as in 64x32xf16.
static std::string describeType(MemRefType type, bool isOfRows = false) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (int64_t size : type.getShape())
    os << size << "x";
  if (isOfRows)
    os << blockBytes / sizeof(float) << "x";
  os << type.getElementType();
  return text;
}

/// An argument or a buffer of the function, for those who launch the kernels.
std::string FunctionSplitter::describe(Value value) {
  std::string text;
  llvm::raw_string_ostream os(text);
  value = getViewed(value);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    os << "arg" << argument.getArgNumber();
  } else {
    unsigned number = 0;
    for (auto alloc : function.getBody().front().getOps<memref::AllocOp>()) {
      if (alloc.getResult() == value)
        break;
      ++number;
    }
    os << "tmp" << number;
  }
  os << " : "
     << describeType(cast<MemRefType>(value.getType()), isMemoryOfRows(value));
  return text;
}

/// Values that `forall` uses and does not make: memory, and constants.
static LogicalResult getMemory(scf::ForallOp forall,
                               llvm::SetVector<Value> &memory,
                               llvm::SetVector<Value> &constants) {
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(forall.getRegion(), used);
  for (Value value : used) {
    if (isa<MemRefType>(value.getType()))
      memory.insert(value);
    else if (Operation *op = value.getDefiningOp();
             op && op->hasTrait<OpTrait::ConstantLike>())
      constants.insert(value);
    else
      return failure();
  }
  return success();
}

/// Makes addresses of the memrefs that `kernel` takes.
static void convertArguments(func::FuncOp kernel) {
  SmallVector<Type> types;
  for (BlockArgument argument : kernel.getArguments()) {
    // What a kernel needs for itself has addresses from the start.
    if (isa<PtrType>(argument.getType())) {
      types.push_back(argument.getType());
      continue;
    }
    Type type =
        PtrType::get(kernel.getContext(), Memory::GM,
                     cast<MemRefType>(argument.getType()).getElementType());
    // Users know whether bytes have a sign.
    if (!argument.use_empty())
      type = argument.getUsers().begin()->getResult(0).getType();
    argument.setType(type);
    types.push_back(type);
    for (Operation *user : llvm::make_early_inc_range(argument.getUsers())) {
      auto cast = mlir::cast<UnrealizedConversionCastOp>(user);
      cast.getResult(0).replaceAllUsesWith(argument);
      cast.erase();
    }
  }
  kernel.setType(FunctionType::get(kernel.getContext(), types, {}));
}

/// Places have events of their own, or share them if there are too few.
FailureOr<func::FuncOp> FunctionSplitter::makeKernel(scf::ForallOp forall,
                                                     StringRef name,
                                                     Refusal &refusal) {
  EventSharing sharing;
  auto make = [&]() {
    return isGroup(forall) ? makeGroupKernel(forall, name, sharing, refusal)
                           : makeKernel(forall, name, sharing, refusal);
  };
  FailureOr<func::FuncOp> kernel = make();
  OfPipes lacking = sharing.lacking;
  if (succeeded(kernel) || lacking == OfPipes())
    return kernel;
  kernel = make();
  if (succeeded(kernel) || sharing.lacking == OfPipes())
    return kernel;
  sharing = {lacking, /*isTight=*/true};
  return make();
}

/// Leaves in `sharing` how many events are lacking.
FailureOr<func::FuncOp> FunctionSplitter::makeKernel(scf::ForallOp forall,
                                                     StringRef name,
                                                     EventSharing &sharing,
                                                     Refusal &refusal) {
  llvm::SetVector<Value> memory, constants;
  std::optional<SmallVector<int64_t>> lower = getConstantIntValues(
                                          forall.getMixedLowerBound()),
                                      upper = getConstantIntValues(
                                          forall.getMixedUpperBound()),
                                      step = getConstantIntValues(
                                          forall.getMixedStep());
  if (!lower || !upper || !step ||
      failed(getMemory(forall, memory, constants))) {
    refusal = {forall.getLoc(),
               "a parallel loop depends on values that are not known"};
    return failure();
  }
  Location loc = forall.getLoc();
  func::FuncOp kernel = createKernel(loc, name, memory.getArrayRef());
  Block *entry = &kernel.getBody().front();
  builder.setInsertionPointToStart(entry);
  IRMapping mapping;
  mapping.map(memory.getArrayRef(), entry->getArguments());
  for (Value constant : constants)
    builder.clone(*constant.getDefiningOp(), mapping);
  Code code(builder, loc);
  int64_t numTasks = 1;
  SmallVector<int64_t> counts;
  for (auto [first, last, size] : llvm::zip_equal(*lower, *upper, *step)) {
    counts.push_back(llvm::divideCeilSigned(last - first, size));
    numTasks *= counts.back();
  }
  Value core = BlockIdxOp::create(builder, loc, builder.getIndexType());
  Value cores = BlockNumOp::create(builder, loc, builder.getIndexType());
  auto tasks =
      scf::ForOp::create(builder, loc, core, code.number(numTasks), cores);
  func::ReturnOp::create(builder, loc);
  builder.setInsertionPointToStart(tasks.getBody());
  Value rest = tasks.getInductionVar();
  for (int64_t index = counts.size() - 1; index >= 0; --index) {
    Value trip = index == 0 ? rest : code.rem(rest, counts[index]);
    rest = code.div(rest, counts[index]);
    mapping.map(
        forall.getInductionVar(index),
        code.add(code.mul(trip, (*step)[index]), code.number((*lower)[index])));
  }
  for (Operation &op : forall.getBody()->without_terminator())
    builder.clone(op, mapping);
  KernelLowering lowering(tasks, cores, numTasks, machine, sharing);
  for (auto [value, argument] : llvm::zip_equal(memory, entry->getArguments()))
    if (auto image = value.getDefiningOp<ImageOp>())
      lowering.addImage(argument, image);
    else if (isMemoryOfRows(value))
      lowering.addMemoryOfRows(argument);
  if (failed(lowering.run(refusal))) {
    sharing.lacking = lowering.getLackingEvents();
    kernel.erase();
    return failure();
  }
  describeWorkspaces(kernel, lowering.getWorkspaces());
  finishKernel(kernel, lowering.getRoom());
  return kernel;
}

/// Adds what `kernel` needs for itself to what its arguments are.
void FunctionSplitter::describeWorkspaces(func::FuncOp kernel,
                                          ArrayRef<MemRefType> types) {
  SmallVector<Attribute> descriptions =
      llvm::to_vector(kernel->getAttrOfType<ArrayAttr>(kKernelAttrName));
  for (MemRefType type : types)
    descriptions.push_back(builder.getStringAttr(
        "work" + Twine(numWorkspaces++) + " : " + describeType(type)));
  kernel->setAttr(kKernelAttrName, builder.getArrayAttr(descriptions));
}

/// A function for a kernel that takes `memory`.
func::FuncOp FunctionSplitter::createKernel(Location loc, StringRef name,
                                            ArrayRef<Value> memory) {
  builder.setInsertionPoint(function);
  auto kernel = func::FuncOp::create(
      builder, loc, name,
      builder.getFunctionType(llvm::to_vector(ValueRange(memory).getTypes()),
                              {}));
  SmallVector<Attribute> descriptions;
  for (Value value : memory)
    descriptions.push_back(builder.getStringAttr(describe(value)));
  kernel->setAttr(kKernelAttrName, builder.getArrayAttr(descriptions));
  kernel.addEntryBlock();
  return kernel;
}

void FunctionSplitter::finishKernel(func::FuncOp kernel,
                                    ArrayRef<std::pair<Memory, int64_t>> used) {
  kernel->setAttr(kArchAttrName, builder.getStringAttr(stringifyArchitecture(
                                     machine.architecture)));
  SmallVector<NamedAttribute> room;
  for (auto [memory, bytes] : used)
    room.push_back(builder.getNamedAttr(stringifyMemory(memory),
                                        builder.getI64IntegerAttr(bytes)));
  kernel->setAttr(kRoomAttrName, builder.getDictionaryAttr(room));
  removeDead(kernel);
  convertArguments(kernel);
}

/// The kernel of a group, which has a tiling.
FailureOr<func::FuncOp> FunctionSplitter::makeGroupKernel(scf::ForallOp forall,
                                                          StringRef name,
                                                          EventSharing &sharing,
                                                          Refusal &refusal) {
  llvm::SetVector<Value> memory, constants;
  refusal = {forall.getLoc(), "an operand of a group is no memory"};
  if (failed(getMemory(forall, memory, constants)))
    return failure();
  func::FuncOp kernel =
      createKernel(forall.getLoc(), name, memory.getArrayRef());
  Block *entry = &kernel.getBody().front();
  builder.setInsertionPointToStart(entry);
  IRMapping mapping;
  mapping.map(memory.getArrayRef(), entry->getArguments());
  for (Value constant : constants)
    builder.clone(*constant.getDefiningOp(), mapping);
  for (Operation &op : forall.getBody()->without_terminator())
    builder.clone(op, mapping);
  SmallVector<linalg::LinalgOp> ops(entry->getOps<linalg::LinalgOp>());
  auto refuse = [&](const Twine &why) {
    if (!why.isTriviallyEmpty())
      refusal = {forall.getLoc(), why.str()};
    kernel.erase();
    return failure();
  };
  FailureOr<GroupProgram> group = readGroup(ops, machine.architecture, refusal);
  if (failed(group))
    return refuse("");
  auto tiling = ops.back()->getAttrOfType<TilingAttr>(kTilingAttrName);
  if (!tiling)
    return refuse("a group of the vector unit has no tiling that fits");
  model::VectorTiling tile{tiling.getRows(), tiling.getColumns()};
  if (tile.rows > group->model.rows() || tile.columns > group->model.columns())
    return refuse("'" + Twine(kTilingAttrName) +
                  "' has more rows or columns "
                  "than the group, which has " +
                  Twine(group->model.rows()) + " and " +
                  Twine(group->model.columns()));
  model::VectorPlan plan =
      planVectorProgram(group->model, tile, machine.vector);
  if (!plan.refusal.empty())
    return refuse(plan.refusal);
  Places places(machine.capacities, getNumEvents(machine.architecture),
                sharing);
  GroupKernel(builder, forall.getLoc(), *group, tile, machine.vector,
              plan.schedule, places, machine.architecture)
      .emit();
  func::ReturnOp::create(builder, forall.getLoc());
  if (!places.getFailure().empty()) {
    sharing.lacking = places.getExcess();
    return refuse(places.getFailure());
  }
  for (linalg::LinalgOp op : ops)
    op->erase();
  finishKernel(kernel, {{Memory::UB, places.getUsed(Memory::UB)}});
  return kernel;
}

/// `name`, or something like it that nothing in the module has yet.
std::string FunctionSplitter::getFreeName(std::string name) {
  Operation *module = function->getParentOp();
  std::string free = name;
  for (unsigned suffix = 0; SymbolTable::lookupSymbolIn(module, free); ++suffix)
    free = name + "_" + std::to_string(suffix);
  return free;
}

LogicalResult FunctionSplitter::run(Refusal &refusal) {
  if (failed(checkOutside(refusal)))
    return failure();
  SmallVector<func::FuncOp> kernels;
  for (auto [index, forall] : llvm::enumerate(foralls)) {
    std::string name = function.getName().str() + "_kernel";
    if (foralls.size() > 1)
      name += std::to_string(index);
    FailureOr<func::FuncOp> kernel =
        makeKernel(forall, getFreeName(name), refusal);
    if (failed(kernel)) {
      for (func::FuncOp made : kernels)
        made.erase();
      return failure();
    }
    kernels.push_back(*kernel);
  }
  for (func::FuncOp kernel : kernels)
    separateCores(kernel);
  function.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct ConvertChimeraToAscendPass
    : chimera::impl::ConvertChimeraToAscendPassBase<
          ConvertChimeraToAscendPass> {
  using Base::Base;

  FailureOr<Cores> readTarget() {
    FailureOr<TargetAttrInterface> targetAttr =
        resolveTarget(getOperation(), target);
    if (failed(targetAttr))
      return failure();
    SmallVector<Cube> cubes;
    FailureOr<model::Machine> machine = failure();
    for (MatrixProgramAttr program :
         getMatrixPrograms(getOperation(), *targetAttr)) {
      FailureOr<model::Machine> own =
          targetAttr->getMachine(program.getFactors().front());
      if (failed(machine))
        machine = own;
      if (succeeded(own) && own->matrix)
        cubes.push_back({*own->matrix, program});
    }
    if (failed(machine) || machine->buffers.empty() || !machine->matrix)
      return getOperation()->emitError("target '")
             << target
             << "' has no memories beside its levels, or no matrix unit for "
             << "f16: it is no machine whose programs move their data by "
             << "themselves";
    auto refuseTarget = [&](const Twine &why) {
      return getOperation()->emitError("no code can be made for target '")
             << target << "': " << why;
    };
    std::optional<Architecture> architecture =
        getArchitecture(targetAttr->getCpu());
    if (!architecture)
      return refuseTarget("the instructions of its cpu '" +
                          targetAttr->getCpu() +
                          "' are not known; those of Ascend910A, Ascend310P "
                          "and Ascend910B are");
    Cores cores = getCores(*machine, cubes, *architecture);
    if (std::string mismatch = findMismatch(*machine, cores); !mismatch.empty())
      return refuseTarget(mismatch + "; an " +
                          stringifyArchitecture(*architecture) +
                          " is what its cpu says");
    cores.vector = getVectorCore(*machine, *architecture, &getContext());
    return cores;
  }

  /// Replaces `function` by kernels. Fails, with a reason, if that is not
  /// possible; then nothing has changed.
  LogicalResult convert(func::FuncOp function, const Cores &cores,
                        Refusal &refusal) {
    // Kernels have other arguments, and nobody would launch them.
    auto uses = SymbolTable::getSymbolUses(function, getOperation());
    if (!uses || !uses->empty()) {
      refusal = {uses ? uses->begin()->getUser()->getLoc() : function.getLoc(),
                 ("'" + function.getName() +
                  "' is used here, but kernels take its place; inline it")
                     .str()};
      return failure();
    }
    // On a copy, so that a function that stays is what it was.
    auto copy = cast<func::FuncOp>(OpBuilder(function).clone(*function));
    if (copy.getBody().hasOneBlock()) {
      wrapGroups(copy);
      wrapSerialParts(copy);
      sinkSubviews(copy);
      for (auto forall : copy.getBody().front().getOps<scf::ForallOp>()) {
        separateSums(forall);
        splitLines(forall);
      }
    }
    if (failed(FunctionSplitter(copy, cores).run(refusal))) {
      copy.erase();
      return failure();
    }
    function.erase();
    return success();
  }

  /// Says why `function` stays; fails if it has to become kernels.
  LogicalResult refuse(const Refusal &refusal) {
    std::string text = "no kernel for an Ascend core: " + refusal.reason;
    if (required)
      return emitError(refusal.loc) << text;
    remark::missed(refusal.loc,
                   remark::RemarkOpts::name("not-lowered").category("chimera"))
        << text;
    return success();
  }

  void runOnOperation() override {
    FailureOr<Cores> cores = readTarget();
    if (failed(cores) ||
        (required && failed(checkNoContractionIsLeft(getOperation()))))
      return signalPassFailure();
    SmallVector<func::FuncOp> functions;
    getOperation()->walk([&](func::FuncOp function) {
      WalkResult found = function.walk([](Operation *op) {
        return isa<MicroKernelOp>(op) || op->hasAttr(kTilingAttrName)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      });
      if (found.wasInterrupted())
        functions.push_back(function);
    });
    for (func::FuncOp function : functions) {
      Refusal refusal = {function.getLoc(), ""};
      if (failed(convert(function, *cores, refusal)) && failed(refuse(refusal)))
        return signalPassFailure();
    }
  }
};
} // namespace
