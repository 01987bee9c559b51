//===- ChimeraOps.cpp - Chain, block, micro kernel ------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/IR/Chimera.h"
#include "Chimera/IR/NumberTypes.h"

#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace chimera;

/// Fails unless the arguments of `body` have the types in `expected`.
static LogicalResult verifyArguments(Operation *op, Block &body,
                                     TypeRange expected) {
  if (body.getNumArguments() != expected.size())
    return op->emitOpError("has ")
           << expected.size() << " operands but its body takes "
           << body.getNumArguments() << " arguments";
  for (auto [index, argument, type] :
       llvm::enumerate(body.getArgumentTypes(), expected))
    if (argument != type)
      return op->emitOpError("operand #")
             << index << " has type " << type
             << " but the argument of the body has type " << argument;
  return success();
}

/// Fails unless the terminator of `body` yields values of the types `expected`.
static LogicalResult verifyYield(Operation *op, Block &body,
                                 TypeRange expected) {
  Operation *yield = body.getTerminator();
  if (yield->getOperandTypes() != expected)
    return op->emitOpError("must yield (")
           << expected << ") but yields (" << yield->getOperandTypes() << ")";
  return success();
}

/// `extents` is an array with one non-empty array for each of `numDims`
/// dimensions, of positive integers and at most one zero, which comes last.
static LogicalResult verifyExtents(Operation *op, ArrayAttr extents,
                                   unsigned numDims) {
  if (!extents)
    return success();
  if (extents.size() != numDims)
    return op->emitOpError("'extents' must list ")
           << numDims << " dimensions, got " << extents.size();
  for (Attribute dim : extents) {
    auto values = dyn_cast<ArrayAttr>(dim);
    if (!values || values.empty() ||
        !llvm::all_of(values, [&](Attribute value) {
          auto integer = dyn_cast<IntegerAttr>(value);
          bool isLast = value == values.getValue().back();
          return integer && (integer.getValue().isStrictlyPositive() ||
                             (integer.getValue().isZero() && isLast));
        }))
      return op->emitOpError(
                 "'extents' must hold a list of positive integers "
                 "for each dimension, after which a 0 may stand for "
                 "any others, got ")
             << dim;
  }
  return success();
}

/// A number of rows is for reductions, and is more than one.
static LogicalResult verifyRowwise(Operation *op, std::optional<uint64_t> rows,
                                   bool isReduction) {
  if (!rows)
    return success();
  if (!isReduction)
    return op->emitOpError("'rowwise' is for reductions");
  if (*rows < 2)
    return op->emitOpError("'rowwise' takes at least 2 rows, got ") << *rows;
  return success();
}

/// Checks that `taps` names a parallel dimension of `numDims` and one that is
/// summed up.
static LogicalResult
verifyTaps(Operation *op, TapsAttr taps, unsigned numDims,
           llvm::function_ref<bool(unsigned)> isReduction) {
  if (!taps)
    return success();
  if (taps.getPixel() >= numDims || taps.getTap() >= numDims)
    return op->emitOpError("'taps' names a dimension that does not exist; "
                           "there are ")
           << numDims;
  if (isReduction(taps.getPixel()) || !isReduction(taps.getTap()))
    return op->emitOpError("'taps' must name a parallel dimension as 'pixel' "
                           "and a reduction as 'tap'");
  return success();
}

//===----------------------------------------------------------------------===//
// ChainOp
//===----------------------------------------------------------------------===//

LogicalResult ChainOp::verifyRegions() {
  Block &body = *getBody().begin();
  if (failed(verifyArguments(*this, body, getInputs().getTypes())) ||
      failed(verifyYield(*this, body, getResultTypes())))
    return failure();
  if (getResults().empty())
    return emitOpError("must have a result");
  bool hasContraction = false;
  for (Operation &op : body.without_terminator()) {
    if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
      hasContraction |= linalgOp.getNumReductionLoops() > 0;
      if (!linalgOp.hasPureTensorSemantics())
        return emitOpError("works on tensors, but '")
               << op.getName() << "' in its body does not";
      continue;
    }
    bool isPlain = op.getNumRegions() == 0 || isa<tensor::PadOp>(op);
    if (!isMemoryEffectFree(&op) || !isPlain)
      return emitOpError("cannot hold '")
             << op.getName()
             << "'; allowed are linalg operations, padding and pure operations "
                "without regions";
  }
  if (!hasContraction)
    return emitOpError("must hold at least one operation with a reduction");
  return success();
}

