//===- SplitReductions.cpp - Reductions to few results, in parts ----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The largest element of a tensor and the sum of its squares are two numbers:
// there are no rows that threads could share, and the tensor is read twice.
// Here the two become one operation, and that is cut into parts with results of
// their own, which are rows like any others. Where the parts end depends on the
// sizes alone, so that a sum has the same bits on any machine and number of
// threads.
//
//===----------------------------------------------------------------------===//

#include "MemoryBound/MemoryBoundOps.h"
#include "NamedRemarks.h"

#include "Chimera/Chain/OpenSizes.h"
#include "Chimera/Model/RowTiling.h"
#include "Chimera/Transforms/Passes.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/RegionUtils.h"

namespace chimera {
#define GEN_PASS_DEF_SPLITREDUCTIONSPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

//===----------------------------------------------------------------------===//
// What can be cut
//===----------------------------------------------------------------------===//

/// What combines output `number` of `op` with each element; null if that is no
/// single operation with a neutral element.
static Operation *findCombiner(linalg::GenericOp op, unsigned number) {
  SmallVector<Operation *> combiners;
  if (!matchReduction(op.getRegionOutputArgs(), number, combiners) ||
      combiners.size() != 1 || !arith::getNeutralElement(combiners.front()))
    return nullptr;
  return combiners.front();
}

static bool isReduction(linalg::GenericOp op, unsigned loop) {
  return op.getIteratorTypesArray()[loop] == utils::IteratorType::reduction;
}

/// True if an extent of `op` is not known, so that nobody can say in how many
/// parts it falls.
static bool isOpen(linalg::GenericOp op) {
  OpenSizes open(op);
  return llvm::any_of(op.getStaticLoopRanges(),
                      [&](int64_t extent) { return open.isOpen(extent); });
}

/// The outermost loop of `op` that is reduced. None if `op` cannot be cut along
/// it: each output is to be combined, and each full operand a tensor.
static std::optional<unsigned> findCutLoop(linalg::GenericOp op) {
  if (findObstacle(op) || op.hasIndexSemantics() ||
      op.getNumReductionLoops() == 0 || isOpen(op))
    return std::nullopt;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  if (!llvm::all_of(maps,
                    [](AffineMap map) { return map.isProjectedPermutation(); }))
    return std::nullopt;
  for (unsigned number = 0; number < op.getNumDpsInits(); ++number) {
    AffineMap map = maps[op.getNumDpsInputs() + number];
    for (AffineExpr result : map.getResults())
      if (isReduction(op, cast<AffineDimExpr>(result).getPosition()))
        return std::nullopt;
    if (!findCombiner(op, number))
      return std::nullopt;
  }
  for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
    if (isReduction(op, loop))
      return loop;
  return std::nullopt;
}

static int64_t countParts(linalg::GenericOp op, unsigned loop) {
  model::ReductionFigures figures;
  figures.elements = 1;
  for (auto [index, extent] : llvm::enumerate(op.getStaticLoopRanges())) {
    figures.elements *= extent;
    if (!isReduction(op, index))
      figures.steps *= extent;
  }
  figures.extent = op.getStaticLoopRanges()[loop];
  if (std::optional<unsigned> dim = findVectorDim(op.getIndexingMapsArray());
      dim && !isReduction(op, *dim))
    figures.columns = op.getStaticLoopRanges()[*dim];
  return model::countParts(figures);
}

//===----------------------------------------------------------------------===//
// One operation of several
//===----------------------------------------------------------------------===//

/// True if `first` and `second`, which comes after it, go over the same loops
/// and read a tensor of more than one dimension or element alike.
static bool shareInput(linalg::GenericOp first, linalg::GenericOp second) {
  if (first.getStaticLoopRanges() != second.getStaticLoopRanges() ||
      first.getIteratorTypesArray() != second.getIteratorTypesArray())
    return false;
  return llvm::any_of(first.getDpsInputOperands(), [&](OpOperand *input) {
    AffineMap map = first.getMatchingIndexingMap(input);
    return map.getNumResults() == first.getNumLoops() &&
           llvm::any_of(second.getDpsInputOperands(), [&](OpOperand *other) {
             return other->get() == input->get() &&
                    second.getMatchingIndexingMap(other) == map;
           });
  });
}

/// True if `first` can run where `second` does: nothing up to there needs it.
static bool canMoveTo(linalg::GenericOp first, linalg::GenericOp second) {
  return llvm::all_of(first->getUsers(), [&](Operation *user) {
    Operation *here = second->getBlock()->findAncestorOpInBlock(*user);
    return here && second->isBeforeInBlock(here);
  });
}

namespace {

/// Puts two operations together where the second one is.
class Merger {
public:
  Merger(linalg::GenericOp first, linalg::GenericOp second)
      : ops({first, second}), builder(second) {}

