//===- ImageWindows.cpp - Images that are read through windows ------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ImageWindows.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace chimera;

/// True if `pad` adds a known number of zeros on each side.
static bool padsWithZeros(tensor::PadOp pad) {
  Value padding = pad.getConstantPaddingValue();
  return padding && pad.getLow().empty() && pad.getHigh().empty() &&
         matchPattern(padding, m_AnyZeroFloat());
}

void chimera::loseUnitsBeforePadding(WindowsOp windows) {
  auto collapse = windows.getSource().getDefiningOp<tensor::CollapseShapeOp>();
  auto pad = collapse ? collapse.getSrc().getDefiningOp<tensor::PadOp>()
                      : tensor::PadOp();
  if (!pad || !padsWithZeros(pad))
    return;
  auto source = cast<RankedTensorType>(pad.getSource().getType());
  SmallVector<OpFoldResult> low, high;
  SmallVector<int64_t> shape;
  Builder attributes(windows);
  for (const ReassociationIndices &group : collapse.getReassociationIndices()) {
    int64_t before = 0, behind = 0, extent = 1, others = 0;
    for (int64_t dim : group) {
      int64_t ownLow = pad.getStaticLow()[dim],
              ownHigh = pad.getStaticHigh()[dim];
      if (source.getDimSize(dim) == 1 && ownLow == 0 && ownHigh == 0)
        continue;
      before = ownLow;
      behind = ownHigh;
      extent = source.getDimSize(dim);
      ++others;
    }
    if (others > 1 || ShapedType::isDynamic(extent))
      return;
    low.push_back(attributes.getIndexAttr(before));
    high.push_back(attributes.getIndexAttr(behind));
    shape.push_back(extent);
  }
  OpBuilder builder(collapse);
  Location loc = windows.getLoc();
  Value image = tensor::CollapseShapeOp::create(
      builder, loc, RankedTensorType::get(shape, source.getElementType()),
      pad.getSource(), collapse.getReassociationIndices());
  windows.getSourceMutable().assign(
      tensor::PadOp::create(builder, loc, collapse.getResultType(), image, low,
                            high, pad.getConstantPaddingValue()));
}

void chimera::showWholeImage(WindowsOp windows) {
  auto part = windows.getSource().getDefiningOp<tensor::ExtractSliceOp>();
  if (!part || !part.hasUnitStride() ||
      !llvm::all_of(part.getMixedOffsets(), isZeroInteger))
    return;
  RankedTensorType whole = part.getSourceType();
  llvm::SmallBitVector dropped = part.getDroppedDims();
  SmallVector<ReassociationIndices> groups;
  ReassociationIndices group;
  for (int64_t dim = 0; dim < whole.getRank(); ++dim) {
    group.push_back(dim);
    if (dropped.test(dim) && whole.getDimSize(dim) != 1)
      return;
    if (!dropped.test(dim))
      groups.push_back(std::exchange(group, {}));
  }
  if (groups.empty())
    return;
  llvm::append_range(groups.back(), group);
  Value image = part.getSource();
  if (dropped.any()) {
    OpBuilder builder(part);
    image =
        tensor::CollapseShapeOp::create(builder, part.getLoc(), image, groups);
  }
  windows.getSourceMutable().assign(image);
  if (part.use_empty())
    part.erase();
}

bool ImageWindows::hasPlainRows() const {
  auto movesLast = [&](auto step) { return step.first + 1 == sides.size(); };
  return steps.back() == std::pair<unsigned, int64_t>(sides.size() - 1, 1) &&
         llvm::count_if(steps, movesLast) == 1 && !sides.back().isPadded;
}

std::optional<ImageWindows> ImageWindows::find(Value tensor) {
  auto op = tensor.getDefiningOp<WindowsOp>();
  if (!op)
    return std::nullopt;
  ImageWindows windows;
  windows.image = op.getSource();
  windows.steps = op.getSteps();
  windows.sides.resize(
      cast<RankedTensorType>(op.getSource().getType()).getRank());
  auto pad = op.getSource().getDefiningOp<tensor::PadOp>();
  if (!pad || !padsWithZeros(pad))
    return windows;
  windows.image = pad.getSource();
  for (auto [side, low, high] :
       llvm::zip_equal(windows.sides, pad.getStaticLow(), pad.getStaticHigh()))
    side = {-low, low > 0 || high > 0};
  return windows;
}
