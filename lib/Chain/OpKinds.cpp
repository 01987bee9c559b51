//===- OpKinds.cpp - What kind of operation something is ------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Chain/OpKinds.h"

#include "Chimera/IR/Chimera.h"
#include "Chimera/IR/NumberTypes.h"
#include "Chimera/IR/ProductBody.h"

#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace chimera;

//===----------------------------------------------------------------------===//
// Index expressions
//===----------------------------------------------------------------------===//

std::optional<AffineIndex> chimera::linearize(AffineExpr expr,
                                              ArrayRef<int64_t> extents) {
  // A factor for each loop and the offset, unless there are divisions.
  SmallVector<int64_t> factors;
  if (failed(getFlattenedAffineExpr(expr, extents.size(), /*numSymbols=*/0,
                                    &factors)) ||
      factors.size() != extents.size() + 1)
    return std::nullopt;
  AffineIndex index;
  index.offset = factors.pop_back_val();
  for (auto [loop, factor] : llvm::enumerate(factors))
    if (factor != 0 && extents[loop] != 1)
      index.terms.push_back({static_cast<unsigned>(loop), factor});
  if (llvm::any_of(index.terms, [](auto term) { return term.second < 1; }))
    return std::nullopt;
  return index;
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

bool chimera::isStaticAndNotEmpty(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  // Placeholders of open sizes can be too large to be multiplied.
  return !shaped ||
         (shaped.hasStaticShape() && !llvm::is_contained(shaped.getShape(), 0));
}

static bool isNumberType(Type type) {
  return isa<FloatType>(type) || type.isIndex() || type.isSignlessInteger();
}

static bool isStaticTensorOrNumber(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return isNumberType(type);
  return isStaticAndNotEmpty(tensor) && !tensor.getEncoding() &&
         isNumberType(tensor.getElementType());
}

static bool isConversion(Operation *op) {
  return isa_and_nonnull<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp,
                         arith::TruncFOp, arith::SIToFPOp, arith::UIToFPOp>(op);
}

static Value skipConversions(Value value) {
  while (isConversion(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

/// The operands of `value`'s definition if it is one of `OpTys`.
template <typename... OpTys>
static std::optional<std::pair<Value, Value>> matchBinary(Value value) {
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<OpTys...>(op))
    return std::nullopt;
  return std::make_pair(op->getOperand(0), op->getOperand(1));
}

bool chimera::hasQuantizedFactor(linalg::LinalgOp op) {
  std::optional<ProductBody> product = matchProductBody(*op.getBlock());
  return product && product->isQuantized();
}

bool chimera::multipliesTensors(linalg::LinalgOp op) {
  Block &body = *op.getBlock();
  if (op.getNumReductionLoops() > 0 && hasQuantizedFactor(op))
    return true;
  if (op.getNumReductionLoops() == 0 || op.getNumDpsInputs() != 2 ||
      op.getNumDpsInits() != 1 || body.getNumArguments() != 3)
    return false;
  Value accumulator = body.getArgument(2);
  auto sum = matchBinary<arith::AddFOp, arith::AddIOp>(
      body.getTerminator()->getOperand(0));
  if (!sum || (sum->first != accumulator && sum->second != accumulator))
    return false;
  Value added = sum->first == accumulator ? sum->second : sum->first;
  auto product =
      matchBinary<arith::MulFOp, arith::MulIOp>(skipConversions(added));
  if (!product)
    return false;
  Value lhs = skipConversions(product->first),
        rhs = skipConversions(product->second);
  return (lhs == body.getArgument(0) && rhs == body.getArgument(1)) ||
         (lhs == body.getArgument(1) && rhs == body.getArgument(0));
}

bool chimera::isComputeIntensive(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics() || !multipliesTensors(op) ||
      !llvm::all_of(op->getOperandTypes(), isStaticTensorOrNumber) ||
      !llvm::all_of(op.getDpsInputs(), [](Value input) {
        return isa<RankedTensorType>(input.getType());
      }))
    return false;
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  // Each input element must be used for several results.
  bool isReused = false;
  for (OpOperand *input : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(input);
    for (AffineExpr expr : map.getResults()) {
      std::optional<AffineIndex> index = linearize(expr, extents);
      if (!index)
        return false;
      isReused |= index->terms.size() > 1;
    }
    for (auto [loop, extent] : llvm::enumerate(extents))
      isReused |= extent > 1 && !map.isFunctionOfDim(loop);
  }
  return isReused && op.getMatchingIndexingMap(op.getDpsInitOperand(0))
                         .isProjectedPermutation(/*allowZeroInResults=*/true);
}

//===----------------------------------------------------------------------===//
// What lies between operators
//===----------------------------------------------------------------------===//

bool chimera::hasScalarBody(linalg::LinalgOp op) {
  for (Operation &nested : *op.getBlock())
    if (nested.getNumRegions() > 0 || !isMemoryEffectFree(&nested))
      return false;
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  return llvm::all_of(captured, [](Value value) {
    return value.getType().isIntOrIndexOrFloat();
  });
}

bool chimera::isPointwise(linalg::LinalgOp op) {
  return op.hasPureTensorSemantics() && !isStart(op) &&
         !isComputeIntensive(op) && hasScalarBody(op) &&
         llvm::all_of(op->getOperandTypes(), isStaticTensorOrNumber) &&
         llvm::all_of(op.getIndexingMapsArray(), [](AffineMap map) {
           return map.isProjectedPermutation(/*allowZeroInResults=*/true);
         });
}

/// True if `op` makes one tensor of one tensor, element by element.
static bool mapsTensor(linalg::LinalgOp op) {
  return isParallel(op) && op.getNumDpsInputs() == 1 &&
         op.getNumDpsInits() == 1 &&
         isa<RankedTensorType>(op.getDpsInputs()[0].getType());
}

/// True if `op` yields its only tensor as it is or in a wider type.
static bool yieldsInput(linalg::LinalgOp op) {
  if (!mapsTensor(op))
    return false;
  Value yielded = op.getBlock()->getTerminator()->getOperand(0);
  while (isa_and_nonnull<arith::ExtFOp>(yielded.getDefiningOp()))
    yielded = yielded.getDefiningOp()->getOperand(0);
  return yielded == op.getBlock()->getArgument(0) && isPointwise(op);
}

bool chimera::isMove(Operation *op) {
  if (auto pad = dyn_cast<tensor::PadOp>(op))
    return isZeroPad(pad);
  if (isReshape(op))
    return isStaticTensorOrNumber(op->getOperand(0).getType()) &&
           isStaticTensorOrNumber(op->getResult(0).getType());
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return linalgOp && yieldsInput(linalgOp);
}

bool chimera::isZeroPad(tensor::PadOp op) {
  Value value = op.getConstantPaddingValue();
  auto isNatural = [](OpFoldResult amount) {
    std::optional<int64_t> constant = getConstantIntValue(amount);
    return constant && *constant >= 0;
  };
  return value &&
         (matchPattern(value, m_AnyZeroFloat()) ||
          matchPattern(value, m_Zero())) &&
         isStaticTensorOrNumber(op.getSource().getType()) &&
         isStaticTensorOrNumber(op.getResultType()) &&
         llvm::all_of(op.getMixedLowPad(), isNatural) &&
         llvm::all_of(op.getMixedHighPad(), isNatural);
}

bool chimera::isStart(Operation *op) {
  return isa<tensor::EmptyOp, linalg::FillOp>(op) ||
         matchPattern(op, m_Constant());
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

bool chimera::isParallel(linalg::LinalgOp op) {
  return op.getNumLoops() == op.getNumParallelLoops();
}

bool chimera::isReshape(Operation *op) {
  return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op);
}

bool chimera::isMovement(linalg::LinalgOp op) {
  Block *body = op.getBlock();
  return mapsTensor(op) &&
         body->getTerminator()->getOperand(0) == body->getArgument(0);
}

/// The conversion of what `op` yields to a narrower type, if that is what it
/// yields or is widened again.
static arith::TruncFOp getTruncation(linalg::LinalgOp op) {
  Value yielded = op.getBlock()->getTerminator()->getOperand(0);
  return skipWidening(yielded).getDefiningOp<arith::TruncFOp>();
}

bool chimera::isNarrowing(linalg::LinalgOp op) {
  if (!isParallel(op) || op.getNumDpsInputs() != 1)
    return false;
  arith::TruncFOp truncation = getTruncation(op);
  return truncation && truncation.getIn() == op.getBlock()->getArgument(0) &&
         llvm::all_of(op.getIndexingMapsArray(),
                      [](AffineMap map) { return map.isIdentity(); });
}

Type chimera::getNarrowedType(linalg::LinalgOp op) {
  return getTruncation(op).getType();
}

bool chimera::isUnitReshape(Operation *op) {
  if (!isReshape(op))
    return false;
  auto source = cast<RankedTensorType>(op->getOperand(0).getType());
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  if (!source.hasStaticShape() || !result.hasStaticShape())
    return false;
  auto isReal = [](int64_t extent) { return extent != 1; };
  return llvm::equal(llvm::make_filter_range(source.getShape(), isReal),
                     llvm::make_filter_range(result.getShape(), isReal));
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

bool chimera::isRowReduction(linalg::LinalgOp op) {
  return op.getNumReductionLoops() == 1 && op.hasPureTensorSemantics() &&
         !isSupportedOperator(op) && !linalg::isaContractionOpInterface(op) &&
         !linalg::isaConvolutionOpInterface(op);
}

/// The number that `value` is: a constant, rounded to each of the floats that
/// it is converted to.
static std::optional<double> getNumber(Value value) {
  FloatAttr constant;
  if (matchPattern(value, m_Constant(&constant)))
    return constant.getValueAsDouble();
  if (!isa_and_nonnull<arith::ExtFOp, arith::TruncFOp>(value.getDefiningOp()))
    return std::nullopt;
  std::optional<double> number =
      getNumber(value.getDefiningOp()->getOperand(0));
  if (number)
    number = roundTo(value.getType(), *number);
  return number;
}

std::optional<double> chimera::getScale(linalg::LinalgOp op) {
  if (!mapsTensor(op) || op.hasIndexSemantics() ||
      !llvm::all_of(op.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isPermutation(); }))
    return std::nullopt;
  Block *body = op.getBlock();
  Value input = body->getArgument(0);
  Operation *scale = body->getTerminator()->getOperand(0).getDefiningOp();
  if (!isa_and_nonnull<arith::MulFOp, arith::DivFOp>(scale) ||
      !canBeSum(scale->getResult(0).getType()))
    return std::nullopt;
  auto isInput = [&](Value value) { return skipWidening(value) == input; };
  bool isFirst = isInput(scale->getOperand(0));
  if (!isFirst && (isa<arith::DivFOp>(scale) || !isInput(scale->getOperand(1))))
    return std::nullopt;
  std::optional<double> number = getNumber(scale->getOperand(isFirst ? 1 : 0));
  if (!number || *number == 0 || !std::isfinite(*number))
    return std::nullopt;
  return isa<arith::DivFOp>(scale) ? 1.0 / *number : *number;
}

bool chimera::isScaling(linalg::LinalgOp op) {
  return getScale(op).has_value();
}

//===----------------------------------------------------------------------===//
// What code is generated from
//===----------------------------------------------------------------------===//

/// True if code is generated from the body of a contraction and the types of
/// its factors and sums, and all shapes are static.
static bool hasFactorsAndSums(linalg::LinalgOp op) {
  if (!llvm::all_of(op->getOperandTypes(), [](Type operand) {
        auto type = dyn_cast<RankedTensorType>(operand);
        return type && type.hasStaticShape() && !type.getEncoding();
      }))
    return false;
  std::optional<ProductBody> product = matchProductBody(*op.getBlock());
  if (product && product->isInteger())
    return true;
  if (!product || !canBeFactor(product->factor.getType()))
    return false;
  Type other = product->code.getType();
  return (product->isQuantized() ? canBeCode(other) : canBeFactor(other)) &&
         canBeSum(op.getBlock()->getArguments().back().getType());
}

bool chimera::isSumOfLoops(AffineMap map, ArrayRef<int64_t> extents) {
  llvm::SmallBitVector used(extents.size());
  for (AffineExpr expr : map.getResults()) {
    std::optional<AffineIndex> index = linearize(expr, extents);
    if (!index || index->offset != 0)
      return false;
    for (auto [loop, factor] : index->terms) {
      if (used.test(loop))
        return false;
      used.set(loop);
    }
  }
  return true;
}

bool chimera::isSupportedOperator(linalg::LinalgOp op) {
  if (op.getNumDpsInits() != 1 || op.getNumReductionLoops() == 0 ||
      !op.hasPureTensorSemantics() || !hasFactorsAndSums(op))
    return false;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  if (!llvm::all_of(ArrayRef(maps).drop_back(),
                    [&](AffineMap map) { return isSumOfLoops(map, extents); }))
    return false;
  // The output is indexed by exactly the parallel loops.
  return maps.back().isProjectedPermutation() &&
         maps.back().getNumResults() != 0 &&
         maps.back().getNumResults() == op.getNumParallelLoops();
}

bool chimera::isSupportedContraction(linalg::LinalgOp op) {
  return isSupportedOperator(op) &&
         llvm::all_of(op.getIndexingMapsArray(), [](AffineMap map) {
           return map.isProjectedPermutation();
         });
}

/// True if vectors of `type` can be loaded: truth values are bytes in memory.
static bool isLoadable(Type type) {
  return isa<FloatType>(type) || type.isIndex() ||
         (type.isSignlessInteger() && type.getIntOrFloatBitWidth() >= 8 &&
          type.getIntOrFloatBitWidth() <= 64);
}

/// True if the operands are static tensors of numbers that can be loaded.
static bool hasStaticNumberOperands(linalg::LinalgOp op) {
  return llvm::all_of(op->getOperands(), [](Value operand) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    if (!type)
      return operand.getType().isIntOrIndexOrFloat();
    return isLoadable(type.getElementType()) && type.hasStaticShape() &&
           !type.getEncoding();
  });
}

bool chimera::isSupportedElementwise(linalg::LinalgOp op) {
  if (op.getNumDpsInits() != 1 || op.getNumLoops() == 0 || !isParallel(op) ||
      !op.hasPureTensorSemantics() || !hasStaticNumberOperands(op) ||
      !canBeResult(getElementTypeOrSelf(op->getResultTypes()[0])))
    return false;
  return llvm::all_of(op.getIndexingMapsArray(), [](AffineMap map) {
    return map.isProjectedPermutation();
  });
}

bool chimera::isZeroFill(Value value) {
  auto fill = value.getDefiningOp<linalg::FillOp>();
  return fill && isZero(fill.getInputs()[0]);
}

bool chimera::isContractionLike(linalg::LinalgOp op) {
  return op.getNumReductionLoops() > 0 &&
         (isSupportedOperator(op) || linalg::isaContractionOpInterface(op) ||
          linalg::isaConvolutionOpInterface(op));
}

//===----------------------------------------------------------------------===//
// What operations read
//===----------------------------------------------------------------------===//

llvm::SetVector<Value> chimera::getReadValues(Operation *op) {
  llvm::SetVector<Value> values(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), values);
  return values;
}