//===----------------------------------------------------------------------===//
// BlockOp
//===----------------------------------------------------------------------===//

linalg::LinalgOp BlockOp::getStructuredOp() {
  Operation *yield = getBody().front().getTerminator();
  return yield->getOperand(0).getDefiningOp<linalg::LinalgOp>();
}

/// Types that differ at most in which extents of a tensor are known. Upstream
/// patterns refine operands and results of operations in destination style, and
/// know nothing of bodies.
static bool areCompatible(TypeRange outside, TypeRange inside) {
  return llvm::equal(outside, inside, [](Type outer, Type inner) {
    auto left = dyn_cast<RankedTensorType>(outer);
    auto right = dyn_cast<RankedTensorType>(inner);
    return outer == inner ||
           (left && right && left.getElementType() == right.getElementType() &&
            succeeded(verifyCompatibleShape(left, right)));
  });
}

LogicalResult BlockOp::verifyRegions() {
  Block &body = *getBody().begin();
  bool isRefined =
      areCompatible(getOperandTypes(), body.getArgumentTypes()) &&
      areCompatible(getResultTypes(), body.getTerminator()->getOperandTypes());
  if (!isRefined && (failed(verifyArguments(*this, body, getOperandTypes())) ||
                     failed(verifyYield(*this, body, getResultTypes()))))
    return failure();
  if (getOutputs().empty())
    return emitOpError("must update a tensor");
  linalg::LinalgOp structured = getStructuredOp();
  if (!structured || structured->getBlock() != &body)
    return emitOpError("must yield the result of a linalg operation in its "
                       "body");
  for (Operation &op : body.without_terminator())
    if (!isMemoryEffectFree(&op))
      return emitOpError("cannot hold '")
             << op.getName() << "', which has side effects";
  if (ArrayRef<int64_t> packed = getPacked().value_or(ArrayRef<int64_t>());
      llvm::any_of(packed, [&](int64_t input) {
        return input < 0 || input >= static_cast<int64_t>(getInputs().size());
      }))
    return emitOpError("'packed' names an input that does not exist; there "
                       "are ")
           << getInputs().size();
  if (failed(verifyTaps(*this, getTapsAttr(), structured.getNumLoops(),
                        [&](unsigned dim) {
                          return structured.getIteratorTypesArray()[dim] ==
                                 utils::IteratorType::reduction;
                        })))
    return failure();
  if (failed(verifyRowwise(*this, getRowwise(),
                           structured.getNumReductionLoops() > 0)))
    return failure();
  return verifyExtents(*this, getExtentsAttr(), structured.getNumLoops());
}

namespace {
/// Folds a block away that yields its arguments. Upstream patterns take an
/// operation out of it that turns out to compute nothing: the smaller of a
/// value and itself, say.
struct ForwardArguments : OpRewritePattern<BlockOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(BlockOp block,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> operands;
    for (Value yielded :
         block.getBody().front().getTerminator()->getOperands()) {
      while (auto cast = yielded.getDefiningOp<tensor::CastOp>())
        yielded = cast.getSource();
      auto argument = dyn_cast<BlockArgument>(yielded);
      if (!argument)
        return rewriter.notifyMatchFailure(block, "computes something");
      operands.push_back(block->getOperand(argument.getArgNumber()));
    }
    for (auto [operand, type] :
         llvm::zip_equal(operands, block.getResultTypes()))
      if (operand.getType() != type)
        operand =
            tensor::CastOp::create(rewriter, block.getLoc(), type, operand);
    rewriter.replaceOp(block, operands);
    return success();
  }
};
} // namespace

void BlockOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                          MLIRContext *context) {
  patterns.add<ForwardArguments>(context);
}

//===----------------------------------------------------------------------===//
// PrepareOp
//===----------------------------------------------------------------------===//

