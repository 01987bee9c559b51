//===- SoftmaxExpression.cpp - Is an expression a softmax? ----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Chain/SoftmaxExpression.h"

#include "Chimera/Chain/OpKinds.h"
#include "Chimera/IR/NumberTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;
using namespace chimera;

//===----------------------------------------------------------------------===//
// The exponential
//===----------------------------------------------------------------------===//

/// True if `id` is the maximum of the row of `score`.
static bool isMaximumOf(const ExprPool &pool, ExprId id, ExprId score) {
  return (pool.isRowReduction(id, "arith.maximumf") ||
          pool.isRowReduction(id, "arith.maxnumf")) &&
         pool[id].operands[0] == score;
}

/// Notes whether `shift` is the maximum of the row of the score, and what it is
/// in rows that lie below a number or are masked entirely.
static void classifyShift(const ExprPool &pool, ExprId shift,
                          ShiftedExponential &own) {
  bool isClamped = (pool.isOperation(shift, "arith.maximumf") ||
                    pool.isOperation(shift, "arith.maxnumf")) &&
                   pool.getNumber(pool[shift].operands[1]);
  if (!isClamped) {
    own.isShiftMaximum = isMaximumOf(pool, shift, own.score);
    return;
  }
  ExprId limit = pool[shift].operands[1];
  if (!pool.isLowestNumber(limit)) {
    own.leastShift = pool.getNumber(limit);
    return;
  }
  own.isShiftMaximum = isMaximumOf(pool, pool[shift].operands[0], own.score);
  own.isShiftFinite = !pool.isNegativeInfinity(limit);
}

/// Splits the exponent into the score and what depends on the row alone. The
/// difference of both may be multiplied: what is large in it cancels before.
static LogicalResult findScore(const ExprPool &pool, ExprId exponent,
                               ShiftedExponential &own) {
  ExprId difference = exponent;
  if (pool.isOperation(exponent, "arith.mulf")) {
    ExprId lhs = pool[exponent].operands[0], rhs = pool[exponent].operands[1];
    if (!pool.getNumber(rhs))
      std::swap(lhs, rhs);
    std::optional<double> scale = pool.getNumber(rhs);
    if (scale && pool.isOperation(lhs, "arith.subf")) {
      if (*scale <= 0)
        return failure();
      difference = lhs;
      own.exponentFactor = *scale;
    }
  }
  own.score = difference;
  if (!pool.isOperation(difference, "arith.subf")) {
    own.leastShift = 0;
  } else {
    own.score = pool[difference].operands[0];
    ExprId shift = pool[difference].operands[1];
    if (pool[shift].isElement)
      return failure();
    classifyShift(pool, shift, own);
  }
  return success(!pool[own.score].holdsReduction && pool[own.score].isElement);
}

