//===- MultiplyCodes.cpp - Products of dequantized factors as integers ----===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Quantizers leave operators in f32 and put conversions around them: integers
// become floats, (integer - zero) * scale, which are multiplied, and results
// become integers again. Compilers are to see that
//
//   sum (a - x) s (b - y) t  =  s t sum (a - x) (b - y)
//
// where s belongs to all of a, and t to all of b or to what is one in a result.
// The sum of integers is exact, so the result is rounded once.
//
//===----------------------------------------------------------------------===//

#include "Form/NormalizeChain.h"
#include "NamedRemarks.h"

#include "Chimera/Chain/OpKinds.h"
#include "Chimera/IR/Chimera.h"
#include "Chimera/IR/MicroKernels.h"
#include "Chimera/IR/NumberTypes.h"
#include "Chimera/Target/Target.h"
#include "Chimera/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"

namespace chimera {
#define GEN_PASS_DEF_MULTIPLYCODESPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

namespace {

/// A factor of a product: what bytes stand for.
struct Codes {
  Value tensor;
  bool isUnsigned = false;
  /// The integer that stands for zero.
  int64_t zero = 0;
  /// A number, a tensor with one for each place along dimension `along` of the
  /// bytes, or null for one.
  Value scale;
  std::optional<unsigned> along;

  int64_t getLeast() const { return isUnsigned ? 0 : -128; }
  int64_t getMost() const { return isUnsigned ? 255 : 127; }
  /// The largest difference of a code from zero.
  int64_t getLargest() const {
    return std::max(getMost() - zero, zero - getLeast());
  }
  /// True if a code stands for zero.
  bool hasZero() const { return getLeast() <= zero && zero <= getMost(); }
};

/// Reads the operation that makes floats of bytes, element by element.
class DequantizationReader {
public:
  explicit DequantizationReader(linalg::GenericOp op) : op(op) {}

  std::optional<Codes> read();

private:
  bool readScaled(Value value);
  bool readInteger(Value value);
  bool readCode(Value value);
  bool readScale(Value value);
  std::optional<int64_t> getInteger(Value value);
  OpOperand *getOperand(Value value);

  linalg::GenericOp op;
  Codes codes;
};

/// Rewrites one product.
class CodeMultiplier {
public:
  explicit CodeMultiplier(linalg::LinalgOp op) : builder(op), op(op) {}

  bool match();
  void rewrite();

private:
  bool fits();
  StringRef findObstacle();
  Value createSums();
  Value createResult(Value sums);

  Location loc() { return op.getLoc(); }

  OpBuilder builder;
  linalg::LinalgOp op;
  Codes factors[2];
};

} // namespace

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

/// The input of the operation that `value`, of its body, is an element of; null
/// if it is none.
OpOperand *DequantizationReader::getOperand(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != op.getBlock() ||
      argument.getArgNumber() >= op.getNumDpsInputs())
    return nullptr;
  return &op->getOpOperand(argument.getArgNumber());
}

/// The integer that `value`, of the body, is for all elements, if it is known.
std::optional<int64_t> DequantizationReader::getInteger(Value value) {
  Operation *extension = value.getDefiningOp();
  bool isUnsigned = isa_and_present<arith::ExtUIOp>(extension);
  if (isUnsigned || isa_and_present<arith::ExtSIOp>(extension))
    value = extension->getOperand(0);
  if (OpOperand *operand = getOperand(value))
    value = operand->get();
  APInt number;
  DenseIntElementsAttr all;
  if (matchPattern(value, m_Constant(&all)) && all.isSplat())
    number = all.getSplatValue<APInt>();
  else if (!matchPattern(value, m_ConstantInt(&number)))
    return std::nullopt;
  return isUnsigned ? number.getZExtValue() : number.getSExtValue();
}

/// A byte of an input that is read as it lies.
bool DequantizationReader::readCode(Value value) {
  OpOperand *operand = getOperand(value);
  if (!operand || !canBeIntegerFactor(value.getType()) ||
      !op.getMatchingIndexingMap(operand).isIdentity())
    return false;
  codes.tensor = operand->get();
  return true;
}

