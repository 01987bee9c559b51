//===- FinishEmitter.cpp - Elementwise operations on sums -----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FinishEmitter.h"

#include "Chimera/IR/NumberTypes.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace chimera;

FinishEmitter::FinishEmitter(OpBuilder &builder, MicroKernelOp finish,
                             MicroKernelOp contraction,
                             const VectorFigures &figures)
    : BodyEmitter(builder, finish, figures, /*extents=*/{}),
      sums(finish.getSums(contraction)), sumMap(contraction.getMaps().back()) {
  useLastDim();
  excluded.insert(sums);
}

bool FinishEmitter::isCovered() {
  // Functions take the registers that the sums are in.
  if (!BodyEmitter::isCovered() || isLong() ||
      !canBeResult(getElementTypeOrSelf(op.getOutput())) ||
      maps[sums.getArgNumber()] != maps.back())
    return false;
  return llvm::all_of(llvm::seq<unsigned>(maps.size()), [&](unsigned operand) {
    return !indexes(operand, vectorDim) || isContiguous(operand);
  });
}

/// The point of the contraction as one of the elementwise kernel.
SmallVector<Value> FinishEmitter::toOwn(ArrayRef<Value> point) {
  SmallVector<Value> own(op.getNumDims());
  for (auto [dim, from] :
       llvm::zip_equal(maps.back().getResults(), sumMap.getResults()))
    own[cast<AffineDimExpr>(dim).getPosition()] =
        point[cast<AffineDimExpr>(from).getPosition()];
  return own;
}

FinishEmitter::Values FinishEmitter::emitColumn(ArrayRef<Value> point,
                                                LaneCount count) {
  Values values;
  Dims known(op.getNumDims());
  known.set(vectorDim);
  emitKnown(known, toOwn(point), count, values);
  return values;
}

void FinishEmitter::fetch(ArrayRef<Value> point) {
  SmallVector<Value> own = toOwn(point);
  for (BlockArgument argument : body().getArguments()) {
    unsigned operand = argument.getArgNumber();
    bool isOfAll = llvm::all_of(llvm::seq(op.getNumDims()), [&](unsigned dim) {
      return indexes(operand, dim);
    });
    if (!excluded.contains(argument) && !argument.use_empty() && isOfAll)
      prefetch(operand, own);
  }
  prefetch(outputIndex(), own, /*isWrite=*/true);
}

void FinishEmitter::emit(Value sum, ArrayRef<Value> point, LaneCount count,
                         Values values) {
  SmallVector<Value> own = toOwn(point);
  values[sums] = sum;
  emitKnown(Dims(op.getNumDims(), true), own, count, values);
  storeVector(outputIndex(), asVector(yielded(0), values), own, count);
}
