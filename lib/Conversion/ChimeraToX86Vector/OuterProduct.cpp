//===- OuterProduct.cpp - Contractions on vector registers ----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Algorithm 2 of the paper: a register tile of MI x NI accumulators is loaded
// (or zeroed), updated by KI outer products of MI broadcast elements and NI
// vectors per iteration of the reduction, and stored.
//
//   for panels of NI vectors           one operand's panel stays in L1
//     for groups of MI rows
//       accumulators
//       for the reduction, KI steps at a time
//         NI vector loads, MI broadcasts, MI * NI FMAs
//
// A reduction over the taps of a window and its channels takes a few channels
// of all taps at a time.
//
// Extents are split evenly, so that edges are nearly as large as full tiles,
// and the last vector of a row is masked. Every element is accumulated in the
// order of the reduction. A row that is multiplied with a narrow matrix reads
// parts of it by turns where the target says so.
//
//===----------------------------------------------------------------------===//

#include "OuterProduct.h"

#include "Chimera/Conversion/KernelPrefetch.h"
#include "Chimera/Model/Padding.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace chimera;

bool chimera::isFinishedByOuterProduct(MicroKernelOp op, MicroKernelOp finish,
                                       const VectorFigures &figures) {
  OpBuilder builder(op);
  // Groups of codes are finished one after the other.
  if (isQuantized(op) &&
      FactorDecoder(builder, op, figures, /*extents=*/{}).hasSharedParts())
    return false;
  return isCoveredProduct(op) && !isInnerProduct(op) &&
         (!isIntegerProduct(op) || mayBeDotProduct(op, figures)) &&
         FinishEmitter(builder, finish, op, figures).isCovered();
}

bool chimera::isOuterReduction(MicroKernelOp op, unsigned dim) {
  return op.isReduction(dim) &&
         llvm::any_of(llvm::seq(dim + 1, op.getNumDims()),
                      [&](unsigned inner) { return op.isReduction(inner); });
}

/// Rows are the longest dimension of the output that an operand of vectors does
/// not have, so that its vectors are reused; the other dimensions are loops.
void OuterProductEmitter::chooseDims() {
  auto isStreamed = [&](unsigned dim) {
    return llvm::none_of(factors, [&](unsigned operand) {
      return indexes(operand, vectorDim) && !indexes(operand, dim);
    });
  };
  for (unsigned dim = 0; dim < op.getNumDims(); ++dim) {
    if (dim == wordDim)
      continue;
    if (op.isReduction(dim)) {
      bool isGroup = decoder && decoder->isGroup(dim);
      (isGroup ? groupDims : reductionDims).push_back(dim);
      continue;
    }
    if (dim == vectorDim || isStreamed(dim))
      continue;
    if (!rowDim || mostOf(dim) >= mostOf(*rowDim))
      rowDim = dim;
  }
  for (unsigned dim = 0; dim < op.getNumDims(); ++dim)
    if (!op.isReduction(dim) && dim != vectorDim && dim != rowDim)
      outerDims.push_back(dim);
  chooseDots();
  // Fields of one word follow each other.
  if (std::optional<unsigned> field =
          decoder ? decoder->getFieldDim() : std::nullopt;
      field && llvm::is_contained(reductionDims, *field)) {
    llvm::erase(reductionDims, *field);
    reductionDims.push_back(*field);
  }
}

/// Taps can be left out by rows if pixels are rows, each of them a broadcast,
/// and the loop over taps is not the innermost.
void OuterProductEmitter::readTaps() {
  TapsAttr given = op.getTapsAttr();
  if (given && rowDim == given.getPixel() &&
      reductionDims.back() != given.getTap() && !haveVectorsInRows() &&
      !isOpen(given.getTap()) && !isOpen(*rowDim))
    padded = given;
}

/// Of `rows` rows from `first` on those of which `tap` lies inside the image:
/// the first, counted from `first`, and the number of them.
std::pair<int64_t, int64_t>
OuterProductEmitter::rowsOf(int64_t tap, int64_t first, int64_t rows) const {
  model::PaddedWindow window;
  // The roles exchanged: the rows of a tap.
  window.pixelFactor = padded.getTapFactor();
  window.tapFactor = padded.getPixelFactor();
  window.begin = padded.getBegin() - padded.getPixelFactor() * first;
  window.end = padded.getEnd() - padded.getPixelFactor() * first;
  return window.tapsOf(tap, 1, rows);
}

