//===- ImageOps.cpp - Operations that work in either layout ---------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Layout/ImageOps.h"

#include "Chimera/Chain/OpKinds.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace chimera;

bool chimera::isImage(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isStaticAndNotEmpty(tensor) && !tensor.getEncoding() &&
         tensor.getRank() >= 3 && tensor.getRank() <= 5 &&
         tensor.getElementType().isIntOrFloat();
}

SmallVector<int64_t> chimera::getChannelsLast(int64_t rank) {
  SmallVector<int64_t> order = {0};
  for (int64_t dim = 2; dim < rank; ++dim)
    order.push_back(dim);
  order.push_back(1);
  return order;
}

bool chimera::startsInAnyLayout(Value value) {
  if (!isImage(value.getType()))
    return false;
  Operation *op = value.getDefiningOp();
  if (auto fill = dyn_cast_or_null<linalg::FillOp>(op))
    return startsInAnyLayout(fill.getOutputs()[0]);
  DenseElementsAttr elements;
  return isa_and_nonnull<tensor::EmptyOp>(op) ||
         (matchPattern(value, m_Constant(&elements)) && elements.isSplat());
}

/// The loop that is index `position` of `map`, if it is one.
static std::optional<unsigned> getLoop(AffineMap map, unsigned position) {
  auto dim = dyn_cast<AffineDimExpr>(map.getResult(position));
  return dim ? std::optional(dim.getPosition()) : std::nullopt;
}

/// True if `op`, a product, is a convolution of images with channels first:
/// filters come after the batch in its result, and channels in what it reads.
static bool hasChannelsFirst(linalg::LinalgOp op) {
  AffineMap image = op.getIndexingMapsArray()[0],
            filter = op.getIndexingMapsArray()[1],
            result = op.getIndexingMapsArray()[2];
  if (!result.isProjectedPermutation() || image.getNumResults() < 3 ||
      image.getNumResults() != result.getNumResults() ||
      image.getResult(0) != result.getResult(0))
    return false;
  std::optional<unsigned> channel = getLoop(image, 1),
                          made = getLoop(result, 1);
  if (!channel || !made || !filter.isFunctionOfDim(*channel) ||
      !filter.isFunctionOfDim(*made) || !filter.isProjectedPermutation())
    return false;
  // Either the filters of one image, or one for each of its channels.
  return *channel == *made || !image.isFunctionOfDim(*made);
}

static std::optional<ImageOp> readProduct(linalg::LinalgOp op) {
  if (!isSupportedOperator(op) || !hasChannelsFirst(op) ||
      !isImage(op.getDpsInputs()[0].getType()))
    return std::nullopt;
  ImageOp found;
  found.op = op;
  found.images = {op.getDpsInputOperand(0), op.getDpsInitOperand(0)};
  found.filter = op.getDpsInputOperand(1);
  found.results = {op->getResult(0)};
  return found;
}

static std::optional<ImageOp> readPointwise(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics() || !hasScalarBody(op) ||
      op.hasIndexSemantics() || op.getNumLoops() == 0)
    return std::nullopt;
  ImageOp found;
  found.op = op;
  int64_t rank = 0;
  for (OpOperand &operand : op->getOpOperands())
    if (isImage(operand.get().getType()))
      rank = std::max(rank, op.getRank(&operand));
  for (OpOperand &operand : op->getOpOperands())
    if (isImage(operand.get().getType()) && op.getRank(&operand) == rank)
      found.images.push_back(&operand);
  for (OpOperand *image : found.images)
    if (op.isDpsInit(image))
      found.results.push_back(op.getTiedOpResult(image));
  return found.images.empty() ? std::nullopt : std::optional(found);
}

std::optional<ImageOp> chimera::readImageOp(Operation *op) {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    if (isa<linalg::FillOp>(op))
      return std::nullopt;
    return multipliesTensors(linalgOp) ? readProduct(linalgOp)
                                       : readPointwise(linalgOp);
  }
  auto pad = dyn_cast<tensor::PadOp>(op);
  if (!isa<tensor::ConcatOp>(op) &&
      !(pad && pad.getConstantPaddingValue() &&
        !llvm::is_contained(pad.getStaticLow(), ShapedType::kDynamic) &&
        !llvm::is_contained(pad.getStaticHigh(), ShapedType::kDynamic)))
    return std::nullopt;
  ImageOp found;
  found.op = op;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isImage(operand.get().getType()))
      return std::nullopt;
    found.images.push_back(&operand);
  }
  found.results = {op->getResult(0)};
  return isImage(op->getResult(0).getType()) ? std::optional(found)
                                             : std::nullopt;
}
