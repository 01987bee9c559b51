//===- Annotations.cpp - What upstream's partitioning asks for ------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Annotations.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Shard/Interfaces/ShardingInterface.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace chimera;

using Axes = SmallVector<SmallVector<int64_t>>;

bool chimera::isAnnotated(func::FuncOp function) {
  return function
      .walk([](Operation *op) {
        return isa<shard::ShardDialect>(op->getDialect())
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

RankedTensorType chimera::getTensor(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() > 0 ? type : RankedTensorType();
}

SmallVector<DenseI64ArrayAttr>
chimera::getAxes(RankedTensorType type, const shard::Sharding &sharding) {
  SmallVector<DenseI64ArrayAttr> axes(
      type.getRank(), DenseI64ArrayAttr::get(type.getContext(), {}));
  for (auto [dim, split] : llvm::enumerate(sharding.getSplitAxes()))
    axes[dim] = DenseI64ArrayAttr::get(
        type.getContext(), SmallVector<int64_t>(split.asArrayRef().begin(),
                                                split.asArrayRef().end()));
  return axes;
}

/// The same as numbers.
static Axes getAxisLists(RankedTensorType type,
                         const shard::Sharding &sharding) {
  Axes axes;
  for (DenseI64ArrayAttr list : getAxes(type, sharding))
    axes.emplace_back(list.asArrayRef());
  return axes;
}

static Axes getAxisLists(shard::ShardOp op) {
  return getAxisLists(op.getType(), shard::Sharding(op.getSharding()));
}

//===----------------------------------------------------------------------===//
// The grid
//===----------------------------------------------------------------------===//

shard::GridOp chimera::findGrid(func::FuncOp function) {
  shard::GridOp grid;
  SymbolTableCollection symbols;
  WalkResult result = function.walk([&](shard::ShardingOp op) {
    auto own =
        symbols.lookupNearestSymbolFrom<shard::GridOp>(op, op.getGridAttr());
    if (!own || (grid && own != grid)) {
      op.emitError("a function is cut along one grid of processes; found ")
          << (own ? "a second one, '" : "none named '") << op.getGrid() << "'";
      return WalkResult::interrupt();
    }
    grid = own;
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return {};
  if (!grid) {
    function.emitError("has operations of 'shard', but none says how a tensor "
                       "is cut (shard.sharding)");
    return {};
  }
  if (ShapedType::isDynamicShape(grid.getShape()) ||
      llvm::any_of(grid.getShape(), [](int64_t size) { return size < 1; })) {
    grid.emitError("the grid of processes must have a static shape, so that "
                   "parts have sizes");
    return {};
  }
  return grid;
}

//===----------------------------------------------------------------------===//
// Single annotations
//===----------------------------------------------------------------------===//

static LogicalResult verifySharding(shard::ShardingOp op, shard::GridOp grid) {
  if (!op.getStaticHaloSizes().empty() || !op.getDynamicHaloSizes().empty())
    return op.emitError("halos are not supported; leave out 'halo_sizes'");
  if (!op.getStaticShardedDimsOffsets().empty() ||
      !op.getDynamicShardedDimsOffsets().empty())
    return op.emitError("parts are equal; leave out 'sharded_dims_offsets'");
  llvm::SmallDenseSet<int64_t> seen;
  for (shard::GridAxesAttr axes : op.getSplitAxes())
    for (int64_t axis : axes.asArrayRef())
      if (axis < 0 || axis >= grid.getRank() || !seen.insert(axis).second)
        return op.emitError("axis ") << axis << " is not one of the grid's "
                                     << grid.getRank() << ", or cuts twice";
  return success();
}

/// Checks the sizes that the parts of `op` have.
static LogicalResult verifySizes(shard::ShardOp op, shard::GridOp grid) {
  shard::Sharding sharding(op.getSharding());
  RankedTensorType type = op.getType();
  if (!op.getSharding().getDefiningOp<shard::ShardingOp>())
    return op.emitError("its sharding must come from a shard.sharding");
  if (static_cast<int64_t>(sharding.getSplitAxes().size()) > type.getRank())
    return op.emitError("cuts ")
           << sharding.getSplitAxes().size() << " dimensions of " << type;
  for (auto [dim, axes] : llvm::enumerate(getAxisLists(type, sharding))) {
    int64_t count = 1;
    for (int64_t axis : axes)
      count *= grid.getShape()[axis];
    if (count > 1 && type.getDimSize(dim) % count != 0)
      return op.emitError("dimension ")
             << dim << " of " << type << " does not divide into " << count
             << " equal parts, and unequal ones are not supported; pad it, or "
                "cut another dimension";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Before propagation
//===----------------------------------------------------------------------===//

static LogicalResult verifyShapes(Operation *op) {
  for (TypeRange types :
       {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types)
      if (auto shaped = dyn_cast<ShapedType>(type))
        if (!isa<RankedTensorType>(shaped) || !shaped.hasStaticShape())
          return op->emitError("only tensors of static shape are cut, got ")
                 << type << "; give the sizes, or leave out the annotations";
  return success();
}

/// True if nothing is to be decided about `op`.
static bool isSkipped(Operation &op) {
  return op.hasTrait<OpTrait::IsTerminator>() ||
         isa<shard::ShardOp, shard::ShardingOp>(op);
}

static LogicalResult verifyOperation(Operation &op) {
  if (failed(verifyShapes(&op)))
    return failure();
  bool isNumber = llvm::any_of(op.getResultTypes(), [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getRank() == 0;
  });
  if (isNumber && op.hasTrait<OpTrait::ConstantLike>())
    return op.emitError("a constant without dimensions is cut only where a "
                        "linalg.generic reads it");
  if (isa<shard::ShardDialect>(op.getDialect()) && !isSkipped(op))
    return op.emitError("of 'shard', only annotations are taken: shard.grid, "
                        "shard.sharding and shard.shard");
  if (isSkipped(op) || op.hasTrait<OpTrait::ConstantLike>())
    return success();
  auto shardable = dyn_cast<shard::ShardingInterface>(op);
  if (!shardable)
    return op.emitError("cannot be cut, nor computed beside what is: nothing "
                        "says how it maps its operands (ShardingInterface)");
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  if (structured &&
      !llvm::all_of(structured.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isProjectedPermutation(); }))
    return op.emitError("cannot be cut: it reads its operands by other indices "
                        "than its loops, as a convolution does");
  if (failed(shardable.verifyShardingInterfaceImpl()))
    return op.emitError(
        "cannot be cut: its operands or results are not tensors "
        "that its loops index");
  return success();
}

LogicalResult chimera::verifyBeforePropagation(func::FuncOp function,
                                               shard::GridOp grid) {
  if (!function.getBody().hasOneBlock())
    return function.emitError("only functions of one block are cut; this one "
                              "has ")
           << function.getBody().getBlocks().size();
  for (Type type : function.getArgumentTypes())
    if (auto shaped = dyn_cast<ShapedType>(type))
      if (!isa<RankedTensorType>(shaped) || !shaped.hasStaticShape())
        return function.emitError("only tensors of static shape are cut, got "
                                  "an argument of type ")
               << type;
  for (Operation &op : function.getBody().front()) {
    if (failed(verifyOperation(op)))
      return failure();
    if (auto sharding = dyn_cast<shard::ShardingOp>(op))
      if (failed(verifySharding(sharding, grid)))
        return failure();
    if (auto annotation = dyn_cast<shard::ShardOp>(op))
      if (failed(verifySizes(annotation, grid)))
        return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Between propagation and partitioning
//===----------------------------------------------------------------------===//

namespace {
/// Adds what is missing, value by value.
class Completer {
public:
  Completer(func::FuncOp function, shard::GridOp grid)
      : builder(function.getContext()), grid(grid) {}

  void complete(Value value);

private:
  shard::ShardOp takeAnnotation(Value value);
  shard::ShardOp annotate(Value value, Value sharding, bool forUsers);
  Value makeWhole(Location loc);

  OpBuilder builder;
  shard::GridOp grid;
};
} // namespace

Value Completer::makeWhole(Location loc) {
  return shard::ShardingOp::create(
      builder, loc, FlatSymbolRefAttr::get(grid.getSymNameAttr()),
      ArrayRef<shard::GridAxesAttr>{
          shard::GridAxesAttr::get(builder.getContext(), {})});
}

shard::ShardOp Completer::annotate(Value value, Value sharding, bool forUsers) {
  return shard::ShardOp::create(builder, value.getLoc(), value.getType(), value,
                                sharding, forUsers);
}

/// The first annotation of how `value` is made, right behind it; further ones
/// are of readers. None if there is none.
shard::ShardOp Completer::takeAnnotation(Value value) {
  shard::ShardOp first;
  SmallVector<shard::ShardOp> others;
  for (Operation *user : value.getUsers()) {
    auto annotation = dyn_cast<shard::ShardOp>(user);
    if (!annotation || annotation.getAnnotateForUsers())
      continue;
    if (first && first->isBeforeInBlock(annotation)) {
      others.push_back(annotation);
      continue;
    }
    if (first)
      others.push_back(first);
    first = annotation;
  }
  if (!first)
    return {};
  for (shard::ShardOp other : others)
    other.setAnnotateForUsers(true);
  builder.setInsertionPointAfterValue(value);
  Value sharding = shard::ShardingOp::create(
      builder, value.getLoc(), shard::Sharding(first.getSharding()));
  shard::ShardOp own = annotate(value, sharding, /*forUsers=*/false);
  first.replaceAllUsesWith(own.getResult());
  first.erase();
  return own;
}

/// Gives `value` one annotation of its own, the only one that reads it, and
/// each of its readers one more behind that.
void Completer::complete(Value value) {
  shard::ShardOp own = takeAnnotation(value);
  if (!own) {
    builder.setInsertionPointAfterValue(value);
    // Annotations for users alone: the value is made as they want it if they
    // agree, and whole if not.
    Value sharding;
    bool agree = !value.use_empty();
    for (Operation *user : value.getUsers()) {
      auto annotation = dyn_cast<shard::ShardOp>(user);
      agree &=
          annotation &&
          getAxisLists(annotation) ==
              getAxisLists(cast<shard::ShardOp>(*value.getUsers().begin()));
      if (!agree)
        break;
    }
    shard::Sharding wanted;
    if (agree)
      wanted = shard::Sharding(
          cast<shard::ShardOp>(*value.getUsers().begin()).getSharding());
    sharding = agree
                   ? shard::ShardingOp::create(builder, value.getLoc(), wanted)
                         .getResult()
                   : makeWhole(value.getLoc());
    own = annotate(value, sharding, /*forUsers=*/false);
  }
  value.replaceAllUsesExcept(own.getResult(), own);
  for (OpOperand &use : llvm::make_early_inc_range(own.getResult().getUses())) {
    if (isa<shard::ShardOp>(use.getOwner()))
      continue;
    builder.setInsertionPoint(use.getOwner());
    Value sharding =
        shard::ShardingOp::create(builder, value.getLoc(),
                                  shard::Sharding(own.getSharding()))
            .getResult();
    use.set(annotate(own.getResult(), sharding, /*forUsers=*/true));
  }
}

void chimera::completeAnnotations(func::FuncOp function, shard::GridOp grid) {
  Completer completer(function, grid);
  SmallVector<Value> values;
  Block &block = function.getBody().front();
  for (Value argument : block.getArguments())
    if (getTensor(argument))
      values.push_back(argument);
  for (Operation &op : block)
    if (!isSkipped(op))
      for (Value result : op.getResults())
        if (getTensor(result))
          values.push_back(result);
  for (Value value : values)
    completer.complete(value);
}

//===----------------------------------------------------------------------===//
// Before partitioning
//===----------------------------------------------------------------------===//

/// Fails unless a tensor cut by `from` becomes one cut by `to` in a single step
/// along one axis, which is all that upstream does.
static LogicalResult verifyResharding(shard::ShardOp op, const Axes &from,
                                      const Axes &to) {
  SmallVector<unsigned> grows, shrinks;
  bool isOther = false;
  for (unsigned dim = 0; dim < from.size(); ++dim) {
    if (from[dim] == to[dim])
      continue;
    if (ArrayRef(to[dim]).drop_back(to[dim].empty() ? 0 : 1) ==
            ArrayRef(from[dim]) &&
        !to[dim].empty())
      grows.push_back(dim);
    else if (!from[dim].empty() &&
             ArrayRef(from[dim]).drop_back() == ArrayRef(to[dim]))
      shrinks.push_back(dim);
    else
      isOther = true;
  }
  bool isStep = !isOther && grows.size() + shrinks.size() <= 1;
  bool isMove = !isOther && grows.size() == 1 && shrinks.size() == 1 &&
                from[shrinks[0]].size() == 1 && to[grows[0]].size() == 1 &&
                from[shrinks[0]] == to[grows[0]];
  if (isStep || isMove)
    return success();
  return op.emitError("is cut along several axes at once in another way than "
                      "where it comes from; annotate what lies between");
}

/// The axes that cut each loop of `op`. Fails, with an error, if its operands
/// and results do not agree, or one axis cuts two loops.
static FailureOr<Axes> getLoopAxes(shard::ShardingInterface op) {
  Operation *operation = op;
  Axes loops(op.getLoopIteratorTypes().size());
  SmallVector<bool> isKnown(loops.size());
  SmallVector<AffineMap> maps = op.getIndexingMaps();
  auto add = [&](Value value, const Axes &axes, AffineMap map) {
    for (auto [dim, list] : llvm::enumerate(axes)) {
      auto expr = dyn_cast<AffineDimExpr>(map.getResult(dim));
      if (!expr)
        return list.empty();
      unsigned loop = expr.getPosition();
      if (isKnown[loop] && loops[loop] != list)
        return false;
      isKnown[loop] = true;
      loops[loop] = list;
    }
    return true;
  };
  bool agree = true;
  for (OpOperand &operand : operation->getOpOperands())
    if (getTensor(operand.get()))
      agree &= add(operand.get(),
                   getAxisLists(operand.get().getDefiningOp<shard::ShardOp>()),
                   maps[operand.getOperandNumber()]);
  for (OpResult result : operation->getResults())
    if (getTensor(result))
      agree &=
          add(result,
              getAxisLists(cast<shard::ShardOp>(*result.getUsers().begin())),
              maps[operation->getNumOperands() + result.getResultNumber()]);
  llvm::SmallDenseSet<int64_t> seen;
  for (const SmallVector<int64_t> &list : loops)
    for (int64_t axis : list)
      agree &= seen.insert(axis).second;
  if (!agree)
    return operation->emitError(
        "its operands and results are not cut in the "
        "same way along its loops; annotate it and what "
        "it reads");
  return loops;
}

/// True if the parts of a reduction can be combined as processes do.
static bool canCombine(linalg::LinalgOp op) {
  SmallVector<Operation *> combiners;
  return op.getNumDpsInits() == 1 &&
         matchReduction(op.getRegionOutputArgs(), 0, combiners) &&
         combiners.size() == 1 &&
         isa<arith::AddFOp, arith::MulFOp, arith::MaximumFOp, arith::MinimumFOp,
             arith::AddIOp, arith::MulIOp, arith::MaxSIOp, arith::MinSIOp>(
             combiners.front()) &&
         arith::getNeutralElement(combiners.front());
}

bool chimera::canCutLoop(shard::ShardingInterface op, unsigned loop) {
  auto structured = dyn_cast<linalg::LinalgOp>(op.getOperation());
  if (!structured)
    return true;
  bool counts = op->walk([&](linalg::IndexOp index) {
                    return index.getDim() == loop ? WalkResult::interrupt()
                                                  : WalkResult::advance();
                  }).wasInterrupted();
  bool isReduced = structured.getIteratorTypesArray()[loop] ==
                   utils::IteratorType::reduction;
  return !counts && (!isReduced || canCombine(structured));
}

/// Fails if cutting the reductions of `op` would not be made good by combining
/// the parts.
static LogicalResult verifyReduction(linalg::LinalgOp op) {
  if (op.getNumDpsInits() != 1)
    return op.emitError("a reduction with ")
           << op.getNumDpsInits()
           << " results cannot be cut along the reduction";
  if (!canCombine(op))
    return op.emitError(
        "processes combine parts by sums, products, largest and "
        "smallest numbers; this reduction is none of them, so "
        "it cannot be cut along it");
  return success();
}

static LogicalResult verifyCut(shard::ShardingInterface op) {
  FailureOr<Axes> loops = getLoopAxes(op);
  if (failed(loops))
    return failure();
  auto structured = dyn_cast<linalg::LinalgOp>(op.getOperation());
  if (!structured)
    return success();
  WalkResult indices = op->walk([&](linalg::IndexOp index) {
    if ((*loops)[index.getDim()].empty())
      return WalkResult::advance();
    index.emitError("counts along a loop that is cut, so each process would "
                    "count from zero; cut another loop");
    return WalkResult::interrupt();
  });
  if (indices.wasInterrupted())
    return failure();
  for (auto [axes, kind] :
       llvm::zip_equal(*loops, structured.getIteratorTypesArray()))
    if (!axes.empty() && kind == utils::IteratorType::reduction)
      return verifyReduction(structured);
  return success();
}

LogicalResult chimera::verifyBeforePartition(func::FuncOp function,
                                             shard::GridOp grid) {
  for (Operation &op : function.getBody().front()) {
    if (auto annotation = dyn_cast<shard::ShardOp>(op)) {
      auto source = annotation.getSrc().getDefiningOp<shard::ShardOp>();
      if (failed(verifySizes(annotation, grid)))
        return failure();
      if (source && failed(verifyResharding(annotation, getAxisLists(source),
                                            getAxisLists(annotation))))
        return failure();
      continue;
    }
    if (isSkipped(op) || op.hasTrait<OpTrait::ConstantLike>())
      continue;
    for (Value operand : op.getOperands())
      if (getTensor(operand) && !operand.getDefiningOp<shard::ShardOp>())
        return op.emitError("reads a tensor without an annotation");
    for (Value result : op.getResults())
      if (getTensor(result) &&
          (!result.hasOneUse() || !isa<shard::ShardOp>(*result.user_begin())))
        return op.emitError("has several annotations for one result");
    if (failed(verifyCut(cast<shard::ShardingInterface>(op))))
      return failure();
  }
  return success();
}