bool OuterProductEmitter::hasPadding(int64_t first, int64_t rows) const {
  return padded &&
         llvm::any_of(llvm::seq(extents[padded.getTap()]), [&](int64_t tap) {
           return rowsOf(tap, first, rows).second < rows;
         });
}

/// The rows for which the registers of the tile hold the sums and, of an
/// operand that has vectors in each row, what the taps of a window use by
/// turns: all rows and two more. A vector of the other operand is there as
/// well.
int64_t OuterProductEmitter::countRowsOfVectors() const {
  int64_t registers = tile.rows * tile.vectors + tile.vectors + tile.broadcasts;
  int64_t vectors =
      std::min(tile.vectors, llvm::divideCeilSigned(extents[vectorDim], lanes));
  return std::max<int64_t>(1, (registers - 3 * vectors) / (2 * vectors));
}

LogicalResult OuterProductEmitter::emit() {
  if (!isCoveredProduct(op) || maps.back().getNumResults() == 0)
    return failure();
  useLastDim();
  wordDim = findWords();
  for (unsigned operand = 0; operand < maps.size(); ++operand)
    if (indexes(operand, vectorDim) && !isContiguous(operand) &&
        !(wordDim && indexes(operand, *wordDim)))
      return failure();
  chooseDims();
  if (!mayDecode())
    return failure();
  // Windows are cut where their extents are known.
  bool hasWindows = rowDim && haveVectorsInRows();
  if (hasWindows && (isOpen(vectorDim) || isOpen(*rowDim)))
    return failure();
  if (hasWindows)
    tileRows = std::min(tileRows, countRowsOfVectors());
  readTaps();
  point.assign(op.getNumDims(), Value());
  if (wordDim)
    point[*wordDim] = constant(0);
  buildNest(outerDims, point, [&] {
    prepareRows();
    emitPanels();
  });
  return success();
}

void OuterProductEmitter::emitPanels() {
  if (isOpen(vectorDim))
    return emitOpenPanels();
  int64_t columns = extents[vectorDim];
  int64_t vectors = llvm::divideCeil(columns, lanes);
  model::BalancedSplit split = model::splitEvenly(vectors, panelVectors);
  int64_t wide = split.size * lanes, narrow = (split.size - 1) * lanes;
  int64_t middle = split.large * wide;
  // The panel that holds the partial vector is emitted by itself; the others
  // are full.
  auto emitGroup = [&](int64_t begin, int64_t count, int64_t width,
                       int64_t panelVectors) {
    panels = {begin ? split.large : 0, split.large + split.small, begin, width};
    int64_t end = begin + count * width;
    bool hasPartial = end > columns;
    int64_t fullEnd = hasPartial ? end - width : end;
    buildLoop(begin, fullEnd, width,
              [&](Value column) { emitRows(column, panelVectors, width); });
    if (hasPartial)
      emitRows(constant(fullEnd), panelVectors, columns - fullEnd);
  };
  emitGroup(0, split.large, wide, split.size);
  if (split.small)
    emitGroup(middle, split.small, narrow, split.size - 1);
}

/// Whole panels of an extent that is not known, and a part of one.
void OuterProductEmitter::emitOpenPanels() {
  int64_t width = panelVectors * lanes;
  Value end = extentOf(vectorDim);
  Value whole = endOfSteps(constant(0), end, width);
  buildOpenLoop(constant(0), whole, width,
                [&](Value column) { emitRows(column, panelVectors, width); });
  Value left = arith::SubIOp::create(builder, loc(), end, whole);
  for (int64_t vectors = 1; vectors <= panelVectors; ++vectors) {
    // As many vectors as there are, the last of them in part.
    Value vectorsLeft =
        arith::CeilDivUIOp::create(builder, loc(), left, constant(lanes));
    Value isSo = arith::CmpIOp::create(builder, loc(), arith::CmpIPredicate::eq,
                                       vectorsLeft, constant(vectors));
    buildIf(isSo, [&] { emitRows(whole, vectors, left); });
  }
}

