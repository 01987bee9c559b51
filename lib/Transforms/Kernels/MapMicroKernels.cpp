//===- MapMicroKernels.cpp - Blocks to micro kernels ----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block says what is computed; here it gets the micro kernel that the target
// offers, and its operands the layout that kernel reads. An operand is copied
// where the schedule says so, or where there is no other way; the copy is made
// outside all loops over which its source does not change, so a tile is packed
// when it enters the level and not each time it is used. While kernels compute,
// they ask for what comes next as far as their block says.
//
//===----------------------------------------------------------------------===//

#include "Kernels/Prefetch.h"
#include "Kernels/Roundings.h"
#include "NamedRemarks.h"
#include "Tile/RowPadding.h"

#include "Chimera/Chain/OpKinds.h"
#include "Chimera/IR/MicroKernels.h"
#include "Chimera/IR/NumberTypes.h"
#include "Chimera/IR/ProductBody.h"
#include "Chimera/Target/Target.h"
#include "Chimera/Transforms/BufferScope.h"
#include "Chimera/Transforms/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"
#include "mlir/Transforms/RegionUtils.h"

namespace chimera {
#define GEN_PASS_DEF_MAPMICROKERNELSPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

/// Copies the scalar body of `structured` into `region`; constants from outside
/// move in, since a micro kernel is isolated.
static void buildKernelBody(OpBuilder &builder, linalg::LinalgOp structured,
                            Region &region) {
  OpBuilder::InsertionGuard guard(builder);
  Block *source = structured.getBlock();
  Block &body = region.emplaceBlock();
  IRMapping mapping;
  for (BlockArgument argument : source->getArguments())
    mapping.map(argument,
                body.addArgument(argument.getType(), argument.getLoc()));
  builder.setInsertionPointToStart(&body);
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(structured->getRegions(), captured);
  for (Value value : captured)
    builder.clone(*value.getDefiningOp(), mapping);
  for (Operation &op : source->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(op))
      mapping.map(index.getResult(),
                  IndexOp::create(builder, op.getLoc(), builder.getIndexType(),
                                  index.getDim()));
    else
      builder.clone(op, mapping);
  }
  SmallVector<Value> yielded;
  for (Value value : source->getTerminator()->getOperands())
    yielded.push_back(mapping.lookupOrDefault(value));
  YieldOp::create(builder, structured.getLoc(), yielded);
  joinRoundings(body);
}

/// A micro kernel only knows constants and its operands.
static bool capturesOnlyConstants(linalg::LinalgOp structured) {
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(structured->getRegions(), captured);
  return llvm::all_of(captured, [](Value value) {
    Operation *definition = value.getDefiningOp();
    return definition && definition->hasTrait<OpTrait::ConstantLike>();
  });
}

/// Only contractions can start from zero; others are filled by a kernel.
static bool isContraction(linalg::LinalgOp structured) {
  return structured.getNumReductionLoops() > 0 &&
         structured.getNumDpsInits() == 1 &&
         matchProductBody(*structured.getBlock()).has_value();
}

static bool startsFromZero(linalg::LinalgOp structured) {
  if (!isContraction(structured))
    return false;
  auto fill = structured.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
  return fill && isZero(fill.getInputs()[0]);
}

/// True if `structured` copies so that the contiguous dimension of its input is
/// another than that of its output.
static bool transposes(linalg::LinalgOp structured) {
  if (isa<linalg::FillOp>(structured) || !isMovement(structured))
    return false;
  AffineMap source = structured.getIndexingMapsArray().front(),
            target = structured.getIndexingMapsArray().back();
  return source.getNumResults() > 0 &&
         source.getResults().back() != target.getResults().back();
}

static MicroKernelKind getKind(linalg::LinalgOp structured) {
  if (isContraction(structured))
    return MicroKernelKind::Contraction;
  if (structured.getNumReductionLoops() > 0)
    return MicroKernelKind::Reduction;
  return transposes(structured) ? MicroKernelKind::Pack
                                : MicroKernelKind::Elementwise;
}

