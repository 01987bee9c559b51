//===- InterleaveConstants.cpp - Panels in words of neighbours ------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is prepared before the first call lies in panels, which a schedule asks
// for. Kernels on tiles and dot products read words of neighbours along the
// reduction, in every call the same; so panels that they alone read are
// interleaved when they are prepared, and the reduction of the blocks that read
// them is cut:
//
//   panels x rows x columns  ->  panels x words x columns x numbers of a word
//
// and so are filters, which have taps between panels and rows.
//
//===----------------------------------------------------------------------===//

#include "Chimera/IR/Chimera.h"
#include "Chimera/IR/MicroKernels.h"
#include "Chimera/IR/ProductBody.h"
#include "Chimera/Target/Target.h"
#include "Chimera/Transforms/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

namespace chimera {
#define GEN_PASS_DEF_INTERLEAVECONSTANTSPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

//===----------------------------------------------------------------------===//
// Multiples
//===----------------------------------------------------------------------===//

static bool isMultipleOf(OpFoldResult value, int64_t count);

/// True if `expr` is, with `operands` for its dimensions and symbols.
static bool isMultipleOf(AffineExpr expr, unsigned numDims, ValueRange operands,
                         int64_t count) {
  if (expr.isMultipleOf(count))
    return true;
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return isMultipleOf(operands[dim.getPosition()], count);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return isMultipleOf(operands[numDims + symbol.getPosition()], count);
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return false;
  bool lhs = isMultipleOf(binary.getLHS(), numDims, operands, count),
       rhs = isMultipleOf(binary.getRHS(), numDims, operands, count);
  if (expr.getKind() == AffineExprKind::Add)
    return lhs && rhs;
  return expr.getKind() == AffineExprKind::Mul && (lhs || rhs);
}

/// True if `value`, an offset or a size, is known to be a multiple of `count`.
static bool isMultipleOf(OpFoldResult value, int64_t count) {
  if (std::optional<int64_t> known = getConstantIntValue(value))
    return *known % count == 0;
  auto dynamic = cast<Value>(value);
  if (auto apply = dynamic.getDefiningOp<affine::AffineApplyOp>())
    return isMultipleOf(apply.getAffineMap().getResult(0),
                        apply.getAffineMap().getNumDims(),
                        apply.getMapOperands(), count);
  if (auto least = dynamic.getDefiningOp<affine::AffineMinOp>())
    return llvm::all_of(least.getMap().getResults(), [&](AffineExpr expr) {
      return isMultipleOf(expr, least.getMap().getNumDims(),
                          least.getMapOperands(), count);
    });
  auto argument = dyn_cast<BlockArgument>(dynamic);
  auto loop = argument
                  ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp())
                  : scf::ForOp();
  return loop && argument == loop.getInductionVar() &&
         isMultipleOf(OpFoldResult(loop.getLowerBound()), count) &&
         isMultipleOf(OpFoldResult(loop.getStep()), count);
}

//===----------------------------------------------------------------------===//
// What is read
//===----------------------------------------------------------------------===//

/// Of what dot products multiply at once, for sums of as many.
static constexpr int64_t wordBits = 32;

namespace {

/// The words that a kernel reads.
struct Words {
  /// Numbers of a word, and of what reductions have to be multiples of.
  int64_t inWord = 1, multiple = 1;
  /// True if taps that lie on padding may be left out.
  bool mayLeaveTaps = false;
};

/// Interleaves what one operation prepares.
class Interleaver {
public:
  Interleaver(PrepareOp op, TargetAttrInterface target)
      : op(op), target(target), builder(op) {}

  void run();

private:
  bool collect(Value value, unsigned along);
  bool collect(tensor::ExtractSliceOp slice, unsigned along);
  bool canCut(BlockOp block, unsigned operand);
  Value interleave();
  Value sliceWords(tensor::ExtractSliceOp slice, Value words, unsigned along);
  Value getWords(Value value);
  void cut(BlockOp block, unsigned operand);
  Value cutRows(Value rows, unsigned along);

  PrepareOp op;
  TargetAttrInterface target;
  OpBuilder builder;
  Words words;
  /// The blocks that read panels, with the operand by which they do.
  SmallVector<std::pair<BlockOp, unsigned>> readers;
  /// The dimension of rows of each value on the way to them.
  llvm::MapVector<Value, unsigned> rowsOf;
  llvm::DenseMap<Value, Value> interleaved;
};

} // namespace