void OuterProductEmitter::emitRowsOf(Value column, int64_t vectors,
                                     LaneCount columns) {
  if (rowDim && isOpen(*rowDim))
    return emitOpenRows(column, vectors, columns);
  int64_t extent = rowDim ? extents[*rowDim] : 1;
  model::BalancedSplit split = model::splitEvenly(extent, tileRows);
  int64_t middle = split.large * split.size;
  emitTiles(0, middle, split.size, column, vectors, columns);
  if (split.small)
    emitTiles(middle, extent, split.size - 1, column, vectors, columns);
}

/// Tiles of as many rows as an even split of the number that there are has,
/// which is not known: first the larger ones, then those with a row less.
void OuterProductEmitter::emitOpenRows(Value column, int64_t vectors,
                                       LaneCount columns) {
  Value zero = constant(0), one = constant(1);
  Value extent = extentOf(*rowDim);
  Value most = constant(tileRows);
  Value tiles = arith::CeilDivUIOp::create(builder, loc(), extent, most);
  // Nothing is split into one tile of no rows.
  tiles = arith::MaxUIOp::create(builder, loc(), tiles, one);
  Value size = arith::CeilDivUIOp::create(builder, loc(), extent, tiles);
  Value whole = arith::MulIOp::create(builder, loc(), tiles, size);
  Value small = arith::SubIOp::create(builder, loc(), whole, extent);
  Value large = arith::SubIOp::create(builder, loc(), tiles, small);
  Value middle = arith::MulIOp::create(builder, loc(), large, size);
  Value less = arith::SubIOp::create(builder, loc(), size, one);
  buildOpenLoop(zero, constant(2), 1, [&](Value turn) {
    Value isFirst = arith::CmpIOp::create(builder, loc(),
                                          arith::CmpIPredicate::eq, turn, zero);
    auto choose = [&](Value first, Value second) -> Value {
      return arith::SelectOp::create(builder, loc(), isFirst, first, second);
    };
    Value rows = choose(size, less);
    Value begin = choose(zero, middle), end = choose(middle, extent);
    for (int64_t count = tileRows; count > 0; --count) {
      Value isSo = arith::CmpIOp::create(
          builder, loc(), arith::CmpIPredicate::eq, rows, constant(count));
      buildIf(isSo, [&] {
        buildOpenLoop(begin, end, count, [&](Value row) {
          emitTile(row, count, column, vectors, columns);
        });
      });
    }
  });
}

/// Tiles of `rows` rows from `begin` to `end`: those with taps on padding by
/// themselves, the others between them in a loop.
void OuterProductEmitter::emitTiles(int64_t begin, int64_t end, int64_t rows,
                                    Value column, int64_t vectors,
                                    LaneCount columns) {
  auto emitInside = [&](int64_t lower, int64_t upper) {
    buildLoop(lower, upper, rows, [&](Value row) {
      emitTile(row, rows, column, vectors, columns);
    });
  };
  int64_t inside = begin;
  // Without padding there may be more tiles than anyone could look at.
  for (int64_t first = begin; padded && first < end; first += rows) {
    if (!hasPadding(first, rows))
      continue;
    emitInside(inside, first);
    firstRow = first;
    emitTile(constant(first), rows, column, vectors, columns);
    firstRow.reset();
    inside = first + rows;
  }
  emitInside(inside, end);
}

SmallVector<Value> OuterProductEmitter::pointOf(int64_t row, int64_t vector) {
  SmallVector<Value> result = point;
  if (rowDim)
    result[*rowDim] = add(point[*rowDim], row);
  result[vectorDim] = add(point[vectorDim], vector * lanes);
  return result;
}

