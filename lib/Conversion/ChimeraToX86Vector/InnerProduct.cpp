//===- InnerProduct.cpp - Products of a few vectors with many -------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scores of one query against many keys, a vector times a transposed matrix:
// each element of the matrix is used once or a few times, so that nothing but
// reading it counts. An outer product would have it transposed first. Here
// vectors run along the reduction, in the order of memory:
//
//   for groups of columns, that is, of rows of the matrix
//     accumulators, one for each row and column
//     for the reduction, a few vectors at a time
//       for columns, for vectors: a load, an FMA for each row
//     lanes combined, all columns of the group together
//
// One row reads parts of the matrix by turns, as many as the target's `streams`
// says: a group has equally many columns of each. What is read once comes from
// memory at its full rate only in the order in which it lies there, which the
// processor's own prefetching recognises, so each column is read to its end
// before the next.
//
//===----------------------------------------------------------------------===//

#include "Combiner.h"
#include "MicroKernelEmitter.h"
#include "X86Intrinsics.h"

#include "Chimera/Model/Algorithms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace chimera;

/// The greatest extent of `dim` that is listed or given by a type.
static std::optional<int64_t> getGreatestExtent(MicroKernelOp op,
                                                unsigned dim) {
  for (auto [map, operand] : llvm::zip_equal(op.getMaps(), op->getOperands()))
    if (auto type = dyn_cast<ShapedType>(operand.getType()))
      if (std::optional<unsigned> position =
              map.getResultPosition(getAffineDimExpr(dim, op.getContext())))
        if (!type.isDynamicDim(*position))
          return type.getDimSize(*position);
  SmallVector<int64_t> listed = op.getExtentsOf(dim);
  if (listed.empty())
    return std::nullopt;
  return *llvm::max_element(listed);
}

static std::optional<unsigned> getLastDim(AffineMap map) {
  if (map.getNumResults() == 0)
    return std::nullopt;
  return map.getDimPosition(map.getNumResults() - 1);
}

bool chimera::mayBeInnerProduct(MicroKernelOp op) {
  if (!isCoveredProduct(op) || !multipliesAndAdds(op.getBody().front()))
    return false;
  SmallVector<AffineMap> maps = op.getMaps();
  std::optional<unsigned> along = getLastDim(maps[0]);
  if (!along || getLastDim(maps[1]) != along || !op.isReduction(*along))
    return false;
  // Rows use the same part of the matrix, which the last dimension indexes.
  std::optional<unsigned> column = getLastDim(maps[2]);
  AffineMap matrix =
      !column || maps[1].isFunctionOfDim(*column) ? maps[1] : maps[0];
  int64_t rows = 1;
  for (unsigned dim = 0; dim < op.getNumDims(); ++dim) {
    if (op.isReduction(dim) || matrix.isFunctionOfDim(dim))
      continue;
    std::optional<int64_t> extent = getGreatestExtent(op, dim);
    if (!extent || *extent > model::mostRowsOfReading)
      return false;
    rows *= *extent;
  }
  return rows <= model::mostRowsOfReading;
}

/// Windows are no vectors: their taps would leave most lanes idle, and what is
/// summed up for each of them has an order that outer products keep.
bool chimera::isInnerProduct(MicroKernelOp op) {
  if (!mayBeInnerProduct(op))
    return false;
  std::optional<int64_t> sum =
      getGreatestExtent(op, *getLastDim(op.getMaps()[0]));
  return (!sum || *sum >= model::reductionPart) &&
         llvm::count_if(llvm::seq(op.getNumDims()),
                        [&](unsigned dim) { return op.isReduction(dim); }) == 1;
}

namespace {

class InnerProductEmitter : public MicroKernelEmitter {
public:
  InnerProductEmitter(OpBuilder &builder, MicroKernelOp op,
                      const VectorFigures &figures, ArrayRef<int64_t> extents)
      : MicroKernelEmitter(builder, op, figures, extents),
        usesDots(mayBeDotProduct(op, figures)),
        perVector(usesDots ? 2 * lanes : lanes) {}

