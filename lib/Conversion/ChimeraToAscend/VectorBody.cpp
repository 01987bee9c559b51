//===- VectorBody.cpp - Scalar operations on the vector unit --------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each operation in the body of a kernel becomes instructions on a column group
// or on one number for each row, in f32.
//
//===----------------------------------------------------------------------===//

#include "VectorCode.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace chimera;
using namespace chimera::ascend;

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

Value VectorCode::asNumber(double number) {
  return arith::ConstantOp::create(builder, code.loc,
                                   builder.getF32FloatAttr(number));
}

void VectorCode::emitUnary(VectorKind kind, Value to, Value from, Shape shape) {
  VectorOp::create(builder, code.loc, kind, to, from, Value(), repeats(shape),
                   ArrayRef<int64_t>{1, 1}, ArrayRef<int64_t>{8, 8});
}

void VectorCode::emitScalar(VectorKind kind, Value to, Value from,
                            double number, Shape shape) {
  VectorOp::create(builder, code.loc, kind, to, from, asNumber(number),
                   repeats(shape), ArrayRef<int64_t>{1, 1},
                   ArrayRef<int64_t>{8, 8});
}

/// On two operands of one shape.
void VectorCode::emitPlain(VectorKind kind, Value to, Value a, Value b,
                           Shape shape) {
  VectorOp::create(builder, code.loc, kind, to, ValueRange{a, b}, Value(),
                   repeats(shape), ArrayRef<int64_t>{1, 1, 1},
                   ArrayRef<int64_t>{8, 8, 8});
}

/// The number everywhere.
void VectorCode::dup(Value to, double number, Shape shape) {
  VectorOp::create(builder, code.loc, VectorKind::Dup, to, ValueRange(),
                   asNumber(number), repeats(shape), ArrayRef<int64_t>{1},
                   ArrayRef<int64_t>{8});
}

static std::optional<double> getNumber(Value value) {
  FloatAttr number;
  if (matchPattern(value, m_Constant(&number)))
    return number.getValueAsDouble();
  return std::nullopt;
}

static VectorKind withScalar(VectorKind kind) {
  return kind == VectorKind::Add   ? VectorKind::Adds
         : kind == VectorKind::Mul ? VectorKind::Muls
         : kind == VectorKind::Max ? VectorKind::Maxs
                                   : VectorKind::Mins;
}

/// At least one operand is a group, or all are rows and numbers.
void VectorCode::emitBinary(VectorKind kind, Value to, Operand a, Operand b) {
  bool commutes = kind != VectorKind::Sub && kind != VectorKind::Div;
  if (commutes && a.shape == Shape::Number)
    std::swap(a, b);
  Shape shape = a.shape == Shape::Group || b.shape == Shape::Group
                    ? Shape::Group
                    : Shape::Rows;
  // With a number there is an instruction of its own where the order does not
  // matter; otherwise the number is written out.
  for (Operand *operand : {&a, &b}) {
    if (operand->shape != Shape::Number)
      continue;
    double number = *getNumber(operand->value);
    if (commutes) {
      emitScalar(withScalar(kind), to, a.value, number, shape);
      return;
    }
    *operand = {shape, temporary()};
    dup(operand->value, number, shape);
  }
  if (a.shape == b.shape) {
    emitPlain(kind, to, a.value, b.value, shape);
    return;
  }
  // Of a group's two columns of blocks one at a time: beside it, the same block
  // of a bias for all rows, or the one block of each row.
  auto distance = [](const Operand &operand) -> int64_t {
    return operand.shape == Shape::Group  ? 2
           : operand.shape == Shape::Rows ? 1
                                          : 0;
  };
  for (int64_t half = 0; half < 2; ++half) {
    Value first = code.number(half * blockElements);
    auto at = [&](const Operand &operand) {
      return operand.shape == Shape::Rows ? operand.value
                                          : code.offset(operand.value, first);
    };
    VectorOp::create(builder, code.loc, kind, code.offset(to, first),
                     ValueRange{at(a), at(b)}, Value(),
                     code.div(rows, blockElements),
                     ArrayRef<int64_t>{2, distance(a), distance(b)},
                     ArrayRef<int64_t>{16, 8 * distance(a), 8 * distance(b)});
  }
}

