//===- FixSizes.cpp - A function at given sizes ---------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Transforms/Sizes.h"

#include "Sizes/FixSizes.h"
#include "Sizes/SimplifyShapes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace chimera;

void chimera::fixArguments(func::FuncOp function, ArrayRef<SizeGroup> groups,
                           ArrayRef<int64_t> sizes) {
  SmallVector<Type> types(function.getArgumentTypes());
  for (auto [group, size] : llvm::zip_equal(groups, sizes))
    for (ArgumentDim dim : group) {
      auto type = cast<RankedTensorType>(types[dim.argument]);
      SmallVector<int64_t> shape(type.getShape());
      shape[dim.dim] = size;
      types[dim.argument] = type.clone(shape);
    }
  auto builder = OpBuilder::atBlockBegin(&function.getBody().front());
  for (auto [argument, type] :
       llvm::zip_equal(function.getArguments(), types)) {
    Type dynamic = argument.getType();
    if (dynamic == type)
      continue;
    argument.setType(type);
    auto cast =
        tensor::CastOp::create(builder, argument.getLoc(), dynamic, argument);
    argument.replaceAllUsesExcept(cast, cast);
  }
  function.setFunctionType(FunctionType::get(
      function.getContext(), types, function.getFunctionType().getResults()));
}

void chimera::propagateShapes(func::FuncOp function) {
  MLIRContext *context = function.getContext();
  RewritePatternSet patterns(context);
  for (Dialect *dialect : context->getLoadedDialects())
    dialect->getCanonicalizationPatterns(patterns);
  for (RegisteredOperationName op : context->getRegisteredOperations())
    op.getCanonicalizationPatterns(patterns, context);
  populateSimplifyShapesPatterns(patterns);
  // What does not converge is as right as what does.
  (void)applyPatternsGreedily(function, std::move(patterns));
}

void chimera::fixResults(func::FuncOp function) {
  SmallVector<func::ReturnOp> returns;
  function.walk([&](func::ReturnOp op) { returns.push_back(op); });
  if (returns.empty())
    return;
  SmallVector<Type> results(function.getFunctionType().getResults());
  for (auto [index, result] : llvm::enumerate(results)) {
    auto getKnown = [index = index](func::ReturnOp op) {
      auto cast = op.getOperand(index).getDefiningOp<tensor::CastOp>();
      return cast ? cast.getSource() : Value();
    };
    Value known = getKnown(returns.front());
    if (!known || !isa<RankedTensorType>(known.getType()) ||
        !llvm::all_of(returns, [&](func::ReturnOp op) {
          Value other = getKnown(op);
          return other && other.getType() == known.getType();
        }))
      continue;
    result = known.getType();
    for (func::ReturnOp op : returns) {
      Operation *cast = op.getOperand(index).getDefiningOp();
      op.setOperand(index, getKnown(op));
      if (cast->use_empty())
        cast->erase();
    }
  }
  function.setFunctionType(FunctionType::get(
      function.getContext(), function.getFunctionType().getInputs(), results));
}

LogicalResult chimera::fixSizes(func::FuncOp function,
                                ArrayRef<int64_t> sizes) {
  SmallVector<SizeGroup> groups = groupDynamicDims(function);
  if (groups.size() != sizes.size())
    return function.emitError("has ") << groups.size() << " dynamic sizes, but "
                                      << sizes.size() << " are given";
  if (function.isExternal() || groups.empty())
    return success();
  fixArguments(function, groups, sizes);
  propagateShapes(function);
  fixResults(function);
  return success();
}