std::optional<ShiftedExponential> chimera::findExponential(const ExprPool &pool,
                                                           ExprId factor) {
  const Expr &expr = pool[factor];
  if (expr.kind != Expr::Kind::Operation || !canBeSum(expr.type))
    return std::nullopt;
  if (expr.name == "math.exp" || expr.name == "math.exp2") {
    ShiftedExponential own;
    own.exponential = factor;
    if (failed(findScore(pool, expr.operands[0], own)))
      return std::nullopt;
    return own;
  }
  std::optional<ExprId> inner;
  for (ExprId operand : expr.operands)
    if (pool[operand].isElement) {
      if (inner)
        return std::nullopt;
      inner = operand;
    }
  return inner ? findExponential(pool, *inner) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// What comes behind the product
//===----------------------------------------------------------------------===//

namespace {

class TailMover {
public:
  TailMover(ExprPool &pool, const ShiftedExponential &own,
            const SoftmaxParts &parts)
      : pool(pool), own(own), parts(parts), wide(pool[own.exponential].type) {}

  std::optional<ExprId> move(ExprId factor, ExprId tail);

private:
  /// What was found out about expressions: many share their operands.
  template <typename T>
  using Known = llvm::DenseMap<ExprId, T>;

  bool isMaskTest(ExprId id, StringRef combiner);
  std::optional<ExprId> moveRow(ExprId id);
  std::optional<ExprId> replaceParts(ExprId id);
  std::optional<ExprId>
  rebuild(ExprId id, llvm::function_ref<std::optional<ExprId>(ExprId)> change);
  std::optional<ExprId> moveBehind(ExprId id);
  std::optional<ExprId> moveElement(ExprId id);
  std::optional<ExprId> divideByRow(ExprId id);
  std::optional<ExprId> moveTail(ExprId id);
  std::optional<int> getDegree(ExprId id);
  std::optional<int> computeDegree(ExprId id);
  bool isZeroTest(ExprId id) const;
  ExprId getSumTest(arith::CmpFPredicate predicate);
  ExprId replaceRows(ExprId id, ExprId condition, double number,
                     bool keepsTests);
  ExprId emptyRows(ExprId id);

  ExprPool &pool;
  const ShiftedExponential &own;
  const SoftmaxParts &parts;
  Type wide;
  Known<std::optional<ExprId>> behind, tails;
  Known<std::optional<int>> degrees;
  Known<ExprId> replaced;
};

} // namespace

/// True if `id` asks of each element whether it is masked (minus infinity), or,
/// to be combined by "or", whether it is not.
bool TailMover::isMaskTest(ExprId id, StringRef combiner) {
  if (!pool.isOperation(id, "arith.cmpf"))
    return false;
  SmallVector<ExprId> operands = pool[id].operands;
  auto predicate = static_cast<arith::CmpFPredicate>(
      cast<IntegerAttr>(
          cast<DictionaryAttr>(pool[id].attribute).get("predicate"))
          .getInt());
  bool isWanted = combiner == "arith.andi"
                      ? predicate == arith::CmpFPredicate::OEQ
                      : predicate == arith::CmpFPredicate::UNE;
  while (pool.isOperation(operands[0], "arith.extf"))
    operands[0] = pool[operands[0]].operands[0];
  ExprId tested = operands[0];
  bool isScore = tested == own.score;
  // The test may come before a positive factor.
  if (pool.isOperation(own.score, "arith.mulf")) {
    ArrayRef<ExprId> factors = pool[own.score].operands;
    std::optional<double> factor = pool.getNumber(factors[1]);
    isScore |=
        factors[0] == tested && factor && *factor > 0 && std::isfinite(*factor);
  }
  return isWanted && isScore && pool.isNegativeInfinity(operands[1]);
}

/// Expresses what depends on the row alone by the sum and the maximum.
std::optional<ExprId> TailMover::moveRow(ExprId id) {
  Expr expr = pool[id];
  if (!expr.holdsReduction)
    return id;
  if (expr.kind == Expr::Kind::RowReduction) {
    ExprId element = expr.operands[0];
    if (expr.name == "arith.addf" && element == own.exponential)
      return parts.sum;
    if (isMaximumOf(pool, id, own.score))
      return parts.maximum;
    // A row is masked entirely if and only if its sum is zero.
    bool isAll = expr.name == "arith.andi";
    if ((isAll || expr.name == "arith.ori") && isMaskTest(element, expr.name))
      return getSumTest(isAll ? arith::CmpFPredicate::OEQ
                              : arith::CmpFPredicate::UNE);
    return std::nullopt;
  }
  return replaceParts(id);
}

ExprId TailMover::getSumTest(arith::CmpFPredicate predicate) {
  return pool.compare("arith.cmpf", static_cast<int64_t>(predicate), parts.sum,
                      pool.number(0.0, wide));
}

/// True if `id` asks whether the sum of a row is zero, or how it compares to
/// that.
bool TailMover::isZeroTest(ExprId id) const {
  return pool.isOperation(id, "arith.cmpf") &&
         pool[id].operands[0] == parts.sum && pool.isZero(pool[id].operands[1]);
}

/// The same operation on operands that were moved.
std::optional<ExprId> TailMover::replaceParts(ExprId id) {
  return rebuild(id, [&](ExprId operand) { return moveBehind(operand); });
}

/// The same operation on what `change` makes of its operands.
std::optional<ExprId>
TailMover::rebuild(ExprId id,
                   llvm::function_ref<std::optional<ExprId>(ExprId)> change) {
  Expr expr = pool[id];
  SmallVector<ExprId> operands;
  for (ExprId operand : expr.operands) {
    std::optional<ExprId> changed = change(operand);
    if (!changed)
      return std::nullopt;
    operands.push_back(*changed);
  }
  return pool.operation(expr.name, expr.type, operands,
                        cast<DictionaryAttr>(expr.attribute));
}

/// The value of `compute` for `id`, computed the first time.
template <typename T>
static T computeOnce(llvm::DenseMap<ExprId, T> &known, ExprId id,
                     llvm::function_ref<T()> compute) {
  if (auto it = known.find(id); it != known.end())
    return it->second;
  T value = compute();
  known[id] = value;
  return value;
}

/// The factor as it is to be applied behind the contraction: the product takes
/// the exponential's place. Nothing if it is not linear in the exponential.
std::optional<ExprId> TailMover::moveBehind(ExprId id) {
  if (id == own.exponential)
    return parts.product;
  return computeOnce<std::optional<ExprId>>(behind, id, [&] {
    return pool[id].isElement ? moveElement(id) : moveRow(id);
  });
}

/// As `moveBehind`, of what differs by element.
std::optional<ExprId> TailMover::moveElement(ExprId id) {
  const Expr &expr = pool[id];
  if (expr.kind != Expr::Kind::Operation)
    return std::nullopt;
  StringRef name = expr.name;
  SmallVector<ExprId> operands = expr.operands;
  // Two elements multiplied, or one in the denominator, are not linear.
  unsigned numElements = llvm::count_if(
      operands, [&](ExprId operand) { return pool[operand].isElement; });
  bool isFactor = numElements == 1 &&
                  (name == "arith.mulf" ||
                   (name == "arith.divf" && pool[operands[0]].isElement));
  bool isZeroed =
      name == "arith.select" && !pool[operands[0]].isElement &&
      llvm::all_of(ArrayRef(operands).drop_front(), [&](ExprId operand) {
        return pool.isZero(operand) || pool[operand].isElement;
      });
  if (!isFactor && !isZeroed)
    return std::nullopt;
  if (name == "arith.divf" && pool[operands[1]].holdsReduction)
    return divideByRow(id);
  return replaceParts(id);
}

/// The quotient `id` of an element and a row, moved. What it was rounded to has
/// changed with its place, so that the row's reciprocal does as well.
std::optional<ExprId> TailMover::divideByRow(ExprId id) {
  std::optional<ExprId> moved = replaceParts(id);
  if (!moved)
    return std::nullopt;
  Expr quotient = pool[*moved];
  auto attributes = cast<DictionaryAttr>(quotient.attribute);
  NamedAttrList changed(attributes);
  auto flags = arith::FastMathFlags::arcp;
  if (auto own = attributes.getAs<arith::FastMathFlagsAttr>("fastmath"))
    flags = flags | own.getValue();
  changed.set("fastmath",
              arith::FastMathFlagsAttr::get(attributes.getContext(), flags));
  return pool.operation(quotient.name, quotient.type, quotient.operands,
                        changed.getDictionary(attributes.getContext()));
}

/// `id`, which reads the product and rows, with what `tails` has in the
/// product's place.
std::optional<ExprId> TailMover::moveTail(ExprId id) {
  return computeOnce<std::optional<ExprId>>(
      tails, id, [&]() -> std::optional<ExprId> {
        Expr expr = pool[id];
        if (expr.kind == Expr::Kind::RowReduction)
          return moveRow(id);
        if (expr.kind != Expr::Kind::Operation)
          return id;
        return rebuild(id, [&](ExprId operand) { return moveTail(operand); });
      });
}

/// The degree of `id` in the product and the sum together. Nothing if it has
/// none.
std::optional<int> TailMover::getDegree(ExprId id) {
  return computeOnce<std::optional<int>>(degrees, id,
                                         [&] { return computeDegree(id); });
}

std::optional<int> TailMover::computeDegree(ExprId id) {
  if (id == parts.product || id == parts.sum)
    return 1;
  const Expr &expr = pool[id];
  if (expr.kind != Expr::Kind::Operation)
    return id == parts.maximum ? std::nullopt : std::optional<int>(0);
  SmallVector<ExprId> operands = expr.operands;
  StringRef name = expr.name;
  // Whether the sum is zero does not depend on the shift.
  if (isZeroTest(id))
    return 0;
  if (name == "arith.select") {
    if (getDegree(operands[0]) != 0)
      return std::nullopt;
    if (pool.isZero(operands[1]))
      return getDegree(operands[2]);
    if (pool.isZero(operands[2]))
      return getDegree(operands[1]);
    std::optional<int> degree = getDegree(operands[1]);
    return degree == getDegree(operands[2]) ? degree : std::nullopt;
  }
  bool isProduct = name == "arith.mulf", isQuotient = name == "arith.divf";
  if (isProduct || isQuotient) {
    std::optional<int> lhs = getDegree(operands[0]),
                       rhs = getDegree(operands[1]);
    if (!lhs || !rhs)
      return std::nullopt;
    int degree = isProduct ? *lhs + *rhs : *lhs - *rhs;
    // Products of products would leave the range of int.
    constexpr int most = 1 << 10;
    return std::abs(degree) <= most ? std::optional(degree) : std::nullopt;
  }
  for (ExprId operand : operands)
    if (getDegree(operand) != 0)
      return std::nullopt;
  return 0;
}

/// `id` with `number` for product and sum in rows with `condition`, but where
/// it `keepsTests`, in tests whether the sum is zero.
ExprId TailMover::replaceRows(ExprId id, ExprId condition, double number,
                              bool keepsTests) {
  if (id == parts.product || id == parts.sum)
    return pool.operation("arith.select", wide,
                          {condition, pool.number(number, wide), id});
  if (pool[id].kind != Expr::Kind::Operation || (keepsTests && isZeroTest(id)))
    return id;
  return computeOnce<ExprId>(replaced, id, [&] {
    return *rebuild(id, [&](ExprId operand) {
      return replaceRows(operand, condition, number, keepsTests);
    });
  });
}

/// `id` with product and sum zero in rows that are far below the least shift
/// everywhere. The program has only zeros there, in any precision; ours are
/// shifted by the maximum.
ExprId TailMover::emptyRows(ExprId id) {
  // Half of the least number in f64 is e to the power of -745.1.
  double leastExponent =
      pool.isOperation(own.exponential, "math.exp2") ? -1075 : -745.2;
  double limit = *own.leastShift + leastExponent / own.exponentFactor;
  ExprId isEmpty = pool.compare("arith.cmpf",
                                static_cast<int64_t>(arith::CmpFPredicate::OLT),
                                parts.maximum, pool.number(limit, wide));
  return replaceRows(id, isEmpty, 0, /*keepsTests=*/false);
}

std::optional<ExprId> TailMover::move(ExprId factor, ExprId tail) {
  std::optional<ExprId> moved = moveBehind(factor);
  if (!moved)
    return std::nullopt;
  // The tail reads what the contraction gave, with the factor as it was.
  tails[parts.product] = *moved;
  std::optional<ExprId> result = moveTail(tail);
  if (!result)
    return std::nullopt;
  if (getDegree(*result) == 0)
    return own.leastShift ? emptyRows(*result) : *result;
  if (!own.isShiftMaximum)
    return std::nullopt;
  if (own.isShiftFinite)
    return *result;
  // In rows that are masked entirely, where ours are zero, the program had
  // exponentials of minus infinity less itself.
  return replaceRows(*result, getSumTest(arith::CmpFPredicate::OEQ), NAN,
                     /*keepsTests=*/true);
}

std::optional<ExprId> chimera::moveBehindProduct(ExprPool &pool,
                                                 const ShiftedExponential &own,
                                                 const SoftmaxParts &parts,
                                                 ExprId factor, ExprId tail) {
  return TailMover(pool, own, parts).move(factor, tail);
}
