//===- Elementwise.cpp - Element by element, in registers -----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Elementwise.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace chimera;

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// What is reduced along rows is combined, last of all, with what there was.
LogicalResult ElementwiseBuilder::readCombiner(unsigned index, Output &output) {
  BlockArgument before = op.getRegionOutputArgs()[index];
  Value yielded = op.getBlock()->getTerminator()->getOperand(index);
  Operation *combiner = yielded.getDefiningOp();
  bool isPlain = combiner && combiner->getNumOperands() == 2 &&
                 yielded.hasOneUse() && before.hasOneUse() &&
                 llvm::is_contained(combiner->getOperands(), before);
  double neutral = 0;
  if (isPlain && isa<arith::MaximumFOp, arith::MaxNumFOp>(combiner))
    neutral = -INFINITY;
  else if (!isPlain || !isa<arith::AddFOp>(combiner))
    return fail("a reduction along rows is no maximum and no sum");
  output.combiner = combiner;
  output.element = combiner->getOperand(combiner->getOperand(0) == before);
  output.neutral = FloatAttr::get(yielded.getType(), neutral);
  return success();
}

LogicalResult ElementwiseBuilder::readOutputs() {
  for (OpOperand &init : op.getDpsInitsMutable()) {
    unsigned index = outputs.size();
    Output &output = outputs.emplace_back();
    AffineMap map = op.getMatchingIndexingMap(&init);
    if (map.isIdentity()) {
      output.element = op.getBlock()->getTerminator()->getOperand(index);
      continue;
    }
    if (isRows || map != getRowMap(op.getNumLoops(), op.getContext()))
      return fail("a result is neither a tile nor a number for each row");
    if (failed(readCombiner(index, output)))
      return failure();
  }
  return success();
}

/// The part with columns that do not exist out of the way.
Value ElementwiseBuilder::exclude(const Output &output, Value part,
                                  int64_t column) {
  int64_t mostBefore = (columns.sharers - 1) * columns.tiles * mmaColumns;
  if (!columns.present ||
      mostBefore + (column + 1) * mmaColumns <= columns.least)
    return part;
  OpBuilder &builder = kernel.builder;
  SmallVector<Value> exists;
  for (int64_t element = 0; element < 4; ++element)
    exists.push_back(
        kernel.isLess(getColumn(column, element % 2), columns.present));
  Value mask = vector::FromElementsOp::create(
      builder, kernel.loc, typeOf(builder.getI1Type()), exists);
  Value neutral = makeVector(
      arith::ConstantOp::create(builder, kernel.loc, output.neutral));
  return arith::SelectOp::create(builder, kernel.loc, mask, part, neutral);
}

Value ElementwiseBuilder::combine(const Output &output, Value left,
                                  Value right) {
  IRMapping mapping;
  Operation *combiner = output.combiner;
  if (Value value = functions.map(*combiner, {left, right}))
    return value;
  mapping.map(combiner->getOperand(0), left);
  mapping.map(combiner->getOperand(1), right);
  Operation *copy = kernel.builder.clone(*combiner, mapping);
  copy->getResult(0).setType(left.getType());
  return copy->getResult(0);
}

Value ElementwiseBuilder::makeWord(int64_t value) {
  OpBuilder &builder = kernel.builder;
  return LLVM::ConstantOp::create(builder, kernel.loc, builder.getI32Type(),
                                  builder.getI32IntegerAttr(value));
}

/// The combination of the columns of `part`, of all threads that have some.
Value ElementwiseBuilder::reduceRows(const Output &output, Value part) {
  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc;
  SmallVector<Value> rows;
  for (int64_t row : {0, 1}) {
    auto at = [&](int64_t place) -> Value {
      return vector::ExtractOp::create(builder, loc, part,
                                       ArrayRef<int64_t>{row, place});
    };
    Value value = combine(output, at(0), at(1));
    for (int64_t distance : {1, 2}) {
      Value other = kernel.exchange(value, distance);
      value = combine(output, value, other);
    }
    rows.push_back(value);
  }
  auto type = VectorType::get({2}, rows.front().getType());
  return vector::FromElementsOp::create(builder, loc, type, rows);
}

