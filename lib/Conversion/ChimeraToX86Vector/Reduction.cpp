//===- Reduction.cpp - Reductions along rows and columns ------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums, maxima and the like, with whatever else the body computes and writes on
// its way. If vectors run along a reduced dimension, each row has accumulators
// of its own, whose lanes are combined once the row is read:
//
//   for groups of a few rows
//     what depends on the row alone
//     for the other reduced dimensions
//       for vectors of a row, a few at a time
//         the body; accumulators of each row and vector
//     lanes combined, all rows of the group together
//
// Rows and vectors make independent chains of combinations, so that their
// latency does not limit. If vectors run along a parallel dimension, a tile is
// a few vectors of one row and nothing has to be combined at its end. Such a
// tile comes down its columns with results in registers:
//
//   for columns, a few vectors at a time
//     for the reduced dimensions
//       the body; an accumulator of each vector
//
// or, asked to read rows, goes along some of them with results in a cache, as
// memory hands them out fastest:
//
//   for the reduced dimensions, a few rows at a time
//     for columns, a few vectors at a time
//       for these rows
//         the body; an accumulator of each vector
//
// Either way each element of the result takes the same values in the same
// order.
//
//===----------------------------------------------------------------------===//

#include "BodyEmitter.h"
#include "Combiner.h"

#include "Chimera/Model/Algorithms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace chimera;

namespace {

/// An output that is combined along all reduced dimensions.
struct Accumulator {
  unsigned operand;
  Combiner combiner;
};

class ReductionEmitter : public BodyEmitter {
public:
  using BodyEmitter::BodyEmitter;

  LogicalResult emit();

private:
  bool findOutputs();
  void chooseDims();
  void emitRows();
  void emitPanels();
  void emitRowwise(int64_t most);
  void emitSomeRows(Value first, int64_t count, ArrayRef<unsigned> loops);
  void emitTile(int64_t tileRows, int64_t tileVectors);
  SmallVector<Value> start();
  SmallVector<Value> emitReduced(unsigned depth, SmallVector<Value> carried);
  SmallVector<Value> emitTogether(SmallVector<Value> carried);
  SmallVector<Value> emitAlongRows(SmallVector<Value> carried);
  SmallVector<Value> emitStep(int64_t count, LaneCount width,
                              SmallVector<Value> carried);
  void emitInstance(int64_t row, int64_t vector, LaneCount width,
                    const Values &shared, SmallVector<Value> &contributions);
  void fetchRows(int64_t vector);
  void checkNumbers(unsigned number, int64_t count,
                    ArrayRef<Value> contributions, SmallVector<Value> &carried);
  void finishRows(unsigned number, ArrayRef<Value> carried);
  void finishVectors(unsigned number, ArrayRef<Value> carried);
  Value loadRows(unsigned operand);
  void storeRows(unsigned operand, Value vector);

  /// True if tiles go on from what memory holds of `accumulator`. Else they
  /// start from something neutral, and memory takes part at their end.
  bool goesOn(const Accumulator &accumulator) const {
    return !alongRows && accumulator.combiner.isExact();
  }
  VectorType typeOf(const Accumulator &accumulator) {
    return vectorType(
        getElementTypeOrSelf(op->getOperand(accumulator.operand)));
  }
  /// Accumulator `number` of a row and vector of the tile, among the carried
  /// values.
  size_t indexOf(unsigned number, int64_t row, int64_t vector) const {
    return (number * rows + row) * vectors + vector;
  }
  /// Masks of the lanes that have met numbers only come after all accumulators:
  /// one for each row, or for each vector of a panel.
  size_t maskIndexOf(unsigned number, int64_t slot) const {
    return (accumulators.size() + number) * rows * vectors + slot;
  }
  /// Chains of combinations, fewer if the body takes long anyway.
  int64_t numChains() {
    return isLong() ? figures.tuning.interleaved : figures.tuning.chains;
  }
  int64_t numSlots() const { return alongRows ? rows : vectors; }
  SmallVector<Value> pointOf(int64_t row, int64_t vector);

