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
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace chimera;

/// A channel dimension at least, and those of space.
static constexpr int64_t leastRank = 3, mostRank = 6;
static constexpr int64_t mostSpaceDims = 3;

/// True for types of tensors that may be images.
static bool isImage(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isStaticAndNotEmpty(tensor) && !tensor.getEncoding() &&
         tensor.getRank() >= leastRank && tensor.getRank() <= mostRank &&
         tensor.getElementType().isIntOrFloat();
}

/// True if an image of `type` has dimensions of space beside those of channels.
static bool hasSpace(Type type, int64_t numChannelDims) {
  int64_t space = cast<RankedTensorType>(type).getRank() - 1 - numChannelDims;
  return space >= 1 && space <= mostSpaceDims;
}

SmallVector<int64_t> chimera::getChannelsLast(int64_t rank,
                                              int64_t numChannelDims) {
  SmallVector<int64_t> order = {0};
  llvm::append_range(order, llvm::seq(1 + numChannelDims, rank));
  llvm::append_range(order, llvm::seq<int64_t>(1, 1 + numChannelDims));
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

/// True if dimension `position` of an image is channels that filters sum up or
/// have one of each for, and that of the result the filters.
static bool areChannels(ArrayRef<AffineMap> maps, unsigned position) {
  AffineMap image = maps[0], filter = maps[1], result = maps[2];
  std::optional<unsigned> channel = getLoop(image, position),
                          made = getLoop(result, position);
  if (!channel || !made || !filter.isFunctionOfDim(*channel) ||
      !filter.isFunctionOfDim(*made))
    return false;
  return *channel == *made ||
         (!image.isFunctionOfDim(*made) && !result.isFunctionOfDim(*channel));
}

/// The dimensions of channels of `op`, a product, if it is a convolution of
/// images with channels first: filters come after the batch in its result, and
/// channels in what it reads. With groups, the group comes before either.
static std::optional<int64_t> countChannelDims(linalg::LinalgOp op) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  AffineMap image = maps[0], filter = maps[1], result = maps[2];
  if (!result.isProjectedPermutation() || !filter.isProjectedPermutation() ||
      image.getNumResults() < leastRank ||
      image.getNumResults() != result.getNumResults() ||
      image.getResult(0) != result.getResult(0) || !areChannels(maps, 1))
    return std::nullopt;
  // Every channel has filters of its own, if it is no group of them.
  bool isShared = image.getResult(1) == result.getResult(1);
  bool isGroup = isShared && image.getNumResults() > leastRank &&
                 image.getResult(2) != result.getResult(2) &&
                 areChannels(maps, 2);
  return isGroup ? 2 : 1;
}

static std::optional<ImageOp> readProduct(linalg::LinalgOp op) {
  if (!isSupportedOperator(op) || hasQuantizedFactor(op) ||
      !isImage(op.getDpsInputs()[0].getType()))
    return std::nullopt;
  std::optional<int64_t> numChannelDims = countChannelDims(op);
  if (!numChannelDims)
    return std::nullopt;
  ImageOp found;
  found.op = op;
  found.images = {op.getDpsInputOperand(0), op.getDpsInitOperand(0)};
  found.filter = op.getDpsInputOperand(1);
  found.results = {op->getResult(0)};
  found.numChannelDims = found.numResultChannelDims = *numChannelDims;
  return found;
}

static std::optional<ImageOp> readPointwise(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics() || !hasScalarBody(op) ||
      op.hasIndexSemantics() || op.getNumLoops() == 0)
    return std::nullopt;
  if (auto generic = dyn_cast<linalg::GenericOp>(op.getOperation());
      generic && linalg::isaTransposeOpInterface(generic))
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

/// `op`, which brings the channels of an image to the end or back from there:
/// in that layout the image is there already. With a single dimension of space
/// the one is the other, and nobody tells which.
static std::optional<ImageOp> readTranspose(linalg::TransposeOp op) {
  Value result = op->getNumResults() == 1 ? op->getResult(0) : Value();
  if (!result || !isImage(result.getType()))
    return std::nullopt;
  ArrayRef<int64_t> order = op.getPermutation();
  SmallVector<int64_t> there =
      getChannelsLast(order.size(), /*numChannelDims=*/1);
  SmallVector<int64_t> back = invertPermutationVector(there);
  ImageOp found;
  found.op = op;
  if (order == ArrayRef(there))
    found.images = {&op.getInputMutable()};
  else if (order == ArrayRef(back))
    found.results = {result};
  return there != back && found.images.size() + found.results.size() == 1
             ? std::optional(found)
             : std::nullopt;
}