Value ElementwiseBuilder::getColumn(int64_t column, int64_t place) {
  Value own = kernel.getColumn(column, place);
  return columns.first ? kernel.add(columns.first, own) : own;
}

/// Where `sharer` leaves a number of a thread's row in a part of the scratch,
/// the first or the second half.
Value ElementwiseBuilder::getScratch(int64_t part, Value sharer,
                                     int64_t rowTile, int64_t half) {
  const ThreadLayout &layout = kernel.layout;
  int64_t partBytes = model::bytesOfSharers(layout.sharers, layout.rows()) / 2;
  return kernel.add(kernel.add(kernel.mul(sharer, layout.rows()),
                               kernel.getRow(rowTile, half)),
                    part * partBytes / sizeof(float));
}

/// Completes what is reduced along rows by what the other warps with these rows
/// have, in their order, and by what there was.
void ElementwiseBuilder::combineSharers(MutableArrayRef<Fragment> results) {
  if (!columns.first)
    return;
  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc;
  Value isFirst = kernel.isLess(kernel.placeInGroup(), kernel.constant(1));
  for (auto [index, output] : llvm::enumerate(outputs)) {
    if (!output.combiner)
      continue;
    Fragment &rows = results[index];
    ElementwiseOperand &init = operands[op.getNumDpsInputs() + index];
    if (llvm::all_of(kernel.reads.scratch, [](bool isRead) { return isRead; }))
      kernel.synchronize();
    int64_t part = kernel.reads.scratch[0] ? 1 : 0;
    kernel.createIf(isFirst, [&] {
      for (int64_t row = 0; row < rows.rowTiles; ++row)
        for (int64_t half : {0, 1})
          memref::StoreOp::create(
              builder, loc,
              vector::ExtractOp::create(builder, loc, rows.at(row, 0), half),
              kernel.scratch,
              ValueRange{getScratch(part, kernel.sharer, row, half)});
    });
    kernel.synchronize();
    kernel.reads.scratch[part] = true;
    for (int64_t row = 0; row < rows.rowTiles; ++row) {
      Value all;
      for (int64_t sharer = 0; sharer < columns.sharers; ++sharer) {
        SmallVector<Value> numbers;
        for (int64_t half : {0, 1})
          numbers.push_back(memref::LoadOp::create(
              builder, loc, kernel.scratch,
              ValueRange{
                  getScratch(part, kernel.constant(sharer), row, half)}));
        Value own = vector::FromElementsOp::create(builder, loc,
                                                   rows.partType(), numbers);
        all = all ? combine(output, all, own) : own;
      }
      rows.at(row, 0) = combine(output, init.fragment->at(row, 0), all);
    }
  }
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

VectorType ElementwiseBuilder::typeOf(Type element) const {
  return isRows ? VectorType::get({2}, element)
                : VectorType::get({2, 2}, element);
}

/// The same number for all elements.
Value ElementwiseBuilder::makeVector(Value value) {
  if (isa<VectorType>(value.getType()))
    return value;
  return vector::BroadcastOp::create(kernel.builder, kernel.loc,
                                     typeOf(value.getType()), value);
}

/// The numbers of rows for their elements.
Value ElementwiseBuilder::spreadRows(Value rows) {
  OpBuilder &builder = kernel.builder;
  SmallVector<Value> elements;
  for (int64_t element = 0; element < 4; ++element)
    elements.push_back(
        vector::ExtractOp::create(builder, kernel.loc, rows, element / 2));
  return vector::FromElementsOp::create(
      builder, kernel.loc, typeOf(elements.front().getType()), elements);
}

/// Maps `value`, if it is a constant that is not mapped yet. False if it is
/// neither.
bool ElementwiseBuilder::mapConstant(Value value, IRMapping &mapping) {
  if (mapping.contains(value))
    return true;
  Operation *def = value.getDefiningOp();
  if (!def || !def->hasTrait<OpTrait::ConstantLike>())
    return false;
  mapping.map(value, makeVector(kernel.builder.clone(*def)->getResult(0)));
  return true;
}

/// The places, along dimension `dim`, of the elements of a part.
Value ElementwiseBuilder::getIndices(unsigned dim, int64_t row,
                                     int64_t column) {
  if (dim < rowDim())
    return makeVector(kernel.constant(0));
  SmallVector<Value> indices;
  for (int64_t element = 0; element < (isRows ? 2 : 4); ++element)
    indices.push_back(dim == rowDim()
                          ? kernel.getRow(row, isRows ? element : element / 2)
                          : getColumn(column, element % 2));
  return vector::FromElementsOp::create(kernel.builder, kernel.loc,
                                        typeOf(kernel.builder.getIndexType()),
                                        indices);
}

/// The elements of a tensor in global memory that belong to a part. What does
/// not exist is replaced by a neighbour that does, and never stored.
Value ElementwiseBuilder::loadPart(const ElementwiseOperand &operand,
                                   int64_t row, int64_t column) {
  OpBuilder &builder = kernel.builder;
  const GlobalTile &tile = *operand.tile;
  llvm::SmallDenseMap<std::pair<int64_t, int64_t>, Value> loaded;
  SmallVector<Value> elements;
  for (int64_t element = 0; element < (isRows ? 2 : 4); ++element) {
    int64_t half = isRows ? element : element / 2;
    std::pair<int64_t, int64_t> key = {
        operand.map.isFunctionOfDim(rowDim()) ? half : 0,
        !isRows && operand.map.isFunctionOfDim(rowDim() + 1) ? element % 2 : 0};
    Value &value = loaded[key];
    if (!value) {
      SmallVector<Value> indices(tile.offsets);
      for (unsigned i = 0; i < tile.rank(); ++i) {
        unsigned dim = operand.map.getDimPosition(i);
        if (dim < rowDim())
          continue;
        bool isRow = dim == rowDim();
        Value own =
            isRow ? kernel.getRow(row, half) : getColumn(column, element % 2);
        int64_t covered = isRow ? kernel.layout.rows()
                                : columns.sharers * columns.tiles * mmaColumns;
        if (getConstantIntValue(tile.sizes[i]) != covered)
          own = kernel.min(own, kernel.add(tile.sizes[i], -1));
        indices[i] = kernel.add(indices[i], own);
      }
      value = memref::LoadOp::create(builder, kernel.loc, tile.memref, indices);
    }
    elements.push_back(value);
  }
  return vector::FromElementsOp::create(
      builder, kernel.loc, typeOf(elements.front().getType()), elements);
}

//===----------------------------------------------------------------------===//
// The body
//===----------------------------------------------------------------------===//

Value ElementwiseBuilder::makeNumber(double number) {
  return makeVector(arith::ConstantOp::create(
      kernel.builder, kernel.loc, kernel.builder.getF32FloatAttr(number)));
}

/// True if `value` is computed from numbers of the row in registers, which are
/// reduced from its columns, and constants.
bool ElementwiseBuilder::isOfRow(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner() != op.getBlock())
      return false;
    const ElementwiseOperand &operand = operands[argument.getArgNumber()];
    return operand.fragment && operand.fragment->isRows;
  }
  Operation *def = value.getDefiningOp();
  auto ofRow = [&](Value operand) { return isOfRow(operand); };
  auto isKnown = [&](Value operand) {
    return matchPattern(operand, m_Constant()) || isOfRow(operand);
  };
  return OpTrait::hasElementwiseMappableTraits(def) &&
         llvm::all_of(def->getOperands(), isKnown) &&
         llvm::any_of(def->getOperands(), ofRow);
}