/// Why `block` is no micro kernel, if so. It is one if its structured operation
/// reads the block's inputs and updates its outputs: nothing else happens
/// inside.
static std::optional<StringRef> getObstacle(BlockOp block) {
  linalg::LinalgOp structured = block.getStructuredOp();
  bool readsArguments =
      llvm::all_of(structured.getDpsInputs(), [&](Value input) {
        return isa<BlockArgument>(input) || (isa<linalg::FillOp>(structured) &&
                                             matchPattern(input, m_Constant()));
      });
  if (!readsArguments)
    return "its operation reads more than the block's inputs";
  if (!capturesOnlyConstants(structured))
    return "the body of its operation uses values from outside that are no "
           "constants";
  if (!llvm::all_of(structured.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isProjectedPermutation(); }))
    return "its operation is not indexed by projected permutations";
  SmallVector<Value> inits(structured.getDpsInits());
  if (startsFromZero(structured))
    inits[0] = inits[0].getDefiningOp<linalg::FillOp>().getOutputs()[0];
  ValueRange yielded = block.getBody().front().getTerminator()->getOperands();
  if (!llvm::equal(inits, block.getBody().front().getArguments().take_back(
                              block.getOutputs().size())) ||
      !llvm::equal(yielded, structured->getResults()))
    return "its operation does not update the block's outputs alone";
  return std::nullopt;
}

namespace {

/// A dimension along which a copy ends in zeros, up to a multiple of some
/// extent.
struct Padding {
  unsigned dim = 0;
  int64_t multiple = 1;
};

class BlockMapper {
public:
  /// A cache line of `target` has `lineBytes`.
  BlockMapper(BlockOp block, TargetAttrInterface target, int64_t lineBytes)
      : builder(block), block(block), structured(block.getStructuredOp()),
        target(target), lineBytes(lineBytes) {}

  MicroKernelOp map();

private:
  MicroKernelOp createKernel();
  void chooseImplementation(MicroKernelOp kernel);
  void packOperands(MicroKernelOp kernel);
  void pack(MicroKernelOp kernel, unsigned input, ArrayRef<unsigned> last,
            Padding padding = {});
  Value padWithZeros(Value buffer, ArrayRef<OpFoldResult> sizes, unsigned place,
                     OpFoldResult padded);
  bool isPadded(MicroKernelOp kernel, Padding padding);
  void setExtents(MicroKernelOp kernel, unsigned dim,
                  llvm::function_ref<int64_t(int64_t)> change);
  void cutReduction(MicroKernelOp kernel, unsigned dim, int64_t count);
  void interleave(MicroKernelOp kernel, unsigned input,
                  const OperandLayout &layout);
  bool comesInTiles(MicroKernelOp kernel, unsigned input);
  void fetchAhead(MicroKernelOp kernel, unsigned input, Operation *position);
  void fetchAhead(MicroKernelOp kernel, unsigned input);
  void hoistSlices(Value value);

  OpBuilder builder;
  BlockOp block;
  linalg::LinalgOp structured;
  TargetAttrInterface target;
  int64_t lineBytes;
};

} // namespace

MicroKernelOp BlockMapper::createKernel() {
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (OpOperand *operand : structured.getDpsInputOperands()) {
    // Scalars that are constant (the value of a fill) are part of the body.
    Value value = operand->get();
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument)
      continue;
    inputs.push_back(block->getOperand(argument.getArgNumber()));
    maps.push_back(structured.getMatchingIndexingMap(operand));
  }
  for (OpOperand &init : structured.getDpsInitsMutable())
    maps.push_back(structured.getMatchingIndexingMap(&init));
  SmallVector<StringRef> iterators;
  for (utils::IteratorType iterator : structured.getIteratorTypesArray())
    iterators.push_back(utils::stringifyIteratorType(iterator));

  return MicroKernelOp::create(
      builder, block.getLoc(), block.getResultTypes(), getKind(structured),
      inputs, block.getOutputs(), builder.getAffineMapArrayAttr(maps),
      builder.getStrArrayAttr(iterators), block.getExtentsAttr(),
      /*implementation=*/MicroKernelAttrInterface(),
      /*otherwise=*/MicroKernelAttrInterface(), startsFromZero(structured),
      block.getTapsAttr(), block.getStreamed(), block.getRowwiseAttr());
}