  SmallVector<Accumulator, 2> accumulators;
  /// Outputs that are written element by element.
  SmallVector<unsigned, 2> written;
  /// Vectors run along a reduced dimension.
  bool alongRows = false;
  std::optional<unsigned> rowDim;
  SmallVector<unsigned> outerDims, innerDims;
  /// If rows are read along: how many at once, and the first of these.
  int64_t rowsAtOnce = 0;
  Value firstRow;
  /// The dimensions of the loops outside tiles, and what depends on them alone.
  Dims outerKnown;
  Values outerValues;
  /// The tile's size and origin, and what depends on nothing reduced: a set of
  /// values for each row, or for each vector of a panel.
  int64_t rows = 1, vectors = 1;
  LaneCount columns = 0;
  SmallVector<Value> point;
  SmallVector<Values> tileValues;
};

} // namespace

//===----------------------------------------------------------------------===//
// What there is to do
//===----------------------------------------------------------------------===//

bool ReductionEmitter::findOutputs() {
  unsigned numInputs = op.getInputs().size();
  for (unsigned output = 0; output < op.getOutputs().size(); ++output) {
    AffineMap map = maps[numInputs + output];
    if (map.getNumResults() == op.getNumDims()) {
      written.push_back(output);
      continue;
    }
    for (unsigned dim = 0; dim < op.getNumDims(); ++dim)
      if (op.isReduction(dim) && map.isFunctionOfDim(dim))
        return false;
    std::optional<Combiner> combiner =
        Combiner::find(held(output), yielded(output), figures.hasAvx512);
    if (!combiner || held(output).getType().isInteger(1))
      return false;
    accumulators.push_back({numInputs + output, *combiner});
    excluded.insert(held(output));
    excluded.insert(yielded(output));
  }
  return true;
}

void ReductionEmitter::chooseDims() {
  alongRows = op.isReduction(vectorDim);
  for (unsigned dim = 0; dim < op.getNumDims(); ++dim) {
    if (dim == vectorDim)
      continue;
    if (op.isReduction(dim)) {
      innerDims.push_back(dim);
      continue;
    }
    outerDims.push_back(dim);
    // The results of a group of rows are one vector.
    if (alongRows &&
        llvm::all_of(accumulators, [&](const Accumulator &accumulator) {
          return isContiguous(accumulator.operand, dim);
        }))
      rowDim = dim;
  }
  if (rowDim)
    llvm::erase(outerDims, *rowDim);
  outerKnown.resize(op.getNumDims());
  for (unsigned dim : outerDims)
    outerKnown.set(dim);
}