/// A byte, widened, less a zero.
bool DequantizationReader::readInteger(Value value) {
  if (auto difference = value.getDefiningOp<arith::SubIOp>()) {
    std::optional<int64_t> zero = getInteger(difference.getRhs());
    // A difference that wraps around has another value.
    constexpr int64_t largest = 1 << 14;
    if (!zero || std::abs(*zero) > largest ||
        difference.getType().getIntOrFloatBitWidth() < 16)
      return false;
    codes.zero = *zero;
    value = difference.getLhs();
    if (!isa_and_present<arith::ExtSIOp, arith::ExtUIOp>(value.getDefiningOp()))
      return false;
  }
  Operation *extension = value.getDefiningOp();
  if (!isa_and_present<arith::ExtSIOp, arith::ExtUIOp>(extension))
    return readCode(value);
  codes.isUnsigned = isa<arith::ExtUIOp>(extension);
  return readCode(extension->getOperand(0));
}

/// A number from outside, or that of a place along one dimension.
bool DequantizationReader::readScale(Value value) {
  codes.scale = value;
  OpOperand *operand = getOperand(value);
  if (!operand)
    return value.getParentBlock() != op.getBlock();
  AffineMap map = op.getMatchingIndexingMap(operand);
  codes.scale = operand->get();
  if (!isa<RankedTensorType>(codes.scale.getType()))
    return true;
  if (map.getNumResults() != 1 || !isa<AffineDimExpr>(map.getResult(0)))
    return false;
  codes.along = map.getDimPosition(0);
  return true;
}

/// An integer as a float, times a scale.
bool DequantizationReader::readScaled(Value value) {
  if (auto product = value.getDefiningOp<arith::MulFOp>()) {
    Value integer = product.getLhs(), scale = product.getRhs();
    if (!isa_and_present<arith::SIToFPOp, arith::UIToFPOp>(
            integer.getDefiningOp()))
      std::swap(integer, scale);
    if (!readScale(scale))
      return false;
    value = integer;
  }
  Operation *conversion = value.getDefiningOp();
  if (!isa_and_present<arith::SIToFPOp, arith::UIToFPOp>(conversion) ||
      !readInteger(conversion->getOperand(0)))
    return false;
  // Without an extension the conversion says what bytes are.
  bool hasSign = isa<arith::SIToFPOp>(conversion);
  if (canBeIntegerFactor(conversion->getOperand(0).getType()))
    codes.isUnsigned = !hasSign;
  return hasSign || (codes.isUnsigned && codes.zero == 0);
}

std::optional<Codes> DequantizationReader::read() {
  if (op.getNumReductionLoops() != 0 || op.getNumDpsInits() != 1 ||
      !op.hasPureTensorSemantics() || op.hasIndexSemantics() ||
      !op.getIndexingMapsArray().back().isIdentity() ||
      !getElementTypeOrSelf(op.getResult(0)).isF32() ||
      !readScaled(op.getBlock()->getTerminator()->getOperand(0)))
    return std::nullopt;
  return codes;
}

/// What `value` is made of, if it is what bytes stand for, transposed and
/// padded by zero.
static std::optional<Codes> findCodes(OpBuilder &builder, Value value) {
  if (auto op = value.getDefiningOp<linalg::GenericOp>())
    return DequantizationReader(op).read();
  Location loc = value.getLoc();
  if (auto pad = value.getDefiningOp<tensor::PadOp>()) {
    Value padding = pad.getConstantPaddingValue();
    std::optional<Codes> codes;
    if (!padding || !matchPattern(padding, m_AnyZeroFloat()) ||
        !(codes = findCodes(builder, pad.getSource())) || !codes->hasZero() ||
        (codes->along && pad.getPaddedDims().test(*codes->along)))
      return std::nullopt;
    Type element = getElementTypeOrSelf(codes->tensor);
    Value zero = arith::ConstantOp::create(
        builder, loc,
        builder.getIntegerAttr(element, APInt(8, codes->zero, /*isSigned=*/true,
                                              /*implicitTrunc=*/true)));
    codes->tensor = tensor::PadOp::create(
        builder, loc, pad.getType().clone(element), codes->tensor,
        pad.getMixedLowPad(), pad.getMixedHighPad(), zero, pad.getNofold());
    return codes;
  }
  auto transpose = value.getDefiningOp<linalg::TransposeOp>();
  if (!transpose)
    return std::nullopt;
  std::optional<Codes> codes = findCodes(builder, transpose.getInput());
  if (!codes)
    return std::nullopt;
  ArrayRef<int64_t> order = transpose.getPermutation();
  auto type = cast<RankedTensorType>(value.getType());
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        getElementTypeOrSelf(codes->tensor));
  codes->tensor =
      linalg::TransposeOp::create(builder, loc, codes->tensor, empty, order)
          ->getResult(0);
  if (codes->along)
    codes->along =
        std::distance(order.begin(), llvm::find(order, *codes->along));
  return codes;
}

