//===- TileProduct.cpp - Contractions on the tile registers of AMX --------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile register holds 16 rows of 64 bytes. One instruction adds the product
// of a tile of rows and a tile of columns to a tile of 32-bit sums:
//
//   sums[m, n] += lhs[m, k * w + i] * rhs[k, n * w + i]    i < w, 32 bits in
//   all
//
// so that the right factor lies in words of w numbers, neighbours along the
// reduction. A block of 2 x 2 tiles of sums stays in registers during the
// reduction, and each step loads two tiles of each factor, one of them twice:
//
//   for panels of columns               the panel stays in L1
//     for groups of rows
//       sums
//       for the reduction, 64 bytes of it at a time
//         tile loads, tile products
//
// Tiles at an edge have fewer rows or columns, and a last step of the reduction
// has fewer words, for which one register of each factor is kept: the others
// take turns in one register then, which the unit renames. Where the number of
// rows is not known, those that are left of it find their configuration in a
// table.
// The registers are assigned here: LLVM assigns them by the sizes of tiles, of
// which a function with edges has more than registers, and keeps sums in memory
// then.
//
//===----------------------------------------------------------------------===//

#include "TileProduct.h"

#include "MicroKernelEmitter.h"
#include "Tiles.h"

#include "Chimera/Conversion/KernelPrefetch.h"
#include "Chimera/IR/ProductBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace chimera;

/// Bytes of a word, and of a sum.
static constexpr int64_t kWordBytes = 4;
/// Bytes that say how large tiles are.
static constexpr int64_t kConfigurationBytes = 64;

//===----------------------------------------------------------------------===//
// What tiles compute
//===----------------------------------------------------------------------===//

/// The last dimension of `map` but for `skipped` others.
static std::optional<unsigned> lastDim(AffineMap map, unsigned skipped = 0) {
  if (map.getNumResults() <= skipped)
    return std::nullopt;
  return map.getDimPosition(map.getNumResults() - 1 - skipped);
}

/// True if the factors are numbers of one of the types that tiles are of.
static bool multiplies(MicroKernelOp op, ArrayRef<Type> factors) {
  if (op.getKind() != MicroKernelKind::Contraction || op->getNumOperands() != 3)
    return false;
  Block &body = op.getBody().front();
  Type type = body.getArgument(0).getType();
  return llvm::is_contained(factors, type) &&
         body.getArgument(1).getType() == type &&
         (isIntegerProduct(op) || multipliesAndAdds(body));
}

/// True if the last dimension of both factors is the numbers of a word, which
/// the columns stand before.
static bool isCut(const TileDims &dims, ArrayRef<AffineMap> maps,
                  MicroKernelOp op, int64_t inWord) {
  std::optional<unsigned> last = lastDim(maps[dims.lhs]),
                          words = lastDim(maps[dims.lhs], 1);
  return last && words && op.isReduction(*last) && op.isReduction(*words) &&
         last == lastDim(maps[dims.rhs]) &&
         lastDim(maps[dims.rhs], 1) == dims.columns &&
         maps[dims.rhs].isFunctionOfDim(*words) &&
         op.getExtentsOf(*last) == SmallVector<int64_t>{inWord};
}

/// The dimension along which both factors are summed up: that along which rows
/// lie in memory, if there are several.
static std::optional<unsigned> findReduction(const TileDims &dims,
                                             ArrayRef<AffineMap> maps,
                                             MicroKernelOp op) {
  auto isCommon = [&](unsigned dim) {
    return op.isReduction(dim) && maps[dims.lhs].isFunctionOfDim(dim) &&
           maps[dims.rhs].isFunctionOfDim(dim);
  };
  std::optional<unsigned> last = lastDim(maps[dims.lhs]);
  if (last && isCommon(*last))
    return last;
  std::optional<unsigned> only;
  for (unsigned dim = 0; dim < op.getNumDims(); ++dim)
    if (isCommon(dim)) {
      if (only)
        return std::nullopt;
      only = dim;
    }
  return only;
}