/// Gives `kernel` the implementation that the schedule has chosen, or the first
/// that takes it.
void BlockMapper::chooseImplementation(MicroKernelOp kernel) {
  RegisterTileAttr registers = block.getRegistersAttr();
  MicroKernelChoice choice = chooseMicroKernel(kernel, target, registers);
  if (!choice.declined.empty())
    remark::missed(kernel.getLoc(), named("micro-kernel"))
        << ("micro kernel '" + registers.getKernel().getValue() +
            "' is not used: " + choice.declined)
               .str();
  if (choice.implementation)
    kernel.setImplementationAttr(choice.implementation);
  if (choice.otherwise)
    kernel.setOtherwiseAttr(choice.otherwise);
}

/// Moves the slices that `value` is cut from, and its shapes, as far out as
/// they can go.
void BlockMapper::hoistSlices(Value value) {
  Operation *view = value.getDefiningOp();
  if (!isa_and_nonnull<tensor::ExtractSliceOp, tensor::ExpandShapeOp>(view))
    return;
  hoistSlices(view->getOperand(0));
  while (auto loop = dyn_cast<scf::ForOp>(view->getParentOp())) {
    if (!llvm::all_of(view->getOperands(), [&](Value operand) {
          return loop.isDefinedOutsideOfLoop(operand);
        }))
      return;
    view->moveBefore(loop);
  }
}

/// `kernel`, or the outermost loop around it that does not change `source`.
static Operation *findUser(MicroKernelOp kernel, Value source) {
  Operation *user = kernel;
  while (auto loop = dyn_cast<scf::ForOp>(user->getParentOp())) {
    if (!loop.isDefinedOutsideOfLoop(source))
      break;
    user = loop;
  }
  return user;
}

/// The results of `map` other than `last`, and those at the end.
static SmallVector<unsigned> orderResults(AffineMap map,
                                          ArrayRef<unsigned> last) {
  SmallVector<unsigned> order;
  for (unsigned i = 0; i < map.getNumResults(); ++i)
    if (!llvm::is_contained(last, map.getDimPosition(i)))
      order.push_back(i);
  for (unsigned dim : last)
    order.push_back(
        *map.getResultPosition(getAffineDimExpr(dim, map.getContext())));
  return order;
}

/// True if some extent along the dimension is no multiple.
bool BlockMapper::isPadded(MicroKernelOp kernel, Padding padding) {
  return llvm::any_of(kernel.getExtentsOf(padding.dim), [&](int64_t extent) {
    return extent % padding.multiple != 0;
  });
}

/// Zeros in what `buffer` has behind `sizes` along dimension `place`, where it
/// has `padded` elements.
Value BlockMapper::padWithZeros(Value buffer, ArrayRef<OpFoldResult> sizes,
                                unsigned place, OpFoldResult padded) {
  Location loc = buffer.getLoc();
  SmallVector<OpFoldResult> offsets(sizes.size(), builder.getIndexAttr(0)),
      ones(sizes.size(), builder.getIndexAttr(1)), ofTail(sizes);
  offsets[place] = sizes[place];
  AffineExpr from, to;
  bindSymbols(builder.getContext(), from, to);
  ofTail[place] = affine::makeComposedFoldedAffineApply(builder, loc, to - from,
                                                        {sizes[place], padded});
  Value tail = tensor::ExtractSliceOp::create(builder, loc, buffer, offsets,
                                              ofTail, ones);
  Type element = getElementTypeOrSelf(buffer);
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element));
  Value filled = linalg::FillOp::create(builder, loc, zero, tail).getResult(0);
  return tensor::InsertSliceOp::create(builder, loc, filled, buffer, offsets,
                                       ofTail, ones);
}