  linalg::GenericOp merge();

private:
  void addOperands(linalg::GenericOp op);
  unsigned addInput(Value value, AffineMap map);
  void build(OpBuilder &body, ValueRange values);

  SmallVector<linalg::GenericOp, 2> ops;
  OpBuilder builder;
  SmallVector<Value> inputs, inits;
  SmallVector<AffineMap> inputMaps, initMaps;
  /// Which of `inputs` each input of the two is, one after the other.
  SmallVector<unsigned> places;
};

} // namespace

/// What both read is one input.
unsigned Merger::addInput(Value value, AffineMap map) {
  for (unsigned i = 0; i < inputs.size(); ++i)
    if (inputs[i] == value && inputMaps[i] == map)
      return i;
  inputs.push_back(value);
  inputMaps.push_back(map);
  return inputs.size() - 1;
}

void Merger::addOperands(linalg::GenericOp op) {
  for (OpOperand *input : op.getDpsInputOperands())
    places.push_back(addInput(input->get(), op.getMatchingIndexingMap(input)));
  for (OpOperand &init : op.getDpsInitsMutable()) {
    inits.push_back(init.get());
    initMaps.push_back(op.getMatchingIndexingMap(&init));
  }
}

void Merger::build(OpBuilder &body, ValueRange values) {
  ArrayRef<unsigned> reads = places;
  ValueRange holds = values.take_back(inits.size());
  SmallVector<Value> yielded;
  for (linalg::GenericOp op : ops) {
    IRMapping mapping;
    for (BlockArgument argument : op.getRegionInputArgs()) {
      mapping.map(argument, values[reads.front()]);
      reads = reads.drop_front();
    }
    mapping.map(op.getRegionOutputArgs(),
                holds.take_front(op.getNumDpsInits()));
    holds = holds.drop_front(op.getNumDpsInits());
    for (Operation &nested : op.getBody()->without_terminator())
      body.clone(nested, mapping);
    for (Value value : op.getBody()->getTerminator()->getOperands())
      yielded.push_back(mapping.lookupOrDefault(value));
  }
  linalg::YieldOp::create(body, ops.back().getLoc(), yielded);
}

linalg::GenericOp Merger::merge() {
  SmallVector<Type> types;
  SmallVector<Value> old;
  for (linalg::GenericOp op : ops) {
    addOperands(op);
    llvm::append_range(types, op->getResultTypes());
    llvm::append_range(old, op->getResults());
  }
  SmallVector<AffineMap> maps = inputMaps;
  llvm::append_range(maps, initMaps);
  auto both = linalg::GenericOp::create(
      builder, builder.getFusedLoc({ops[0].getLoc(), ops[1].getLoc()}), types,
      inputs, inits, maps, ops[0].getIteratorTypesArray(),
      [&](OpBuilder &body, Location, ValueRange values) {
        build(body, values);
      });
  for (auto [before, after] : llvm::zip_equal(old, both->getResults()))
    before.replaceAllUsesWith(after);
  for (linalg::GenericOp op : ops)
    op.erase();
  return both;
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

namespace {

/// Cuts one reduction.
class Splitter {
public:
  Splitter(linalg::GenericOp op, unsigned loop, int64_t parts)
      : builder(op), op(op), loop(loop), parts(parts),
        size(op.getStaticLoopRanges()[loop] / parts), loc(op.getLoc()) {}

  void split();

private:
  SmallVector<Value> reduceRest();
  SmallVector<Value> reduceParts();
  SmallVector<Value> combine(ValueRange partial, ValueRange starts);
  Value cut(OpOperand *operand, int64_t offset, int64_t extent);
  Value divide(OpOperand *operand, AffineMap &map);
  Value createStart(unsigned number);

  OpBuilder builder;
  linalg::GenericOp op;
  unsigned loop;
  int64_t parts, size;
  Location loc;
};

} // namespace

/// What `operand` has from `offset` on along the loop.
Value Splitter::cut(OpOperand *operand, int64_t offset, int64_t extent) {
  auto type = dyn_cast<RankedTensorType>(operand->get().getType());
  AffineMap map = op.getMatchingIndexingMap(operand);
  std::optional<unsigned> dim =
      map.getResultPosition(builder.getAffineDimExpr(loop));
  if (!type || !dim || type.getDimSize(*dim) == extent)
    return operand->get();
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0)),
      sizes = getAsIndexOpFoldResult(builder.getContext(), type.getShape()),
      strides(type.getRank(), builder.getIndexAttr(1));
  offsets[*dim] = builder.getIndexAttr(offset);
  sizes[*dim] = builder.getIndexAttr(extent);
  return tensor::ExtractSliceOp::create(builder, loc, operand->get(), offsets,
                                        sizes, strides);
}

