//===- DotProduct.cpp - Outer products of pairs of narrow numbers ---------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A dot product adds the products of two neighbours along the reduction to each
// sum (vdpbf16ps). Single elements are loaded in pairs, as they lie in memory.
// Vectors have neighbours along the columns side by side; those of two steps
// are mixed in registers, which takes one instruction for a vector of sums:
//
//   step k      a0 a1 a2 a3 a4 a5 a6 a7 ...      vpunpcklwd: a0 b0 a1 b1 ...
//   step k + 1  b0 b1 b2 b3 b4 b5 b6 b7 ...      vpunpckhwd: a4 b4 a5 b5 ...
//
// The sums of two vectors exchange lanes by that, four at a time, until the
// reduction is at its end. Memory keeps one order for all kernels, and vectors
// need not be packed.
//
//===----------------------------------------------------------------------===//

#include "OuterProduct.h"
#include "X86Intrinsics.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace chimera;

/// The lanes of 128 bits of f32, within which numbers are mixed.
static constexpr int64_t kLanesOfPart = 4;

/// Dot products need a factor of single elements that lie in pairs.
void OuterProductEmitter::chooseDots() {
  if (!mayBeDotProduct(op, figures))
    return;
  if (indexes(factors[0], vectorDim))
    std::swap(factors[0], factors[1]);
  if (indexes(factors[0], vectorDim))
    return;
  for (unsigned dim : reductionDims)
    if (isContiguous(factors[0], dim) && indexes(factors[1], dim)) {
      llvm::erase(reductionDims, dim);
      reductionDims.push_back(dim);
      stepSize = 2;
      return;
    }
}

/// The element at `here` and the next along the reduction, or zero if there is
/// none, in every lane.
Value OuterProductEmitter::loadPair(unsigned operand, ArrayRef<Value> here,
                                    bool isWhole) {
  Type element = getElementTypeOrSelf(op->getOperand(operand));
  Type word = builder.getI32Type();
  Value bits;
  if (isWhole) {
    Value pair = loadVector(operand, here, 2, 2);
    Value words = vector::BitCastOp::create(builder, loc(),
                                            VectorType::get({1}, word), pair);
    bits =
        vector::ExtractOp::create(builder, loc(), words, ArrayRef<int64_t>{0});
  } else {
    Value half = arith::BitcastOp::create(builder, loc(), builder.getI16Type(),
                                          loadScalar(operand, here));
    bits = arith::ExtUIOp::create(builder, loc(), word, half);
  }
  return vector::BitCastOp::create(
      builder, loc(), VectorType::get({2 * lanes}, element), broadcast(bits));
}

/// Of the vectors at `here` and at the next step, which is left out unless it
/// `isWhole`, the elements of `vectors` vectors of sums, pair by pair. Of two
/// vectors lanes are exchanged.
std::pair<Value, Value>
OuterProductEmitter::loadPairs(unsigned operand, ArrayRef<Value> here,
                               int64_t vectors, LaneCount count, bool isWhole) {
  int64_t width = vectors * lanes;
  SmallVector<Value> after(here);
  unsigned along = reductionDims.back();
  after[along] = add(here[along], 1);
  auto load = [&](ArrayRef<Value> at) -> Value {
    Value loaded = loadVector(operand, at, count, width);
    return arith::BitcastOp::create(
        builder, loc(), VectorType::get({width}, builder.getI16Type()), loaded);
  };
  Value first = load(here);
  Value second = isWhole ? load(after) : zero(first.getType());
  auto mix = [&](bool isUpper) -> Value {
    int64_t part = vectors == 1 ? width : 2 * kLanesOfPart;
    int64_t used = vectors == 1 ? width : kLanesOfPart;
    SmallVector<int64_t> order;
    for (int64_t begin = isUpper ? used : 0; begin < width; begin += part)
      for (int64_t i = begin; i < begin + used; ++i)
        order.append({i, width + i});
    Value mixed =
        vector::ShuffleOp::create(builder, loc(), first, second, order);
    Type element = getElementTypeOrSelf(op->getOperand(operand));
    return arith::BitcastOp::create(
        builder, loc(), VectorType::get({2 * lanes}, element), mixed);
  };
  return {mix(false), vectors == 1 ? Value() : mix(true)};
}

