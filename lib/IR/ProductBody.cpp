//===- ProductBody.cpp - What a contraction adds up -----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/IR/ProductBody.h"

#include "Chimera/IR/Chimera.h"
#include "Chimera/IR/NumberTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace chimera;

bool ProductBody::isInteger() const { return factor.getType().isInteger(); }

bool ProductBody::isQuantized() const {
  return code.getType().isInteger() && !isInteger();
}

/// The operation that makes a number of an integer, if one makes `value`.
static Operation *getDecoding(Value value) {
  Operation *op = value.getDefiningOp();
  return isa_and_present<arith::SIToFPOp, arith::UIToFPOp>(op) ? op : nullptr;
}

namespace {

/// What a value of a body depends on.
class Reading {
public:
  /// Fails if `value` depends on what is neither an argument of `body`, nor a
  /// constant, nor computed from them in the body without side effects.
  static std::optional<Reading> of(Value value, Block &body) {
    Reading reading;
    llvm::SetVector<Value> slice;
    slice.insert(value);
    for (size_t i = 0; i < slice.size(); ++i)
      if (!reading.add(slice[i], body, slice))
        return std::nullopt;
    return reading;
  }

  SmallVector<BlockArgument> arguments;
  /// True if some integer becomes a float on the way.
  bool decodes = false;
  /// True if it is another value in each iteration of a loop.
  bool asksForPosition = false;

private:
  bool add(Value value, Block &body, llvm::SetVector<Value> &slice) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      arguments.push_back(argument);
      return argument.getOwner() == &body;
    }
    Operation *op = value.getDefiningOp();
    bool isConstant = op->hasTrait<OpTrait::ConstantLike>();
    if (op->getNumRegions() > 0 || !isPure(op) ||
        (op->getBlock() != &body && !isConstant))
      return false;
    decodes |= getDecoding(value) != nullptr;
    asksForPosition |= isa<linalg::IndexOp, IndexOp>(op);
    slice.insert_range(op->getOperands());
    return true;
  }
};

} // namespace

/// Takes `value`, a number or one less another, apart.
static bool matchShifted(Value value, Block &block, ProductBody &body) {
  if (auto difference = value.getDefiningOp<arith::SubFOp>()) {
    body.zero = difference.getRhs();
    value = difference.getLhs();
  }
  if (!getDecoding(value))
    return false;
  auto reading = Reading::of(value, block);
  if (!reading || reading->arguments.size() != 1)
    return false;
  body.number = value;
  body.code = reading->arguments.front();
  return body.isQuantized();
}

/// The same of such a value, or of its product with a scale.
static bool matchScaled(Value value, Block &block, ProductBody &body) {
  auto factors = matchProduct(value);
  if (!factors)
    return matchShifted(value, block, body);
  auto first = Reading::of(factors->first, block),
       second = Reading::of(factors->second, block);
  if (!first || !second || first->decodes == second->decodes)
    return false;
  body.scale = first->decodes ? factors->second : factors->first;
  return matchShifted(first->decodes ? factors->first : factors->second, block,
                      body);
}

/// Takes `value`, the other factor of `body`, apart.
static bool matchQuantized(Value value, Block &block, ProductBody &body) {
  if (!matchScaled(value, block, body))
    return false;
  // Each argument has one part.
  llvm::SmallPtrSet<Value, 4> taken = {body.factor, body.code};
  for (Value part : {body.zero, body.scale}) {
    if (!part)
      continue;
    auto reading = Reading::of(part, block);
    if (!reading || reading->asksForPosition)
      return false;
    for (BlockArgument argument : reading->arguments)
      if (!taken.insert(argument).second)
        return false;
  }
  return taken.size() + 1 == body.code.getOwner()->getNumArguments();
}

