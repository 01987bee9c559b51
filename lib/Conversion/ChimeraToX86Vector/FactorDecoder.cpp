//===- FactorDecoder.cpp - Vectors of quantized factors -------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FactorDecoder.h"

#include "Chimera/IR/NumberTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace chimera;

bool chimera::isQuantized(MicroKernelOp op) {
  std::optional<ProductBody> product = matchProductBody(op.getBody().front());
  return product && product->isQuantized();
}

FactorDecoder::FactorDecoder(OpBuilder &builder, MicroKernelOp op,
                             const VectorFigures &figures,
                             ArrayRef<int64_t> extents)
    : BodyEmitter(builder, op, figures, extents),
      product(*matchProductBody(op.getBody().front())),
      field(matchBitField(product.number)) {
  useLastDim();
}

/// `part` of the body, if it is not null, and all that it is computed from.
static llvm::SetVector<Value> getSlice(Value part) {
  llvm::SetVector<Value> slice;
  if (part)
    slice.insert(part);
  for (size_t i = 0; i < slice.size(); ++i)
    if (Operation *op = slice[i].getDefiningOp())
      slice.insert_range(op->getOperands());
  return slice;
}

/// The operands that `part` of the body is computed from.
SmallVector<unsigned> FactorDecoder::getOperands(Value part) {
  SmallVector<unsigned> operands;
  for (Value value : getSlice(part))
    if (auto argument = dyn_cast<BlockArgument>(value))
      operands.push_back(argument.getArgNumber());
  return operands;
}

SmallVector<unsigned> FactorDecoder::getSharedOperands() const {
  SmallVector<unsigned> operands = getOperands(product.zero);
  operands.append(getOperands(product.scale));
  return operands;
}

bool FactorDecoder::isCovered() {
  if (!BodyEmitter::isCovered() ||
      !indexes(product.code.getArgNumber(), vectorDim) ||
      indexes(product.factor.getArgNumber(), vectorDim))
    return false;
  // A word does not know where it is, but for its fields.
  bool asksForPosition = !body().getOps<IndexOp>().empty();
  if (asksForPosition && (!field || getFieldDim() == vectorDim ||
                          indexes(product.code.getArgNumber(), field->dim)))
    return false;
  for (Value part : {product.zero, product.scale})
    for (unsigned operand : getOperands(part))
      for (unsigned dim = 0; dim < op.getNumDims(); ++dim)
        if (indexes(operand, dim) && !op.isReduction(dim) &&
            !indexes(product.code.getArgNumber(), dim))
          return false;
  return true;
}

bool FactorDecoder::isGroup(unsigned dim) {
  auto changes = [&](Value part) {
    return llvm::any_of(getOperands(part), [&](unsigned operand) {
      return indexes(operand, dim);
    });
  };
  return op.isReduction(dim) &&
         (changes(product.zero) || changes(product.scale));
}

std::optional<unsigned> FactorDecoder::getFieldDim() const {
  return field ? std::optional<unsigned>(field->dim) : std::nullopt;
}

/// `part` of the body at `point`, as a vector; `values` holds what has been
/// emitted of it.
Value FactorDecoder::emitPart(Value part, ArrayRef<Value> point,
                              LaneCount count, Values values) {
  if (!part)
    return Value();
  llvm::SetVector<Value> slice = getSlice(part);
  excluded.clear();
  auto exclude = [&](Value value) {
    if (!slice.contains(value))
      excluded.insert(value);
  };
  llvm::for_each(body().getArguments(), exclude);
  for (Operation &nested : body().without_terminator())
    exclude(nested.getResult(0));
  emitKnown(Dims(op.getNumDims(), true), point, count, values);
  return asVector(part, values);
}

Value FactorDecoder::loadZero(ArrayRef<Value> point, LaneCount count) {
  return emitPart(product.zero, point, count, Values());
}

Value FactorDecoder::loadScale(ArrayRef<Value> point, LaneCount count) {
  return emitPart(product.scale, point, count, Values());
}

Value FactorDecoder::decode(Value codes, ArrayRef<Value> point,
                            LaneCount count) {
  return emitPart(product.number, point, count, {{product.code, codes}});
}

int64_t FactorDecoder::getExcess(int64_t position) const {
  int64_t first = position * field->bits;
  // The highest field would have the word's sign.
  bool isHighest =
      first + field->bits >= field->code.getType().getIntOrFloatBitWidth();
  return isHighest ? 1 : int64_t(1) << first;
}

