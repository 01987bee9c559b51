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
#include "VectorKinds.h"

#include "../Support/OddRational.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

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

void VectorCode::emitScalar(VectorKind kind, Value to, Value from, Value number,
                            Shape shape) {
  if (lowering.has(stringifyVectorKind(kind), builder.getF32Type())) {
    VectorOp::create(builder, code.loc, kind, to, from, number, repeats(shape),
                     ArrayRef<int64_t>{1, 1}, ArrayRef<int64_t>{8, 8});
    return;
  }
  // Extrema have no form with a number on every core: there, with one repeat of
  // it, again and again.
  Value same = temporary();
  VectorOp::create(builder, code.loc, VectorKind::Dup, same, ValueRange(),
                   number, code.number(1), ArrayRef<int64_t>{1},
                   ArrayRef<int64_t>{8});
  VectorOp::create(builder, code.loc,
                   kind == VectorKind::Maxs ? VectorKind::Max : VectorKind::Min,
                   to, ValueRange{from, same}, Value(), repeats(shape),
                   ArrayRef<int64_t>{1, 1, 1}, ArrayRef<int64_t>{8, 8, 0});
  release(same);
}

/// A bit for each element. Where all repeats of a selection take the same bits,
/// those of each repeat are a block of their own.
void VectorCode::compare(CompareKind kind, Value bits, Operand a, Operand b,
                         Shape shape) {
  if (selectsOn(lowering.architecture)) {
    CompareOp::create(builder, code.loc, kind, bits, a.value, b.value,
                      repeats(shape));
    return;
  }
  Value one = code.number(1);
  code.loop(code.number(0), repeats(shape), 1, [&](Value repeat) {
    Value first = code.mul(repeat, repeatElements);
    CompareOp::create(builder, code.loc, kind,
                      code.offset(bits, code.mul(repeat, blockBytes)),
                      locateRepeat(a, first, shape),
                      locateRepeat(b, first, shape), one);
  });
}

void VectorCode::select(Value to, Value a, Value b, Value bits, Shape shape) {
  if (selectsOn(lowering.architecture)) {
    SelectOp::create(builder, code.loc, to, a, b, bits, repeats(shape),
                     /*same=*/false);
    return;
  }
  Value one = code.number(1);
  code.loop(code.number(0), repeats(shape), 1, [&](Value repeat) {
    Value first = code.mul(repeat, repeatElements);
    SelectOp::create(builder, code.loc, code.offset(to, first),
                     code.offset(a, first), code.offset(b, first),
                     code.offset(bits, code.mul(repeat, blockBytes)), one,
                     /*same=*/true);
  });
}

/// On two operands of one shape.
void VectorCode::emitPlain(VectorKind kind, Value to, Value a, Value b,
                           Shape shape) {
  VectorOp::create(builder, code.loc, kind, to, ValueRange{a, b}, Value(),
                   repeats(shape), ArrayRef<int64_t>{1, 1, 1},
                   ArrayRef<int64_t>{8, 8, 8});
}

/// The number everywhere.
void VectorCode::dup(Value to, Value number, Shape shape) {
  VectorOp::create(builder, code.loc, VectorKind::Dup, to, ValueRange(), number,
                   repeats(shape), ArrayRef<int64_t>{1}, ArrayRef<int64_t>{8});
}

static std::optional<double> getNumber(Value value) {
  FloatAttr number;
  if (matchPattern(value, m_Constant(&number)))
    return number.getValueAsDouble();
  IntegerAttr integer;
  if (matchPattern(value, m_Constant(&integer)))
    return integer.getInt();
  return std::nullopt;
}

/// True if sums of `value`, a constant, and numbers of rows or columns need not
/// be exact in f32.
static bool isTooLarge(Value value) {
  IntegerAttr integer;
  constexpr int64_t most = 1 << 23;
  return matchPattern(value, m_Constant(&integer)) &&
         std::abs(integer.getInt()) > most;
}