/// exp(a - b) for a number `b` of the row, a softmax's maximum: two to the
/// power of a * log2(e) - b * log2(e), the first product drawn into the
/// subtraction, with a factor that `a` has. Rounding the second changes all of
/// a row alike, by at most half a unit in the last place of the exponent, so
/// that what is divided by the row's sum keeps its digits. Null for others:
/// they round after the difference.
Value ElementwiseBuilder::createShiftedExp(math::ExpOp exponential,
                                           IRMapping &mapping) {
  auto difference = exponential.getOperand().getDefiningOp<arith::SubFOp>();
  if (!difference || isRows || !isOfRow(difference.getRhs()))
    return {};
  Value element = difference.getLhs();
  double factor = log2OfE;
  if (auto product = element.getDefiningOp<arith::MulFOp>()) {
    APFloat scale(0.0f);
    if (matchPattern(product.getRhs(), m_ConstantFloat(&scale)) &&
        mapping.contains(product.getLhs())) {
      factor *= scale.convertToDouble();
      element = product.getLhs();
    }
  }
  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc;
  Value shift = arith::MulFOp::create(
      builder, loc, mapping.lookup(difference.getRhs()), makeNumber(-log2OfE));
  return functions.exp2(vector::FMAOp::create(
      builder, loc, mapping.lookup(element), makeNumber(factor), shift));
}