/// `operand` with one dimension more for the parts, which `map` then has too.
Value Splitter::divide(OpOperand *operand, AffineMap &map) {
  Value whole = cut(operand, 0, parts * size);
  map = op.getMatchingIndexingMap(operand).shiftDims(1);
  AffineExpr along = builder.getAffineDimExpr(loop + 1);
  std::optional<unsigned> dim = map.getResultPosition(along);
  auto type = dyn_cast<RankedTensorType>(whole.getType());
  if (!type || !dim)
    return whole;
  SmallVector<int64_t> shape(type.getShape());
  SmallVector<AffineExpr> results(map.getResults());
  SmallVector<ReassociationIndices> groups;
  for (unsigned i = 0; i < results.size(); ++i)
    groups.push_back({i + (i > *dim ? 1 : 0)});
  groups[*dim].push_back(*dim + 1);
  shape[*dim] = size;
  shape.insert(shape.begin() + *dim, parts);
  results.insert(results.begin() + *dim, builder.getAffineDimExpr(0));
  map = AffineMap::get(map.getNumDims(), 0, results, builder.getContext());
  return tensor::ExpandShapeOp::create(
      builder, loc, RankedTensorType::get(shape, type.getElementType()), whole,
      groups);
}

/// What the parts of output `number` start from.
Value Splitter::createStart(unsigned number) {
  auto type = cast<RankedTensorType>(op->getResult(number).getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin(), parts);
  Value empty =
      tensor::EmptyOp::create(builder, loc, shape, type.getElementType());
  Value neutral = arith::ConstantOp::create(
      builder, loc, *arith::getNeutralElement(findCombiner(op, number)));
  return linalg::FillOp::create(builder, loc, neutral, empty).getResult(0);
}

SmallVector<Value> Splitter::reduceParts() {
  SmallVector<Value> inputs, starts;
  SmallVector<AffineMap> maps;
  for (OpOperand *input : op.getDpsInputOperands())
    inputs.push_back(divide(input, maps.emplace_back()));
  SmallVector<Type> types;
  for (OpOperand &init : op.getDpsInitsMutable()) {
    AffineMap map = op.getMatchingIndexingMap(&init).shiftDims(1);
    maps.push_back(map.insertResult(builder.getAffineDimExpr(0), 0));
    starts.push_back(createStart(starts.size()));
    types.push_back(starts.back().getType());
  }
  SmallVector<utils::IteratorType> iterators(op.getIteratorTypesArray());
  iterators.insert(iterators.begin(), utils::IteratorType::parallel);
  auto build = [&](OpBuilder &body, Location, ValueRange values) {
    IRMapping mapping;
    mapping.map(op.getBody()->getArguments(), values);
    for (Operation &nested : *op.getBody())
      body.clone(nested, mapping);
  };
  auto partial = linalg::GenericOp::create(builder, loc, types, inputs, starts,
                                           maps, iterators, build);
  return llvm::to_vector_of<Value>(partial->getResults());
}

