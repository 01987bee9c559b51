//===- MicroKernelEmitter.cpp - What all vector micro kernels share -------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MicroKernelEmitter.h"

#include "Chimera/IR/NumberTypes.h"
#include "Chimera/IR/ProductBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace chimera;

VectorFigures::VectorFigures(OuterProductAttr implementation)
    : lanes(implementation.getLanes()), hasAvx512(implementation.getAvx512()) {
  if (VectorTuningAttr given = implementation.getTuning())
    tuning = given.getFigures();
  llvm::append_range(dots, implementation.getDotTypes());
  llvm::append_range(narrowed, implementation.getNarrowedTypes());
}

Type VectorFigures::findDots(Type factor) const {
  if (llvm::is_contained(dots, factor))
    return factor;
  Type wider = IntegerType::get(factor.getContext(), 16);
  bool isWidened =
      canBeIntegerFactor(factor) && llvm::is_contained(dots, wider);
  return isWidened ? wider : Type();
}

bool VectorFigures::widensBytes() const {
  return llvm::none_of(dots, [](Type type) { return type.isInteger(8); });
}

bool chimera::mayBeDotProduct(MicroKernelOp op, const VectorFigures &figures) {
  Block &body = op.getBody().front();
  if (!isCoveredProduct(op) ||
      !(multipliesAndAdds(body) || isIntegerProduct(op)))
    return false;
  Type type = body.getArgument(0).getType();
  return body.getArgument(1).getType() == type && figures.findDots(type);
}

bool chimera::isIntegerProduct(MicroKernelOp op) {
  if (op.getKind() != MicroKernelKind::Contraction)
    return false;
  std::optional<ProductBody> product = matchProductBody(op.getBody().front());
  return product && product->isInteger();
}

bool chimera::isCoveredProduct(MicroKernelOp op) {
  if (op.getKind() != MicroKernelKind::Contraction)
    return false;
  std::optional<ProductBody> product = matchProductBody(op.getBody().front());
  if (product && product->isInteger())
    return true;
  if (!product || !canBeFactor(product->factor.getType()) ||
      !canBeSum(op.getBody().getArguments().back().getType()))
    return false;
  Type other = product->code.getType();
  return product->isQuantized() ? canBeCode(other) : canBeFactor(other);
}

MicroKernelEmitter::MicroKernelEmitter(OpBuilder &builder, MicroKernelOp op,
                                       const VectorFigures &figures,
                                       ArrayRef<int64_t> extents)
    : builder(builder), op(op), figures(figures), lanes(figures.lanes),
      extents(extents), maps(op.getMaps()) {}

void MicroKernelEmitter::useLastDim() {
  AffineMap output = maps.back();
  vectorDim = output.getDimPosition(output.getNumResults() - 1);
}

bool MicroKernelEmitter::isContiguous(unsigned operand, unsigned dim) const {
  AffineMap map = maps[operand];
  auto type = dyn_cast<MemRefType>(op->getOperand(operand).getType());
  if (!type || map.getNumResults() == 0 ||
      map.getDimPosition(map.getNumResults() - 1) != dim)
    return false;
  SmallVector<int64_t> strides;
  int64_t offset;
  return succeeded(type.getStridesAndOffset(strides, offset)) &&
         strides.back() == 1;
}

int64_t MicroKernelEmitter::mostOf(unsigned dim) {
  if (!ShapedType::isDynamic(extents[dim]))
    return extents[dim];
  SmallVector<int64_t> listed = op.getExtentsOf(dim);
  return listed.empty() ? 0 : *llvm::max_element(listed);
}

Value MicroKernelEmitter::constant(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc(), value);
}

Value MicroKernelEmitter::zero(Type type) {
  return arith::ConstantOp::create(builder, loc(), builder.getZeroAttr(type));
}

Value MicroKernelEmitter::add(Value index, int64_t offset) {
  if (offset == 0)
    return index;
  return arith::AddIOp::create(builder, loc(), index, constant(offset));
}

VectorType MicroKernelEmitter::vectorType(Type elementType) const {
  return VectorType::get({lanes}, elementType);
}

Value MicroKernelEmitter::mask(LaneCount count, int64_t width) {
  return vector::CreateMaskOp::create(
      builder, loc(), VectorType::get({width}, builder.getI1Type()),
      ValueRange{count.value ? count.value : constant(count.known)});
}

LaneCount MicroKernelEmitter::after(LaneCount count, int64_t vectors) {
  if (count.value)
    return add(count.value, -vectors * lanes);
  return count.known - vectors * lanes;
}

LaneCount MicroKernelEmitter::times(LaneCount count, int64_t elements) {
  if (count.value)
    return LaneCount(
        arith::MulIOp::create(builder, loc(), count.value, constant(elements)));
  return count.known * elements;
}

Value MicroKernelEmitter::extentOf(unsigned dim) {
  if (!isOpen(dim))
    return constant(extents[dim]);
  Value extent;
  for (auto [map, operand] : llvm::zip_equal(maps, op->getOperands()))
    if (auto place = map.getResultPosition(builder.getAffineDimExpr(dim)))
      extent = memref::DimOp::create(builder, loc(), operand, *place);
  return extent;
}