/// What has no instruction of its own, of those with some; null otherwise.
Value ElementwiseBuilder::mapFunction(Operation &nested, IRMapping &mapping) {
  if (auto exponential = dyn_cast<math::ExpOp>(nested))
    if (Value shifted = createShiftedExp(exponential, mapping))
      return shifted;
  SmallVector<Value> operands;
  for (Value operand : nested.getOperands())
    operands.push_back(mapping.lookup(operand));
  return functions.map(nested, operands);
}

LogicalResult ElementwiseBuilder::mapOperation(Operation &nested,
                                               IRMapping &mapping) {
  bool isMapped = llvm::all_of(nested.getOperands(), [&](Value operand) {
    return mapConstant(operand, mapping);
  });
  if (auto select = dyn_cast<arith::SelectOp>(nested);
      select && isMapped && assumed.contains(select)) {
    mapping.map(select.getResult(), mapping.lookup(select.getTrueValue()));
    return success();
  }
  if (!isMapped || !OpTrait::hasElementwiseMappableTraits(&nested))
    return refused.set(&nested, "'" + nested.getName().getStringRef() +
                                    "' has no form for vectors");
  if (nested.getNumResults() == 1 && nested.getResult(0).getType().isF32())
    if (Value value = mapFunction(nested, mapping)) {
      mapping.map(nested.getResult(0), value);
      return success();
    }
  Operation *copy = kernel.builder.clone(nested, mapping);
  for (auto [result, original] :
       llvm::zip_equal(copy->getResults(), nested.getResults()))
    result.setType(typeOf(original.getType()));
  return success();
}

/// What the body makes of a part: the elements of all outputs.
FailureOr<ElementwiseBuilder::Parts>
ElementwiseBuilder::mapPart(int64_t row, int64_t column) {
  IRMapping mapping;
  for (auto [operand, argument] :
       llvm::zip_equal(operands, op.getBlock()->getArguments())) {
    if (operand.fragment && operand.fragment->isRows && !isRows)
      mapping.map(argument, spreadRows(operand.fragment->at(row, 0)));
    else if (operand.fragment)
      mapping.map(argument, operand.fragment->at(row, column));
    else if (operand.tile && !argument.use_empty())
      mapping.map(argument, loadPart(operand, row, column));
    else if (operand.scalar)
      mapping.map(argument, makeVector(operand.scalar));
  }
  for (Operation &nested : op.getBlock()->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(nested)) {
      mapping.map(index.getResult(), getIndices(index.getDim(), row, column));
      continue;
    }
    bool isCombiner = llvm::any_of(outputs, [&](const Output &output) {
      return output.combiner == &nested;
    });
    if (isCombiner || nested.hasTrait<OpTrait::ConstantLike>())
      continue;
    if (failed(mapOperation(nested, mapping)))
      return failure();
  }
  Parts parts;
  for (const Output &output : outputs) {
    if (!mapConstant(output.element, mapping))
      return fail("a value is neither computed nor loaded");
    parts.push_back(mapping.lookup(output.element));
  }
  return parts;
}