LogicalResult PrepareOp::verify() {
  if (!getOrigin() != !getPlaces())
    return emitOpError("needs both an origin and the places of its elements, "
                       "or neither");
  if (!getOrigin())
    return success();
  RankedTensorType origin = getOrigin().getType(), type = getType();
  if (origin.getElementType() != type.getElementType())
    return emitOpError("has elements of ")
           << type.getElementType() << ", but its origin has them of "
           << origin.getElementType();
  AffineMap places = *getPlaces();
  if (places.getNumDims() != origin.getRank() || places.getNumSymbols() != 0 ||
      places.getNumResults() != type.getRank())
    return emitOpError("needs places that map ")
           << origin.getRank() << " indices of the origin to " << type.getRank()
           << " of the result";
  return success();
}

//===----------------------------------------------------------------------===//
// SizeOp
//===----------------------------------------------------------------------===//

LogicalResult SizeOp::verify() {
  auto function = (*this)->getParentOfType<FunctionOpInterface>();
  auto open = function ? function->getAttrOfType<DenseI64ArrayAttr>(
                             ChimeraDialect::getOpenSizesAttrName())
                       : DenseI64ArrayAttr();
  int64_t left = getPlaceholder();
  for (int64_t placeholder : open ? open.asArrayRef() : ArrayRef<int64_t>())
    while (left % placeholder == 0)
      left /= placeholder;
  if (left != int64_t(getPlaceholder()))
    return success();
  return emitOpError("needs a function whose '")
         << ChimeraDialect::getOpenSizesAttrName() << "' lists "
         << getPlaceholder() << " or what it is a multiple of";
}

//===----------------------------------------------------------------------===//
// MicroKernelOp
//===----------------------------------------------------------------------===//

SmallVector<AffineMap> MicroKernelOp::getMaps() {
  return llvm::to_vector(getIndexingMaps().getAsValueRange<AffineMapAttr>());
}

bool MicroKernelOp::isReduction(unsigned dim) {
  return cast<StringAttr>(getIteratorTypes()[dim]).getValue() == "reduction";
}

/// True if `memory` is a part of memory that nobody but `users` accesses.
static bool isUsedOnlyBy(Value memory, ArrayRef<Operation *> users) {
  while (auto view = memory.getDefiningOp<memref::SubViewOp>())
    memory = view.getSource();
  if (!memory.getDefiningOp<memref::AllocOp>() &&
      !memory.getDefiningOp<memref::AllocaOp>())
    return false;
  SmallVector<Value> views = {memory};
  while (!views.empty())
    for (Operation *user : views.pop_back_val().getUsers()) {
      if (auto view = dyn_cast<memref::SubViewOp>(user))
        views.push_back(view);
      else if (!isa<memref::DeallocOp>(user) &&
               !llvm::is_contained(users, user))
        return false;
    }
  return true;
}

BlockArgument MicroKernelOp::getSums(MicroKernelOp contraction) {
  for (OpOperand &operand : (*this)->getOpOperands())
    if (operand.get() == contraction.getOutput())
      return getBody().getArgument(operand.getOperandNumber());
  return {};
}

MicroKernelOp MicroKernelOp::getFinish() {
  if (getKind() != MicroKernelKind::Contraction ||
      !isa<MemRefType>(getOutput().getType()))
    return {};
  Operation *next = (*this)->getNextNode();
  while (next && isPure(next) && !next->hasTrait<OpTrait::IsTerminator>())
    next = next->getNextNode();
  auto finish = dyn_cast_or_null<MicroKernelOp>(next);
  if (!finish || finish.getKind() != MicroKernelKind::Elementwise ||
      finish.getOutputs().size() != 1 ||
      llvm::count(finish->getOperands(), getOutput()) != 1 ||
      !finish.getMaps().back().isPermutation() ||
      !getMaps().back().isProjectedPermutation())
    return {};
  BlockArgument sums = finish.getSums(*this);
  if (!finish.getMaps()[sums.getArgNumber()].isPermutation())
    return {};
  bool isInPlace = finish.getOutput() == getOutput();
  if (!isInPlace && (!getOverwrite() || finish.readsOutput() ||
                     !isUsedOnlyBy(getOutput(), {*this, finish})))
    return {};
  return finish;
}

