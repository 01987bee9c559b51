//===- AssertedSizes.cpp - Sizes that a program says are equal ------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A prompt looks at as many keys of a cache as it has tokens: the smaller of
// their number and of the length of the cache, as importers write it. That is
// no product of sizes. But it meets the number of tokens in a product, and
// importers assert that the two are equal there. Positions are cut from a table
// likewise, and meet the tokens in a sum, where they have to be as many.
//
//===----------------------------------------------------------------------===//

#include "Sizes/AssertedSizes.h"

#include "Sizes/ShapeValues.h"
#include "Sizes/SizeClasses.h"

#include "Chimera/IR/Chimera.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace chimera;

namespace {
/// A number that is asserted to be the size that `placeholder` stands for.
struct AssertedSize {
  Value number;
  int64_t placeholder;
  StringAttr message;
};
} // namespace

/// The index that `value` is, as far as no bits are cut off.
static Value skipCasts(Value value) {
  while (auto cast = value.getDefiningOp<arith::IndexCastOp>()) {
    if (!isa<IndexType>(cast.getType()) && !cast.getType().isInteger(64))
      break;
    value = cast.getIn();
  }
  return value;
}

/// The first number in `function` that is asserted to be a size, not known to
/// be one, and read by others than the assertion.
static std::optional<AssertedSize> findAssertedSize(func::FuncOp function) {
  ShapeValues values(function);
  OpenSizes open(function);
  for (auto check : function.getOps<cf::AssertOp>()) {
    auto compare = check.getArg().getDefiningOp<arith::CmpIOp>();
    if (!compare || compare.getPredicate() != arith::CmpIPredicate::eq)
      continue;
    Value sides[] = {skipCasts(compare.getLhs()), skipCasts(compare.getRhs())};
    for (auto [own, other] : {std::pair(0, 1), std::pair(1, 0)}) {
      std::optional<int64_t> size = values.getNumber(sides[other]);
      Operation *definition = sides[own].getDefiningOp();
      if (size && llvm::is_contained(open.getPlaceholders(), *size) &&
          !values.getNumber(sides[own]) && definition &&
          definition->getParentOp() == function &&
          sides[own].getType().isIndex() && !sides[own].hasOneUse())
        return AssertedSize{sides[own], *size, check.getMsgAttr()};
    }
  }
  return std::nullopt;
}

/// The placeholder that an argument has along a dimension of the class `known`.
static std::optional<int64_t> findArgumentSize(func::FuncOp function,
                                               const SizeClasses &classes,
                                               const OpenSizes &open,
                                               unsigned known) {
  for (BlockArgument argument : function.getArguments())
    if (auto type = dyn_cast<RankedTensorType>(argument.getType()))
      for (auto [dim, size] : llvm::enumerate(type.getShape()))
        if (llvm::is_contained(open.getPlaceholders(), size) &&
            classes.getClass(argument, dim) == known)
          return size;
  return std::nullopt;
}

/// The first size that a slice in `function` is cut to which is not known, but
/// has to be that of an argument.
static std::optional<AssertedSize> findCutSize(func::FuncOp function) {
  ShapeValues values(function);
  SizeClasses classes(function);
  OpenSizes open(function);
  for (auto slice : function.getOps<tensor::ExtractSliceOp>()) {
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    unsigned dim = 0;
    for (auto [place, size] : llvm::enumerate(slice.getMixedSizes())) {
      if (dropped.test(place))
        continue;
      unsigned known = classes.getClass(slice, dim++);
      auto number = dyn_cast<Value>(size);
      if (!number || known == ~0u || values.getNumber(number))
        continue;
      if (Value index = skipCasts(number); index.getType().isIndex())
        number = index;
      Operation *definition = number.getDefiningOp();
      if (!definition || definition->getParentOp() != function)
        continue;
      if (auto found = findArgumentSize(function, classes, open, known))
        return AssertedSize{
            number, *found,
            StringAttr::get(function.getContext(),
                            "sizes of tensors that meet are not the same")};
    }
  }
  return std::nullopt;
}

/// Lets all read the size instead of the number, which is compared at once:
/// what came before the assertion is now as long as the size says.
static void takeSize(const AssertedSize &asserted) {
  OpBuilder builder(asserted.number.getContext());
  builder.setInsertionPointAfterValue(asserted.number);
  Location loc = asserted.number.getLoc();
  Value size = SizeOp::create(builder, loc, builder.getIndexType(),
                              asserted.placeholder);
  auto compare = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                       asserted.number, size);
  cf::AssertOp::create(builder, loc, compare, asserted.message);
  Value number = asserted.number;
  number.replaceAllUsesExcept(size, compare);
}

/// True if a dimension of `slice` is cut to an open size from another one.
static bool isCutToOpenSize(tensor::ExtractSliceOp slice,
                            const ShapeValues &values, const OpenSizes &open) {
  for (auto [dim, size] : llvm::enumerate(slice.getMixedSizes())) {
    auto value = dyn_cast<Value>(size);
    std::optional<int64_t> number =
        value ? values.getNumber(value) : std::nullopt;
    if (number && open.isOpen(*number) &&
        values.getSize(slice.getSource(), dim) != *number)
      return true;
  }
  return false;
}

/// Reads `slice` element by element. A placeholder is larger than what it is
/// cut from, which no slice may be.
static void readByElements(tensor::ExtractSliceOp slice) {
  OpBuilder builder(slice);
  Location loc = slice.getLoc();
  RankedTensorType type = slice.getType();
  Value empty = tensor::EmptyOp::create(builder, loc, slice.getMixedSizes(),
                                        type.getElementType());
  unsigned rank = type.getRank();
  AffineMap identity = builder.getMultiDimIdentityMap(rank);
  SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
  auto read = linalg::GenericOp::create(
      builder, loc, empty.getType(), ValueRange(), empty, identity, loops,
      [&](OpBuilder &body, Location, ValueRange) {
        SmallVector<Value> indices;
        for (unsigned dim = 0; dim < rank; ++dim) {
          Value index = linalg::IndexOp::create(body, loc, dim);
          int64_t offset = slice.getStaticOffset(dim),
                  stride = slice.getStaticStride(dim);
          if (stride != 1)
            index = arith::MulIOp::create(
                body, loc, index,
                arith::ConstantIndexOp::create(body, loc, stride));
          if (offset != 0)
            index = arith::AddIOp::create(
                body, loc, index,
                arith::ConstantIndexOp::create(body, loc, offset));
          indices.push_back(index);
        }
        Value element =
            tensor::ExtractOp::create(body, loc, slice.getSource(), indices);
        linalg::YieldOp::create(body, loc, element);
      });
  Value result = read.getResult(0);
  if (result.getType() != type)
    result = tensor::CastOp::create(builder, loc, type, result);
  slice.replaceAllUsesWith(result);
  slice.erase();
}

void chimera::takeAssertedSizes(func::FuncOp function) {
  while (std::optional<AssertedSize> asserted = findAssertedSize(function))
    takeSize(*asserted);
  while (std::optional<AssertedSize> cut = findCutSize(function))
    takeSize(*cut);
  ShapeValues values(function);
  OpenSizes open(function);
  for (auto slice : llvm::to_vector(function.getOps<tensor::ExtractSliceOp>()))
    if (slice.getType().getRank() == slice.getSourceType().getRank() &&
        slice.getOffsets().empty() && slice.getStrides().empty() &&
        isCutToOpenSize(slice, values, open))
      readByElements(slice);
}
