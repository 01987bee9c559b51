//===- Elementwise.cpp - Elementwise operations and copies ----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything around contractions: what follows them element by element, fills,
// and the copies that bring operands into the layout a kernel reads.
//
//===----------------------------------------------------------------------===//

#include "BodyEmitter.h"

#include "Chimera/IR/MicroKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace chimera;

namespace {

class ElementwiseEmitter : public BodyEmitter {
public:
  using BodyEmitter::BodyEmitter;

  LogicalResult emit();

private:
  void emitVectors(Value first, int64_t vectors, LaneCount width,
                   const Values &values);
  void emitParts(Value first, int64_t vectors, LaneCount width,
                 const Values &values);
  std::optional<unsigned> findPartDim();
  bool scalesRows();
  void emitVector(LaneCount count, Values values);
  /// Vectors of f32 that a line holds.
  int64_t vectorsOfLine() {
    return std::max<int64_t>(1, figures.tuning.lineBytes * 8 / (32 * lanes));
  }

  SmallVector<Value> point;
  /// The dimension whose points are parts of a row, made of the same inputs:
  /// these are loaded once for all parts.
  std::optional<unsigned> partDim;
};

class TransposedCopyEmitter : public MicroKernelEmitter {
public:
  using MicroKernelEmitter::MicroKernelEmitter;

  LogicalResult emit();

private:
  void emitOpen(int64_t line);
  void emitElements(Value row, Value rowEnd, Value column, Value columnEnd);
  void emitSquare(Value row, int64_t rows, Value column, int64_t columns);
  void emitLines(Value row, int64_t rows, Value column, int64_t columns);
  SmallVector<Value> turnQuarters(Value row, Value column);
  Value shuffle(Value lhs, Value rhs, ArrayRef<int64_t> lanes);
  bool isHalf() {
    return isa<Float16Type, BFloat16Type>(getElementTypeOrSelf(op.getOutput()));
  }
  /// True if lines past the caches, which want to be whole, take several
  /// vectors of two quarters. All of a square would fill the registers.
  bool writesLines() {
    Type type = getElementTypeOrSelf(op.getOutput());
    return figures.streams && lanes == 2 * quarter && type.isIntOrFloat() &&
           type.getIntOrFloatBitWidth() == 32;
  }
  /// Elements of a vector that is transposed: pairs of halves are, as if each
  /// were one element, since there are shuffles that transpose words.
  int64_t getPerVector() { return isHalf() ? 2 * lanes : lanes; }
  /// True if a square reads parts of lines, one of each row. Rows are too many
  /// for a processor to see what comes next in each.
  bool readsPartsOfLines() {
    int64_t bits = getElementTypeOrSelf(op.getOutput()).getIntOrFloatBitWidth();
    return getPerVector() * bits < figures.tuning.lineBytes * 8;
  }
  /// The same where whole lines come from memory, past a cache that prefetches
  /// fill faster than it is filled on demand.
  bool asksAhead() {
    return readsPartsOfLines() ||
           (figures.streams && figures.tuning.fetchLevel > 1);
  }
  Value loadWords(int64_t columns);
  Value fromWords(Value words, bool isUpper);

  /// Columns that squares ask for ahead of those they read.
  static constexpr int64_t columnsAhead = 64;
  /// Elements of 128 bits, within which AVX2 shuffles at no cost.
  static constexpr int64_t quarter = 4;
  /// The dimension along which the source is contiguous.
  unsigned sourceDim = 0;
  SmallVector<Value> point;
};

} // namespace

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

