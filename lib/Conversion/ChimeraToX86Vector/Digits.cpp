//===- Digits.cpp - Rows as digits, for fields of words -------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers of four bits that are made floats take three instructions for each
// vector of them, and one row leaves nothing to share these among. Dot products
// of bytes (vpdpbusd) multiply four times as many, if the row is in bytes too:
// what a group of weights multiplies becomes integers, x = X u, where the unit
// u is a power of two and the largest X has 30 bits, and these become digits,
//
//   X = 2^24 d3 + 2^16 d2 + 2^8 d1 + d0,   -128 <= d < 128
//
// so that sum q X = 2^24 sum q d3 + ... + sum q d0, where the sums are exact.
// Elements are rounded to 2^-29 of the group's largest, 32 times finer than f32
// has the largest itself, or to the least normal number where that is more. An
// element that is no finite number makes its unit, and so every sum of its
// group, NaN.
//
// A word of eight fields is two vectors of bytes, those of the even and those
// of the odd fields; the digits of a place lie in the same order.
//
//===----------------------------------------------------------------------===//

#include "FactorDecoder.h"
#include "X86Intrinsics.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace chimera;

/// Fields of a word, digits of a number, and bits of a field.
static constexpr int64_t fields = 8, places = 4, bitsOfField = 4;
/// Numbers that are cut into digits at once: those of two words.
static constexpr int64_t atOnce = 16;
/// The exponent's bits of a float, and where they begin.
static constexpr int64_t exponentBits = 0x7F800000, exponentAt = 23;
/// What is added to an exponent.
static constexpr int64_t bias = 127;
/// The largest integers are at least two to this power.
static constexpr int64_t largestPower = 29;

