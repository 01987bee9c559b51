//===- QuantizedProduct.cpp - Outer products with a decoded factor --------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Codes are decoded where they are loaded, in one of three ways:
//  - several tiles of rows: the panel of factors is decoded once, with zeros
//    and scales, and multiplied like any other;
//  - a few rows, and fields of words: fields are multiplied where they are,
//    with rows that are prepared for that, a single one as digits (Digits.cpp);
//  - else each vector is decoded by itself.
// In the last two, a tile adds up the products of one group of codes after the
// other, whose sums are shifted by the zero, scaled, and added to the result.
//
//===----------------------------------------------------------------------===//

#include "OuterProduct.h"
#include "X86Intrinsics.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace chimera;

/// True if code for the quantized factor, if there is one, can be emitted.
bool OuterProductEmitter::mayDecode() {
  if (!decoder)
    return true;
  std::optional<unsigned> field = decoder->getFieldDim();
  return decoder->isCovered() && !reductionDims.empty() &&
         (!field || (reductionDims.back() == *field && !isOpen(*field)));
}

/// Prepares the rows for fields of words, if there are few, and lets panels be
/// as wide as suits them.
void OuterProductEmitter::prepareRows() {
  if (!decoder || !decoder->getFieldDim() || decodesPanels())
    return;
  int64_t rows = std::min(tileRows, rowsInAll());
  if (rows == 1) {
    wordPanel = model::panelOfDigits(tile);
    prepared = decoder->prepareDigits(point, reductionDims);
  }
  if (!prepared.elements) {
    wordPanel = model::panelOfWords(tile, rows);
    if (wordPanel.vectors == 0)
      return;
    prepared = decoder->prepareRows(point, reductionDims);
  }
  if (prepared.elements)
    panelVectors = wordPanel.vectors;
}

/// True if the factors of a panel had better be decoded at once: several tiles
/// of rows use them.
bool OuterProductEmitter::decodesPanels() const {
  return decoder && rowDim && (isOpen(*rowDim) || rowsInAll() > tileRows);
}

void OuterProductEmitter::emitRows(Value column, int64_t vectors,
                                   LaneCount columns) {
  if (!decodesPanels()) {
    addUpColumns(column, vectors, columns);
    return emitRowsOf(column, vectors, columns);
  }
  point[vectorDim] = column;
  SmallVector<unsigned> inner = reductionDims;
  SmallVector<unsigned> all = groupDims;
  all.append(inner);
  panel = decoder->decodePanel(point, groupDims, inner, vectors,
                               [&](int64_t j) { return lanesOf(j, columns); });
  if (panel)
    reductionDims = all;
  emitRowsOf(column, vectors, columns);
  reductionDims = inner;
  panel = {};
}

/// Words come from memory, and all the work on some of them does not take as
/// long as that: they are asked for farther ahead than what other kernels read.
/// Of 32 to 192 vectors the most was the fastest on Zen 5; on Zen 4 it is
/// faster than 768.
static constexpr int64_t wordVectorsAhead = 192;

/// Asks for zeros and scales of the group whose words are asked for now. They
/// lie in rows, and each group has a short piece of one.
void OuterProductEmitter::fetchShared(int64_t vectors) {
  if (groupDims.empty())
    return;
  int64_t words = vectors;
  for (unsigned dim : ArrayRef(reductionDims).drop_back())
    words *= extents[dim];
  unsigned along = groupDims.back();
  for (unsigned operand : decoder->getSharedOperands()) {
    if (!indexes(operand, along) || !indexes(operand, vectorDim))
      continue;
    for (int64_t j = 0; j < vectors; ++j) {
      SmallVector<Value> here = pointOf(0, j);
      here[along] = add(here[along], llvm::divideCeil(wordVectorsAhead, words));
      prefetchFar(operand, here);
    }
  }
}

/// The sums of each place of vector `vector`, of `vectors`.
static SmallVector<Value> digitsOf(ArrayRef<Value> sums, int64_t vector,
                                   int64_t vectors) {
  SmallVector<Value> digits;
  for (size_t at = vector; at < sums.size(); at += vectors)
    digits.push_back(sums[at]);
  return digits;
}

