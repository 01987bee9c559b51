//===- ShapeValues.cpp - What programs compute of sizes -------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sizes/ShapeValues.h"

#include "Chimera/IR/Chimera.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace chimera;

ShapeValues::ShapeValues(func::FuncOp function) : open(function) {
  for (Block &block : function.getBody())
    for (Operation &op : block)
      read(op);
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

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// The result of a comparison that comes out the same for any sizes: equal
/// numbers are equal, and no size is negative.
std::optional<int64_t> ShapeValues::compare(Operation &op) const {
  auto cmp = cast<arith::CmpIOp>(op);
  std::optional<int64_t> lhs = getNumber(cmp.getLhs()),
                         rhs = getNumber(cmp.getRhs());
  if (!lhs || !rhs)
    return std::nullopt;
  bool isKnown = !open.isOpen(*lhs) && !open.isOpen(*rhs);
  arith::CmpIPredicate predicate = cmp.getPredicate();
  if (isKnown || *lhs == *rhs)
    return arith::applyCmpPredicate(predicate,
                                    APInt(64, *lhs, /*isSigned=*/true),
                                    APInt(64, *rhs, /*isSigned=*/true));
  if (*rhs == 0 && *lhs > 0 && predicate == arith::CmpIPredicate::slt)
    return 0;
  if (*rhs == 0 && *lhs > 0 && predicate == arith::CmpIPredicate::sge)
    return 1;
  return std::nullopt;
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
  int64_t result;
  if (isa<arith::MulIOp>(op))
    return llvm::MulOverflow(operands[0], operands[1], result)
               ? std::nullopt
               : std::optional<int64_t>(result);
  // Products divide into products; what has a rest depends on the sizes.
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp,
          arith::CeilDivSIOp>(op))
    return operands[1] > 0 && operands[0] >= 0 && operands[0] % operands[1] == 0
               ? std::optional<int64_t>(operands[0] / operands[1])
               : std::nullopt;
  bool isSum = isa<arith::AddIOp>(op), isDifference = isa<arith::SubIOp>(op);
  if (!isSum && !isDifference)
    return std::nullopt;
  if (operands[1] == 0)
    return operands[0];
  if (isSum && operands[0] == 0)
    return operands[1];
  if (open.isOpen(operands[0]) || open.isOpen(operands[1]))
    return std::nullopt;
  return isSum ? operands[0] + operands[1] : operands[0] - operands[1];
}