/// True if a scale of `codes`, which `map` indexes, is one in each result of
/// `op`.
static bool isOneInResult(linalg::LinalgOp op, const Codes &codes,
                          AffineMap map) {
  if (!codes.along)
    return true;
  auto dim = dyn_cast<AffineDimExpr>(map.getResult(*codes.along));
  return dim && op.getIndexingMapsArray().back().getResultPosition(dim);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// True if no sum is too large for 32 bits.
bool CodeMultiplier::fits() {
  int64_t most = factors[0].getLargest() * factors[1].getLargest();
  AffineMap out = op.getIndexingMapsArray().back();
  for (auto [dim, extent] : llvm::enumerate(op.getStaticLoopRanges()))
    if (!out.isFunctionOfDim(dim) &&
        llvm::MulOverflow<int64_t>(most, extent, most))
      return false;
  return most <= std::numeric_limits<int32_t>::max();
}

/// True if both factors have neighbours along what is summed up, of which units
/// multiply several at once. A depthwise convolution adds up taps alone: its
/// integers would be multiplied one step after the other.
static bool hasNeighbours(linalg::LinalgOp op) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  return llvm::any_of(llvm::seq(op.getNumLoops()), [&](unsigned loop) {
    AffineExpr dim = getAffineDimExpr(loop, op.getContext());
    return extents[loop] > 1 && !maps[2].isFunctionOfDim(loop) &&
           maps[0].getResultPosition(dim) && maps[1].getResultPosition(dim);
  });
}

/// Why codes are not multiplied; empty if they are.
StringRef CodeMultiplier::findObstacle() {
  for (auto [factor, map] : llvm::zip(factors, op.getIndexingMapsArray()))
    if (!isOneInResult(op, factor, map))
      return "a scale changes along the sum";
  if (!hasNeighbours(op))
    return "nothing is summed up but the taps of a window";
  return fits() ? "" : "the sum of their integers may not fit into 32 bits";
}

bool CodeMultiplier::match() {
  if (!multipliesTensors(op) || op.getNumDpsInputs() != 2 ||
      op.getNumDpsInits() != 1 || !op.hasPureTensorSemantics() ||
      op.hasIndexSemantics() ||
      !llvm::all_of(op->getOperands(),
                    [](Value value) {
                      return isStaticAndNotEmpty(value.getType()) &&
                             getElementTypeOrSelf(value).isF32();
                    }) ||
      !op.getIndexingMapsArray().back().isProjectedPermutation())
    return false;
  for (unsigned index : {0, 1}) {
    std::optional<Codes> codes = findCodes(builder, op.getDpsInputs()[index]);
    if (!codes)
      return false;
    factors[index] = *codes;
  }
  StringRef obstacle = findObstacle();
  if (!obstacle.empty())
    remark::missed(loc(), named("quantized"))
        << ("dequantized factors are multiplied as floats: " + obstacle).str();
  return obstacle.empty();
}

/// The sums of products of integers.
Value CodeMultiplier::createSums() {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  Value start =
      createFilled(builder, loc(), builder.getI32Type(), type.getShape(), 0);
  Value zeros[2];
  for (auto [zero, factor] : llvm::zip_equal(zeros, factors))
    if (factor.zero != 0)
      zero = arith::ConstantIntOp::create(builder, loc(), builder.getI32Type(),
                                          factor.zero);
  auto integerOf = [&](OpBuilder &body, unsigned index, Value code) -> Value {
    Type type = body.getI32Type();
    Value wide =
        factors[index].isUnsigned
            ? arith::ExtUIOp::create(body, loc(), type, code).getResult()
            : arith::ExtSIOp::create(body, loc(), type, code);
    return zeros[index] ? arith::SubIOp::create(body, loc(), wide, zeros[index])
                              .getResult()
                        : wide;
  };
  return createIntegerSums(builder, op, {factors[0].tensor, factors[1].tensor},
                           op.getIndexingMapsArray(), start, integerOf);
}

