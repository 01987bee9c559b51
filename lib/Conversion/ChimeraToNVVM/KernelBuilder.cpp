//===- KernelBuilder.cpp - Threads and indices of a kernel ----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

#include <numeric>

using namespace mlir;
using namespace chimera;

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

void KernelBuilder::createThread() {
  thread = gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x);
  lane = rem(thread, warpSize);
  Value warp = div(thread, warpSize);
  warpRow = mul(div(warp, layout.sharers), layout.rowTiles * mmaRows);
  sharer = layout.sharers > 1 ? rem(warp, layout.sharers) : constant(0);
}

Value KernelBuilder::getRow(int64_t rowTile, int64_t half) {
  return add(add(warpRow, groupInWarp()), rowTile * mmaRows + 8 * half);
}

Value KernelBuilder::getColumn(int64_t columnTile, int64_t place) {
  return add(mul(placeInGroup(), 2), columnTile * mmaColumns + place);
}

Value KernelBuilder::constant(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value KernelBuilder::add(Value left, Value right) {
  return builder.createOrFold<arith::AddIOp>(loc, left, right);
}

Value KernelBuilder::sub(Value left, Value right) {
  return builder.createOrFold<arith::SubIOp>(loc, left, right);
}

Value KernelBuilder::mul(Value left, int64_t right) {
  return builder.createOrFold<arith::MulIOp>(loc, left, constant(right));
}

Value KernelBuilder::div(Value left, int64_t right) {
  return builder.createOrFold<arith::DivUIOp>(loc, left, constant(right));
}

Value KernelBuilder::rem(Value left, int64_t right) {
  return builder.createOrFold<arith::RemUIOp>(loc, left, constant(right));
}

Value KernelBuilder::exclusiveOr(Value left, Value right) {
  return builder.createOrFold<arith::XOrIOp>(loc, left, right);
}

Value KernelBuilder::min(Value left, Value right) {
  return builder.createOrFold<arith::MinSIOp>(loc, left, right);
}

Value KernelBuilder::max(Value left, Value right) {
  return builder.createOrFold<arith::MaxSIOp>(loc, left, right);
}

Value KernelBuilder::isLess(Value left, Value right) {
  return builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::slt,
                                             left, right);
}

Value KernelBuilder::isBelow(Value index, Value size) {
  return builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::ult,
                                             index, size);
}

Value KernelBuilder::both(Value left, Value right) {
  return builder.createOrFold<arith::AndIOp>(loc, left, right);
}

Value KernelBuilder::select(Value condition, Value yes, Value no) {
  return builder.createOrFold<arith::SelectOp>(loc, condition, yes, no);
}

Value KernelBuilder::value(OpFoldResult value) {
  return getValueOrCreateConstantIndexOp(builder, loc, value);
}

void KernelBuilder::createIf(Value condition, llvm::function_ref<void()> body) {
  if (matchPattern(condition, m_Zero()))
    return;
  if (matchPattern(condition, m_One()))
    return body();
  auto ifOp = scf::IfOp::create(builder, loc, condition);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  body();
}

static void annotate(scf::ForOp loop, LLVM::LoopUnrollAttr unroll) {
  loop->setAttr("loop_annotation",
                LLVM::LoopAnnotationAttr::get(loop.getContext(), {}, {}, {},
                                              unroll, {}, {}, {}, {}, {}, {},
                                              {}, {}, {}, {}, {}));
}

void KernelBuilder::keepRolled(scf::ForOp loop) {
  MLIRContext *context = loop.getContext();
  annotate(loop, LLVM::LoopUnrollAttr::get(
                     context, /*disable=*/BoolAttr::get(context, true), {}, {},
                     {}, {}, {}, {}));
}

void KernelBuilder::unroll(scf::ForOp loop, int64_t count) {
  Builder builder(loop);
  annotate(loop, LLVM::LoopUnrollAttr::get(loop.getContext(), {},
                                           builder.getI32IntegerAttr(count), {},
                                           {}, {}, {}, {}));
}