  LogicalResult emit();

private:
  void chooseDims();
  void emitColumns();
  void emitTile(int64_t tileColumns, int64_t tileParts = 1);
  SmallVector<Value> emitReduction(unsigned depth, SmallVector<Value> carried);
  SmallVector<Value> emitStep(Value first, int64_t vectors, LaneCount width,
                              SmallVector<Value> carried);
  void prefetchAfter(unsigned operand, SmallVector<Value> here);
  void store(int64_t row, Value sums);
  void storeColumns(SmallVector<Value> first, Value sums);
  SmallVector<Value> pointOf(int64_t row, int64_t column);
  Value loadElements(unsigned operand, ArrayRef<Value> here, LaneCount count);

  /// True if pairs of neighbours are multiplied at once, and the elements of a
  /// vector of factors.
  bool usesDots;
  int64_t perVector;
  std::optional<Combiner> sum;
  std::optional<unsigned> rowDim, columnDim;
  SmallVector<unsigned> outerDims, innerDims;
  /// Elements along the reduction in one iteration. A single row only waits for
  /// the matrix, so it takes as many bytes of it at once whatever the length of
  /// vectors: those of its own that find no register come from the first level.
  int64_t getStep() const {
    int64_t vectors = figures.tuning.rowVectors / rows;
    if (rows == 1)
      vectors *= vectorsOfLongest();
    return std::max<int64_t>(1, vectors) * perVector;
  }
  /// True if a column after the other is read, each of them at once, once.
  bool isStream() const {
    return rows == 1 && innerDims.empty() && !isOpen(vectorDim) &&
           extents[vectorDim] <= getStep();
  }

  /// The current tile: `columns` of each of `parts` of the matrix, which are
  /// `distance` columns apart.
  int64_t rows = 1, columns = 1, parts = 1, distance = 0;
  SmallVector<Value> point;
};

} // namespace

void InnerProductEmitter::chooseDims() {
  vectorDim = *getLastDim(maps[0]);
  columnDim = getLastDim(maps[2]);
  unsigned matrix = !columnDim || indexes(1, *columnDim) ? 1 : 0;
  for (unsigned dim = 0; dim < op.getNumDims(); ++dim) {
    if (dim == vectorDim || dim == columnDim)
      continue;
    if (op.isReduction(dim)) {
      innerDims.push_back(dim);
      continue;
    }
    outerDims.push_back(dim);
    if (!indexes(matrix, dim) && (!rowDim || mostOf(dim) >= mostOf(*rowDim)))
      rowDim = dim;
  }
  if (rowDim)
    llvm::erase(outerDims, *rowDim);
  if (rowDim && isOpen(*rowDim)) {
    // Sums of a number of rows that is not known have no registers.
    outerDims.push_back(*rowDim);
    rowDim.reset();
  }
  rows = rowDim ? extents[*rowDim] : 1;
}

LogicalResult InnerProductEmitter::emit() {
  Block &body = op.getBody().front();
  sum = Combiner::find(body.getArgument(2), body.getTerminator()->getOperand(0),
                       figures.hasAvx512);
  if (!sum)
    return failure();
  chooseDims();
  if (!isContiguous(0) || !isContiguous(1) ||
      (columnDim && !isContiguous(outputIndex(), *columnDim)))
    return failure();
  point.assign(op.getNumDims(), Value());
  if (rowDim)
    point[*rowDim] = constant(0);
  buildNest(outerDims, point, [&] { emitColumns(); });
  return success();
}

