//===- TensorView.cpp - Where elements of a tensor lie --------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorView.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace chimera;

static TensorView viewWhole(Value tensor) {
  TensorView view;
  view.base = tensor;
  llvm::append_range(view.sizes,
                     cast<RankedTensorType>(tensor.getType()).getShape());
  view.strides.assign(view.sizes.size(), 1);
  for (size_t dim = view.sizes.size(); dim-- > 1;)
    view.strides[dim - 1] = view.strides[dim] * view.sizes[dim];
  return view;
}

/// The part of `whole` that `slice` takes; none if it is not static.
static std::optional<TensorView> viewSlice(tensor::ExtractSliceOp slice,
                                           const TensorView &whole) {
  if (ShapedType::isDynamicShape(slice.getStaticOffsets()) ||
      ShapedType::isDynamicShape(slice.getStaticSizes()) ||
      ShapedType::isDynamicShape(slice.getStaticStrides()))
    return std::nullopt;
  TensorView part;
  part.base = whole.base;
  part.offset = whole.offset;
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  for (size_t dim = 0; dim < whole.sizes.size(); ++dim) {
    part.offset += slice.getStaticOffset(dim) * whole.strides[dim];
    if (dropped.test(dim))
      continue;
    part.sizes.push_back(slice.getStaticSize(dim));
    part.strides.push_back(slice.getStaticStride(dim) * whole.strides[dim]);
  }
  return part;
}

/// `whole` with dimensions taken apart.
static TensorView viewExpanded(tensor::ExpandShapeOp expand,
                               const TensorView &whole) {
  TensorView view;
  view.base = whole.base;
  view.offset = whole.offset;
  view.sizes.assign(expand.getResultType().getShape());
  view.strides.resize(view.sizes.size());
  for (auto [dim, group] : llvm::enumerate(expand.getReassociationIndices())) {
    int64_t stride = whole.strides[dim];
    for (int64_t part : llvm::reverse(group)) {
      view.strides[part] = stride;
      stride *= view.sizes[part];
    }
  }
  return view;
}

/// `whole` with dimensions joined; none if they do not follow each other in
/// memory.
static std::optional<TensorView> viewCollapsed(tensor::CollapseShapeOp collapse,
                                               const TensorView &whole) {
  TensorView view;
  view.base = whole.base;
  view.offset = whole.offset;
  view.sizes.assign(collapse.getResultType().getShape());
  for (ArrayRef<int64_t> group : collapse.getReassociationIndices()) {
    // Of a dimension of one element the stride says nothing.
    int64_t stride = 1, next = 0;
    for (int64_t dim : llvm::reverse(group)) {
      if (whole.sizes[dim] == 1)
        continue;
      if (next == 0)
        stride = whole.strides[dim];
      else if (whole.strides[dim] != next)
        return std::nullopt;
      next = whole.strides[dim] * whole.sizes[dim];
    }
    view.strides.push_back(stride);
  }
  return view;
}

TensorView TensorView::of(Value tensor) {
  std::optional<TensorView> view;
  if (auto slice = tensor.getDefiningOp<tensor::ExtractSliceOp>())
    view = viewSlice(slice, of(slice.getSource()));
  else if (auto expand = tensor.getDefiningOp<tensor::ExpandShapeOp>())
    view = viewExpanded(expand, of(expand.getSrc()));
  else if (auto collapse = tensor.getDefiningOp<tensor::CollapseShapeOp>())
    view = viewCollapsed(collapse, of(collapse.getSrc()));
  return view ? *view : viewWhole(tensor);
}