SmallVector<int64_t> MicroKernelOp::getExtentsOf(unsigned dim) {
  SmallVector<int64_t> result;
  if (ArrayAttr extents = getExtentsAttr())
    for (Attribute value : cast<ArrayAttr>(extents[dim]))
      if (int64_t extent = cast<IntegerAttr>(value).getInt())
        result.push_back(extent);
  return result;
}

bool MicroKernelOp::isOpen(unsigned dim) {
  ArrayAttr extents = getExtentsAttr();
  return extents &&
         llvm::any_of(cast<ArrayAttr>(extents[dim]), [](Attribute value) {
           return cast<IntegerAttr>(value).getInt() == 0;
         });
}

bool MicroKernelOp::readsOutput(unsigned index) {
  if (getOverwrite())
    return false;
  unsigned argument = getInputs().size() + index;
  return !getBody().front().getArgument(argument).use_empty();
}

/// Fails unless every map is a projected permutation of `numDims` dimensions
/// that fits its operand, and the maps together bound every dimension.
static LogicalResult verifyMaps(MicroKernelOp op) {
  unsigned numDims = op.getNumDims();
  SmallVector<AffineMap> maps = op.getMaps();
  if (maps.size() != op->getNumOperands())
    return op.emitOpError("has ") << op->getNumOperands() << " operands but "
                                  << maps.size() << " indexing maps";
  llvm::SmallBitVector bounded(numDims);
  for (auto [index, map, operand] : llvm::enumerate(maps, op->getOperands())) {
    if (map.getNumDims() != numDims || map.getNumSymbols() != 0)
      return op.emitOpError("indexing map #")
             << index << " must take " << numDims
             << " dimensions and no symbols, got " << AffineMapAttr::get(map);
    if (!map.isProjectedPermutation())
      return op.emitOpError("indexing map #")
             << index << " must be a projected permutation, got "
             << AffineMapAttr::get(map);
    auto shaped = dyn_cast<ShapedType>(operand.getType());
    if (shaped && !shaped.hasRank())
      return op.emitOpError("operand #") << index << " must have a rank";
    int64_t rank = shaped ? shaped.getRank() : 0;
    if (map.getNumResults() != rank)
      return op.emitOpError("indexing map #")
             << index << " has " << map.getNumResults()
             << " results but its operand has rank " << rank;
    for (AffineExpr result : map.getResults())
      bounded.set(cast<AffineDimExpr>(result).getPosition());
  }
  if (!bounded.all())
    return op.emitOpError("dimension d")
           << bounded.find_first_unset() << " is indexed by no operand";
  return success();
}

/// Fails unless some output is not indexed by any reduced dimension, or nothing
/// is reduced. Contractions have no other outputs.
static LogicalResult verifyOutputs(MicroKernelOp op) {
  bool isReduction = op.getKind() == MicroKernelKind::Reduction;
  bool takesSeveral =
      isReduction || op.getKind() == MicroKernelKind::Elementwise;
  if (op.getOutputs().empty() || (op.getOutputs().size() > 1 && !takesSeveral))
    return op.emitOpError("of kind '")
           << stringifyMicroKernelKind(op.getKind())
           << "' must have one output, got " << op.getOutputs().size();
  bool reduces = false;
  SmallVector<AffineMap> maps = op.getMaps();
  for (AffineMap map : ArrayRef(maps).take_back(op.getOutputs().size())) {
    std::optional<unsigned> reduced;
    for (unsigned dim = 0; dim < op.getNumDims() && !reduced; ++dim)
      if (op.isReduction(dim) && map.isFunctionOfDim(dim))
        reduced = dim;
    if (reduced && !isReduction)
      return op.emitOpError("dimension d")
             << *reduced << " is a reduction but indexes the output";
    reduces |= !reduced;
  }
  if (!reduces)
    return op.emitOpError("every output is indexed by a reduction");
  return success();
}

