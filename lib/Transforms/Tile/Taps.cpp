//===- Taps.cpp - Taps on padding -----------------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tile/Taps.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace chimera;

TapClipper::TapClipper(OpBuilder &builder, const ChainAnalysis &analysis,
                       const model::Schedule &schedule,
                       const model::LoopNest &tree, Location loc)
    : builder(builder), problem(analysis.problem), loc(loc) {
  if (schedule.blocks && !schedule.blocks->rows)
    return;
  for (unsigned op = 0; op < problem.operators.size(); ++op) {
    auto path = model::pathOf(tree, op);
    for (const model::PaddedWindow &window :
         model::paddedWindowsOf(problem, problem.operators[op]))
      if (llvm::none_of(path, [&](const model::NestLoop &loop) {
            return loop.loop == window.tap;
          }))
        windows.push_back(window);
  }
}

Value TapClipper::buildPadding(const model::Access &access,
                               Value source) const {
  SmallVector<OpFoldResult> low, high;
  SmallVector<int64_t> shape;
  bool isPadded = false;
  for (auto [index, size] :
       llvm::zip_equal(access.indices, problem.tensors[access].shape)) {
    int64_t last = index.offset;
    for (const model::Term &term : index.terms)
      last += term.factor * (problem.loops[term.loop].extent - 1);
    int64_t before = std::max<int64_t>(0, -index.offset),
            behind = std::max<int64_t>(0, last - size + 1);
    isPadded |= before > 0 || behind > 0;
    low.push_back(builder.getIndexAttr(before));
    high.push_back(builder.getIndexAttr(behind));
    shape.push_back(before + size + behind);
  }
  if (!isPadded)
    return source;
  Type elementType = getElementTypeOrSelf(source);
  Value zero = createNumber(builder, loc, elementType, 0);
  return tensor::PadOp::create(builder, loc,
                               RankedTensorType::get(shape, elementType),
                               source, low, high, zero);
}

void TapClipper::begin(TreePosition &start) const {
  for (const model::PaddedWindow &window : windows)
    if (start.places[window.pixel].empty())
      start.places[window.pixel].push_back(
          {0, problem.loops[window.pixel].extent});
}

/// Where taps that some pixel at `position` needs begin, and how many there
/// are.
std::pair<OpFoldResult, OpFoldResult>
TapClipper::findRange(const model::PaddedWindow &window,
                      const TreePosition &position) const {
  SmallVector<OpFoldResult> pixels = {position.offsets[window.pixel],
                                      position.extents[window.pixel]};
  AffineExpr first, second;
  bindSymbols(builder.getContext(), first, second);
  auto bound = [&](AffineExpr pixel, int64_t border, int64_t limit) {
    AffineExpr tap =
        (-pixel * window.pixelFactor + border).ceilDiv(window.tapFactor);
    return AffineMap::get(0, 2, {tap, builder.getAffineConstantExpr(limit)},
                          builder.getContext());
  };
  // What the last pixel needs comes first, what the first needs last.
  OpFoldResult begin = affine::makeComposedFoldedAffineMax(
      builder, loc, bound(first + second - 1, window.begin, 0), pixels);
  OpFoldResult end = affine::makeComposedFoldedAffineMin(
      builder, loc, bound(first, window.end, problem.loops[window.tap].extent),
      pixels);
  return {begin, affine::makeComposedFoldedAffineApply(
                     builder, loc, first - second, {end, begin})};
}

void TapClipper::follow(model::LoopId loop, TreePosition &position,
                        SmallVectorImpl<LoopOffset> &moved) const {
  AffineExpr first, second;
  bindSymbols(builder.getContext(), first, second);
  for (const model::PaddedWindow &window : windows) {
    if (window.pixel != loop)
      continue;
    llvm::SmallSetVector<std::pair<int64_t, int64_t>, 4> ranges;
    llvm::SmallSetVector<int64_t, 4> possible;
    for (auto [offset, extent] : position.places[loop]) {
      ranges.insert(
          window.tapsOf(offset, extent, problem.loops[window.tap].extent));
      possible.insert(ranges.back().second);
    }
    OpFoldResult &offset = position.offsets[window.tap], before = offset;
    OpFoldResult &extent = position.extents[window.tap];
    bool isOne = ranges.size() == 1;
    if (isOne && isConstantIntValue(offset, ranges.front().first) &&
        isConstantIntValue(extent, ranges.front().second))
      continue;
    if (isOne) {
      offset = builder.getIndexAttr(ranges.front().first);
      extent = builder.getIndexAttr(ranges.front().second);
    } else {
      std::tie(offset, extent) = findRange(window, position);
    }
    position.possible[window.tap] = possible.takeVector();
    moved.push_back(
        {window.tap, affine::makeComposedFoldedAffineApply(
                         builder, loc, first - second, {offset, before})});
  }
}
