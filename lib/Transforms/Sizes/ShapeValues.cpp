//===- ShapeValues.cpp - What programs compute of sizes -------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sizes/ShapeValues.h"

#include "Chimera/IR/Chimera.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace chimera;

ShapeValues::ShapeValues(func::FuncOp function, bool takesSums)
    : open(function), takesSums(takesSums) {
  size_t numSums;
  // What was read before a sum had a name may be that sum.
  do {
    numSums = open.getSums().size();
    for (Block &block : function.getBody())
      for (Operation &op : block)
        read(op);
  } while (open.getSums().size() != numSums);
}

std::optional<int64_t> ShapeValues::getNumber(Value value) const {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getBitWidth() == 1
               ? static_cast<int64_t>(constant.getZExtValue())
               : constant.getSExtValue();
  auto found = numbers.find(value);
  return found == numbers.end() ? std::nullopt
                                : std::optional<int64_t>(found->second);
}

std::optional<int64_t> ShapeValues::getSize(Value tensor, unsigned dim) const {
  Shape shape = getShape(tensor);
  if (dim >= shape.size() || ShapedType::isDynamic(shape[dim]))
    return std::nullopt;
  return shape[dim];
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// What is known of the shape of `tensor`, by its type or otherwise.
ShapeValues::Shape ShapeValues::getShape(Value tensor) const {
  if (auto found = shapes.find(tensor); found != shapes.end())
    return found->second;
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  return type ? Shape(type.getShape()) : Shape();
}

void ShapeValues::setShape(Value tensor, Shape shape) {
  auto type = cast<RankedTensorType>(tensor.getType());
  for (auto [known, size] : llvm::zip_equal(shape, type.getShape()))
    if (!ShapedType::isDynamic(size))
      known = size;
  shapes[tensor] = std::move(shape);
}

ShapeValues::Shape ShapeValues::toShape(ArrayRef<OpFoldResult> sizes) const {
  Shape shape;
  for (OpFoldResult size : sizes) {
    std::optional<int64_t> number = getConstantIntValue(size);
    if (auto value = dyn_cast<Value>(size); value && !number)
      number = getNumber(value);
    shape.push_back(number.value_or(ShapedType::kDynamic));
  }
  return shape;
}

void ShapeValues::read(Operation &op) {
  if (op.getNumResults() == 1 && op.getResult(0).getType().isIntOrIndex()) {
    if (std::optional<int64_t> number = evaluate(op))
      numbers[op.getResult(0)] = *number;
    return;
  }
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    if (linalgOp.hasPureTensorSemantics())
      for (OpOperand &init : linalgOp.getDpsInitsMutable())
        setShape(linalgOp.getTiedOpResult(&init), getShape(init.get()));
  } else if (auto empty = dyn_cast<tensor::EmptyOp>(op)) {
    setShape(empty, toShape(empty.getMixedSizes()));
  } else if (auto concat = dyn_cast<tensor::ConcatOp>(op)) {
    readConcat(concat);
  } else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    setShape(expand, toShape(expand.getMixedOutputShape()));
  } else if (auto cast = dyn_cast<tensor::CastOp>(op)) {
    if (isa<RankedTensorType>(cast.getType()) &&
        isa<RankedTensorType>(cast.getSource().getType()))
      setShape(cast, getShape(cast.getSource()));
  } else if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    Shape source = getShape(collapse.getSrc()), shape;
    for (ReassociationIndices group : collapse.getReassociationIndices()) {
      int64_t size = 1;
      for (int64_t dim : group)
        if (ShapedType::isDynamic(source[dim]) || ShapedType::isDynamic(size) ||
            llvm::MulOverflow(size, source[dim], size))
          size = ShapedType::kDynamic;
      shape.push_back(size);
    }
    setShape(collapse, shape);
  } else if (auto reshape = dyn_cast<tensor::ReshapeOp>(op)) {
    auto sizes = reshape.getShape().getDefiningOp<tensor::FromElementsOp>();
    if (sizes && isa<RankedTensorType>(reshape.getType()))
      setShape(reshape, toShape(getAsOpFoldResult(sizes.getElements())));
  }
}