/// The words that kernels for the registers of `block` read of panels of
/// `type`; none if they read numbers.
static std::optional<Words> findWords(BlockOp block, TargetAttrInterface target,
                                      Type type) {
  int64_t bits = type.getIntOrFloatBitWidth();
  for (MicroKernelAttrInterface kernel :
       getMicroKernels(block, target, block.getRegistersAttr())) {
    if (auto tiles = dyn_cast<TileProductAttr>(kernel);
        tiles && llvm::is_contained(tiles.getFactors(), type))
      return Words{TileProductAttr::getInterleave(type),
                   tiles.getMultiple(type)};
    if (auto vectors = dyn_cast<OuterProductAttr>(kernel);
        vectors && llvm::is_contained(vectors.getDotTypes(), type))
      return Words{wordBits / bits, wordBits / bits, /*mayLeaveTaps=*/true};
  }
  return std::nullopt;
}

/// The dimension of `structured` along the rows of its input `operand`, one
/// matrix or one for each tap, if the other input has it too, as its last.
static std::optional<unsigned> findReduction(linalg::LinalgOp structured,
                                             unsigned operand) {
  SmallVector<AffineMap> maps = structured.getIndexingMapsArray();
  if (structured.getNumDpsInputs() != 2 || structured.getNumDpsInits() != 1 ||
      maps[operand].getNumResults() < 2 ||
      !maps[operand].isProjectedPermutation())
    return std::nullopt;
  unsigned along =
      maps[operand].getDimPosition(maps[operand].getNumResults() - 2);
  // An image has the taps in sums with its other dimensions.
  AffineExpr expr = getAffineDimExpr(along, structured.getContext());
  bool isCommon = maps[1 - operand].getNumResults() > 0 &&
                  maps[1 - operand].getResults().back() == expr &&
                  llvm::count_if(maps[1 - operand].getResults(),
                                 [&](AffineExpr result) {
                                   return result.isFunctionOfDim(along);
                                 }) == 1 &&
                  !maps[2].isFunctionOfDim(along);
  if (!isCommon || structured.hasIndexSemantics())
    return std::nullopt;
  return along;
}

/// True if `structured` multiplies its inputs, of one type, and the last
/// dimension of its result is that of its input `operand` alone.
static bool hasColumns(linalg::LinalgOp structured, unsigned operand) {
  SmallVector<AffineMap> maps = structured.getIndexingMapsArray();
  std::optional<ProductBody> product = matchProductBody(*structured.getBlock());
  Type types[] = {getElementTypeOrSelf(structured.getDpsInputs()[0]),
                  getElementTypeOrSelf(structured.getDpsInputs()[1])};
  if (!product || product->isQuantized() || types[0] != types[1] ||
      maps[2].getNumResults() == 0)
    return false;
  auto last = dyn_cast<AffineDimExpr>(maps[2].getResults().back());
  return last && maps[operand].getResults().back() == last &&
         !maps[1 - operand].isFunctionOfDim(last.getPosition());
}

/// True if `block` reads its input `operand` as columns of tiles or vectors.
bool Interleaver::canCut(BlockOp block, unsigned operand) {
  if (!block.getRegistersAttr() || !block.getExtentsAttr() ||
      operand >= block.getInputs().size())
    return false;
  auto type = cast<RankedTensorType>(block.getInputs()[operand].getType());
  std::optional<Words> found = findWords(block, target, type.getElementType());
  linalg::LinalgOp structured = block.getStructuredOp();
  // Inputs of the operation are those of the block.
  for (auto [index, input] : llvm::enumerate(structured.getDpsInputs()))
    if (index >= block.getInputs().size() ||
        input != block.getBody().front().getArgument(index))
      return false;
  std::optional<unsigned> along = findReduction(structured, operand);
  if (!found || !along || !hasColumns(structured, operand) ||
      (block.getTapsAttr() && !found->mayLeaveTaps))
    return false;
  words = *found;
  auto listed = cast<ArrayAttr>(block.getExtentsAttr()[*along]);
  // Extents are all that a dimension of unknown size can have.
  int64_t rows = type.getShape()[type.getRank() - 2];
  return (ShapedType::isDynamic(rows) || rows % words.multiple == 0) &&
         llvm::all_of(listed.getAsRange<IntegerAttr>(), [&](IntegerAttr one) {
           return one.getInt() > 0 && one.getInt() % words.multiple == 0;
         });
}

/// Collects who reads `value`, whose rows are dimension `along`. False if there
/// is anybody else than blocks that read columns of tiles.
bool Interleaver::collect(Value value, unsigned along) {
  rowsOf.insert({value, along});
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(use.getOwner()))
      return collect(slice, along);
    auto block = dyn_cast<BlockOp>(use.getOwner());
    int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
    if (!block || along + 2 != rank || !canCut(block, use.getOperandNumber()))
      return false;
    readers.emplace_back(block, use.getOperandNumber());
    return true;
  });
}

