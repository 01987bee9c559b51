//===- SeparateOffsets.cpp - Integer products without zero points ---------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Units multiply bytes as they are, one factor without a sign. A program may
// subtract a zero point from either factor first, and both may have signs. With
// s = 128 for a factor a whose sign is taken away, else 0,
//
//   sum (a - x) (b - y) = sum (a + s) b - (x + s) sum b - y sum a + k x y
//
// where the sum of b is found once if b is a weight. Integers wrap around, so
// the result is the same to the bit.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Chain/OpKinds.h"
#include "Chimera/Chain/SameInEveryCall.h"
#include "Chimera/IR/Chimera.h"
#include "Chimera/IR/MicroKernels.h"
#include "Chimera/IR/NumberTypes.h"
#include "Chimera/Target/Target.h"
#include "Chimera/Transforms/Passes.h"
#include "Form/NormalizeChain.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

namespace chimera {
#define GEN_PASS_DEF_SEPARATEOFFSETSPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

namespace {

/// A factor of a product: bytes, less a zero point.
struct Factor {
  Value tensor;
  AffineMap map;
  bool isUnsigned = false;
  /// A number of i32 from outside the operation; null if it is zero.
  Value zero;
};

/// Rewrites one product.
class OffsetSeparator {
public:
  /// With `keepsSigns`, both factors may have signs.
  OffsetSeparator(linalg::LinalgOp op, bool keepsSigns)
      : builder(op), op(op), keepsSigns(keepsSigns) {}

  bool match();
  void rewrite();

private:
  bool matchFactor(Value value, Factor &factor);
  bool matchZero(Value value, Factor &factor);
  void chooseShift();
  Value createShifted(const Factor &factor);
  Value createShifted(Value tensor);
  Value createShifted(tensor::PadOp pad, APInt padding);
  Value addUp(const Factor &factor, AffineMap &map);
  Value createProduct();

  Location loc() { return op.getLoc(); }

