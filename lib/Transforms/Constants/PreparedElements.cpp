//===- PreparedElements.cpp - Elements of constants, where prepared -------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Constants/PreparedElements.h"

#include "Chimera/IR/Chimera.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace chimera;

std::optional<HeldArgument> chimera::findHeldArgument(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type)
      return std::nullopt;
    return HeldArgument{argument, AffineMap::getMultiDimIdentityMap(
                                      type.getRank(), value.getContext())};
  }
  Value origin;
  AffineMap places;
  if (auto prepare = value.getDefiningOp<PrepareOp>()) {
    if (!prepare.getOrigin())
      return findHeldArgument(prepare.getSource());
    origin = prepare.getOrigin();
    places = *prepare.getPlaces();
  } else if (auto transpose = value.getDefiningOp<linalg::TransposeOp>()) {
    origin = transpose.getInput();
    places = AffineMap::getPermutationMap(transpose.getPermutation(),
                                          value.getContext());
  } else {
    return std::nullopt;
  }
  std::optional<HeldArgument> held = findHeldArgument(origin);
  if (held)
    held->places = places.compose(held->places);
  return held;
}

/// `expression` of indices, none of which is negative. Indices that are data
/// are no dimensions of an affine operation.
static Value compute(OpBuilder &builder, Location loc, AffineExpr expression,
                     ValueRange indices) {
  if (auto dim = dyn_cast<AffineDimExpr>(expression))
    return indices[dim.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expression))
    return arith::ConstantIndexOp::create(builder, loc, constant.getValue());
  auto binary = cast<AffineBinaryOpExpr>(expression);
  Value left = compute(builder, loc, binary.getLHS(), indices),
        right = compute(builder, loc, binary.getRHS(), indices);
  switch (expression.getKind()) {
  case AffineExprKind::Add:
    return arith::AddIOp::create(builder, loc, left, right);
  case AffineExprKind::Mul:
    return arith::MulIOp::create(builder, loc, left, right);
  case AffineExprKind::FloorDiv:
    return arith::DivUIOp::create(builder, loc, left, right);
  case AffineExprKind::CeilDiv:
    return arith::CeilDivUIOp::create(builder, loc, left, right);
  default:
    return arith::RemUIOp::create(builder, loc, left, right);
  }
}

void chimera::readPreparedElements(const HeldArgument &held,
                                   memref::GlobalOp memory) {
  BlockArgument argument = held.argument;
  if (argument.use_empty() ||
      !llvm::all_of(argument.getUsers(), llvm::IsaPred<tensor::ExtractOp>))
    return;
  auto builder = OpBuilder::atBlockBegin(argument.getOwner());
  Location loc = memory.getLoc();
  MemRefType type = memory.getType();
  Value buffer =
      memref::GetGlobalOp::create(builder, loc, type, memory.getSymName());
  Value prepared = bufferization::ToTensorOp::create(
      builder, loc,
      RankedTensorType::get(type.getShape(), type.getElementType()), buffer,
      /*restrict=*/true);
  for (Operation *user : llvm::make_early_inc_range(argument.getUsers())) {
    auto extract = cast<tensor::ExtractOp>(user);
    builder.setInsertionPoint(extract);
    SmallVector<Value> places;
    for (AffineExpr place : held.places.getResults())
      places.push_back(
          compute(builder, extract.getLoc(), place, extract.getIndices()));
    auto element =
        tensor::ExtractOp::create(builder, extract.getLoc(), prepared, places);
    extract.replaceAllUsesWith(element.getResult());
    extract.erase();
  }
}
