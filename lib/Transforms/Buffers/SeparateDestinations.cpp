//===- SeparateDestinations.cpp - An empty tensor for every operation -----===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Common subexpression elimination leaves one empty tensor of each shape, which
// all operations of a program then write to. Bufferization decides for each of
// them whether it may write to the one buffer, among all that is written to it
// and read from it: that takes time by the square of the program. It finds an
// empty tensor that one operation uses at once. Buffers that are not needed at
// the same time become one afterwards, in linear time.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Transforms/Passes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/MapVector.h"

namespace chimera {
#define GEN_PASS_DEF_SEPARATEDESTINATIONSPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

/// Gives each operation of the block of `empty` that uses it, itself or in a
/// region, an empty tensor of its own.
static void separate(tensor::EmptyOp empty) {
  llvm::MapVector<Operation *, SmallVector<OpOperand *>> uses;
  for (OpOperand &use : empty->getUses())
    uses[empty->getBlock()->findAncestorOpInBlock(*use.getOwner())].push_back(
        &use);
  if (uses.size() < 2)
    return;
  for (auto &[user, operands] : uses) {
    OpBuilder builder(user);
    Value own = builder.clone(*empty)->getResult(0);
    for (OpOperand *operand : operands)
      operand->set(own);
  }
  empty.erase();
}

namespace {
struct SeparateDestinationsPass
    : chimera::impl::SeparateDestinationsPassBase<SeparateDestinationsPass> {
  using Base::Base;

  void runOnOperation() override { getOperation()->walk(separate); }
};
} // namespace