bool Interleaver::collect(tensor::ExtractSliceOp slice, unsigned along) {
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  if (!slice.hasUnitStride() || dropped[along])
    return false;
  unsigned after = along;
  for (unsigned dim = 0; dim < along; ++dim)
    after -= dropped[dim];
  return collect(slice.getResult(), after);
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

/// What is prepared, in words.
Value Interleaver::interleave() {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(op);
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(op.getType());
  unsigned rank = type.getRank(), along = rowsOf.front().second;
  SmallVector<int64_t> cutShape(type.getShape());
  cutShape[along] /= words.inWord;
  SmallVector<int64_t> shape(cutShape);
  cutShape.insert(cutShape.begin() + along + 1, words.inWord);
  shape.push_back(words.inWord);
  SmallVector<ReassociationIndices> groups;
  SmallVector<int64_t> order;
  for (unsigned dim = 0, next = 0; dim < rank; ++dim) {
    groups.push_back({next});
    order.push_back(next++);
    if (dim == along)
      groups.back().push_back(next++);
  }
  order.push_back(along + 1);
  Value rows = tensor::ExpandShapeOp::create(builder, loc, type.clone(cutShape),
                                             op.getSource(), groups);
  Value empty =
      tensor::EmptyOp::create(builder, loc, shape, type.getElementType());
  Value together = linalg::TransposeOp::create(builder, loc, rows, empty, order)
                       ->getResult(0);
  if (!op.getOrigin())
    return PrepareOp::create(builder, loc, together);
  AffineMap places = *op.getPlaces();
  SmallVector<AffineExpr> indices(places.getResults());
  indices.push_back(indices[along] % words.inWord);
  indices[along] = indices[along].floorDiv(words.inWord);
  places = AffineMap::get(places.getNumDims(), /*symbolCount=*/0, indices,
                          builder.getContext());
  return PrepareOp::create(builder, loc, together.getType(), together,
                           op.getOrigin(), AffineMapAttr::get(places));
}

/// The part of `words` that `slice` is of the numbers, whose rows are dimension
/// `along` of its source.
Value Interleaver::sliceWords(tensor::ExtractSliceOp slice, Value source,
                              unsigned along) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(slice);
  AffineExpr number;
  bindSymbols(builder.getContext(), number);
  auto divide = [&](OpFoldResult value) {
    return affine::makeComposedFoldedAffineApply(
        builder, slice.getLoc(), number.floorDiv(words.inWord), {value});
  };
  SmallVector<OpFoldResult> offsets = slice.getMixedOffsets(),
                            sizes = slice.getMixedSizes(),
                            ones = slice.getMixedStrides();
  offsets[along] = divide(offsets[along]);
  sizes[along] = divide(sizes[along]);
  offsets.push_back(builder.getIndexAttr(0));
  sizes.push_back(builder.getIndexAttr(words.inWord));
  ones.push_back(builder.getIndexAttr(1));
  SmallVector<int64_t> shape(slice.getType().getShape());
  int64_t &rows = shape[rowsOf.lookup(slice.getResult())];
  if (!ShapedType::isDynamic(rows))
    rows /= words.inWord;
  shape.push_back(words.inWord);
  return tensor::ExtractSliceOp::create(builder, slice.getLoc(),
                                        slice.getType().clone(shape), source,
                                        offsets, sizes, ones);
}