void OuterProductEmitter::emitTile(Value row, int64_t rows, Value column,
                                   int64_t vectors, LaneCount columns) {
  if (rowDim)
    point[*rowDim] = row;
  point[vectorDim] = column;
  VectorType type = vectorType(getElementTypeOrSelf(op.getOutput()));
  if (decoder && !panel && decoder->hasSharedParts()) {
    if (op.getOverwrite())
      storeTile(SmallVector<Value>(rows * vectors, zero(type)), rows, vectors,
                columns);
    return buildNest(groupDims, point,
                     [&] { emitGroup(rows, vectors, columns); });
  }
  SmallVector<Value> accumulators;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < vectors; ++j)
      accumulators.push_back(
          op.getOverwrite()
              ? zero(type)
              : loadVector(outputIndex(), pointOf(i, j), lanesOf(j, columns)));
  if (stepSize > 1 && !op.getOverwrite())
    accumulators = exchangeLanes(accumulators, vectors, /*isBack=*/false);
  subtractShifts(accumulators, vectors);
  fetchForFinish(rows, vectors);
  accumulators = emitSums(accumulators, rows, vectors, columns);
  if (stepSize > 1)
    accumulators = exchangeLanes(accumulators, vectors, /*isBack=*/true);
  storeTile(accumulators, rows, vectors, columns);
}

/// Asks for what the sums of a tile are finished with, a residual for example,
/// and where they are stored, while they are computed: rows of a tile are too
/// short for a processor to see what comes next.
void OuterProductEmitter::fetchForFinish(int64_t rows, int64_t vectors) {
  // Few steps leave no time for an answer.
  constexpr int64_t leastSteps = 32;
  int64_t steps = 1;
  for (unsigned dim : reductionDims)
    steps *= mostOf(dim);
  if (!finish || steps < leastSteps)
    return;
  int64_t vectorBytes = lanes * int64_t(sizeof(float)),
          perLine =
              std::max<int64_t>(1, figures.tuning.lineBytes / vectorBytes);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < vectors; j += perLine)
      finish->fetch(pointOf(i, j));
}

void OuterProductEmitter::storeTile(ArrayRef<Value> sums, int64_t rows,
                                    int64_t vectors, LaneCount columns) {
  SmallVector<FinishEmitter::Values> ofColumns(vectors);
  if (finish)
    for (int64_t j = 0; j < vectors; ++j)
      ofColumns[j] = finish->emitColumn(pointOf(0, j), lanesOf(j, columns));
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < vectors; ++j) {
      SmallVector<Value> here = pointOf(i, j);
      LaneCount count = lanesOf(j, columns);
      Value sum = sums[i * vectors + j];
      if (finish)
        finish->emit(sum, here, count, ofColumns[j]);
      else
        storeVector(outputIndex(), sum, here, count);
    }
}

/// The reduction; if it has several loops, a part of the innermost at a time.
SmallVector<Value> OuterProductEmitter::emitParts(SmallVector<Value> carried,
                                                  int64_t rows, int64_t vectors,
                                                  LaneCount columns) {
  if (isOpen(reductionDims.back())) {
    partBegin = constant(0);
    return emitReduction(0, carried, rows, vectors, columns);
  }
  int64_t extent = extents[reductionDims.back()];
  int64_t part = tile.part > 0 ? tile.part : model::reductionPart;
  if (wordDim)
    part = std::max<int64_t>(1, part / dotSize);
  int64_t size = hasOuterReduction() ? std::min(part, extent) : extent;
  auto emitPart = [&](Value begin, int64_t steps, ValueRange values) {
    partBegin = begin;
    partSteps = steps;
    return emitReduction(0, SmallVector<Value>(values), rows, vectors, columns);
  };
  int64_t whole = extent - extent % size;
  carried =
      buildLoop(0, whole, size, carried, [&](Value iv, ValueRange values) {
        return emitPart(iv, size, values);
      });
  if (whole < extent)
    carried = emitPart(constant(whole), extent - whole, carried);
  return carried;
}

/// The loops over the reduction dimensions from `depth` on.
SmallVector<Value>
OuterProductEmitter::emitReduction(unsigned depth, SmallVector<Value> carried,
                                   int64_t rows, int64_t vectors,
                                   LaneCount columns) {
  unsigned dim = reductionDims[depth];
  if (depth + 1 < reductionDims.size()) {
    if (firstRow && dim == padded.getTap())
      return emitTaps(depth, carried, rows, vectors, columns);
    return buildLoopOver(dim, carried, [&](Value iv, ValueRange values) {
      point[dim] = iv;
      return emitReduction(depth + 1, SmallVector<Value>(values), rows, vectors,
                           columns);
    });
  }
  return emitInnermost(carried, rows, vectors, columns);
}

