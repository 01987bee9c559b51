//===- BodyEmitter.cpp - The scalar body of a kernel as vectors -----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BodyEmitter.h"

#include "Functions.h"
#include "WideFunctions.h"
#include "X86Intrinsics.h"

#include "Chimera/IR/NumberTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace chimera;

BodyEmitter::BodyEmitter(OpBuilder &builder, MicroKernelOp op,
                         const VectorFigures &figures,
                         ArrayRef<int64_t> extents)
    : MicroKernelEmitter(builder, op, figures, extents) {
  unsigned numDims = op.getNumDims();
  for (BlockArgument argument : body().getArguments()) {
    Dims &dims = dependences[argument];
    dims.resize(numDims);
    for (AffineExpr result : maps[argument.getArgNumber()].getResults())
      dims.set(cast<AffineDimExpr>(result).getPosition());
  }
  for (Operation &nested : body().without_terminator()) {
    Dims dims(numDims);
    if (auto index = dyn_cast<IndexOp>(nested))
      dims.set(index.getDim());
    for (Value operand : nested.getOperands())
      dims |= dependences[operand];
    for (Value result : nested.getResults())
      dependences[result] = dims;
  }
}

//===----------------------------------------------------------------------===//
// Inputs that are spread
//===----------------------------------------------------------------------===//

/// Vectors that are read to put one together, at most.
static constexpr int64_t mostSpread = 4;