/// `sums` times the scales of both factors, added to what the product was.
Value CodeMultiplier::createResult(Value sums) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  AffineMap out = op.getIndexingMapsArray().back();
  MLIRContext *context = builder.getContext();
  AffineMap each = builder.getMultiDimIdentityMap(type.getRank());
  SmallVector<Value> inputs = {sums};
  SmallVector<AffineMap> maps = {each};
  // The places of the scales among the inputs.
  SmallVector<unsigned> scales;
  for (auto [factor, map] : llvm::zip(factors, op.getIndexingMapsArray())) {
    if (!factor.scale)
      continue;
    SmallVector<AffineExpr> place;
    if (factor.along)
      place.push_back(builder.getAffineDimExpr(
          *out.getResultPosition(map.getResult(*factor.along))));
    scales.push_back(inputs.size());
    inputs.push_back(factor.scale);
    maps.push_back(AffineMap::get(type.getRank(), 0, place, context));
  }
  Value before = op.getDpsInits()[0];
  bool isAdded = !isZeroFill(before);
  if (isAdded) {
    inputs.push_back(before);
    maps.push_back(each);
  }
  maps.push_back(each);
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  Value empty = tensor::EmptyOp::create(builder, loc(), type.getShape(),
                                        type.getElementType());
  return linalg::GenericOp::create(
             builder, loc(), type, inputs, empty, maps, loops,
             [&](OpBuilder &body, Location loc, ValueRange arguments) {
               Value result = arith::SIToFPOp::create(
                   body, loc, body.getF32Type(), arguments[0]);
               for (unsigned scale : scales)
                 result =
                     arith::MulFOp::create(body, loc, result, arguments[scale]);
               if (isAdded)
                 result = arith::AddFOp::create(
                     body, loc, arguments[inputs.size() - 1], result);
               linalg::YieldOp::create(body, loc, result);
             })
      .getResult(0);
}

void CodeMultiplier::rewrite() {
  remark::passed(loc(), named("quantized"))
      << "dequantized factors are multiplied as integers, and sums scaled";
  op->getResult(0).replaceAllUsesWith(createResult(createSums()));
  op->erase();
}

//===----------------------------------------------------------------------===//
// What is left
//===----------------------------------------------------------------------===//

/// `value`, 64 bits wide, in 32 bits, if it is a byte or a half word, widened,
/// or a constant that fits.
static Value getNarrow(OpBuilder &builder, Value value) {
  constexpr unsigned wordBits = 32, mostBits = 16;
  Type word = builder.getI32Type();
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return number.isSignedIntN(mostBits)
               ? arith::ConstantIntOp::create(builder, value.getLoc(), word,
                                              number.getSExtValue())
                     .getResult()
               : Value();
  Operation *extension = value.getDefiningOp();
  if (!isa_and_present<arith::ExtSIOp, arith::ExtUIOp>(extension))
    return {};
  Value source = extension->getOperand(0);
  if (source.getType().getIntOrFloatBitWidth() > mostBits)
    return {};
  static_assert(mostBits < wordBits);
  if (isa<arith::ExtSIOp>(extension))
    return arith::ExtSIOp::create(builder, value.getLoc(), word, source);
  return arith::ExtUIOp::create(builder, value.getLoc(), word, source);
}

/// Computes the difference that `conversion` makes a float of in 32 bits, if it
/// is one of bytes in 64: half as many fit into a vector.
static void narrowDifference(arith::SIToFPOp conversion) {
  auto difference = conversion.getIn().getDefiningOp<arith::SubIOp>();
  if (!difference || !difference.getType().isInteger(64))
    return;
  OpBuilder builder(conversion);
  Value lhs = getNarrow(builder, difference.getLhs()),
        rhs = lhs ? getNarrow(builder, difference.getRhs()) : Value();
  if (rhs)
    conversion.getInMutable().set(
        arith::SubIOp::create(builder, conversion.getLoc(), lhs, rhs));
}

namespace {
struct MultiplyCodesPass
    : chimera::impl::MultiplyCodesPassBase<MultiplyCodesPass> {
  using Base::Base;

  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    FailureOr<TargetAttrInterface> found =
        resolveTarget(getOperation(), target);
    if (failed(found))
      return signalPassFailure();
    if (!getOperatorSupport(getOperation(), *found).multipliesIntegers)
      return;
    SmallVector<linalg::LinalgOp> ops;
    getOperation()->walk([&](linalg::LinalgOp op) {
      if (!op->getParentOfType<ChainOp>())
        ops.push_back(op);
    });
    for (linalg::LinalgOp op : ops)
      if (CodeMultiplier multiplier(op); multiplier.match())
        multiplier.rewrite();
    // Moves of codes that led nowhere are among it.
    eraseUnused(getOperation());
    getOperation()->walk(narrowDifference);
  }
};
} // namespace
