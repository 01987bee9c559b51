//===- DotProduct.cpp - Outer products of neighbouring narrow numbers -----===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A dot product adds the products of neighbours along the reduction to each
// sum: of two bf16 (vdpbf16ps), of four bytes (vpdpbusd), or of two bytes that
// are widened to 16 bits (vpmaddwd, which is part of AVX2). Single elements
// are loaded together, as they lie in memory. Vectors have neighbours along the
// columns side by side; those of two or four steps are mixed in registers,
// which takes an instruction or two for a vector of sums:
//
//   step k      a0 a1 a2 a3 a4 a5 a6 a7 ...      vpunpcklwd: a0 b0 a1 b1 ...
//   step k + 1  b0 b1 b2 b3 b4 b5 b6 b7 ...      vpunpckhwd: a4 b4 a5 b5 ...
//
// The sums of two or four vectors exchange lanes by that, four at a time, until
// the reduction is at its end. Memory keeps one order for all kernels, and
// vectors need not be packed. Constants may be interleaved when they are
// prepared; then a vector is a load, and nothing is exchanged.
//
// Vectors of bytes that are widened are mixed one by one, before they are.
//
// Of the bytes that vpdpbusd multiplies one has a sign and the other none. If
// both have one, 128 is added to single elements, which makes them positive,
// and 128 times the sum of the column is subtracted; if none has, the other way
// around, by the same bits. Rows that share a panel share these sums; where
// there are few rows, or taps that some of them leave out, each step subtracts
// what it adds too much. Sums wrap around, so they are right whatever is in
// between.
//
// Where no factor has single elements (a depthwise convolution), or those are
// no neighbours along the reduction, bytes are multiplied one step after the
// other, each with a zero beside it, by vpmaddwd as well.
//
//===----------------------------------------------------------------------===//

#include "OuterProduct.h"
#include "X86Intrinsics.h"

#include "Chimera/IR/ProductBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace chimera;

/// The lanes of 128 bits of sums, within which numbers are mixed.
static constexpr int64_t kLanesOfPart = 4;

/// How many numbers a dot product multiplies of each factor.
static int64_t getDotSize(MicroKernelOp op, const VectorFigures &figures) {
  return isIntegerProduct(op) && !figures.widensBytes() ? 4 : 2;
}

std::optional<unsigned> chimera::findWordDim(MicroKernelOp op,
                                             const VectorFigures &figures) {
  SmallVector<AffineMap> maps = op.getMaps();
  if (!mayBeDotProduct(op, figures) || maps[2].getNumResults() == 0)
    return std::nullopt;
  unsigned vectorDim = maps[2].getDimPosition(maps[2].getNumResults() - 1);
  for (unsigned operand : {0, 1}) {
    AffineMap words = maps[operand], single = maps[1 - operand];
    auto type = dyn_cast<ShapedType>(op->getOperand(operand).getType());
    unsigned rank = words.getNumResults(), ofSingle = single.getNumResults();
    if (!type || rank < 2 || ofSingle < 2 ||
        single.isFunctionOfDim(vectorDim) ||
        words.getDimPosition(rank - 2) != vectorDim)
      continue;
    unsigned number = words.getDimPosition(rank - 1),
             along = single.getDimPosition(ofSingle - 2);
    if (op.isReduction(number) && op.isReduction(along) &&
        words.isFunctionOfDim(along) &&
        single.getDimPosition(ofSingle - 1) == number &&
        type.getShape().back() == getDotSize(op, figures))
      return number;
  }
  return std::nullopt;
}

/// The dimension of the numbers of a word, if memory has words beside each
/// other.
std::optional<unsigned> OuterProductEmitter::findWords() {
  std::optional<unsigned> number = findWordDim(op, figures);
  for (unsigned operand : factors) {
    if (!number || !isContiguous(operand, *number))
      return std::nullopt;
    SmallVector<int64_t> strides;
    int64_t offset;
    auto type = cast<MemRefType>(op->getOperand(operand).getType());
    if (indexes(operand, vectorDim) &&
        (failed(type.getStridesAndOffset(strides, offset)) ||
         strides[strides.size() - 2] != getDotSize(op, figures)))
      return std::nullopt;
  }
  return number;
}