LogicalResult ElementwiseEmitter::emit() {
  if (!isCovered() || !writesEveryPoint() || failed(chooseVectorDim()))
    return failure();
  unsigned numDims = op.getNumDims();
  partDim = findPartDim();
  Dims known(numDims, true);
  known.reset(vectorDim);
  if (partDim)
    known.reset(*partDim);
  SmallVector<unsigned> outer(known.set_bits());
  point.assign(numDims, Value());
  int64_t extent = extents[vectorDim];
  int64_t together = isLong() ? figures.tuning.interleaved : 1;
  // A step is a line at least: one vector of it asks for the next, and what
  // goes past the caches is a whole line before another one is begun.
  if (fetches() || figures.streams)
    together = std::max(together, vectorsOfLine());
  int64_t step = together * lanes, full = extent - extent % step;
  buildNest(outer, point, [&] {
    Values values;
    emitKnown(known, point, lanes, values);
    OpBuilder::InsertionGuard guard(builder);
    if (scalesRows()) {
      Value factor = values.lookup(body().getArgument(0));
      if (isa<VectorType>(factor.getType()))
        factor = vector::ExtractOp::create(builder, loc(), factor, 0);
      Value one = arith::ConstantOp::create(builder, loc(),
                                            builder.getF32FloatAttr(1.0f));
      Value changes = arith::CmpFOp::create(
          builder, loc(), arith::CmpFPredicate::UNE, factor, one);
      auto choice = scf::IfOp::create(builder, loc(), changes);
      builder.setInsertionPointToStart(choice.thenBlock());
    }
    auto emitFull = [&](Value iv) { emitVectors(iv, together, step, values); };
    if (isOpen(vectorDim)) {
      Value end = extentOf(vectorDim);
      Value whole = endOfSteps(constant(0), end, step);
      buildOpenLoop(constant(0), whole, step, emitFull);
      buildOpenLoop(whole, end, lanes, [&](Value iv) {
        Value left = arith::SubIOp::create(builder, loc(), end, iv);
        emitVectors(iv, 1, left, values);
      });
      return;
    }
    buildLoop(0, full, step, emitFull);
    if (full < extent)
      emitVectors(constant(full), llvm::divideCeil(extent - full, lanes),
                  extent - full, values);
  });
  return success();
}

/// True if rows of the output are multiplied where they are by one number each,
/// as online softmax does with its sums. Most of these are one.
bool ElementwiseEmitter::scalesRows() {
  if (op.getInputs().size() != 1 || op.getOutputs().size() != 1 ||
      indexes(0, vectorDim) || !body().getArgument(0).getType().isF32() ||
      !body().getArgument(1).getType().isF32())
    return false;
  auto product = yielded(0).getDefiningOp<arith::MulFOp>();
  auto isFactor = [&](unsigned argument) {
    return product.getLhs() == body().getArgument(argument) ||
           product.getRhs() == body().getArgument(argument);
  };
  return product && isFactor(0) && isFactor(1);
}

/// `width` elements, in `vectors` vectors, from `first` on.
void ElementwiseEmitter::emitVectors(Value first, int64_t vectors,
                                     LaneCount width, const Values &values) {
  if (partDim)
    return emitParts(first, vectors, width, values);
  buildInterleaved(vectors, [&](int64_t vector) {
    point[vectorDim] = add(first, vector * lanes);
    fetchUnused(point, vector);
    emitVector(after(width, vector), values);
  });
}

/// The same of all parts, one after the other, so that each fills its lines.
void ElementwiseEmitter::emitParts(Value first, int64_t vectors,
                                   LaneCount width, const Values &values) {
  Dims known(op.getNumDims(), true);
  known.reset(*partDim);
  SmallVector<Values> ofVectors(vectors, values);
  buildInterleaved(vectors, [&](int64_t vector) {
    point[vectorDim] = add(first, vector * lanes);
    fetchUnused(point, vector);
    emitKnown(known, point, after(width, vector), ofVectors[vector]);
  });
  for (int64_t part = 0; part < extents[*partDim]; ++part) {
    point[*partDim] = constant(part);
    for (int64_t vector = 0; vector < vectors; ++vector) {
      point[vectorDim] = add(first, vector * lanes);
      emitVector(after(width, vector), ofVectors[vector]);
    }
  }
}

std::optional<unsigned> ElementwiseEmitter::findPartDim() {
  for (auto index : body().getOps<IndexOp>()) {
    unsigned dim = index.getDim();
    bool isRead =
        llvm::any_of(llvm::seq<unsigned>(0, op.getInputs().size()),
                     [&](unsigned operand) { return indexes(operand, dim); });
    if (dim != vectorDim && !isRead && !isOpen(dim) &&
        extents[dim] <= mostPartsOfRow)
      return dim;
  }
  return std::nullopt;
}

void ElementwiseEmitter::emitVector(LaneCount count, Values values) {
  emitKnown(Dims(op.getNumDims(), true), point, count, values);
  unsigned numInputs = op.getInputs().size();
  for (unsigned output = 0; output < op.getOutputs().size(); ++output)
    storeVector(numInputs + output, asVector(yielded(output), values), point,
                count);
}

LogicalResult chimera::emitElementwise(OpBuilder &builder, MicroKernelOp op,
                                       const VectorFigures &figures,
                                       ArrayRef<int64_t> extents) {
  return ElementwiseEmitter(builder, op, figures, extents).emit();
}

//===----------------------------------------------------------------------===//
// Transposed copies
//===----------------------------------------------------------------------===//

