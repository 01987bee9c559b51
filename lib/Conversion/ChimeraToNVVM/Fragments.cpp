//===- Fragments.cpp - Tiles in registers ---------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fragments.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
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
// Multiplication
//===----------------------------------------------------------------------===//

/// The left operands of all row tiles for `step`, 16 elements along the
/// reduction.
FragmentBuilder::Parts FragmentBuilder::loadLhs(const SharedTile &tile,
                                                bool isTransposed, Value step) {
  Parts parts;
  for (int64_t rowTile = 0; rowTile < kernel.layout.rowTiles; ++rowTile) {
    Value first = kernel.add(kernel.warpRow, rowTile * mmaRows);
    Value row = isTransposed ? kernel.mul(step, mmaDepth) : first;
    Value chunk = isTransposed ? kernel.div(first, chunkElements)
                               : kernel.mul(step, mmaDepth / chunkElements);
    MatrixOrder order =
        isTransposed ? MatrixOrder::ByChunks : MatrixOrder::ByRows;
    parts.push_back(shared.load(tile, row, chunk, order, isTransposed));
  }
  return parts;
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

/// The same from a tile in registers.
FragmentBuilder::Parts FragmentBuilder::takeLhs(Fragment &lhs, int64_t step,
                                                int64_t leastDepth,
                                                Value depth) {
  OpBuilder &builder = kernel.builder;
  auto type = VectorType::get({4, 2}, lhs.elementType);
  Parts parts;
  for (int64_t rowTile = 0; rowTile < lhs.rowTiles; ++rowTile) {
    Value whole = createZero(builder, kernel.loc, type);
    for (int64_t half : {0, 1}) {
      int64_t column = 2 * step + half;
      if (column >= lhs.columnTiles)
        continue;
      // What does not exist must be zero: it is multiplied by zeros, and may be
      // anything, infinity included.
      bool isWhole = (column + 1) * mmaColumns <= leastDepth;
      Value part = isWhole ? lhs.at(rowTile, column)
                           : maskColumns(lhs, rowTile, column, depth);
      whole = vector::InsertStridedSliceOp::create(
          builder, kernel.loc, part, whole, ArrayRef<int64_t>{2 * half, 0},
          ArrayRef<int64_t>{1, 1});
    }
    parts.push_back(whole);
  }
  return parts;
}

/// The rows of a part in registers, as mma.sync takes them.
SmallVector<Value> FragmentBuilder::getRegisters(Value part) {
  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc;
  auto type = cast<VectorType>(part.getType());
  SmallVector<Value> registers;
  for (int64_t row = 0; row < type.getDimSize(0); ++row) {
    Value pair = vector::ExtractOp::create(builder, loc, part, row);
    if (type.getElementType().isF16()) {
      registers.push_back(pair);
    } else if (type.getElementType().isBF16()) {
      auto word = VectorType::get({1}, builder.getI32Type());
      Value words = vector::BitCastOp::create(builder, loc, word, pair);
      registers.push_back(vector::ExtractOp::create(builder, loc, words, 0));
    } else {
      for (int64_t place : {0, 1})
        registers.push_back(
            vector::ExtractOp::create(builder, loc, pair, place));
    }
  }
  return registers;
}

/// One mma.sync; nvgpu.mma.sync has none for bf16.
Value FragmentBuilder::multiplyAdd(Value left, Value right, Value sum) {
  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc;
  Type f32 = builder.getF32Type();
  auto type = LLVM::LLVMStructType::getLiteral(builder.getContext(),
                                               {f32, f32, f32, f32});
  NVVM::MMATypes factor = getElementTypeOrSelf(left).isF16()
                              ? NVVM::MMATypes::f16
                              : NVVM::MMATypes::bf16;
  Value result = NVVM::MmaOp::create(
      builder, loc, type, getRegisters(left), getRegisters(right),
      getRegisters(sum), ArrayRef<int64_t>{mmaRows, mmaColumns, mmaDepth},
      /*b1Op=*/std::nullopt, /*intOverflow=*/std::nullopt,
      std::array<NVVM::MMATypes, 2>{factor, factor},
      std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row,
                                     NVVM::MMALayout::col});
  SmallVector<Value> elements;
  for (int64_t element = 0; element < 4; ++element)
    elements.push_back(
        LLVM::ExtractValueOp::create(builder, loc, result, element));
  return vector::FromElementsOp::create(builder, loc, sum.getType(), elements);
}

