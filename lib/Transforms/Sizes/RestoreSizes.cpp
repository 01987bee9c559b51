//===- RestoreSizes.cpp - Sizes in place of their placeholders ------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Chain/OpenSizes.h"
#include "Chimera/IR/Chimera.h"
#include "Chimera/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

namespace chimera {
#define GEN_PASS_DEF_RESTORESIZESPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

namespace {

class Restorer {
public:
  explicit Restorer(func::FuncOp function)
      : function(function), open(function), builder(function.getContext()) {}

  LogicalResult run();

private:
  LogicalResult findSizes();
  void addUp(ArrayRef<int64_t> terms);
  LogicalResult verifyRestored();
  Type restore(Type type) const;
  OpFoldResult restore(int64_t size);
  SmallVector<OpFoldResult> restore(ArrayRef<OpFoldResult> sizes);
  Value getSize(int64_t size);
  void rebuild(Operation *op);
  Value rebuildConstant(arith::ConstantOp op);
  void restoreTypes();

  func::FuncOp function;
  OpenSizes open;
  OpBuilder builder;
  /// What placeholders stand for, at the beginning of the function.
  SmallVector<Value> sizes;
  llvm::DenseMap<int64_t, Value> products;
  Operation *lastSize = nullptr;
};

} // namespace

/// Reads each size from an argument that has it, and adds up sums.
LogicalResult Restorer::findSizes() {
  builder.setInsertionPointToStart(&function.getBody().front());
  for (int64_t placeholder : open.getOwnPlaceholders()) {
    Value size;
    for (BlockArgument argument : function.getArguments())
      if (auto type = dyn_cast<RankedTensorType>(argument.getType()))
        for (int64_t dim = 0; dim < type.getRank() && !size; ++dim)
          if (type.getDimSize(dim) == placeholder)
            size = tensor::DimOp::create(builder, argument.getLoc(), argument,
                                         dim);
    if (!size)
      return function.emitError("has a placeholder ")
             << placeholder << " that no argument has as a size";
    sizes.push_back(size);
    lastSize = size.getDefiningOp();
  }
  for (const OpenSizes::Sum &sum : open.getSums())
    addUp(sum.terms);
  return success();
}

/// The sum of `terms` is the size of the next placeholder.
void Restorer::addUp(ArrayRef<int64_t> terms) {
  Location loc = function.getLoc();
  Value sum;
  for (int64_t term : terms) {
    Value size = open.isOpen(term) ? getSize(term) : Value();
    builder.setInsertionPointAfter(lastSize);
    if (!size)
      size = arith::ConstantIndexOp::create(builder, loc, term);
    if (sum)
      lastSize = arith::AddIOp::create(builder, loc, sum, size);
    sum = sum ? lastSize->getResult(0) : size;
  }
  sizes.push_back(sum);
}

Type Restorer::restore(Type type) const {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return type;
  SmallVector<int64_t> shape(tensor.getShape());
  for (int64_t &size : shape)
    if (!ShapedType::isDynamic(size) && open.isOpen(size))
      size = ShapedType::kDynamic;
  return tensor.clone(shape);
}

Value Restorer::getSize(int64_t size) {
  Value &known = products[size];
  if (known)
    return known;
  auto [factors, rest] = open.factor(size);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfter(lastSize);
  Location loc = function.getLoc();
  for (unsigned index : factors)
    known = known ? arith::MulIOp::create(builder, loc, known, sizes[index])
                        .getResult()
                  : sizes[index];
  if (rest != 1)
    known = arith::MulIOp::create(
        builder, loc, known,
        arith::ConstantIndexOp::create(builder, loc, rest));
  if (factors.size() > 1 || rest != 1)
    lastSize = known.getDefiningOp();
  return known;
}

OpFoldResult Restorer::restore(int64_t size) {
  if (open.isOpen(size))
    return getSize(size);
  return builder.getIndexAttr(size);
}

SmallVector<OpFoldResult> Restorer::restore(ArrayRef<OpFoldResult> sizes) {
  SmallVector<OpFoldResult> restored(sizes);
  for (OpFoldResult &size : restored)
    if (auto attribute = dyn_cast<Attribute>(size))
      size = restore(cast<IntegerAttr>(attribute).getInt());
  return restored;
}

/// A constant that is, or has, an open size, as a value.
Value Restorer::rebuildConstant(arith::ConstantOp op) {
  Location loc = op.getLoc();
  if (auto number = dyn_cast<IntegerAttr>(op.getValue())) {
    if (number.getValue().getBitWidth() < 32 ||
        !open.isOpen(number.getValue().getSExtValue()))
      return Value();
    Value size = getSize(number.getValue().getSExtValue());
    return op.getType().isIndex()
               ? size
               : arith::IndexCastOp::create(builder, loc, op.getType(), size);
  }
  auto splat = dyn_cast<SplatElementsAttr>(op.getValue());
  if (!splat || restore(op.getType()) == op.getType())
    return Value();
  auto type = cast<RankedTensorType>(op.getType());
  SmallVector<OpFoldResult> shape;
  for (int64_t size : type.getShape())
    shape.push_back(restore(size));
  Value empty =
      tensor::EmptyOp::create(builder, loc, shape, type.getElementType());
  Value number =
      arith::ConstantOp::create(builder, loc, splat.getSplatValue<TypedAttr>());
  return linalg::FillOp::create(builder, loc, number, empty).getResult(0);
}

/// Replaces `op` if it has sizes otherwise than in its types.
void Restorer::rebuild(Operation *op) {
  // The sizes have to be there.
  builder.setInsertionPoint(op);
  Location loc = op->getLoc();
  Value rebuilt;
  if (auto size = dyn_cast<SizeOp>(op)) {
    rebuilt = getSize(size.getPlaceholder());
  } else if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    rebuilt = rebuildConstant(constant);
  } else if (auto empty = dyn_cast<tensor::EmptyOp>(op)) {
    rebuilt =
        tensor::EmptyOp::create(builder, loc, restore(empty.getMixedSizes()),
                                empty.getType().getElementType());
  } else if (auto buffer = dyn_cast<bufferization::AllocTensorOp>(op);
             buffer && restore(buffer.getType()) != buffer.getType()) {
    SmallVector<Value> extents;
    for (int64_t extent : cast<RankedTensorType>(buffer.getType()).getShape())
      if (open.isOpen(extent))
        extents.push_back(getSize(extent));
    rebuilt = bufferization::AllocTensorOp::create(
        builder, loc, cast<RankedTensorType>(restore(buffer.getType())),
        extents);
  } else if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    rebuilt = tensor::ExtractSliceOp::create(
        builder, loc, cast<RankedTensorType>(restore(slice.getType())),
        slice.getSource(), restore(slice.getMixedOffsets()),
        restore(slice.getMixedSizes()), slice.getMixedStrides());
  } else if (auto insert = dyn_cast<tensor::InsertSliceOp>(op)) {
    rebuilt = tensor::InsertSliceOp::create(
        builder, loc, insert.getSource(), insert.getDest(),
        restore(insert.getMixedOffsets()), restore(insert.getMixedSizes()),
        insert.getMixedStrides());
  } else if (auto insert = dyn_cast<tensor::ParallelInsertSliceOp>(op)) {
    tensor::ParallelInsertSliceOp::create(
        builder, loc, insert.getSource(), insert.getDest(),
        restore(insert.getMixedOffsets()), restore(insert.getMixedSizes()),
        insert.getMixedStrides());
    op->erase();
    return;
  } else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    rebuilt = tensor::ExpandShapeOp::create(
        builder, loc, cast<RankedTensorType>(restore(expand.getType())),
        expand.getSrc(), expand.getReassociationIndices(),
        restore(expand.getMixedOutputShape()));
  }
  if (!rebuilt)
    return;
  op->getResult(0).replaceAllUsesWith(rebuilt);
  op->erase();
}

