//===- Collectives.cpp - What processes exchange --------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On tensors a collective has no effect but its result: all processes run the
// same program, so that whatever is done to one of them is done to all. On
// memrefs it also has to stay in its place among the others.
//
//===----------------------------------------------------------------------===//

#include "Chimera/IR/Collectives.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace chimera;

using Effects =
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

//===----------------------------------------------------------------------===//
// For the model
//===----------------------------------------------------------------------===//

/// Bytes of a tensor or a buffer.
static int64_t countBytes(Value value) {
  auto type = cast<ShapedType>(value.getType());
  return type.getNumElements() *
         llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

std::optional<model::Collective> chimera::getCollective(Operation *op) {
  using model::CollectiveKind;
  auto make = [](auto op, CollectiveKind kind, Value payload) {
    return model::Collective{kind, countBytes(payload),
                             static_cast<int64_t>(op.getProcesses())};
  };
  return llvm::TypeSwitch<Operation *, std::optional<model::Collective>>(op)
      .Case([&](AllReduceOp op) {
        return make(op, CollectiveKind::AllReduce, op.getOutput());
      })
      .Case([&](StartAllReduceOp op) {
        return make(op, CollectiveKind::AllReduce, op.getOutput());
      })
      .Case([&](ProcessBroadcastOp op) {
        return make(op, CollectiveKind::Broadcast, op.getOutput());
      })
      .Case([&](AllGatherOp op) {
        return make(op, CollectiveKind::AllGather, op.getInput());
      })
      .Case([&](ReduceScatterOp op) {
        return make(op, CollectiveKind::ReduceScatter, op.getInput());
      })
      .Case([&](AllToAllOp op) {
        return make(op, CollectiveKind::AllToAll, op.getInput());
      })
      .Default([](Operation *) { return std::nullopt; });
}

//===----------------------------------------------------------------------===//
// Effects
//===----------------------------------------------------------------------===//

namespace {
/// What a collective changes beside its buffers.
struct NetworkState : SideEffects::Resource::Base<NetworkState> {
  StringRef getName() final { return "network"; }
};
} // namespace

/// Adds those of a collective that reads `input`, which may be what it writes.
template <typename OpT>
static void addEffects(OpT op, OpOperand &input, Effects &effects) {
  OpOperand &output = op.getOutputMutable();
  if (!isa<MemRefType>(output.get().getType()))
    return;
  effects.emplace_back(MemoryEffects::Read::get(), &input);
  effects.emplace_back(MemoryEffects::Write::get(), &output);
  effects.emplace_back(MemoryEffects::Read::get(), NetworkState::get());
  effects.emplace_back(MemoryEffects::Write::get(), NetworkState::get());
}

void AllReduceOp::getEffects(Effects &effects) {
  addEffects(*this, getOutputMutable(), effects);
}
void StartAllReduceOp::getEffects(Effects &effects) {
  addEffects(*this, getOutputMutable(), effects);
}
void WaitOp::getEffects(Effects &effects) {
  addEffects(*this, getOutputMutable(), effects);
}
void ProcessBroadcastOp::getEffects(Effects &effects) {
  addEffects(*this, getOutputMutable(), effects);
}
void AllGatherOp::getEffects(Effects &effects) {
  addEffects(*this, getInputMutable(), effects);
}
void ReduceScatterOp::getEffects(Effects &effects) {
  addEffects(*this, getInputMutable(), effects);
}
void AllToAllOp::getEffects(Effects &effects) {
  addEffects(*this, getInputMutable(), effects);
}
void CheckGridOp::getEffects(Effects &effects) {
  effects.emplace_back(MemoryEffects::Write::get(), NetworkState::get());
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

/// The element types that processes can exchange.
static bool isExchanged(Type type) {
  return type.isF32() || type.isF64() || type.isF16() || type.isBF16() ||
         type.isInteger(8) || type.isInteger(32) || type.isInteger(64);
}

/// Fails if `op` exchanges nothing or cannot exchange it.
template <typename OpT>
static LogicalResult verifyGroup(OpT op) {
  llvm::SmallSet<int64_t, 4> seen;
  for (int64_t axis : op.getAxes())
    if (axis < 0 || axis > 31 || !seen.insert(axis).second)
      return op.emitOpError("must run along different axes from 0 to 31, got ")
             << axis;
  if (seen.empty())
    return op.emitOpError("must run along an axis of the grid");
  auto output = cast<ShapedType>(op.getOutput().getType());
  if (!isExchanged(output.getElementType()))
    return op.emitOpError(
               "exchanges f64, f32, f16, bf16, i64, i32 and i8, not ")
           << output.getElementType();
  return success();
}

/// What holds for all collectives: the group, the kinds of operands, and that
/// on tensors there is a result and on memrefs none.
template <typename OpT>
static LogicalResult verifyCollective(OpT op) {
  if (failed(verifyGroup(op)))
    return failure();
  auto output = cast<ShapedType>(op.getOutput().getType());
  for (Type type : op->getOperandTypes())
    if (isa<RankedTensorType>(type) != isa<RankedTensorType>(output) ||
        getElementTypeOrSelf(type) != output.getElementType())
      return op.emitOpError("must have operands of one kind and element type");
  bool hasResult = op->getNumResults() == 1;
  if (isa<RankedTensorType>(output) != hasResult || op->getNumResults() > 1)
    return op.emitOpError("has one result on tensors and none on memrefs");
  if (hasResult && op->getResult(0).getType() != output)
    return op.emitOpError("must have a result of type ") << output;
  return success();
}

/// The first dimension of `whole` is that of `part` for each process, all
/// others are equal.
template <typename OpT>
static LogicalResult verifyPart(OpT op, Value part, Value whole) {
  auto partType = cast<ShapedType>(part.getType()),
       wholeType = cast<ShapedType>(whole.getType());
  SmallVector<int64_t> expected(partType.getShape());
  if (!expected.empty())
    expected.front() *= op.getProcesses();
  if (expected.empty() || wholeType.getShape() != ArrayRef(expected))
    return op.emitOpError("has ")
           << op.getProcesses() << " parts of type " << partType
           << ", which do not make up " << wholeType;
  return success();
}

unsigned AllReduceOp::getRowDim() {
  auto shape = cast<ShapedType>(getOutput().getType()).getShape();
  const auto *rows =
      llvm::find_if(shape, [](int64_t size) { return size != 1; });
  return rows == shape.end() ? 0 : rows - shape.begin();
}

LogicalResult AllReduceOp::verify() {
  if (failed(verifyCollective(*this)))
    return failure();
  std::optional<int64_t> blocks = getBlocks();
  if (!blocks)
    return success();
  auto type = cast<ShapedType>(getOutput().getType());
  if (type.getRank() == 0 || type.getDimSize(getRowDim()) % *blocks != 0)
    return emitOpError("cannot be exchanged in ")
           << *blocks << " blocks of equal rows of " << type;
  return success();
}

LogicalResult StartAllReduceOp::verify() { return verifyGroup(*this); }

LogicalResult WaitOp::verify() {
  auto started = getRequest().getDefiningOp<StartAllReduceOp>();
  if (started && started.getOutput() != getOutput())
    return emitOpError("must name the buffer whose all-reduce was started");
  return success();
}

LogicalResult ProcessBroadcastOp::verify() {
  if (getRoot() >= getProcesses())
    return emitOpError("has process ")
           << getRoot() << " as its root in a group of " << getProcesses();
  return verifyCollective(*this);
}

LogicalResult AllGatherOp::verify() {
  if (failed(verifyCollective(*this)))
    return failure();
  return verifyPart(*this, getInput(), getOutput());
}

LogicalResult ReduceScatterOp::verify() {
  if (failed(verifyCollective(*this)))
    return failure();
  return verifyPart(*this, getOutput(), getInput());
}

LogicalResult AllToAllOp::verify() {
  if (failed(verifyCollective(*this)))
    return failure();
  auto input = cast<ShapedType>(getInput().getType()),
       output = cast<ShapedType>(getOutput().getType());
  if (input.getShape() != output.getShape())
    return emitOpError("must receive as much as it sends, but sends ")
           << input << " and receives " << output;
  if (input.getRank() == 0 || input.getDimSize(0) % getProcesses() != 0)
    return emitOpError("cannot cut ")
           << input << " into " << getProcesses() << " parts";
  return success();
}

LogicalResult CheckGridOp::verify() {
  if (getSizes().empty() ||
      llvm::any_of(getSizes(), [](int64_t size) { return size < 1; }))
    return emitOpError("needs a grid of at least one axis, with at least one "
                       "process along each");
  return success();
}
