//===- WideFunctions.cpp - Functions of f32 computed in f64 ---------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WideFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace chimera;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// Bits behind the point of f64, and its bias.
constexpr int64_t fractionBits = 52, bias = 1023;
/// Exponents beyond make zero or infinity of f32, and none of f64.
constexpr double largestExponent = 1000;
/// Below, series of a few terms are as good as f32.
constexpr double smallArgument = 1.0 / 32;

/// Arithmetic on vectors; functions take and return f64 unless they say so.
class WideEmitter {
public:
  WideEmitter(OpBuilder &builder, Location loc, VectorType narrow)
      : builder(builder), loc(loc), narrow(narrow),
        wide(narrow.clone(builder.getF64Type())),
        bits(narrow.clone(builder.getI64Type())) {}

  /// x to the power of y, all f32.
  Value power(Value x, Value y);
  /// One of the functions of one operand, of x in f32, as f32.
  Value log10(Value x);
  Value sin(Value x);
  Value cos(Value x);
  Value tan(Value x);
  Value sinh(Value x);
  Value cosh(Value x);
  Value asinh(Value x);
  Value acosh(Value x);
  Value atanh(Value x);

private:
  Value constant(double value) {
    return arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(wide, builder.getF64FloatAttr(value)));
  }
  Value short32(double value) {
    return arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(narrow, builder.getF32FloatAttr(value)));
  }
  Value integers(int64_t value) {
    return arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(bits, builder.getI64IntegerAttr(value)));
  }
  template <typename OpTy>
  Value make(Value lhs, Value rhs) {
    return OpTy::create(builder, loc, lhs, rhs);
  }
  Value add(Value lhs, Value rhs) { return make<arith::AddFOp>(lhs, rhs); }
  Value subtract(Value lhs, Value rhs) { return make<arith::SubFOp>(lhs, rhs); }
  Value multiply(Value lhs, Value rhs) { return make<arith::MulFOp>(lhs, rhs); }
  Value divide(Value lhs, Value rhs) { return make<arith::DivFOp>(lhs, rhs); }
  Value compare(arith::CmpFPredicate predicate, Value lhs, Value rhs) {
    return arith::CmpFOp::create(builder, loc, predicate, lhs, rhs);
  }
  Value select(Value condition, Value yes, Value no) {
    return arith::SelectOp::create(builder, loc, condition, yes, no);
  }
  Value widen(Value x) { return arith::ExtFOp::create(builder, loc, wide, x); }
  Value narrowed(Value x) {
    return arith::TruncFOp::create(builder, loc, narrow, x);
  }
  Value magnitude(Value x) { return math::AbsFOp::create(builder, loc, x); }
  Value truncate(Value x) { return math::TruncOp::create(builder, loc, x); }

  /// A polynomial of `argument`, f32 or f64, with the lowest coefficient first.
  Value polynomial(Value argument, ArrayRef<double> coefficients);
  /// x (1 + a x^2 + b x^4) for small x, `other` elsewhere.
  Value orSeries(Value x, double a, double b, Value other);
  /// The sine and the cosine of an angle without its right angles, and the
  /// number of these, from 0 to 3, in f32.
  struct Angle {
    Value sine, cosine, quadrant;
  };
  Angle reduce(Value x);
  Value isQuadrant(const Angle &angle, unsigned first, unsigned second);
  Value log2(Value x);
  Value exp2(Value x);
  Value exp(Value x) {
    return exp2(multiply(x, constant(llvm::numbers::log2e)));
  }
  /// What `function` makes of |x|, with the sign of x, both f32.
  Value odd(Value x, llvm::function_ref<Value(Value)> function);
  Value isNan(Value x) { return compare(arith::CmpFPredicate::UNO, x, x); }

  OpBuilder &builder;
  Location loc;
  VectorType narrow, wide, bits;
};

} // namespace

