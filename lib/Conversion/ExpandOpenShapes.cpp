//===- ExpandOpenShapes.cpp - Shapes of several unknown sizes -------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A dimension that becomes several of unknown sizes, as batch and sequence in
// one come apart, has a shape that says all of them. Upstream's expansion of
// metadata divides by the others for one that is not known, and has no strides
// where there are two.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"

namespace chimera {
#define GEN_PASS_DEF_EXPANDOPENSHAPESPASS
#include "Chimera/Conversion/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

/// True if a dimension becomes several whose sizes are not known.
static bool hasOpenGroup(memref::ExpandShapeOp expand) {
  return llvm::any_of(expand.getReassociationIndices(), [&](auto &group) {
    return llvm::count_if(group, [&](int64_t dim) {
             return expand.getResultType().isDynamicDim(dim);
           }) > 1;
  });
}

/// What `expand` shows, by its own sizes and strides.
static void replace(memref::ExpandShapeOp expand) {
  OpBuilder builder(expand);
  Location loc = expand.getLoc();
  auto source =
      memref::ExtractStridedMetadataOp::create(builder, loc, expand.getSrc());
  SmallVector<OpFoldResult> sizes = expand.getMixedOutputShape();
  auto [known, offset] = expand.getResultType().getStridesAndOffset();
  auto choose = [&](int64_t number, Value value) -> OpFoldResult {
    if (ShapedType::isDynamic(number))
      return value;
    return builder.getIndexAttr(number);
  };
  SmallVector<OpFoldResult> strides(sizes.size());
  for (auto [place, group] :
       llvm::enumerate(expand.getReassociationIndices())) {
    Value stride = source.getStrides()[place];
    for (int64_t dim : llvm::reverse(group)) {
      strides[dim] = choose(known[dim], stride);
      stride = arith::MulIOp::create(
          builder, loc, stride,
          getValueOrCreateConstantIndexOp(builder, loc, sizes[dim]));
    }
  }
  Value view = memref::ReinterpretCastOp::create(
      builder, loc, expand.getResultType(), source.getBaseBuffer(),
      choose(offset, source.getOffset()), sizes, strides);
  expand.replaceAllUsesWith(view);
  expand.erase();
}

namespace {
struct ExpandOpenShapesPass
    : chimera::impl::ExpandOpenShapesPassBase<ExpandOpenShapesPass> {
  void runOnOperation() override {
    getOperation()->walk([](memref::ExpandShapeOp expand) {
      if (hasOpenGroup(expand))
        replace(expand);
    });
  }
};
} // namespace