void InnerProductEmitter::emitColumns() {
  if (!columnDim)
    return emitTile(1);
  int64_t extent = extents[*columnDim];
  int64_t step =
      std::max<int64_t>(1, std::min(figures.tuning.accumulators / rows, lanes));
  if (isOpen(*columnDim))
    return buildLadder(constant(0), extentOf(*columnDim), {step, 1},
                       [&](Value column, int64_t columns) {
                         point[*columnDim] = column;
                         emitTile(columns);
                       });
  int64_t streams = isStream() ? std::min(figures.tuning.streams, step) : 1;
  int64_t columnsOfStream = step / streams;
  distance = extent / step * columnsOfStream;
  buildLoop(0, distance, columnsOfStream, [&](Value column) {
    point[*columnDim] = column;
    emitTile(columnsOfStream, streams);
  });
  int64_t full = distance * streams;
  if (full == extent)
    return;
  point[*columnDim] = constant(full);
  emitTile(extent - full);
}

/// The point of row `row` and column `column` of the tile, part by part.
SmallVector<Value> InnerProductEmitter::pointOf(int64_t row, int64_t column) {
  SmallVector<Value> result = point;
  if (rowDim)
    result[*rowDim] = add(point[*rowDim], row);
  if (columnDim)
    result[*columnDim] =
        add(point[*columnDim], column / columns * distance + column % columns);
  return result;
}

void InnerProductEmitter::emitTile(int64_t tileColumns, int64_t tileParts) {
  columns = tileColumns;
  parts = tileParts;
  int64_t sumsOfRow = parts * columns;
  Value none = zero(vectorType(getElementTypeOrSelf(op.getOutput())));
  SmallVector<Value> sums =
      emitReduction(0, SmallVector<Value>(rows * sumsOfRow, none));
  for (int64_t row = 0; row < rows; ++row)
    store(row, combineLanes(builder, loc(), *sum,
                            llvm::to_vector(ArrayRef(sums).slice(
                                row * sumsOfRow, sumsOfRow))));
}

SmallVector<Value>
InnerProductEmitter::emitReduction(unsigned depth, SmallVector<Value> carried) {
  if (depth < innerDims.size()) {
    unsigned dim = innerDims[depth];
    return buildLoopOver(dim, carried, [&](Value iv, ValueRange values) {
      point[dim] = iv;
      return emitReduction(depth + 1, SmallVector<Value>(values));
    });
  }
  int64_t extent = extents[vectorDim];
  int64_t step = getStep();
  int64_t full = extent - extent % step;
  auto emitFull = [&](Value iv, ValueRange values) {
    return emitStep(iv, step / perVector, step, SmallVector<Value>(values));
  };
  if (isOpen(vectorDim)) {
    Value end = extentOf(vectorDim);
    Value whole = endOfSteps(constant(0), end, step);
    carried = buildOpenLoop(constant(0), whole, step, carried, emitFull);
    return buildOpenLoop(
        whole, end, perVector, carried, [&](Value iv, ValueRange values) {
          Value left = arith::SubIOp::create(builder, loc(), end, iv);
          return emitStep(iv, 1, left, SmallVector<Value>(values));
        });
  }
  carried = buildLoop(0, full, step, carried, emitFull);
  if (full == extent)
    return carried;
  int64_t left = extent - full;
  return emitStep(constant(full), llvm::divideCeil(left, perVector), left,
                  carried);
}

/// A vector of factors, as they are multiplied.
Value InnerProductEmitter::loadElements(unsigned operand, ArrayRef<Value> here,
                                        LaneCount count) {
  Value loaded = loadVector(operand, here, count, perVector);
  return usesDots ? loaded : widen(loaded);
}

