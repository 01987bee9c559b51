//===- InterleavedCopy.cpp - Copies into words of narrow numbers ----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A matrix unit wants neighbours along the reduction side by side, in words of
// 32 bits:
//
//   from  rows [words, in word, columns]   two or four rows are mixed
//   from  rows [columns, words, in word]   words are transposed
//     to  rows [words, columns, in word]
//
//===----------------------------------------------------------------------===//

#include "MicroKernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace chimera;

static constexpr int64_t kWordBits = 32;

namespace {
class InterleavedCopyEmitter : public MicroKernelEmitter {
public:
  using MicroKernelEmitter::MicroKernelEmitter;

  LogicalResult emit();

private:
  LogicalResult readDims();
  bool areTogether(unsigned operand);
  void emitMixed(Value column, int64_t columns);
  void emitSquare(Value column, int64_t columns, Value word, int64_t words);
  void store(Value words, int64_t columns);
  void forEachPart(unsigned dim, llvm::function_ref<void(Value, int64_t)> body);

  VectorType wordsType() { return vectorType(builder.getI32Type()); }
  Type elementType() { return getElementTypeOrSelf(op.getOutput()); }

  /// The numbers of a word, columns and words; whether words lie side by side
  /// in the source.
  unsigned numbers = 0, columns = 0, words = 0;
  int64_t inWord = 0;
  bool areWordsTogether = false;
  SmallVector<unsigned> outer;
  SmallVector<Value> point;
};
} // namespace

LogicalResult InterleavedCopyEmitter::readDims() {
  AffineMap source = maps.front(), target = maps.back();
  unsigned rank = target.getNumResults();
  if (op.getKind() != MicroKernelKind::Pack || rank < 3 ||
      source.getNumResults() != rank || !elementType().isIntOrFloat())
    return failure();
  auto dimOf = [&](AffineMap map, unsigned fromEnd) {
    return map.getDimPosition(rank - 1 - fromEnd);
  };
  numbers = dimOf(target, 0);
  columns = dimOf(target, 1);
  vectorDim = numbers;
  inWord = extents[numbers];
  bool isWord = inWord > 1 && !isOpen(columns) &&
                inWord * elementType().getIntOrFloatBitWidth() == kWordBits;
  areWordsTogether = dimOf(source, 0) == numbers;
  words = dimOf(source, 1);
  if (!isWord || !isContiguous(outputIndex(), numbers) ||
      !areTogether(outputIndex()))
    return failure();
  if (areWordsTogether)
    // A row of words, in another dimension than the columns.
    return success(words != columns && !isOpen(words) &&
                   isContiguous(0, numbers) && areTogether(0));
  return success(dimOf(source, 0) == columns && isContiguous(0, columns));
}

/// True if words of an operand follow each other without a gap. Two columns of
/// a wider panel look like words, and there is one.
bool InterleavedCopyEmitter::areTogether(unsigned operand) {
  SmallVector<int64_t> strides;
  int64_t offset;
  auto type = cast<MemRefType>(op->getOperand(operand).getType());
  return succeeded(type.getStridesAndOffset(strides, offset)) &&
         strides[strides.size() - 2] == inWord;
}

LogicalResult InterleavedCopyEmitter::emit() {
  if (failed(readDims()))
    return failure();
  for (unsigned dim = 0; dim < op.getNumDims(); ++dim)
    if (dim != numbers && dim != columns && !(areWordsTogether && dim == words))
      outer.push_back(dim);
  point.assign(op.getNumDims(), constant(0));
  buildNest(outer, point, [&] {
    forEachPart(columns, [&](Value column, int64_t count) {
      if (!areWordsTogether)
        return emitMixed(column, count);
      forEachPart(words, [&](Value word, int64_t wordCount) {
        emitSquare(column, count, word, wordCount);
      });
    });
  });
  return success();
}

/// Vectors' worths of `dim`, and what is left.
void InterleavedCopyEmitter::forEachPart(
    unsigned dim, llvm::function_ref<void(Value, int64_t)> body) {
  int64_t extent = extents[dim], full = extent - extent % lanes;
  buildLoop(0, full, lanes, [&](Value iv) { body(iv, lanes); });
  if (full < extent)
    body(constant(full), extent - full);
}

/// Stores `count` words at the current point.
void InterleavedCopyEmitter::store(Value vector, int64_t count) {
  auto type = VectorType::get({inWord * lanes}, elementType());
  Value values = vector::BitCastOp::create(builder, loc(), type, vector);
  SmallVector<Value> position = indices(outputIndex(), point);
  if (count == lanes) {
    vector::StoreOp::create(builder, loc(), values, op.getOutput(), position);
    return;
  }
  vector::MaskedStoreOp::create(builder, loc(), op.getOutput(), position,
                                mask(inWord * count, inWord * lanes), values);
}

/// Reads `count` columns of each row of a word, and stores them in turns.
void InterleavedCopyEmitter::emitMixed(Value column, int64_t count) {
  point[columns] = column;
  int64_t bits = elementType().getIntOrFloatBitWidth();
  SmallVector<Value> rows;
  for (int64_t number = 0; number < inWord; ++number) {
    point[numbers] = constant(number);
    Value row = loadVector(0, point, count);
    rows.push_back(arith::BitcastOp::create(
        builder, loc(), vectorType(builder.getIntegerType(bits)), row));
  }
  point[numbers] = constant(0);
  while (rows.size() > 1) {
    // Each half as numbers of twice the bits: the first and third row of four,
    // then what they have become.
    SmallVector<Value> mixed;
    for (size_t i = 0; i < rows.size() / 2; ++i)
      mixed.push_back(vector::InterleaveOp::create(builder, loc(), rows[i],
                                                   rows[i + rows.size() / 2]));
    rows = mixed;
  }
  store(rows.front(), count);
}

/// Transposes `count` rows of `wordCount` words.
void InterleavedCopyEmitter::emitSquare(Value column, int64_t count, Value word,
                                        int64_t wordCount) {
  Type single = builder.getF32Type();
  Value square = zero(VectorType::get({lanes, lanes}, single));
  point[words] = word;
  for (int64_t i = 0; i < count; ++i) {
    point[columns] = add(column, i);
    Value row = loadVector(0, point, inWord * wordCount, inWord * lanes);
    row = vector::BitCastOp::create(builder, loc(), vectorType(single), row);
    square = vector::InsertOp::create(builder, loc(), row, square,
                                      ArrayRef<int64_t>{i});
  }
  Value transposed = vector::TransposeOp::create(builder, loc(), square,
                                                 ArrayRef<int64_t>{1, 0});
  point[columns] = column;
  for (int64_t j = 0; j < wordCount; ++j) {
    point[words] = add(word, j);
    store(vector::ExtractOp::create(builder, loc(), transposed,
                                    ArrayRef<int64_t>{j}),
          count);
  }
}

LogicalResult chimera::emitInterleavedCopy(OpBuilder &builder, MicroKernelOp op,
                                           const VectorFigures &figures,
                                           ArrayRef<int64_t> extents) {
  return InterleavedCopyEmitter(builder, op, figures, extents).emit();
}
