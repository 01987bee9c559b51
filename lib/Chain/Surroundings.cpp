//===- Surroundings.cpp - What makes and reads tensors of chains ----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Chain/Surroundings.h"

#include "Chimera/Chain/OpKinds.h"
#include "Chimera/Chain/SameInEveryCall.h"
#include "Chimera/IR/Chimera.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace chimera;

bool chimera::isMadeByPass(Value value) {
  Operation *maker = value.getDefiningOp();
  while (maker && (isReshape(maker) || isa<tensor::ExtractSliceOp>(maker))) {
    value = maker->getOperand(0);
    maker = value.getDefiningOp();
  }
  if (!maker || isa<ChainOp>(maker) || isSameInEveryCall(value))
    return false;
  auto linalgOp = dyn_cast<linalg::LinalgOp>(maker);
  return !linalgOp || isParallel(linalgOp);
}

bool chimera::liesBetweenKernels(Value value) {
  Operation *maker = value.getDefiningOp();
  return isa_and_nonnull<ChainOp, linalg::LinalgOp>(maker) &&
         !isSameInEveryCall(value) &&
         llvm::all_of(value.getUsers(), [](Operation *user) {
           return isa<ChainOp, linalg::LinalgOp, tensor::DimOp>(user);
         });
}

bool chimera::liesBetweenKernels(ChainOp chain, Value yielded) {
  Operation *yield = chain.getBody().front().getTerminator();
  for (auto [result, operand] :
       llvm::zip_equal(chain.getResults(), yield->getOperands()))
    if (operand == yielded)
      return liesBetweenKernels(result);
  return false;
}