/// One step along the reduction for all tiles of the result.
void FragmentBuilder::multiplyStep(Fragment &sums, ArrayRef<Value> lhs,
                                   const SharedTile &rhs, bool isTransposed,
                                   Value step) {
  OpBuilder &builder = kernel.builder;
  for (int64_t column = 0; column < sums.columnTiles; column += 2) {
    Value first = kernel.constant(column * mmaColumns);
    Value row = isTransposed ? first : kernel.mul(step, mmaDepth);
    Value chunk = isTransposed ? kernel.mul(step, mmaDepth / chunkElements)
                               : kernel.div(first, chunkElements);
    MatrixOrder order =
        isTransposed ? MatrixOrder::ByChunks : MatrixOrder::ByRows;
    Value both = shared.load(rhs, row, chunk, order, !isTransposed);
    for (int64_t own = column; own < std::min(column + 2, sums.columnTiles);
         ++own) {
      Value right = vector::ExtractStridedSliceOp::create(
          builder, kernel.loc, both, ArrayRef<int64_t>{2 * (own - column), 0},
          ArrayRef<int64_t>{2, 2}, ArrayRef<int64_t>{1, 1});
      for (auto [rowTile, left] : llvm::enumerate(lhs))
        sums.at(rowTile, own) = multiplyAdd(left, right, sums.at(rowTile, own));
    }
  }
}

void FragmentBuilder::multiply(Fragment &sums, const SharedTile &lhs,
                               const SharedTile &rhs,
                               const Contraction &contraction) {
  int64_t steps = llvm::divideCeil(contraction.depth, mmaDepth);
  auto multiplyAt = [&](Value step) {
    multiplyStep(sums, loadLhs(lhs, contraction.lhs.isTransposed, step), rhs,
                 contraction.rhs.isTransposed, step);
  };
  if (steps <= maxUnrolledSteps) {
    for (int64_t step = 0; step < steps; ++step)
      multiplyAt(kernel.constant(step));
    return;
  }
  OpBuilder &builder = kernel.builder;
  auto loop = scf::ForOp::create(builder, kernel.loc, kernel.constant(0),
                                 kernel.constant(steps), kernel.constant(1),
                                 sums.parts);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    llvm::copy(loop.getRegionIterArgs(), sums.parts.begin());
    multiplyAt(loop.getInductionVar());
    scf::YieldOp::create(builder, kernel.loc, sums.parts);
  }
  llvm::copy(loop.getResults(), sums.parts.begin());
}

void FragmentBuilder::multiply(Fragment &sums, Fragment &lhs,
                               const SharedTile &rhs,
                               const Contraction &contraction, Value depth) {
  complete(lhs);
  int64_t steps = llvm::divideCeil(contraction.depth, mmaDepth);
  for (int64_t step = 0; step < steps; ++step)
    multiplyStep(sums, takeLhs(lhs, step, contraction.leastDepth, depth), rhs,
                 contraction.rhs.isTransposed, kernel.constant(step));
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

void FragmentBuilder::store(Fragment &fragment, const GlobalTile &to) {
  complete(fragment);
  Value rows = to.sizes[to.rank() - 2];
  bool hasAll = getConstantIntValue(rows) == kernel.layout.rows();
  for (int64_t rowTile = 0; rowTile < fragment.rowTiles; ++rowTile)
    for (int64_t half : {0, 1}) {
      Value row = kernel.getRow(rowTile, half);
      Value exists = hasAll ? arith::ConstantIntOp::create(kernel.builder,
                                                           kernel.loc, 1, 1)
                            : kernel.isLess(row, rows);
      kernel.createIf(exists, [&] {
        for (int64_t column = 0; column < fragment.columnTiles; ++column)
          storePair(fragment.at(rowTile, column), half, to, row, column);
      });
    }
}