std::optional<int64_t> BodyEmitter::findSpread(unsigned operand, unsigned dim) {
  AffineMap map = maps[operand];
  auto type = dyn_cast<MemRefType>(op->getOperand(operand).getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (operand >= op.getInputs().size() || !type || map.getNumResults() == 0 ||
      map.getDimPosition(map.getNumResults() - 1) != dim ||
      type.getElementType().isInteger(1) ||
      failed(type.getStridesAndOffset(strides, offset)) ||
      ShapedType::isDynamic(strides.back()) || strides.back() < 2 ||
      strides.back() > mostSpread)
    return std::nullopt;
  return strides.back();
}

LogicalResult BodyEmitter::chooseVectorDim() {
  std::optional<std::tuple<bool, int64_t, bool>> best;
  for (unsigned dim = 0; dim < op.getNumDims(); ++dim) {
    auto isAlong = [&](unsigned operand) {
      return !indexes(operand, dim) || isContiguous(operand, dim);
    };
    auto operands = llvm::seq<unsigned>(maps.size());
    if (!llvm::all_of(operands, [&](unsigned operand) {
          return isAlong(operand) || findSpread(operand, dim);
        }))
      continue;
    std::tuple score(llvm::all_of(operands, isAlong), mostOf(dim),
                     !op.isReduction(dim));
    if (best && score < *best)
      continue;
    best = score;
    vectorDim = dim;
  }
  if (!best)
    return failure();
  for (unsigned operand = 0; operand < maps.size(); ++operand)
    if (findSpread(operand, vectorDim))
      flat[operand] = flatten(operand);
  return success();
}

Value BodyEmitter::flatten(unsigned operand) {
  Value memref = op->getOperand(operand);
  auto type = cast<MemRefType>(memref.getType());
  auto parts = memref::ExtractStridedMetadataOp::create(builder, loc(), memref);
  Value size = constant(1);
  for (auto [extent, stride] :
       llvm::zip_equal(parts.getSizes(), parts.getStrides())) {
    Value steps = arith::SubIOp::create(builder, loc(), extent, constant(1));
    Value elements = arith::MulIOp::create(builder, loc(), steps, stride);
    size = arith::AddIOp::create(builder, loc(), size, elements);
  }
  auto layout =
      StridedLayoutAttr::get(builder.getContext(), ShapedType::kDynamic, {1});
  auto flatType = MemRefType::get({ShapedType::kDynamic}, type.getElementType(),
                                  layout, type.getMemorySpace());
  return memref::ReinterpretCastOp::create(
      builder, loc(), flatType, parts.getBaseBuffer(),
      OpFoldResult(parts.getOffset()), {OpFoldResult(size)},
      {OpFoldResult(builder.getIndexAttr(1))});
}

Value BodyEmitter::loadSpread(unsigned operand, ArrayRef<Value> point,
                              LaneCount count) {
  auto type = cast<MemRefType>(op->getOperand(operand).getType());
  SmallVector<int64_t> strides;
  int64_t offset, spread = *findSpread(operand, vectorDim);
  (void)type.getStridesAndOffset(strides, offset);
  Value place = constant(0);
  for (auto [number, index] : llvm::enumerate(indices(operand, point))) {
    Value stride = ShapedType::isDynamic(strides[number])
                       ? memref::ExtractStridedMetadataOp::create(
                             builder, loc(), op->getOperand(operand))
                             .getStrides()[number]
                       : constant(strides[number]);
    Value step = arith::MulIOp::create(builder, loc(), index, stride);
    place = arith::AddIOp::create(builder, loc(), place, step);
  }
  VectorType vector = vectorType(type.getElementType());
  // The last vector ends with the last lane.
  auto startOf = [&](int64_t part) {
    return std::min(part * lanes, (lanes - 1) * (spread - 1));
  };
  auto load = [&](int64_t part) -> Value {
    int64_t start = startOf(part), left = 1 - spread - start;
    LaneCount here = lanes;
    if (count.value) {
      Value first =
          arith::MulIOp::create(builder, loc(), count.value, constant(spread));
      here = add(first, left);
    } else if (!count.covers(lanes)) {
      here = std::max<int64_t>(0, count.known * spread + left);
    }
    Value at = add(place, start);
    if (here.covers(lanes))
      return vector::LoadOp::create(builder, loc(), vector, flat[operand], at);
    return vector::MaskedLoadOp::create(builder, loc(), vector, flat[operand],
                                        at, mask(here, lanes), zero(vector));
  };
  Value result = load(0);
  for (int64_t part = 1; part < spread; ++part) {
    SmallVector<int64_t> order;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      int64_t element = lane * spread;
      bool isHere = element >= part * lanes && element < (part + 1) * lanes;
      order.push_back(isHere      ? lanes + element - startOf(part)
                      : part == 1 ? std::min(element, lanes - 1)
                                  : lane);
    }
    result =
        vector::ShuffleOp::create(builder, loc(), result, load(part), order);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// What is covered
//===----------------------------------------------------------------------===//

/// True if vectors of `type` can be computed with, and loaded and stored.
static bool hasVectors(Type type) {
  if (isa<Float16Type, BFloat16Type, Float32Type, Float64Type, IndexType>(type))
    return true;
  auto integer = dyn_cast<IntegerType>(type);
  return integer && integer.isSignless() &&
         llvm::is_contained({1, 8, 16, 32, 64}, integer.getWidth());
}

bool BodyEmitter::isCovered() {
  auto typesAreCovered = [](ValueRange values) {
    return llvm::all_of(values.getTypes(), hasVectors);
  };
  if (!typesAreCovered(body().getArguments()))
    return false;
  return llvm::all_of(body().without_terminator(), [&](Operation &nested) {
    if (nested.getNumResults() != 1 || !typesAreCovered(nested.getResults()))
      return false;
    if (isa<IndexOp>(nested) || nested.hasTrait<OpTrait::ConstantLike>())
      return true;
    return OpTrait::hasElementwiseMappableTraits(&nested) && isPure(&nested);
  });
}

bool BodyEmitter::isLong() {
  return llvm::any_of(body(), [](Operation &nested) {
    // Rounding is an instruction.
    return isa<math::MathDialect>(nested.getDialect()) &&
           !isa<math::RoundEvenOp>(nested);
  });
}

bool BodyEmitter::writesEveryPoint() {
  for (unsigned dim = 0; dim < op.getNumDims(); ++dim)
    for (unsigned operand = op.getInputs().size(); operand < maps.size();
         ++operand)
      if (!op.isReduction(dim) && !indexes(operand, dim))
        return false;
  return true;
}

bool BodyEmitter::isFetched(BlockArgument argument) {
  unsigned operand = argument.getArgNumber();
  return operand < op.getInputs().size() && argument.use_empty() &&
         argument.getType().isIntOrFloat() && isContiguous(operand, vectorDim);
}

bool BodyEmitter::fetches() {
  return llvm::any_of(body().getArguments(), [&](BlockArgument argument) {
    return isFetched(argument);
  });
}

void BodyEmitter::fetchUnused(ArrayRef<Value> point, int64_t vector) {
  for (BlockArgument argument : body().getArguments()) {
    if (!isFetched(argument))
      continue;
    int64_t bytes = lanes * argument.getType().getIntOrFloatBitWidth() / 8;
    if (vector * bytes % figures.tuning.lineBytes >= bytes)
      continue;
    // Into the second level: the first is for what is used now.
    unsigned operand = argument.getArgNumber();
    memref::PrefetchOp::create(builder, loc(), op->getOperand(operand),
                               indices(operand, point), /*isWrite=*/false,
                               /*localityHint=*/2, /*isDataCache=*/true);
  }
}

//===----------------------------------------------------------------------===//
// The body
//===----------------------------------------------------------------------===//

Value BodyEmitter::asVector(Value value, const Values &values) {
  return broadcast(values.lookup(value));
}

void BodyEmitter::emitKnown(const Dims &known, ArrayRef<Value> point,
                            LaneCount count, Values &values) {
  auto isDue = [&](Value value) {
    return !excluded.contains(value) && !values.contains(value) &&
           !dependences[value].test(known);
  };
  for (BlockArgument argument : body().getArguments())
    if (!argument.use_empty() && isDue(argument))
      values[argument] = emitArgument(argument, point, count);
  for (Operation &nested : body().without_terminator())
    if (isDue(nested.getResult(0)) &&
        llvm::all_of(nested.getOperands(),
                     [&](Value operand) { return values.contains(operand); }))
      values[nested.getResult(0)] = emitOperation(nested, point, values);
}

Value BodyEmitter::emitArgument(BlockArgument argument, ArrayRef<Value> point,
                                LaneCount count) {
  unsigned operand = argument.getArgNumber();
  if (indexes(operand, vectorDim))
    return flat.contains(operand) ? loadSpread(operand, point, count)
                                  : loadVector(operand, point, count);
  // Loads broadcast for free, registers do not.
  Value scalar = loadScalar(operand, point);
  return isa<FloatType>(scalar.getType()) ? broadcast(scalar) : scalar;
}

/// The positions of the lanes along the vector dimension.
Value BodyEmitter::emitIndices(Type type, ArrayRef<Value> point) {
  SmallVector<Attribute> steps;
  for (int64_t lane = 0; lane < lanes; ++lane)
    steps.push_back(builder.getIntegerAttr(type, lane));
  Value first = point[vectorDim];
  if (first.getType() != type)
    first = arith::IndexCastOp::create(builder, loc(), type, first);
  Value offsets = arith::ConstantOp::create(
      builder, loc(), DenseElementsAttr::get(vectorType(type), steps));
  return arith::AddIOp::create(builder, loc(), broadcast(first), offsets);
}

/// The low bits of `index`, a vector of type index, computed in `type` from
/// the start: half as many registers. Null if that is not known to be the same.
Value BodyEmitter::emitTruncated(Value index, Type type, ArrayRef<Value> point,
                                 const Values &values) {
  if (Value scalar = values.lookup(index);
      scalar && !isa<VectorType>(scalar.getType()))
    return broadcast(arith::IndexCastOp::create(builder, loc(), type, scalar));
  Operation *definition = index.getDefiningOp();
  if (isa_and_present<IndexOp>(definition))
    return emitIndices(type, point);
  if (!isa_and_present<arith::AddIOp, arith::SubIOp, arith::MulIOp>(definition))
    return Value();
  Value lhs = emitTruncated(definition->getOperand(0), type, point, values);
  Value rhs = emitTruncated(definition->getOperand(1), type, point, values);
  if (!lhs || !rhs)
    return Value();
  // Flags that exclude overflow hold for the wider type only.
  return builder
      .create(loc(), definition->getName().getIdentifier(), {lhs, rhs},
              {lhs.getType()})
      ->getResult(0);
}

/// True if what `function` yields becomes a factor of bf16. What else becomes
/// of it, the sum of a softmax, belongs to that.
static bool isRoundedToBf16(Operation &function) {
  return llvm::any_of(function.getUsers(), [](Operation *user) {
    return user->getNumResults() == 1 &&
           user->getResult(0).getType().isBF16() &&
           flushesDenormals(user->getResult(0));
  });
}

/// True if `function` is a power whose exponent is a constant for which there
/// are products and roots (populateMathAlgebraicSimplificationPatterns).
static bool isSimplePower(Operation &function) {
  APFloat exponent(0.0f);
  if (!isa<math::PowFOp>(function) ||
      !matchPattern(function.getOperand(1), m_ConstantFloat(&exponent)))
    return false;
  return llvm::is_contained({1.0, 2.0, 3.0, -1.0, 0.5, -0.5, 0.75},
                            exponent.convertToDouble());
}

/// `value` in bf16, by the instruction for that. It makes zeros of denormal
/// numbers: unless it may, these are looked for, and rounded by arithmetic on
/// integers where there are any.
Value BodyEmitter::emitBf16(Value value, bool flushes) {
  if (flushes)
    return createBf16(builder, loc(), value);
  auto type = cast<VectorType>(value.getType()).clone(builder.getBF16Type());
  auto choice = scf::IfOp::create(builder, loc(), type,
                                  createHasDenormals(builder, loc(), value),
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  auto yield = [&](Block *block, llvm::function_ref<Value()> build) {
    builder.setInsertionPointToStart(block);
    scf::YieldOp::create(builder, loc(), build());
  };
  yield(choice.thenBlock(), [&]() -> Value {
    return arith::TruncFOp::create(builder, loc(), type, value);
  });
  yield(choice.elseBlock(), [&] { return createBf16(builder, loc(), value); });
  return choice.getResult(0);
}

Value BodyEmitter::emitOperation(Operation &nested, ArrayRef<Value> point,
                                 const Values &values) {
  Type type = nested.getResult(0).getType();
  if (auto index = dyn_cast<IndexOp>(nested))
    return index.getDim() == vectorDim ? emitIndices(type, point)
                                       : point[index.getDim()];
  bool hasVector = llvm::any_of(nested.getOperands(), [&](Value operand) {
    return isa<VectorType>(values.lookup(operand).getType());
  });
  if (hasVector && isa<arith::IndexCastOp>(nested) && type.isInteger(32))
    if (Value truncated =
            emitTruncated(nested.getOperand(0), type, point, values))
      return truncated;

  bool isScalar = !hasVector && !isa<FloatType>(type);
  IRMapping mapping;
  for (Value operand : nested.getOperands())
    mapping.map(operand,
                isScalar ? values.lookup(operand) : asVector(operand, values));
  if (!isScalar && type.isF32() && nested.getNumOperands() == 1)
    if (Value approximated =
            emitFunction(builder, &nested, mapping.lookup(nested.getOperand(0)),
                         figures.hasAvx512, isRoundedToBf16(nested)))
      return approximated;
  if (!isScalar && type.isF32() && !isSimplePower(nested)) {
    SmallVector<Value> operands =
        llvm::map_to_vector(nested.getOperands(), [&](Value operand) {
          return mapping.lookup(operand);
        });
    if (!operands.empty() && operands.front().getType() == vectorType(type))
      if (Value computed = emitWideFunction(builder, &nested, operands))
        return computed;
  }
  if (!isScalar && isa<arith::TruncFOp>(nested) && type.isBF16() &&
      nested.getOperand(0).getType().isF32() &&
      llvm::is_contained(figures.narrowed, type))
    return emitBf16(mapping.lookup(nested.getOperand(0)),
                    flushesDenormals(nested.getResult(0)));
  Operation *clone = builder.clone(nested, mapping);
  Value result = clone->getResult(0);
  if (isScalar)
    return result;
  if (nested.hasTrait<OpTrait::ConstantLike>())
    return broadcast(result);
  result.setType(vectorType(type));
  return result;
}
