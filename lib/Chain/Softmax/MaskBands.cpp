//===- MaskBands.cpp - What masks leave of a matrix of scores -------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks back from what the body yields through operations that are minus
// infinity if one operand is, and notes the conditions under which it is not.
//
//===----------------------------------------------------------------------===//

#include "Softmax/MaskBands.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace chimera;

namespace {

/// The sum of indices times factors.
struct IndexSum {
  SmallVector<int64_t> factors;
  int64_t constant = 0;
};

class BandFinder {
public:
  BandFinder(linalg::GenericOp op, ArrayRef<model::LoopId> loops)
      : op(op), loops(loops) {}

  /// Notes what has to hold for `value` to be more than minus infinity.
  void visit(Value value);
  SmallVector<model::Band> bands;

private:
  void visitCondition(Value condition, bool isWanted);
  void visitComparison(arith::CmpIOp comparison, bool isWanted);
  void addLimit(const IndexSum &sum);
  std::optional<IndexSum> getSum(Value value);

  linalg::GenericOp op;
  ArrayRef<model::LoopId> loops;
};

} // namespace

static bool isNegativeInfinity(Value value) {
  FloatAttr number;
  return matchPattern(value, m_Constant(&number)) &&
         number.getValue().isInfinity() && number.getValue().isNegative();
}

std::optional<IndexSum> BandFinder::getSum(Value value) {
  IndexSum sum;
  sum.factors.assign(loops.size(), 0);
  if (IntegerAttr number; matchPattern(value, m_Constant(&number))) {
    if (number.getValue().getSignificantBits() > 32)
      return std::nullopt;
    sum.constant = number.getInt();
    return sum;
  }
  Operation *definition = value.getDefiningOp();
  if (auto index = dyn_cast_or_null<linalg::IndexOp>(definition)) {
    sum.factors[index.getDim()] = 1;
    return sum;
  }
  // Indices are small: they keep their values in 32 bits.
  if (isa_and_nonnull<arith::IndexCastOp, arith::ExtSIOp>(definition))
    return getSum(definition->getOperand(0));
  if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp>(definition))
    return std::nullopt;
  std::optional<IndexSum> lhs = getSum(definition->getOperand(0)),
                          rhs = getSum(definition->getOperand(1));
  if (!lhs || !rhs)
    return std::nullopt;
  int64_t sign = isa<arith::AddIOp>(definition) ? 1 : -1;
  for (auto [own, other] : llvm::zip_equal(lhs->factors, rhs->factors))
    own += sign * other;
  lhs->constant += sign * rhs->constant;
  return lhs;
}

/// `sum` >= 0 has to hold.
void BandFinder::addLimit(const IndexSum &sum) {
  std::optional<unsigned> up, down;
  for (auto [dim, factor] : llvm::enumerate(sum.factors)) {
    if (factor == 0)
      continue;
    std::optional<unsigned> &place = factor > 0 ? up : down;
    if (place || std::abs(factor) != 1)
      return;
    place = dim;
  }
  if (!up || !down)
    return;
  // up - down + constant >= 0, whichever of them is the column.
  model::Band below, above;
  below.column = loops[*up];
  below.row = loops[*down];
  below.least = -sum.constant;
  above.row = loops[*up];
  above.column = loops[*down];
  above.most = sum.constant + 1;
  bands.push_back(below);
  bands.push_back(above);
}

/// True if `sum` is never negative; indices are not.
static bool isNeverNegative(const IndexSum &sum) {
  return sum.constant >= 0 &&
         llvm::all_of(sum.factors, [](int64_t factor) { return factor >= 0; });
}