std::optional<TileDims> chimera::readTileDims(MicroKernelOp op,
                                              ArrayRef<Type> factors) {
  // A tile has no rows to leave out.
  if (!multiplies(op, factors) || op.getTapsAttr())
    return std::nullopt;
  SmallVector<AffineMap> maps = op.getMaps();
  std::optional<unsigned> columns = lastDim(maps.back());
  if (!columns || op.isReduction(*columns))
    return std::nullopt;
  TileDims dims;
  dims.columns = *columns;
  if (maps[dims.lhs].isFunctionOfDim(*columns))
    std::swap(dims.lhs, dims.rhs);
  if (maps[dims.lhs].isFunctionOfDim(*columns) ||
      !maps[dims.rhs].isFunctionOfDim(*columns))
    return std::nullopt;
  auto mostOf = [&](unsigned dim) -> int64_t {
    SmallVector<int64_t> listed = op.getExtentsOf(dim);
    return listed.empty() ? 0 : *llvm::max_element(listed);
  };
  for (unsigned dim = 0; dim < op.getNumDims(); ++dim)
    if (!op.isReduction(dim) && !maps[dims.rhs].isFunctionOfDim(dim) &&
        (!dims.rows || mostOf(dim) > mostOf(*dims.rows)))
      dims.rows = dim;
  int64_t inWord = TileProductAttr::getInterleave(
      op.getBody().front().getArgument(0).getType());
  auto mayBeOpen = [&](unsigned dim) {
    return dim != dims.columns && !op.isReduction(dim);
  };
  for (unsigned dim = 0; dim < op.getNumDims(); ++dim)
    if (op.isOpen(dim) && !mayBeOpen(dim))
      return std::nullopt;
  if (isCut(dims, maps, op, inWord)) {
    dims.along = *lastDim(maps[dims.lhs], 1);
    dims.inWord = lastDim(maps[dims.lhs]);
    return dims;
  }
  std::optional<unsigned> along = findReduction(dims, maps, op);
  if (!along || op.getExtentsOf(*along).empty())
    return std::nullopt;
  dims.along = *along;
  return dims;
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

namespace {

/// A part of a dimension.
struct Part {
  int64_t begin = 0, size = 0;
};

class TileProductEmitter {
public:
  TileProductEmitter(OpBuilder &builder, MicroKernelOp op,
                     TileProductAttr implementation, const TileDims &dims,
                     ArrayRef<int64_t> extents,
                     ArrayRef<PrefetchOp> prefetches);

  LogicalResult emit();

private:
  void emitRegions();
  void emitRegion(Part rows, int64_t height, Part columns, int64_t width);
  void emitOpenRegions(Part columns, int64_t width);
  SmallVector<Part> cut(int64_t extent, int64_t size);
  void emitBlock();
  void emitReduction(ArrayRef<unsigned> loops);
  void emitStep(bool isLast);
  void fetchShare();
  void forEachTile(llvm::function_ref<void(unsigned, unsigned)> body);
  void buildLoop(unsigned dim, Part part, int64_t step,
                 llvm::function_ref<void()> body);
  void buildLoop(unsigned dim, Value end, llvm::function_ref<void()> body);
  void buildLoop(unsigned dim, Value begin, Value end, int64_t step,
                 llvm::function_ref<void()> body);

  unsigned sumsOf(unsigned row, unsigned column) const {
    return row * columnParts.size() + column;
  }
  unsigned lhsOf(unsigned row, bool isLast) const;
  unsigned rhsOf(unsigned column, bool isLast) const;
  /// Words of a step of the reduction, and of a last one that has fewer; 0 if
  /// there is none.
  int64_t wordsOfStep() const {
    int64_t words = implementation.getBytes() / kWordBytes;
    return implementation.hasLastSteps() ? words
                                         : std::min(words, extents[dims.along]);
  }
  int64_t wordsOfLast() const { return extents[dims.along] % wordsOfStep(); }
  Value addressOf(unsigned operand, ArrayRef<Value> at);
  void configure();
  std::array<int8_t, kConfigurationBytes> getConfiguration();
  Value getConfigurations(ArrayRef<int8_t> bytes);
  Value extentOf(unsigned dim);

  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc(), value);
  }
  Location loc() { return op.getLoc(); }

  OpBuilder &builder;
  MicroKernelOp op;
  TileProductAttr implementation;
  TileDims dims;
  ArrayRef<int64_t> extents;
  ArrayRef<PrefetchOp> prefetches;
  SmallVector<AffineMap> maps;
  Type factor;
  /// Dimensions that repeat the product, and reductions around that of a tile.
  SmallVector<unsigned> repeated, outerReductions;
  /// Of each operand, its first element and the bytes between neighbours along
  /// each dimension.
  SmallVector<Value> bases;
  SmallVector<SmallVector<Value>> strides;
  /// Of each operand, the bytes from one row of a tile to the next.
  SmallVector<Value> rowStrides;
  /// The current iteration, and the tiles of its block.
  SmallVector<Value> point;
  SmallVector<Part> rowParts, columnParts;
};

} // namespace