LogicalResult ReductionEmitter::emit() {
  if (!isCovered() || !writesEveryPoint() || !findOutputs() ||
      failed(chooseVectorDim()))
    return failure();
  chooseDims();
  point.assign(op.getNumDims(), Value());
  if (std::optional<uint64_t> most = op.getRowwise(); most && !alongRows) {
    emitRowwise(*most);
    return success();
  }
  buildNest(outerDims, point, [&] {
    outerValues.clear();
    emitKnown(outerKnown, point, lanes, outerValues);
    if (alongRows)
      emitRows();
    else
      emitPanels();
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

void ReductionEmitter::emitRows() {
  int64_t most = mostOf(vectorDim);
  // Rows of any length are taken to be long.
  int64_t numVectors = most == 0 ? numChains() : llvm::divideCeil(most, lanes);
  auto emitGroup = [&](int64_t size) {
    int64_t vectors = std::max<int64_t>(1, numChains() / size);
    emitTile(size, std::min(numVectors, vectors));
  };
  if (!rowDim)
    return emitGroup(1);
  int64_t together = std::min(figures.tuning.reducedRows, lanes);
  // Lines that go past the caches are filled one after the other.
  if (figures.streams && !written.empty())
    together = 1;
  if (isOpen(*rowDim))
    return buildLadder(constant(0), extentOf(*rowDim), getLadder(together),
                       [&](Value row, int64_t size) {
                         point[*rowDim] = row;
                         emitGroup(size);
                       });
  int64_t extent = extents[*rowDim];
  model::BalancedSplit split = model::splitEvenly(extent, together);
  int64_t middle = split.large * split.size;
  buildLoop(0, middle, split.size, [&](Value row) {
    point[*rowDim] = row;
    emitGroup(split.size);
  });
  if (split.small)
    buildLoop(middle, extent, split.size - 1, [&](Value row) {
      point[*rowDim] = row;
      emitGroup(split.size - 1);
    });
}

void ReductionEmitter::emitPanels() {
  int64_t extent = extents[vectorDim];
  int64_t step = numChains() * lanes, full = extent - extent % step;
  auto emitFull = [&](Value column) {
    point[vectorDim] = column;
    emitTile(1, numChains());
  };
  columns = step;
  if (isOpen(vectorDim)) {
    Value end = extentOf(vectorDim);
    Value whole = endOfSteps(constant(0), end, step);
    buildOpenLoop(constant(0), whole, step, emitFull);
    return buildOpenLoop(whole, end, lanes, [&](Value column) {
      columns = arith::SubIOp::create(builder, loc(), end, column).getResult();
      point[vectorDim] = column;
      emitTile(1, 1);
    });
  }
  buildLoop(0, full, step, emitFull);
  if (full == extent)
    return;
  columns = extent - full;
  point[vectorDim] = constant(full);
  emitTile(1, llvm::divideCeil(extent - full, lanes));
}

/// Goes along `most` rows at once. Other dimensions come inside if they are
/// part of what follows a row in memory.
void ReductionEmitter::emitRowwise(int64_t most) {
  unsigned rowsDim = innerDims.back();
  SmallVector<unsigned> around, inside;
  AffineMap read = maps.front();
  for (AffineMap map : ArrayRef(maps).take_front(op.getInputs().size()))
    if (map.isFunctionOfDim(rowsDim) && map.isFunctionOfDim(vectorDim))
      read = map;
  auto placeOf = [&](unsigned dim) {
    return read.getResultPosition(builder.getAffineDimExpr(dim)).value_or(0);
  };
  for (unsigned dim : outerDims)
    (placeOf(dim) > placeOf(rowsDim) ? inside : around).push_back(dim);
  llvm::append_range(around, ArrayRef(innerDims).drop_back());
  buildNest(around, point, [&] {
    if (isOpen(rowsDim)) {
      Value end = extentOf(rowsDim), whole = endOfSteps(constant(0), end, most);
      buildOpenLoop(constant(0), whole, most,
                    [&](Value row) { emitSomeRows(row, most, inside); });
      return buildOpenLoop(whole, end, 1,
                           [&](Value row) { emitSomeRows(row, 1, inside); });
    }
    int64_t extent = extents[rowsDim], full = extent - extent % most;
    buildLoop(0, full, most,
              [&](Value row) { emitSomeRows(row, most, inside); });
    if (full != extent)
      emitSomeRows(constant(full), extent - full, inside);
  });
}

/// Goes along `count` rows from `first`, which `loops` lie in.
void ReductionEmitter::emitSomeRows(Value first, int64_t count,
                                    ArrayRef<unsigned> loops) {
  firstRow = first;
  rowsAtOnce = count;
  buildNest(loops, point, [&] {
    outerValues.clear();
    emitKnown(outerKnown, point, lanes, outerValues);
    emitPanels();
  });
}

SmallVector<Value> ReductionEmitter::pointOf(int64_t row, int64_t vector) {
  SmallVector<Value> result = point;
  if (rowDim)
    result[*rowDim] = add(point[*rowDim], row);
  if (point[vectorDim])
    result[vectorDim] = add(point[vectorDim], vector * lanes);
  return result;
}

void ReductionEmitter::emitTile(int64_t tileRows, int64_t tileVectors) {
  rows = tileRows;
  vectors = tileVectors;
  Dims known = outerKnown;
  if (alongRows)
    point[vectorDim] = Value();
  else
    known.set(vectorDim);
  if (rowDim)
    known.set(*rowDim);
  tileValues.assign(numSlots(), outerValues);
  for (int64_t slot = 0; slot < numSlots(); ++slot) {
    int64_t row = alongRows ? slot : 0, vector = alongRows ? 0 : slot;
    emitKnown(known, pointOf(row, vector), after(columns, vector),
              tileValues[slot]);
  }
  SmallVector<Value> carried =
      rowsAtOnce > 0 ? emitTogether(start()) : emitReduced(0, start());
  for (unsigned number = 0; number < accumulators.size(); ++number)
    if (alongRows)
      finishRows(number, carried);
    else
      finishVectors(number, carried);
}

SmallVector<Value> ReductionEmitter::start() {
  SmallVector<Value> carried;
  for (const Accumulator &accumulator : accumulators) {
    if (!goesOn(accumulator)) {
      carried.append(rows * vectors, accumulator.combiner.getNeutral(
                                         builder, typeOf(accumulator)));
      continue;
    }
    for (int64_t vector = 0; vector < vectors; ++vector)
      carried.push_back(loadVector(accumulator.operand, pointOf(0, vector),
                                   after(columns, vector)));
  }
  VectorType maskType = vectorType(builder.getI1Type());
  Value all = arith::ConstantOp::create(builder, loc(),
                                        DenseElementsAttr::get(maskType, true));
  // Those that are not needed stay constant and vanish.
  for (unsigned number = 0; number < accumulators.size(); ++number)
    carried.append(rows * vectors, all);
  return carried;
}

SmallVector<Value> ReductionEmitter::emitReduced(unsigned depth,
                                                 SmallVector<Value> carried) {
  if (depth == innerDims.size())
    return alongRows ? emitAlongRows(carried)
                     : emitStep(vectors, columns, carried);
  unsigned dim = innerDims[depth];
  return buildLoopOver(dim, carried, [&](Value iv, ValueRange values) {
    point[dim] = iv;
    return emitReduced(depth + 1, SmallVector<Value>(values));
  });
}

/// The rows of a tile that are read at once.
SmallVector<Value> ReductionEmitter::emitTogether(SmallVector<Value> carried) {
  return buildLoop(0, rowsAtOnce, 1, carried, [&](Value iv, ValueRange values) {
    point[innerDims.back()] =
        arith::AddIOp::create(builder, loc(), firstRow, iv);
    return emitStep(vectors, columns, SmallVector<Value>(values));
  });
}

SmallVector<Value> ReductionEmitter::emitAlongRows(SmallVector<Value> carried) {
  int64_t extent = extents[vectorDim];
  int64_t step = vectors * lanes, full = extent - extent % step;
  auto emitFull = [&](Value iv, ValueRange values) {
    point[vectorDim] = iv;
    return emitStep(vectors, step, SmallVector<Value>(values));
  };
  if (isOpen(vectorDim)) {
    Value end = extentOf(vectorDim);
    Value whole = endOfSteps(constant(0), end, step);
    carried = buildOpenLoop(constant(0), whole, step, carried, emitFull);
    return buildOpenLoop(
        whole, end, lanes, carried, [&](Value iv, ValueRange values) {
          point[vectorDim] = iv;
          Value left = arith::SubIOp::create(builder, loc(), end, iv);
          return emitStep(1, left, SmallVector<Value>(values));
        });
  }
  carried = buildLoop(0, full, step, carried, emitFull);
  if (full == extent)
    return carried;
  point[vectorDim] = constant(full);
  int64_t left = extent - full;
  return emitStep(llvm::divideCeil(left, lanes), left, carried);
}

//===----------------------------------------------------------------------===//
// The body
//===----------------------------------------------------------------------===//

/// One body for each row and each of `count` vectors, `width` elements in all.
SmallVector<Value> ReductionEmitter::emitStep(int64_t count, LaneCount width,
                                              SmallVector<Value> carried) {
  SmallVector<Value> contributions(accumulators.size() * rows * vectors);
  Dims known(op.getNumDims(), true);
  if (rowDim)
    known.reset(*rowDim);
  // What all rows have in common.
  SmallVector<Values> shared;
  int64_t together = figures.tuning.interleaved;
  for (int64_t first = 0; first < count * rows; first += together) {
    int64_t last = std::min(first + together, count * rows);
    while (static_cast<int64_t>(shared.size()) * rows < last) {
      int64_t vector = shared.size();
      shared.push_back(alongRows ? outerValues : tileValues[vector]);
      emitKnown(known, pointOf(0, vector), after(width, vector), shared.back());
    }
    buildInterleaved(last - first, [&](int64_t instance) {
      int64_t row = (first + instance) % rows;
      int64_t vector = (first + instance) / rows;
      emitInstance(row, vector, after(width, vector), shared[vector],
                   contributions);
    });
  }
  for (auto [number, accumulator] : llvm::enumerate(accumulators)) {
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t vector = 0; vector < count; ++vector) {
        size_t index = indexOf(number, row, vector);
        carried[index] = accumulator.combiner.combineFast(
            builder, carried[index], contributions[index]);
      }
    if (accumulator.combiner.losesNans())
      checkNumbers(number, count, contributions, carried);
  }
  return carried;
}

void ReductionEmitter::emitInstance(int64_t row, int64_t vector,
                                    LaneCount width, const Values &shared,
                                    SmallVector<Value> &contributions) {
  Values values = shared;
  if (alongRows)
    values.insert(tileValues[row].begin(), tileValues[row].end());
  SmallVector<Value> here = pointOf(row, vector);
  fetchUnused(here, vector);
  fetchRows(vector);
  emitKnown(Dims(op.getNumDims(), true), here, width, values);
  unsigned numInputs = op.getInputs().size();
  for (unsigned output : written)
    storeVector(numInputs + output, asVector(yielded(output), values), here,
                width);
  for (auto [number, accumulator] : llvm::enumerate(accumulators)) {
    Value value = asVector(accumulator.combiner.getContribution(), values);
    if (alongRows && !width.covers(lanes))
      value = arith::SelectOp::create(
          builder, loc(), mask(width, lanes), value,
          accumulator.combiner.getNeutral(builder, typeOf(accumulator)));
    contributions[indexOf(number, row, vector)] = value;
  }
}

/// Asks for what lies in the next rows where vector `vector` of a tile lies in
/// these, if that is to wait in a cache that has room for it.
void ReductionEmitter::fetchRows(int64_t vector) {
  if (rowsAtOnce == 0 || figures.tuning.fetchLevel < 2)
    return;
  for (unsigned input = 0; input < op.getInputs().size(); ++input) {
    if (!isa<MemRefType>(op.getInputs()[input].getType()) ||
        !isContiguous(input) || !indexes(input, innerDims.back()))
      continue;
    SmallVector<Value> there = pointOf(0, vector);
    Value &row = there[innerDims.back()];
    row = add(row, rowsAtOnce);
    prefetchFar(input, there);
  }
}

/// Updates the masks of accumulator `number`. One comparison says of two
/// vectors whether their lanes are numbers.
void ReductionEmitter::checkNumbers(unsigned number, int64_t count,
                                    ArrayRef<Value> contributions,
                                    SmallVector<Value> &carried) {
  auto check = [&](Value &numbers, Value lhs, Value rhs) {
    Value ordered = arith::CmpFOp::create(builder, loc(),
                                          arith::CmpFPredicate::ORD, lhs, rhs);
    numbers = arith::AndIOp::create(builder, loc(), numbers, ordered);
  };
  if (!alongRows) {
    for (int64_t vector = 0; vector < count; ++vector) {
      Value value = contributions[indexOf(number, 0, vector)];
      check(carried[maskIndexOf(number, vector)], value, value);
    }
    return;
  }
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t vector = 0; vector < count; vector += 2) {
      int64_t other = std::min(vector + 1, count - 1);
      check(carried[maskIndexOf(number, row)],
            contributions[indexOf(number, row, vector)],
            contributions[indexOf(number, row, other)]);
    }
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// `value` where `numbers` is set, not a number elsewhere.
static Value keepNumbers(OpBuilder &builder, Location loc, Value numbers,
                         Value value) {
  auto type = cast<VectorType>(value.getType());
  auto element = cast<FloatType>(type.getElementType());
  APFloat nan = APFloat::getQNaN(element.getFloatSemantics());
  Value nans = arith::ConstantOp::create(builder, loc,
                                         DenseElementsAttr::get(type, nan));
  return arith::SelectOp::create(builder, loc, numbers, value, nans);
}

void ReductionEmitter::finishRows(unsigned number, ArrayRef<Value> carried) {
  const auto &[operand, combiner] = accumulators[number];
  SmallVector<Value> perRow, areNumbers;
  for (int64_t row = 0; row < rows; ++row) {
    Value combined = carried[indexOf(number, row, 0)];
    for (int64_t vector = 1; vector < vectors; ++vector)
      combined = combiner.combineFast(builder, combined,
                                      carried[indexOf(number, row, vector)]);
    perRow.push_back(combined);
    if (combiner.losesNans())
      areNumbers.push_back(vector::ReductionOp::create(
          builder, loc(), vector::CombiningKind::AND,
          carried[maskIndexOf(number, row)]));
  }
  Value result = combineLanes(builder, loc(), combiner, perRow);
  if (combiner.losesNans()) {
    auto type = VectorType::get({rows}, builder.getI1Type());
    Value numbers =
        vector::FromElementsOp::create(builder, loc(), type, areNumbers);
    result = keepNumbers(builder, loc(), numbers, result);
  }
  point[vectorDim] = Value();
  storeRows(operand, combiner.combine(builder, loadRows(operand), result));
}

void ReductionEmitter::finishVectors(unsigned number, ArrayRef<Value> carried) {
  const auto &[operand, combiner] = accumulators[number];
  for (int64_t vector = 0; vector < vectors; ++vector) {
    Value result = carried[indexOf(number, 0, vector)];
    if (combiner.losesNans())
      result = keepNumbers(builder, loc(), carried[maskIndexOf(number, vector)],
                           result);
    SmallVector<Value> here = pointOf(0, vector);
    LaneCount count = after(columns, vector);
    if (goesOn(accumulators[number])) {
      storeVector(operand, result, here, count);
      continue;
    }
    Value before = loadVector(operand, here, count);
    storeVector(operand, combiner.combine(builder, before, result), here,
                count);
  }
}

/// The results of the tile's rows so far, one lane for each.
Value ReductionEmitter::loadRows(unsigned operand) {
  Value memref = op->getOperand(operand);
  auto type = VectorType::get({rows}, getElementTypeOrSelf(memref));
  if (rowDim)
    return vector::LoadOp::create(builder, loc(), type, memref,
                                  indices(operand, point));
  return vector::BroadcastOp::create(builder, loc(), type,
                                     loadScalar(operand, point));
}

void ReductionEmitter::storeRows(unsigned operand, Value vector) {
  Value memref = op->getOperand(operand);
  SmallVector<Value> position = indices(operand, point);
  if (rowDim) {
    vector::StoreOp::create(builder, loc(), vector, memref, position);
    return;
  }
  Value scalar =
      vector::ExtractOp::create(builder, loc(), vector, ArrayRef<int64_t>{0});
  memref::StoreOp::create(builder, loc(), scalar, memref, position);
}

LogicalResult chimera::emitReduction(OpBuilder &builder, MicroKernelOp op,
                                     const VectorFigures &figures,
                                     ArrayRef<int64_t> extents) {
  return ReductionEmitter(builder, op, figures, extents).emit();
}
