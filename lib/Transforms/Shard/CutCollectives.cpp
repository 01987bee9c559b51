//===- CutCollectives.cpp - Compute what is exchanged in blocks -----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks are copies of what they compute, which stand one after the other: each
// makes a chain with the plan of the first. On tensors their all-reduces still
// wait, so that whatever comes in between may treat them as what they are.
//
//===----------------------------------------------------------------------===//

#include "NamedRemarks.h"
#include "RowBlocks.h"

#include "Chimera/IR/Chimera.h"
#include "Chimera/Transforms/Passes.h"

#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"

namespace chimera {
#define GEN_PASS_DEF_CUTCOLLECTIVESPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

/// An all-reduce of `block` alone.
static Value exchange(AllReduceOp op, Value block, bool isLast) {
  OpBuilder builder(op);
  auto made = AllReduceOp::create(builder, op.getLoc(), block.getType(),
                                  op.getReduction(), block, op.getAxes(),
                                  op.getProcesses());
  made.setOverlapped(!isLast);
  return made.getResult(0);
}

/// Exchanges `op` in blocks; false, and nothing has changed, if what leads to
/// it has none.
static bool exchangeInBlocks(AllReduceOp op, const RowBlocks &blocks,
                             int64_t count) {
  SmallVector<Operation *> operations = blocks.getOperations();
  SmallVector<Value> parts;
  for (int64_t block = 0; block < count; ++block) {
    Value part = operations.empty() ? Value() : blocks.compute(op, block);
    if (!part)
      return false;
    parts.push_back(exchange(op, part, block == count - 1));
  }
  OpBuilder builder(op);
  Value whole =
      tensor::ConcatOp::create(builder, op.getLoc(), op.getRowDim(), parts);
  op->replaceAllUsesWith(ValueRange(whole));
  op.erase();
  for (Operation *old : llvm::reverse(operations))
    old->erase();
  return true;
}

namespace {
struct CutCollectivesPass
    : chimera::impl::CutCollectivesPassBase<CutCollectivesPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<AllReduceOp> wanted;
    getOperation().walk([&](AllReduceOp op) {
      if (op.getBlocks() && isa<TensorType>(op.getOutput().getType()))
        wanted.push_back(op);
    });
    for (AllReduceOp op : wanted)
      cut(op);
  }

private:
  void cut(AllReduceOp op) {
    int64_t count = *op.getBlocks();
    shard::GridOp grid = makeGridOfBlocks(op, count);
    RowBlocks blocks(op.getOutput(), op.getRowDim(), op, grid);
    Location loc = op.getLoc();
    if (exchangeInBlocks(op, blocks, count)) {
      ++numCut;
    } else {
      remark::missed(loc, namedShard("overlap"))
          << "exchanged as a whole: what leads to it cannot be computed in "
             "blocks of rows";
      op.removeBlocksAttr();
    }
    grid.erase();
  }
};
} // namespace