/// Dot products need a factor of single elements that lie side by side.
void OuterProductEmitter::chooseDots() {
  if (!mayBeDotProduct(op, figures))
    return;
  if (indexes(factors[0], vectorDim))
    std::swap(factors[0], factors[1]);
  if (indexes(factors[0], vectorDim))
    return;
  AffineMap single = maps[factors[0]];
  for (unsigned dim : reductionDims) {
    // Words follow each other where numbers would.
    bool isInnermost =
        wordDim ? single.getDimPosition(single.getNumResults() - 2) == dim
                : isContiguous(factors[0], dim);
    if (!isInnermost || !indexes(factors[1], dim))
      continue;
    llvm::erase(reductionDims, dim);
    reductionDims.push_back(dim);
    dotSize = getDotSize(op, figures);
    stepSize = wordDim ? 1 : dotSize;
    return;
  }
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// The element at `here` and those after it along the reduction, of `steps`
/// steps, in every lane. Missing ones are zeros.
Value OuterProductEmitter::loadElements(unsigned operand, ArrayRef<Value> here,
                                        int64_t steps) {
  Type element = getElementTypeOrSelf(op->getOperand(operand));
  int64_t bits = element.getIntOrFloatBitWidth();
  Type word = builder.getIntegerType(dotSize * bits);
  Value together;
  if (steps == stepSize) {
    Value loaded = loadVector(operand, here, dotSize, dotSize);
    Value words = vector::BitCastOp::create(builder, loc(),
                                            VectorType::get({1}, word), loaded);
    together =
        vector::ExtractOp::create(builder, loc(), words, ArrayRef<int64_t>{0});
  }
  SmallVector<Value> next(here);
  for (int64_t step = 0; steps < stepSize && step < steps; ++step) {
    next[reductionDims.back()] = add(here[reductionDims.back()], step);
    Value part =
        arith::BitcastOp::create(builder, loc(), builder.getIntegerType(bits),
                                 loadScalar(operand, next));
    part = arith::ExtUIOp::create(builder, loc(), word, part);
    if (step > 0)
      part = arith::ShLIOp::create(
          builder, loc(), part,
          arith::ConstantIntOp::create(builder, loc(), word, step * bits));
    together =
        together ? arith::OrIOp::create(builder, loc(), together, part) : part;
  }
  Value all = vector::BitCastOp::create(
      builder, loc(), VectorType::get({dotSize * lanes}, element),
      broadcast(together));
  if (!isShifted())
    return widenBytes(operand, all);
  Value shift = arith::ConstantOp::create(
      builder, loc(),
      DenseElementsAttr::get(cast<VectorType>(all.getType()), APInt(8, 128)));
  return arith::XOrIOp::create(builder, loc(), all, shift);
}

/// Of `first` and `second`, element by element in turn, what the lower or upper
/// halves of their 128 bits become.
Value OuterProductEmitter::unpack(Value first, Value second, bool isUpper) {
  auto type = cast<VectorType>(first.getType());
  int64_t width = type.getNumElements(),
          part = 128 / type.getElementTypeBitWidth();
  SmallVector<int64_t> order;
  for (int64_t begin = isUpper ? part / 2 : 0; begin < width; begin += part)
    for (int64_t i = begin; i < begin + part / 2; ++i)
      order.append({i, width + i});
  return vector::ShuffleOp::create(builder, loc(), first, second, order);
}

/// `vectors` as one.
Value OuterProductEmitter::concatenate(ArrayRef<Value> vectors) {
  if (vectors.size() == 1)
    return vectors.front();
  size_t half = vectors.size() / 2;
  Value first = concatenate(vectors.take_front(half)),
        second = concatenate(vectors.drop_front(half));
  int64_t width = cast<VectorType>(first.getType()).getNumElements();
  return vector::ShuffleOp::create(builder, loc(), first, second,
                                   llvm::to_vector(llvm::seq(2 * width)));
}

/// The vectors of as many steps as are multiplied at once, `rows`, as
/// `vectors` vectors of factors. Of more than one vector lanes are exchanged.
SmallVector<Value> OuterProductEmitter::mix(ArrayRef<Value> rows,
                                            int64_t vectors) {
  auto type = cast<VectorType>(rows.front().getType());
  if (rows.size() == 2 && vectors == 1) {
    SmallVector<int64_t> order;
    for (int64_t i = 0; i < type.getNumElements(); ++i)
      order.append({i, type.getNumElements() + i});
    return {vector::ShuffleOp::create(builder, loc(), rows[0], rows[1], order)};
  }
  if (rows.size() == 2)
    return {unpack(rows[0], rows[1], /*isUpper=*/false),
            unpack(rows[0], rows[1], /*isUpper=*/true)};
  auto pairs = VectorType::get(
      {type.getNumElements() / 2},
      builder.getIntegerType(2 * type.getElementTypeBitWidth()));
  SmallVector<Value> parts;
  for (bool isUpper : {false, true}) {
    auto pair = [&](size_t row) -> Value {
      Value unpacked = unpack(rows[row], rows[row + 1], isUpper);
      return vector::BitCastOp::create(builder, loc(), pairs, unpacked);
    };
    Value first = pair(0), second = pair(2);
    parts.append({unpack(first, second, /*isUpper=*/false),
                  unpack(first, second, /*isUpper=*/true)});
  }
  SmallVector<Value> mixed;
  size_t together = parts.size() / vectors;
  for (size_t part = 0; part < parts.size(); part += together)
    mixed.push_back(concatenate(ArrayRef(parts).slice(part, together)));
  return mixed;
}

/// Of the vectors at `here` and at the next steps, of which there are `steps`,
/// the elements of `vectors` vectors of sums, mixed.
SmallVector<Value> OuterProductEmitter::loadMixed(unsigned operand,
                                                  ArrayRef<Value> here,
                                                  int64_t vectors,
                                                  LaneCount count,
                                                  int64_t steps) {
  Type element = getElementTypeOrSelf(op->getOperand(operand));
  if (wordDim)
    return {widenBytes(operand, loadVector(operand, here, times(count, dotSize),
                                           dotSize * lanes))};
  auto type =
      VectorType::get({vectors * lanes},
                      builder.getIntegerType(element.getIntOrFloatBitWidth()));
  SmallVector<Value> rows, next(here);
  for (int64_t step = 0; step < stepSize; ++step) {
    next[reductionDims.back()] = add(here[reductionDims.back()], step);
    rows.push_back(step < steps
                       ? Value(arith::BitcastOp::create(
                             builder, loc(), type,
                             loadVector(operand, next, count, vectors * lanes)))
                       : zero(type));
  }
  SmallVector<Value> mixed = mix(rows, vectors);
  for (Value &value : mixed)
    value = widenBytes(
        operand, vector::BitCastOp::create(
                     builder, loc(),
                     VectorType::get({stepSize * lanes}, element), value));
  return mixed;
}

/// `numbers` of `operand` as they are multiplied.
Value OuterProductEmitter::widenBytes(unsigned operand, Value numbers) {
  if (!isIntegerProduct(op) || !figures.widensBytes())
    return numbers;
  return extendBytes(operand, numbers, builder.getI16Type());
}

/// `numbers` of `operand` in `type`.
Value OuterProductEmitter::extendBytes(unsigned operand, Value numbers,
                                       Type type) {
  type = cast<VectorType>(numbers.getType()).clone(type);
  if (isUnsigned(operand))
    return arith::ExtUIOp::create(builder, loc(), type, numbers);
  return arith::ExtSIOp::create(builder, loc(), type, numbers);
}

/// `numbers` of `operand` as they are multiplied one step after the other:
/// bytes as pairs of 16 bits, whose second is zero in one of the factors, that
/// with less vectors.
Value OuterProductEmitter::asStep(unsigned operand, Value numbers) {
  if (!isIntegerProduct(op))
    return numbers;
  Value pairs = extendBytes(operand, numbers, builder.getI32Type());
  bool isInRows = rowDim && indexes(factors[1], *rowDim);
  if (operand == factors[isInRows ? 0 : 1] && !isUnsigned(operand)) {
    Value first = arith::ConstantOp::create(
        builder, loc(),
        DenseElementsAttr::get(cast<VectorType>(pairs.getType()),
                               APInt::getLowBitsSet(32, 16)));
    pairs = arith::AndIOp::create(builder, loc(), pairs, first);
  }
  return vector::BitCastOp::create(
      builder, loc(), VectorType::get({2 * lanes}, builder.getI16Type()),
      pairs);
}

/// `sums` with the products of one step.
Value OuterProductEmitter::addProduct(Value sums, Value lhs, Value rhs) {
  if (!isIntegerProduct(op))
    return vector::FMAOp::create(builder, loc(), lhs, rhs, sums);
  return createWordDots(builder, loc(), sums, lhs, rhs);
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// Sums of rows of `vectors` vectors, which exchange the lanes that loadMixed
/// exchanges, or have them exchanged back.
SmallVector<Value> OuterProductEmitter::exchangeLanes(ArrayRef<Value> sums,
                                                      int64_t vectors,
                                                      bool isBack) {
  int64_t inVector = lanes / kLanesOfPart;
  SmallVector<Value> exchanged(sums);
  auto exchange = [&](size_t first, int64_t count) {
    ArrayRef<Value> old = sums.slice(first, count);
    // The parts of 128 bits that each vector that is loaded has.
    int64_t parts = count * inVector / stepSize;
    Value lower = concatenate(old.take_front(count / 2)),
          upper = concatenate(old.drop_front(count / 2));
    for (int64_t vector = 0; vector < count; ++vector) {
      SmallVector<int64_t> elements;
      for (int64_t part : llvm::seq(vector * inVector, (vector + 1) * inVector))
        for (int64_t lane = 0; lane < kLanesOfPart; ++lane) {
          int64_t from = isBack ? part % stepSize * parts + part / stepSize
                                : part % parts * stepSize + part / parts;
          elements.push_back(from * kLanesOfPart + lane);
        }
      exchanged[first + vector] =
          vector::ShuffleOp::create(builder, loc(), lower, upper, elements);
    }
  };
  for (size_t row = 0; row < sums.size(); row += vectors)
    for (int64_t j = 0, count; j < vectors; j += count) {
      count = countMixed(j, vectors);
      if (count > 1)
        exchange(row + j, count);
    }
  return exchanged;
}

bool OuterProductEmitter::isUnsigned(unsigned operand) {
  ProductBody product = *matchProductBody(op.getBody().front());
  return operand == product.factor.getArgNumber() ? product.isFactorUnsigned
                                                  : product.isCodeUnsigned;
}

/// `sums` with the products of `single` and `vector`. The last operand of an
/// instruction may be a single element in memory: as a load of its own, it
/// takes Zen 4 a third of a dot product's time.
Value OuterProductEmitter::emitDot(Value sums, Value single, Value vector) {
  if (!isIntegerProduct(op))
    return createDotProducts(builder, loc(), sums, vector, single);
  if (figures.widensBytes())
    return createWordDots(builder, loc(), sums, single, vector);
  if (isUnsigned(factors[1]))
    std::swap(single, vector);
  return createByteDots(builder, loc(), sums, single, vector);
}

/// True if what shifted elements add to sums is found once for all rows of a
/// panel.
bool OuterProductEmitter::sharesShifts() {
  return isShifted() && rowDim && !haveVectorsInRows() &&
         (isOpen(*rowDim) || rowsInAll() > tileRows);
}

/// Finds what shifted elements add to the sums of the panel at `column`.
void OuterProductEmitter::addUpColumns(Value column, int64_t vectors,
                                       LaneCount columns) {
  shifts.clear();
  if (!sharesShifts())
    return;
  point[vectorDim] = column;
  point[*rowDim] = constant(0);
  VectorType type = vectorType(getElementTypeOrSelf(op.getOutput()));
  addsUpColumns = true;
  shifts = emitParts(SmallVector<Value>(vectors, zero(type)), /*rows=*/1,
                     vectors, columns);
  addsUpColumns = false;
}

/// Takes what shifted elements are going to add to rows of `vectors` vectors
/// off `sums`, if it is known.
void OuterProductEmitter::subtractShifts(MutableArrayRef<Value> sums,
                                         int64_t vectors) {
  if (!hasShifts())
    return;
  for (auto [index, sum] : llvm::enumerate(sums))
    sum = arith::SubIOp::create(builder, loc(), sum, shifts[index % vectors]);
}

/// Adds the products of `steps` steps from `first` on, as many at once as a dot
/// product adds up.
SmallVector<Value> OuterProductEmitter::emitDots(Value first, int64_t steps,
                                                 SmallVector<Value> carried,
                                                 int64_t rows, int64_t vectors,
                                                 LaneCount columns) {
  unsigned dim = reductionDims.back();
  Type element = getElementTypeOrSelf(op->getOperand(factors[0]));
  Value shift;
  if (isShifted())
    shift = arith::ConstantOp::create(
        builder, loc(),
        DenseElementsAttr::get(VectorType::get({dotSize * lanes}, element),
                               APInt(8, 128)));
  for (int64_t step = 0; step < steps; step += stepSize) {
    int64_t turn = step / stepSize;
    point[dim] = add(first, turn % parts * distance + turn / parts * stepSize);
    int64_t atOnce = std::min(stepSize, steps - step);

    // Single elements may differ from row to row, vectors too.
    auto rowOf = [&](unsigned operand, int64_t i) {
      return rowDim && indexes(operand, *rowDim) ? i : 0;
    };
    llvm::DenseMap<int64_t, Value> elements;
    llvm::DenseMap<std::pair<int64_t, int64_t>, Value> mixed, tooMuch;
    auto loadElement = [&](int64_t i) {
      Value &loaded = elements[rowOf(factors[0], i)];
      if (!loaded)
        loaded = addsUpColumns
                     ? shift
                     : loadElements(factors[0], pointOf(i, 0), atOnce);
      return loaded;
    };
    auto loadColumns = [&](int64_t i, int64_t j) {
      int64_t row = rowOf(factors[1], i);
      if (Value known = mixed.lookup({row, j}))
        return known;
      SmallVector<Value> here = pointOf(i, j);
      SmallVector<Value> loaded =
          loadMixed(factors[1], here, countMixed(j, vectors),
                    lanesOf(j, columns), atOnce);
      for (auto [index, value] : llvm::enumerate(loaded))
        mixed[{row, j + index}] = value;
      // A vector of numbers is as long as several of sums.
      int64_t ofStep = llvm::divideCeil(vectors, stepSize);
      for (int64_t ahead = 0; ahead < atOnce; ++ahead) {
        SmallVector<Value> next(here);
        next[dim] = add(here[dim], ahead);
        fetchAhead(factors[1], next, ofStep);
      }
      return loaded.front();
    };
    // What the shift adds to the sums of a row is taken off at once.
    auto takeOff = [&](Value sum, int64_t i, int64_t j, Value vector) -> Value {
      Value &added = tooMuch[{rowOf(factors[1], i), j}];
      if (!added)
        added = emitDot(zero(sum.getType()), shift, vector);
      return arith::SubIOp::create(builder, loc(), sum, added);
    };
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < vectors; ++j) {
        Value rhs = loadColumns(i, j), lhs = loadElement(i);
        Value &accumulator = carried[i * vectors + j];
        accumulator = emitDot(accumulator, lhs, rhs);
        if (shift && !addsUpColumns && !hasShifts())
          accumulator = takeOff(accumulator, i, j, rhs);
      }
  }
  return carried;
}