static Value createWords(OpBuilder &builder, Location loc, Type type,
                         int64_t word) {
  auto number = IntegerAttr::get(getElementTypeOrSelf(type),
                                 APInt(32, static_cast<uint64_t>(word)));
  if (auto vector = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(builder, loc,
                                     DenseElementsAttr::get(vector, number));
  return arith::ConstantOp::create(builder, loc, number);
}

/// True if rows lie as digits are read: word after word.
bool FactorDecoder::mayUseDigits(ArrayRef<unsigned> inner) {
  unsigned factor = product.factor.getArgNumber();
  bool hasBytes =
      llvm::any_of(figures.dots, [](Type type) { return type.isInteger(8); });
  if (!hasBytes || lanes != atOnce || !field || field->bits != bitsOfField ||
      extents[field->dim] != fields || inner.size() < 2 ||
      !field->code.getType().isInteger(32) || !hasSharedParts())
    return false;
  AffineMap map = maps[factor];
  unsigned rank = map.getNumResults();
  SmallVector<int64_t> strides;
  int64_t offset;
  auto type = cast<MemRefType>(op->getOperand(factor).getType());
  return rank >= 2 && map.getDimPosition(rank - 1) == field->dim &&
         map.getDimPosition(rank - 2) == inner[inner.size() - 2] &&
         succeeded(type.getStridesAndOffset(strides, offset)) &&
         strides[rank - 2] == fields;
}

/// Calls `body` for the words along `inner`, two of the innermost dimension at
/// a time, with how many numbers they have; it updates `carried`.
void FactorDecoder::forEachPair(
    SmallVectorImpl<Value> &here, ArrayRef<unsigned> inner,
    SmallVectorImpl<Value> &carried,
    function_ref<SmallVector<Value>(LaneCount, ValueRange)> body) {
  unsigned innermost = inner[inner.size() - 2];
  here[field->dim] = constant(0);
  std::function<SmallVector<Value>(ArrayRef<unsigned>, ValueRange)> nest =
      [&](ArrayRef<unsigned> dims, ValueRange values) -> SmallVector<Value> {
    if (!dims.empty())
      return buildLoopOver(dims.front(), values,
                           [&](Value iv, ValueRange inside) {
                             here[dims.front()] = iv;
                             return nest(dims.drop_front(), inside);
                           });
    int64_t words = extents[innermost], even = words / 2 * 2;
    SmallVector<Value> results =
        buildLoop(0, even, 2, values, [&](Value iv, ValueRange inside) {
          here[innermost] = iv;
          return body(atOnce, inside);
        });
    if (even == words)
      return results;
    here[innermost] = constant(even);
    return body(fields, results);
  };
  SmallVector<Value> results = nest(inner.drop_back(2), carried);
  carried.assign(results.begin(), results.end());
}

/// The numbers of two words, or of one.
Value FactorDecoder::loadWords(ArrayRef<Value> here, LaneCount count) {
  return loadVector(product.factor.getArgNumber(), here, count, atOnce);
}

/// The bits of the largest number of a group, its sign left out. NaN is the
/// largest.
Value FactorDecoder::findLargest(SmallVector<Value> here,
                                 ArrayRef<unsigned> inner) {
  VectorType words = vectorType(builder.getI32Type());
  SmallVector<Value> largest = {zero(words)};
  forEachPair(here, inner, largest,
              [&](LaneCount count, ValueRange values) -> SmallVector<Value> {
                Value bits = arith::BitcastOp::create(builder, loc(), words,
                                                      loadWords(here, count));
                bits = arith::AndIOp::create(
                    builder, loc(), bits,
                    createWords(builder, loc(), words, 0x7FFFFFFF));
                return {
                    arith::MaxUIOp::create(builder, loc(), values[0], bits)};
              });
  return vector::ReductionOp::create(
      builder, loc(), vector::CombiningKind::MAXUI, largest.front());
}

/// What numbers of which the largest has the bits `largest` are multiplied by
/// to become integers, and what integers by to become numbers again.
std::pair<Value, Value> FactorDecoder::findUnits(Value largest) {
  Type word = builder.getI32Type(), number = getWideType(builder.getContext());
  auto powerOf = [&](int64_t exponent) {
    return createWords(builder, loc(), word, exponent << exponentAt);
  };
  Value exponent = arith::AndIOp::create(
      builder, loc(), largest, createWords(builder, loc(), word, exponentBits));
  // Both powers are to be normal numbers.
  exponent = arith::MaxUIOp::create(builder, loc(), exponent,
                                    powerOf(largestPower + 1));
  Value scale = arith::SubIOp::create(
      builder, loc(), powerOf(2 * bias + largestPower), exponent);
  Value unit =
      arith::SubIOp::create(builder, loc(), exponent, powerOf(largestPower));
  auto asNumber = [&](Value bits) -> Value {
    return arith::BitcastOp::create(builder, loc(), number, bits);
  };
  // Zero, or NaN if the largest is not finite.
  Value nothing =
      arith::MulFOp::create(builder, loc(), asNumber(largest), zero(number));
  return {asNumber(scale),
          arith::AddFOp::create(builder, loc(), asNumber(unit), nothing)};
}

/// `numbers` times `scale` as digits, those of a place and of every second
/// field of a word side by side.
Value FactorDecoder::splitIntoDigits(Value numbers, Value scale) {
  VectorType words = vectorType(builder.getI32Type());
  auto bytes = VectorType::get({places * atOnce}, builder.getI8Type());
  Value scaled =
      arith::MulFOp::create(builder, loc(), numbers, broadcast(scale));
  Value integers = createRounded(builder, loc(), scaled);
  // Bytes of the sum are digits plus 128.
  Value halves = createWords(builder, loc(), words, 0x80808080);
  Value digits = arith::XOrIOp::create(
      builder, loc(), arith::AddIOp::create(builder, loc(), integers, halves),
      halves);
  digits = vector::BitCastOp::create(builder, loc(), bytes, digits);
  SmallVector<int64_t> order;
  for (int64_t word = 0; word < atOnce; word += fields)
    for (int64_t odd : {0, 1})
      for (int64_t place = 0; place < places; ++place)
        for (int64_t at = odd; at < fields; at += 2)
          order.push_back((word + at) * places + place);
  digits = vector::ShuffleOp::create(builder, loc(), digits, digits, order);
  return vector::BitCastOp::create(builder, loc(), words, digits);
}

FactorDecoder::PreparedRows
FactorDecoder::prepareDigits(ArrayRef<Value> point, ArrayRef<unsigned> inner) {
  if (!mayUseDigits(inner))
    return {};
  PreparedRows rows = allocateRows(inner, builder.getI32Type());
  if (!rows.elements)
    return {};
  SmallVector<Value> here(point);
  buildNest(rows.dims, here, [&] {
    auto [scale, unit] = findUnits(findLargest(here, inner));
    SmallVector<Value> sum = {
        zero(vectorType(getWideType(builder.getContext())))};
    forEachPair(here, inner, sum,
                [&, scale = scale](LaneCount count, ValueRange values) {
                  Value numbers = loadWords(here, count);
                  Value digits = splitIntoDigits(numbers, scale);
                  SmallVector<Value> place =
                      indices(product.factor.getArgNumber(), here);
                  if (count.covers(atOnce))
                    vector::StoreOp::create(builder, loc(), digits,
                                            rows.elements, place);
                  else
                    vector::MaskedStoreOp::create(builder, loc(), rows.elements,
                                                  place, mask(count, atOnce),
                                                  digits);
                  return SmallVector<Value>{arith::AddFOp::create(
                      builder, loc(), values[0], numbers)};
                });
    Value total =
        vector::ReductionOp::create(builder, loc(), vector::CombiningKind::ADD,
                                    sum.front(), arith::FastMathFlags::reassoc);
    memref::StoreOp::create(builder, loc(), total, rows.sums,
                            pick(here, rows.dims));
    memref::StoreOp::create(builder, loc(), unit, rows.units,
                            pick(here, rows.dims));
  });
  return rows;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

Value FactorDecoder::loadDigits(const PreparedRows &rows, ArrayRef<Value> point,
                                bool isOdd, int64_t place) {
  SmallVector<Value> here(point);
  here[field->dim] = constant((isOdd ? places : 0) + place);
  Value all = vector::BroadcastOp::create(
      builder, loc(), vectorType(builder.getI32Type()),
      memref::LoadOp::create(builder, loc(), rows.elements,
                             indices(product.factor.getArgNumber(), here)));
  return vector::BitCastOp::create(
      builder, loc(), VectorType::get({places * lanes}, builder.getI8Type()),
      all);
}

Value FactorDecoder::selectFields(Value words, bool isOdd) {
  Type type = words.getType();
  if (isOdd)
    words = arith::ShRUIOp::create(
        builder, loc(), words, createWords(builder, loc(), type, bitsOfField));
  words = arith::AndIOp::create(builder, loc(), words,
                                createWords(builder, loc(), type, 0x0F0F0F0F));
  return vector::BitCastOp::create(
      builder, loc(), VectorType::get({places * lanes}, builder.getI8Type()),
      words);
}

Value FactorDecoder::combineDigits(const PreparedRows &rows,
                                   ArrayRef<Value> point,
                                   ArrayRef<Value> sums) {
  VectorType numbers = vectorType(getWideType(builder.getContext()));
  // Sums of bytes times fields leave room for eight more bits.
  auto combine = [&](Value upper, Value lower) -> Value {
    upper = arith::ShLIOp::create(
        builder, loc(), upper, createWords(builder, loc(), upper.getType(), 8));
    return arith::SIToFPOp::create(
        builder, loc(), numbers,
        arith::AddIOp::create(builder, loc(), upper, lower));
  };
  Value factor = arith::ConstantOp::create(
      builder, loc(), DenseElementsAttr::get(numbers, 65536.0f));
  Value sum = vector::FMAOp::create(builder, loc(), combine(sums[3], sums[2]),
                                    factor, combine(sums[1], sums[0]));
  Value unit = broadcast(memref::LoadOp::create(builder, loc(), rows.units,
                                                pick(point, rows.dims)));
  return arith::MulFOp::create(builder, loc(), sum, unit);
}
