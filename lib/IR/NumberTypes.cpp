//===- NumberTypes.cpp - The types of numbers -----------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/IR/NumberTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace chimera;

//===----------------------------------------------------------------------===//
// Which types there are
//===----------------------------------------------------------------------===//

Type chimera::getWideType(MLIRContext *context) {
  return Float32Type::get(context);
}

SmallVector<Type> chimera::getFactorTypes(MLIRContext *context) {
  return {Float32Type::get(context), Float16Type::get(context),
          BFloat16Type::get(context)};
}

bool chimera::canBeFactor(Type type) {
  return isa<Float32Type, Float16Type, BFloat16Type>(type);
}

bool chimera::canBeCode(Type type) {
  return type.isSignlessInteger(8) || type.isSignlessInteger(16) ||
         type.isSignlessInteger(32);
}

bool chimera::canBeSum(Type type) { return isa<Float32Type>(type); }

bool chimera::canBeResult(Type type) {
  return canBeFactor(type) || type.isSignlessInteger(8) ||
         type.isSignlessInteger(32);
}

bool chimera::canBeIntegerFactor(Type type) {
  return type.isSignlessInteger(8);
}

bool chimera::isNarrowFloat(Type type) {
  return isa<FloatType>(type) &&
         type.getIntOrFloatBitWidth() <
             getWideType(type.getContext()).getIntOrFloatBitWidth();
}

Type chimera::getSumType(Type factor) {
  return factor.isInteger() ? Type(IntegerType::get(factor.getContext(), 32))
                            : getWideType(factor.getContext());
}

Type chimera::getRoundedType(Type factor) {
  return factor.isF32() ? Type(FloatTF32Type::get(factor.getContext()))
                        : Type();
}

double chimera::roundTo(Type type, double number) {
  return FloatAttr::get(type, number).getValueAsDouble();
}

//===----------------------------------------------------------------------===//
// How computations are written
//===----------------------------------------------------------------------===//

Value chimera::createNumber(OpBuilder &builder, Location loc, Type type,
                            double number) {
  TypedAttr value;
  if (type.isInteger())
    value = builder.getIntegerAttr(type, static_cast<int64_t>(number));
  else
    value = builder.getFloatAttr(type, number);
  return arith::ConstantOp::create(builder, loc, value);
}

Value chimera::createSum(OpBuilder &builder, Location loc, Value lhs,
                         Value rhs) {
  return arith::AddFOp::create(builder, loc, lhs, rhs);
}

Value chimera::createProduct(OpBuilder &builder, Location loc, Value lhs,
                             Value rhs) {
  return arith::MulFOp::create(builder, loc, lhs, rhs);
}

Value chimera::createNarrowed(OpBuilder &builder, Location loc, Type type,
                              Value value) {
  return arith::TruncFOp::create(builder, loc, type, value);
}

// The flag for approximations is as near to that as flags come.
void chimera::setFlushesDenormals(Value narrowed) {
  if (auto op = narrowed.getDefiningOp<arith::TruncFOp>())
    op.setFastmath(arith::FastMathFlags::afn);
}

bool chimera::flushesDenormals(Value narrowed) {
  auto op = narrowed.getDefiningOp<arith::TruncFOp>();
  return op && op.getFastmath() &&
         arith::bitEnumContainsAny(*op.getFastmath(),
                                   arith::FastMathFlags::afn);
}

Value chimera::createRounded(OpBuilder &builder, Location loc, Type type,
                             Value value) {
  return arith::ExtFOp::create(builder, loc, value.getType(),
                               createNarrowed(builder, loc, type, value));
}

//===----------------------------------------------------------------------===//
// How computations are read
//===----------------------------------------------------------------------===//

bool chimera::isZero(Value value) {
  return matchPattern(value, m_PosZeroFloat()) || matchPattern(value, m_Zero());
}

template <typename OpTy>
static std::optional<ValuePair> matchOperands(Value value) {
  auto op = value.getDefiningOp<OpTy>();
  if (!op)
    return std::nullopt;
  return ValuePair(op.getLhs(), op.getRhs());
}

std::optional<ValuePair> chimera::matchSum(Value value) {
  return matchOperands<arith::AddFOp>(value);
}

std::optional<ValuePair> chimera::matchProduct(Value value) {
  return matchOperands<arith::MulFOp>(value);
}

Value chimera::skipWidening(Value value) {
  auto widened = value.getDefiningOp<arith::ExtFOp>();
  return widened ? widened.getIn() : value;
}