//===----------------------------------------------------------------------===//
// Indices of the program
//===----------------------------------------------------------------------===//

Value ProgramIndices::get(KernelBuilder &kernel, OpFoldResult index) const {
  if (std::optional<int64_t> number = getConstantIntValue(index))
    return kernel.constant(*number);
  auto value = cast<Value>(index);
  if (Value found = known.lookup(value))
    return found;
  Operation *def = value.getDefiningOp();
  if (!def || def->getNumRegions() > 0 || !isMemoryEffectFree(def) ||
      isa<ShapedType>(value.getType()))
    kernel.problem = "an index is not computed from those of loops";
  if (!kernel.problem.empty())
    return kernel.constant(0);
  SmallVector<Value> values;
  SmallVector<OpFoldResult> operands;
  for (Value operand : def->getOperands()) {
    values.push_back(get(kernel, operand));
    operands.push_back(getAsOpFoldResult(values.back()));
  }
  if (!kernel.problem.empty())
    return kernel.constant(0);
  OpBuilder &builder = kernel.builder;
  if (auto apply = dyn_cast<affine::AffineApplyOp>(def))
    return kernel.value(affine::makeComposedFoldedAffineApply(
        builder, kernel.loc, apply.getMap(), operands));
  if (auto minimum = dyn_cast<affine::AffineMinOp>(def))
    return kernel.value(affine::makeComposedFoldedAffineMin(
        builder, kernel.loc, minimum.getMap(), operands));
  if (auto maximum = dyn_cast<affine::AffineMaxOp>(def))
    return kernel.value(affine::makeComposedFoldedAffineMax(
        builder, kernel.loc, maximum.getMap(), operands));
  IRMapping mapping;
  mapping.map(def->getOperands(), values);
  Operation *copy = builder.clone(*def, mapping);
  return copy->getResult(cast<OpResult>(value).getResultNumber());
}

static int64_t getDivisor(AffineExpr expr, ArrayRef<int64_t> dims,
                          ArrayRef<int64_t> symbols) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return std::abs(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t left = getDivisor(binary.getLHS(), dims, symbols);
  int64_t right = getDivisor(binary.getRHS(), dims, symbols);
  if (expr.getKind() == AffineExprKind::Add)
    return std::gcd(left, right);
  if (expr.getKind() == AffineExprKind::Mul)
    return left * right;
  return 1;
}

/// The divisor of what a loop counts, from its lower bound and its step.
static int64_t getCountDivisor(OpFoldResult lower, OpFoldResult step) {
  return std::gcd(getDivisor(lower), getDivisor(step));
}

int64_t chimera::getDivisor(OpFoldResult index) {
  if (std::optional<int64_t> number = getConstantIntValue(index))
    return std::abs(*number);
  auto value = cast<Value>(index);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto loop = dyn_cast<scf::ForOp>(parent);
        loop && argument == loop.getInductionVar())
      return getCountDivisor(loop.getLowerBound(), loop.getStep());
    auto forall = dyn_cast<scf::ForallOp>(parent);
    if (!forall || argument.getArgNumber() >= forall.getRank())
      return 1;
    return getCountDivisor(forall.getMixedLowerBound()[argument.getArgNumber()],
                           forall.getMixedStep()[argument.getArgNumber()]);
  }
  auto apply = value.getDefiningOp<affine::AffineApplyOp>();
  if (!apply)
    return 1;
  SmallVector<int64_t> divisors;
  for (Value operand : apply.getOperands())
    divisors.push_back(getDivisor(operand));
  unsigned numDims = apply.getMap().getNumDims();
  return ::getDivisor(apply.getMap().getResult(0),
                      ArrayRef(divisors).take_front(numDims),
                      ArrayRef(divisors).drop_front(numDims));
}