TileProductEmitter::TileProductEmitter(OpBuilder &builder, MicroKernelOp op,
                                       TileProductAttr implementation,
                                       const TileDims &dims,
                                       ArrayRef<int64_t> extents,
                                       ArrayRef<PrefetchOp> prefetches)
    : builder(builder), op(op), implementation(implementation), dims(dims),
      extents(extents), prefetches(prefetches), maps(op.getMaps()),
      factor(getElementTypeOrSelf(op->getOperand(0))) {
  for (unsigned dim = 0; dim < op.getNumDims(); ++dim) {
    bool isInTile = dim == dims.columns || dim == dims.rows ||
                    dim == dims.along || dim == dims.inWord;
    if (!isInTile)
      (op.isReduction(dim) ? outerReductions : repeated).push_back(dim);
  }
}

/// Parts of `size`, and one of what is left. Sums that nothing is added to may
/// be computed twice, which takes less than to set the unit to other sizes.
SmallVector<Part> TileProductEmitter::cut(int64_t extent, int64_t size) {
  SmallVector<Part> parts;
  for (int64_t begin = 0; begin < extent; begin += size)
    parts.push_back({begin, std::min(size, extent - begin)});
  if (op.getOverwrite() && size <= extent)
    parts.back() = {extent - size, size};
  return parts;
}

/// The register of tile `index` of `tiles` in one of `registers`, counted from
/// 0. The last tile may be smaller than the others, and has one of its own.
static unsigned takeTurns(unsigned index, unsigned tiles, unsigned registers) {
  if (tiles <= registers)
    return index;
  return index + 1 == tiles ? registers - 1 : index % (registers - 1);
}

/// Registers beside those of sums. Where there are two for each factor, one is
/// for the last step, whether there is one or not: kernels agree in their sizes
/// then. Where there are not, a tile of columns stays for all rows.
unsigned TileProductEmitter::lhsOf(unsigned row, bool isLast) const {
  if (implementation.hasLastSteps())
    return kTileRegisters - (isLast ? 2 : 4);
  unsigned sums = rowParts.size() * columnParts.size();
  if (rowParts.size() == 1)
    return sums;
  return sums + takeTurns(row, rowParts.size(),
                          kTileRegisters - sums - columnParts.size());
}

unsigned TileProductEmitter::rhsOf(unsigned column, bool isLast) const {
  if (implementation.hasLastSteps())
    return kTileRegisters - (isLast ? 1 : 3);
  unsigned sums = rowParts.size() * columnParts.size();
  if (rowParts.size() == 1)
    return sums + 1 +
           takeTurns(column, columnParts.size(), kTileRegisters - sums - 1);
  return kTileRegisters - columnParts.size() + column;
}