/// Sums of rows of `vectors` vectors, two of which exchange the lanes that
/// loadPairs exchanges, or have them exchanged back.
SmallVector<Value> OuterProductEmitter::exchangeLanes(ArrayRef<Value> sums,
                                                      int64_t vectors,
                                                      bool isBack) {
  // Parts of both vectors, in the order in which the first and the second
  // vector have them.
  int64_t parts = lanes / kLanesOfPart;
  SmallVector<int64_t> order;
  for (int64_t turn = 0; turn < 2; ++turn)
    for (int64_t part = 0; part < parts; ++part)
      order.push_back(isBack ? part % 2 * parts + (turn * parts + part) / 2
                             : 2 * part + turn);
  auto take = [&](Value first, Value second, int64_t turn) -> Value {
    SmallVector<int64_t> elements;
    for (int64_t part : ArrayRef(order).slice(turn * parts, parts))
      for (int64_t lane = 0; lane < kLanesOfPart; ++lane)
        elements.push_back(part * kLanesOfPart + lane);
    return vector::ShuffleOp::create(builder, loc(), first, second, elements);
  };
  SmallVector<Value> exchanged(sums);
  for (size_t row = 0; row < sums.size(); row += vectors)
    for (int64_t j = 0; j + 1 < vectors; j += 2)
      for (int64_t turn = 0; turn < 2; ++turn)
        exchanged[row + j + turn] =
            take(sums[row + j], sums[row + j + 1], turn);
  return exchanged;
}

/// Adds the products of `steps` steps from `first` on, pair by pair; of an odd
/// number the last is alone.
SmallVector<Value> OuterProductEmitter::emitDots(Value first, int64_t steps,
                                                 SmallVector<Value> carried,
                                                 int64_t rows, int64_t vectors,
                                                 LaneCount columns) {
  unsigned dim = reductionDims.back();
  for (int64_t step = 0; step < steps; step += 2) {
    int64_t turn = step / 2;
    point[dim] = add(first, turn % parts * distance + turn / parts * 2);
    bool isWhole = step + 1 < steps;

    // Single elements may differ from row to row, vectors too.
    auto rowOf = [&](unsigned operand, int64_t i) {
      return rowDim && indexes(operand, *rowDim) ? i : 0;
    };
    llvm::DenseMap<int64_t, Value> elements;
    llvm::DenseMap<std::pair<int64_t, int64_t>, Value> pairs;
    auto loadElement = [&](int64_t i) {
      Value &element = elements[rowOf(factors[0], i)];
      if (!element)
        element = loadPair(factors[0], pointOf(i, 0), isWhole);
      return element;
    };
    auto loadColumns = [&](int64_t i, int64_t j) {
      int64_t row = rowOf(factors[1], i);
      if (Value known = pairs.lookup({row, j}))
        return known;
      int64_t together = j + 1 < vectors ? 2 : 1;
      SmallVector<Value> here = pointOf(i, j);
      auto [lower, upper] =
          loadPairs(factors[1], here, together, lanesOf(j, columns), isWhole);
      pairs[{row, j}] = lower;
      pairs[{row, j + 1}] = upper;
      // A vector of factors is as long as two of sums.
      int64_t ofStep = llvm::divideCeil(vectors, 2);
      fetchAhead(factors[1], here, ofStep);
      if (isWhole) {
        here[dim] = add(here[dim], 1);
        fetchAhead(factors[1], here, ofStep);
      }
      return lower;
    };
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < vectors; ++j) {
        Value rhs = loadColumns(i, j), lhs = loadElement(i);
        Value &accumulator = carried[i * vectors + j];
        accumulator = createDotProducts(builder, loc(), accumulator, lhs, rhs);
      }
  }
  return carried;
}