Value WideEmitter::polynomial(Value argument, ArrayRef<double> coefficients) {
  auto number = [&](double value) {
    return argument.getType() == narrow ? short32(value) : constant(value);
  };
  Value result = number(coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    result = math::FmaOp::create(builder, loc, result, argument,
                                 number(coefficient));
  return result;
}

Value WideEmitter::orSeries(Value x, double a, double b, Value other) {
  Value series = multiply(x, polynomial(multiply(x, x), {1.0, a, b}));
  Value isSmall =
      compare(arith::CmpFPredicate::OLT, x, constant(smallArgument));
  return select(isSmall, series, other);
}

/// The logarithm of x = 2^e m, with m between the roots of a half and of two,
/// is e + log2(m). With t = (m - 1) / (m + 1), the latter is 2 / ln 2 (t + t^3
/// / 3 + t^5 / 5 ...), with an error of 2e-12. Of what is negative or NaN it is
/// NaN, of zero and infinity infinite.
Value WideEmitter::log2(Value x) {
  Value all = arith::BitcastOp::create(builder, loc, bits, x);
  Value above = make<arith::SubIOp>(
      all, integers(llvm::bit_cast<int64_t>(llvm::numbers::sqrt2 / 2)));
  Value exponent = make<arith::ShRSIOp>(above, integers(fractionBits));
  Value fraction = make<arith::SubIOp>(
      all, make<arith::ShLIOp>(exponent, integers(fractionBits)));
  Value m = arith::BitcastOp::create(builder, loc, wide, fraction);
  // AVX2 converts words only.
  VectorType words = narrow.clone(builder.getI32Type());
  Value word = arith::TruncIOp::create(builder, loc, words, exponent);
  Value e = arith::SIToFPOp::create(builder, loc, wide, word);
  Value one = constant(1), t = divide(subtract(m, one), add(m, one));
  SmallVector<double> coefficients;
  for (int term = 0; term < 7; ++term)
    coefficients.push_back(2 * llvm::numbers::log2e / (2 * term + 1));
  Value result = math::FmaOp::create(
      builder, loc, t, polynomial(multiply(t, t), coefficients), e);
  Value zero = constant(0), none = constant(infinity);
  result = select(compare(arith::CmpFPredicate::OEQ, x, none), none, result);
  result = select(compare(arith::CmpFPredicate::OEQ, x, zero),
                  constant(-infinity), result);
  Value isNumber = compare(arith::CmpFPredicate::OGE, x, zero);
  return select(isNumber, result,
                constant(std::numeric_limits<double>::quiet_NaN()));
}

/// 2^x = 2^n 2^r, where n = round(x), with an error of 3e-10.
Value WideEmitter::exp2(Value x) {
  Value low = constant(-largestExponent), high = constant(largestExponent);
  Value y = select(compare(arith::CmpFPredicate::OLT, x, low), low, x);
  y = select(compare(arith::CmpFPredicate::OGT, y, high), high, y);
  // What comes of NaN is replaced in the end.
  y = select(isNan(y), constant(0), y);
  Value n = math::RoundEvenOp::create(builder, loc, y);
  SmallVector<double> coefficients = {1.0};
  for (int term = 1; term <= 8; ++term)
    coefficients.push_back(coefficients.back() * llvm::numbers::ln2 / term);
  Value power = polynomial(subtract(y, n), coefficients);
  VectorType words = narrow.clone(builder.getI32Type());
  Value word = arith::FPToSIOp::create(builder, loc, words, n);
  Value exponent = arith::ExtSIOp::create(builder, loc, bits, word);
  Value shifted = make<arith::ShLIOp>(exponent, integers(fractionBits));
  Value sum = make<arith::AddIOp>(
      arith::BitcastOp::create(builder, loc, bits, power), shifted);
  Value result = arith::BitcastOp::create(builder, loc, wide, sum);
  return select(isNan(x), x, result);
}

/// x - n pi / 2, where n = round(x 2 / pi) and pi / 2 has two numbers, is exact
/// to 1e-15 for x of up to 2^45. It is small enough then for polynomials in
/// f32, whose own errors are 4.4e-9 and 1.4e-10.
WideEmitter::Angle WideEmitter::reduce(Value x) {
  constexpr double high = 1.5707963267948966, low = 6.123233995736766e-17;
  Value n =
      math::RoundEvenOp::create(builder, loc, multiply(x, constant(1 / high)));
  Value r = math::FmaOp::create(builder, loc, n, constant(-high), x);
  r = narrowed(math::FmaOp::create(builder, loc, n, constant(-low), r));
  Value turns =
      math::FloorOp::create(builder, loc, multiply(n, constant(0.25)));
  Value quadrant =
      narrowed(math::FmaOp::create(builder, loc, turns, constant(-4), n));
  // Where n has no room for its last digits, r is anything.
  Value most = short32(0.8);
  r = select(compare(arith::CmpFPredicate::OGT, magnitude(r), most),
             math::CopySignOp::create(builder, loc, most, r), r);
  Value square = multiply(r, r);
  Value sine = polynomial(square, {-0.16666653192056208, 0.008332070875533766,
                                   -0.00019503067899580973});
  sine = math::FmaOp::create(builder, loc, multiply(r, square), sine, r);
  Value cosine =
      polynomial(square, {1.0, -0.5, 0.041666643182380496,
                          -0.0013887194209806326, 2.4419194817662295e-05});
  return {sine, cosine, quadrant};
}

Value WideEmitter::isQuadrant(const Angle &angle, unsigned first,
                              unsigned second) {
  auto is = [&](unsigned quadrant) {
    return compare(arith::CmpFPredicate::OEQ, angle.quadrant,
                   short32(quadrant));
  };
  return make<arith::OrIOp>(is(first), is(second));
}

Value WideEmitter::odd(Value x, llvm::function_ref<Value(Value)> function) {
  Value result = narrowed(function(widen(magnitude(x))));
  return math::CopySignOp::create(builder, loc, result, x);
}

//===----------------------------------------------------------------------===//
// The functions
//===----------------------------------------------------------------------===//

/// |x|^y = 2^(y log2 |x|), and the cases that C lists (ISO/IEC 9899, F.10.4.4).
Value WideEmitter::power(Value x, Value y) {
  Value size = magnitude(x), one = short32(1), zero = short32(0);
  Value result = narrowed(exp2(multiply(log2(widen(size)), widen(y))));
  Value isWhole = compare(arith::CmpFPredicate::OEQ, truncate(y), y);
  Value half = multiply(y, short32(0.5));
  Value isOdd = make<arith::AndIOp>(
      isWhole, compare(arith::CmpFPredicate::UNE, truncate(half), half));
  Value flipped = math::CopySignOp::create(builder, loc, result, x);
  result = select(isOdd, flipped, result);
  // A root of what is negative.
  Value isRoot = make<arith::AndIOp>(
      compare(arith::CmpFPredicate::OLT, x, zero),
      make<arith::AndIOp>(
          compare(arith::CmpFPredicate::ONE, size, short32(infinity)),
          compare(arith::CmpFPredicate::ONE, truncate(y), y)));
  result =
      select(isRoot, short32(std::numeric_limits<double>::quiet_NaN()), result);
  Value isUnbounded =
      compare(arith::CmpFPredicate::OEQ, magnitude(y), short32(infinity));
  Value isOne = make<arith::OrIOp>(
      make<arith::OrIOp>(compare(arith::CmpFPredicate::OEQ, x, one),
                         compare(arith::CmpFPredicate::OEQ, y, zero)),
      make<arith::AndIOp>(isUnbounded,
                          compare(arith::CmpFPredicate::OEQ, size, one)));
  return select(isOne, one, result);
}

Value WideEmitter::log10(Value x) {
  return narrowed(multiply(
      log2(widen(x)), constant(llvm::numbers::ln2 * llvm::numbers::log10e)));
}

Value WideEmitter::sin(Value x) {
  Angle angle = reduce(widen(magnitude(x)));
  Value size = select(isQuadrant(angle, 1, 3), angle.cosine, angle.sine);
  Value minus = arith::NegFOp::create(builder, loc, size);
  size = select(isQuadrant(angle, 2, 3), minus, size);
  return multiply(size, math::CopySignOp::create(builder, loc, short32(1), x));
}

Value WideEmitter::cos(Value x) {
  Angle angle = reduce(widen(x));
  Value size = select(isQuadrant(angle, 1, 3), angle.sine, angle.cosine);
  Value minus = arith::NegFOp::create(builder, loc, size);
  return select(isQuadrant(angle, 1, 2), minus, size);
}

Value WideEmitter::tan(Value x) {
  Angle angle = reduce(widen(magnitude(x)));
  Value isOdd = isQuadrant(angle, 1, 3);
  Value minus = arith::NegFOp::create(builder, loc, angle.sine);
  Value ratio = divide(select(isOdd, angle.cosine, angle.sine),
                       select(isOdd, minus, angle.cosine));
  return multiply(ratio, math::CopySignOp::create(builder, loc, short32(1), x));
}

Value WideEmitter::sinh(Value x) {
  return odd(x, [&](Value size) {
    Value grown = exp(size);
    Value difference = subtract(grown, divide(constant(1), grown));
    return orSeries(size, 1.0 / 6, 1.0 / 120,
                    multiply(difference, constant(0.5)));
  });
}

Value WideEmitter::cosh(Value x) {
  Value grown = exp(widen(magnitude(x)));
  Value sum = add(grown, divide(constant(1), grown));
  return narrowed(multiply(sum, constant(0.5)));
}

/// log(x + sqrt(x^2 + 1))
Value WideEmitter::asinh(Value x) {
  return odd(x, [&](Value size) {
    Value square = math::FmaOp::create(builder, loc, size, size, constant(1));
    Value root = math::SqrtOp::create(builder, loc, square);
    Value log = multiply(log2(add(size, root)), constant(llvm::numbers::ln2));
    return orSeries(size, -1.0 / 6, 3.0 / 40, log);
  });
}

/// log(x + sqrt((x - 1) (x + 1)))
Value WideEmitter::acosh(Value x) {
  Value size = widen(x), one = constant(1);
  Value square = multiply(subtract(size, one), add(size, one));
  Value root = math::SqrtOp::create(builder, loc, square);
  Value log = multiply(log2(add(size, root)), constant(llvm::numbers::ln2));
  Value isCovered = compare(arith::CmpFPredicate::OGE, size, one);
  return narrowed(select(isCovered, log,
                         constant(std::numeric_limits<double>::quiet_NaN())));
}

/// log((1 + x) / (1 - x)) / 2
Value WideEmitter::atanh(Value x) {
  return odd(x, [&](Value size) {
    Value one = constant(1);
    Value ratio = divide(add(one, size), subtract(one, size));
    Value log = multiply(log2(ratio), constant(llvm::numbers::ln2 / 2));
    return orSeries(size, 1.0 / 3, 1.0 / 5, log);
  });
}

Value chimera::emitWideFunction(OpBuilder &builder, Operation *function,
                                ValueRange operands) {
  WideEmitter emitter(builder, function->getLoc(),
                      cast<VectorType>(operands.front().getType()));
  Value x = operands.front();
  if (isa<math::PowFOp>(function))
    return emitter.power(x, operands[1]);
  if (isa<math::Log10Op>(function))
    return emitter.log10(x);
  if (isa<math::SinOp>(function))
    return emitter.sin(x);
  if (isa<math::CosOp>(function))
    return emitter.cos(x);
  if (isa<math::TanOp>(function))
    return emitter.tan(x);
  if (isa<math::SinhOp>(function))
    return emitter.sinh(x);
  if (isa<math::CoshOp>(function))
    return emitter.cosh(x);
  if (isa<math::AsinhOp>(function))
    return emitter.asinh(x);
  if (isa<math::AcoshOp>(function))
    return emitter.acosh(x);
  if (isa<math::AtanhOp>(function))
    return emitter.atanh(x);
  return Value();
}
