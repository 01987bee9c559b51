//===- ApplyLayouts.cpp - Images with channels last -----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rewrites operations in program order. Each image has a version in either
// layout: one that is computed, and one that is transposed where somebody wants
// it, once. Filters are transposed so that vectors run along them.
//
//===----------------------------------------------------------------------===//

#include "Layout/ImageOps.h"
#include "NamedRemarks.h"

#include "Chimera/Chain/OpKinds.h"
#include "Chimera/IR/Chimera.h"
#include "Chimera/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/TypeSwitch.h"

namespace chimera {
#define GEN_PASS_DEF_APPLYLAYOUTSPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

/// `type` with its dimensions in the given order.
static RankedTensorType permute(Type type, ArrayRef<int64_t> order) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(applyPermutation(tensor.getShape(), order),
                               tensor.getElementType());
}

/// An image, and in how many dimensions its channels are.
using Image = std::pair<Value, int64_t>;

/// The dimensions of `type` with the channels last.
static SmallVector<int64_t> getChannelsLast(Type type, int64_t numChannelDims) {
  return getChannelsLast(cast<RankedTensorType>(type).getRank(),
                         numChannelDims);
}

static RankedTensorType withChannelsLast(Type type, int64_t numChannelDims) {
  return permute(type, getChannelsLast(type, numChannelDims));
}

namespace {

class LayoutRewriter {
public:
  explicit LayoutRewriter(MLIRContext *context) : rewriter(context) {}

  void rewrite(ImageOp image);
  /// Erases what nobody reads any more.
  void finish();

private:
  Value getChannelsLastVersion(Image image);
  Value transpose(Value value, ArrayRef<int64_t> order);
  SmallVector<Value> rewriteOp(const ImageOp &image, tensor::PadOp pad);
  SmallVector<Value> rewriteOp(const ImageOp &image, tensor::ConcatOp concat);
  SmallVector<Value> rewriteOp(const ImageOp &image, linalg::TransposeOp op);
  SmallVector<Value> rewriteOp(const ImageOp &image, linalg::LinalgOp op);
  SmallVector<Value> rewriteOp(const ImageOp &image,
                               tensor::ExpandShapeOp expand);
  SmallVector<Value> rewriteOp(const ImageOp &image,
                               tensor::CollapseShapeOp collapse);
  SmallVector<Value> getOperands(const ImageOp &image);

  IRRewriter rewriter;
  /// The version with channels last of each image that has one.
  llvm::DenseMap<Image, Value> versions;
  SmallVector<Operation *> mayBeUnused;
};

} // namespace

Value LayoutRewriter::transpose(Value value, ArrayRef<int64_t> order) {
  RankedTensorType type = permute(value.getType(), order);
  Value empty = tensor::EmptyOp::create(rewriter, value.getLoc(),
                                        type.getShape(), type.getElementType());
  Operation *transposed = linalg::TransposeOp::create(rewriter, value.getLoc(),
                                                      value, empty, order);
  mayBeUnused.push_back(transposed);
  return transposed->getResult(0);
}

/// `image` with channels last, right after it is there.
Value LayoutRewriter::getChannelsLastVersion(Image image) {
  if (Value known = versions.lookup(image))
    return known;
  auto [value, numChannelDims] = image;
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointAfterValue(value);
  RankedTensorType type = withChannelsLast(value.getType(), numChannelDims);
  Value &version = versions[image];
  DenseElementsAttr constant;
  if (value.getDefiningOp<tensor::EmptyOp>()) {
    version = tensor::EmptyOp::create(rewriter, value.getLoc(), type.getShape(),
                                      type.getElementType());
  } else if (matchPattern(value, m_Constant(&constant)) && constant.isSplat()) {
    version = arith::ConstantOp::create(rewriter, value.getLoc(),
                                        constant.resizeSplat(type));
  } else if (auto fill = value.getDefiningOp<linalg::FillOp>();
             fill && startsInAnyLayout(value)) {
    Value number = fill.getInputs()[0],
          start =
              getChannelsLastVersion({fill.getOutputs()[0], numChannelDims});
    // The map may have grown.
    return versions[image] =
               linalg::FillOp::create(rewriter, value.getLoc(), number, start)
                   .getResult(0);
  } else {
    version =
        transpose(value, getChannelsLast(value.getType(), numChannelDims));
    remark::analysis(value.getLoc(), named("reorder")) << remark::add(
        "{0} is transposed, to have its channels last", value.getType());
  }
  return version;
}

