//===- TileMemoryBound.cpp - Loops and blocks outside chains --------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elementwise operations and reductions outside chains get the form that the
// operators of a chain get from `chimera-tile`: loops over groups of rows, and
// in them a block for each operation. Which loops, says #chimera.row_tiling.
//
//===----------------------------------------------------------------------===//

#include "MemoryBound/MemoryBoundOps.h"
#include "MemoryBound/RowFusionGroup.h"
#include "NamedRemarks.h"

#include "Chimera/Chain/OpKinds.h"
#include "Chimera/Chain/OpenSizes.h"
#include "Chimera/Transforms/BufferScope.h"
#include "Chimera/Transforms/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/Support/FormatVariadic.h"

namespace chimera {
#define GEN_PASS_DEF_TILEMEMORYBOUNDPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

namespace {

/// Builds the loops of one group.
class GroupBuilder {
public:
  GroupBuilder(const RowFusionGroup &group, RowTilingAttr tiling)
      : builder(group.getRoot().getContext()), group(group), tiling(tiling),
        tiles(tiling.getTiles()), loc(group.getRoot().getLoc()),
        open(group.getRoot()) {}

  /// Replaces the members.
  void build();

private:
  /// Where a task begins along each loop over rows, how far it goes, and how
  /// far it can go.
  struct Range {
    OpFoldResult offset, size;
    SmallVector<int64_t> possible;
  };
  /// Offsets, sizes and strides of a part of a tensor.
  struct Slice {
    SmallVector<OpFoldResult> offsets, sizes, strides;
  };

  void findResults();
  void findStreamed();
  void findRowwise();
  Value getDestination(OpResult result);
  SmallVector<Value> buildParallel();
  SmallVector<Value> buildSequential(unsigned row, ValueRange carried);
  OpFoldResult getExtent(unsigned row);
  OpFoldResult getLeft(unsigned row, OpFoldResult offset);
  void enter(unsigned row, Value iv);
  SmallVector<Value> buildTask(ValueRange destinations);
  void buildMember(linalg::LinalgOp op);

  Slice describe(linalg::LinalgOp op, OpOperand &operand);
  Value slice(linalg::LinalgOp op, OpOperand &operand, Value tensor);
  std::optional<unsigned> getInnermost();
  void findFetches();
  Value getAhead(linalg::LinalgOp op, OpOperand &operand);
  Value getInput(linalg::LinalgOp op, OpOperand &operand);
  Value getOutput(linalg::LinalgOp op, OpOperand &init);
  Value buildBuffer(linalg::LinalgOp op, OpOperand &init);
  ArrayAttr getExtents(linalg::LinalgOp op);
  BlockOp buildBlock(linalg::LinalgOp op, ValueRange inputs, ValueRange outputs,
                     ArrayAttr extents);
  Value buildFill(linalg::FillOp fill, Value output, ArrayAttr extents);
  void buildGeneric(linalg::LinalgOp op, ValueRange captured,
                    ValueRange arguments);
  void copyBody(linalg::LinalgOp op, OpBuilder &body, IRMapping &mapping,
                ValueRange offsets);

