//===- ChooseLayouts.cpp - In which order images lie in memory ------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tells the model which operations hand on which images, and gives operations
// their layout as an attribute. What it means is up to chimera-apply-layouts.
//
//===----------------------------------------------------------------------===//

#include "Layout/ImageOps.h"
#include "NamedRemarks.h"

#include "Chimera/Chain/OpKinds.h"
#include "Chimera/Chain/SameInEveryCall.h"
#include "Chimera/IR/ElementBytes.h"
#include "Chimera/IR/MicroKernels.h"
#include "Chimera/Model/Algorithms.h"
#include "Chimera/Model/Layouts.h"
#include "Chimera/Target/Target.h"
#include "Chimera/Transforms/Passes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"

namespace chimera {
#define GEN_PASS_DEF_CHOOSELAYOUTSPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

namespace {

/// Chooses the layouts of the operations of one block.
class LayoutChooser {
public:
  LayoutChooser(const model::Machine &machine, int64_t threads,
                const OperatorSupport &support)
      : machine(machine), threads(threads), support(support) {}

  void add(ImageOp op);
  /// Nothing can be gained without a convolution.
  bool hasConvolutions() const { return numConvolutions > 0; }
  void run();

private:
  model::LayoutProblem::Operation getSeconds(const ImageOp &op) const;
  void addImages();
  bool readsImage(OpOperand &use, int64_t numChannelDims) const;
  double getBytes(Type type) const;