LogicalResult TileProductEmitter::emit() {
  RegisterTileAttr registers = implementation.getRegisters();
  int64_t sums = registers.getRows() * registers.getVectors();
  if (sums + std::max<int64_t>(2, registers.getVectors() > 1 &&
                                          registers.getRows() > 1
                                      ? registers.getVectors() + 1
                                      : 2) >
      kTileRegisters)
    return failure();
  int64_t elementBytes = factor.getIntOrFloatBitWidth() / 8;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    auto type = dyn_cast<MemRefType>(operand.getType());
    SmallVector<int64_t> known;
    int64_t offset;
    // Rows of tiles are what lies side by side.
    if (!type || failed(type.getStridesAndOffset(known, offset)) ||
        known.back() != 1)
      return failure();
    int64_t bytes = index + 1 == maps.size() ? kWordBytes : elementBytes;
    auto inBytes = [&](Value elements) -> Value {
      return arith::MulIOp::create(builder, loc(), elements, constant(bytes));
    };
    auto metadata =
        memref::ExtractStridedMetadataOp::create(builder, loc(), operand);
    Value first = memref::ExtractAlignedPointerAsIndexOp::create(
        builder, loc(), metadata.getBaseBuffer());
    bases.push_back(arith::AddIOp::create(builder, loc(), first,
                                          inBytes(metadata.getOffset())));
    strides.emplace_back();
    for (auto [stride, value] : llvm::zip_equal(known, metadata.getStrides()))
      strides.back().push_back(
          inBytes(ShapedType::isDynamic(stride) ? value : constant(stride)));
  }
  auto strideOf = [&](unsigned operand, std::optional<unsigned> dim) -> Value {
    // A single row has no next.
    auto place = dim ? maps[operand].getResultPosition(
                           getAffineDimExpr(*dim, builder.getContext()))
                     : std::nullopt;
    return place ? strides[operand][*place] : constant(0);
  };
  rowStrides.resize(maps.size());
  rowStrides[dims.lhs] = strideOf(dims.lhs, dims.rows);
  rowStrides[dims.rhs] = strideOf(dims.rhs, dims.along);
  rowStrides.back() = strideOf(maps.size() - 1, dims.rows);
  point.assign(op.getNumDims(), constant(0));
  std::function<void(ArrayRef<unsigned>)> repeat =
      [&](ArrayRef<unsigned> loops) {
        if (loops.empty()) {
          emitRegions();
          return releaseTiles(builder, loc());
        }
        buildLoop(loops.front(), extentOf(loops.front()),
                  [&] { repeat(loops.drop_front()); });
      };
  repeat(repeated);
  return success();
}

/// `body` for each `step` of `part` of dimension `dim`, in a loop if there are
/// several.
void TileProductEmitter::buildLoop(unsigned dim, Part part, int64_t step,
                                   llvm::function_ref<void()> body) {
  OpBuilder::InsertionGuard guard(builder);
  point[dim] = constant(part.begin);
  if (part.size > step) {
    auto loop =
        scf::ForOp::create(builder, loc(), point[dim],
                           constant(part.begin + part.size), constant(step));
    builder.setInsertionPointToStart(loop.getBody());
    point[dim] = loop.getInductionVar();
  }
  body();
}

/// The same for each number below `end`.
void TileProductEmitter::buildLoop(unsigned dim, Value end,
                                   llvm::function_ref<void()> body) {
  if (!ShapedType::isDynamic(extents[dim]))
    return buildLoop(dim, {0, extents[dim]}, 1, body);
  buildLoop(dim, constant(0), end, 1, body);
}

void TileProductEmitter::buildLoop(unsigned dim, Value begin, Value end,
                                   int64_t step,
                                   llvm::function_ref<void()> body) {
  OpBuilder::InsertionGuard guard(builder);
  auto loop = scf::ForOp::create(builder, loc(), begin, end, constant(step));
  builder.setInsertionPointToStart(loop.getBody());
  point[dim] = loop.getInductionVar();
  body();
}

Value TileProductEmitter::extentOf(unsigned dim) {
  if (!ShapedType::isDynamic(extents[dim]))
    return constant(extents[dim]);
  for (auto [map, operand] : llvm::zip_equal(maps, op->getOperands()))
    if (auto place =
            map.getResultPosition(getAffineDimExpr(dim, builder.getContext())))
      return memref::DimOp::create(builder, loc(), operand, *place);
  llvm_unreachable("an operand has each dimension");
}

/// What has whole blocks, and what is left of rows and of columns: tiles of
/// each have one size, for which the unit is set once.
void TileProductEmitter::emitRegions() {
  RegisterTileAttr registers = implementation.getRegisters();
  auto regionsOf = [&](int64_t extent, int64_t size, int64_t tile) {
    SmallVector<Part, 3> regions;
    int64_t begin = 0;
    // Tiles that share a register have one size.
    for (int64_t unit : {size, implementation.hasLastSteps() ? tile : extent})
      if (int64_t part = (extent - begin) / unit * unit; part > 0) {
        regions.push_back({begin, part});
        begin += part;
      }
    if (begin < extent)
      regions.push_back({begin, extent - begin});
    Part &last = regions.back();
    if (op.getOverwrite() && last.size < tile && tile <= extent)
      last = {extent - tile, tile};
    return regions;
  };
  int64_t height = implementation.getRows() * registers.getRows(),
          width = implementation.getColumns() * registers.getVectors();
  int64_t rows = dims.rows ? extents[*dims.rows] : 1;
  bool isOpen = ShapedType::isDynamic(rows);
  for (Part across :
       regionsOf(extents[dims.columns], width, implementation.getColumns())) {
    if (isOpen) {
      emitOpenRegions(across, std::min(width, across.size));
      continue;
    }
    for (Part down : regionsOf(rows, height, implementation.getRows()))
      emitRegion(down, std::min(height, down.size), across,
                 std::min(width, across.size));
  }
}