SmallVector<Value> MicroKernelEmitter::indices(unsigned operand,
                                               ArrayRef<Value> point) {
  SmallVector<Value> result;
  for (unsigned i = 0; i < maps[operand].getNumResults(); ++i)
    result.push_back(point[maps[operand].getDimPosition(i)]);
  return result;
}

Value MicroKernelEmitter::getMemory(unsigned operand) {
  Value memref = op->getOperand(operand);
  auto type = cast<MemRefType>(memref.getType());
  if (!type.getElementType().isInteger(1))
    return memref;
  // Descriptors do not depend on the element type, so the cast vanishes with
  // the others when memrefs become descriptors.
  auto bytes = cast<MemRefType>(type.clone(builder.getI8Type()));
  return UnrealizedConversionCastOp::create(builder, loc(), bytes, memref)
      .getResult(0);
}

Value MicroKernelEmitter::loadVector(unsigned operand, ArrayRef<Value> point,
                                     LaneCount count, int64_t width) {
  Value memref = getMemory(operand);
  auto type = VectorType::get({width}, getElementTypeOrSelf(memref));
  SmallVector<Value> position = indices(operand, point);
  Value loaded =
      count.covers(width)
          ? vector::LoadOp::create(builder, loc(), type, memref, position)
                .getResult()
          : vector::MaskedLoadOp::create(builder, loc(), type, memref, position,
                                         mask(count, width), zero(type))
                .getResult();
  if (!getElementTypeOrSelf(op->getOperand(operand)).isInteger(1))
    return loaded;
  return arith::CmpIOp::create(builder, loc(), arith::CmpIPredicate::ne, loaded,
                               zero(type));
}

Value MicroKernelEmitter::loadScalar(unsigned operand, ArrayRef<Value> point) {
  Value scalar = op->getOperand(operand);
  if (!isa<MemRefType>(scalar.getType()))
    return scalar;
  return memref::LoadOp::create(builder, loc(), scalar,
                                indices(operand, point));
}

Value MicroKernelEmitter::broadcast(Value value) {
  if (isa<VectorType>(value.getType()))
    return value;
  return vector::BroadcastOp::create(builder, loc(),
                                     vectorType(value.getType()), value);
}

Value MicroKernelEmitter::loadBroadcast(unsigned operand,
                                        ArrayRef<Value> point) {
  Value scalar = loadScalar(operand, point);
  if (!scalar.getType().isBF16())
    return widen(broadcast(scalar));
  // Both halves of a lane are the number; the upper one is it in f32.
  auto halves = VectorType::get({2 * lanes}, builder.getI16Type());
  VectorType words = vectorType(builder.getI32Type());
  Value bits =
      arith::BitcastOp::create(builder, loc(), builder.getI16Type(), scalar);
  Value both = vector::BroadcastOp::create(builder, loc(), halves, bits);
  Value shift = arith::ConstantOp::create(
      builder, loc(),
      DenseElementsAttr::get(words, builder.getI32IntegerAttr(16)));
  Value upper = arith::ShLIOp::create(
      builder, loc(), vector::BitCastOp::create(builder, loc(), words, both),
      shift);
  return asBitsOf(upper, builder.getF32Type());
}

Value MicroKernelEmitter::asBitsOf(Value value, Type elementType) {
  return arith::BitcastOp::create(builder, loc(), vectorType(elementType),
                                  value);
}

Value MicroKernelEmitter::widen(Value vector) {
  auto type = cast<VectorType>(vector.getType());
  if (!isNarrowFloat(type.getElementType()))
    return vector;
  return arith::ExtFOp::create(
      builder, loc(), vectorType(getWideType(builder.getContext())), vector);
}

void MicroKernelEmitter::prefetch(unsigned operand, ArrayRef<Value> point,
                                  bool isWrite) {
  memref::PrefetchOp::create(builder, loc(), op->getOperand(operand),
                             indices(operand, point), isWrite,
                             /*localityHint=*/3, /*isDataCache=*/true);
}

void MicroKernelEmitter::prefetchFar(unsigned operand, ArrayRef<Value> point) {
  memref::PrefetchOp::create(
      builder, loc(), op->getOperand(operand), indices(operand, point),
      /*isWrite=*/false, /*localityHint=*/4 - figures.tuning.fetchLevel,
      /*isDataCache=*/true);
}

void MicroKernelEmitter::storeVector(unsigned operand, Value vector,
                                     ArrayRef<Value> point, LaneCount count) {
  SmallVector<Value> position = indices(operand, point);
  Value memref = getMemory(operand);
  Type elementType = getElementTypeOrSelf(memref);
  if (elementType != getElementTypeOrSelf(vector))
    vector =
        arith::ExtUIOp::create(builder, loc(), vectorType(elementType), vector);
  if (count.covers(lanes) && figures.streams &&
      maps[operand].getNumResults() == op.getNumDims())
    vector::StoreOp::create(
        builder, loc(), vector, memref, position, /*nontemporal=*/true,
        llvm::MaybeAlign(lanes * elementType.getIntOrFloatBitWidth() / 8));
  else if (count.covers(lanes))
    vector::StoreOp::create(builder, loc(), vector, memref, position);
  else if (count.covers(1) && !count.covers(2))
    // LLVM 22 stores four bytes for a single one that saturates (vpmovusdb).
    memref::StoreOp::create(
        builder, loc(),
        vector::ExtractOp::create(builder, loc(), vector, int64_t(0)), memref,
        position);
  else
    vector::MaskedStoreOp::create(builder, loc(), memref, position,
                                  mask(count, lanes), vector);
}

