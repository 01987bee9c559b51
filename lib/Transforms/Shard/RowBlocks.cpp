//===- RowBlocks.cpp - Compute a tensor in blocks of rows -----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowBlocks.h"

#include "Annotations.h"
#include "Generators.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace chimera;

shard::GridOp chimera::makeGridOfBlocks(Operation *op, int64_t count) {
  auto module = op->getParentOfType<ModuleOp>();
  OpBuilder builder(module.getContext());
  auto grid = shard::GridOp::create(builder, op->getLoc(), "chimera_blocks",
                                    ArrayRef<int64_t>{count});
  SymbolTable(module).insert(grid);
  return grid;
}

//===----------------------------------------------------------------------===//
// What can be cut
//===----------------------------------------------------------------------===//

/// The dimension that is cut, if one is.
static std::optional<unsigned> getCutDim(const shard::Sharding &sharding) {
  if (!sharding)
    return std::nullopt;
  for (auto [dim, axes] : llvm::enumerate(sharding.getSplitAxes()))
    if (!axes.asArrayRef().empty())
      return dim;
  return std::nullopt;
}

int64_t RowBlocks::count() const { return grid.getShape().front(); }

shard::Sharding RowBlocks::makeSharding(unsigned dim) const {
  MLIRContext *context = grid.getContext();
  SmallVector<shard::GridAxesAttr> axes(dim,
                                        shard::GridAxesAttr::get(context, {}));
  axes.push_back(
      shard::GridAxesAttr::get(context, ArrayRef<shard::GridAxis>{0}));
  return shard::Sharding::get(FlatSymbolRefAttr::get(grid.getSymNameAttr()),
                              axes);
}

/// True if `value`, cut as `sharding` says, has equal parts.
static bool divides(Value value, const shard::Sharding &sharding,
                    int64_t count) {
  std::optional<unsigned> dim = getCutDim(sharding);
  return !dim ||
         cast<RankedTensorType>(value.getType()).getDimSize(*dim) % count == 0;
}

/// True if a part of `loop` reads and writes one part of each tensor, along one
/// dimension: no windows, no diagonals.
static bool cutsTensors(shard::ShardingInterface op, unsigned loop) {
  return llvm::all_of(op.getIndexingMaps(), [&](AffineMap map) {
    int64_t count = 0;
    for (AffineExpr expr : map.getResults()) {
      if (!expr.isFunctionOfDim(loop))
        continue;
      if (!isa<AffineDimExpr>(expr))
        return false;
      ++count;
    }
    return count <= 1;
  });
}

/// True if exactly one loop is cut, a parallel one.
static bool cutsRows(shard::ShardingInterface op,
                     const shard::ShardingOption &option) {
  auto kinds = op.getLoopIteratorTypes();
  int64_t loops = 0;
  for (auto [loop, axes] : llvm::enumerate(option.shardingArray)) {
    if (axes.empty())
      continue;
    if (loop >= kinds.size() || kinds[loop] != utils::IteratorType::parallel ||
        !canCutLoop(op, loop) || !cutsTensors(op, loop))
      return false;
    ++loops;
  }
  return loops == 1;
}

/// How `op` is cut if its result is, along `dim`; none if it cannot be.
std::optional<RowBlocks::Cut> RowBlocks::cut(Operation *op,
                                             unsigned dim) const {
  auto shardable = dyn_cast<shard::ShardingInterface>(op);
  auto isStatic = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return !tensor || tensor.hasStaticShape();
  };
  if (!shardable || isGenerator(op) || op->getNumResults() != 1 ||
      !isMemoryEffectFree(op) || !llvm::all_of(op->getOperandTypes(), isStatic))
    return std::nullopt;
  std::vector<shard::Sharding> operands(op->getNumOperands());
  FailureOr<shard::ShardingOption> option =
      shardable.getShardingOption(operands, makeSharding(dim));
  if (failed(option) || option->empty || !cutsRows(shardable, *option))
    return std::nullopt;
  FailureOr<std::vector<shard::Sharding>> all =
      shardable.getShardingAnnotations(*option);
  if (failed(all) || getCutDim(all->back()) != dim)
    return std::nullopt;
  for (auto [operand, sharding] : llvm::zip(op->getOperands(), *all))
    if (!divides(operand, sharding, count()))
      return std::nullopt;
  if (!divides(op->getResult(0), all->back(), count()))
    return std::nullopt;
  Cut made{std::move(*all), {}};
  made.results = {made.operands.back()};
  made.operands.pop_back();
  return made;
}

