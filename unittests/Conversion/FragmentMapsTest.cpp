//===- FragmentMapsTest.cpp - Tests of the maps of tensor cores -----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Against the tables of the PTX ISA, against upstream's maps for
// nvgpu.mma.sync, and against what the generated code relies on.
//
//===----------------------------------------------------------------------===//

#include "FragmentMaps.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/NVGPU/Utils/MMAUtils.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "gtest/gtest.h"

#include <set>

using namespace chimera;

namespace {

using Place = std::pair<int64_t, int64_t>;

Place pair(MatrixPosition position) { return {position.row, position.column}; }

TEST(FragmentMaps, AgreesWithTheTables) {
  // Matrix Fragments for mma.m16n8k16: groupID = lane >> 2, threadID_in_group =
  // lane % 4.
  for (int64_t lane = 0; lane < warpSize; ++lane) {
    int64_t groupID = lane >> 2, threadID = lane % 4;
    for (int64_t i = 0; i < 8; ++i) {
      MatrixPosition lhs = getLhsPosition(lane, i);
      EXPECT_EQ(lhs.row, i < 2 || (4 <= i && i < 6) ? groupID : groupID + 8);
      EXPECT_EQ(lhs.column, threadID * 2 + (i & 1) + (i < 4 ? 0 : 8));
    }
    for (int64_t i = 0; i < 4; ++i) {
      MatrixPosition rhs = getRhsPosition(lane, i);
      EXPECT_EQ(rhs.row, threadID * 2 + (i & 1) + (i < 2 ? 0 : 8));
      EXPECT_EQ(rhs.column, groupID);
      MatrixPosition sum = getSumPosition(lane, i);
      EXPECT_EQ(sum.row, i < 2 ? groupID : groupID + 8);
      EXPECT_EQ(sum.column, threadID * 2 + (i & 1));
    }
  }
}

TEST(FragmentMaps, AgreesWithTheTablesOfWords) {
  // Matrix Fragments for mma.m16n8k8 with .tf32.
  for (int64_t lane = 0; lane < warpSize; ++lane) {
    int64_t groupID = lane >> 2, threadID = lane % 4;
    for (int64_t i = 0; i < 4; ++i) {
      MatrixPosition lhs = getLhsWordPosition(lane, i);
      EXPECT_EQ(lhs.row, i == 0 || i == 2 ? groupID : groupID + 8);
      EXPECT_EQ(lhs.column, i < 2 ? threadID : threadID + 4);
    }
    for (int64_t i = 0; i < 2; ++i) {
      MatrixPosition rhs = getRhsWordPosition(lane, i);
      EXPECT_EQ(rhs.row, i == 0 ? threadID : threadID + 4);
      EXPECT_EQ(rhs.column, groupID);
    }
  }
}

/// Expects that upstream has the elements of an operand of rows x columns in
/// the same lanes and the same order.
void expectAsUpstream(mlir::nvgpu::MatMulOperandRole role, mlir::Type type,
                      int64_t rows, int64_t columns, int64_t count,
                      llvm::function_ref<Place(int64_t, int64_t)> map) {
  mlir::OpBuilder builder(type.getContext());
  mlir::nvgpu::WarpMatrixInfo info{mlir::VectorType::get({rows, columns}, type),
                                   role};
  mlir::FailureOr<mlir::AffineMap> upstream =
      mlir::nvgpu::getLaneIdAndValueIdToOperandCoord(
          builder, builder.getUnknownLoc(), info);
  ASSERT_TRUE(mlir::succeeded(upstream));
  for (int64_t lane = 0; lane < warpSize; ++lane)
    for (int64_t element = 0; element < count; ++element) {
      llvm::SmallVector<int64_t> at = upstream->compose({lane, element});
      EXPECT_EQ(map(lane, element), Place(at[0], at[1]));
    }
}

TEST(FragmentMaps, AgreesWithUpstream) {
  using Role = mlir::nvgpu::MatMulOperandRole;
  mlir::MLIRContext context;
  context
      .loadDialect<mlir::affine::AffineDialect, mlir::vector::VectorDialect>();
  mlir::Type half = mlir::Float16Type::get(&context),
             word = mlir::Float32Type::get(&context);
  auto place = [](MatrixPosition (*map)(int64_t, int64_t)) {
    return [map](int64_t lane, int64_t element) {
      return pair(map(lane, element));
    };
  };
  // Right operands are matrices of columns.
  auto turned = [](MatrixPosition (*map)(int64_t, int64_t)) {
    return [map](int64_t lane, int64_t element) {
      auto [row, column] = pair(map(lane, element));
      return Place(column, row);
    };
  };
  expectAsUpstream(Role::A, half, 16, 16, 8, place(getLhsPosition));
  expectAsUpstream(Role::B, half, 8, 16, 4, turned(getRhsPosition));
  expectAsUpstream(Role::C, word, 16, 8, 4, place(getSumPosition));
  expectAsUpstream(Role::A, word, 16, 8, 4, place(getLhsWordPosition));
  expectAsUpstream(Role::B, word, 8, 8, 2, turned(getRhsWordPosition));
}

/// Expects that a warp holds each of `count` elements of the matrix once.
void expectCovers(int64_t rows, int64_t columns, int64_t count,
                  llvm::function_ref<MatrixPosition(int64_t, int64_t)> map) {
  std::set<Place> seen;
  for (int64_t lane = 0; lane < warpSize; ++lane)
    for (int64_t element = 0; element < count; ++element) {
      MatrixPosition position = map(lane, element);
      EXPECT_LT(position.row, rows);
      EXPECT_LT(position.column, columns);
      EXPECT_TRUE(seen.insert(pair(position)).second);
    }
  EXPECT_EQ(static_cast<int64_t>(seen.size()), rows * columns);
}

TEST(FragmentMaps, CoversEachMatrixOnce) {
  expectCovers(mmaRows, getMmaDepth(2), 8, getLhsPosition);
  expectCovers(getMmaDepth(2), mmaColumns, 4, getRhsPosition);
  expectCovers(mmaRows, getMmaDepth(4), 4, getLhsWordPosition);
  expectCovers(getMmaDepth(4), mmaColumns, 2, getRhsWordPosition);
  expectCovers(mmaRows, mmaColumns, 4, getSumPosition);
}

TEST(FragmentMaps, SumsOfTwoTilesAreALeftOperand) {
  for (int64_t lane = 0; lane < warpSize; ++lane)
    for (int64_t element = 0; element < 8; ++element) {
      int64_t tile = element / 4;
      MatrixPosition sum = getSumPosition(lane, element % 4);
      sum.column += tile * mmaColumns;
      EXPECT_EQ(getLhsPosition(lane, element), sum);
    }
}

TEST(FragmentMaps, SumsOfATileAreALeftOperandOfWords) {
  for (int64_t lane = 0; lane < warpSize; ++lane)
    for (int64_t element = 0; element < 4; ++element) {
      // Column by column.
      MatrixPosition sum =
          getSumPosition(lane, 2 * (element % 2) + element / 2);
      MatrixPosition lhs = getLhsWordPosition(lane, element);
      EXPECT_EQ(sum.row, lhs.row);
      EXPECT_EQ(sum.column, getSlotColumn(lhs.column));
    }
}

TEST(FragmentMaps, SlotsAreColumnsInAnotherOrder) {
  for (int64_t slot = 0; slot < getMmaDepth(4); ++slot)
    EXPECT_EQ(getColumnSlot(getSlotColumn(slot)), slot);
  // A thread's two of the right operand are neighbours.
  for (int64_t lane = 0; lane < warpSize; ++lane)
    for (int64_t element : {0, 1})
      EXPECT_EQ(getSlotColumn(getRhsWordPosition(lane, element).row),
                2 * (lane % 4) + element);
}

/// What `lane` has in element `element` of the result of an ldmatrix.x4, as row
/// and column of the square in shared memory.
Place load(int64_t lane, int64_t element, MatrixOrder order,
           bool isTransposed) {
  int64_t matrix = element / 2;
  MatrixPosition within = getLoadedPosition(lane, element % 2, isTransposed);
  ChunkPosition line = getLdmatrixAddress(8 * matrix + within.row, order);
  return {line.row, line.chunk * getChunkElements(2) + within.column};
}

/// The same of words: both halves of one.
Place loadWord(int64_t lane, int64_t element, MatrixOrder order) {
  auto [row, column] = load(lane, 2 * element, order, /*isTransposed=*/false);
  EXPECT_EQ(load(lane, 2 * element + 1, order, false), Place(row, column + 1));
  return {row, column / 2};
}

TEST(FragmentMaps, LdmatrixGivesLeftOperands) {
  for (int64_t lane = 0; lane < warpSize; ++lane)
    for (int64_t element = 0; element < 8; ++element) {
      auto [row, column] = pair(getLhsPosition(lane, element));
      EXPECT_EQ(load(lane, element, MatrixOrder::ByRows, false),
                Place(row, column));
      EXPECT_EQ(load(lane, element, MatrixOrder::ByChunks, true),
                Place(column, row));
    }
}

TEST(FragmentMaps, LdmatrixGivesTwoRightOperands) {
  for (int64_t lane = 0; lane < warpSize; ++lane)
    for (int64_t element = 0; element < 8; ++element) {
      auto [row, column] = pair(getRhsPosition(lane, element % 4));
      column += mmaColumns * (element / 4);
      EXPECT_EQ(load(lane, element, MatrixOrder::ByRows, true),
                Place(row, column));
      EXPECT_EQ(load(lane, element, MatrixOrder::ByChunks, false),
                Place(column, row));
    }
}

TEST(FragmentMaps, LdmatrixGivesOperandsOfWordsAlongRows) {
  for (int64_t lane = 0; lane < warpSize; ++lane)
    for (int64_t element = 0; element < 4; ++element) {
      auto [row, column] = pair(getLhsWordPosition(lane, element));
      EXPECT_EQ(loadWord(lane, element, MatrixOrder::ByRows),
                Place(row, column));
      auto [slot, own] = pair(getRhsWordPosition(lane, element % 2));
      EXPECT_EQ(loadWord(lane, element, MatrixOrder::ByChunks),
                Place(own + mmaColumns * (element / 2), slot));
    }
}

TEST(Swizzle, KeepsChunksInTheirRow) {
  for (int64_t width : {1, 2})
    for (int64_t chunks = width; chunks <= 64; chunks += width)
      for (int64_t row = 0; row < 16; ++row) {
        std::set<int64_t> seen;
        for (int64_t chunk = 0; chunk < chunks; ++chunk) {
          int64_t swizzled = Swizzle(chunks, width).apply(row, chunk);
          EXPECT_GE(swizzled, 0);
          EXPECT_LT(swizzled, chunks);
          EXPECT_TRUE(seen.insert(swizzled).second);
        }
      }
}

TEST(Swizzle, SpreadsTheRowsOfAMatrixOverTheBanks) {
  for (int64_t chunks = 1; chunks <= 64; ++chunks)
    for (int64_t first = 0; first < 32; first += 8)
      for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        std::set<int64_t> groups;
        for (int64_t row = first; row < first + 8; ++row)
          groups.insert((row * chunks + Swizzle(chunks, 1).apply(row, chunk)) %
                        bankGroups);
        EXPECT_EQ(groups.size(), 8u) << chunks << " chunks, chunk " << chunk;
      }
}

TEST(Swizzle, SpreadsTwoChunksOfFourRowsOverTheBanks) {
  for (int64_t chunks = 2; chunks <= 64; chunks += 2)
    for (int64_t first = 0; first < 32; first += 4)
      for (int64_t chunk = 0; chunk < chunks; chunk += 2) {
        std::set<int64_t> groups;
        for (int64_t row = first; row < first + 4; ++row)
          for (int64_t own : {chunk, chunk + 1})
            groups.insert((row * chunks + Swizzle(chunks, 2).apply(row, own)) %
                          bankGroups);
        EXPECT_EQ(groups.size(), 8u) << chunks << " chunks, chunk " << chunk;
      }
}

TEST(Swizzle, KnowsARowByItsPlaceAmongThoseReadTogether) {
  for (int64_t width : {1, 2})
    for (int64_t chunks = width; chunks <= 64; chunks += width)
      for (int64_t row = 0; row < 64; ++row) {
        Swizzle swizzle(chunks, width);
        EXPECT_EQ(swizzle.key(row), swizzle.key(row % (8 / width)));
      }
}

} // namespace