/// `op`, which pads or joins images, as far as its operands tell.
static std::optional<ImageOp> readParts(Operation *op) {
  auto pad = dyn_cast<tensor::PadOp>(op);
  if (pad && (!pad.getConstantPaddingValue() ||
              llvm::is_contained(pad.getStaticLow(), ShapedType::kDynamic) ||
              llvm::is_contained(pad.getStaticHigh(), ShapedType::kDynamic)))
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

/// `op`, which expands or collapses a tensor, if it does so with the channels
/// alone.
template <typename OpTy>
static std::optional<ImageOp> readReshape(OpTy op) {
  auto isGroups = [](const auto &pair) {
    return pair.value().size() == (pair.index() == 1 ? 2 : 1);
  };
  if (!isImage(op.getSrc().getType()) || !isImage(op.getType()) ||
      !llvm::all_of(llvm::enumerate(op.getReassociationIndices()), isGroups))
    return std::nullopt;
  ImageOp found;
  found.op = op;
  found.images = {&op.getSrcMutable()};
  found.results = {op->getResult(0)};
  (std::is_same_v<OpTy, tensor::ExpandShapeOp> ? found.numResultChannelDims
                                               : found.numChannelDims) = 2;
  return found;
}

/// `op` as far as it tells by itself.
static std::optional<ImageOp> readAlone(Operation *op) {
  return TypeSwitch<Operation *, std::optional<ImageOp>>(op)
      .Case([](linalg::FillOp) { return std::nullopt; })
      .Case([](linalg::TransposeOp op) { return readTranspose(op); })
      .Case([](linalg::LinalgOp op) {
        return multipliesTensors(op) ? readProduct(op) : readPointwise(op);
      })
      .Case<tensor::PadOp, tensor::ConcatOp>(
          [](Operation *op) { return readParts(op); })
      .Case<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(
          [](auto op) { return readReshape(op); })
      .Default([](Operation *) { return std::nullopt; });
}

/// True if `op` knows how many dimensions its channels have. Others do not mind
/// and have the same in all images.
static bool knowsChannels(const ImageOp &op) {
  return op.filter || isa<linalg::TransposeOp, tensor::ExpandShapeOp,
                          tensor::CollapseShapeOp>(op.op);
}

static const void *keyOf(Value value) { return value.getAsOpaquePointer(); }

ImageReader::ImageReader(Operation *root) {
  SmallVector<const void *> known;
  root->walk([&](Operation *op) {
    std::optional<ImageOp> image = readAlone(op);
    if (!image)
      return;
    SmallVector<const void *> same;
    auto note = [&](Value value, int64_t numChannelDims) {
      // What starts in any layout may start several images.
      if (startsInAnyLayout(value))
        return;
      if (!knowsChannels(*image))
        same.push_back(keyOf(value));
      else if (numChannelDims > 1)
        known.push_back(keyOf(value));
    };
    for (OpOperand *operand : image->images)
      note(operand->get(), image->numChannelDims);
    for (Value result : image->results)
      note(result, image->numResultChannelDims);
    for (const void *value : same)
      alike.unionSets(same.front(), value);
  });
  for (const void *value : known)
    grouped.insert(alike.getOrInsertLeaderValue(value));
}

std::optional<ImageOp> ImageReader::read(Operation *op) const {
  std::optional<ImageOp> image = readAlone(op);
  if (!image)
    return std::nullopt;
  auto isGrouped = [&](Value value) {
    auto leader = alike.findLeader(keyOf(value));
    return leader != alike.member_end() && grouped.contains(*leader);
  };
  if (!knowsChannels(*image) &&
      (llvm::any_of(image->results, isGrouped) ||
       llvm::any_of(image->images, [&](OpOperand *operand) {
         return isGrouped(operand->get());
       })))
    image->numChannelDims = image->numResultChannelDims = 2;
  bool hasImages =
      llvm::all_of(image->images,
                   [&](OpOperand *operand) {
                     return hasSpace(operand->get().getType(),
                                     image->numChannelDims);
                   }) &&
      llvm::all_of(image->results, [&](Value result) {
        return hasSpace(result.getType(), image->numResultChannelDims);
      });
  return hasImages ? image : std::nullopt;
}