/// The dimension along which all readers of `result` want it in blocks.
std::optional<unsigned> RowBlocks::findCommonDim(Value result) const {
  std::optional<unsigned> common;
  for (OpOperand &use : result.getUses()) {
    std::optional<unsigned> wanted;
    const auto *known = cuts.find(use.getOwner());
    if (use.getOwner() == reader && result == value)
      wanted = dim;
    else if (known != cuts.end())
      wanted = getCutDim(known->second.operands[use.getOperandNumber()]);
    if (!wanted || (common && common != wanted))
      return std::nullopt;
    common = wanted;
  }
  return common;
}

RowBlocks::RowBlocks(Value value, unsigned dim, Operation *reader,
                     shard::GridOp grid)
    : value(value), dim(dim), reader(reader), grid(grid) {
  // Readers come before what they read.
  for (Operation *op = reader->getPrevNode(); op; op = op->getPrevNode()) {
    if (op->getNumResults() != 1)
      continue;
    std::optional<unsigned> wanted = findCommonDim(op->getResult(0));
    if (!wanted)
      continue;
    if (std::optional<Cut> made = cut(op, *wanted))
      cuts.insert({op, std::move(*made)});
  }
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// What `generator` makes, with a `count`th of dimension `dim`.
static Value makePart(OpBuilder &builder, Operation *generator, unsigned dim,
                      int64_t count) {
  auto type = cast<RankedTensorType>(generator->getResult(0).getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] /= count;
  auto part = type.clone(shape);
  if (auto fill = dyn_cast<linalg::FillOp>(generator)) {
    Value room =
        makePart(builder, fill.getOutputs()[0].getDefiningOp(), dim, count);
    return linalg::FillOp::create(builder, fill.getLoc(), fill.getInputs()[0],
                                  room)
        .getResult(0);
  }
  if (isa<tensor::EmptyOp>(generator))
    return tensor::EmptyOp::create(builder, generator->getLoc(), shape,
                                   type.getElementType());
  auto elements =
      cast<DenseElementsAttr>(cast<arith::ConstantOp>(generator).getValue());
  return arith::ConstantOp::create(builder, generator->getLoc(),
                                   elements.resizeSplat(part));
}

/// True if a part of `op` can be made of nothing.
static bool isUniform(Operation *op) {
  if (!isGenerator(op))
    return false;
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return isUniform(fill.getOutputs()[0].getDefiningOp());
  auto constant = dyn_cast<arith::ConstantOp>(op);
  return isa<tensor::EmptyOp>(op) ||
         (constant && isa<SplatElementsAttr>(constant.getValue()));
}

Value RowBlocks::slice(OpBuilder &builder, Value whole, unsigned dim,
                       int64_t block) const {
  Operation *made = whole.getDefiningOp();
  if (made && isUniform(made))
    return makePart(builder, made, dim, count());
  auto type = cast<RankedTensorType>(whole.getType());
  SmallVector<int64_t> shape(type.getShape()), offsets(shape.size(), 0);
  shape[dim] /= count();
  offsets[dim] = block * shape[dim];
  SmallVector<OpFoldResult> ones(shape.size(), builder.getIndexAttr(1));
  return tensor::ExtractSliceOp::create(
      builder, whole.getLoc(), type.clone(shape), whole,
      getAsIndexOpFoldResult(builder.getContext(), offsets),
      getAsIndexOpFoldResult(builder.getContext(), shape), ones);
}

/// Erases what stands between `before`, null for the start of the block, and
/// `after`.
static void eraseBetween(Operation *before, Operation *after) {
  while (after->getPrevNode() != before)
    after->getPrevNode()->erase();
}

Value RowBlocks::compute(Operation *at, int64_t block) const {
  OpBuilder builder(at);
  Operation *before = at->getPrevNode();
  IRMapping made;
  SymbolTableCollection symbols;
  for (auto &[op, cut] : llvm::reverse(cuts)) {
    SmallVector<Value> operands;
    for (auto [operand, sharding] :
         llvm::zip_equal(op->getOperands(), cut.operands)) {
      Value own = made.lookupOrNull(operand);
      std::optional<unsigned> dim = getCutDim(sharding);
      if (!own)
        own = dim ? slice(builder, operand, *dim, block) : operand;
      operands.push_back(own);
    }
    // Upstream's models look operands up, too; what is sliced is sliced anew
    // for each reader.
    IRMapping own;
    own.map(op->getOperands(), operands);
    if (failed(cast<shard::ShardingInterface>(op).partition(
            operands, cut.operands, cut.results, own, symbols, builder))) {
      eraseBetween(before, at);
      return {};
    }
    made.map(op->getResult(0), own.lookup(op->getResult(0)));
  }
  return made.lookupOrNull(value);
}