/// Sizes along the dimension that is joined add up; the others are those of any
/// part.
void ShapeValues::readConcat(tensor::ConcatOp concat) {
  Shape shape(concat.getResultType().getRank(), ShapedType::kDynamic);
  std::optional<int64_t> sum = 0;
  for (Value part : concat.getInputs()) {
    for (auto [dim, size] : llvm::enumerate(getShape(part))) {
      if (dim != concat.getDim())
        shape[dim] = ShapedType::isDynamic(size) ? shape[dim] : size;
      else
        sum = sum && !ShapedType::isDynamic(size) ? addSizes(*sum, size)
                                                  : std::nullopt;
    }
  }
  shape[concat.getDim()] = sum.value_or(ShapedType::kDynamic);
  setShape(concat, shape);
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// What `size` is the sum of.
ArrayRef<int64_t> ShapeValues::getTerms(const int64_t &size) const {
  for (const OpenSizes::Sum &sum : open.getSums())
    if (sum.size == size)
      return sum.terms;
  return size;
}

/// Adds `terms` to `sum`, or takes them off; those that have the same sizes as
/// factors become one. False if a number is too large.
bool ShapeValues::addTerms(SmallVectorImpl<int64_t> &sum,
                           ArrayRef<int64_t> terms, bool isNegative) const {
  for (int64_t term : terms) {
    SmallVector<unsigned> factors = open.factor(term).first;
    auto *same = llvm::find_if(sum, [&](int64_t known) {
      return open.factor(known).first == factors;
    });
    if (same == sum.end())
      same = sum.insert(sum.end(), 0);
    if (isNegative ? llvm::SubOverflow(*same, term, *same)
                   : llvm::AddOverflow(*same, term, *same))
      return false;
    if (*same == 0)
      sum.erase(same);
  }
  llvm::sort(sum, std::greater<>());
  return true;
}

std::optional<SmallVector<int64_t>> ShapeValues::addTerms(int64_t lhs,
                                                          int64_t rhs) const {
  SmallVector<int64_t> sum;
  if (!addTerms(sum, getTerms(lhs)) || !addTerms(sum, getTerms(rhs)))
    return std::nullopt;
  return sum;
}

bool ShapeValues::isAtLeast(int64_t lhs, int64_t rhs) const {
  bool isGreatest = lhs == std::numeric_limits<int64_t>::max();
  if (isGreatest || (!open.isOpen(lhs) && !open.isOpen(rhs)))
    return lhs >= rhs;
  SmallVector<int64_t> difference;
  // No size is negative.
  return addTerms(difference, getTerms(lhs)) &&
         addTerms(difference, getTerms(rhs), /*isNegative=*/true) &&
         llvm::all_of(difference, [](int64_t term) { return term > 0; });
}

/// `lhs + rhs`, if it is a number, a product of sizes or a sum that is known.
std::optional<int64_t> ShapeValues::add(int64_t lhs, int64_t rhs) const {
  std::optional<SmallVector<int64_t>> terms = addTerms(lhs, rhs);
  if (!terms)
    return std::nullopt;
  if (terms->size() <= 1)
    return terms->empty() ? 0 : terms->front();
  for (const OpenSizes::Sum &sum : open.getSums())
    if (sum.terms == *terms)
      return sum.size;
  return std::nullopt;
}

/// The same, of sizes; a new sum is a placeholder from then on.
std::optional<int64_t> ShapeValues::addSizes(int64_t lhs, int64_t rhs) {
  std::optional<int64_t> known = add(lhs, rhs);
  int64_t size;
  if (known || !takesSums || llvm::AddOverflow(lhs, rhs, size))
    return known;
  // Nothing else may look like it.
  if (llvm::any_of(open.getPlaceholders(), [&](int64_t other) {
        return size % other == 0 || other % size == 0;
      }))
    return std::nullopt;
  open.add({size, *addTerms(lhs, rhs)});
  return size;
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// The result of a comparison that comes out the same for any sizes.
std::optional<int64_t> ShapeValues::compare(Operation &op) const {
  auto cmp = cast<arith::CmpIOp>(op);
  std::optional<int64_t> lhs = getNumber(cmp.getLhs()),
                         rhs = getNumber(cmp.getRhs());
  if (!lhs || !rhs)
    return std::nullopt;
  arith::CmpIPredicate predicate = cmp.getPredicate();
  if ((!open.isOpen(*lhs) && !open.isOpen(*rhs)) || *lhs == *rhs)
    return arith::applyCmpPredicate(predicate,
                                    APInt(64, *lhs, /*isSigned=*/true),
                                    APInt(64, *rhs, /*isSigned=*/true));
  bool isLess = predicate == arith::CmpIPredicate::slt,
       isMore = predicate == arith::CmpIPredicate::sgt;
  if ((isLess || predicate == arith::CmpIPredicate::sge) &&
      isAtLeast(*lhs, *rhs))
    return !isLess;
  if ((isMore || predicate == arith::CmpIPredicate::sle) &&
      isAtLeast(*rhs, *lhs))
    return !isMore;
  return std::nullopt;
}

/// The smaller of two numbers, if it is the same one for any sizes.
std::optional<int64_t> ShapeValues::getSmaller(int64_t lhs, int64_t rhs) const {
  if (isAtLeast(lhs, rhs))
    return rhs;
  return isAtLeast(rhs, lhs) ? std::optional<int64_t>(lhs) : std::nullopt;
}

std::optional<int64_t> ShapeValues::evaluate(Operation &op) const {
  if (auto dim = dyn_cast<tensor::DimOp>(op)) {
    std::optional<int64_t> index = dim.getConstantIndex();
    return index ? getSize(dim.getSource(), *index) : std::nullopt;
  }
  if (auto size = dyn_cast<SizeOp>(op))
    return size.getPlaceholder();
  if (isa<arith::CmpIOp>(op))
    return compare(op);
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    std::optional<int64_t> condition = getNumber(select.getCondition());
    std::optional<int64_t> yes = getNumber(select.getTrueValue()),
                           no = getNumber(select.getFalseValue());
    if (condition)
      return *condition ? yes : no;
    return yes == no ? yes : std::nullopt;
  }
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op))
    return evaluate(apply, apply.getAffineMap().getResult(0));
  if (!isa<arith::ArithDialect>(op.getDialect()))
    return std::nullopt;
  SmallVector<int64_t> operands;
  for (Value operand : op.getOperands()) {
    std::optional<int64_t> number = getNumber(operand);
    if (!number)
      return std::nullopt;
    operands.push_back(*number);
  }
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
          arith::ExtUIOp>(op))
    return operands[0];
  if (isa<arith::MinSIOp, arith::MaxSIOp>(op)) {
    std::optional<int64_t> smaller = getSmaller(operands[0], operands[1]);
    if (!smaller || isa<arith::MinSIOp>(op))
      return smaller;
    return *smaller == operands[0] ? operands[1] : operands[0];
  }
  if (isa<arith::MulIOp>(op))
    return combine(AffineExprKind::Mul, operands[0], operands[1]);
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>(op))
    return combine(AffineExprKind::FloorDiv, operands[0], operands[1]);
  if (isa<arith::CeilDivSIOp>(op))
    return combine(AffineExprKind::CeilDiv, operands[0], operands[1]);
  if (isa<arith::AddIOp>(op))
    return combine(AffineExprKind::Add, operands[0], operands[1]);
  if (isa<arith::SubIOp>(op) &&
      operands[1] != std::numeric_limits<int64_t>::min())
    return combine(AffineExprKind::Add, operands[0], -operands[1]);
  return std::nullopt;
}