VectorCode::Operand VectorCode::asGroup(Operand operand) {
  if (operand.shape == Shape::Group)
    return operand;
  Operand zero{Shape::Group, temporary()}, group{Shape::Group, temporary()};
  dup(zero.value, 0);
  emitBinary(VectorKind::Add, group.value, zero, operand);
  release(zero.value);
  return group;
}

/// tanh(x) = 1 - 2 / (exp(2x) + 1), which goes to its limits as exp does.
void VectorCode::emitTanh(Value to, Operand x) {
  Value two = temporary();
  emitScalar(VectorKind::Muls, to, x.value, 2);
  emitUnary(VectorKind::Exp, to, to);
  emitScalar(VectorKind::Adds, to, to, 1);
  dup(two, 2);
  emitPlain(VectorKind::Div, to, two, to);
  emitScalar(VectorKind::Muls, to, to, -1);
  emitScalar(VectorKind::Adds, to, to, 1);
}

/// Abramowitz and Stegun 7.1.26, off by at most 1.5e-7: with t = 1 / (1 +
/// p|x|), erf(|x|) = 1 - t (a1 + t (a2 + ...)) exp(-x^2).
void VectorCode::emitErf(Value to, Operand x) {
  constexpr double p = 0.3275911;
  constexpr double factors[] = {1.061405429, -1.453152027, 1.421413741,
                                -0.284496736, 0.254829592};
  Value t = temporary(), sum = temporary(), tail = temporary();
  emitUnary(VectorKind::Abs, t, x.value);
  emitScalar(VectorKind::Muls, t, t, p);
  emitScalar(VectorKind::Adds, t, t, 1);
  dup(sum, 1);
  emitPlain(VectorKind::Div, t, sum, t);
  dup(sum, factors[0]);
  for (double factor : ArrayRef(factors).drop_front()) {
    emitPlain(VectorKind::Mul, sum, sum, t);
    emitScalar(VectorKind::Adds, sum, sum, factor);
  }
  emitPlain(VectorKind::Mul, sum, sum, t);
  emitPlain(VectorKind::Mul, tail, x.value, x.value);
  emitScalar(VectorKind::Muls, tail, tail, -1);
  emitUnary(VectorKind::Exp, tail, tail);
  emitPlain(VectorKind::Mul, sum, sum, tail);
  emitScalar(VectorKind::Muls, sum, sum, -1);
  emitScalar(VectorKind::Adds, sum, sum, 1);
  // The sign of x, as a number.
  constexpr double huge = 1e30;
  emitScalar(VectorKind::Muls, t, x.value, huge);
  emitScalar(VectorKind::Mins, t, t, 1);
  emitScalar(VectorKind::Maxs, t, t, -1);
  emitPlain(VectorKind::Mul, to, sum, t);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

static std::optional<VectorKind> getBinaryKind(Operation &op) {
  return llvm::TypeSwitch<Operation *, std::optional<VectorKind>>(&op)
      .Case<arith::AddFOp>([](auto) { return VectorKind::Add; })
      .Case<arith::SubFOp>([](auto) { return VectorKind::Sub; })
      .Case<arith::MulFOp>([](auto) { return VectorKind::Mul; })
      .Case<arith::DivFOp>([](auto) { return VectorKind::Div; })
      .Case<arith::MaximumFOp, arith::MaxNumFOp>(
          [](auto) { return VectorKind::Max; })
      .Case<arith::MinimumFOp, arith::MinNumFOp>(
          [](auto) { return VectorKind::Min; })
      .Default([](Operation *) { return std::nullopt; });
}

static std::optional<VectorKind> getUnaryKind(Operation &op) {
  return llvm::TypeSwitch<Operation *, std::optional<VectorKind>>(&op)
      .Case<math::ExpOp>([](auto) { return VectorKind::Exp; })
      .Case<math::LogOp>([](auto) { return VectorKind::Ln; })
      .Case<math::SqrtOp>([](auto) { return VectorKind::Sqrt; })
      .Case<math::AbsFOp>([](auto) { return VectorKind::Abs; })
      .Default([](Operation *) { return std::nullopt; });
}

static bool isNegativeInfinity(Value value) {
  std::optional<double> number = getNumber(value);
  return number && std::isinf(*number) && *number < 0;
}

/// True if `select` is zero where a maximum is minus infinity, else that
/// maximum, to be subtracted from what is no larger before an exponential: then
/// any finite number serves in the place of zero.
static bool isGuardedShift(arith::SelectOp select) {
  auto isMasked = select.getCondition().getDefiningOp<arith::CmpFOp>();
  auto isExponent = [](Operation *user) {
    return isa<math::ExpOp, math::Exp2Op>(user);
  };
  return isMasked && isMasked.getPredicate() == arith::CmpFPredicate::OEQ &&
         isMasked.getLhs() == select.getFalseValue() &&
         isNegativeInfinity(isMasked.getRhs()) &&
         matchPattern(select.getTrueValue(), m_AnyZeroFloat()) &&
         llvm::all_of(select->getUsers(), [&](Operation *user) {
           auto difference = dyn_cast<arith::SubFOp>(user);
           return difference && difference.getRhs() == select.getResult() &&
                  llvm::all_of(difference->getUsers(), [&](Operation *next) {
                    return isExponent(next) ||
                           (isa<arith::MulFOp>(next) &&
                            llvm::all_of(next->getUsers(), isExponent));
                  });
         });
}

VectorCode::Operand VectorCode::getOperand(Value value) {
  auto found = operands.find(value);
  return found == operands.end() ? Operand{Shape::Number, value}
                                 : found->second;
}

FailureOr<VectorCode::Operand> VectorCode::emitOperation(Operation &op) {
  // Everything is f32 in UB; what narrows the result is its last step.
  if (isa<arith::ExtFOp, arith::TruncFOp>(op)) {
    if (isa<arith::TruncFOp>(op) &&
        !llvm::all_of(op.getUsers(),
                      [](Operation *user) { return isa<YieldOp>(user); })) {
      lowering.reason = "an elementwise operation rounds on the way";
      return failure();
    }
    return getOperand(op.getOperand(0));
  }
  // What a select decides on is emitted with it.
  if (isa<arith::CmpFOp>(op) &&
      llvm::all_of(op.getUsers(), [](Operation *user) {
        auto select = dyn_cast<arith::SelectOp>(user);
        return select && isGuardedShift(select);
      }))
    return getOperand(op.getOperand(0));
  SmallVector<Operand> sources;
  bool hasRowsOnly = true;
  for (Value value : op.getOperands()) {
    sources.push_back(getOperand(value));
    hasRowsOnly &= sources.back().shape == Shape::Rows ||
                   sources.back().shape == Shape::Number;
  }
  Operand result{hasRowsOnly ? Shape::Rows : Shape::Group, getDestination(op)};
  if (std::optional<VectorKind> kind = getBinaryKind(op)) {
    auto isGroup = [](Operand source) { return source.shape == Shape::Group; };
    if (!hasRowsOnly && llvm::none_of(sources, isGroup)) {
      Operand &source = sources[sources[0].shape == Shape::Number];
      source = asGroup(source);
    }
    emitBinary(*kind, result.value, sources[0], sources[1]);
    return result;
  }
  if (auto select = dyn_cast<arith::SelectOp>(op);
      select && isGuardedShift(select)) {
    Operand maximum = getOperand(select.getFalseValue());
    emitScalar(VectorKind::Maxs, result.value, maximum.value,
               -std::numeric_limits<float>::max(), maximum.shape);
    return result;
  }
  Operand x = sources[0];
  if (x.shape != Shape::Rows)
    x = asGroup(x);
  if (std::optional<VectorKind> kind = getUnaryKind(op)) {
    emitUnary(*kind, result.value, x.value, x.shape);
    return result;
  }
  if (isa<math::Exp2Op>(op)) {
    emitScalar(VectorKind::Muls, result.value, x.value, std::log(2.0), x.shape);
    emitUnary(VectorKind::Exp, result.value, result.value, x.shape);
    return result;
  }
  if (isa<arith::NegFOp>(op)) {
    emitScalar(VectorKind::Muls, result.value, x.value, -1, x.shape);
    return result;
  }
  if (isa<math::TanhOp, math::ErfOp>(op) && x.shape == Shape::Group) {
    if (isa<math::TanhOp>(op))
      emitTanh(result.value, x);
    else
      emitErf(result.value, x);
    return result;
  }
  lowering.reason =
      ("the vector unit has no code for '" + op.getName().getStringRef() + "'")
          .str();
  return failure();
}
