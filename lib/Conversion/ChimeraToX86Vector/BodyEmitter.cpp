//===- BodyEmitter.cpp - The scalar body of a kernel as vectors -----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BodyEmitter.h"

#include "Functions.h"
#include "X86Intrinsics.h"

#include "Chimera/IR/NumberTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

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
    return loadVector(operand, point, count);
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
  if (!isScalar && type.isBF16() && flushesDenormals(nested.getResult(0)) &&
      llvm::is_contained(figures.dots, type))
    return createBf16(builder, loc(), mapping.lookup(nested.getOperand(0)));
  Operation *clone = builder.clone(nested, mapping);
  Value result = clone->getResult(0);
  if (isScalar)
    return result;
  if (nested.hasTrait<OpTrait::ConstantLike>())
    return broadcast(result);
  result.setType(vectorType(type));
  return result;
}
