//===- Fragments.cpp - Tiles in registers ---------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fragments.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace chimera;

/// Up to so many steps along the reduction become straight code.
static constexpr int64_t maxUnrolledSteps = 8;

int64_t Fragment::registers() const {
  return parts.size() * partType().getNumElements() *
         elementType.getIntOrFloatBitWidth() / 32;
}

static Value createZero(OpBuilder &builder, Location loc, Type type) {
  return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
}

void FragmentBuilder::complete(Fragment &fragment) {
  Value zero;
  for (Value &part : fragment.parts) {
    if (part)
      continue;
    if (!zero)
      zero = createZero(kernel.builder, kernel.loc, fragment.partType());
    part = zero;
  }
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

/// A vector of 32 bits as a word.
Value FragmentBuilder::getWord(Value vector) {
  auto word = VectorType::get({1}, kernel.builder.getI32Type());
  Value words =
      vector::BitCastOp::create(kernel.builder, kernel.loc, word, vector);
  return vector::ExtractOp::create(kernel.builder, kernel.loc, words, 0);
}

/// A part of a factor as mma.sync takes it: its rows, if they fill a register;
/// words one column after the other, those of sums by getSlotColumn.
FragmentBuilder::Operand FragmentBuilder::getRegisters(Value part) {
  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc;
  auto type = cast<VectorType>(part.getType());
  Operand registers;
  if (type.getElementType().isF32()) {
    for (int64_t place = 0; place < type.getDimSize(1); ++place)
      for (int64_t row = 0; row < type.getDimSize(0); ++row)
        registers.push_back(kernel.roundToTF32(vector::ExtractOp::create(
            builder, loc, part, ArrayRef<int64_t>{row, place})));
    return registers;
  }
  for (int64_t row = 0; row < type.getDimSize(0); ++row) {
    Value elements = vector::ExtractOp::create(builder, loc, part, row);
    registers.push_back(type.getElementType().isF16() ? elements
                                                      : getWord(elements));
  }
  return registers;
}

/// A part of the sums as mma.sync takes it.
FragmentBuilder::Operand FragmentBuilder::getSums(Value part) {
  Operand registers;
  for (int64_t row : {0, 1})
    for (int64_t place : {0, 1})
      registers.push_back(vector::ExtractOp::create(
          kernel.builder, kernel.loc, part, ArrayRef<int64_t>{row, place}));
  return registers;
}

/// Where the part of this thread's warp starts, of `size` for each of
/// `sharers`.
Value FragmentBuilder::startOf(int64_t sharers, int64_t size) {
  return sharers == 1 ? kernel.constant(0) : kernel.mul(kernel.sharer, size);
}

//===----------------------------------------------------------------------===//
// Left operands
//===----------------------------------------------------------------------===//

/// One for each row tile, for `step`: what one instruction adds up over.
FragmentBuilder::Operands
FragmentBuilder::loadLhs(const Contraction &contraction, Value step,
                         const SharedTile &tile) {
  bool isTransposed = contraction.lhs.isTransposedThere();
  Value along = kernel.mul(step, contraction.stepDepth());
  Operands operands;
  for (int64_t rowTile = 0; rowTile < kernel.layout.rowTiles; ++rowTile) {
    Value first = kernel.add(kernel.warpRow, rowTile * mmaRows);
    if (tile.layout == TileLayout::Words) {
      operands.push_back(loadLhsWords(tile, along, first));
      continue;
    }
    Value row = isTransposed ? along : first;
    Value column = isTransposed ? first : along;
    MatrixOrder order =
        isTransposed ? MatrixOrder::ByChunks : MatrixOrder::ByRows;
    operands.push_back(getRegisters(
        shared.load(tile, row, kernel.div(column, tile.chunkElements()), order,
                    isTransposed, /*count=*/4)));
  }
  return operands;
}

/// getLhsWordPosition, in generated code, of a tile whose rows are columns of
/// the operand.
FragmentBuilder::Operand
FragmentBuilder::loadLhsWords(const SharedTile &tile, Value row, Value column) {
  Operand registers;
  for (int64_t element = 0; element < 4; ++element) {
    Value within = kernel.add(kernel.placeInGroup(), 4 * (element / 2));
    registers.push_back(kernel.roundToTF32(
        shared.loadWords(tile, row, kernel.add(column, 8 * (element % 2)),
                         within, kernel.groupInWarp(), /*count=*/1)));
  }
  return registers;
}

/// The part with zeros in columns from `limit` on.
Value FragmentBuilder::maskColumns(Fragment &fragment, int64_t row,
                                   int64_t column, Value limit) {
  OpBuilder &builder = kernel.builder;
  SmallVector<Value> exists;
  for (int64_t element = 0; element < 4; ++element)
    exists.push_back(
        kernel.isLess(kernel.getColumn(column, element % 2), limit));
  auto type = VectorType::get({2, 2}, builder.getI1Type());
  Value mask =
      vector::FromElementsOp::create(builder, kernel.loc, type, exists);
  return arith::SelectOp::create(
      builder, kernel.loc, mask, fragment.at(row, column),
      createZero(builder, kernel.loc, fragment.partType()));
}

/// Two parts of bytes, neighbours, as mma.sync takes them. A thread has columns
/// 2q and 2q + 1 of each, of its group of four, and gives four of the sixteen
/// from 4q on, which two threads have in the same part.
FragmentBuilder::Operand FragmentBuilder::joinBytes(Value first, Value second) {
  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc;
  Value place = kernel.placeInGroup();
  Value from = kernel.add(kernel.sub(kernel.lane, place),
                          kernel.mul(kernel.rem(place, 2), 2));
  Value isOfFirst = kernel.isLess(place, kernel.constant(2));
  Value half = arith::ConstantIntOp::create(builder, loc, 16, 32),
        low = arith::ConstantIntOp::create(builder, loc, 0xffff, 32);
  Operand registers;
  for (int64_t row : {0, 1}) {
    SmallVector<Value> bytes;
    for (Value part : {first, second})
      for (int64_t column : {0, 1})
        bytes.push_back(vector::ExtractOp::create(
            builder, loc, part, ArrayRef<int64_t>{row, column}));
    Value own = getWord(vector::FromElementsOp::create(
        builder, loc, VectorType::get({4}, builder.getI8Type()), bytes));
    // Two bytes of either part, which the upper half of the group takes.
    auto takePair = [&](Value lane) -> Value {
      Value word = kernel.takeFrom(own, lane);
      return kernel.select(isOfFirst,
                           arith::AndIOp::create(builder, loc, word, low),
                           arith::ShRUIOp::create(builder, loc, word, half));
    };
    Value before = takePair(from), behind = takePair(kernel.add(from, 1));
    registers.push_back(arith::OrIOp::create(
        builder, loc, before,
        arith::ShLIOp::create(builder, loc, behind, half)));
  }
  return registers;
}

/// The same from a tile in registers.
FragmentBuilder::Operands
FragmentBuilder::takeLhs(const Contraction &contraction, Fragment &lhs,
                         int64_t step, Value depth) {
  int64_t tilesPerStep = contraction.stepDepth() / mmaColumns;
  // What the last sharer has before it, and this one.
  int64_t mostBefore = (contraction.depthSharers - 1) * contraction.ownDepth();
  depth = kernel.sub(depth,
                     startOf(contraction.depthSharers, contraction.ownDepth()));
  Operands operands(lhs.rowTiles);
  for (auto [rowTile, operand] : llvm::enumerate(operands)) {
    SmallVector<Value> parts;
    for (int64_t tile = 0; tile < tilesPerStep; ++tile) {
      int64_t column = tilesPerStep * step + tile;
      // What does not exist must be zero: it is multiplied by zeros, and may be
      // anything, infinity included.
      bool isWhole =
          mostBefore + (column + 1) * mmaColumns <= contraction.leastDepth;
      Value part = column >= lhs.columnTiles
                       ? createZero(kernel.builder, kernel.loc, lhs.partType())
                   : isWhole ? lhs.at(rowTile, column)
                             : maskColumns(lhs, rowTile, column, depth);
      parts.push_back(part);
    }
    for (size_t tile = 0; tile < parts.size(); ++tile)
      if (contraction.elementBytes > 1)
        llvm::append_range(operand, getRegisters(parts[tile]));
      else if (tile % 2 == 1)
        llvm::append_range(operand, joinBytes(parts[tile - 1], parts[tile]));
  }
  return operands;
}

//===----------------------------------------------------------------------===//
// Right operands
//===----------------------------------------------------------------------===//

/// Where column tile `column` of this thread's warp starts.
Value FragmentBuilder::firstColumn(const Contraction &contraction,
                                   int64_t column) {
  return kernel.add(kernel.constant(column * mmaColumns),
                    startOf(contraction.columnSharers,
                            contraction.columnTiles() * mmaColumns));
}

/// Where `step` of this thread's warp starts in the reduction.
Value FragmentBuilder::alongReduction(const Contraction &contraction,
                                      Value step) {
  return kernel.add(kernel.mul(step, contraction.stepDepth()),
                    startOf(contraction.depthSharers, contraction.ownDepth()));
}

/// Those of `count` column tiles, one or two, from `column` on.
FragmentBuilder::Operands
FragmentBuilder::loadRhs(const Contraction &contraction, Value step,
                         const SharedTile &tile, int64_t column,
                         int64_t count) {
  Operands operands;
  if (tile.layout != TileLayout::Matrices) {
    for (int64_t own = column; own < column + count; ++own)
      operands.push_back(loadRhsWords(contraction, step, tile, own));
    return operands;
  }
  bool isTransposed = contraction.rhs.isTransposedThere();
  Value first = firstColumn(contraction, column);
  Value along = alongReduction(contraction, step);
  MatrixOrder order =
      isTransposed ? MatrixOrder::ByChunks : MatrixOrder::ByRows;
  Operand registers = getRegisters(shared.load(
      tile, isTransposed ? first : along,
      kernel.div(isTransposed ? along : first, tile.chunkElements()), order,
      !isTransposed, 2 * count));
  for (int64_t own = 0; own < count; ++own)
    operands.emplace_back(ArrayRef(registers).slice(2 * own, 2));
  return operands;
}

/// getRhsWordPosition, in generated code; by getSlotColumn, if the left operand
/// is made of sums. The two are neighbours then if rows run along the
/// reduction.
FragmentBuilder::Operand
FragmentBuilder::loadRhsWords(const Contraction &contraction, Value step,
                              const SharedTile &tile, int64_t column) {
  Value along = alongReduction(contraction, step);
  Value first = firstColumn(contraction, column);
  if (contraction.rhs.isTransposed) {
    Value pair =
        shared.loadWords(tile, first, along, kernel.groupInWarp(),
                         kernel.mul(kernel.placeInGroup(), 2), /*count=*/2);
    auto type = VectorType::get({2, 1}, kernel.builder.getF32Type());
    return getRegisters(
        vector::ShapeCastOp::create(kernel.builder, kernel.loc, type, pair));
  }
  Operand registers;
  for (int64_t element : {0, 1}) {
    Value row = tile.layout == TileLayout::Slots
                    ? kernel.add(kernel.mul(kernel.placeInGroup(), 2), element)
                    : kernel.add(kernel.placeInGroup(), 4 * element);
    registers.push_back(kernel.roundToTF32(shared.loadWords(
        tile, along, first, row, kernel.groupInWarp(), /*count=*/1)));
  }
  return registers;
}

//===----------------------------------------------------------------------===//
// Multiplication
//===----------------------------------------------------------------------===//

/// One mma.sync.
Value FragmentBuilder::multiplyAdd(const Contraction &contraction,
                                   ArrayRef<Value> left, ArrayRef<Value> right,
                                   Value sum) {
  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc;
  Value result =
      kernel.multiplyMatrices(contraction, left, right, getSums(sum));
  SmallVector<Value> elements;
  for (int64_t element = 0; element < 4; ++element)
    elements.push_back(
        LLVM::ExtractValueOp::create(builder, loc, result, element));
  return vector::FromElementsOp::create(builder, loc, sum.getType(), elements);
}

/// One step along the reduction for all tiles of the result.
void FragmentBuilder::multiplyStep(Fragment &sums,
                                   const Contraction &contraction, Value step,
                                   ArrayRef<Operand> lhs,
                                   const SharedTile &rhs) {
  for (int64_t column = 0; column < sums.columnTiles; column += 2) {
    int64_t count = std::min<int64_t>(2, sums.columnTiles - column);
    Operands right = loadRhs(contraction, step, rhs, column, count);
    for (int64_t own = 0; own < count; ++own)
      for (auto [rowTile, left] : llvm::enumerate(lhs)) {
        Value &sum = sums.at(rowTile, column + own);
        sum = multiplyAdd(contraction, left, right[own], sum);
      }
  }
}

void FragmentBuilder::multiply(Fragment &sums, const SharedTile &lhs,
                               const SharedTile &rhs,
                               const Contraction &contraction) {
  int64_t steps = llvm::divideCeil(contraction.depth, contraction.stepDepth());
  auto multiplyAt = [&](Value step) {
    multiplyStep(sums, contraction, step, loadLhs(contraction, step, lhs), rhs);
  };
  if (steps <= maxUnrolledSteps) {
    for (int64_t step = 0; step < steps; ++step)
      multiplyAt(kernel.constant(step));
    return;
  }
  // Loads of one step overlap with products of another where both are straight
  // code.
  int64_t together = maxUnrolledSteps;
  while (steps % together != 0)
    --together;
  OpBuilder &builder = kernel.builder;
  auto loop = scf::ForOp::create(builder, kernel.loc, kernel.constant(0),
                                 kernel.constant(steps),
                                 kernel.constant(together), sums.parts);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    llvm::copy(loop.getRegionIterArgs(), sums.parts.begin());
    for (int64_t step = 0; step < together; ++step)
      multiplyAt(kernel.add(loop.getInductionVar(), kernel.constant(step)));
    scf::YieldOp::create(builder, kernel.loc, sums.parts);
  }
  llvm::copy(loop.getResults(), sums.parts.begin());
}