/// What parts of equal size leave, into what `op` starts from.
SmallVector<Value> Splitter::reduceRest() {
  int64_t extent = op.getStaticLoopRanges()[loop], left = extent % parts;
  if (left == 0)
    return SmallVector<Value>(op.getOutputs());
  SmallVector<Value> operands;
  for (OpOperand *input : op.getDpsInputOperands())
    operands.push_back(cut(input, extent - left, left));
  llvm::append_range(operands, op.getOutputs());
  Operation *rest = builder.clone(*op);
  rest->setOperands(operands);
  return llvm::to_vector_of<Value>(rest->getResults());
}

/// Combines what the parts have, in their order. That has no part in loops over
/// what the parts read: these would cut columns where the parts go along rows.
SmallVector<Value> Splitter::combine(ValueRange partial, ValueRange starts) {
  SmallVector<Value> results;
  for (auto [number, part, start] : llvm::enumerate(partial, starts)) {
    auto type = cast<RankedTensorType>(start.getType());
    unsigned rank = type.getRank() + 1;
    AffineMap map = builder.getMultiDimIdentityMap(rank);
    SmallVector<utils::IteratorType> iterators(rank,
                                               utils::IteratorType::parallel);
    iterators.front() = utils::IteratorType::reduction;
    Operation *combiner = findCombiner(op, number);
    auto whole = linalg::GenericOp::create(
        builder, loc, type, part, start, ArrayRef{map, map.dropResult(0)},
        iterators, [&](OpBuilder &body, Location, ValueRange values) {
          Operation *copy = body.clone(*combiner);
          copy->setOperands({values[1], values[0]});
          linalg::YieldOp::create(body, loc, copy->getResults());
        });
    whole->setAttr(
        ChimeraDialect::getRowTilingAttrName(),
        RowTilingAttr::get(op.getContext(), {}, {}, false, {}, {}, {}, {}));
    results.push_back(whole.getResult(0));
  }
  return results;
}

void Splitter::split() {
  SmallVector<Value> starts = reduceRest(), partial = reduceParts();
  op->replaceAllUsesWith(combine(partial, starts));
  op.erase();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct SplitReductionsPass
    : chimera::impl::SplitReductionsPassBase<SplitReductionsPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<linalg::GenericOp> found;
    for (Operation *op : collectOutside(getOperation())) {
      auto generic = dyn_cast<linalg::GenericOp>(op);
      std::optional<unsigned> loop;
      if (generic)
        loop = findCutLoop(generic);
      if (!loop)
        continue;
      if (countParts(generic, *loop) > 1)
        add(generic, found);
    }
    for (linalg::GenericOp op : found) {
      unsigned loop = *findCutLoop(op);
      int64_t parts = countParts(op, loop);
      remark::passed(op.getLoc(), named("parts"))
          << std::to_string(op->getNumResults()) + " reduction(s) in " +
                 std::to_string(parts) + " parts";
      Splitter(op, loop, parts).split();
    }
  }

  /// Puts `op` together with one before it, or at the end of `found`.
  void add(linalg::GenericOp op, SmallVector<linalg::GenericOp> &found) {
    for (linalg::GenericOp &before : found)
      if (before->getBlock() == op->getBlock() && shareInput(before, op) &&
          canMoveTo(before, op)) {
        before = Merger(before, op).merge();
        return;
      }
    found.push_back(op);
  }
};
} // namespace