LogicalResult TransposedCopyEmitter::emit() {
  AffineMap source = maps.front();
  if (source.getNumResults() == 0 || maps.back().getNumResults() == 0)
    return failure();
  useLastDim();
  auto type = dyn_cast<MemRefType>(op->getOperand(0).getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!type || !isContiguous(outputIndex()) ||
      failed(type.getStridesAndOffset(strides, offset)) || strides.back() != 1)
    return failure();
  sourceDim = source.getDimPosition(source.getNumResults() - 1);
  if (sourceDim == vectorDim || !indexes(0, vectorDim))
    return failure();

  SmallVector<unsigned> outer;
  for (unsigned dim = 0; dim < op.getNumDims(); ++dim)
    if (dim != vectorDim && dim != sourceDim)
      outer.push_back(dim);
  point.assign(op.getNumDims(), Value());
  int64_t rows = extents[vectorDim], columns = extents[sourceDim];
  // Lines of the output are written as a whole.
  int64_t elementBits =
      getElementTypeOrSelf(op.getOutput()).getIntOrFloatBitWidth();
  int64_t line = std::max(lanes, figures.tuning.lineBytes * 8 / elementBits);
  auto forEachPart = [&](int64_t extent, int64_t part,
                         llvm::function_ref<void(Value, int64_t)> body) {
    int64_t full = extent - extent % part;
    buildLoop(0, full, part, [&](Value iv) { body(iv, part); });
    if (full < extent)
      body(constant(full), extent - full);
  };
  if (isOpen(vectorDim) || isOpen(sourceDim)) {
    buildNest(outer, point, [&] { emitOpen(line); });
    return success();
  }
  int64_t step = writesLines() ? quarter : getPerVector();
  // A cache that lines are written through wants few rows of the output at a
  // time; past the caches only the order of reads counts.
  buildNest(outer, point, [&] {
    if (figures.streams)
      return forEachPart(rows, line, [&](Value row, int64_t numRows) {
        forEachPart(columns, step, [&](Value column, int64_t count) {
          emitLines(row, numRows, column, count);
        });
      });
    forEachPart(columns, step, [&](Value column, int64_t count) {
      forEachPart(rows, line, [&](Value row, int64_t numRows) {
        emitLines(row, numRows, column, count);
      });
    });
  });
  return success();
}

/// What `rows` elements of `columns` lines of the output hold.
void TransposedCopyEmitter::emitLines(Value row, int64_t rows, Value column,
                                      int64_t columns) {
  if (!writesLines() || rows % lanes != 0 || columns != quarter) {
    for (int64_t first = 0; first < rows; first += lanes)
      emitSquare(add(row, first), std::min(lanes, rows - first), column,
                 columns);
    return;
  }
  SmallVector<SmallVector<Value>> turned;
  for (int64_t first = 0; first < rows; first += lanes)
    turned.push_back(turnQuarters(add(row, first), column));
  for (int64_t j = 0; j < quarter; ++j)
    for (auto [vector, columnsOfVector] : llvm::enumerate(turned)) {
      point[sourceDim] = add(column, j);
      point[vectorDim] = add(row, vector * lanes);
      storeVector(outputIndex(), columnsOfVector[j], point, lanes);
    }
}

Value TransposedCopyEmitter::shuffle(Value lhs, Value rhs,
                                     ArrayRef<int64_t> lanes) {
  return vector::ShuffleOp::create(builder, loc(), lhs, rhs, lanes);
}

/// A quarter of the columns of a square, each a vector of all rows: halves of
/// vectors hold four rows each, which are transposed without crossing halves.
SmallVector<Value> TransposedCopyEmitter::turnQuarters(Value row,
                                                       Value column) {
  point[sourceDim] = column;
  SmallVector<Value> rows;
  for (int64_t i = 0; i < quarter; ++i) {
    point[vectorDim] = add(row, i);
    Value lower = loadVector(0, point, quarter, quarter);
    point[vectorDim] = add(row, i + quarter);
    Value upper = loadVector(0, point, quarter, quarter);
    rows.push_back(shuffle(lower, upper, {0, 1, 2, 3, 4, 5, 6, 7}));
  }
  SmallVector<Value> columns;
  auto addColumns = [&](ArrayRef<int64_t> pairs) {
    Value first = shuffle(rows[0], rows[1], pairs);
    Value second = shuffle(rows[2], rows[3], pairs);
    columns.push_back(shuffle(first, second, {0, 1, 8, 9, 4, 5, 12, 13}));
    columns.push_back(shuffle(first, second, {2, 3, 10, 11, 6, 7, 14, 15}));
  };
  addColumns({0, 8, 1, 9, 4, 12, 5, 13});
  addColumns({2, 10, 3, 11, 6, 14, 7, 15});
  return columns;
}