/// The operands of `image`, its images with channels last.
SmallVector<Value> LayoutRewriter::getOperands(const ImageOp &image) {
  SmallVector<Value> operands(image.op->getOperands());
  for (OpOperand *operand : image.images)
    operands[operand->getOperandNumber()] =
        getChannelsLastVersion({operand->get(), image.numChannelDims});
  return operands;
}

SmallVector<Value> LayoutRewriter::rewriteOp(const ImageOp &image,
                                             tensor::PadOp pad) {
  Value source = getOperands(image)[0];
  SmallVector<int64_t> order =
      getChannelsLast(pad.getSourceType(), image.numChannelDims);
  auto reorder = [&](ArrayRef<int64_t> amounts) {
    return getAsIndexOpFoldResult(pad.getContext(),
                                  applyPermutation(amounts, order));
  };
  // The number may be a constant inside.
  Value number = pad.getConstantPaddingValue();
  if (number.getParentRegion() == &pad.getRegion())
    number = rewriter.clone(*number.getDefiningOp())->getResult(0);
  return {tensor::PadOp::create(
      rewriter, pad.getLoc(),
      withChannelsLast(pad.getType(), image.numResultChannelDims), source,
      reorder(pad.getStaticLow()), reorder(pad.getStaticHigh()), number,
      pad.getNofold())};
}

SmallVector<Value> LayoutRewriter::rewriteOp(const ImageOp &image,
                                             tensor::ConcatOp concat) {
  SmallVector<int64_t> order =
      getChannelsLast(concat.getResultType(), image.numChannelDims);
  int64_t dim =
      llvm::find(order, static_cast<int64_t>(concat.getDim())) - order.begin();
  return {tensor::ConcatOp::create(rewriter, concat.getLoc(), dim,
                                   getOperands(image))};
}

/// The dimensions of an image of `rank` dimensions, the last two of them
/// together.
static SmallVector<ReassociationIndices> joinLastTwo(int64_t rank) {
  SmallVector<ReassociationIndices> joined;
  for (int64_t dim = 0; dim + 2 < rank; ++dim)
    joined.push_back({dim});
  joined.push_back({rank - 2, rank - 1});
  return joined;
}

SmallVector<Value> LayoutRewriter::rewriteOp(const ImageOp &image,
                                             tensor::ExpandShapeOp expand) {
  RankedTensorType type =
      withChannelsLast(expand.getType(), image.numResultChannelDims);
  return {tensor::ExpandShapeOp::create(rewriter, expand.getLoc(), type,
                                        getOperands(image)[0],
                                        joinLastTwo(type.getRank()))};
}

SmallVector<Value> LayoutRewriter::rewriteOp(const ImageOp &image,
                                             tensor::CollapseShapeOp collapse) {
  return {tensor::CollapseShapeOp::create(
      rewriter, collapse.getLoc(),
      withChannelsLast(collapse.getType(), image.numResultChannelDims),
      getOperands(image)[0], joinLastTwo(collapse.getSrcType().getRank()))};
}