/// Taps for the rows of which they lie inside the image: the others add zeros.
/// Neighbours that have the same rows share a loop.
SmallVector<Value> OuterProductEmitter::emitTaps(unsigned depth,
                                                 SmallVector<Value> carried,
                                                 int64_t rows, int64_t vectors,
                                                 LaneCount columns) {
  Value row = point[*rowDim];
  int64_t taps = extents[padded.getTap()], end = 0;
  for (int64_t tap = 0; tap < taps; tap = end) {
    auto range = rowsOf(tap, *firstRow, rows);
    for (end = tap + 1; end < taps && rowsOf(end, *firstRow, rows) == range;)
      ++end;
    auto [begin, count] = range;
    if (count == 0)
      continue;
    point[*rowDim] = add(row, begin);
    auto own = ArrayRef(carried).slice(begin * vectors, count * vectors);
    SmallVector<Value> sums =
        buildLoop(tap, end, 1, SmallVector<Value>(own),
                  [&, count = count](Value iv, ValueRange values) {
                    point[padded.getTap()] = iv;
                    return emitReduction(depth + 1, SmallVector<Value>(values),
                                         count, vectors, columns);
                  });
    llvm::copy(sums, carried.begin() + begin * vectors);
  }
  point[*rowDim] = row;
  return carried;
}

/// The innermost loop runs KI steps per iteration, or a few more so that each
/// part has as many; what is left of its extent comes after it.
SmallVector<Value>
OuterProductEmitter::emitInnermost(SmallVector<Value> carried, int64_t rows,
                                   int64_t vectors, LaneCount columns) {
  if (isOpen(reductionDims.back()))
    return emitOpenInnermost(carried, rows, vectors, columns);
  int64_t extent = partSteps;
  parts = isStream() ? figures.tuning.streams : 1;
  bool hasFields = decoder && decoder->getFieldDim() == reductionDims.back();
  if (decodesInPlace())
    return emitFields(carried, rows, vectors, columns);
  int64_t unroll = hasFields
                       ? extent
                       : llvm::alignTo(std::min(tile.depth * stepSize, extent),
                                       parts * stepSize);
  int64_t iterations = extent / unroll, step = unroll / parts;
  distance = iterations * step;
  int64_t inAll = extents[reductionDims.back()] / partSteps * iterations;
  carried =
      buildLoop(0, distance, step, carried, [&](Value iv, ValueRange values) {
        iv = arith::AddIOp::create(builder, loc(), partBegin, iv);
        fetchShare(iv, step, inAll);
        return emitSteps(iv, unroll, SmallVector<Value>(values), rows, vectors,
                         columns);
      });
  int64_t left = extent % unroll;
  if (left == 0)
    return carried;
  parts = 1;
  return emitSteps(add(partBegin, extent - left), left, carried, rows, vectors,
                   columns);
}

/// As many steps as there are, KI of them at a time, and then one by one.
SmallVector<Value>
OuterProductEmitter::emitOpenInnermost(SmallVector<Value> carried, int64_t rows,
                                       int64_t vectors, LaneCount columns) {
  parts = 1;
  Value end = extentOf(reductionDims.back()), begin = constant(0);
  SmallVector<int64_t, 3> depths = {tile.depth * stepSize, stepSize};
  if (stepSize > 1)
    depths.push_back(1);
  for (int64_t depth : depths) {
    Value whole = endOfSteps(begin, end, depth);
    carried = buildOpenLoop(
        begin, whole, depth, carried, [&](Value iv, ValueRange values) {
          return emitSteps(iv, depth, SmallVector<Value>(values), rows, vectors,
                           columns);
        });
    begin = whole;
  }
  return carried;
}