Value Interleaver::getWords(Value value) {
  if (Value known = interleaved.lookup(value))
    return known;
  Value result;
  if (auto slice = value.getDefiningOp<tensor::ExtractSliceOp>())
    result = sliceWords(slice, getWords(slice.getSource()),
                        rowsOf.lookup(slice.getSource()));
  else
    result = interleave();
  return interleaved[value] = result;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// `rows` with dimension `along` cut into words.
Value Interleaver::cutRows(Value rows, unsigned along) {
  auto type = cast<RankedTensorType>(rows.getType());
  SmallVector<int64_t> shape(type.getShape());
  if (!type.isDynamicDim(along))
    shape[along] /= words.inWord;
  shape.insert(shape.begin() + along + 1, words.inWord);
  SmallVector<ReassociationIndices> groups;
  for (int64_t dim = 0, next = 0; dim < type.getRank(); ++dim) {
    groups.push_back({next++});
    if (dim == static_cast<int64_t>(along))
      groups.back().push_back(next++);
  }
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(builder, rows.getLoc(), rows);
  AffineExpr number;
  bindSymbols(builder.getContext(), number);
  sizes[along] = affine::makeComposedFoldedAffineApply(
      builder, rows.getLoc(), number.floorDiv(words.inWord), {sizes[along]});
  sizes.insert(sizes.begin() + along + 1, builder.getIndexAttr(words.inWord));
  return tensor::ExpandShapeOp::create(builder, rows.getLoc(),
                                       type.clone(shape), rows, groups, sizes);
}

/// Lets `block` read words by its input `operand`, and as many numbers of the
/// other input at a time.
void Interleaver::cut(BlockOp block, unsigned operand) {
  builder.setInsertionPoint(block);
  MLIRContext *context = builder.getContext();
  linalg::LinalgOp structured = block.getStructuredOp();
  unsigned along = *findReduction(structured, operand),
           number = structured.getNumLoops(), other = 1 - operand;
  SmallVector<AffineMap> maps = structured.getIndexingMapsArray();
  AffineExpr inWord = getAffineDimExpr(number, context);
  unsigned place =
      *maps[other].getResultPosition(getAffineDimExpr(along, context));
  for (AffineMap &map : maps)
    map = AffineMap::get(number + 1, 0, map.getResults(), context);
  maps[operand] =
      maps[operand].insertResult(inWord, maps[operand].getNumResults());
  maps[other] = maps[other].insertResult(inWord, place + 1);

  Block &body = block.getBody().front();
  std::array<Value, 2> inputs;
  inputs[operand] = getWords(block.getInputs()[operand]);
  inputs[other] = cutRows(block.getInputs()[other], place);
  for (auto [index, input] : llvm::enumerate(inputs)) {
    block.getInputsMutable()[index].set(input);
    body.getArgument(index).setType(input.getType());
  }
  SmallVector<utils::IteratorType> iterators =
      structured.getIteratorTypesArray();
  iterators.push_back(utils::IteratorType::reduction);
  builder.setInsertionPoint(structured);
  auto generic = linalg::GenericOp::create(
      builder, structured.getLoc(), structured->getResultTypes(),
      ValueRange{body.getArgument(0), body.getArgument(1)},
      structured.getDpsInits(), maps, iterators);
  generic.getRegion().takeBody(structured->getRegion(0));
  structured->replaceAllUsesWith(generic);
  structured->erase();

  SmallVector<Attribute> extents(block.getExtentsAttr().getValue());
  SmallVector<int64_t> cutExtents;
  for (auto one : cast<ArrayAttr>(extents[along]).getAsRange<IntegerAttr>())
    cutExtents.push_back(one.getInt() / words.inWord);
  extents[along] = builder.getI64ArrayAttr(cutExtents);
  extents.push_back(builder.getI64ArrayAttr({words.inWord}));
  block.setExtentsAttr(builder.getArrayAttr(extents));
}

void Interleaver::run() {
  auto type = cast<RankedTensorType>(op.getType());
  // Panels, taps, rows and columns.
  int64_t along = type.getRank() - 2;
  if (!type.hasStaticShape() || along < 1 || op->use_empty() ||
      !collect(op.getResult(), along) || readers.empty() ||
      type.getDimSize(along) % words.inWord != 0)
    return;
  for (auto [value, along] : rowsOf)
    if (auto slice = value.getDefiningOp<tensor::ExtractSliceOp>()) {
      unsigned before = rowsOf.lookup(slice.getSource());
      if (!isMultipleOf(slice.getMixedOffsets()[before], words.inWord) ||
          !isMultipleOf(slice.getMixedSizes()[before], words.inWord))
        return;
    }
  for (auto [block, operand] : readers) {
    // Rows of the other factor have to end in whole words.
    int64_t length =
        cast<RankedTensorType>(block.getInputs()[1 - operand].getType())
            .getShape()
            .back();
    if (!ShapedType::isDynamic(length) && length % words.inWord != 0)
      return;
  }
  for (auto [block, operand] : readers)
    cut(block, operand);
  for (auto [value, along] : llvm::reverse(rowsOf))
    if (Operation *slice = value.getDefiningOp(); slice != op)
      slice->erase();
}

namespace {
struct InterleaveConstantsPass
    : chimera::impl::InterleaveConstantsPassBase<InterleaveConstantsPass> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<TargetAttrInterface> found =
        resolveTarget(getOperation(), target);
    if (failed(found))
      return signalPassFailure();
    SmallVector<PrepareOp> ops;
    getOperation()->walk([&](PrepareOp op) { ops.push_back(op); });
    for (PrepareOp op : ops)
      Interleaver(op, *found).run();
  }
};
} // namespace