  OpBuilder builder;
  const RowFusionGroup &group;
  RowTilingAttr tiling;
  /// Rows of a task, per loop of the group.
  ArrayRef<int64_t> tiles;
  Location loc;
  OpenSizes open;
  SmallVector<Range> ranges;
  /// What is read outside the group.
  llvm::SmallVector<OpResult> results;
  /// The members that store past the caches.
  llvm::DenseSet<Operation *> streamed;
  /// The members that read rows from their beginnings to their ends, and how
  /// many at once.
  llvm::DenseMap<Operation *, int64_t> rowsAtOnce;
  /// By the member that stores them: operands, results of other members, which
  /// stay close to the core until it has read them.
  llvm::DenseMap<Operation *, SmallVector<OpOperand *>> late;
  /// By the member that asks for it: operands of which the next task reads
  /// another part, from memory.
  llvm::DenseMap<Operation *, SmallVector<OpOperand *>> fetched;
  /// In a task: the parts of `results` to be written, what is computed, and
  /// where it is stored, if that is not the same.
  llvm::DenseMap<Value, Value> places, computed, stored;
};

} // namespace

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void GroupBuilder::findResults() {
  for (const auto &[op, rows] : group.members)
    for (OpResult result : op->getResults())
      if (llvm::any_of(result.getUsers(),
                       [&](Operation *user) { return !group.has(user); }))
        results.push_back(result);
}

/// True if `op` copies its input as it is. To insert a slice where it belongs
/// is a copy anyway.
static bool isPlainCopy(linalg::LinalgOp op) {
  return isMovement(op) &&
         op.getIndexingMapsArray().front() == op.getIndexingMapsArray().back();
}

/// Notes who stores past the caches, and of which results that others make.
void GroupBuilder::findStreamed() {
  for (int64_t number : tiling.getStreamed())
    streamed.insert(group.getMember(number));
  for (auto [maker, number] : tiling.getLatePairs()) {
    Operation *storer = group.getMember(number);
    streamed.insert(storer);
    for (OpResult result : group.getMember(maker)->getResults()) {
      auto use = llvm::find_if(result.getUses(), [&](OpOperand &use) {
        return use.getOwner() == storer && canStoreLate(group, use);
      });
      if (use == result.use_end())
        continue;
      late[storer].push_back(&*use);
      stored[result] = places[result];
      places.erase(result);
    }
  }
}

void GroupBuilder::findRowwise() {
  for (auto [number, rows] : tiling.getRowwisePairs())
    rowsAtOnce[group.getMember(number)] = rows;
}

static linalg::FillOp getFill(Value init) {
  auto fill = init.getDefiningOp<linalg::FillOp>();
  return fill && canBeMember(fill) ? fill : linalg::FillOp();
}

/// The tensor that the loops carry for `result`.
Value GroupBuilder::getDestination(OpResult result) {
  auto op = cast<linalg::LinalgOp>(result.getOwner());
  OpOperand *init = op.getTiedOpOperand(result);
  Value value = init->get();
  bool isRead = op.payloadUsesValueFromOperand(init);
  bool isMade = isRead && (getFill(value) || group.has(value.getDefiningOp()));
  // What is filled first is not read either.
  if (linalg::FillOp fill = getFill(value); isRead && fill)
    value = fill.getOutputs()[0];
  // A slice that is not read is where the result belongs.
  if ((isRead && !isMade) || value.getDefiningOp<tensor::ExtractSliceOp>())
    return value;
  auto type = cast<RankedTensorType>(value.getType());
  return tensor::EmptyOp::create(builder, loc, type.getShape(),
                                 type.getElementType());
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

OpFoldResult GroupBuilder::getExtent(unsigned row) {
  return open.getSize(builder, loc, group.extents[row]);
}

/// What is left from `offset` on, as far as a task goes.
OpFoldResult GroupBuilder::getLeft(unsigned row, OpFoldResult offset) {
  MLIRContext *context = builder.getContext();
  AffineExpr position = builder.getAffineSymbolExpr(0),
             extent = builder.getAffineSymbolExpr(1),
             tile = builder.getAffineConstantExpr(tiles[row]);
  return affine::makeComposedFoldedAffineMin(
      builder, loc, AffineMap::get(0, 2, {extent - position, tile}, context),
      {offset, getExtent(row)});
}

/// Goes into the loop `row`, to the tile at `iv`.
void GroupBuilder::enter(unsigned row, Value iv) {
  int64_t extent = group.extents[row], tile = tiles[row];
  bool isOpen = open.isOpen(extent);
  Range &range = ranges[row];
  range.offset = iv;
  range.possible = {tile};
  range.size = builder.getIndexAttr(tile);
  if (tile == 1 || (!isOpen && extent % tile == 0))
    return;
  range.possible.push_back(isOpen ? anyExtent : extent % tile);
  range.size = getLeft(row, range.offset);
}

SmallVector<Value> GroupBuilder::buildParallel() {
  SmallVector<OpFoldResult> lower, upper, step;
  SmallVector<unsigned> rows;
  for (auto [row, extent] : llvm::enumerate(group.extents)) {
    if (tiles[row] == extent)
      continue;
    rows.push_back(row);
    lower.push_back(builder.getIndexAttr(0));
    upper.push_back(getExtent(row));
    step.push_back(builder.getIndexAttr(tiles[row]));
  }
  SmallVector<Value> destinations;
  for (OpResult result : results)
    destinations.push_back(getDestination(result));
  auto forall = scf::ForallOp::create(builder, loc, lower, upper, step,
                                      destinations, /*mapping=*/std::nullopt);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(forall.getBody());
  for (auto [row, iv] : llvm::zip_equal(rows, forall.getInductionVars()))
    enter(row, iv);
  SmallVector<Value> values = buildTask(forall.getRegionIterArgs());
  builder.setInsertionPointToStart(forall.getTerminator().getBody());
  for (auto [result, value, carried] :
       llvm::zip_equal(results, values, forall.getRegionIterArgs())) {
    auto op = cast<linalg::LinalgOp>(result.getOwner());
    Slice part = describe(op, *op.getTiedOpOperand(result));
    tensor::ParallelInsertSliceOp::create(
        builder, loc, value, carried, part.offsets, part.sizes, part.strides);
  }
  return llvm::to_vector_of<Value>(forall.getResults());
}

/// The loops from `row` on, which carry the results.
SmallVector<Value> GroupBuilder::buildSequential(unsigned row,
                                                 ValueRange carried) {
  while (row < ranges.size() && tiles[row] == group.extents[row])
    ++row;
  if (row < ranges.size()) {
    Value lower = arith::ConstantIndexOp::create(builder, loc, 0);
    Value upper = getValueOrCreateConstantIndexOp(builder, loc, getExtent(row));
    Value step = arith::ConstantIndexOp::create(builder, loc, tiles[row]);
    auto loop = scf::ForOp::create(builder, loc, lower, upper, step, carried);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    enter(row, loop.getInductionVar());
    scf::YieldOp::create(builder, loc,
                         buildSequential(row + 1, loop.getRegionIterArgs()));
    return llvm::to_vector_of<Value>(loop.getResults());
  }
  SmallVector<Value> values = buildTask(carried), whole;
  for (auto [result, value, tensor] :
       llvm::zip_equal(results, values, carried)) {
    auto op = cast<linalg::LinalgOp>(result.getOwner());
    Slice part = describe(op, *op.getTiedOpOperand(result));
    whole.push_back(value.getType() == tensor.getType()
                        ? value
                        : tensor::InsertSliceOp::create(
                              builder, loc, value, tensor, part.offsets,
                              part.sizes, part.strides)
                              .getResult());
  }
  return whole;
}

/// Everything for one group of rows. Returns the parts of the results.
SmallVector<Value> GroupBuilder::buildTask(ValueRange destinations) {
  for (auto [result, destination] : llvm::zip_equal(results, destinations)) {
    auto op = cast<linalg::LinalgOp>(result.getOwner());
    places[result] = slice(op, *op.getTiedOpOperand(result), destination);
  }
  findStreamed();
  findFetches();
  for (const auto &[op, rows] : group.members)
    buildMember(cast<linalg::LinalgOp>(op));
  SmallVector<Value> values;
  for (OpResult result : results)
    values.push_back((stored.contains(result) ? stored : computed)[result]);
  return values;
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

GroupBuilder::Slice GroupBuilder::describe(linalg::LinalgOp op,
                                           OpOperand &operand) {
  Slice part;
  auto type = cast<RankedTensorType>(operand.get().getType());
  AffineMap map = op.getMatchingIndexingMap(&operand);
  for (auto [dim, extent] : llvm::enumerate(type.getShape())) {
    std::optional<unsigned> row = group.getRow(op, map.getDimPosition(dim));
    part.offsets.push_back(row ? ranges[*row].offset : builder.getIndexAttr(0));
    part.sizes.push_back(row ? ranges[*row].size
                             : builder.getIndexAttr(extent));
    part.strides.push_back(builder.getIndexAttr(1));
  }
  return part;
}

/// The part of `tensor`, which is indexed like `operand`, for this task.
Value GroupBuilder::slice(linalg::LinalgOp op, OpOperand &operand,
                          Value tensor) {
  Slice part = describe(op, operand);
  auto type = cast<RankedTensorType>(tensor.getType());
  if (isEqualConstantIntOrValueArray(
          part.sizes,
          getAsIndexOpFoldResult(builder.getContext(), type.getShape())))
    return tensor;
  return tensor::ExtractSliceOp::create(builder, loc, tensor, part.offsets,
                                        part.sizes, part.strides);
}

/// The loop over rows that goes from one task to the next, if there is one.
std::optional<unsigned> GroupBuilder::getInnermost() {
  for (unsigned row = tiles.size(); row-- > 0;)
    if (tiles[row] != group.extents[row])
      return row;
  return std::nullopt;
}

/// Of those that ask for what the next task reads of a tensor, the last one
/// does.
void GroupBuilder::findFetches() {
  if (!getInnermost())
    return;
  llvm::MapVector<Value, std::pair<Operation *, OpOperand *>> readers;
  for (int64_t number : tiling.getAhead()) {
    Operation *member = group.getMember(number);
    for (OpOperand *operand : findOwnParts(group, member))
      readers[operand->get()] = {member, operand};
  }
  for (auto &[value, reader] : readers)
    fetched[reader.first].push_back(reader.second);
}

/// The part of `operand` that the next task reads, as large as that of this
/// one.
Value GroupBuilder::getAhead(linalg::LinalgOp op, OpOperand &operand) {
  unsigned row = *getInnermost();
  Range &range = ranges[row], here = range;
  AffineExpr position = builder.getAffineSymbolExpr(0),
             size = builder.getAffineSymbolExpr(1),
             extent = builder.getAffineSymbolExpr(2);
  // Of fewer rows than a task takes, the one task has all.
  OpFoldResult most = open.isOpen(group.extents[row])
                          ? here.size
                          : builder.getIndexAttr(tiles[row]);
  range.offset = affine::makeComposedFoldedAffineMin(
      builder, loc,
      AffineMap::get(0, 3, {position + tiles[row], extent - size},
                     builder.getContext()),
      {here.offset, most, getExtent(row)});
  Value part = slice(op, operand, operand.get());
  range = here;
  return part;
}

Value GroupBuilder::getInput(linalg::LinalgOp op, OpOperand &operand) {
  Value value = operand.get();
  if (!isa<RankedTensorType>(value.getType()))
    return value;
  if (Value known = computed.lookup(value))
    return known;
  return slice(op, operand, value);
}

/// A tensor for the part of a result that only members read: created once for
/// all tasks of a thread, cut down to the size of this one.
Value GroupBuilder::buildBuffer(linalg::LinalgOp op, OpOperand &init) {
  auto type = cast<RankedTensorType>(init.get().getType());
  AffineMap map = op.getMatchingIndexingMap(&init);
  SmallVector<int64_t> shape(type.getShape());
  for (auto [dim, extent] : llvm::enumerate(shape))
    if (std::optional<unsigned> row = group.getRow(op, map.getDimPosition(dim)))
      extent = ranges[*row].possible.front();
  Value buffer;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(
        getBufferScope(builder.getInsertionBlock()->getParentOp()));
    buffer =
        tensor::EmptyOp::create(builder, loc, shape, type.getElementType());
  }
  Slice part = describe(op, init);
  part.offsets.assign(shape.size(), builder.getIndexAttr(0));
  if (llvm::none_of(part.sizes,
                    [](OpFoldResult size) { return isa<Value>(size); }))
    return buffer;
  return tensor::ExtractSliceOp::create(builder, loc, buffer, part.offsets,
                                        part.sizes, part.strides);
}

/// What a member is to write to, or to update.
Value GroupBuilder::getOutput(linalg::LinalgOp op, OpOperand &init) {
  Value place = places.lookup(op.getTiedOpResult(&init));
  bool isRead = op.payloadUsesValueFromOperand(&init);
  if (!isRead)
    return place ? place : buildBuffer(op, init);
  if (linalg::FillOp fill = getFill(init.get())) {
    SmallVector<Attribute> extents;
    for (AffineExpr dim : op.getMatchingIndexingMap(&init).getResults())
      extents.push_back(getExtents(op)[cast<AffineDimExpr>(dim).getPosition()]);
    return buildFill(fill, place ? place : buildBuffer(op, init),
                     builder.getArrayAttr(extents));
  }
  bool isCarried = place && !group.has(init.get().getDefiningOp());
  return isCarried ? place : getInput(op, init);
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

ArrayAttr GroupBuilder::getExtents(linalg::LinalgOp op) {
  SmallVector<Attribute> extents;
  for (auto [loop, extent] : llvm::enumerate(op.getStaticLoopRanges())) {
    std::optional<unsigned> row = group.getRow(op, loop);
    int64_t whole = open.isOpen(extent) ? anyExtent : extent;
    extents.push_back(builder.getI64ArrayAttr(
        row ? ArrayRef(ranges[*row].possible) : ArrayRef(whole)));
  }
  return builder.getArrayAttr(extents);
}

/// A block without a body yet, named after what it does.
BlockOp GroupBuilder::buildBlock(linalg::LinalgOp op, ValueRange inputs,
                                 ValueRange outputs, ArrayAttr extents) {
  StringRef name = op.getNumReductionLoops() > 0 ? "reduction"
                   : isa<linalg::FillOp>(op)     ? "fill"
                                                 : "elementwise";
  auto block = BlockOp::create(
      builder, op.getLoc(), outputs.getTypes(), name, inputs, outputs, extents,
      RegisterTileAttr(), DenseI64ArrayAttr(), PrefetchAttr(), TapsAttr(),
      streamed.contains(op),
      rowsAtOnce.contains(op) ? builder.getI64IntegerAttr(rowsAtOnce.lookup(op))
                              : IntegerAttr());
  Block &entry = block.getBody().emplaceBlock();
  for (Value operand : block->getOperands())
    entry.addArgument(operand.getType(), op.getLoc());
  return block;
}

Value GroupBuilder::buildFill(linalg::FillOp fill, Value output,
                              ArrayAttr extents) {
  if (extents.empty())
    return linalg::FillOp::create(builder, fill.getLoc(), fill.getInputs(),
                                  output)
        .getResult(0);
  BlockOp block = buildBlock(fill, {}, output, extents);
  OpBuilder::InsertionGuard guard(builder);
  Block &entry = block.getBody().front();
  builder.setInsertionPointToStart(&entry);
  Operation *value = builder.clone(*fill.getInputs()[0].getDefiningOp());
  auto filled = linalg::FillOp::create(
      builder, fill.getLoc(), value->getResults(), entry.getArguments().back());
  YieldOp::create(builder, fill.getLoc(), filled.getResults());
  return block.getResult(0);
}

/// Copies the body of `op`. Its place is counted from the start of the whole
/// tensors, whatever part of them a task works on.
void GroupBuilder::copyBody(linalg::LinalgOp op, OpBuilder &body,
                            IRMapping &mapping, ValueRange offsets) {
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(op->getRegions(), used);
  for (Value value : used)
    if (!mapping.contains(value))
      body.clone(*value.getDefiningOp(), mapping);
  for (Operation &nested : *op.getBlock()) {
    Operation *copy = body.clone(nested, mapping);
    auto index = dyn_cast<linalg::IndexOp>(nested);
    std::optional<unsigned> row;
    if (index)
      row = group.getRow(op, index.getDim());
    if (row && !isZeroInteger(ranges[*row].offset))
      mapping.map(
          index.getResult(),
          arith::AddIOp::create(body, loc, copy->getResult(0), offsets[*row]));
  }
}

/// Puts `op` on `arguments` into a block. Between its inputs and outputs these
/// hold scalars: what its body captures, and the offset of each loop over rows
/// if it asks for its place.
void GroupBuilder::buildGeneric(linalg::LinalgOp op, ValueRange captured,
                                ValueRange arguments) {
  SmallVector<OpOperand *> copied = late.lookup(op), ahead = fetched.lookup(op);
  unsigned numInputs = op.getNumDpsInputs(), numOutputs = op.getNumDpsInits();
  ValueRange outputs = arguments.take_back(numOutputs + copied.size()),
             inputs = arguments.drop_back(numOutputs + copied.size());
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  for (auto [place, operand] : llvm::enumerate(ahead))
    maps.insert(maps.begin() + numInputs + place,
                cast<linalg::LinalgOp>(operand->getOwner())
                    .getMatchingIndexingMap(operand));
  maps.insert(maps.begin() + numInputs,
              inputs.size() - numInputs - ahead.size(),
              AffineMap::get(op.getNumLoops(), 0, builder.getContext()));
  for (OpOperand *operand : copied)
    maps.push_back(op.getMatchingIndexingMap(operand));
  auto generic = linalg::GenericOp::create(
      builder, op.getLoc(), outputs.getTypes(), inputs, outputs, maps,
      op.getIteratorTypesArray(),
      [&](OpBuilder &body, Location, ValueRange values) {
        IRMapping mapping;
        auto old = op.getBlock()->getArguments();
        mapping.map(old.take_front(numInputs), values.take_front(numInputs));
        mapping.map(old.take_back(numOutputs),
                    values.drop_front(inputs.size()).take_front(numOutputs));
        ValueRange scalars =
            values.drop_front(numInputs).drop_back(outputs.size());
        mapping.map(captured, scalars.take_front(captured.size()));
        copyBody(op, body, mapping, scalars.drop_front(captured.size()));
      });
  Block *body = generic.getBlock();
  for (OpOperand *operand : copied)
    cast<linalg::YieldOp>(body->getTerminator())
        .getValuesMutable()
        .append(body->getArgument(operand->getOperandNumber()));
  YieldOp::create(builder, op.getLoc(), generic.getResults());
}

void GroupBuilder::buildMember(linalg::LinalgOp op) {
  if (isPlainCopy(op) && !streamed.contains(op)) {
    computed[op->getResult(0)] = getInput(op, *op.getDpsInputOperands()[0]);
    return;
  }
  if (auto fill = dyn_cast<linalg::FillOp>(op.getOperation())) {
    computed[op->getResult(0)] = buildFill(
        fill, getOutput(op, op.getDpsInitsMutable()[0]), getExtents(op));
    return;
  }
  SmallVector<Value> inputs, outputs;
  for (OpOperand *input : op.getDpsInputOperands())
    inputs.push_back(getInput(op, *input));
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(op->getRegions(), used);
  // Constants move into the micro kernel later on.
  SmallVector<Value> captured = llvm::to_vector(llvm::make_filter_range(
      used, [](Value value) { return !matchPattern(value, m_Constant()); }));
  llvm::append_range(inputs, captured);
  // A copy takes them, too: folding would make an empty block of one that
  // reads nothing but what it yields.
  if (op.hasIndexSemantics() || isPlainCopy(op))
    for (const Range &range : ranges)
      inputs.push_back(
          getValueOrCreateConstantIndexOp(builder, loc, range.offset));
  for (OpOperand &init : op.getDpsInitsMutable())
    outputs.push_back(getOutput(op, init));
  for (OpOperand *operand : fetched.lookup(op))
    inputs.push_back(
        getAhead(cast<linalg::LinalgOp>(operand->getOwner()), *operand));
  SmallVector<OpOperand *> copied = late.lookup(op);
  for (OpOperand *operand : copied)
    outputs.push_back(stored[operand->get()]);

  BlockOp block = buildBlock(op, inputs, outputs, getExtents(op));
  OpBuilder::InsertionGuard guard(builder);
  Block &entry = block.getBody().front();
  builder.setInsertionPointToStart(&entry);
  buildGeneric(op, captured, entry.getArguments());
  unsigned numResults = op->getNumResults();
  for (auto [result, value] : llvm::zip_equal(
           op->getResults(), block.getResults().take_front(numResults)))
    computed[result] = value;
  for (auto [operand, value] :
       llvm::zip_equal(copied, block.getResults().drop_front(numResults)))
    stored[operand->get()] = value;
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

void GroupBuilder::build() {
  findResults();
  findRowwise();
  for (int64_t extent : group.extents)
    ranges.push_back(
        {builder.getIndexAttr(0), builder.getIndexAttr(extent), {extent}});
  Operation *root = group.getRoot();
  builder.setInsertionPointAfter(root);
  SmallVector<Value> values;
  if (tiling.getParallel()) {
    values = buildParallel();
  } else {
    SmallVector<Value> destinations;
    for (OpResult result : results)
      destinations.push_back(getDestination(result));
    values = buildSequential(0, destinations);
  }
  // What depends on members comes after their loops.
  for (Operation *op : group.delayed)
    op->moveBefore(&*builder.getInsertionPoint());
  for (auto [result, value] : llvm::zip_equal(results, values))
    result.replaceUsesWithIf(
        value, [&](OpOperand &use) { return !group.has(use.getOwner()); });
  for (const auto &member : llvm::reverse(group.members))
    member.first->erase();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Says why `op`, which has no tiling, is left to plain loops, if it matters.
static void noteLeft(linalg::LinalgOp op) {
  StringRef text = "no #chimera.row_tiling says in which tasks it runs: "
                   "chimera-plan-memory-bound chooses one";
  if (!canBeMember(op)) {
    if (isa<linalg::FillOp>(op))
      return;
    text = findObstacle(op).value_or(
        "an operand is not indexed by a projected permutation");
  } else if (!isRoot(op)) {
    return;
  }
  if (!text.empty())
    remark::missed(op.getLoc(), named("not-tiled"))
        << "left to plain loops: " + text.str();
}

/// Says in how many tasks a group runs, if sizes are as planned.
static void noteGroup(const RowFusionGroup &group, RowTilingAttr tiling) {
  OpenSizes open(group.getRoot());
  SmallVector<int64_t> extents = llvm::map_to_vector(
      group.extents, [&](int64_t extent) { return open.getPlanned(extent); });
  remark::passed(group.getRoot().getLoc(), named("tiled"))
      << llvm::formatv("{0} operation(s) as {1} {2} task(s)",
                       group.members.size(),
                       model::countTasks(extents, tiling.getTiles()),
                       tiling.getParallel() ? "parallel" : "sequential")
             .str();
}

namespace {
struct TileMemoryBoundPass
    : chimera::impl::TileMemoryBoundPassBase<TileMemoryBoundPass> {
  using Base::Base;

  void runOnOperation() override {
    llvm::DenseSet<Operation *> done;
    SmallVector<Operation *> ops = collectOutside(getOperation());
    for (Operation *op : llvm::reverse(ops)) {
      if (done.contains(op))
        continue;
      auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
      if (linalgOp && failed(tile(linalgOp, done)))
        return signalPassFailure();
    }
    // Groups are done with, and what runs by itself will not be on tensors.
    getOperation()->walk([](Operation *op) {
      op->removeDiscardableAttr(ChimeraDialect::getGroupAttrName());
    });
  }

  /// Tiles the group whose root is `op`, if it is one. Its members are then
  /// `done`.
  LogicalResult tile(linalg::LinalgOp op, llvm::DenseSet<Operation *> &done) {
    RowTilingAttr tiling = getRowTiling(op);
    if (!tiling) {
      noteLeft(op);
      return success();
    }
    FailureOr<RowFusionGroup> group = findTiledGroup(op);
    if (failed(group))
      return failure();
    for (const auto &member : group->members)
      done.insert(member.first);
    noteGroup(*group, tiling);
    GroupBuilder(*group, tiling).build();
    return success();
  }
};
} // namespace