/// Asks for what is due in the iteration from `first` on, one of `iterations`
/// that are `step` apart.
void OuterProductEmitter::fetchShare(Value first, int64_t step,
                                     int64_t iterations) {
  if (prefetches.empty() || addsUpColumns ||
      llvm::any_of(extents, ShapedType::isDynamic))
    return;
  auto divide = [&](Value value, int64_t divisor) -> Value {
    return arith::DivUIOp::create(builder, loc(), value, constant(divisor));
  };
  PrefetchShare share;
  share.lineBytes = figures.tuning.lineBytes;
  share.iterations = iterations;
  share.iteration = divide(first, step);
  Value column = arith::SubIOp::create(builder, loc(), point[vectorDim],
                                       constant(panels.begin));
  Value panel = add(divide(column, panels.width), panels.first);
  share.tiles = panels.all;
  share.tile = panel;
  SmallVector<unsigned> outer(reductionDims.begin(), reductionDims.end() - 1);
  for (unsigned dim : llvm::reverse(groupDims))
    if (!llvm::is_contained(reductionDims, dim))
      outer.insert(outer.begin(), dim);
  for (unsigned dim : outer)
    share.outer.push_back({point[dim], mostOf(dim)});
  if (rowDim) {
    int64_t tiles = llvm::divideCeilSigned(extents[*rowDim], tileRows);
    int64_t rows = llvm::divideCeilSigned(extents[*rowDim], tiles);
    share.tiles *= tiles;
    share.tile = arith::AddIOp::create(
        builder, loc(),
        arith::MulIOp::create(builder, loc(), panel, constant(tiles)),
        divide(point[*rowDim], rows));
  }
  emitPrefetches(builder, loc(), prefetches, share);
}

/// If a matrix is read once, for one tile of rows, asks for what comes some
/// vectors after those at `here`, of which there are `vectors` in a step. A
/// tile reads pieces of its rows, and a processor does not see the next one.
/// Filters of windows serve other rows of an image as well.
void OuterProductEmitter::fetchAhead(unsigned operand, SmallVector<Value> here,
                                     int64_t vectors) {
  int64_t rows = rowsInAll();
  if (rows > tile.rows || hasOuterReduction())
    return;
  int64_t ahead = rows > 1 ? figures.tuning.ahead : streamAhead();
  unsigned along = dimToFetch(operand);
  here[along] = add(here[along], llvm::divideCeil(ahead, vectors));
  prefetchFar(operand, here);
}

SmallVector<Value> OuterProductEmitter::emitSteps(Value first, int64_t steps,
                                                  SmallVector<Value> carried,
                                                  int64_t rows, int64_t vectors,
                                                  LaneCount columns) {
  if (dotSize > 1)
    return emitDots(first, steps, carried, rows, vectors, columns);
  unsigned dim = reductionDims.back();
  bool hasFields = decoder && decoder->getFieldDim() == dim;
  bool sumsRows = sumsFactors(rows, vectors);
  for (int64_t step = 0; step < steps; ++step) {
    point[dim] = hasFields ? constant(step)
                           : add(first, step % parts * distance + step / parts);

    // An operand has one value per row, per vector, or for both.
    llvm::DenseMap<std::tuple<unsigned, int64_t, int64_t>, Value> loaded;
    auto load = [&](unsigned operand, int64_t i, int64_t j) {
      bool alongRows = rowDim && indexes(operand, *rowDim);
      bool alongVectors = indexes(operand, vectorDim);
      Value &value = loaded[{operand, alongRows ? i : 0, alongVectors ? j : 0}];
      if (value)
        return value;
      SmallVector<Value> here = pointOf(i, j);
      if (!alongVectors) {
        value = asStep(operand, loadBroadcast(operand, here));
        if (sumsRows) {
          Value &sum = carried[rows * vectors + i];
          sum = arith::AddFOp::create(builder, loc(), sum, value);
        }
        return value;
      }
      if (panel)
        return value = decoder->loadFactors(panel, reductionDims, here, j);
      LaneCount count = lanesOf(j, columns);
      value = decode(asStep(operand, loadVector(operand, here, count)), j, here,
                     count);
      if (!hasFields || step == 0)
        fetchAhead(operand, here, vectors);
      return value;
    };
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < vectors; ++j) {
        Value lhs = load(factors[0], i, j), rhs = load(factors[1], i, j);
        Value &accumulator = carried[i * vectors + j];
        accumulator = addProduct(accumulator, lhs, rhs);
      }
  }
  return carried;
}

LogicalResult chimera::emitOuterProduct(OpBuilder &builder, MicroKernelOp op,
                                        const VectorFigures &figures,
                                        const model::RegisterTile &tile,
                                        ArrayRef<int64_t> extents,
                                        const KernelContext &context) {
  return OuterProductEmitter(builder, op, figures, tile, extents, context)
      .emit();
}