/// A number as f32, which is exact for what counts rows and columns.
Value VectorCode::asScalar(Value value) {
  if (std::optional<double> number = getNumber(value))
    return asNumber(lowering.getNumber(*number));
  if (value.getType().isF32())
    return value;
  Value integer = builder.createOrFold<arith::IndexCastOp>(
      code.loc, builder.getI64Type(), value);
  return arith::SIToFPOp::create(builder, code.loc, builder.getF32Type(),
                                 integer);
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
    Value number = asScalar(operand->value);
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
  if (lowering.inLanes)
    return emitBinaryInLanes(kind, to, a, b);
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

/// Zeros and ones.
VectorCode::Operand VectorCode::asNumbers(Operand mask) {
  Value ones = temporary(), zeros = temporary();
  dup(ones, 1, mask.shape);
  dup(zeros, 0, mask.shape);
  select(ones, ones, zeros, mask.value, mask.shape);
  release(zeros);
  return {mask.shape, ones};
}

/// `operand` for each row, or for each element of a group.
VectorCode::Operand VectorCode::asShape(Operand operand, Shape shape) {
  if (operand.isMask) {
    Operand numbers = asNumbers(operand), result = asShape(numbers, shape);
    drop(numbers, result);
    return result;
  }
  if (operand.shape == shape)
    return operand;
  Operand result{shape, temporary()};
  if (operand.shape == Shape::Number) {
    dup(result.value, asScalar(operand.value), shape);
    return result;
  }
  dup(result.value, 0, shape);
  emitBinary(VectorKind::Add, result.value, result, operand);
  return result;
}

void VectorCode::emitOddRational(Value to, Operand x,
                                 const OddRational &function) {
  Value square = temporary(), sum = temporary();
  emitScalar(VectorKind::Mins, to, x.value, function.limit);
  emitScalar(VectorKind::Maxs, to, to, -function.limit);
  emitPlain(VectorKind::Mul, square, to, to);
  auto evaluate = [&](ArrayRef<double> coefficients) {
    emitScalar(VectorKind::Muls, sum, square, coefficients.back());
    for (double coefficient :
         llvm::reverse(coefficients.drop_back().drop_front())) {
      emitScalar(VectorKind::Adds, sum, sum, coefficient);
      emitPlain(VectorKind::Mul, sum, sum, square);
    }
    emitScalar(VectorKind::Adds, sum, sum, coefficients.front());
  };
  evaluate(function.numerator);
  emitPlain(VectorKind::Mul, to, to, sum);
  evaluate(function.denominator);
  emitPlain(VectorKind::Div, to, to, sum);
  release(square);
  release(sum);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

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

FailureOr<VectorCode::Operand> VectorCode::emitCompare(Operation &op, Operand a,
                                                       Operand b) {
  std::optional<CompareKind> kind = getCompareKind(op);
  if (!kind || op.getOperand(0).getType().isInteger(1)) {
    lowering.reason = "the vector unit has no code for a comparison";
    return failure();
  }
  bool isRows = a.shape != Shape::Group && a.shape != Shape::Columns &&
                b.shape != Shape::Group && b.shape != Shape::Columns;
  Shape shape = isRows ? Shape::Rows : Shape::Group;
  Value bits = temporary(builder.getI8Type());
  Operand left = asRepeats(a, shape), right = asRepeats(b, shape);
  compare(*kind, bits, left, right, shape);
  drop(left, a);
  drop(right, b);
  return Operand{shape, bits, /*isMask=*/true};
}

VectorCode::Operand VectorCode::emitSelect(Operand condition, Operand a,
                                           Operand b, Value to) {
  bool isRows = llvm::none_of(ArrayRef{condition, a, b}, [](Operand operand) {
    return operand.shape == Shape::Group || operand.shape == Shape::Columns;
  });
  Shape shape = isRows ? Shape::Rows : Shape::Group;
  Value bits = condition.value;
  if (!condition.isMask || condition.shape != shape) {
    Value zeros = temporary();
    dup(zeros, 0, shape);
    bits = temporary(builder.getI8Type());
    Operand numbers = asShape(condition, shape);
    compare(CompareKind::Ne, bits, numbers, {shape, zeros}, shape);
    release(zeros);
    drop(numbers, condition);
  }
  Operand left = asShape(a, shape), right = asShape(b, shape);
  select(to, left.value, right.value, bits, shape);
  drop(left, a);
  drop(right, b);
  if (bits != condition.value)
    release(bits);
  return {shape, to};
}

/// Zeros and ones: of two masks, one after the other decides for zero or one.
void VectorCode::emitLogical(bool isAnd, Operand to, Operand a, Operand b) {
  auto isOwn = [&](Operand mask) {
    return mask.isMask && mask.shape == to.shape;
  };
  if (isOwn(a) && isOwn(b)) {
    Value decided = temporary();
    dup(to.value, isAnd ? 1 : 0, to.shape);
    dup(decided, isAnd ? 0 : 1, to.shape);
    for (Operand mask : {a, b})
      select(to.value, isAnd ? to.value : decided, isAnd ? decided : to.value,
             mask.value, to.shape);
    release(decided);
    return;
  }
  Operand left = asShape(a, to.shape), right = asShape(b, to.shape);
  emitPlain(isAnd ? VectorKind::Mul : VectorKind::Max, to.value, left.value,
            right.value, to.shape);
  drop(left, a);
  drop(right, b);
}

/// The number of each row or column of the tile.
VectorCode::Operand VectorCode::emitIndex(IndexOp op) {
  if (lowering.inLanes)
    return emitIndexInLanes(op);
  if (rowLoop == op.getDim()) {
    Value numbers = lowering.getRowNumbers();
    if (!firstRow)
      return {Shape::Rows, numbers};
    Value own = temporary();
    emitScalar(VectorKind::Adds, own, numbers, asScalar(firstRow), Shape::Rows);
    return {Shape::Rows, own};
  }
  if (op.getDim() != columnLoop)
    return {Shape::Number, asNumber(0)};
  Value numbers = lowering.getColumnNumbers(), result = temporary();
  VectorOp::create(builder, code.loc, VectorKind::Adds, result, numbers,
                   asScalar(current), code.number(1), ArrayRef<int64_t>{1, 1},
                   ArrayRef<int64_t>{8, 8});
  return {Shape::Columns, result};
}

/// Where all operands are numbers.
FailureOr<VectorCode::Operand> VectorCode::emitNumbers(Operation &op) {
  std::optional<VectorKind> kind = getBinaryKind(op);
  auto create = [&](auto tag) -> Operand {
    return {Shape::Number,
            builder.createOrFold<decltype(tag)>(
                code.loc, asScalar(getOperand(op.getOperand(0)).value),
                asScalar(getOperand(op.getOperand(1)).value))};
  };
  if (kind == VectorKind::Add)
    return create(arith::AddFOp());
  if (kind == VectorKind::Sub)
    return create(arith::SubFOp());
  if (kind == VectorKind::Mul)
    return create(arith::MulFOp());
  lowering.reason =
      ("there is no code for '" + op.getName().getStringRef() + "' of numbers")
          .str();
  return failure();
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
  if (auto index = dyn_cast<IndexOp>(op))
    return emitIndex(index);
  if (auto toInteger = dyn_cast<arith::FPToSIOp>(op))
    return emitToInteger(toInteger);
  if (llvm::any_of(op.getOperands(), isTooLarge)) {
    lowering.reason = "a whole number is not exact in f32";
    return failure();
  }
  // Of numbers that count, which have one type here.
  if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp, arith::SIToFPOp>(
          op) &&
      !op.getOperand(0).getType().isInteger(1) &&
      !op.getResult(0).getType().isInteger(1))
    return getOperand(op.getOperand(0));
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
  if (llvm::all_of(sources, [](Operand source) {
        return source.shape == Shape::Number;
      }))
    return emitNumbers(op);
  if (isa<arith::CmpIOp, arith::CmpFOp>(op))
    return emitCompare(op, sources[0], sources[1]);
  bool isLogical = isa<arith::AndIOp, arith::OrIOp>(op) &&
                   op.getResult(0).getType().isInteger(1);
  Operand result{hasRowsOnly ? Shape::Rows : Shape::Group, getDestination(op)};
  if (isLogical) {
    emitLogical(isa<arith::AndIOp>(op), result, sources[0], sources[1]);
    return result;
  }
  if (std::optional<VectorKind> kind = getBinaryKind(op)) {
    auto isGroup = [](Operand source) { return source.shape == Shape::Group; };
    bool isSpread = !hasRowsOnly && llvm::none_of(sources, isGroup);
    Operand &source = sources[sources[0].shape == Shape::Number];
    Operand former = source;
    if (isSpread)
      source = asGroup(source);
    emitBinary(*kind, result.value, sources[0], sources[1]);
    if (isSpread)
      drop(source, former);
    return result;
  }
  if (auto select = dyn_cast<arith::SelectOp>(op);
      select && isGuardedShift(select)) {
    Operand maximum = getOperand(select.getFalseValue());
    emitScalar(VectorKind::Maxs, result.value, maximum.value,
               -std::numeric_limits<float>::max(), maximum.shape);
    return result;
  }
  if (isa<arith::SelectOp>(op))
    return emitSelect(sources[0], sources[1], sources[2], result.value);
  Operand x = sources[0];
  if (x.shape != Shape::Rows)
    x = asGroup(x);
  if (std::optional<VectorKind> kind = getUnaryKind(op)) {
    emitUnary(*kind, result.value, x.value, x.shape);
    return result;
  }
  if (isa<math::RoundEvenOp>(op)) {
    emitUnary(VectorKind::RoundEven, result.value, x.value, x.shape);
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
    emitOddRational(result.value, x,
                    isa<math::TanhOp>(op) ? getTanh() : getErf());
    return result;
  }
  lowering.reason =
      ("the vector unit has no code for '" + op.getName().getStringRef() + "'")
          .str();
  return failure();
}
