//===- SizeClasses.cpp - Which dimensions have one size -------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sizes/SizeClasses.h"

#include "Chimera/Transforms/Sizes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace chimera;

SizeClasses::SizeClasses(func::FuncOp function) {
  function.walk([&](Operation *op) {
    joinLoops(op);
    joinShapes(op);
    joinParts(op);
  });
}

/// The dimension of `value`; of an index, there is one, which is its value.
unsigned SizeClasses::getId(Value value, unsigned dim) {
  while (auto cast = value.getDefiningOp<arith::IndexCastOp>())
    value = cast.getIn();
  if (auto op = value.getDefiningOp<tensor::DimOp>())
    if (std::optional<int64_t> index = op.getConstantIndex()) {
      value = op.getSource();
      dim = *index;
    }
  auto [entry, isNew] = ids.try_emplace({value, dim}, ids.size());
  if (isNew)
    classes.grow(ids.size());
  return entry->second;
}

unsigned SizeClasses::getClass(Value tensor, unsigned dim) const {
  auto found = ids.find({tensor, dim});
  // What nothing is known of is alone.
  return found == ids.end() ? ~0u : classes.findLeader(found->second);
}

void SizeClasses::join(Value one, unsigned dimOfOne, Value other,
                       unsigned dimOfOther) {
  unsigned first = getId(one, dimOfOne), second = getId(other, dimOfOther);
  classes.join(first, second);
}

/// What operations of linalg index by the same loop.
void SizeClasses::joinLoops(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp || !linalgOp.hasPureTensorSemantics())
    return;
  SmallVector<std::optional<std::pair<Value, unsigned>>> ofLoop(
      linalgOp.getNumLoops());
  for (OpOperand &operand : linalgOp->getOpOperands())
    for (auto [position, expr] : llvm::enumerate(
             linalgOp.getMatchingIndexingMap(&operand).getResults())) {
      auto loop = dyn_cast<AffineDimExpr>(expr);
      if (!loop)
        continue;
      std::pair<Value, unsigned> dim = {operand.get(), position};
      auto &first = ofLoop[loop.getPosition()];
      if (first)
        join(first->first, first->second, dim.first, dim.second);
      else
        first = dim;
    }
  for (OpOperand &init : linalgOp.getDpsInitsMutable()) {
    Value result = linalgOp.getTiedOpResult(&init);
    for (int64_t dim = 0; dim < linalgOp.getRank(&init); ++dim)
      join(init.get(), dim, result, dim);
  }
}

/// What is made with the size of something else.
void SizeClasses::joinShapes(Operation *op) {
  auto joinSizes = [&](Value tensor, ArrayRef<OpFoldResult> sizes) {
    for (auto [dim, size] : llvm::enumerate(sizes))
      if (auto value = dyn_cast<Value>(size))
        join(tensor, dim, value, 0);
  };
  if (auto empty = dyn_cast<tensor::EmptyOp>(op))
    joinSizes(empty, empty.getMixedSizes());
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    joinSizes(expand, expand.getMixedOutputShape());
  if (auto cast = dyn_cast<tensor::CastOp>(op))
    if (auto type = dyn_cast<RankedTensorType>(cast.getType());
        type && isa<RankedTensorType>(cast.getSource().getType()))
      for (int64_t dim = 0; dim < type.getRank(); ++dim)
        join(cast.getSource(), dim, cast, dim);
}

/// Joins what a group of `split` dimensions has, of which all but one are
/// units, with the dimension of `merged` that it becomes.
template <typename Reshape>
void SizeClasses::joinReshaped(Reshape op, Value split, Value merged) {
  auto type = cast<RankedTensorType>(split.getType());
  for (auto [dim, group] : llvm::enumerate(op.getReassociationIndices())) {
    auto isOther = [&](int64_t part) { return type.getDimSize(part) != 1; };
    if (llvm::count_if(group, isOther) == 1)
      join(split, *llvm::find_if(group, isOther), merged, dim);
  }
}

/// What fits together side by side, and what keeps a dimension whole.
void SizeClasses::joinParts(Operation *op) {
  if (auto concat = dyn_cast<tensor::ConcatOp>(op)) {
    for (int64_t dim = 0; dim < concat.getResultType().getRank(); ++dim)
      if (dim != static_cast<int64_t>(concat.getDim()))
        for (Value part : concat.getInputs())
          join(part, dim, concat, dim);
  } else if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    joinReshaped(collapse, collapse.getSrc(), collapse);
  } else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    joinReshaped(expand, expand, expand.getSrc());
  }
}

SmallVector<SizeGroup> chimera::groupDynamicDims(func::FuncOp function) {
  SmallVector<ArgumentDim> dims;
  llvm::IntEqClasses classes;
  SizeClasses sizes(function);
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type)
      continue;
    for (unsigned dim = 0; dim < type.getRank(); ++dim)
      if (type.isDynamicDim(dim))
        dims.push_back({argument.getArgNumber(), dim});
  }
  classes.grow(dims.size());
  auto isOneSize = [&](const ArgumentDim &one, const ArgumentDim &other) {
    Value left = function.getArgument(one.argument),
          right = function.getArgument(other.argument);
    unsigned known = sizes.getClass(left, one.dim);
    return (one.dim == other.dim && left.getType() == right.getType()) ||
           (known != ~0u && known == sizes.getClass(right, other.dim));
  };
  for (unsigned i = 0; i < dims.size(); ++i)
    for (unsigned j = i + 1; j < dims.size(); ++j)
      if (isOneSize(dims[i], dims[j]))
        classes.join(i, j);
  classes.compress();
  SmallVector<SizeGroup> groups(classes.getNumClasses());
  for (auto [index, dim] : llvm::enumerate(dims))
    groups[classes[index]].push_back(dim);
  return groups;
}