/// `lhs` and `rhs` as `kind` combines them. Products divide into products; what
/// has a rest depends on the sizes.
std::optional<int64_t> ShapeValues::combine(AffineExprKind kind, int64_t lhs,
                                            int64_t rhs) const {
  int64_t result;
  switch (kind) {
  case AffineExprKind::Add:
    return add(lhs, rhs);
  case AffineExprKind::Mul:
    return llvm::MulOverflow(lhs, rhs, result) ? std::nullopt
                                               : std::optional<int64_t>(result);
  case AffineExprKind::FloorDiv:
  case AffineExprKind::CeilDiv:
    return rhs > 0 && lhs >= 0 && lhs % rhs == 0
               ? std::optional<int64_t>(lhs / rhs)
               : std::nullopt;
  case AffineExprKind::Mod:
    return rhs > 0 && lhs >= 0 && lhs % rhs == 0 ? std::optional<int64_t>(0)
                                                 : std::nullopt;
  default:
    return std::nullopt;
  }
}

/// The value of `expr`, an index of the results of `apply`.
std::optional<int64_t> ShapeValues::evaluate(affine::AffineApplyOp apply,
                                             AffineExpr expr) const {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return getNumber(apply.getDimOperands()[dim.getPosition()]);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return getNumber(apply.getSymbolOperands()[symbol.getPosition()]);
  auto binary = cast<AffineBinaryOpExpr>(expr);
  std::optional<int64_t> lhs = evaluate(apply, binary.getLHS()),
                         rhs = evaluate(apply, binary.getRHS());
  return lhs && rhs ? combine(expr.getKind(), *lhs, *rhs) : std::nullopt;
}
