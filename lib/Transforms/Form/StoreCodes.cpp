//===- StoreCodes.cpp - How codes of weights are stored -------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Form/StoreCodes.h"
#include "Chimera/IR/MicroKernels.h"
#include "Chimera/IR/NumberTypes.h"
#include "Form/BodyParts.h"
#include "Form/CodeRange.h"
#include "Form/SplitLoop.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace chimera;

/// Bits of a word, and of the codes that share one.
static constexpr int64_t wordBits = 32;
static constexpr int64_t kFieldBits[] = {4, 8};

int64_t StoredCodes::bits() const {
  return form == Form::Fields
             ? fieldBits
             : getElementTypeOrSelf(tensor).getIntOrFloatBitWidth();
}

Value StoredCodes::createNumber(OpBuilder &body, const ProductBody &product,
                                Value code) const {
  Type type = product.number.getType();
  IRMapping mapping;
  switch (form) {
  case Form::AsGiven:
    mapping.map(product.code, code);
    return cloneValue(body, product.number, mapping);
  case Form::Signed:
    return arith::SIToFPOp::create(body, code.getLoc(), type, code);
  case Form::Unsigned:
    return arith::UIToFPOp::create(body, code.getLoc(), type, code);
  case Form::Fields:
    return createBitField(body, code.getLoc(), code, fieldLoop, fieldBits);
  }
  llvm_unreachable("all kinds of storage are handled");
}

/// The integer that `code` stands for, less `least`, as a number of `type`.
static Value createStored(OpBuilder &builder, Location loc,
                          const ProductBody &product, Value code, Type type,
                          int64_t least) {
  IRMapping mapping;
  mapping.map(product.code, code);
  Value value = cloneValue(
      builder, product.number.getDefiningOp()->getOperand(0), mapping);
  // Modulo the number of integers that the type has, which is exact.
  Value first = arith::ConstantOp::create(
      builder, loc, builder.getIntegerAttr(value.getType(), least));
  value = arith::SubIOp::create(builder, loc, value, first);
  unsigned from = value.getType().getIntOrFloatBitWidth(),
           to = type.getIntOrFloatBitWidth();
  // What is left has no sign if it starts at zero.
  bool isSigned =
      least == 0 && isa<arith::SIToFPOp>(product.number.getDefiningOp());
  if (from < to && isSigned)
    return arith::ExtSIOp::create(builder, loc, type, value);
  if (from < to)
    return arith::ExtUIOp::create(builder, loc, type, value);
  if (from > to)
    return arith::TruncIOp::create(builder, loc, type, value);
  return value;
}

/// A loop of the sum along which codes share zero and scale, and fill words of
/// so many.
static std::optional<unsigned> findFieldLoop(linalg::GenericOp contraction,
                                             const ProductBody &product,
                                             int64_t fields) {
  SmallVector<int64_t> extents = contraction.getStaticLoopRanges();
  for (unsigned loop = extents.size(); loop-- > 0;)
    if (linalg::isReductionIterator(
            contraction.getIteratorTypesArray()[loop]) &&
        mapOf(contraction, product.code).isFunctionOfDim(loop) &&
        extents[loop] % fields == 0 &&
        !changesAlong(contraction, product.zero, loop) &&
        !changesAlong(contraction, product.scale, loop))
      return loop;
  return std::nullopt;
}

