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

#include "Chimera/Chain/AffineSum.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace chimera;

namespace {

/// A truth value of the body, and what it has to be.
using Condition = std::pair<Value, unsigned>;

class BandFinder {
public:
  BandFinder(linalg::GenericOp op, ArrayRef<model::LoopId> loops);

  /// Notes what has to hold for `value` to be more than minus infinity.
  void find(Value value);
  SmallVector<model::Band> bands;

private:
  void visit(Value value);
  void visitCondition(Value condition, bool isWanted);
  void visitComparison(arith::CmpIOp comparison, bool isWanted);
  void addLimit(const AffineSum &sum);
  std::optional<AffineSum> getSum(Value value) const;

  ArrayRef<model::LoopId> loops;
  SmallVector<int64_t> extents;
  llvm::DenseMap<Value, AffineSum> sums;
  /// What has to be more than minus infinity, and what has to hold, each once:
  /// bodies share values.
  llvm::SetVector<Value> needed;
  llvm::SetVector<Condition> conditions;
};

} // namespace

BandFinder::BandFinder(linalg::GenericOp op, ArrayRef<model::LoopId> loops)
    : loops(loops), extents(op.getStaticLoopRanges()) {
  for (Operation &nested : op.getBlock()->without_terminator()) {
    if (nested.getNumResults() != 1)
      continue;
    std::optional<AffineSum> sum;
    if (auto index = dyn_cast<linalg::IndexOp>(nested)) {
      sum = AffineSum{{{index.getDim(), 1}}, 0};
    } else if (nested.getNumOperands() > 0) {
      SmallVector<std::optional<AffineSum>> operands;
      for (Value operand : nested.getOperands())
        operands.push_back(getSum(operand));
      sum = combineSums(nested.getName().getStringRef(),
                        nested.getResult(0).getType(),
                        nested.getOperand(0).getType(), operands, extents);
    }
    if (sum)
      sums[nested.getResult(0)] = std::move(*sum);
  }
}

std::optional<AffineSum> BandFinder::getSum(Value value) const {
  if (Attribute number; matchPattern(value, m_Constant(&number)))
    return getConstantSum(number);
  auto it = sums.find(value);
  return it == sums.end() ? std::nullopt : std::optional(it->second);
}

/// `sum` >= 0 has to hold.
void BandFinder::addLimit(const AffineSum &sum) {
  std::optional<unsigned> up, down;
  for (auto [dim, factor] : sum.factors) {
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

/// The signed predicate that says the same of two numbers, if there is one.
static std::optional<arith::CmpIPredicate>
asSigned(arith::CmpIPredicate predicate, bool areNeverNegative) {
  using Predicate = arith::CmpIPredicate;
  constexpr std::pair<Predicate, Predicate> pairs[] = {
      {Predicate::ult, Predicate::slt},
      {Predicate::ule, Predicate::sle},
      {Predicate::ugt, Predicate::sgt},
      {Predicate::uge, Predicate::sge}};
  for (auto [isUnsigned, isSigned] : pairs)
    if (predicate == isUnsigned)
      return areNeverNegative ? std::optional(isSigned) : std::nullopt;
  return predicate;
}

void BandFinder::visitComparison(arith::CmpIOp comparison, bool isWanted) {
  std::optional<AffineSum> lhs = getSum(comparison.getLhs()),
                           rhs = getSum(comparison.getRhs());
  if (!lhs || !rhs)
    return;
  bool areNeverNegative =
      getRange(*lhs, extents).first >= 0 && getRange(*rhs, extents).first >= 0;
  std::optional<arith::CmpIPredicate> compared =
      asSigned(comparison.getPredicate(), areNeverNegative);
  if (!compared)
    return;
  arith::CmpIPredicate predicate = *compared;
  if (!isWanted)
    predicate = arith::invertPredicate(predicate);
  AffineSum less = addMultiple(*rhs, *lhs, -1),
            more = addMultiple(*lhs, *rhs, -1), one = {{}, 1};
  using Predicate = arith::CmpIPredicate;
  if (predicate == Predicate::sle || predicate == Predicate::eq)
    addLimit(less);
  if (predicate == Predicate::slt)
    addLimit(addMultiple(less, one, -1));
  if (predicate == Predicate::sge || predicate == Predicate::eq)
    addLimit(more);
  if (predicate == Predicate::sgt)
    addLimit(addMultiple(more, one, -1));
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
      conditions.insert({operand, isWanted});
  if (auto exclusive = dyn_cast_or_null<arith::XOrIOp>(definition);
      exclusive && matchPattern(exclusive.getRhs(), m_One()))
    conditions.insert({exclusive.getLhs(), !isWanted});
}

void BandFinder::visit(Value value) {
  Operation *definition = value.getDefiningOp();
  if (isa_and_nonnull<arith::AddFOp>(definition))
    needed.insert_range(definition->getOperands());
  if (auto subtraction = dyn_cast_or_null<arith::SubFOp>(definition))
    needed.insert(subtraction.getLhs());
  if (auto product = dyn_cast_or_null<arith::MulFOp>(definition)) {
    FloatAttr factor;
    if (matchPattern(product.getRhs(), m_Constant(&factor)) &&
        factor.getValue().compare(APFloat::getZero(
            factor.getValue().getSemantics())) == APFloat::cmpGreaterThan)
      needed.insert(product.getLhs());
  }
  auto select = dyn_cast_or_null<arith::SelectOp>(definition);
  if (!select)
    return;
  bool isKept = matchPattern(select.getFalseValue(), m_NegInfFloat());
  if (!isKept && !matchPattern(select.getTrueValue(), m_NegInfFloat()))
    return;
  conditions.insert({select.getCondition(), isKept});
  needed.insert(isKept ? select.getTrueValue() : select.getFalseValue());
}

void BandFinder::find(Value value) {
  needed.insert(value);
  for (size_t i = 0; i < needed.size(); ++i)
    visit(needed[i]);
  for (size_t i = 0; i < conditions.size(); ++i) {
    auto [condition, isWanted] = conditions[i];
    visitCondition(condition, isWanted);
  }
}

SmallVector<model::Band> chimera::findBands(linalg::GenericOp op,
                                            ArrayRef<model::LoopId> loops) {
  BandFinder finder(op, loops);
  finder.find(op.getBlock()->getTerminator()->getOperand(0));
  return finder.bands;
}