/// True if much is computed of elements that each tile loads. ptxas would load
/// those of all tiles before it computes anything, and run out of registers.
bool ElementwiseBuilder::keepsTilesApart() {
  return llvm::any_of(*op.getBlock(),
                      llvm::IsaPred<math::ErfOp, math::TanhOp>) &&
         llvm::any_of(operands, [](const ElementwiseOperand &operand) {
           return operand.tile.has_value();
         });
}

/// Fills in row tile `row` of `results`.
LogicalResult
ElementwiseBuilder::mapRowTile(int64_t row, MutableArrayRef<Fragment> results) {
  Parts reduced(outputs.size());
  bool isApart = keepsTilesApart();
  for (int64_t column = 0; column < columns.tiles; ++column) {
    if (isApart)
      kernel.synchronizeWarp();
    FailureOr<Parts> parts = mapPart(row, column);
    if (failed(parts))
      return failure();
    for (auto [index, output] : llvm::enumerate(outputs)) {
      Value part = (*parts)[index];
      if (!output.combiner) {
        results[index].at(row, column) = part;
        continue;
      }
      part = exclude(output, part, column);
      Value &before = reduced[index];
      before = before ? combine(output, before, part) : part;
    }
  }
  for (auto [index, output] : llvm::enumerate(outputs)) {
    if (!output.combiner)
      continue;
    ElementwiseOperand &init = operands[op.getNumDpsInputs() + index];
    if (!init.fragment || !init.fragment->isRows)
      return fail("a reduction along rows starts from outside");
    Value own = reduceRows(output, reduced[index]);
    // Others follow what each warp has of its own, outside of branches.
    results[index].at(row, 0) =
        columns.first ? own : combine(output, init.fragment->at(row, 0), own);
  }
  return success();
}

/// The results, with nothing in them yet.
SmallVector<Fragment> ElementwiseBuilder::createResults() {
  SmallVector<Fragment> results;
  int64_t rowTiles = kernel.layout.rowTiles;
  for (auto [output, result] : llvm::zip_equal(outputs, op.getResults())) {
    Type type = getElementTypeOrSelf(result);
    results.push_back(isRows || output.combiner
                          ? Fragment::ofRows(type, rowTiles)
                          : Fragment(type, rowTiles, columns.tiles));
    results.back().isShared = !results.back().isRows && columns.first;
  }
  return results;
}

LogicalResult ElementwiseBuilder::mapAll(MutableArrayRef<Fragment> results) {
  for (int64_t row = 0; row < kernel.layout.rowTiles; ++row)
    if (failed(mapRowTile(row, results)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

/// The least and the greatest that an index is in the tile of a warp, if that
/// is known.
std::optional<ElementwiseBuilder::Range>
ElementwiseBuilder::rangeOf(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner() != op.getBlock())
      return std::nullopt;
    Value scalar = operands[argument.getArgNumber()].scalar;
    if (!scalar || !scalar.getType().isIndex())
      return std::nullopt;
    return Range{scalar, scalar};
  }
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number))) {
    Value constant = kernel.constant(number.getSExtValue());
    return Range{constant, constant};
  }
  Operation *def = value.getDefiningOp();
  if (auto index = dyn_cast<linalg::IndexOp>(def)) {
    if (index.getDim() < rowDim())
      return Range{kernel.constant(0), kernel.constant(0)};
    if (index.getDim() > rowDim()) {
      Value first = columns.first ? columns.first : kernel.constant(0);
      return Range{first, kernel.add(first, columns.tiles * mmaColumns - 1)};
    }
    int64_t rows = kernel.layout.rowTiles * mmaRows;
    return Range{kernel.warpRow,
                 kernel.add(kernel.warpRow, kernel.constant(rows - 1))};
  }
  if (auto cast = dyn_cast<arith::IndexCastOp>(def))
    return rangeOf(cast.getIn());
  if (!isa<arith::AddIOp, arith::SubIOp>(def))
    return std::nullopt;
  std::optional<Range> left = rangeOf(def->getOperand(0)),
                       right = rangeOf(def->getOperand(1));
  if (!left || !right)
    return std::nullopt;
  if (isa<arith::AddIOp>(def))
    return Range{kernel.add(left->least, right->least),
                 kernel.add(left->most, right->most)};
  return Range{kernel.sub(left->least, right->most),
               kernel.sub(left->most, right->least)};
}

