//===- StartCollectives.cpp - Run on while an exchange lasts --------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Only once buffers are assigned is it known what an exchange must not meet
// with. Whatever is not proved to leave its buffer alone waits for it.
//
//===----------------------------------------------------------------------===//

#include "Chimera/IR/Chimera.h"
#include "Chimera/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace chimera {
#define GEN_PASS_DEF_STARTCOLLECTIVESPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

//===----------------------------------------------------------------------===//
// Places in memory
//===----------------------------------------------------------------------===//

namespace {
/// Elements of a buffer from `begin` to before `end`; all of them if that is
/// not known.
struct Place {
  /// What was allocated or passed; null if that is not known.
  Value buffer;
  int64_t begin = 0, end = std::numeric_limits<int64_t>::max();
};
} // namespace

/// The elements between the first and the last of `type`, counted from where
/// its buffer starts.
static void bound(MemRefType type, Place &place) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!type.hasStaticShape() || type.getNumElements() == 0 ||
      failed(type.getStridesAndOffset(strides, offset)) ||
      ShapedType::isDynamic(offset) || ShapedType::isDynamicShape(strides))
    return;
  int64_t last = offset;
  for (auto [size, stride] : llvm::zip_equal(type.getShape(), strides)) {
    if (stride < 0)
      return;
    last += (size - 1) * stride;
  }
  place.begin = std::max(place.begin, offset);
  place.end = std::min(place.end, last + 1);
}

/// Where `value` lies: in the buffer that views of it go back to. A view lies
/// in what it is a view of.
static Place findPlace(Value value) {
  Place place;
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<memref::SubViewOp, memref::CastOp, memref::CollapseShapeOp,
             memref::ExpandShapeOp>(op))
      break;
    if (auto type = dyn_cast<MemRefType>(value.getType()))
      bound(type, place);
    value = op->getOperand(0);
  }
  auto type = dyn_cast<MemRefType>(value.getType());
  if (!type)
    return {};
  // Offsets count from where the allocation starts, if its own is zero.
  if (!type.getLayout().isIdentity())
    place = {};
  auto argument = dyn_cast<BlockArgument>(value);
  bool isOfFunction =
      argument && isa<func::FuncOp>(argument.getOwner()->getParentOp());
  if (isOfFunction || value.getDefiningOp<memref::AllocOp>() ||
      value.getDefiningOp<memref::AllocaOp>() ||
      value.getDefiningOp<memref::GetGlobalOp>())
    place.buffer = value;
  return place;
}

/// True if both may have elements in common. Globals have several names.
static bool mayMeet(const Place &one, const Place &other) {
  if (!one.buffer || !other.buffer)
    return true;
  if (one.buffer != other.buffer)
    return one.buffer.getDefiningOp<memref::GetGlobalOp>() &&
           other.buffer.getDefiningOp<memref::GetGlobalOp>();
  return one.begin < other.end && other.begin < one.end;
}

//===----------------------------------------------------------------------===//
// What may run meanwhile
//===----------------------------------------------------------------------===//

/// True if the address of `memory` or of a view of it is a number somewhere,
/// from which anything can be read.
static bool hasAddress(Value memory) {
  return llvm::any_of(memory.getUsers(), [](Operation *user) {
    return isa<memref::ExtractAlignedPointerAsIndexOp>(user) ||
           (isa<ViewLikeOpInterface>(user) &&
            llvm::any_of(user->getResults(), hasAddress));
  });
}

/// True for the copy of a buffer to itself, which bufferization leaves where
/// something was computed in its place.
static bool copiesToItself(Operation *op) {
  auto copy = dyn_cast<memref::CopyOp>(op);
  return copy && copy.getSource() == copy.getTarget();
}

/// True if `op` by itself does nothing to memory.
static bool leavesMemory(Operation *op) {
  return isa<ViewLikeOpInterface>(op) || isMemoryEffectFree(op) ||
         copiesToItself(op);
}

/// True if `op`, or anything in it, may touch `place`: it does not unless an
/// operand says so.
static bool mayTouch(Operation *op, const Place &place) {
  WalkResult result = op->walk([&](Operation *inner) {
    bool meets = llvm::any_of(inner->getOperands(), [&](Value operand) {
      return isa<BaseMemRefType>(operand.getType()) &&
             mayMeet(findPlace(operand), place);
    });
    return meets && !leavesMemory(inner) ? WalkResult::interrupt()
                                         : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// True if nothing is done by `op` that would be worth a wait.
static bool isNothing(Operation &op) {
  return isa<memref::AllocOp, memref::AllocaOp, memref::DeallocOp>(op) ||
         isMemoryEffectFree(&op) || copiesToItself(&op);
}

/// Starts `op` and waits as late as possible; false if nothing would run in
/// between.
static bool start(AllReduceOp op) {
  Place place = findPlace(op.getOutput());
  if (!place.buffer || hasAddress(place.buffer))
    return false;
  Block *block = op->getBlock();
  auto first = std::next(Block::iterator(op));
  auto end = std::find_if(first, block->end(), [&](Operation &other) {
    return other.hasTrait<OpTrait::IsTerminator>() || mayTouch(&other, place);
  });
  if (std::all_of(first, end, isNothing))
    return false;
  OpBuilder builder(op);
  Value request = StartAllReduceOp::create(
      builder, op.getLoc(), builder.getI64Type(), op.getReduction(),
      op.getOutput(), op.getAxes(), op.getProcesses());
  builder.setInsertionPoint(block, end);
  WaitOp::create(builder, op.getLoc(), request, op.getOutput());
  op.erase();
  return true;
}

namespace {
struct StartCollectivesPass
    : chimera::impl::StartCollectivesPassBase<StartCollectivesPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<AllReduceOp> overlapped;
    getOperation().walk([&](AllReduceOp op) {
      if (op.getOverlapped() && isa<MemRefType>(op.getOutput().getType()))
        overlapped.push_back(op);
    });
    for (AllReduceOp op : overlapped)
      numStarted += start(op);
  }
};
} // namespace
