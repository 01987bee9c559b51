//===- FloatFunctions.cpp - Functions of numbers, on vectors --------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FloatFunctions.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace chimera;

Value FloatFunctions::number(double value, Type vector) {
  Value scalar =
      arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(value));
  return vector::BroadcastOp::create(builder, loc, vector, scalar);
}

Value FloatFunctions::mapElements(StringRef intrinsic, ValueRange vectors) {
  auto type = cast<VectorType>(vectors.front().getType());
  SmallVector<Value> elements;
  for (int64_t element = 0; element < type.getNumElements(); ++element) {
    SmallVector<int64_t, 2> place = {element};
    if (type.getRank() == 2)
      place = {element / type.getDimSize(1), element % type.getDimSize(1)};
    SmallVector<Value> own;
    for (Value vector : vectors)
      own.push_back(vector::ExtractOp::create(builder, loc, vector, place));
    elements.push_back(
        LLVM::CallIntrinsicOp::create(builder, loc, own.front().getType(),
                                      builder.getStringAttr(intrinsic), own)
            .getResult(0));
  }
  return vector::FromElementsOp::create(builder, loc, type, elements);
}

/// Two to the power of each element; what is too small for a normal number
/// becomes zero.
Value FloatFunctions::exp2(Value exponent) {
  return mapElements("llvm.nvvm.ex2.approx.ftz.f32", exponent);
}

Value FloatFunctions::exp(Value value) {
  return exp2(arith::MulFOp::create(builder, loc, value,
                                    number(log2OfE, value.getType())));
}

/// Off by two units in the last place, instead of a subroutine. With `afn` it
/// may be a product with the reciprocal, which is zero for the largest numbers.
Value FloatFunctions::divide(Value left, Value right,
                             arith::FastMathFlags flags) {
  if (bitEnumContainsAny(flags, arith::FastMathFlags::afn))
    return arith::DivFOp::create(builder, loc, left, right, flags);
  return mapElements("llvm.nvvm.div.full", {left, right});
}

Value FloatFunctions::oddRational(Value value, const OddRational &function) {
  Type type = value.getType();
  value = arith::MaximumFOp::create(builder, loc, value,
                                    number(-function.limit, type));
  value = arith::MinimumFOp::create(builder, loc, value,
                                    number(function.limit, type));
  Value square = arith::MulFOp::create(builder, loc, value, value);
  auto evaluate = [&](ArrayRef<double> coefficients) {
    Value sum = number(coefficients.back(), type);
    for (double coefficient : llvm::reverse(coefficients.drop_back()))
      sum = vector::FMAOp::create(builder, loc, sum, square,
                                  number(coefficient, type));
    return sum;
  };
  Value numerator =
      arith::MulFOp::create(builder, loc, value, evaluate(function.numerator));
  // The denominator is between one and a few hundred.
  return divide(numerator, evaluate(function.denominator),
                arith::FastMathFlags::afn);
}

Value FloatFunctions::map(Operation &op, ValueRange operands) {
  if (isa<math::ExpOp>(op))
    return exp(operands[0]);
  if (isa<math::Exp2Op>(op))
    return exp2(operands[0]);
  if (isa<math::ErfOp>(op))
    return oddRational(operands[0], getErf());
  if (isa<math::TanhOp>(op))
    return oddRational(operands[0], getTanh());
  if (isa<math::RsqrtOp>(op))
    return mapElements("llvm.nvvm.rsqrt.approx.f", operands[0]);
  if (isa<math::SqrtOp>(op))
    return mapElements("llvm.nvvm.sqrt.rn.f", operands[0]);
  if (isa<math::AbsFOp>(op))
    return mapElements("llvm.fabs.f32", operands[0]);
  if (isa<math::RoundEvenOp>(op))
    return mapElements("llvm.roundeven.f32", operands[0]);
  // Upstream would call functions of a library.
  if (isa<arith::MaxNumFOp>(op))
    return mapElements("llvm.maxnum.f32", operands);
  if (isa<arith::MinNumFOp>(op))
    return mapElements("llvm.minnum.f32", operands);
  if (auto division = dyn_cast<arith::DivFOp>(op))
    return divide(operands[0], operands[1], division.getFastmath());
  return {};
}
