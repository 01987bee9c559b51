//===- SplitCopies.cpp - Strided copies as contiguous ones ----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What lies contiguously is copied as bytes; everything else takes a function
// of the runtime that goes element by element. Tensors with padding and parts
// of concatenations have rows that are contiguous: loops go over these. Rows
// that are gathered are copies like others, once each of them is found.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Transforms/Passes.h"

#include "Buffers/SplitGathers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace chimera {
#define GEN_PASS_DEF_SPLITCOPIESPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

/// The first dimension from which on the elements of `type` follow each other.
static int64_t getFirstContiguousDim(MemRefType type) {
  auto [strides, offset] = type.getStridesAndOffset();
  int64_t expected = 1, dim = type.getRank();
  for (; dim > 0; --dim) {
    int64_t size = type.getDimSize(dim - 1);
    if (size != 1 && strides[dim - 1] != expected)
      break;
    // Of the outermost dimension the size does not matter.
    if (ShapedType::isDynamic(size))
      return dim - 1;
    expected *= size;
  }
  return dim;
}

/// True if the strides of `type` are known at all.
static bool isStrided(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  return succeeded(type.getStridesAndOffset(strides, offset));
}

/// The buffer that `view` shows all elements of, in the same order.
static Value getShown(Value view) {
  while (Operation *op = view.getDefiningOp()) {
    if (!isa<memref::CastOp, memref::CollapseShapeOp, memref::ExpandShapeOp>(
            op))
      break;
    view = op->getOperand(0);
  }
  return view;
}

static void split(memref::CopyOp copy) {
  // Slices lose unit dimensions on their way out, and get them back.
  if (getShown(copy.getSource()) == getShown(copy.getTarget())) {
    copy.erase();
    return;
  }
  auto source = dyn_cast<MemRefType>(copy.getSource().getType()),
       target = dyn_cast<MemRefType>(copy.getTarget().getType());
  if (!source || !target || !isStrided(source) || !isStrided(target))
    return;
  int64_t numLoops =
      std::max(getFirstContiguousDim(source), getFirstContiguousDim(target));
  if (numLoops == 0)
    return;
  OpBuilder builder(copy);
  Location loc = copy.getLoc();
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0),
        one = arith::ConstantIndexOp::create(builder, loc, 1);
  SmallVector<Value> lower(numLoops, zero), upper, step(numLoops, one);
  for (int64_t dim = 0; dim < numLoops; ++dim)
    upper.push_back(
        builder.createOrFold<memref::DimOp>(loc, copy.getSource(), dim));
  scf::buildLoopNest(
      builder, loc, lower, upper, step,
      [&](OpBuilder &inner, Location, ValueRange indices) {
        if (numLoops < source.getRank()) {
          memref::CopyOp::create(
              inner, loc, sliceRows(inner, loc, copy.getSource(), indices),
              sliceRows(inner, loc, copy.getTarget(), indices));
          return;
        }
        Value element =
            memref::LoadOp::create(inner, loc, copy.getSource(), indices);
        memref::StoreOp::create(inner, loc, element, copy.getTarget(), indices);
      });
  copy.erase();
}

namespace {
struct SplitCopiesPass : chimera::impl::SplitCopiesPassBase<SplitCopiesPass> {
  using Base::Base;

  void runOnOperation() override {
    getOperation()->walk([](linalg::GenericOp op) { splitGather(op); });
    getOperation()->walk(split);
  }
};
} // namespace