/// Adds the products with the codes of a group, which share zeros and scales.
void OuterProductEmitter::emitGroup(int64_t rows, int64_t vectors,
                                    LaneCount columns) {
  bool inPlace = decodesInPlace();
  bool sumsRows = sumsFactors(rows, vectors);
  Type sumType = prepared.units ? builder.getI32Type()
                                : getElementTypeOrSelf(op.getOutput());
  Value nothing = zero(vectorType(sumType));
  SmallVector<Value> ofColumns(vectors), scales(vectors);
  for (int64_t j = 0; j < vectors; ++j) {
    ofColumns[j] = decoder->loadZero(pointOf(0, j), lanesOf(j, columns));
    scales[j] = decoder->loadScale(pointOf(0, j), lanesOf(j, columns));
  }
  if (inPlace)
    fetchShared(vectors);
  zeros.clear();
  if (decoder->hasZero() && !sumsRows && !inPlace)
    zeros = ofColumns;
  SmallVector<Value> sums = emitSums(
      SmallVector<Value>(rows * vectors + (sumsRows ? rows : 0), nothing), rows,
      vectors, columns);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < vectors; ++j) {
      SmallVector<Value> here = pointOf(i, j);
      LaneCount count = lanesOf(j, columns);
      Value sum = sums[i * vectors + j];
      if (prepared.units)
        sum =
            decoder->combineDigits(prepared, here, digitsOf(sums, j, vectors));
      if (decoder->hasZero() && zeros.empty())
        sum = vector::FMAOp::create(
            builder, loc(), arith::NegFOp::create(builder, loc(), ofColumns[j]),
            inPlace ? decoder->loadSum(prepared, here)
                    : sums[rows * vectors + i],
            sum);
      Value before = loadVector(outputIndex(), here, count);
      Value after =
          scales[j]
              ? vector::FMAOp::create(builder, loc(), scales[j], sum, before)
                    .getResult()
              : arith::AddFOp::create(builder, loc(), before, sum).getResult();
      storeVector(outputIndex(), after, here, count);
    }
}

/// The whole reduction, added to `sums`. Fields of words that follow each other
/// are added up in turns, where there would be too few sums to hide latencies.
SmallVector<Value> OuterProductEmitter::emitSums(SmallVector<Value> sums,
                                                 int64_t rows, int64_t vectors,
                                                 LaneCount columns) {
  int64_t count = rows * vectors;
  sets = decodesInPlace() ? wordPanel.sets : 1;
  Value nothing = zero(sums.front().getType());
  sums.append(count * (sets - 1), nothing);
  sums = emitParts(sums, rows, vectors, columns);
  // Those of places are no sums of the same.
  if (prepared.units)
    return sums;
  for (int64_t set = 1; set < sets; ++set)
    for (int64_t i = 0; i < count; ++i)
      sums[i] =
          arith::AddFOp::create(builder, loc(), sums[i], sums[set * count + i]);
  return sums;
}

/// The numbers of vector `vector` of `codes`, at `here`.
Value OuterProductEmitter::decode(Value codes, int64_t vector,
                                  ArrayRef<Value> here, LaneCount count) {
  if (!decoder)
    return widen(codes);
  Value numbers = decoder->decode(codes, here, count);
  return zeros.empty()
             ? numbers
             : arith::SubFOp::create(builder, loc(), numbers, zeros[vector])
                   .getResult();
}

/// The products of the digits of a row and the fields of `words`: those of each
/// place have sums of their own.
SmallVector<Value> OuterProductEmitter::emitDigits(SmallVector<Value> carried,
                                                   ArrayRef<Value> words) {
  for (bool isOdd : {false, true}) {
    SmallVector<Value> bytes;
    for (Value word : words)
      bytes.push_back(decoder->selectFields(word, isOdd));
    for (int64_t place = 0; place < sets; ++place) {
      Value digits = decoder->loadDigits(prepared, point, isOdd, place);
      for (auto [j, codes] : llvm::enumerate(bytes)) {
        Value &sum = carried[place * words.size() + j];
        sum = createByteDots(builder, loc(), sum, codes, digits);
      }
    }
  }
  return carried;
}

/// All fields of the words of a panel.
SmallVector<Value> OuterProductEmitter::emitFields(SmallVector<Value> carried,
                                                   int64_t rows,
                                                   int64_t vectors,
                                                   LaneCount columns) {
  unsigned field = reductionDims.back(), codes = factors[1];
  SmallVector<Value> words;
  for (int64_t j = 0; j < vectors; ++j) {
    point[field] = constant(0);
    SmallVector<Value> here = pointOf(0, j);
    words.push_back(loadVector(codes, here, lanesOf(j, columns)));
    unsigned along = dimToFetch(codes);
    here[along] = add(here[along], llvm::divideCeil(wordVectorsAhead, vectors));
    prefetchFar(codes, here);
  }
  if (prepared.units)
    return emitDigits(carried, words);
  for (int64_t step = 0; step < extents[field]; ++step) {
    point[field] = constant(step);
    SmallVector<Value> elements;
    for (int64_t i = 0; i < rows; ++i)
      elements.push_back(decoder->loadElement(prepared, pointOf(i, 0)));
    for (int64_t j = 0; j < vectors; ++j) {
      Value numbers = decoder->decodeInPlace(words[j], step);
      for (int64_t i = 0; i < rows; ++i) {
        Value &sum = carried[(step % sets * rows + i) * vectors + j];
        sum = vector::FMAOp::create(builder, loc(), elements[i], numbers, sum);
      }
    }
  }
  return carried;
}