/// The shapes of the operands must agree on the extent of every dimension.
static LogicalResult verifyShapes(MicroKernelOp op) {
  SmallVector<int64_t> extents(op.getNumDims(), ShapedType::kDynamic);
  for (auto [map, operand] : llvm::zip_equal(op.getMaps(), op->getOperands())) {
    auto shaped = dyn_cast<ShapedType>(operand.getType());
    if (!shaped)
      continue;
    for (auto [result, size] :
         llvm::zip_equal(map.getResults(), shaped.getShape())) {
      unsigned dim = cast<AffineDimExpr>(result).getPosition();
      if (ShapedType::isDynamic(size))
        continue;
      if (!ShapedType::isDynamic(extents[dim]) && extents[dim] != size)
        return op.emitOpError("operands disagree on the extent of dimension d")
               << dim << ": " << extents[dim] << " and " << size;
      extents[dim] = size;
    }
  }
  return success();
}

LogicalResult MicroKernelOp::verifyRegions() {
  for (Attribute iterator : getIteratorTypes())
    if (StringRef name = cast<StringAttr>(iterator).getValue();
        name != "parallel" && name != "reduction")
      return emitOpError("iterator types are 'parallel' and 'reduction', got '")
             << name << "'";
  if (failed(verifyMaps(*this)) || failed(verifyOutputs(*this)) ||
      failed(verifyShapes(*this)))
    return failure();

  SmallVector<Type> elementTypes;
  for (Value operand : getOperands())
    elementTypes.push_back(getElementTypeOrSelf(operand.getType()));
  Block &body = *getBody().begin();
  if (failed(verifyArguments(*this, body, elementTypes)) ||
      failed(verifyYield(
          *this, body, ArrayRef(elementTypes).take_back(getOutputs().size()))))
    return failure();

  bool reduces = llvm::any_of(llvm::seq(getNumDims()),
                              [&](unsigned dim) { return isReduction(dim); });
  bool mustReduce = getKind() == MicroKernelKind::Contraction ||
                    getKind() == MicroKernelKind::Reduction;
  if (reduces != mustReduce)
    return emitOpError("of kind '") << stringifyMicroKernelKind(getKind())
                                    << (reduces ? "' must not have a reduction"
                                                : "' must have a reduction");
  if (getOverwrite() && getKind() != MicroKernelKind::Contraction)
    return emitOpError("'overwrite' is for contractions; other kinds overwrite "
                       "what their body does not read");
  if (failed(verifyTaps(*this, getTapsAttr(), getNumDims(),
                        [&](unsigned dim) { return isReduction(dim); })))
    return failure();
  if (failed(verifyRowwise(*this, getRowwise(),
                           getKind() == MicroKernelKind::Reduction)))
    return failure();
  return verifyExtents(*this, getExtentsAttr(), getNumDims());
}

void MicroKernelOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  for (OpOperand &operand : getOperation()->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    unsigned number = operand.getOperandNumber(), inputs = getInputs().size();
    bool isOutput = number >= inputs;
    if (!isOutput || readsOutput(number - inputs))
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
    if (isOutput)
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
  }
}

namespace {
/// What a hint changes: nothing that a program could read.
struct PrefetchQueue : SideEffects::Resource::Base<PrefetchQueue> {
  StringRef getName() final { return "prefetch queue"; }
};
} // namespace

void PrefetchOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  effects.emplace_back(MemoryEffects::Write::get(), PrefetchQueue::get());
}

LogicalResult PrefetchOp::verify() {
  auto type = cast<ShapedType>(getSource().getType());
  if (static_cast<int64_t>(getBounds().size()) != type.getRank())
    return emitOpError("has ") << getBounds().size() << " bounds for "
                               << type.getRank() << " dimensions";
  for (auto [bound, size] : llvm::zip_equal(getBounds(), type.getShape()))
    if (bound < 1 || (!ShapedType::isDynamic(size) && size > bound))
      return emitOpError("has bound ") << bound << ", which its source exceeds";
  return success();
}

LogicalResult IndexOp::verify() {
  auto kernel = cast<MicroKernelOp>((*this)->getParentOp());
  if (getDim() >= kernel.getNumDims())
    return emitOpError("names dimension ")
           << getDim() << " of a kernel with " << kernel.getNumDims();
  return success();
}