/// The argument of `body` that `value` is, but for its type, if it is a float.
static BlockArgument getFloat(Value value, Block &body) {
  auto argument = dyn_cast<BlockArgument>(skipWidening(value));
  bool isFloat = argument && argument.getOwner() == &body &&
                 isa<FloatType>(argument.getType());
  return isFloat ? argument : BlockArgument();
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// The operation that extends an argument of `body` to `value`, if one does.
static Operation *getExtension(Value value, Block &body) {
  Operation *op = value.getDefiningOp();
  if (!isa_and_present<arith::ExtSIOp, arith::ExtUIOp>(op))
    return nullptr;
  auto argument = dyn_cast<BlockArgument>(op->getOperand(0));
  return argument && argument.getOwner() == &body ? op : nullptr;
}

/// `body` if it multiplies two integers and adds the product in the type of
/// their sums.
static std::optional<ProductBody> matchIntegers(Block &body) {
  BlockArgument accumulator = body.getArguments().back();
  auto sum = body.getTerminator()->getOperand(0).getDefiningOp<arith::AddIOp>();
  if (!sum || body.getNumArguments() != 3 ||
      (sum.getLhs() != accumulator && sum.getRhs() != accumulator))
    return std::nullopt;
  Value added = sum.getLhs() == accumulator ? sum.getRhs() : sum.getLhs();
  auto product = added.getDefiningOp<arith::MulIOp>();
  if (!product)
    return std::nullopt;
  Operation *first = getExtension(product.getLhs(), body),
            *second = getExtension(product.getRhs(), body);
  if (!first || !second || first->getOperand(0) == second->getOperand(0))
    return std::nullopt;
  ProductBody matched;
  for (Operation *extension : {first, second}) {
    auto argument = cast<BlockArgument>(extension->getOperand(0));
    if (argument == accumulator || !canBeIntegerFactor(argument.getType()) ||
        added.getType() != getSumType(argument.getType()))
      return std::nullopt;
    bool isFirst = argument.getArgNumber() == 0;
    (isFirst ? matched.factor : matched.code) = argument;
    (isFirst ? matched.isFactorUnsigned : matched.isCodeUnsigned) =
        isa<arith::ExtUIOp>(extension);
    if (!isFirst)
      matched.number = extension->getResult(0);
  }
  return matched;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

std::optional<ProductBody> chimera::matchProductBody(Block &body) {
  if (body.getNumArguments() < 3 || !body.mightHaveTerminator() ||
      body.getTerminator()->getNumOperands() != 1)
    return std::nullopt;
  if (auto integers = matchIntegers(body))
    return integers;
  BlockArgument accumulator = body.getArguments().back();
  auto sum = matchSum(body.getTerminator()->getOperand(0));
  if (!sum || (sum->first != accumulator && sum->second != accumulator))
    return std::nullopt;
  Value added = sum->first == accumulator ? sum->second : sum->first;
  auto factors = matchProduct(added);
  if (!factors || !canBeSum(added.getType()))
    return std::nullopt;
  BlockArgument first = getFloat(factors->first, body),
                second = getFloat(factors->second, body);
  ProductBody product;
  if (first && second) {
    bool isInOrder = first.getArgNumber() == 0;
    product.factor = isInOrder ? first : second;
    product.code = isInOrder ? second : first;
    product.number = isInOrder ? factors->second : factors->first;
    if (body.getNumArguments() != 3 || first == second ||
        first == accumulator || second == accumulator)
      return std::nullopt;
    return product;
  }
  if (!first && !second)
    return std::nullopt;
  product.factor = first ? first : second;
  if (product.factor == accumulator ||
      !matchQuantized(first ? factors->second : factors->first, body, product))
    return std::nullopt;
  return product;
}

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

/// The dimension whose position `value` is.
static std::optional<unsigned> getDim(Value value) {
  if (auto index = value.getDefiningOp<linalg::IndexOp>())
    return index.getDim();
  if (auto index = value.getDefiningOp<IndexOp>())
    return index.getDim();
  return std::nullopt;
}

/// The constant that `value` is.
static std::optional<int64_t> getConstant(Value value) {
  APInt constant;
  if (!matchPattern(value, m_ConstantInt(&constant)))
    return std::nullopt;
  return constant.getSExtValue();
}

Value chimera::createBitField(OpBuilder &builder, Location loc, Value code,
                              unsigned dim, unsigned bits) {
  Type type = code.getType();
  Value position = linalg::IndexOp::create(builder, loc, dim);
  Value width = arith::ConstantIndexOp::create(builder, loc, bits);
  Value first = arith::IndexCastOp::create(
      builder, loc, type, arith::MulIOp::create(builder, loc, position, width));
  Value mask = arith::ConstantOp::create(
      builder, loc, builder.getIntegerAttr(type, (int64_t(1) << bits) - 1));
  Value field = arith::AndIOp::create(
      builder, loc, arith::ShRUIOp::create(builder, loc, code, first), mask);
  return arith::SIToFPOp::create(builder, loc,
                                 getWideType(builder.getContext()), field);
}

std::optional<BitField> chimera::matchBitField(Value number) {
  auto decoding = number.getDefiningOp<arith::SIToFPOp>();
  if (!decoding)
    return std::nullopt;
  auto masked = decoding.getIn().getDefiningOp<arith::AndIOp>();
  auto shifted =
      masked ? masked.getLhs().getDefiningOp<arith::ShRUIOp>() : nullptr;
  auto cast =
      shifted ? shifted.getRhs().getDefiningOp<arith::IndexCastOp>() : nullptr;
  auto scaled = cast ? cast.getIn().getDefiningOp<arith::MulIOp>() : nullptr;
  if (!scaled)
    return std::nullopt;
  auto code = dyn_cast<BlockArgument>(shifted.getLhs());
  std::optional<unsigned> dim = getDim(scaled.getLhs());
  std::optional<int64_t> bits = getConstant(scaled.getRhs()),
                         mask = getConstant(masked.getRhs());
  if (!code || !dim || !bits || !mask || *bits < 1 || *bits > 16 ||
      *mask != (int64_t(1) << *bits) - 1)
    return std::nullopt;
  return BitField{code, *dim, static_cast<unsigned>(*bits)};
}