  OpBuilder builder;
  linalg::LinalgOp op;
  bool keepsSigns;
  Factor factors[2];
  /// The factor whose sign is taken away, if one is.
  std::optional<unsigned> shifted;
};

} // namespace

bool OffsetSeparator::matchZero(Value value, Factor &factor) {
  if (auto argument = dyn_cast<BlockArgument>(value);
      argument && argument.getOwner() == op.getBlock())
    value = op->getOperand(argument.getArgNumber());
  Operation *definition = value.getDefiningOp();
  bool isOutside = !definition || definition->getBlock() != op.getBlock();
  if (!isOutside || !value.getType().isInteger(32))
    return false;
  if (!matchPattern(value, m_Zero()))
    factor.zero = value;
  return true;
}

bool OffsetSeparator::matchFactor(Value value, Factor &factor) {
  if (auto difference = value.getDefiningOp<arith::SubIOp>()) {
    if (!matchZero(difference.getRhs(), factor))
      return false;
    value = difference.getLhs();
  }
  Operation *extension = value.getDefiningOp();
  if (!isa_and_present<arith::ExtSIOp, arith::ExtUIOp>(extension))
    return false;
  auto argument = dyn_cast<BlockArgument>(extension->getOperand(0));
  if (!argument || argument.getOwner() != op.getBlock() ||
      argument.getArgNumber() >= op.getNumDpsInputs() ||
      !canBeIntegerFactor(argument.getType()))
    return false;
  OpOperand &operand = op->getOpOperand(argument.getArgNumber());
  factor.tensor = operand.get();
  factor.map = op.getMatchingIndexingMap(&operand);
  factor.isUnsigned = isa<arith::ExtUIOp>(extension);
  return isa<RankedTensorType>(factor.tensor.getType());
}

/// The number that `pad` pads with, if it is known.
static std::optional<APInt> getPadding(tensor::PadOp pad) {
  APInt padding;
  Value value = pad.getConstantPaddingValue();
  return value && matchPattern(value, m_ConstantInt(&padding))
             ? std::optional(padding)
             : std::nullopt;
}

/// Changes a factor if the sums of the other one are found once, or else the
/// one that vectors do not run along.
void OffsetSeparator::chooseShift() {
  if (keepsSigns || factors[0].isUnsigned || factors[1].isUnsigned)
    return;
  AffineMap out = op.getIndexingMapsArray().back();
  auto last = dyn_cast<AffineDimExpr>(out.getResults().back());
  bool isFoundOnce = false;
  for (auto [index, factor] : llvm::enumerate(factors)) {
    const Factor &other = factors[1 - index];
    auto pad = factor.tensor.getDefiningOp<tensor::PadOp>();
    if (isFoundOnce || (pad && !getPadding(pad)) ||
        !other.map.isProjectedPermutation())
      continue;
    isFoundOnce = isSameInEveryCall(other.tensor);
    if (isFoundOnce ||
        (last && !factor.map.isFunctionOfDim(last.getPosition())))
      shifted = index;
  }
}

bool OffsetSeparator::match() {
  if (!op.hasPureTensorSemantics() || op.getNumDpsInits() != 1 ||
      op.getNumReductionLoops() == 0 || op.getBlock()->empty() ||
      op.hasIndexSemantics() ||
      !llvm::all_of(op->getOperandTypes(),
                    [](Type type) { return isStaticAndNotEmpty(type); }))
    return false;
  AffineMap out = op.getIndexingMapsArray().back();
  if (!out.isProjectedPermutation() || out.getNumResults() == 0 ||
      out.getNumResults() != op.getNumParallelLoops())
    return false;
  Value accumulator = op.getBlock()->getArguments().back();
  auto sum = op.getBlock()
                 ->getTerminator()
                 ->getOperand(0)
                 .getDefiningOp<arith::AddIOp>();
  if (!sum || !sum.getType().isInteger(32) ||
      (sum.getLhs() != accumulator && sum.getRhs() != accumulator))
    return false;
  Value added = sum.getLhs() == accumulator ? sum.getRhs() : sum.getLhs();
  auto product = added.getDefiningOp<arith::MulIOp>();
  if (!product || !matchFactor(product.getLhs(), factors[0]) ||
      !matchFactor(product.getRhs(), factors[1]))
    return false;
  chooseShift();
  for (unsigned index : {0, 1}) {
    bool isSummedUp = factors[1 - index].zero || shifted == 1 - index;
    if (isSummedUp && !factors[index].map.isProjectedPermutation())
      return false;
    // Every step has to be part of the sum.
    for (unsigned dim = 0; isSummedUp && dim < op.getNumLoops(); ++dim)
      if (!out.isFunctionOfDim(dim) && !factors[index].map.isFunctionOfDim(dim))
        return false;
  }
  return shifted || factors[0].zero || factors[1].zero;
}

/// `factor` with 128 added. What is padded is padded by what its padding
/// becomes: a copy takes less time than to add in every step of a sum.
Value OffsetSeparator::createShifted(const Factor &factor) {
  if (auto pad = factor.tensor.getDefiningOp<tensor::PadOp>())
    return createShifted(pad, *getPadding(pad));
  return createShifted(factor.tensor);
}

Value OffsetSeparator::createShifted(tensor::PadOp pad, APInt padding) {
  Value source = createShifted(pad.getSource());
  padding.flipBit(padding.getBitWidth() - 1);
  Type element = getElementTypeOrSelf(source);
  Value shifted = arith::ConstantOp::create(
      builder, loc(), builder.getIntegerAttr(element, padding));
  return tensor::PadOp::create(builder, loc(), pad.getType(), source,
                               pad.getMixedLowPad(), pad.getMixedHighPad(),
                               shifted, pad.getNofold());
}

/// `tensor` with 128 added, which turns the signs of its elements around.
Value OffsetSeparator::createShifted(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  Value empty = tensor::EmptyOp::create(builder, loc(), type.getShape(),
                                        type.getElementType());
  SmallVector<AffineMap> maps(2,
                              builder.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  Value shifted =
      linalg::GenericOp::create(
          builder, loc(), type, tensor, empty, maps, loops,
          [](OpBuilder &body, Location loc, ValueRange arguments) {
            Value sign = arith::ConstantOp::create(
                body, loc, body.getIntegerAttr(arguments[0].getType(), -128));
            linalg::YieldOp::create(
                body, loc,
                Value(arith::XOrIOp::create(body, loc, arguments[0], sign)));
          })
          .getResult(0);
  if (isSameInEveryCall(tensor))
    shifted = PrepareOp::create(builder, loc(), shifted);
  return shifted;
}

/// The sums of `factor` along what the product sums up, and their `map` in the
/// product's loops.
Value OffsetSeparator::addUp(const Factor &factor, AffineMap &map) {
  auto type = cast<RankedTensorType>(factor.tensor.getType());
  AffineMap out = op.getIndexingMapsArray().back();
  SmallVector<AffineExpr> kept, own;
  SmallVector<utils::IteratorType> loops;
  SmallVector<int64_t> shape;
  for (auto [position, result] : llvm::enumerate(factor.map.getResults())) {
    unsigned dim = cast<AffineDimExpr>(result).getPosition();
    bool isKept = out.isFunctionOfDim(dim);
    loops.push_back(isKept ? utils::IteratorType::parallel
                           : utils::IteratorType::reduction);
    if (!isKept)
      continue;
    kept.push_back(builder.getAffineDimExpr(
        *out.getResultPosition(builder.getAffineDimExpr(dim))));
    own.push_back(builder.getAffineDimExpr(position));
    shape.push_back(type.getDimSize(position));
  }
  MLIRContext *context = builder.getContext();
  map = AffineMap::get(out.getNumResults(), 0, kept, context);
  Value start = createFilled(builder, loc(), builder.getI32Type(), shape, 0);
  SmallVector<AffineMap> maps = {
      builder.getMultiDimIdentityMap(type.getRank()),
      AffineMap::get(type.getRank(), 0, own, context)};
  Value sums =
      linalg::GenericOp::create(
          builder, loc(), start.getType(), factor.tensor, start, maps, loops,
          [&](OpBuilder &body, Location loc, ValueRange arguments) {
            Value wide;
            if (factor.isUnsigned)
              wide = arith::ExtUIOp::create(body, loc, body.getI32Type(),
                                            arguments[0]);
            else
              wide = arith::ExtSIOp::create(body, loc, body.getI32Type(),
                                            arguments[0]);
            linalg::YieldOp::create(
                body, loc,
                Value(arith::AddIOp::create(body, loc, arguments[1], wide)));
          })
          .getResult(0);
  if (isSameInEveryCall(factor.tensor))
    sums = PrepareOp::create(builder, loc(), sums);
  return sums;
}

/// The product of the factors as they are, but for the sign that is taken away.
Value OffsetSeparator::createProduct() {
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (auto [index, factor] : llvm::enumerate(factors)) {
    inputs.push_back(shifted == index ? createShifted(factor) : factor.tensor);
    maps.push_back(factor.map);
  }
  maps.push_back(op.getIndexingMapsArray().back());
  auto extend = [&](OpBuilder &body, unsigned index, Value value) -> Value {
    if (factors[index].isUnsigned || shifted == index)
      return arith::ExtUIOp::create(body, loc(), body.getI32Type(), value);
    return arith::ExtSIOp::create(body, loc(), body.getI32Type(), value);
  };
  return createIntegerSums(builder, op, inputs, maps, op.getDpsInits()[0],
                           extend);
}

void OffsetSeparator::rewrite() {
  Value product = createProduct();
  auto type = cast<RankedTensorType>(product.getType());
  SmallVector<Value> inputs = {product};
  SmallVector<AffineMap> maps = {
      builder.getMultiDimIdentityMap(type.getRank())};
  // The position of the sums of each factor among the inputs, and of zeros.
  std::optional<size_t> sums[2], zeros[2];
  for (unsigned index : {0, 1}) {
    if (factors[index].zero) {
      zeros[index] = inputs.size();
      inputs.push_back(factors[index].zero);
      maps.push_back(AffineMap::get(type.getRank(), 0, builder.getContext()));
    }
    if (!factors[1 - index].zero && shifted != 1 - index)
      continue;
    sums[index] = inputs.size();
    maps.emplace_back();
    inputs.push_back(addUp(factors[index], maps.back()));
  }
  int64_t steps = 1;
  AffineMap out = op.getIndexingMapsArray().back();
  for (auto [dim, extent] : llvm::enumerate(op.getStaticLoopRanges()))
    steps *= out.isFunctionOfDim(dim) ? 1 : extent;
  maps.push_back(maps.front());
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  Value empty = tensor::EmptyOp::create(builder, loc(), type.getShape(),
                                        type.getElementType());
  auto corrected = linalg::GenericOp::create(
      builder, loc(), type, inputs, empty, maps, loops,
      [&](OpBuilder &body, Location loc, ValueRange arguments) {
        auto number = [&](int64_t value) -> Value {
          return arith::ConstantIntOp::create(body, loc, body.getI32Type(),
                                              value);
        };
        auto times = [&](Value lhs, Value rhs) -> Value {
          return arith::MulIOp::create(body, loc, lhs, rhs);
        };
        Value result = arguments[0];
        for (unsigned index : {0, 1}) {
          std::optional<size_t> others = sums[1 - index];
          if (!others)
            continue;
          Value offset = shifted == index ? number(128) : Value();
          if (zeros[index]) {
            Value zero = arguments[*zeros[index]];
            offset =
                offset ? arith::AddIOp::create(body, loc, zero, offset) : zero;
          }
          result = arith::SubIOp::create(body, loc, result,
                                         times(arguments[*others], offset));
        }
        if (zeros[0] && zeros[1]) {
          Value both = times(arguments[*zeros[0]], arguments[*zeros[1]]);
          result = arith::AddIOp::create(
              body, loc, result,
              times(both, number(static_cast<int32_t>(steps))));
        }
        linalg::YieldOp::create(body, loc, result);
      });
  op->getResult(0).replaceAllUsesWith(corrected.getResult(0));
  op->erase();
}

namespace {
struct SeparateOffsetsPass
    : chimera::impl::SeparateOffsetsPassBase<SeparateOffsetsPass> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<TargetAttrInterface> found =
        resolveTarget(getOperation(), target);
    if (failed(found))
      return signalPassFailure();
    OperatorSupport support = getOperatorSupport(getOperation(), *found);
    if (!support.multipliesIntegers)
      return;
    SmallVector<linalg::LinalgOp> ops;
    getOperation()->walk([&](linalg::LinalgOp op) {
      if (!op->getParentOfType<ChainOp>())
        ops.push_back(op);
    });
    for (linalg::LinalgOp op : ops)
      if (OffsetSeparator separator(op, support.keepsSigns); separator.match())
        separator.rewrite();
  }
};
} // namespace
