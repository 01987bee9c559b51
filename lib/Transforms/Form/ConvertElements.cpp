//===- ConvertElements.cpp - Tensors of another float ---------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Form/ConvertElements.h"

#include "Chimera/IR/NumberTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace chimera;

using Conversion = llvm::function_ref<Value(OpBuilder &, Location, Value)>;

/// A tensor of `type` of what `convert` makes of each element of `tensor`.
static Value createMapped(OpBuilder &builder, Value tensor, Type type,
                          Conversion convert) {
  Location loc = tensor.getLoc();
  int64_t rank = cast<RankedTensorType>(tensor.getType()).getRank();
  Value empty = tensor::EmptyOp::create(
      builder, loc, tensor::getMixedSizes(builder, loc, tensor), type);
  SmallVector<AffineMap> maps(2, builder.getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  auto op = linalg::GenericOp::create(
      builder, loc, empty.getType(), tensor, empty, maps, iterators,
      [&](OpBuilder &body, Location, ValueRange scalars) {
        linalg::YieldOp::create(body, loc, convert(body, loc, scalars[0]));
      });
  return op.getResult(0);
}

Value chimera::createConverted(OpBuilder &builder, Value tensor, Type type) {
  Type from = getElementTypeOrSelf(tensor);
  bool isWider = from.getIntOrFloatBitWidth() < type.getIntOrFloatBitWidth();
  return createMapped(
      builder, tensor, type, [&](OpBuilder &body, Location loc, Value scalar) {
        return isWider
                   ? arith::ExtFOp::create(body, loc, type, scalar).getResult()
                   : createNarrowed(body, loc, type, scalar);
      });
}

Value chimera::createAllRounded(OpBuilder &builder, Value tensor, Type narrow) {
  return createMapped(builder, tensor, getElementTypeOrSelf(tensor),
                      [&](OpBuilder &body, Location loc, Value scalar) {
                        return createRounded(body, loc, narrow, scalar);
                      });
}