void TileProductEmitter::emitRegion(Part rows, int64_t height, Part columns,
                                    int64_t width) {
  rowParts = cut(height, implementation.getRows());
  columnParts = cut(width, implementation.getColumns());
  configure();
  buildLoop(dims.columns, columns, width, [&] {
    if (!dims.rows)
      return emitBlock();
    buildLoop(*dims.rows, rows, height, [&] { emitBlock(); });
  });
}

/// Sets tiles to the sizes of what is computed at a time.
void TileProductEmitter::configure() {
  configureTiles(builder, loc(), getConfigurations(getConfiguration()));
}

/// As many rows as there are, which is not known: blocks, a tile of what blocks
/// leave, and what tiles leave.
void TileProductEmitter::emitOpenRegions(Part columns, int64_t width) {
  int64_t tile = implementation.getRows();
  Value begin = constant(0), rows = extentOf(*dims.rows);
  columnParts = cut(width, implementation.getColumns());
  auto emitRows = [&](Value end, int64_t height) {
    buildLoop(dims.columns, columns, width, [&] {
      buildLoop(*dims.rows, begin, end, height, [&] { emitBlock(); });
    });
    begin = end;
  };
  for (int64_t tiles = implementation.getRegisters().getRows(); tiles > 0;
       tiles = tiles > 1 ? 1 : 0) {
    rowParts = cut(tiles * tile, tile);
    Value left =
        arith::RemUIOp::create(builder, loc(), rows, constant(tiles * tile));
    configure();
    emitRows(arith::SubIOp::create(builder, loc(), rows, left), tiles * tile);
  }
  SmallVector<int8_t> table;
  for (int64_t height = 1; height < tile; ++height) {
    rowParts = {{0, height}};
    llvm::append_range(table, getConfiguration());
  }
  Value left = arith::SubIOp::create(builder, loc(), rows, begin);
  // Nothing is left, or fewer rows than a tile has.
  Value isLeft = arith::CmpIOp::create(builder, loc(), arith::CmpIPredicate::ne,
                                       left, constant(0));
  auto choice = scf::IfOp::create(builder, loc(), isLeft);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(choice.thenBlock());
  Value place = arith::IndexCastOp::create(
      builder, loc(), builder.getI64Type(),
      arith::MulIOp::create(
          builder, loc(),
          arith::SubIOp::create(builder, loc(), left, constant(1)),
          constant(kConfigurationBytes)));
  configureTiles(builder, loc(),
                 LLVM::GEPOp::create(
                     builder, loc(),
                     LLVM::LLVMPointerType::get(builder.getContext()),
                     builder.getI8Type(), getConfigurations(table), place));
  emitRows(rows, tile);
}

/// The 64 bytes that say how large the tiles of the current block are, Intel
/// SDM, LDTILECFG: palette 1, from byte 16 on the bytes of rows and from 48 on
/// the rows of each register. Registers that the block has no use for are whole
/// tiles, so that blocks of whole tiles agree.
std::array<int8_t, kConfigurationBytes> TileProductEmitter::getConfiguration() {
  std::array<int8_t, kConfigurationBytes> bytes = {1};
  auto setShape = [&](unsigned tile, int64_t rows, int64_t rowBytes) {
    auto [ofBytes, ofRows] = getBytesOfSize(tile);
    bytes[ofBytes] = rowBytes;
    bytes[ofRows] = rows;
  };
  for (unsigned tile = 0; tile < kTileRegisters; ++tile)
    setShape(tile, implementation.getRows(), implementation.getBytes());
  forEachTile([&](unsigned row, unsigned column) {
    int64_t rows = rowParts[row].size,
            rowBytes = columnParts[column].size * kWordBytes;
    setShape(sumsOf(row, column), rows, rowBytes);
    for (bool isLast : {false, true}) {
      int64_t words = isLast ? wordsOfLast() : wordsOfStep();
      if (words == 0)
        continue;
      setShape(lhsOf(row, isLast), rows, words * kWordBytes);
      setShape(rhsOf(column, isLast), words, rowBytes);
    }
  });
  return bytes;
}

