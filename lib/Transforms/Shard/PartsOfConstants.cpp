//===- PartsOfConstants.cpp - Constants of what is cut --------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PartsOfConstants.h"
#include "LowerShard.h"

#include "Chimera/IR/Parts.h"
#include "Chimera/Support/TensorSlice.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectResourceBlobManager.h"

#include <cstring>

using namespace mlir;
using namespace chimera;

SmallVector<arith::ConstantOp> chimera::takeConstants(func::FuncOp function) {
  SmallVector<arith::ConstantOp> taken;
  for (auto constant : function.getOps<arith::ConstantOp>()) {
    auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (isa<RankedTensorType>(constant.getType()) &&
        !(elements && elements.isSplat()))
      taken.push_back(constant);
  }
  // What is computed from them is computed once, as of arguments that say so.
  Builder builder(function.getContext());
  DictionaryAttr isConstant = builder.getDictionaryAttr(builder.getNamedAttr(
      ChimeraDialect::getConstantAttrName(), builder.getUnitAttr()));
  for (arith::ConstantOp constant : taken) {
    unsigned index = function.getNumArguments();
    (void)function.insertArgument(index, constant.getType(), isConstant,
                                  constant.getLoc());
    constant.replaceAllUsesWith(cast<Value>(function.getArgument(index)));
    constant->remove();
  }
  return taken;
}

//===----------------------------------------------------------------------===//
// Slices of attributes
//===----------------------------------------------------------------------===//

/// The elements of `value` as they are in memory, if it has them in bytes.
static std::optional<ArrayRef<char>> getBytes(TypedAttr value) {
  auto type = cast<RankedTensorType>(value.getType());
  if (!type.getElementType().isIntOrFloat() ||
      type.getElementTypeBitWidth() % 8 != 0)
    return std::nullopt;
  ArrayRef<char> bytes;
  if (auto dense = dyn_cast<DenseElementsAttr>(value)) {
    if (dense.isSplat())
      return std::nullopt;
    bytes = dense.getRawData();
  } else if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    if (AsmResourceBlob *blob = resource.getRawHandle().getBlob())
      bytes = blob->getData();
  }
  size_t expected = type.getNumElements() * (type.getElementTypeBitWidth() / 8);
  return bytes.size() == expected ? std::optional(bytes) : std::nullopt;
}

/// The part of `value` that `process` has; null if its elements are not at
/// hand.
static TypedAttr takePart(TypedAttr value, PartAttr part, int64_t process) {
  std::optional<ArrayRef<char>> whole = getBytes(value);
  if (!whole)
    return {};
  auto type = cast<RankedTensorType>(value.getType());
  int64_t width = type.getElementTypeBitWidth() / 8;
  SmallVector<int64_t> sizes = getPartSizes(part);
  RankedTensorType partType = type.clone(sizes);
  AsmResourceBlob blob = HeapAsmResourceBlob::allocate(
      partType.getNumElements() * width, /*align=*/64);
  MutableArrayRef<char> bytes = blob.getMutableData();
  forEachRun(part.getShape(), getPartOffsets(part, process), sizes,
             [&](const SliceRun &run) {
               std::memcpy(bytes.data() + run.inSlice * width,
                           whole->data() + run.inWhole * width,
                           run.count * width);
             });
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value))
    return DenseResourceElementsAttr::get(
        partType, resource.getRawHandle().getKey(), std::move(blob));
  return DenseElementsAttr::getFromRawBuffer(partType, bytes);
}

//===----------------------------------------------------------------------===//
// Putting back
//===----------------------------------------------------------------------===//

/// A slice of `whole` that begins where the process stands.
static Value makeSlice(OpBuilder &builder, Value whole, PartAttr part,
                       shard::GridOp grid) {
  Location loc = whole.getLoc();
  SmallVector<int64_t> sizes = getPartSizes(part);
  SmallVector<OpFoldResult> offsets;
  for (auto [axes, size] : llvm::zip_equal(part.getAxes(), sizes)) {
    if (axes.empty()) {
      offsets.push_back(builder.getIndexAttr(0));
      continue;
    }
    Value index = makeProcessIndex(builder, loc, axes, grid);
    Value step = arith::ConstantIndexOp::create(builder, loc, size);
    offsets.push_back(
        arith::MulIOp::create(builder, loc, index, step).getResult());
  }
  SmallVector<OpFoldResult> ones(sizes.size(), builder.getIndexAttr(1));
  auto type = cast<RankedTensorType>(whole.getType());
  return tensor::ExtractSliceOp::create(
      builder, loc, type.clone(sizes), whole, offsets,
      getAsIndexOpFoldResult(builder.getContext(), sizes), ones);
}

void chimera::putBackConstants(func::FuncOp function, shard::GridOp grid,
                               ArrayRef<arith::ConstantOp> taken,
                               ArrayRef<PartAttr> parts, int64_t process) {
  Block &block = function.getBody().front();
  OpBuilder builder(function.getContext());
  for (size_t index = taken.size(); index-- > 0;) {
    arith::ConstantOp constant = taken[index];
    PartAttr part = parts[index];
    block.push_front(constant);
    builder.setInsertionPointAfter(constant);
    Value value = constant;
    bool isCut = part && value.getType() != function.getArgumentTypes().back();
    if (TypedAttr own = isCut && process >= 0
                            ? takePart(constant.getValue(), part, process)
                            : TypedAttr())
      value = arith::ConstantOp::create(builder, constant.getLoc(), own);
    else if (isCut)
      value = makeSlice(builder, constant, part, grid);
    unsigned last = function.getNumArguments() - 1;
    function.getArgument(last).replaceAllUsesWith(value);
    (void)function.eraseArgument(last);
    if (constant->use_empty())
      constant->erase();
  }
}