/// The loops of `op` in the order in which its result, of which `result` is the
/// map, and then its windows and its channels are gone through.
static SmallVector<unsigned> orderLoops(linalg::LinalgOp op, AffineMap result) {
  llvm::SetVector<unsigned> order;
  for (AffineExpr expr : result.getResults())
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      order.insert(dim.getPosition());
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  auto isInWindow = [&](unsigned loop) {
    return llvm::any_of(maps, [&](AffineMap map) {
      return map.isFunctionOfDim(loop) &&
             !llvm::is_contained(map.getResults(),
                                 getAffineDimExpr(loop, op.getContext()));
    });
  };
  auto addAll = [&](utils::IteratorType iterator, bool ofWindows) {
    for (auto [loop, own] : llvm::enumerate(op.getIteratorTypesArray()))
      if (own == iterator && isInWindow(loop) == ofWindows)
        order.insert(loop);
  };
  for (utils::IteratorType iterator :
       {utils::IteratorType::parallel, utils::IteratorType::reduction}) {
    addAll(iterator, /*ofWindows=*/true);
    addAll(iterator, /*ofWindows=*/false);
  }
  return order.takeVector();
}

/// The dimensions of a filter with `map` in the order of the loops: first the
/// groups of an image with map `image`, which have nothing in common, then
/// those that are summed up, and in the end those along which vectors run.
static SmallVector<int64_t>
orderFilter(AffineMap map, AffineMap image,
            ArrayRef<utils::IteratorType> iterators) {
  auto isParallel = [&](unsigned loop) {
    return iterators[loop] == utils::IteratorType::parallel;
  };
  unsigned vectorLoop = 0;
  for (int64_t dim = 0; dim < map.getNumResults(); ++dim)
    if (isParallel(map.getDimPosition(dim)))
      vectorLoop = std::max(vectorLoop, map.getDimPosition(dim));
  auto rank = [&](int64_t dim) {
    unsigned loop = map.getDimPosition(dim);
    bool isGroup = image.isFunctionOfDim(loop) && loop != vectorLoop;
    return std::make_pair(isParallel(loop) ? (isGroup ? 0 : 2) : 1, loop);
  };
  SmallVector<int64_t> order =
      llvm::to_vector(llvm::seq<int64_t>(map.getNumResults()));
  llvm::sort(order, [&](int64_t left, int64_t right) {
    return rank(left) < rank(right);
  });
  return order;
}

SmallVector<Value> LayoutRewriter::rewriteOp(const ImageOp &image,
                                             linalg::LinalgOp op) {
  SmallVector<Value> operands = getOperands(image);
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  for (OpOperand *operand : image.images) {
    AffineMap &map = maps[operand->getOperandNumber()];
    map =
        AffineMap::get(map.getNumDims(), 0,
                       applyPermutation(map.getResults(),
                                        getChannelsLast(map.getNumResults(),
                                                        image.numChannelDims)),
                       op.getContext());
  }
  SmallVector<unsigned> order = orderLoops(op, maps.back());
  SmallVector<unsigned> places(order.size());
  SmallVector<utils::IteratorType> iterators;
  for (auto [place, loop] : llvm::enumerate(order)) {
    places[loop] = place;
    iterators.push_back(op.getIteratorTypesArray()[loop]);
  }
  AffineMap renamed = AffineMap::getPermutationMap(places, op.getContext());
  for (AffineMap &map : maps)
    map = map.compose(renamed);
  if (image.filter) {
    unsigned position = image.filter->getOperandNumber();
    AffineMap &map = maps[position];
    SmallVector<int64_t> filterOrder = orderFilter(map, maps[0], iterators);
    map = AffineMap::get(map.getNumDims(), 0,
                         applyPermutation(map.getResults(), filterOrder),
                         op.getContext());
    Value turned = transpose(operands[position], filterOrder);
    operands[position] = PrepareOp::create(rewriter, op.getLoc(), turned);
  }
  SmallVector<Type> types;
  for (OpResult result : op->getResults())
    types.push_back(
        llvm::is_contained(image.results, result)
            ? withChannelsLast(result.getType(), image.numResultChannelDims)
            : result.getType());
  auto [inputs, inits] =
      std::make_pair(ArrayRef(operands).take_front(op.getNumDpsInputs()),
                     ArrayRef(operands).take_back(op.getNumDpsInits()));
  auto generic = linalg::GenericOp::create(rewriter, op.getLoc(), types, inputs,
                                           inits, maps, iterators);
  IRMapping mapping;
  op->getRegion(0).cloneInto(&generic.getRegion(), mapping);
  return SmallVector<Value>(generic.getResults());
}