Value FactorDecoder::decodeInPlace(Value words, int64_t position) {
  auto type = cast<VectorType>(words.getType());
  auto constantOf = [&](int64_t number) -> Value {
    return arith::ConstantOp::create(
        builder, loc(),
        DenseElementsAttr::get(
            type, builder.getIntegerAttr(type.getElementType(), number)));
  };
  int64_t first = position * field->bits,
          mask = (int64_t(1) << field->bits) - 1;
  Value numbers;
  if (getExcess(position) == 1 && first > 0)
    numbers = arith::ShRUIOp::create(builder, loc(), words, constantOf(first));
  else
    numbers =
        arith::AndIOp::create(builder, loc(), words, constantOf(mask << first));
  return arith::SIToFPOp::create(
      builder, loc(), vectorType(getWideType(builder.getContext())), numbers);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Where what `op` needs on the stack is allocated once for each thread.
static Block *getScope(Operation *op) {
  Operation *scope = op->getParentOp();
  while (!isa<FunctionOpInterface, scf::ForallOp, scf::ParallelOp>(scope) &&
         scope->getParentOp())
    scope = scope->getParentOp();
  return &scope->getRegion(0).front();
}

/// The memory for `purpose` in `scope`, of `most` numbers, which its kernels
/// use one after the other: each having its own would take a thread's stack
/// where there are many.
static Value getMemoryFor(OpBuilder &builder, Location loc, Block *scope,
                          StringRef purpose, int64_t most, Type element) {
  constexpr StringLiteral mark = "scratch";
  auto type = MemRefType::get(most, element);
  for (auto memory : scope->getOps<memref::AllocaOp>())
    if (auto known = memory->getAttrOfType<StringAttr>(mark);
        known && known == purpose && memory.getType() == type)
      return memory;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(scope);
  auto memory = memref::AllocaOp::create(builder, loc, type,
                                         builder.getI64IntegerAttr(64));
  memory->setAttr(mark, builder.getStringAttr(purpose));
  return memory;
}

Value FactorDecoder::allocate(ArrayRef<int64_t> shape, StringRef purpose,
                              int64_t most, Type type) {
  Value memory =
      getMemoryFor(builder, loc(), getScope(op), purpose, most, type);
  return memref::ReinterpretCastOp::create(
      builder, loc(), MemRefType::get(shape, type), memory, /*offset=*/0, shape,
      computeSuffixProduct(shape));
}

/// Memory for rows of `type`, and for their sums.
FactorDecoder::PreparedRows
FactorDecoder::allocateRows(ArrayRef<unsigned> inner, Type type) {
  // As much as a block may take of the innermost cache beside its tiles.
  constexpr int64_t mostElements = 4096;
  unsigned factor = product.factor.getArgNumber();
  PreparedRows rows;
  SmallVector<int64_t> shape, sumShape;
  int64_t elements = 1;
  for (AffineExpr index : maps[factor].getResults()) {
    unsigned dim = cast<AffineDimExpr>(index).getPosition();
    bool isInner = llvm::is_contained(inner, dim);
    // There may be fewer groups than there is room for.
    int64_t most = mostOf(dim);
    if (most == 0 || op.isOpen(dim) || (isInner && isOpen(dim)))
      return {};
    shape.push_back(most);
    elements *= most;
    if (!isInner) {
      rows.dims.push_back(dim);
      sumShape.push_back(most);
    }
  }
  Type wide = getWideType(builder.getContext());
  if (!isContiguous(factor, field->dim) || elements > mostElements ||
      getElementTypeOrSelf(op->getOperand(factor)) != wide ||
      !llvm::all_of(inner, [&](unsigned dim) { return indexes(factor, dim); }))
    return {};
  rows.elements = allocate(shape, "rows", mostElements, type);
  rows.sums = allocate(sumShape, "sums", mostElements, wide);
  if (type != wide)
    rows.units = allocate(sumShape, "units", mostElements, wide);
  return rows;
}

FactorDecoder::PreparedRows
FactorDecoder::prepareRows(ArrayRef<Value> point, ArrayRef<unsigned> inner) {
  unsigned factor = product.factor.getArgNumber();
  Type type = getWideType(builder.getContext());
  PreparedRows rows = allocateRows(inner, type);
  if (!rows.elements)
    return {};
  auto vector = VectorType::get({extents[field->dim]}, type);
  SmallVector<Attribute> powers;
  for (int64_t position = 0; position < extents[field->dim]; ++position)
    powers.push_back(builder.getFloatAttr(
        type, 1.0 / static_cast<double>(getExcess(position))));
  Value scales = arith::ConstantOp::create(
      builder, loc(), DenseElementsAttr::get(vector, powers));
  SmallVector<Value> here(point);
  here[field->dim] = constant(0);
  buildNest(rows.dims, here, [&] {
    SmallVector<Value> sum = {zero(vector)};
    std::function<SmallVector<Value>(ArrayRef<unsigned>, ValueRange)> add =
        [&](ArrayRef<unsigned> dims, ValueRange carried) -> SmallVector<Value> {
      if (!dims.empty())
        return buildLoopOver(dims.front(), carried,
                             [&](Value iv, ValueRange values) {
                               here[dims.front()] = iv;
                               return add(dims.drop_front(), values);
                             });
      SmallVector<Value> position = indices(factor, here);
      Value loaded = vector::LoadOp::create(builder, loc(), vector,
                                            op->getOperand(factor), position);
      Value scaled = arith::MulFOp::create(builder, loc(), loaded, scales);
      vector::StoreOp::create(builder, loc(), scaled, rows.elements, position);
      return {arith::AddFOp::create(builder, loc(), carried[0], loaded)};
    };
    sum = add(inner.drop_back(), sum);
    Value total =
        vector::ReductionOp::create(builder, loc(), vector::CombiningKind::ADD,
                                    sum[0], arith::FastMathFlags::reassoc);
    memref::StoreOp::create(builder, loc(), total, rows.sums,
                            pick(here, rows.dims));
  });
  return rows;
}

/// The coordinates of `point` along `dims`.
SmallVector<Value> FactorDecoder::pick(ArrayRef<Value> point,
                                       ArrayRef<unsigned> dims) {
  return llvm::map_to_vector(dims, [&](unsigned dim) { return point[dim]; });
}

Value FactorDecoder::loadElement(const PreparedRows &rows,
                                 ArrayRef<Value> point) {
  return broadcast(
      memref::LoadOp::create(builder, loc(), rows.elements,
                             indices(product.factor.getArgNumber(), point)));
}

Value FactorDecoder::loadSum(const PreparedRows &rows, ArrayRef<Value> point) {
  return broadcast(memref::LoadOp::create(builder, loc(), rows.sums,
                                          pick(point, rows.dims)));
}

//===----------------------------------------------------------------------===//
// Panels
//===----------------------------------------------------------------------===//

Value FactorDecoder::decodePanel(
    ArrayRef<Value> point, ArrayRef<unsigned> groups, ArrayRef<unsigned> inner,
    int64_t vectors, llvm::function_ref<LaneCount(int64_t)> lanesOf) {
  // 256 KiB: a quarter to a half of a second level, and little of a stack.
  constexpr int64_t mostElements = 65536;
  SmallVector<unsigned> dims(groups);
  dims.append(inner.begin(), inner.end());
  SmallVector<int64_t> shape;
  int64_t elements = vectors * lanes;
  for (unsigned dim : dims) {
    if (isOpen(dim))
      return {};
    shape.push_back(extents[dim]);
    elements *= extents[dim];
  }
  if (elements > mostElements)
    return {};
  shape.push_back(vectors * lanes);
  Value panel =
      allocate(shape, "panel", mostElements, getWideType(builder.getContext()));

  SmallVector<Value> here(point);
  auto at = [&](int64_t vector) {
    SmallVector<Value> result = here;
    result[vectorDim] = add(point[vectorDim], vector * lanes);
    return result;
  };
  buildNest(groups, here, [&] {
    SmallVector<Value> zeros, scales;
    for (int64_t vector = 0; vector < vectors; ++vector) {
      zeros.push_back(loadZero(at(vector), lanesOf(vector)));
      scales.push_back(loadScale(at(vector), lanesOf(vector)));
    }
    buildNest(field ? inner.drop_back() : inner, here, [&] {
      int64_t positions = field ? extents[field->dim] : 1;
      for (int64_t vector = 0; vector < vectors; ++vector) {
        Value codes;
        for (int64_t position = 0; position < positions; ++position) {
          if (field)
            here[field->dim] = constant(position);
          if (!codes)
            codes = loadVector(product.code.getArgNumber(), at(vector),
                               lanesOf(vector));
          Value factors = decode(codes, at(vector), lanesOf(vector));
          if (zeros[vector])
            factors =
                arith::SubFOp::create(builder, loc(), factors, zeros[vector]);
          if (scales[vector])
            factors =
                arith::MulFOp::create(builder, loc(), factors, scales[vector]);
          SmallVector<Value> place = pick(here, dims);
          place.push_back(constant(vector * lanes));
          vector::StoreOp::create(builder, loc(), factors, panel, place);
        }
      }
    });
  });
  return panel;
}

Value FactorDecoder::loadFactors(Value panel, ArrayRef<unsigned> dims,
                                 ArrayRef<Value> point, int64_t vector) {
  SmallVector<Value> position = pick(point, dims);
  position.push_back(constant(vector * lanes));
  return vector::LoadOp::create(builder, loc(),
                                vectorType(getWideType(builder.getContext())),
                                panel, position);
}