/// A name of `bytes`: the rows and the bytes of a row of all tiles, or of each
/// if they differ; of a table, those of the last entry.
static std::string nameConfigurations(ArrayRef<int8_t> bytes) {
  std::string name = "chimera_tiles";
  if (bytes.size() > kConfigurationBytes)
    name += "_up_to";
  bytes = bytes.take_back(kConfigurationBytes);
  SmallVector<std::string> shapes;
  for (unsigned tile = 0; tile < kTileRegisters; ++tile)
    shapes.push_back("_" + std::to_string(bytes[48 + tile]) + "x" +
                     std::to_string(bytes[16 + 2 * tile]));
  if (llvm::all_equal(shapes))
    return name + shapes.front();
  for (const std::string &shape : shapes)
    name += shape;
  return name;
}

/// The address of `bytes`.
Value TileProductEmitter::getConfigurations(ArrayRef<int8_t> bytes) {
  std::string name = nameConfigurations(bytes);
  auto module = op->getParentOfType<ModuleOp>();
  if (auto known = module.lookupSymbol<LLVM::GlobalOp>(name))
    return LLVM::AddressOfOp::create(builder, loc(), known);
  OpBuilder::InsertPoint before = builder.saveInsertionPoint();
  builder.setInsertionPointToStart(module.getBody());
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), bytes.size());
  auto configurations = LLVM::GlobalOp::create(
      builder, module.getLoc(), type, /*isConstant=*/true,
      LLVM::Linkage::Internal, name,
      DenseElementsAttr::get(
          RankedTensorType::get({static_cast<int64_t>(bytes.size())},
                                builder.getI8Type()),
          bytes),
      /*alignment=*/kConfigurationBytes);
  builder.restoreInsertionPoint(before);
  return LLVM::AddressOfOp::create(builder, loc(), configurations);
}

void TileProductEmitter::forEachTile(
    llvm::function_ref<void(unsigned, unsigned)> body) {
  for (unsigned row = 0; row < rowParts.size(); ++row)
    for (unsigned column = 0; column < columnParts.size(); ++column)
      body(row, column);
}

/// The address of `operand` at `at`.
Value TileProductEmitter::addressOf(unsigned operand, ArrayRef<Value> at) {
  Value address = bases[operand];
  for (auto [place, stride] : llvm::enumerate(strides[operand])) {
    Value index = at[maps[operand].getDimPosition(place)];
    address = arith::AddIOp::create(
        builder, loc(), address,
        arith::MulIOp::create(builder, loc(), index, stride));
  }
  return address;
}

/// The sums of the block at the current point.
void TileProductEmitter::emitBlock() {
  unsigned output = maps.size() - 1;
  auto addressOfSums = [&](unsigned row, unsigned column) {
    SmallVector<Value> at = point;
    auto shift = [&](unsigned dim, int64_t offset) {
      at[dim] =
          arith::AddIOp::create(builder, loc(), at[dim], constant(offset));
    };
    if (dims.rows)
      shift(*dims.rows, rowParts[row].begin);
    shift(dims.columns, columnParts[column].begin);
    return addressOf(output, at);
  };
  forEachTile([&](unsigned row, unsigned column) {
    if (op.getOverwrite())
      zeroTile(builder, loc(), sumsOf(row, column));
    else
      loadTile(builder, loc(), sumsOf(row, column), addressOfSums(row, column),
               rowStrides[output]);
  });
  emitReduction(outerReductions);
  forEachTile([&](unsigned row, unsigned column) {
    storeTile(builder, loc(), sumsOf(row, column), addressOfSums(row, column),
              rowStrides[output]);
  });
}

/// The loops over `loops`, and inside of them the words.
void TileProductEmitter::emitReduction(ArrayRef<unsigned> loops) {
  if (loops.empty()) {
    int64_t whole = extents[dims.along] - wordsOfLast();
    if (whole > 0)
      buildLoop(dims.along, {0, whole}, wordsOfStep(),
                [&] { emitStep(/*isLast=*/false); });
    point[dims.along] = constant(whole);
    if (wordsOfLast() > 0)
      emitStep(/*isLast=*/true);
    return;
  }
  buildLoop(loops.front(), {0, extents[loops.front()]}, 1,
            [&] { emitReduction(loops.drop_front()); });
}