/// Copies operand `input` of `kernel`, with the dimensions `last` at the end.
void BlockMapper::pack(MicroKernelOp kernel, unsigned input,
                       ArrayRef<unsigned> last, Padding padding) {
  Value source = kernel.getInputs()[input];
  hoistSlices(source);

  // The copy goes right inside the innermost sequential loop that changes its
  // source.
  Operation *position = findUser(kernel, source);

  // The copy has the source's dimensions in another order.
  AffineMap map = kernel.getMaps()[input];
  SmallVector<unsigned> order = orderResults(map, last);

  Location loc = kernel.getLoc();
  SmallVector<int64_t> shape;
  SmallVector<OpFoldResult> offsets, sizes, strides;
  SmallVector<AffineExpr> packedDims;
  SmallVector<Attribute> extents;
  std::optional<unsigned> padded;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(position);
  for (unsigned dim : order) {
    SmallVector<int64_t> possible =
        kernel.getExtentsOf(map.getDimPosition(dim));
    extents.push_back(builder.getI64ArrayAttr(possible));
    shape.push_back(*llvm::max_element(possible));
    if (padding.multiple > 1 && map.getDimPosition(dim) == padding.dim) {
      padded = shape.size() - 1;
      shape.back() = llvm::alignTo(shape.back(), padding.multiple);
    }
    offsets.push_back(builder.getIndexAttr(0));
    sizes.push_back(tensor::getMixedSize(builder, loc, source, dim));
    strides.push_back(builder.getIndexAttr(1));
    packedDims.push_back(map.getResult(dim));
  }

  Type elementType = getElementTypeOrSelf(source);
  int64_t row = alignRow(shape.back(), elementType, lineBytes);
  bool isPadded = row != shape.back();
  shape.back() = row;
  Value buffer;
  {
    OpBuilder::InsertionGuard scopeGuard(builder);
    builder.setInsertionPointToStart(getBufferScope(kernel));
    // An empty tensor would become the slice that is used of it.
    if (isPadded)
      buffer = bufferization::AllocTensorOp::create(
          builder, loc, RankedTensorType::get(shape, elementType),
          ValueRange());
    else
      buffer = tensor::EmptyOp::create(builder, loc, shape, elementType);
  }
  SmallVector<OpFoldResult> whole(sizes);
  if (padded) {
    AffineExpr size;
    bindSymbols(builder.getContext(), size);
    whole[*padded] = affine::makeComposedFoldedAffineApply(
        builder, loc, size.ceilDiv(padding.multiple) * padding.multiple,
        {sizes[*padded]});
  }
  if (isPadded ||
      llvm::any_of(sizes, [](OpFoldResult size) { return isa<Value>(size); }))
    buffer = tensor::ExtractSliceOp::create(builder, loc, buffer, offsets,
                                            whole, strides);
  Value all = buffer;
  if (padded) {
    all = padWithZeros(buffer, sizes, *padded, whole[*padded]);
    buffer = tensor::ExtractSliceOp::create(builder, loc, all, offsets, sizes,
                                            strides);
  }
  SmallVector<unsigned> sourceOrder(order.size());
  for (auto [packedIndex, dim] : llvm::enumerate(order))
    sourceOrder[dim] = packedIndex;
  SmallVector<AffineMap> maps = {
      AffineMap::getPermutationMap(sourceOrder, builder.getContext()),
      builder.getMultiDimIdentityMap(order.size())};
  auto copy = MicroKernelOp::create(
      builder, loc, TypeRange(buffer.getType()), MicroKernelKind::Pack, source,
      buffer, builder.getAffineMapArrayAttr(maps),
      builder.getStrArrayAttr(SmallVector<StringRef>(order.size(), "parallel")),
      builder.getArrayAttr(extents), MicroKernelAttrInterface(),
      MicroKernelAttrInterface(), /*overwrite=*/false, /*taps=*/TapsAttr(),
      /*streamed=*/false, /*rowwise=*/IntegerAttr());
  Block &body = copy.getBody().emplaceBlock();
  body.addArguments({elementType, elementType}, {loc, loc});
  builder.setInsertionPointToStart(&body);
  YieldOp::create(builder, loc, body.getArgument(0));
  chooseImplementation(copy);
  fetchAhead(kernel, input, copy);

  Value packed = copy.getResult(0);
  if (padded) {
    builder.setInsertionPointAfter(copy);
    packed = tensor::InsertSliceOp::create(builder, loc, packed, all, offsets,
                                           sizes, strides);
  }
  kernel.getInputsMutable()[input].set(packed);
  SmallVector<AffineMap> kernelMaps = kernel.getMaps();
  kernelMaps[input] =
      AffineMap::get(kernel.getNumDims(), 0, packedDims, builder.getContext());
  kernel.setIndexingMapsAttr(builder.getAffineMapArrayAttr(kernelMaps));
}

/// True if all loops between `kernel` and `outside` have constant trip counts.
static bool hasFixedTrips(MicroKernelOp kernel, Operation *outside) {
  for (Operation *around = kernel->getParentOp(); around != outside;
       around = around->getParentOp()) {
    auto loop = dyn_cast<scf::ForOp>(around);
    if (!loop || !loop.getStaticTripCount())
      return false;
  }
  return true;
}