/// Packs integers of `bits` bits, those of some iterations of `loop`, into
/// words.
static FailureOr<StoredCodes> packFields(RewriterBase &rewriter,
                                         linalg::GenericOp &contraction,
                                         ProductBody &product, unsigned loop,
                                         int64_t bits, CodeRange range) {
  int64_t extent = contraction.getStaticLoopRanges()[loop];
  int64_t fields = wordBits / bits;
  FailureOr<linalg::GenericOp> split =
      splitLoop(rewriter, contraction, loop, {extent / fields, fields});
  if (failed(split))
    return failure();
  contraction = *split;
  product = *matchProductBody(*contraction.getBlock());
  unsigned fieldLoop = loop + 1;
  Location loc = contraction.getLoc();

  Value unpacked = contraction.getInputs()[product.code.getArgNumber()];
  auto type = cast<RankedTensorType>(unpacked.getType());
  AffineMap read = mapOf(contraction, product.code);
  SmallVector<int64_t> shape;
  SmallVector<AffineExpr> words, indices;
  SmallVector<utils::IteratorType> iterators;
  unsigned field = 0;
  for (auto [dim, index] : llvm::enumerate(read.getResults())) {
    bool isField = index.isFunctionOfDim(fieldLoop);
    iterators.push_back(isField ? utils::IteratorType::reduction
                                : utils::IteratorType::parallel);
    if (isField) {
      field = dim;
      continue;
    }
    shape.push_back(type.getDimSize(dim));
    words.push_back(rewriter.getAffineDimExpr(dim));
    indices.push_back(index);
  }
  Type word = rewriter.getI32Type();
  rewriter.setInsertionPoint(contraction);
  Value zero =
      arith::ConstantOp::create(rewriter, loc, rewriter.getZeroAttr(word));
  Value empty = tensor::EmptyOp::create(rewriter, loc, shape, word);
  Value none = linalg::FillOp::create(rewriter, loc, zero, empty).getResult(0);
  auto packed = linalg::GenericOp::create(
      rewriter, loc, none.getType(), unpacked, none,
      ArrayRef{rewriter.getMultiDimIdentityMap(type.getRank()),
               AffineMap::get(type.getRank(), 0, words, rewriter.getContext())},
      iterators, [&](OpBuilder &body, Location, ValueRange scalars) {
        Value stored =
            createStored(body, loc, product, scalars[0], word, range.least);
        Value position = arith::IndexCastOp::create(
            body, loc, word, linalg::IndexOp::create(body, loc, field));
        Value width = arith::ConstantOp::create(
            body, loc, body.getIntegerAttr(word, bits));
        Value first = arith::MulIOp::create(body, loc, position, width);
        Value shifted = arith::ShLIOp::create(body, loc, stored, first);
        linalg::YieldOp::create(
            body, loc,
            arith::OrIOp::create(body, loc, scalars[1], shifted).getResult());
      });
  StoredCodes codes{packed.getResult(0),
                    AffineMap::get(contraction.getNumLoops(), 0, indices,
                                   rewriter.getContext())};
  codes.form = StoredCodes::Form::Fields;
  codes.fieldLoop = fieldLoop;
  codes.fieldBits = bits;
  codes.least = range.least;
  return codes;
}

/// Stores each integer in a byte.
static void storeAsBytes(RewriterBase &rewriter, linalg::GenericOp contraction,
                         const ProductBody &product, CodeRange range,
                         StoredCodes &codes) {
  Location loc = contraction.getLoc();
  bool isSigned = range.least >= INT8_MIN && range.most <= INT8_MAX;
  codes.form =
      isSigned ? StoredCodes::Form::Signed : StoredCodes::Form::Unsigned;
  codes.least = isSigned ? 0 : range.least;
  Type byte = rewriter.getI8Type();
  auto type = cast<RankedTensorType>(codes.tensor.getType());
  rewriter.setInsertionPoint(contraction);
  Value empty = tensor::EmptyOp::create(rewriter, loc, type.getShape(), byte);
  AffineMap identity = rewriter.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  auto stored = linalg::GenericOp::create(
      rewriter, loc, empty.getType(), codes.tensor, empty,
      ArrayRef{identity, identity}, iterators,
      [&](OpBuilder &body, Location, ValueRange scalars) {
        linalg::YieldOp::create(
            body, loc,
            createStored(body, loc, product, scalars[0], byte, codes.least));
      });
  codes.tensor = stored.getResult(0);
}

FailureOr<StoredCodes> chimera::storeCodes(RewriterBase &rewriter,
                                           linalg::GenericOp &contraction,
                                           ProductBody &product) {
  StoredCodes codes{contraction.getInputs()[product.code.getArgNumber()],
                    mapOf(contraction, product.code)};
  Operation *decoding = product.number.getDefiningOp();
  std::optional<CodeRange> range = findRange(
      decoding->getOperand(0), /*isSigned=*/isa<arith::SIToFPOp>(decoding));
  if (!range)
    return failure();
  for (int64_t bits : kFieldBits)
    if (range->size() <= int64_t(1) << bits)
      if (std::optional<unsigned> loop =
              findFieldLoop(contraction, product, wordBits / bits))
        return packFields(rewriter, contraction, product, *loop, bits, *range);
  Type type = getElementTypeOrSelf(codes.tensor);
  if (!type.isInteger(8) && range->size() <= int64_t(1) << 8)
    storeAsBytes(rewriter, contraction, product, *range, codes);
  if (!canBeCode(getElementTypeOrSelf(codes.tensor)))
    return failure();
  return codes;
}