/// The signed predicate that says the same of `lhs` and `rhs`, if there is one.
static std::optional<arith::CmpIPredicate>
asSigned(arith::CmpIPredicate predicate, const IndexSum &lhs,
         const IndexSum &rhs) {
  using Predicate = arith::CmpIPredicate;
  constexpr std::pair<Predicate, Predicate> pairs[] = {
      {Predicate::ult, Predicate::slt},
      {Predicate::ule, Predicate::sle},
      {Predicate::ugt, Predicate::sgt},
      {Predicate::uge, Predicate::sge}};
  for (auto [isUnsigned, isSigned] : pairs)
    if (predicate == isUnsigned)
      return isNeverNegative(lhs) && isNeverNegative(rhs)
                 ? std::optional(isSigned)
                 : std::nullopt;
  return predicate;
}

void BandFinder::visitComparison(arith::CmpIOp comparison, bool isWanted) {
  std::optional<IndexSum> lhs = getSum(comparison.getLhs()),
                          rhs = getSum(comparison.getRhs());
  if (!lhs || !rhs)
    return;
  std::optional<arith::CmpIPredicate> compared =
      asSigned(comparison.getPredicate(), *lhs, *rhs);
  if (!compared)
    return;
  arith::CmpIPredicate predicate = *compared;
  if (!isWanted)
    predicate = arith::invertPredicate(predicate);
  auto subtract = [](IndexSum from, const IndexSum &what, int64_t constant) {
    for (auto [own, other] : llvm::zip_equal(from.factors, what.factors))
      own -= other;
    from.constant -= what.constant + constant;
    return from;
  };
  using Predicate = arith::CmpIPredicate;
  if (predicate == Predicate::sle || predicate == Predicate::eq)
    addLimit(subtract(*rhs, *lhs, 0));
  if (predicate == Predicate::slt)
    addLimit(subtract(*rhs, *lhs, 1));
  if (predicate == Predicate::sge || predicate == Predicate::eq)
    addLimit(subtract(*lhs, *rhs, 0));
  if (predicate == Predicate::sgt)
    addLimit(subtract(*lhs, *rhs, 1));
}

/// `condition` has to be `isWanted`.
void BandFinder::visitCondition(Value condition, bool isWanted) {
  Operation *definition = condition.getDefiningOp();
  if (auto comparison = dyn_cast_or_null<arith::CmpIOp>(definition))
    return visitComparison(comparison, isWanted);
  bool isSplit = isWanted ? isa_and_nonnull<arith::AndIOp>(definition)
                          : isa_and_nonnull<arith::OrIOp>(definition);
  if (isSplit)
    for (Value operand : definition->getOperands())
      visitCondition(operand, isWanted);
  if (auto exclusive = dyn_cast_or_null<arith::XOrIOp>(definition);
      exclusive && matchPattern(exclusive.getRhs(), m_One()))
    visitCondition(exclusive.getLhs(), !isWanted);
}

void BandFinder::visit(Value value) {
  Operation *definition = value.getDefiningOp();
  if (isa_and_nonnull<arith::AddFOp>(definition))
    for (Value operand : definition->getOperands())
      visit(operand);
  if (auto subtraction = dyn_cast_or_null<arith::SubFOp>(definition))
    visit(subtraction.getLhs());
  if (auto product = dyn_cast_or_null<arith::MulFOp>(definition)) {
    FloatAttr factor;
    if (matchPattern(product.getRhs(), m_Constant(&factor)) &&
        !factor.getValue().isNegative() && !factor.getValue().isZero())
      visit(product.getLhs());
  }
  auto select = dyn_cast_or_null<arith::SelectOp>(definition);
  if (!select)
    return;
  if (isNegativeInfinity(select.getFalseValue())) {
    visitCondition(select.getCondition(), true);
    visit(select.getTrueValue());
  } else if (isNegativeInfinity(select.getTrueValue())) {
    visitCondition(select.getCondition(), false);
    visit(select.getFalseValue());
  }
}

SmallVector<model::Band> chimera::findBands(linalg::GenericOp op,
                                            ArrayRef<model::LoopId> loops) {
  BandFinder finder(op, loops);
  finder.visit(op.getBlock()->getTerminator()->getOperand(0));
  return finder.bands;
}