/// The largest extents of operand `input` of `kernel`.
static SmallVector<int64_t> getBounds(MicroKernelOp kernel, unsigned input) {
  SmallVector<int64_t> bounds;
  for (AffineExpr result : kernel.getMaps()[input].getResults()) {
    unsigned dim = cast<AffineDimExpr>(result).getPosition();
    bounds.push_back(*llvm::max_element(kernel.getExtentsOf(dim)));
  }
  return bounds;
}

/// Lets `kernel` ask for its share of what it has as operand `input` in the
/// next iteration of the loop around `position`, which is around the kernel or
/// a copy for it. Only if the block asks for that in such loops.
void BlockMapper::fetchAhead(MicroKernelOp kernel, unsigned input,
                             Operation *position) {
  PrefetchAttr prefetch = block.getPrefetchAttr();
  if (!prefetch || prefetch.getLoops() == PrefetchLoops::None)
    return;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(position);
  SmallVector<int64_t> bounds = getBounds(kernel, input);
  Ahead ahead =
      findAhead(builder, getUncut(kernel.getInputs()[input], bounds), bounds);
  if (!ahead)
    return;
  Operation *outside = position->getParentOp();
  if (prefetch.getLoops() == PrefetchLoops::Any ||
      hasFixedTrips(kernel, outside))
    letFetch(kernel, joinShortRows(builder, std::move(ahead)), outside);
}

/// The same of an operand that no copy is made of.
void BlockMapper::fetchAhead(MicroKernelOp kernel, unsigned input) {
  Value operand = kernel.getInputs()[input];
  hoistSlices(operand);
  Value whole = getUncut(operand, getBounds(kernel, input));
  fetchAhead(kernel, input, findUser(kernel, whole));
}

/// Cuts the reduction `dim` of `kernel` into groups of `count` steps: its
/// inputs get a dimension for the steps of a group behind it.
void BlockMapper::cutReduction(MicroKernelOp kernel, unsigned dim,
                               int64_t count) {
  MLIRContext *context = builder.getContext();
  Location loc = kernel.getLoc();
  unsigned inner = kernel.getNumDims();
  SmallVector<AffineMap> maps = kernel.getMaps();
  for (AffineMap &map : maps)
    map = AffineMap::get(inner + 1, 0, map.getResults(), context);
  for (unsigned input = 0; input < kernel.getInputs().size(); ++input) {
    AffineMap map = maps[input];
    std::optional<unsigned> place =
        map.getResultPosition(getAffineDimExpr(dim, context));
    if (!place)
      continue;
    Value source = kernel.getInputs()[input];
    hoistSlices(source);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfterValue(source);
    auto type = cast<RankedTensorType>(source.getType());
    SmallVector<int64_t> shape(type.getShape());
    SmallVector<OpFoldResult> sizes =
        tensor::getMixedSizes(builder, loc, source);
    AffineExpr size;
    bindSymbols(context, size);
    sizes[*place] = affine::makeComposedFoldedAffineApply(
        builder, loc, size.floorDiv(count), {sizes[*place]});
    sizes.insert(sizes.begin() + *place + 1, builder.getIndexAttr(count));
    if (!ShapedType::isDynamic(shape[*place]))
      shape[*place] /= count;
    shape.insert(shape.begin() + *place + 1, count);
    SmallVector<ReassociationIndices> groups;
    for (int64_t old = 0, next = 0; old < type.getRank(); ++old) {
      groups.push_back({next++});
      if (old == static_cast<int64_t>(*place))
        groups.back().push_back(next++);
    }
    kernel.getInputsMutable()[input].set(tensor::ExpandShapeOp::create(
        builder, loc, type.clone(shape), source, groups, sizes));
    maps[input] =
        map.insertResult(getAffineDimExpr(inner, context), *place + 1);
  }
  kernel.setIndexingMapsAttr(builder.getAffineMapArrayAttr(maps));
  SmallVector<Attribute> iterators(kernel.getIteratorTypes().getValue());
  iterators.push_back(builder.getStringAttr("reduction"));
  kernel.setIteratorTypesAttr(builder.getArrayAttr(iterators));
  setExtents(kernel, dim, [&](int64_t extent) { return extent / count; });
  SmallVector<Attribute> extents(kernel.getExtentsAttr().getValue());
  extents.push_back(builder.getI64ArrayAttr({count}));
  kernel.setExtentsAttr(builder.getArrayAttr(extents));
}