/// Pairs of `columns` elements at the current point. Half a vector needs no
/// mask, for which not all processors have an instruction.
Value TransposedCopyEmitter::loadWords(int64_t columns) {
  int64_t width = columns <= lanes ? lanes : 2 * lanes;
  Value read = loadVector(0, point, columns, width);
  if (width < getPerVector()) {
    auto whole = VectorType::get({getPerVector()}, getElementTypeOrSelf(read));
    read = vector::InsertStridedSliceOp::create(
        builder, loc(), read, zero(whole), ArrayRef<int64_t>{0},
        ArrayRef<int64_t>{1});
  }
  return vector::BitCastOp::create(builder, loc(),
                                   vectorType(builder.getF32Type()), read);
}

/// The lower or upper halves of `words`.
Value TransposedCopyEmitter::fromWords(Value words, bool isUpper) {
  Value bits = asBitsOf(words, builder.getI32Type());
  if (isUpper) {
    Value shift = arith::ConstantOp::create(
        builder, loc(),
        DenseElementsAttr::get(cast<VectorType>(bits.getType()),
                               builder.getI32IntegerAttr(16)));
    bits = arith::ShRUIOp::create(builder, loc(), bits, shift);
  }
  Value halves = arith::TruncIOp::create(
      builder, loc(), vectorType(builder.getI16Type()), bits);
  return asBitsOf(halves, getElementTypeOrSelf(op.getOutput()));
}

/// Whole squares of an extent that is not known, and single elements of what
/// is left.
void TransposedCopyEmitter::emitOpen(int64_t line) {
  Value zero = constant(0);
  Value rows = extentOf(vectorDim), columns = extentOf(sourceDim);
  int64_t perVector = writesLines() ? quarter : getPerVector();
  Value rowEnd = endOfSteps(zero, rows, line),
        columnEnd = endOfSteps(zero, columns, perVector);
  buildOpenLoop(zero, rowEnd, line, [&](Value row) {
    buildOpenLoop(zero, columnEnd, perVector, [&](Value column) {
      emitLines(row, line, column, perVector);
    });
  });
  emitElements(zero, rowEnd, columnEnd, columns);
  emitElements(rowEnd, rows, zero, columns);
}

void TransposedCopyEmitter::emitElements(Value row, Value rowEnd, Value column,
                                         Value columnEnd) {
  buildOpenLoop(row, rowEnd, 1, [&](Value i) {
    buildOpenLoop(column, columnEnd, 1, [&](Value j) {
      point[vectorDim] = i;
      point[sourceDim] = j;
      memref::StoreOp::create(builder, loc(), loadScalar(0, point),
                              op.getOutput(), indices(outputIndex(), point));
    });
  });
}

/// Reads `rows` vectors along the source's contiguous dimension, writes
/// `columns` vectors along the output's.
void TransposedCopyEmitter::emitSquare(Value row, int64_t rows, Value column,
                                       int64_t columns) {
  Type elementType =
      isHalf() ? builder.getF32Type() : getElementTypeOrSelf(op.getOutput());
  auto squareType = VectorType::get({lanes, lanes}, elementType);
  Value square = zero(squareType);
  point[sourceDim] = column;
  for (int64_t i = 0; i < rows; ++i) {
    point[vectorDim] = add(row, i);
    Value read = isHalf() ? loadWords(columns) : loadVector(0, point, columns);
    square = vector::InsertOp::create(builder, loc(), read, square,
                                      ArrayRef<int64_t>{i});
    if (asksAhead() && columns == getPerVector()) {
      SmallVector<Value> ahead = point;
      ahead[sourceDim] = add(column, columnsAhead);
      prefetchFar(0, ahead);
    }
  }
  Value transposed = vector::TransposeOp::create(builder, loc(), square,
                                                 ArrayRef<int64_t>{1, 0});
  point[vectorDim] = row;
  for (int64_t j = 0; j < columns; ++j) {
    point[sourceDim] = add(column, j);
    int64_t place = isHalf() ? j / 2 : j;
    Value written = vector::ExtractOp::create(builder, loc(), transposed,
                                              ArrayRef<int64_t>{place});
    if (isHalf())
      written = fromWords(written, /*isUpper=*/j % 2 == 1);
    storeVector(outputIndex(), written, point, rows);
  }
}

LogicalResult chimera::emitTransposedCopy(OpBuilder &builder, MicroKernelOp op,
                                          const VectorFigures &figures,
                                          ArrayRef<int64_t> extents) {
  return TransposedCopyEmitter(builder, op, figures, extents).emit();
}