/// Adds the products of `width` elements, in `vectors` vectors, from `first`
/// on.
SmallVector<Value> InnerProductEmitter::emitStep(Value first, int64_t vectors,
                                                 LaneCount width,
                                                 SmallVector<Value> carried) {
  // An operand has one vector per row, per column, or for both.
  llvm::DenseMap<std::tuple<unsigned, int64_t, int64_t, int64_t>, Value> loaded;
  auto load = [&](unsigned operand, int64_t row, int64_t column,
                  int64_t vector) {
    bool alongRows = rowDim && indexes(operand, *rowDim);
    bool alongColumns = columnDim && indexes(operand, *columnDim);
    Value &value = loaded[{operand, alongRows ? row : 0,
                           alongColumns ? column : 0, vector}];
    if (!value) {
      SmallVector<Value> here = pointOf(row, column);
      here[vectorDim] = add(first, vector * perVector);
      // Lanes of sums are counted, of which a vector has fewer.
      value =
          loadElements(operand, here, after(width, vector * perVector / lanes));
      if (alongColumns && !isOpen(vectorDim) && (rows > 1 || isStream()))
        prefetchAfter(operand, here);
    }
    return value;
  };
  for (int64_t turn = 0; turn < parts * columns; ++turn) {
    if (turn > 0 && isStream())
      keepOrderOfReads(builder, loc());
    for (int64_t vector = 0; vector < vectors; ++vector)
      for (int64_t row = 0; row < rows; ++row) {
        int64_t column = turn % parts * columns + turn / parts;
        Value lhs = load(0, row, column, vector);
        Value rhs = load(1, row, column, vector);
        Value &accumulator = carried[row * parts * columns + column];
        accumulator =
            usesDots
                ? createDotProducts(builder, loc(), accumulator, lhs, rhs)
                : vector::FMAOp::create(builder, loc(), lhs, rhs, accumulator)
                      .getResult();
      }
  }
  return carried;
}

/// Asks for what is read some vectors after `here`: in a later column if one
/// follows the other, in a later group of columns if rows of the matrix are
/// short, else in a later iteration.
void InnerProductEmitter::prefetchAfter(unsigned operand,
                                        SmallVector<Value> here) {
  int64_t perColumn = llvm::divideCeil(extents[vectorDim], perVector);
  int64_t perGroup = columns * perColumn;
  if (isStream()) {
    here[*columnDim] =
        add(here[*columnDim], llvm::divideCeil(streamAhead(), perColumn));
  } else if (perGroup <= 2 * figures.tuning.ahead) {
    int64_t groups = llvm::divideCeil(figures.tuning.ahead, perGroup);
    here[*columnDim] = add(here[*columnDim], groups * columns);
  } else {
    int64_t perStep = columns * getStep() / lanes;
    int64_t steps = llvm::divideCeil(figures.tuning.ahead, perStep);
    here[vectorDim] = add(here[vectorDim], steps * getStep());
  }
  prefetchFar(operand, here);
}

/// Adds `sums`, one lane for each column, to the output or puts them there.
void InnerProductEmitter::store(int64_t row, Value sums) {
  if (parts == 1)
    return storeColumns(pointOf(row, 0), sums);
  for (int64_t part = 0; part < parts; ++part)
    storeColumns(pointOf(row, part * columns),
                 vector::ExtractStridedSliceOp::create(
                     builder, loc(), sums, /*offsets=*/{part * columns},
                     /*sizes=*/{columns}, /*strides=*/{1}));
}

/// The same for columns that follow each other, from `first` on.
void InnerProductEmitter::storeColumns(SmallVector<Value> first, Value sums) {
  SmallVector<Value> position = indices(outputIndex(), first);
  Value memref = op.getOutput();
  auto type = cast<VectorType>(sums.getType());
  auto addTo = [&](Value before, Value value) {
    return arith::AddFOp::create(builder, loc(), before, value).getResult();
  };
  if (columnDim) {
    if (!op.getOverwrite())
      sums = addTo(
          vector::LoadOp::create(builder, loc(), type, memref, position), sums);
    vector::StoreOp::create(builder, loc(), sums, memref, position);
    return;
  }
  Value scalar =
      vector::ExtractOp::create(builder, loc(), sums, ArrayRef<int64_t>{0});
  if (!op.getOverwrite())
    scalar =
        addTo(memref::LoadOp::create(builder, loc(), memref, position), scalar);
  memref::StoreOp::create(builder, loc(), scalar, memref, position);
}

LogicalResult chimera::emitInnerProduct(OpBuilder &builder, MicroKernelOp op,
                                        const VectorFigures &figures,
                                        ArrayRef<int64_t> extents) {
  return InnerProductEmitter(builder, op, figures, extents).emit();
}