/// Changes the extents that `kernel` lists for `dim`.
void BlockMapper::setExtents(MicroKernelOp kernel, unsigned dim,
                             llvm::function_ref<int64_t(int64_t)> change) {
  SmallVector<Attribute> extents(kernel.getExtentsAttr().getValue());
  SmallVector<int64_t> changed;
  for (int64_t extent : kernel.getExtentsOf(dim))
    if (int64_t other = change(extent); !llvm::is_contained(changed, other))
      changed.push_back(other);
  extents[dim] = builder.getI64ArrayAttr(changed);
  kernel.setExtentsAttr(builder.getArrayAttr(extents));
}

/// Lets `layout.sizes` neighbours along a reduction of `kernel` stand where one
/// element of operand `input` does.
void BlockMapper::interleave(MicroKernelOp kernel, unsigned input,
                             const OperandLayout &layout) {
  AffineMap output = kernel.getMaps().back();
  unsigned columns = output.getDimPosition(output.getNumResults() - 1);
  unsigned inner = kernel.getNumDims();
  cutReduction(kernel, layout.along, layout.sizes.front());
  pack(kernel, input, {layout.along, columns, inner});
}

/// True if `value` is part of what was computed before the call. Nothing else
/// brings it near.
static bool isPrepared(Value value) {
  while (auto slice = value.getDefiningOp<tensor::ExtractSliceOp>())
    value = slice.getSource();
  auto tensor = value.getDefiningOp<bufferization::ToTensorOp>();
  return tensor && tensor.getBuffer().getDefiningOp<memref::GetGlobalOp>();
}

/// Rows for which `kernel` uses operand `input`.
static int64_t countRows(MicroKernelOp kernel, unsigned input) {
  AffineMap map = kernel.getMaps()[input];
  int64_t rows = 1;
  for (unsigned dim = 0; dim < kernel.getNumDims(); ++dim)
    if (!kernel.isReduction(dim) && !map.isFunctionOfDim(dim))
      rows *= *llvm::max_element(kernel.getExtentsOf(dim));
  return rows;
}

/// True if operand `input` of `kernel` lies outside of all loops, and the
/// kernel uses a tile of it, small enough to ask for the next one meanwhile,
/// for several tiles of rows. A kernel that has one asks for what it reads by
/// itself.
bool BlockMapper::comesInTiles(MicroKernelOp kernel, unsigned input) {
  RegisterTileAttr registers = block.getRegistersAttr();
  PrefetchAttr prefetch = block.getPrefetchAttr();
  if (!registers || !prefetch ||
      countRows(kernel, input) <= registers.getRows())
    return false;
  Value operand = kernel.getInputs()[input];
  int64_t bytes = llvm::product_of(getBounds(kernel, input)) *
                  bytesOf(getElementTypeOrSelf(operand));
  while (auto slice = operand.getDefiningOp<tensor::ExtractSliceOp>())
    operand = slice.getSource();
  return bytes <= prefetch.getPart() &&
         isa<FunctionOpInterface>(operand.getParentBlock()->getParentOp());
}

void BlockMapper::packOperands(MicroKernelOp kernel) {
  MicroKernelAttrInterface implementation = kernel.getImplementationAttr();
  if (!implementation || kernel.getKind() != MicroKernelKind::Contraction)
    return;
  if (!kernel.getExtentsAttr())
    return;
  ArrayRef<int64_t> packed = block.getPacked().value_or(ArrayRef<int64_t>());
  int64_t numInputs = kernel.getInputs().size();
  std::optional<std::pair<unsigned, OperandLayout>> interleaved;
  std::optional<Padding> padded;
  for (int64_t input = 0; input < numInputs; ++input) {
    OperandLayout layout = implementation.getLayout(kernel, input);
    Padding padding = {layout.along, layout.multiple};
    if (layout.kind == LayoutKind::Interleaved)
      interleaved = {input, layout};
    if (isPadded(kernel, padding)) {
      bool isContiguous = layout.kind == LayoutKind::Contiguous;
      pack(kernel, input,
           isContiguous ? ArrayRef<unsigned>(layout.along)
                        : ArrayRef<unsigned>(),
           padding);
      padded = padding;
      continue;
    }
    Value operand = kernel.getInputs()[input];
    if (layout.kind == LayoutKind::Any && isPrepared(operand))
      fetchAhead(kernel, input);
    if (layout.kind != LayoutKind::Contiguous)
      continue;
    AffineMap map = kernel.getMaps()[input];
    std::optional<unsigned> result =
        map.getResultPosition(builder.getAffineDimExpr(layout.along));
    if (!result)
      continue;
    bool isLast = *result + 1 == map.getNumResults();
    if (!isLast || llvm::is_contained(packed, input)) {
      pack(kernel, input, {layout.along});
    } else if (isPrepared(operand) || comesInTiles(kernel, input)) {
      fetchAhead(kernel, input);
    }
  }
  if (padded)
    setExtents(kernel, padded->dim, [&](int64_t extent) -> int64_t {
      return llvm::alignTo(extent, padded->multiple);
    });
  if (interleaved)
    interleave(kernel, interleaved->first, interleaved->second);
}