/// Whether `condition` holds for all elements in the tile of a warp; null if
/// that is not known.
Value ElementwiseBuilder::holdsEverywhere(Value condition) {
  Operation *def = condition.getDefiningOp();
  if (auto both = dyn_cast_if_present<arith::AndIOp>(def)) {
    Value left = holdsEverywhere(both.getLhs()),
          right = holdsEverywhere(both.getRhs());
    return left && right ? kernel.both(left, right) : Value();
  }
  auto compare = dyn_cast_if_present<arith::CmpIOp>(def);
  if (!compare)
    return {};
  std::optional<Range> left = rangeOf(compare.getLhs()),
                       right = rangeOf(compare.getRhs());
  if (!left || !right)
    return {};
  Value one = kernel.constant(1);
  switch (compare.getPredicate()) {
  case arith::CmpIPredicate::slt:
    return kernel.isLess(left->most, right->least);
  case arith::CmpIPredicate::sle:
    return kernel.isLess(left->most, kernel.add(right->least, one));
  case arith::CmpIPredicate::sgt:
    return kernel.isLess(right->most, left->least);
  case arith::CmpIPredicate::sge:
    return kernel.isLess(right->most, kernel.add(left->least, one));
  default:
    return {};
  }
}

/// Whether masks leave all of the tile of a warp; null if there are none of
/// which that is known. The selections by these are `assumed` then.
Value ElementwiseBuilder::findWholeTile() {
  Value whole;
  for (auto select : op.getBlock()->getOps<arith::SelectOp>()) {
    Value holds = holdsEverywhere(select.getCondition());
    if (!holds)
      continue;
    assumed.insert(select);
    whole = whole ? kernel.both(whole, holds) : holds;
  }
  return whole;
}

/// Masks cost as much as the rest, and few tiles are on their edge: what others
/// are to do is code of its own.
LogicalResult
ElementwiseBuilder::mapByTiles(Value whole, MutableArrayRef<Fragment> results) {
  OpBuilder &builder = kernel.builder;
  SmallVector<Type> types;
  for (const Fragment &fragment : results)
    types.append(fragment.parts.size(), fragment.partType());
  auto ifOp = scf::IfOp::create(builder, kernel.loc, types, whole,
                                /*withElseRegion=*/true);
  auto fill = [&](Block *block) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(block);
    if (failed(mapAll(results)))
      return failure();
    SmallVector<Value> parts;
    for (const Fragment &fragment : results)
      llvm::append_range(parts, fragment.parts);
    scf::YieldOp::create(builder, kernel.loc, parts);
    return success();
  };
  if (failed(fill(ifOp.thenBlock())))
    return failure();
  assumed.clear();
  if (failed(fill(ifOp.elseBlock())))
    return failure();
  auto made = ifOp.getResults();
  for (Fragment &fragment : results)
    for (Value &part : fragment.parts) {
      part = made.front();
      made = made.drop_front();
    }
  return success();
}

FailureOr<SmallVector<Fragment>> ElementwiseBuilder::run(Refusal &refusal) {
  if (succeeded(readOutputs())) {
    SmallVector<Fragment> results = createResults();
    Value whole = isRows ? Value() : findWholeTile();
    if (succeeded(whole ? mapByTiles(whole, results) : mapAll(results))) {
      combineSharers(results);
      return results;
    }
  }
  return refusal.set(refused.op, refused.reason);
}
