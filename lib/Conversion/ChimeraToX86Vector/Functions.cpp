//===- Functions.cpp - Functions of f32 vectors ---------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Coefficients are our own. Those of polynomials minimise the greatest relative
// error over the interval that is left after reduction, by Remez' exchange;
// then they are rounded to f32. The errors named below are those of all steps
// together in f32 arithmetic, found by trying, which a test repeats.
//
//===----------------------------------------------------------------------===//

#include "Functions.h"

#include "X86Intrinsics.h"

#include "../Support/OddRational.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace chimera;

namespace {

/// What the exponents of two factors hold beyond the power of their product.
constexpr double twoBiases = 2 * 127;

/// Arithmetic on vectors of f32.
class FunctionEmitter {
public:
  FunctionEmitter(OpBuilder &builder, Location loc, Value x, bool hasAvx512,
                  bool isRounded)
      : builder(builder), loc(loc), type(cast<VectorType>(x.getType())), x(x),
        isAvx512(hasAvx512 && hasAvx512Form(type)), isRounded(isRounded) {}

  /// 2^(scale x): relative error below 1.8e-7 where the result is normal, and
  /// below 1.1e-4 if it is rounded.
  Value emitExp2(double scale);
  Value oddRational(const OddRational &function);

private:
  Value emitPower(Value r);
  Value constant(double value) {
    return arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(type, builder.getF32FloatAttr(value)));
  }
  Value integers(int32_t value) {
    VectorType integerType = type.clone(builder.getI32Type());
    return arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(integerType, builder.getI32IntegerAttr(value)));
  }
  template <typename OpTy>
  Value make(Value lhs, Value rhs) {
    return OpTy::create(builder, loc, lhs, rhs);
  }
  Value fma(Value lhs, Value rhs, Value addend) {
    return math::FmaOp::create(builder, loc, lhs, rhs, addend);
  }
  /// The coefficients of a polynomial of `argument`, lowest first.
  Value polynomial(Value argument, ArrayRef<double> coefficients);
  /// `value` between two bounds; NaN stays.
  Value clamp(Value value, double low, double high);
  Value scale(Value value, Value shifted);
  Value divide(Value numerator, Value denominator);

  OpBuilder &builder;
  Location loc;
  VectorType type;
  Value x;
  bool isAvx512, isRounded;
};

} // namespace

Value FunctionEmitter::polynomial(Value argument,
                                  ArrayRef<double> coefficients) {
  Value result = constant(coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    result = fma(result, argument, constant(coefficient));
  return result;
}

Value FunctionEmitter::clamp(Value value, double low, double high) {
  auto keep = [&](arith::CmpFPredicate isBeyond, double bound) {
    Value limit = constant(bound);
    Value beyond = arith::CmpFOp::create(builder, loc, isBeyond, limit, value);
    value = arith::SelectOp::create(builder, loc, beyond, limit, value);
  };
  keep(arith::CmpFPredicate::OGT, low);
  keep(arith::CmpFPredicate::OLT, high);
  return value;
}

//===----------------------------------------------------------------------===//
// Exponentials
//===----------------------------------------------------------------------===//

/// 2^r, which is 1 + r q(r) with an error of 9.2e-8, or of 1.02e-4 if it is
/// rounded, for r of at most a half.
Value FunctionEmitter::emitPower(Value r) {
  if (isRounded)
    return polynomial(
        r, {1.0, 0.6932829022407532, 0.2422109693288803, 0.05500893294811249});
  return polynomial(r, {1.0, 0.6931470036506653, 0.24022243916988373,
                        0.05550733208656311, 0.009671512991189957,
                        0.001326472731307149});
}

/// With y = scale x and n = round(y), 2^y = 2^n 2^r, where r = y - n.
Value FunctionEmitter::emitExp2(double scaleValue) {
  if (isAvx512 && scaleValue == 1) {
    Value r = createFraction(builder, loc, x);
    return createScale(builder, loc, emitPower(r), make<arith::SubFOp>(x, r));
  }
  // Results are zero and infinite beyond. Scaling sees to that where it is one
  // instruction, if only 2^r is finite.
  Value argument = x;
  if (!isAvx512)
    argument = clamp(x, -151 / scaleValue, 129 / scaleValue);

  // Adding 1.5 * 2^23 leaves no room for a fraction.
  double none = 12582912 + (isAvx512 ? 0 : twoBiases);
  Value high = constant(scaleValue), magic = constant(none);
  Value shifted = fma(argument, high, magic);
  Value n = make<arith::SubFOp>(shifted, magic);
  Value minusN = arith::NegFOp::create(builder, loc, n);
  Value r = fma(argument, high, minusN);
  double rounded = static_cast<float>(scaleValue);
  if (rounded != scaleValue)
    r = fma(argument, constant(scaleValue - rounded), r);
  if (!isAvx512)
    return scale(emitPower(r), shifted);
  r = createRange(builder, loc, r, constant(0.5), RangeKind::Nearest);
  return createScale(builder, loc, emitPower(r), n);
}

/// `value` times 2^n, where the low nine bits of `shifted` are n and the biases
/// of two exponents. In two steps: a power of two may be too small or large
/// where the product is not. Their exponents are the two halves of the bits.
Value FunctionEmitter::scale(Value value, Value shifted) {
  VectorType integerType = type.clone(builder.getI32Type());
  Value bits = arith::BitcastOp::create(builder, loc, integerType, shifted);
  Value half = make<arith::ShLIOp>(bits, integers(22));
  half = make<arith::AndIOp>(half, integers(-(1 << 23)));
  Value both = make<arith::ShLIOp>(bits, integers(23));
  Value rest = make<arith::SubIOp>(both, half);
  for (Value power : {half, rest})
    value = make<arith::MulFOp>(
        value, arith::BitcastOp::create(builder, loc, type, power));
  return value;
}

//===----------------------------------------------------------------------===//
// Sigmoids
//===----------------------------------------------------------------------===//

Value FunctionEmitter::oddRational(const OddRational &function) {
  Value clamped = clamp(x, -function.limit, function.limit);
  Value square = make<arith::MulFOp>(clamped, clamped);
  Value numerator =
      make<arith::MulFOp>(clamped, polynomial(square, function.numerator));
  return divide(numerator, polynomial(square, function.denominator));
}

/// A quotient of finite numbers. An estimate of the reciprocal and one step of
/// Newton's, which leaves an error of 2^-28 before it is rounded, take a third
/// of a division's time or less.
Value FunctionEmitter::divide(Value numerator, Value denominator) {
  if (!isAvx512)
    return make<arith::DivFOp>(numerator, denominator);
  Value reciprocal = createReciprocal(builder, loc, denominator);
  Value minus = arith::NegFOp::create(builder, loc, denominator);
  Value error = fma(minus, reciprocal, constant(1));
  return make<arith::MulFOp>(numerator, fma(error, reciprocal, reciprocal));
}

Value chimera::emitFunction(OpBuilder &builder, Operation *function,
                            Value operand, bool hasAvx512, bool isRounded) {
  FunctionEmitter emitter(builder, function->getLoc(), operand, hasAvx512,
                          isRounded);
  if (isa<math::ExpOp>(function))
    return emitter.emitExp2(llvm::numbers::log2e);
  if (isa<math::Exp2Op>(function))
    return emitter.emitExp2(1);
  if (isa<math::TanhOp>(function))
    return emitter.oddRational(getTanh());
  if (isa<math::ErfOp>(function))
    return emitter.oddRational(getErf());
  return Value();
}