MicroKernelOp BlockMapper::map() {
  MicroKernelOp kernel = createKernel();
  bool isFill = isa<linalg::FillOp>(structured);
  if (isFill) {
    // The value of a fill is a constant, so the body is that constant.
    Block &body = kernel.getBody().emplaceBlock();
    Type elementType = getElementTypeOrSelf(kernel.getOutput());
    body.addArgument(elementType, block.getLoc());
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&body);
    Operation *constant =
        builder.clone(*structured.getDpsInputs()[0].getDefiningOp());
    YieldOp::create(builder, block.getLoc(), constant->getResult(0));
  } else {
    buildKernelBody(builder, structured, kernel.getBody());
  }
  chooseImplementation(kernel);
  packOperands(kernel);
  block.getResults().replaceAllUsesWith(kernel.getResults());
  block.erase();
  return kernel;
}

/// Puts the contents of `block` in its place, and says why. Outside more may be
/// known of the extents of tensors.
static void dissolve(BlockOp block, StringRef obstacle) {
  remark::missed(block.getLoc(), named("no-micro-kernel"))
      << remark::add("no micro kernel: {0}", obstacle.str());
  Block &body = block.getBody().front();
  OpBuilder builder(block);
  auto adapt = [&](Value value, Type type) -> Value {
    if (value.getType() == type)
      return value;
    return tensor::CastOp::create(builder, block.getLoc(), type, value);
  };
  for (auto [argument, operand] :
       llvm::zip_equal(body.getArguments(), block->getOperands()))
    argument.replaceAllUsesWith(adapt(operand, argument.getType()));
  Operation *yield = body.getTerminator();
  block->getBlock()->getOperations().splice(Block::iterator(block),
                                            body.getOperations(), body.begin(),
                                            Block::iterator(yield));
  for (auto [result, value] :
       llvm::zip_equal(block.getResults(), yield->getOperands()))
    result.replaceAllUsesWith(adapt(value, result.getType()));
  block.erase();
}

/// Bytes of a line of the level that blocks of `target` work on.
static int64_t getLineBytes(TargetAttrInterface target) {
  return target.getCommonFigures().levels.back().lineBytes;
}

namespace {
struct MapMicroKernelsPass
    : chimera::impl::MapMicroKernelsPassBase<MapMicroKernelsPass> {
  using Base::Base;

  void runOnOperation() override {
    // A wrong option is an error even where there is nothing to map.
    if (failed(resolveTarget(getOperation(), target)))
      return signalPassFailure();
    SmallVector<BlockOp> blocks;
    getOperation()->walk([&](BlockOp block) { blocks.push_back(block); });
    PartBytes partBytes;
    for (BlockOp block : blocks) {
      FailureOr<TargetAttrInterface> targetAttr = resolveTarget(block, target);
      if (failed(targetAttr))
        return signalPassFailure();
      if (std::optional<StringRef> obstacle = getObstacle(block)) {
        dissolve(block, *obstacle);
        continue;
      }
      PrefetchAttr prefetch = block.getPrefetchAttr();
      MicroKernelOp kernel =
          BlockMapper(block, *targetAttr, getLineBytes(*targetAttr)).map();
      if (prefetch)
        partBytes[kernel] = prefetch.getPart();
    }
    if (!partBytes.empty())
      fetchForNextPart(getOperation(), partBytes);
  }
};
} // namespace