SmallVector<Value> LayoutRewriter::rewriteOp(const ImageOp &image,
                                             linalg::TransposeOp op) {
  return {image.images.empty()
              ? op.getInput()
              : getChannelsLastVersion({op.getInput(), image.numChannelDims})};
}

void LayoutRewriter::rewrite(ImageOp image) {
  rewriter.setInsertionPoint(image.op);
  SmallVector<Value> made =
      TypeSwitch<Operation *, SmallVector<Value>>(image.op)
          .Case<tensor::PadOp, tensor::ConcatOp, tensor::ExpandShapeOp,
                tensor::CollapseShapeOp, linalg::TransposeOp, linalg::LinalgOp>(
              [&](auto op) { return rewriteOp(image, op); });
  rewriter.setInsertionPoint(image.op);
  for (auto [old, version] : llvm::zip_equal(image.op->getResults(), made)) {
    Value given = version;
    if (llvm::is_contained(image.results, old)) {
      SmallVector<int64_t> back = invertPermutationVector(
          getChannelsLast(old.getType(), image.numResultChannelDims));
      given = transpose(version, back);
      versions[{given, image.numResultChannelDims}] = version;
    }
    rewriter.replaceAllUsesWith(old, given);
  }
  rewriter.eraseOp(image.op);
}

void LayoutRewriter::finish() {
  for (Operation *op : llvm::reverse(mayBeUnused))
    if (op->use_empty())
      rewriter.eraseOp(op);
}

/// Makes one of transposes that follow each other, those of the program among
/// them, and none where they bring back what was there.
static LogicalResult composeTransposes(Operation *root) {
  SmallVector<Operation *> transposes;
  root->walk([&](linalg::TransposeOp op) { transposes.push_back(op); });
  RewritePatternSet patterns(root->getContext());
  linalg::TransposeOp::getCanonicalizationPatterns(patterns,
                                                   root->getContext());
  return applyOpPatternsGreedily(transposes, std::move(patterns));
}

namespace {
struct ApplyLayoutsPass
    : chimera::impl::ApplyLayoutsPassBase<ApplyLayoutsPass> {
  using Base::Base;

  void runOnOperation() override {
    ImageReader reader(getOperation());
    SmallVector<ImageOp> images;
    WalkResult read = getOperation()->walk([&](Operation *op) {
      if (!op->hasAttr(ChimeraDialect::getLayoutAttrName()))
        return WalkResult::advance();
      std::optional<ImageOp> image = reader.read(op);
      if (!image) {
        op->emitError("'")
            << ChimeraDialect::getLayoutAttrName()
            << "' cannot be applied: only convolutions with channels first, "
               "elementwise operations, reductions, padding, concatenations, "
               "reshapes between channels and groups of them and transposes "
               "that bring channels to the end or back have a layout, all of "
               "static tensors with one to three dimensions of space; "
               "drop the attribute";
        return WalkResult::interrupt();
      }
      images.push_back(std::move(*image));
      return WalkResult::advance();
    });
    if (read.wasInterrupted())
      return signalPassFailure();
    LayoutRewriter rewriter(&getContext());
    for (ImageOp &image : images) {
      auto layout = image.op->getAttrOfType<StringAttr>(
          ChimeraDialect::getLayoutAttrName());
      if (layout.getValue() == ChimeraDialect::getChannelsLastName())
        rewriter.rewrite(std::move(image));
      else
        image.op->removeAttr(ChimeraDialect::getLayoutAttrName());
    }
    rewriter.finish();
    if (!images.empty() && failed(composeTransposes(getOperation())))
      return signalPassFailure();
  }
};
} // namespace