/// Asks for what is due in the current step of the current block.
void TileProductEmitter::fetchShare() {
  if (prefetches.empty() || llvm::any_of(extents, ShapedType::isDynamic))
    return;
  auto numberOf = [&](unsigned dim, int64_t step) -> Value {
    return arith::DivUIOp::create(builder, loc(), point[dim], constant(step));
  };
  RegisterTileAttr registers = implementation.getRegisters();
  int64_t height = implementation.getRows() * registers.getRows(),
          width = implementation.getColumns() * registers.getVectors();
  PrefetchShare share;
  share.iterations = llvm::divideCeilSigned(extents[dims.along], wordsOfStep());
  share.iteration = numberOf(dims.along, wordsOfStep());
  share.tiles = llvm::divideCeilSigned(extents[dims.columns], width);
  share.tile = numberOf(dims.columns, width);
  if (dims.rows) {
    int64_t blocks = llvm::divideCeilSigned(extents[*dims.rows], height);
    share.tiles *= blocks;
    share.tile = arith::AddIOp::create(
        builder, loc(),
        arith::MulIOp::create(builder, loc(), share.tile, constant(blocks)),
        numberOf(*dims.rows, height));
  }
  for (ArrayRef<unsigned> loops :
       {ArrayRef(repeated), ArrayRef(outerReductions)})
    for (unsigned dim : loops)
      share.outer.push_back({point[dim], extents[dim]});
  emitPrefetches(builder, loc(), prefetches, share);
}

/// Adds the products of one step. Tiles of columns stay while those of rows
/// come and go, as far as registers are there for it.
void TileProductEmitter::emitStep(bool isLast) {
  fetchShare();
  // The tile of a factor that each register has.
  std::array<std::optional<unsigned>, kTileRegisters> held;
  auto bring = [&](unsigned tile, unsigned index, unsigned operand,
                   std::optional<unsigned> dim, int64_t offset) {
    if (held[tile] == index)
      return;
    held[tile] = index;
    SmallVector<Value> at = point;
    if (dim)
      at[*dim] =
          arith::AddIOp::create(builder, loc(), at[*dim], constant(offset));
    loadTile(builder, loc(), tile, addressOf(operand, at), rowStrides[operand]);
  };
  ProductBody product = *matchProductBody(op.getBody().front());
  auto isUnsigned = [&](unsigned operand) {
    return operand == product.factor.getArgNumber() ? product.isFactorUnsigned
                                                    : product.isCodeUnsigned;
  };
  unsigned width = columnParts.size();
  forEachTile([&](unsigned row, unsigned place) {
    // The next row begins with the columns that the last one ended with.
    unsigned column = row % 2 == 0 ? place : width - 1 - place;
    unsigned lhs = lhsOf(row, isLast), rhs = rhsOf(column, isLast);
    bring(lhs, row, dims.lhs, dims.rows, rowParts[row].begin);
    bring(rhs, column, dims.rhs, dims.columns, columnParts[column].begin);
    multiplyTiles(builder, loc(), factor, sumsOf(row, column), lhs, rhs,
                  {isUnsigned(dims.lhs), isUnsigned(dims.rhs)});
  });
}

LogicalResult chimera::emitTileProduct(OpBuilder &builder, MicroKernelOp op,
                                       TileProductAttr implementation,
                                       ArrayRef<int64_t> extents,
                                       ArrayRef<PrefetchOp> prefetches) {
  std::optional<TileDims> dims = readTileDims(op, implementation.getFactors());
  if (!dims || !dims->inWord)
    return failure();
  for (auto [dim, extent] : llvm::enumerate(extents))
    if (ShapedType::isDynamic(extent) &&
        (op.isReduction(dim) || dim == dims->columns))
      return failure();
  int64_t words = extents[dims->along],
          wordsOfTile = implementation.getBytes() / kWordBytes;
  if (words > wordsOfTile && words % wordsOfTile != 0 &&
      !implementation.hasLastSteps())
    return failure();
  return TileProductEmitter(builder, op, implementation, *dims, extents,
                            prefetches)
      .emit();
}