void Restorer::restoreTypes() {
  auto restoreAll = [&](ValueRange values) {
    for (Value value : values)
      value.setType(restore(value.getType()));
  };
  function.walk([&](Operation *op) {
    restoreAll(op->getResults());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        restoreAll(block.getArguments());
  });
  SmallVector<Type> results;
  for (Type type : function.getResultTypes())
    results.push_back(restore(type));
  function.setFunctionType(FunctionType::get(
      function.getContext(), function.getBody().getArgumentTypes(), results));
}

/// Placeholders that are left would be taken for sizes.
LogicalResult Restorer::verifyRestored() {
  auto isLeft = [&](int64_t number) { return open.isOpen(number); };
  auto hasPlaceholder = [&](Attribute attribute) {
    bool found = false;
    attribute.walk([&](Attribute inner) {
      if (auto number = dyn_cast<IntegerAttr>(inner))
        found |= number.getValue().getSignificantBits() <= 64 &&
                 isLeft(number.getValue().getSExtValue());
      if (auto numbers = dyn_cast<DenseI64ArrayAttr>(inner))
        found |= llvm::any_of(numbers.asArrayRef(), isLeft);
      if (auto map = dyn_cast<AffineMapAttr>(inner))
        map.getValue().walkExprs([&](AffineExpr expr) {
          if (auto constant = dyn_cast<AffineConstantExpr>(expr))
            found |= isLeft(constant.getValue());
        });
    });
    return found;
  };
  WalkResult result = function.walk([&](Operation *op) {
    if (op == function || !hasPlaceholder(op->getAttrDictionary()))
      return WalkResult::advance();
    op->emitError("depends on a size that is not known otherwise than by its "
                  "operands; give the function's arguments static sizes");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

LogicalResult Restorer::run() {
  if (failed(findSizes()))
    return failure();
  SmallVector<Operation *> operations;
  function.walk([&](Operation *op) {
    if (op != function)
      operations.push_back(op);
  });
  llvm::for_each(operations, [&](Operation *op) { rebuild(op); });
  restoreTypes();
  if (failed(verifyRestored()))
    return failure();
  function->removeAttr(ChimeraDialect::getOpenSizesAttrName());
  function->removeAttr(ChimeraDialect::getPlannedSizesAttrName());
  function->removeAttr(ChimeraDialect::getOpenSumsAttrName());
  return success();
}

namespace {
struct RestoreSizesPass
    : chimera::impl::RestoreSizesPassBase<RestoreSizesPass> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!OpenSizes(function).empty() && !function.isExternal() &&
        failed(Restorer(function).run()))
      signalPassFailure();
  }
};
} // namespace