  const model::Machine &machine;
  int64_t threads;
  const OperatorSupport &support;
  SmallVector<ImageOp> ops;
  llvm::DenseMap<Operation *, unsigned> indexOf;
  unsigned numConvolutions = 0;
  model::LayoutProblem problem;
};

} // namespace

double LayoutChooser::getBytes(Type type) const {
  auto tensor = cast<RankedTensorType>(type);
  return static_cast<double>(tensor.getNumElements()) *
         bytesOf(tensor.getElementType());
}

void LayoutChooser::add(ImageOp op) {
  indexOf[op.op] = ops.size();
  numConvolutions += op.filter != nullptr;
  problem.operations.push_back(getSeconds(op));
  ops.push_back(std::move(op));
}

/// The loop over the filters of `image`, a convolution: those of a group, or
/// the groups if each has one channel and one filter.
static unsigned findFilters(const ImageOp &image) {
  auto op = cast<linalg::LinalgOp>(image.op);
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  AffineMap read = op.getIndexingMapsArray()[0],
            made = op.getIndexingMapsArray()[2];
  unsigned last = image.numChannelDims;
  bool isOne = extents[read.getDimPosition(last)] == 1 &&
               extents[made.getDimPosition(last)] == 1;
  return made.getDimPosition(isOne ? 1 : last);
}

/// True if `value`, or what is made of it element by element, is made as a part
/// of a larger tensor.
static bool becomesPart(Value value) {
  llvm::SetVector<Value> made;
  made.insert(value);
  for (size_t index = 0; index < made.size(); ++index)
    for (Operation *user : made[index].getUsers()) {
      if (isa<tensor::PadOp, tensor::ConcatOp>(user))
        return true;
      if (auto op = dyn_cast<linalg::LinalgOp>(user); op && isParallel(op))
        made.insert_range(op->getResults());
    }
  return false;
}

/// The rows of `image`, a convolution, that are one in its result and in what
/// it reads: all rows of an image if no window tells them apart.
static int64_t countJoinedRows(const ImageOp &image) {
  auto op = cast<linalg::LinalgOp>(image.op);
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  auto type = cast<RankedTensorType>(op->getOperand(0).getType());
  AffineMap read = op.getIndexingMapsArray()[0],
            made = op.getIndexingMapsArray()[2];
  int64_t count = 1, row = 1;
  for (unsigned dim = 1 + image.numChannelDims; dim < read.getNumResults();
       ++dim) {
    unsigned pixel = made.getDimPosition(dim);
    std::optional<AffineIndex> index = linearize(read.getResult(dim), extents);
    row = extents[pixel];
    count *= row;
    if (!index || index->terms.size() != 1 ||
        index->terms.front() != std::make_pair(pixel, int64_t(1)) ||
        row != type.getDimSize(dim))
      return 1;
  }
  return becomesPart(op->getResult(0)) ? 1 : count / row;
}

/// What a convolution takes in each layout, a transpose where the image is not
/// as it makes it, and padding of what the program hands in: that is a copy,
/// which an image that is transposed goes without. Everything else takes the
/// same.
model::LayoutProblem::Operation
LayoutChooser::getSeconds(const ImageOp &image) const {
  constexpr double impossible = model::LayoutProblem::impossible;
  if (auto given = image.op->getAttrOfType<StringAttr>(
          ChimeraDialect::getLayoutAttrName())) {
    bool isLast = given.getValue() == ChimeraDialect::getChannelsLastName();
    return {isLast ? impossible : 0, isLast ? 0 : impossible};
  }
  if (isa<linalg::TransposeOp>(image.op)) {
    Type type = image.op->getResult(0).getType();
    double seconds = model::secondsToReorder(
        getBytes(type), bytesOf(getElementTypeOrSelf(type)), machine, threads);
    return {/*asGiven=*/seconds, /*channelsLast=*/0};
  }
  if (auto pad = dyn_cast<tensor::PadOp>(image.op);
      pad && isa<BlockArgument>(pad.getSource()))
    return {/*asGiven=*/model::secondsToCopy(getBytes(pad.getType()), machine,
                                             threads),
            /*channelsLast=*/0};
  if (!image.filter)
    return {};
  auto op = cast<linalg::LinalgOp>(image.op);
  // What no code is generated from gains nothing.
  if (!support.computes(*op.getBlock()))
    return {};
  // Rows in registers are pixels, so that what a layer makes is the left
  // operand of the next one: there are no other kernels.
  if (machine.groups)
    return {impossible, /*channelsLast=*/0};
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  AffineMap result = op.getIndexingMapsArray()[2];
  model::ConvolutionFigures figures;
  figures.multiplyAdds = 1;
  for (auto [dim, extent] : llvm::enumerate(extents)) {
    figures.multiplyAdds *= extent;
    if (!result.isFunctionOfDim(dim))
      figures.depth *= extent;
  }
  unsigned width = result.getDimPosition(result.getNumResults() - 1);
  unsigned along = findFilters(image);
  figures.filters = extents[along];
  figures.width = extents[width];
  figures.joinedRows = countJoinedRows(image);
  AffineExpr last = op.getIndexingMapsArray()[0].getResults().back();
  if (std::optional<AffineIndex> index = linearize(last, extents)) {
    figures.hasTapsAlongRows = index->terms.size() > 1;
    for (auto [loop, factor] : index->terms)
      if (loop == width)
        figures.stride = factor;
  }
  figures.isDepthwise = op.getIndexingMapsArray()[0].isFunctionOfDim(along);
  Type filters = image.filter->get().getType();
  if (!isSameInEveryCall(image.filter->get()))
    figures.filterBytes = getBytes(filters);
  figures.elementBytes = bytesOf(getElementTypeOrSelf(filters));
  return {
      secondsOf(figures, model::ImageLayout::AsGiven, machine, threads),
      secondsOf(figures, model::ImageLayout::ChannelsLast, machine, threads)};
}

void LayoutChooser::addImages() {
  // Who takes channels for space has nothing of what others transpose.
  using Key = std::pair<Value, int64_t>;
  llvm::MapVector<Key, model::LayoutProblem::Image> images;
  auto getImage = [&](Key key) -> model::LayoutProblem::Image & {
    auto [it, isNew] = images.insert({key, {}});
    Type type = key.first.getType();
    if (isNew)
      it->second.secondsToReorder = model::secondsToReorder(
          getBytes(type), bytesOf(getElementTypeOrSelf(type)), machine,
          threads);
    return it->second;
  };
  for (auto [index, op] : llvm::enumerate(ops)) {
    for (OpOperand *operand : op.images) {
      if (startsInAnyLayout(operand->get()))
        continue;
      std::vector<unsigned> &readers =
          getImage({operand->get(), op.numChannelDims}).readers;
      if (!llvm::is_contained(readers, index))
        readers.push_back(index);
    }
    for (Value result : op.results) {
      model::LayoutProblem::Image &image =
          getImage({result, op.numResultChannelDims});
      image.maker = index;
      image.isReadOutside =
          llvm::any_of(result.getUses(),
                       [&, made = op.numResultChannelDims](OpOperand &use) {
                         return !readsImage(use, made);
                       });
    }
  }
  for (auto &[key, image] : images)
    problem.images.push_back(std::move(image));
}

/// True if an operation that can have either layout reads `use`, with its
/// channels in `numChannelDims` dimensions.
bool LayoutChooser::readsImage(OpOperand &use, int64_t numChannelDims) const {
  auto reader = indexOf.find(use.getOwner());
  if (reader == indexOf.end())
    return false;
  const ImageOp &op = ops[reader->second];
  return op.numChannelDims == numChannelDims &&
         llvm::is_contained(op.images, &use);
}

/// Says which layout a convolution has, and what it takes in each.
static void report(Location loc, bool isLast,
                   const model::LayoutProblem::Operation &seconds) {
  auto remark = remark::analysis(loc, named("layout"));
  if (seconds.asGiven == model::LayoutProblem::impossible)
    remark << "channels last, the only layout that there are kernels for";
  else
    remark << remark::add("{0}: {1:f1} us with channels first, {2:f1} with "
                          "channels last",
                          isLast ? "channels last" : "as given",
                          seconds.asGiven * 1e6, seconds.channelsLast * 1e6);
}

void LayoutChooser::run() {
  addImages();
  model::LayoutPlan plan = chooseLayouts(problem);
  for (auto [op, layout, seconds] :
       llvm::zip_equal(ops, plan.layouts, problem.operations)) {
    if (op.op->hasAttr(ChimeraDialect::getLayoutAttrName()))
      continue;
    bool isLast = layout == model::ImageLayout::ChannelsLast;
    if (isLast)
      op.op->setAttr(ChimeraDialect::getLayoutAttrName(),
                     StringAttr::get(op.op->getContext(),
                                     ChimeraDialect::getChannelsLastName()));
    if (op.filter)
      report(op.op->getLoc(), isLast, seconds);
  }
}

namespace {
struct ChooseLayoutsPass
    : chimera::impl::ChooseLayoutsPassBase<ChooseLayoutsPass> {
  using Base::Base;

  /// The threads for which layouts are chosen. Where kernels add up in another
  /// order if filters are their vectors, layouts must not depend on threads.
  int64_t getThreads(const model::Machine &machine) {
    if (model::longPartOf(machine) > 0)
      return 1;
    return threads == 0 ? machine.cores : threads;
  }

  void runOnOperation() override {
    if (failed(verifyPlanningOptions(getOperation(), target, threads)))
      return signalPassFailure();
    FailureOr<TargetAttrInterface> found =
        resolveTarget(getOperation(), target);
    if (failed(found))
      return signalPassFailure();
    OperatorSupport support = getOperatorSupport(getOperation(), *found);
    // Layouts are for those who compile convolutions.
    if (!support.hasWindows)
      return;
    model::Machine machine = found->getCommonFigures();
    ImageReader reader(getOperation());
    getOperation()->walk([&](Block *block) {
      if (isa<ChainOp, BlockOp, MicroKernelOp, linalg::LinalgOp>(
              block->getParentOp()))
        return;
      LayoutChooser chooser(machine, getThreads(machine), support);
      for (Operation &op : *block)
        if (std::optional<ImageOp> image = reader.read(&op))
          chooser.add(std::move(*image));
      if (chooser.hasConvolutions())
        chooser.run();
    });
  }
};
} // namespace