void MicroKernelEmitter::buildLoop(int64_t lower, int64_t upper, int64_t step,
                                   LoopBody body) {
  buildLoop(lower, upper, step, ValueRange(),
            [&](Value iv, ValueRange) -> SmallVector<Value> {
              body(iv);
              return {};
            });
}

SmallVector<Value> MicroKernelEmitter::buildLoop(int64_t lower, int64_t upper,
                                                 int64_t step,
                                                 ValueRange carried,
                                                 CarryingLoopBody body) {
  if (lower >= upper)
    return carried;
  if (lower + step >= upper)
    return body(constant(lower), carried);
  auto loop = scf::ForOp::create(builder, loc(), constant(lower),
                                 constant(upper), constant(step), carried);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> results =
      body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!results.empty())
    scf::YieldOp::create(builder, loc(), results);
  return loop.getResults();
}

SmallVector<Value> MicroKernelEmitter::buildOpenLoop(Value lower, Value upper,
                                                     int64_t step,
                                                     ValueRange carried,
                                                     CarryingLoopBody body) {
  auto loop =
      scf::ForOp::create(builder, loc(), lower, upper, constant(step), carried);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> results =
      body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!results.empty())
    scf::YieldOp::create(builder, loc(), results);
  return loop.getResults();
}

void MicroKernelEmitter::buildOpenLoop(Value lower, Value upper, int64_t step,
                                       LoopBody body) {
  buildOpenLoop(lower, upper, step, ValueRange(),
                [&](Value iv, ValueRange) -> SmallVector<Value> {
                  body(iv);
                  return {};
                });
}

Value MicroKernelEmitter::endOfSteps(Value lower, Value upper, int64_t step) {
  if (step == 1)
    return upper;
  Value range = arith::SubIOp::create(builder, loc(), upper, lower);
  Value left = arith::RemUIOp::create(builder, loc(), range, constant(step));
  return arith::SubIOp::create(builder, loc(), upper, left);
}

SmallVector<int64_t> MicroKernelEmitter::getLadder(int64_t most) {
  SmallVector<int64_t> steps = {most};
  for (int64_t step = llvm::bit_floor<uint64_t>(most); step > 0; step /= 2)
    if (step < most)
      steps.push_back(step);
  return steps;
}

void MicroKernelEmitter::buildLadder(
    Value lower, Value upper, ArrayRef<int64_t> steps,
    llvm::function_ref<void(Value, int64_t)> body) {
  for (int64_t step : steps) {
    Value end = endOfSteps(lower, upper, step);
    buildOpenLoop(lower, end, step, [&](Value iv) { body(iv, step); });
    lower = end;
  }
}

void MicroKernelEmitter::buildIf(Value condition,
                                 llvm::function_ref<void()> body) {
  auto ifOp = scf::IfOp::create(builder, loc(), condition);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  body();
}

SmallVector<Value> MicroKernelEmitter::buildLoopOver(unsigned dim,
                                                     ValueRange carried,
                                                     CarryingLoopBody body) {
  if (!isOpen(dim))
    return buildLoop(0, extents[dim], 1, carried, body);
  return buildOpenLoop(constant(0), extentOf(dim), 1, carried, body);
}

void MicroKernelEmitter::buildNest(ArrayRef<unsigned> dims,
                                   SmallVectorImpl<Value> &point,
                                   llvm::function_ref<void()> body) {
  if (dims.empty())
    return body();
  buildLoopOver(dims.front(), {}, [&](Value iv, ValueRange) {
    point[dims.front()] = iv;
    buildNest(dims.drop_front(), point, body);
    return SmallVector<Value>();
  });
}

void MicroKernelEmitter::buildInterleaved(
    int64_t count, llvm::function_ref<void(int64_t)> emit) {
  Block *block = builder.getInsertionBlock();
  Block::iterator end = builder.getInsertionPoint();
  SmallVector<SmallVector<Operation *>> instances;
  for (int64_t instance = 0; instance < count; ++instance) {
    Operation *before = end == block->begin() ? nullptr : &*std::prev(end);
    emit(instance);
    Block::iterator first =
        before ? std::next(Block::iterator(before)) : block->begin();
    instances.emplace_back();
    for (Operation &emitted : llvm::make_range(first, end))
      instances.back().push_back(&emitted);
  }
  bool isLeft = true;
  for (size_t turn = 0; isLeft; ++turn) {
    isLeft = false;
    for (ArrayRef<Operation *> operations : instances) {
      if (turn >= operations.size())
        continue;
      operations[turn]->moveBefore(block, end);
      isLeft = true;
    }
  }
}