void FragmentBuilder::multiply(Fragment &sums, Fragment &lhs,
                               const SharedTile &rhs,
                               const Contraction &contraction, Value depth) {
  complete(lhs);
  int64_t steps =
      llvm::divideCeil(contraction.ownDepth(), contraction.stepDepth());
  for (int64_t step = 0; step < steps; ++step)
    multiplyStep(sums, contraction, kernel.constant(step),
                 takeLhs(contraction, lhs, step, depth), rhs);
}

/// The sums lie where tiles were: element by element, a row of all banks each.
LogicalResult FragmentBuilder::addSharers(Fragment &sums, int64_t bytes) {
  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc;
  complete(sums);
  int64_t sharers = kernel.layout.sharers;
  int64_t numbers = sums.parts.size() * 4;
  int64_t taken = (sharers - 1) * numbers * warpSize * 4;
  if (taken > bytes)
    return failure();
  Value memory = shared.viewAsWords();
  auto placeOf = [&](Value sharer, int64_t number) {
    Value before =
        kernel.mul(kernel.add(sharer, kernel.constant(-1)), numbers * warpSize);
    return kernel.add(kernel.add(before, number * warpSize), kernel.lane);
  };
  if (llvm::any_of(kernel.reads.tiles, [&](const SharedTile *tile) {
        return tile->byteOffset < taken;
      }))
    kernel.synchronize();
  kernel.createIf(kernel.isLess(kernel.constant(0), kernel.sharer), [&] {
    for (auto [index, part] : llvm::enumerate(sums.parts))
      for (auto [element, number] : llvm::enumerate(getSums(part)))
        memref::StoreOp::create(
            builder, loc, number, memory,
            placeOf(kernel.sharer, 4 * static_cast<int64_t>(index) + element));
  });
  kernel.synchronize();
  SmallVector<Type> types(sums.parts.size(), sums.partType());
  auto ifOp = scf::IfOp::create(builder, loc, types, kernel.isFirstSharer(),
                                /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(ifOp.elseBlock());
    scf::YieldOp::create(builder, loc, sums.parts);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    for (int64_t sharer = 1; sharer < sharers; ++sharer)
      for (auto [index, part] : llvm::enumerate(sums.parts)) {
        SmallVector<Value> numbersOf;
        for (int64_t element = 0; element < 4; ++element)
          numbersOf.push_back(memref::LoadOp::create(
              builder, loc, memory,
              ValueRange{placeOf(kernel.constant(sharer),
                                 4 * static_cast<int64_t>(index) + element)}));
        Value other = vector::FromElementsOp::create(
            builder, loc, sums.partType(), numbersOf);
        part = arith::AddFOp::create(builder, loc, part, other);
      }
    scf::YieldOp::create(builder, loc, sums.parts);
  }
  llvm::copy(ifOp.getResults(), sums.parts.begin());
  return success();
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

/// The indices of an element of `tile`.
static SmallVector<Value> locate(KernelBuilder &kernel, const GlobalTile &tile,
                                 Value row, Value column) {
  SmallVector<Value> indices(tile.offsets);
  unsigned rowDim = tile.rank() - 2;
  indices[rowDim] = kernel.add(indices[rowDim], row);
  indices.back() = kernel.add(indices.back(), column);
  return indices;
}

void FragmentBuilder::storeElement(Value element, const GlobalTile &to,
                                   Value row, Value column) {
  kernel.createIf(kernel.isLess(column, to.sizes.back()), [&] {
    memref::StoreOp::create(kernel.builder, kernel.loc, element, to.memref,
                            locate(kernel, to, row, column));
  });
}

/// Stores two neighbours, at once if they exist and memory is aligned.
void FragmentBuilder::storePair(Value part, int64_t half, const GlobalTile &to,
                                Value row, int64_t columnTile) {
  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc;
  Value first = kernel.getColumn(columnTile, 0),
        second = kernel.getColumn(columnTile, 1);
  auto storeEach = [&] {
    for (int64_t place : {0, 1})
      storeElement(vector::ExtractOp::create(builder, loc, part,
                                             ArrayRef<int64_t>{half, place}),
                   to, row, place == 0 ? first : second);
  };
  if (to.alignedElements(2) < 2)
    return storeEach();
  std::optional<int64_t> columns = getConstantIntValue(to.sizes.back());
  bool isEven = columns && *columns % 2 == 0;
  int64_t end = (columnTile + 1) * mmaColumns;
  Value exist = columns && end <= *columns
                    ? arith::ConstantIntOp::create(builder, loc, 1, 1)
                    : kernel.isLess(second, to.sizes.back());
  kernel.createIf(exist, [&] {
    Value pair = vector::ExtractOp::create(builder, loc, part, half);
    auto store = vector::StoreOp::create(builder, loc, pair, to.memref,
                                         locate(kernel, to, row, first));
    int64_t bits = getElementTypeOrSelf(pair).getIntOrFloatBitWidth();
    store.setAlignment(2 * bits / 8);
  });
  // An odd one is left over.
  if (!isEven && !(columns && end <= *columns))
    storeElement(vector::ExtractOp::create(builder, loc, part,
                                           ArrayRef<int64_t>{half, 0}),
                 to, row, kernel.select(exist, to.sizes.back(), first));
}

/// How many column tiles, from `column` on, of the `count` that are left are
/// stored together, so that threads write neighbours in whole sectors. More
/// than one only if all their columns exist, elements are narrow and memory is
/// aligned.
int64_t FragmentBuilder::chooseSpan(const GlobalTile &to, int64_t column,
                                    int64_t count) const {
  std::optional<int64_t> columns = getConstantIntValue(to.sizes.back());
  if (!columns || to.memref.getType().getElementTypeBitWidth() != 16)
    return 1;
  for (int64_t span : {4, 2})
    if (span <= count && (column + span) * mmaColumns <= *columns &&
        to.alignedElements(2 * span) == 2 * span)
      return span;
  return 1;
}

/// Row `half` of `span` column tiles, of which a thread has two elements each,
/// dealt out anew among the four threads that have it: each then has 2 * span
/// neighbours of one tile. All lanes take part.
Value FragmentBuilder::gatherColumns(Fragment &fragment, int64_t rowTile,
                                     int64_t column, int64_t span,
                                     int64_t half) {
  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc;
  SmallVector<Value> words;
  for (int64_t tile = 0; tile < span; ++tile)
    words.push_back(getWord(vector::ExtractOp::create(
        builder, loc, fragment.at(rowTile, column + tile), half)));
  // A transposition, by one bit of the numbers of threads and tiles at a time.
  for (int64_t bit = 1; bit < span; bit *= 2) {
    Value isUpper = kernel.isLess(kernel.constant(bit - 1),
                                  kernel.rem(kernel.placeInGroup(), 2 * bit));
    for (int64_t low = 0; low < span; ++low) {
      if (low & bit)
        continue;
      Value &lower = words[low], &upper = words[low | bit];
      Value other = kernel.exchange(kernel.select(isUpper, lower, upper), bit);
      lower = kernel.select(isUpper, other, lower);
      upper = kernel.select(isUpper, upper, other);
    }
  }
  Value joined = vector::FromElementsOp::create(
      builder, loc, VectorType::get({span}, builder.getI32Type()), words);
  Type element = fragment.partType().getElementType();
  return vector::BitCastOp::create(
      builder, loc, VectorType::get({2 * span}, element), joined);
}

/// Stores what `gatherColumns` has made.
void FragmentBuilder::storeColumns(Value columns, const GlobalTile &to,
                                   Value row, int64_t column, int64_t span) {
  Value place = kernel.placeInGroup();
  Value own = kernel.add(kernel.mul(kernel.rem(place, span), mmaColumns),
                         kernel.mul(kernel.div(place, span), 2 * span));
  auto store = vector::StoreOp::create(
      kernel.builder, kernel.loc, columns, to.memref,
      locate(kernel, to, row, kernel.add(own, column * mmaColumns)));
  store.setAlignment(4 * span);
}

void FragmentBuilder::store(Fragment &fragment, const GlobalTile &to) {
  complete(fragment);
  Value rows = to.sizes[to.rank() - 2];
  bool hasAll = getConstantIntValue(rows) == kernel.layout.rows();
  for (int64_t rowTile = 0; rowTile < fragment.rowTiles; ++rowTile)
    for (int64_t half : {0, 1}) {
      Value row = kernel.getRow(rowTile, half);
      Value exists = kernel.isFirstSharer();
      if (!hasAll)
        exists = kernel.both(exists, kernel.isLess(row, rows));
      // Outside of the branch, which threads of a warp may take or not.
      SmallVector<std::pair<Value, int64_t>> gathered;
      int64_t column = 0;
      while (column < fragment.columnTiles) {
        int64_t span = chooseSpan(to, column, fragment.columnTiles - column);
        gathered.emplace_back(
            span > 1 ? gatherColumns(fragment, rowTile, column, span, half)
                     : fragment.at(rowTile, column),
            span);
        column += span;
      }
      kernel.createIf(exists, [&] {
        int64_t first = 0;
        for (auto &[columns, span] : gathered) {
          if (span > 1)
            storeColumns(columns, to, row, first, span);
          else
            storePair(columns, half, to, row, first);
          first += span;
        }
      });
    }
}

/// Of the four threads that have a row's number, the first stores it.
void FragmentBuilder::storeRows(Fragment &fragment, const GlobalTile &to) {
  complete(fragment);
  Value isFirst =
      kernel.both(kernel.isLess(kernel.placeInGroup(), kernel.constant(1)),
                  kernel.isFirstSharer());
  for (int64_t rowTile = 0; rowTile < fragment.rowTiles; ++rowTile)
    for (int64_t half : {0, 1}) {
      Value row = kernel.getRow(rowTile, half);
      Value exists = kernel.isLess(row, to.sizes.back());
      kernel.createIf(kernel.both(isFirst, exists), [&] {
        SmallVector<Value> indices(to.offsets);
        indices.back() = kernel.add(indices.back(), row);
        Value number = vector::ExtractOp::create(kernel.builder, kernel.loc,
                                                 fragment.at(rowTile, 0), half);
        memref::StoreOp::create(kernel.builder, kernel.loc, number, to.memref,
                                indices);
      });
    }
}