//===----------------------------------------------------------------------===//
// ShiftOp
//===----------------------------------------------------------------------===//

LogicalResult ShiftOp::verify() {
  int64_t rank = getSource().getType().getRank();
  if (getDim() >= static_cast<uint64_t>(rank))
    return emitOpError("moves rows along dimension ")
           << getDim() << " of a tensor with " << rank;
  return success();
}

//===----------------------------------------------------------------------===//
// WindowsOp
//===----------------------------------------------------------------------===//

SmallVector<std::pair<unsigned, int64_t>> WindowsOp::getSteps() {
  SmallVector<std::pair<unsigned, int64_t>> steps(getMap().getNumDims());
  std::vector<SmallVector<int64_t, 8>> sums;
  (void)getFlattenedAffineExprs(getMap(), &sums);
  for (auto [position, sum] : llvm::enumerate(sums))
    for (auto [dim, factor] : llvm::enumerate(ArrayRef(sum).drop_back()))
      if (factor != 0)
        steps[dim] = {position, factor};
  return steps;
}

LogicalResult WindowsOp::verify() {
  RankedTensorType source = getSource().getType(), result = getType();
  AffineMap map = getMap();
  if (source.getElementType() != result.getElementType())
    return emitOpError("shows elements of type ")
           << source.getElementType() << " as " << result.getElementType();
  if (map.getNumDims() != result.getRank() || map.getNumSymbols() != 0 ||
      map.getNumResults() != source.getRank())
    return emitOpError("must have a map from the ")
           << result.getRank() << " dimensions of its result to the "
           << source.getRank() << " of its source, got "
           << AffineMapAttr::get(map);
  std::vector<SmallVector<int64_t, 8>> sums;
  if (failed(getFlattenedAffineExprs(map, &sums)))
    return emitOpError("must be indexed by sums, got ")
           << AffineMapAttr::get(map);
  SmallVector<unsigned> uses(map.getNumDims());
  for (auto [position, sum] : llvm::enumerate(sums)) {
    int64_t last = sum.pop_back_val();
    if (sum.size() != map.getNumDims() || last != 0)
      return emitOpError("must be indexed by sums of its dimensions, got ")
             << AffineMapAttr::get(map);
    bool isAlone = llvm::count_if(sum, [](int64_t x) { return x != 0; }) == 1;
    for (auto [dim, factor] : llvm::enumerate(sum)) {
      if (factor < 0)
        return emitOpError("moves backwards along dimension d") << dim;
      uses[dim] += factor != 0;
      if (!result.isDynamicDim(dim))
        last += factor * (result.getDimSize(dim) - 1);
      else if (factor != 0 &&
               (factor != 1 || !isAlone || !source.isDynamicDim(position)))
        return emitOpError("has dimension d")
               << dim
               << " of a size that is not known, which must be all of a "
                  "dimension of its source";
    }
    if (!source.isDynamicDim(position) && last >= source.getDimSize(position))
      return emitOpError("reads element ")
             << last << " of the " << source.getDimSize(position)
             << " along dimension " << position << " of its source";
  }
  for (auto [dim, count] : llvm::enumerate(uses))
    if (count != 1)
      return emitOpError("dimension d")
             << dim << " must be part of one index, not of " << count;
  return success();
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

bool chimera::multipliesAndAdds(Block &body) {
  if (body.getNumArguments() != 3)
    return false;
  Value lhs = body.getArgument(0), rhs = body.getArgument(1),
        accumulator = body.getArgument(2);
  auto sum = matchSum(body.getTerminator()->getOperand(0));
  if (!sum || (sum->first != accumulator && sum->second != accumulator))
    return false;
  Value product = sum->first == accumulator ? sum->second : sum->first;
  auto factors = matchProduct(product);
  if (!factors || !canBeSum(product.getType()))
    return false;
  Value first = skipWidening(factors->first),
        second = skipWidening(factors->second);
  return (first == lhs && second == rhs) || (first == rhs && second == lhs);
}

#define GET_OP_CLASSES
#include "Chimera/IR/ChimeraOps.cpp.inc"
