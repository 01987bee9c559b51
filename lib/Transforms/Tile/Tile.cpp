//===- Tile.cpp - Generate the loop tree of a chain -----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Applies a schedule and decides nothing. The loop tree is the model's own
// (model::buildLoopTree), so the blocks run as they were counted:
//
//   shared loops, parallel ones as one scf.forall
//     for every operator: its subtree, its blocks
//
// If one of the parallel loops splits the reduction of a softmax, every part
// leaves an accumulator and states, and a second loop nest combines them.
//
// Each loop narrows the tensors it indexes to the tile inside it. Tiles at an
// edge are smaller, so their sizes are values; which extents occur is known and
// goes along as the `extents` of the blocks. These loops are built here, the
// blocks in BlockBuilder.cpp and, for a softmax, in OnlineSoftmax.cpp.
//
//===----------------------------------------------------------------------===//

#include "Form/PutBackChains.h"
#include "Tile/BlockBuilder.h"
#include "Tile/Halo.h"
#include "Tile/OnlineSoftmax.h"
#include "Tile/Staging.h"
#include "Tile/Taps.h"

#include "Chimera/Chain/ChainAnalysis.h"
#include "Chimera/Chain/ScheduleConversion.h"
#include "Chimera/Transforms/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/SaveAndRestore.h"

namespace chimera {
#define GEN_PASS_DEF_TILEPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

/// The loop tree of `schedule`, as code can be made of it.
static model::LoopNest buildTree(const model::ChainProblem &problem,
                                 const model::Schedule &schedule) {
  model::LoopNest tree =
      model::buildLoopTree(problem, schedule, schedule.levels.size() - 1);
  model::separateCrossing(problem, tree);
  model::leaveLoopsToKernels(problem, schedule, tree);
  return tree;
}

namespace {

class TreeBuilder {
public:
  TreeBuilder(ChainOp chain, const ChainAnalysis &analysis,
              const model::Schedule &schedule)
      : builder(chain), chain(chain), analysis(analysis),
        problem(analysis.problem), schedule(schedule),
        tree(buildTree(problem, schedule)),
        blocks(builder, chain, analysis, schedule),
        softmax(blocks, analysis, chain.getLoc()),
        stager(builder, blocks, analysis, schedule, chain.getLoc()),
        halos(builder, blocks, analysis, schedule, tree, chain.getLoc()),
        taps(builder, analysis, tree, chain.getLoc()),
        split(model::findSplit(problem, schedule, tree)) {}

  /// Builds the tree before the chain and returns the chain's result.
  Value build();

private:
  /// What a nest updates: the output of its last operator and, from where it is
  /// initialised on, the states that operator keeps.
  using Carried = SmallVector<Value, 3>;
  using Body = llvm::function_ref<Carried(const TreePosition &position,
                                          const Carried &carried)>;

  TreePosition start();
  void noteHalos();
  Value buildParallel(const TreePosition &position, Value destination);
  Carried buildForall(ArrayRef<model::NestLoop> loops,
                      const TreePosition &position, const Carried &shared,
                      Body body);
  Value buildSplit(const TreePosition &position, Value destination);
  Value buildCombined(const TreePosition &position, const Carried &parts,
                      Value destination);
  struct Slice {
    SmallVector<OpFoldResult> offsets, sizes, strides;
  };
  Slice sliceAt(unsigned index, const TreePosition &position,
                OpFoldResult part) const;
  Value extract(Value value, const Slice &slice, bool isParted);
  bool makesExponentials(const model::LoopNest &nest) const;
  void startStates(const TreePosition &position, Carried &carried);
  Value startSums(unsigned op, const TreePosition &position, Value place);
  Carried buildNest(const model::LoopNest &nest, unsigned depth,
                    const TreePosition &position, Carried carried,
                    bool initialised);
  Value buildUnderWindows(const model::LoopNest &nest,
                          const TreePosition &position);
  Carried buildParts(const model::LoopNest &nest, const TreePosition &position,
                     Carried carried, bool initialised);
  /// From where to where a loop runs.
  struct Bounds {
    OpFoldResult lower, upper;
    /// Tiles before this are left out whatever happens.
    int64_t first = 0;
    /// True if a mask may leave only the beginning of the last tile.
    bool isMasked = false;
  };
  Carried buildLoop(const model::LoopNest &nest, const model::NestLoop &loop,
                    const TreePosition &position, const Bounds &bounds,
                    const Carried &carried, Body body);
  bool isSkipping(const model::LoopNest &nest, unsigned depth,
                  bool initialised) const;
  Bounds getBounds(const model::NestLoop &loop, const TreePosition &position);
  Carried fillAround(const model::LoopNest &nest, const model::NestLoop &loop,
                     const TreePosition &position, const Bounds &bounds,
                     Carried carried);
  model::TensorId getCarriedTensor(unsigned op, unsigned index) const;

  /// Narrows `position` to the tile that `loop` of `nest`, which starts at
  /// `first`, has at `offset`. If the tile is clipped, `end` is where what
  /// counts of the loop ends, and `sizes` are those that the tile may have.
  TreePosition narrow(const model::LoopNest &nest, const model::NestLoop &loop,
                      const TreePosition &position, Value offset,
                      int64_t first = 0, ArrayRef<int64_t> sizes = {},
                      Value end = {});
  /// The slice at `position` of `value`, which has dimensions along the loops
  /// `dims` and begins where it does but for the offsets in `moved`.
  Value slice(Value value, ArrayRef<model::LoopId> dims,
              ArrayRef<LoopOffset> moved, const TreePosition &position);
  void sliceTensors(const model::NestLoop &loop, ArrayRef<LoopOffset> moved,
                    TreePosition &position);

  unsigned lastOperator() const { return problem.operators.size() - 1; }
  bool isReductionOf(unsigned op, model::LoopId loop) const {
    return problem.operators[op].isReduction(loop);
  }
  Location loc() { return chain.getLoc(); }

  OpBuilder builder;
  ChainOp chain;
  const ChainAnalysis &analysis;
  const model::ChainProblem &problem;
  const model::Schedule &schedule;
  model::LoopNest tree;
  BlockBuilder blocks;
  OnlineSoftmax softmax;
  Stager stager;
  HaloBuilder halos;
  TapClipper taps;
  /// The place of the loop that splits the last operator's reduction.
  std::optional<unsigned> split;
  /// True where the rest of a reduction follows: sums are no result yet.
  bool isPartial = false;
};

} // namespace

//===----------------------------------------------------------------------===//
// Positions and slices
//===----------------------------------------------------------------------===//

TreePosition TreeBuilder::start() {
  TreePosition position;
  for (const model::Loop &loop : problem.loops) {
    position.offsets.push_back(builder.getIndexAttr(0));
    if (loop.isOpen) {
      position.extents.push_back(
          SizeOp::create(builder, loc(), builder.getIndexType(), loop.extent)
              .getResult());
      position.possible.push_back({anyExtent});
      continue;
    }
    position.extents.push_back(builder.getIndexAttr(loop.extent));
    position.possible.push_back({loop.extent});
  }
  for (Value value : analysis.tensors) {
    auto argument = dyn_cast<BlockArgument>(value);
    position.tensors.push_back(
        argument ? chain.getInputs()[argument.getArgNumber()] : Value());
  }
  llvm::SmallDenseSet<model::TensorId, 4> seen;
  for (const model::Operator &op : problem.operators)
    for (const model::Access &input : op.inputs)
      if (Value &value = position.tensors[input];
          value && seen.insert(input).second) {
        value = taps.buildPadding(input, value);
        if (hasWindows(input))
          value = blocks.buildWindows(input, value, position);
      }
  // Readers may leave the end of an image alone.
  halos.begin(position);
  taps.begin(position);
  SmallVector<LoopOffset> moved;
  halos.follow(tree, position, moved);
  llvm::erase_if(moved, [&](const LoopOffset &move) {
    return isConstantIntValue(position.extents[move.loop],
                              problem.loops[move.loop].extent);
  });
  sliceTensors(model::NestLoop(), moved, position);
  return position;
}

Value TreeBuilder::slice(Value value, ArrayRef<model::LoopId> dims,
                         ArrayRef<LoopOffset> moved,
                         const TreePosition &position) {
  SmallVector<OpFoldResult> offsets, sizes, strides;
  blocks.describeSlice(dims, moved, position, offsets, sizes, strides);
  return tensor::ExtractSliceOp::create(builder, loc(), value, offsets, sizes,
                                        strides);
}

/// Cuts the tensors at `position` down to the tile of `loop`.
void TreeBuilder::sliceTensors(const model::NestLoop &loop,
                               ArrayRef<LoopOffset> moved,
                               TreePosition &position) {
  for (auto [id, tensor] : llvm::enumerate(position.tensors)) {
    ArrayRef<model::LoopId> dims = blocks.dimsOf(id);
    bool isIndexed = llvm::any_of(moved, [&](const LoopOffset &move) {
      return llvm::is_contained(dims, move.loop);
    });
    if (tensor && isIndexed)
      tensor = position.panels.contains(id)
                   ? stager.slice(id, loop, moved, position)
                   : slice(tensor, dims, moved, position);
  }
}

TreePosition TreeBuilder::narrow(const model::LoopNest &nest,
                                 const model::NestLoop &loop,
                                 const TreePosition &position, Value offset,
                                 int64_t first, ArrayRef<int64_t> sizes,
                                 Value end) {
  TreePosition inner = position;
  ++inner.depth;
  SmallVector<int64_t> &possible = inner.possible[loop.loop];
  bool isAny = llvm::is_contained(possible, anyExtent);
  llvm::SmallSetVector<int64_t, 4> values(sizes.begin(), sizes.end());
  if (sizes.empty())
    addTileExtents(possible, loop.tile, first, values);
  else if (isAny && loop.tile > 1)
    values.insert(anyExtent);
  possible = llvm::to_vector(values);
  AffineExpr outer, own;
  bindDims(builder.getContext(), outer, own);
  inner.offsets[loop.loop] = affine::makeComposedFoldedAffineApply(
      builder, loc(), outer + own, {position.offsets[loop.loop], offset});

  OpFoldResult &extent = inner.extents[loop.loop];
  if (possible.size() == 1) {
    extent = builder.getIndexAttr(possible.front());
  } else {
    AffineExpr size, iv, last;
    bindSymbols(builder.getContext(), size, iv, last);
    SmallVector<AffineExpr> limits = {size - iv,
                                      builder.getAffineConstantExpr(loop.tile)};
    SmallVector<OpFoldResult> operands = {extent, offset};
    if (!sizes.empty()) {
      int64_t unit = model::clippedSize(loop.tile, 1);
      limits.push_back((last - iv).ceilDiv(unit) * unit);
      operands.push_back(end);
    }
    extent = affine::makeComposedFoldedAffineMin(
        builder, loc(),
        AffineMap::get(0, operands.size(), limits, builder.getContext()),
        operands);
  }
  SmallVector<LoopOffset> moved = {{loop.loop, offset}};
  halos.narrow(nest, loop, inner);
  taps.follow(loop.loop, inner, moved);
  halos.follow(nest, inner, moved);
  sliceTensors(loop, moved, inner);
  return inner;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Says which intermediates the schedule lets roll where code cannot.
void TreeBuilder::noteHalos() {
  for (model::TensorId tensor : schedule.rolling)
    if (halos.isReadThroughWindows(tensor) && !halos.isKept(tensor))
      remark::missed(loc(),
                     remark::RemarkOpts::name("halo").category("chimera"))
          << remark::add("the halo of '{0}' is computed again: a tensor rolls "
                         "along the last loop around those who use it, if its "
                         "operator comes first there and no other loop moves "
                         "the windows",
                         problem.tensors[tensor].name);
}

Value TreeBuilder::build() {
  noteHalos();
  TreePosition position = start();
  stager.prepack(position);
  auto resultType = cast<RankedTensorType>(chain.getResult(0).getType());
  Value destination = tensor::EmptyOp::create(
      builder, loc(), resultType.getShape(), resultType.getElementType());
  if (schedule.numParallel > 0)
    return buildParallel(position, destination);
  return buildNest(tree, 0, position, {destination}, /*initialised=*/false)[0];
}

/// The leading loops that the schedule runs in parallel.
Value TreeBuilder::buildParallel(const TreePosition &position,
                                 Value destination) {
  if (split)
    return buildSplit(position, destination);
  return buildForall(
      ArrayRef(tree.loops).take_front(schedule.numParallel), position,
      {destination}, [&](const TreePosition &inner, const Carried &tiles) {
        return buildNest(tree, schedule.numParallel, inner, tiles,
                         /*initialised=*/false);
      })[0];
}

/// Where the tile of carried value number `index` lies in the whole; with a
/// `part`, in that part's share.
TreeBuilder::Slice TreeBuilder::sliceAt(unsigned index,
                                        const TreePosition &position,
                                        OpFoldResult part) const {
  Slice slice;
  if (part) {
    slice.offsets.push_back(part);
    slice.sizes.push_back(OpBuilder(chain).getIndexAttr(1));
  }
  for (model::LoopId dim :
       blocks.madeDimsOf(getCarriedTensor(lastOperator(), index))) {
    slice.offsets.push_back(position.offsets[dim]);
    slice.sizes.push_back(position.extents[dim]);
  }
  slice.strides.assign(slice.offsets.size(), OpBuilder(chain).getIndexAttr(1));
  return slice;
}

Value TreeBuilder::extract(Value value, const Slice &slice, bool isParted) {
  unsigned rank = slice.offsets.size() - isParted;
  auto type = tensor::ExtractSliceOp::inferCanonicalRankReducedResultType(
      rank, cast<RankedTensorType>(value.getType()), slice.sizes);
  return tensor::ExtractSliceOp::create(
      builder, loc(), type, value, slice.offsets, slice.sizes, slice.strides);
}

/// `loops` as one scf.forall, of which each iteration updates its tiles of
/// `shared`: values that the last operator carries, or as many of them as the
/// split loop has parts.
TreeBuilder::Carried TreeBuilder::buildForall(ArrayRef<model::NestLoop> loops,
                                              const TreePosition &position,
                                              const Carried &shared,
                                              Body body) {
  SmallVector<OpFoldResult> lower, upper, step;
  for (const model::NestLoop &loop : loops) {
    lower.push_back(builder.getIndexAttr(0));
    upper.push_back(position.extents[loop.loop]);
    step.push_back(builder.getIndexAttr(loop.tile));
  }
  auto forall = scf::ForallOp::create(builder, loc(), lower, upper, step,
                                      shared, /*mapping=*/std::nullopt);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(forall.getBody());
  TreePosition inner = position;
  OpFoldResult part;
  for (auto [loop, iv] : llvm::zip_equal(loops, forall.getInductionVars())) {
    inner = narrow(tree, loop, inner, iv);
    if (problem.operators.back().rescaledBy != loop.loop)
      continue;
    AffineExpr first = builder.getAffineDimExpr(0);
    part = affine::makeComposedFoldedAffineApply(
        builder, loc(), first.floorDiv(loop.tile), {OpFoldResult(iv)});
  }
  // One slice from each shared tensor: what runs in parallel must not seem to
  // overlap.
  bool isParted = static_cast<bool>(part);
  SmallVector<Slice, 3> slices;
  Carried tiles;
  for (auto [index, whole] : llvm::enumerate(forall.getRegionIterArgs())) {
    slices.push_back(sliceAt(index, inner, part));
    tiles.push_back(extract(whole, slices.back(), isParted));
  }
  Carried results = body(inner, tiles);
  builder.setInsertionPointToStart(forall.getTerminator().getBody());
  for (auto [result, whole, slice] :
       llvm::zip_equal(results, forall.getRegionIterArgs(), slices))
    tensor::ParallelInsertSliceOp::create(builder, loc(), result, whole,
                                          slice.offsets, slice.sizes,
                                          slice.strides);
  return Carried(forall.getResults());
}

/// The parallel loops where one of them splits the reduction of a softmax, and
/// what makes one result of the parts.
Value TreeBuilder::buildSplit(const TreePosition &position, Value destination) {
  const model::NestLoop &loop = tree.loops[*split];
  int64_t numParts =
      llvm::divideCeil(problem.loops[loop.loop].extent, loop.tile);
  Carried parts;
  unsigned numCarried = 1 + problem.operators.back().states.size();
  for (unsigned index = 0; index < numCarried; ++index) {
    model::TensorId tensor = getCarriedTensor(lastOperator(), index);
    SmallVector<int64_t> shape = {numParts};
    llvm::append_range(shape, problem.tensors[tensor].shape);
    // Empty tensors of one shape would become one.
    parts.push_back(bufferization::AllocTensorOp::create(
        builder, loc(), RankedTensorType::get(shape, blocks.getSumType()),
        ValueRange()));
  }
  parts = buildForall(
      ArrayRef(tree.loops).take_front(schedule.numParallel), position, parts,
      [&](const TreePosition &inner, const Carried &tiles) {
        return buildNest(tree, schedule.numParallel, inner, tiles,
                         /*initialised=*/false);
      });
  SmallVector<model::NestLoop> others(
      ArrayRef(tree.loops).take_front(schedule.numParallel));
  others.erase(others.begin() + *split);
  auto combine = [&](const TreePosition &inner, const Carried &tiles) {
    return Carried{buildCombined(inner, parts, tiles[0])};
  };
  if (others.empty())
    return combine(position, {destination})[0];
  return buildForall(others, position, {destination}, combine)[0];
}

/// What `parts` have come to in one tile of the result, finished.
Value TreeBuilder::buildCombined(const TreePosition &position,
                                 const Carried &parts, Value destination) {
  unsigned last = lastOperator();
  Carried carried = {blocks.buildFill(last, problem.operators[last].output, 0,
                                      position,
                                      startSums(last, position, destination))};
  startStates(position, carried);
  Value zero = arith::ConstantIndexOp::create(builder, loc(), 0);
  Value one = arith::ConstantIndexOp::create(builder, loc(), 1);
  Value numParts = arith::ConstantIndexOp::create(
      builder, loc(), cast<RankedTensorType>(parts[0].getType()).getDimSize(0));
  auto forOp = scf::ForOp::create(builder, loc(), zero, numParts, one, carried);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(forOp.getBody());
    OpFoldResult part = forOp.getInductionVar();
    Carried own;
    for (auto [index, whole] : llvm::enumerate(parts))
      own.push_back(extract(whole, sliceAt(index, position, part),
                            /*isParted=*/true));
    Carried combined(forOp.getRegionIterArgs());
    softmax.combine(position, own, combined);
    scf::YieldOp::create(builder, loc(), combined);
  }
  TreePosition finished = position;
  for (unsigned index = 1; index < forOp.getNumResults(); ++index)
    finished.tensors[getCarriedTensor(last, index)] = forOp.getResult(index);
  return blocks.buildEpilogue(last, finished, forOp.getResult(0), destination);
}

/// The tensor that value number `index` carried for operator `op` is.
model::TensorId TreeBuilder::getCarriedTensor(unsigned op,
                                              unsigned index) const {
  const model::Operator &description = problem.operators[op];
  return index == 0 ? model::TensorId(description.output)
                    : model::TensorId(description.states[index - 1]);
}

/// True if loop number `depth` of `nest` leaves out the tiles that masks do.
/// Around several operators that is the loop that rescales what the last one
/// has; around the maker or the reader of exponentials alone it is the
/// innermost loop of a mask. The reader's accumulators have to be `initialised`
/// outside.
bool TreeBuilder::isSkipping(const model::LoopNest &nest, unsigned depth,
                             bool initialised) const {
  const model::Operator &last = problem.operators[nest.lastOperator];
  model::LoopId own = nest.loops[depth].loop;
  if (nest.size() > 1)
    return last.rescaledBy == own;
  auto isOfMask = [&](const model::NestLoop &loop) {
    return llvm::any_of(problem.bands, [&](const model::Band &band) {
      return band.row == loop.loop || band.column == loop.loop;
    });
  };
  if (!blocks.getForms().clips || !isOfMask(nest.loops[depth]) ||
      llvm::any_of(ArrayRef(nest.loops).drop_front(depth + 1), isOfMask))
    return false;
  return analysis.operators[nest.lastOperator].exponential ||
         (last.rescaledBy && initialised);
}

/// From where to where `loop` runs: not over tiles that masks rule out for all
/// of `position`.
TreeBuilder::Bounds TreeBuilder::getBounds(const model::NestLoop &loop,
                                           const TreePosition &position) {
  Bounds bounds = {builder.getIndexAttr(0), position.extents[loop.loop]};
  AffineExpr own, other, size, limit;
  bindSymbols(builder.getContext(), own, other, size, limit);
  for (const model::Band &band : problem.bands) {
    bool isColumn = band.column == loop.loop;
    if (!isColumn && band.row != loop.loop)
      continue;
    // Columns from row + least to row + most count, for some row in the tile:
    // rows from column - most + 1 to column - least, for some column.
    std::optional<AffineExpr> begin, end;
    if (band.least)
      (isColumn ? begin : end) =
          isColumn ? other + *band.least : other + size - *band.least;
    if (band.most)
      (isColumn ? end : begin) =
          isColumn ? other + size - 1 + *band.most : other + 1 - *band.most;
    model::LoopId across = isColumn ? band.row : band.column;
    auto limitTo = [&](AffineExpr expr) {
      return AffineMap::get(0, 4, {limit, expr}, builder.getContext());
    };
    auto getOperands = [&](OpFoldResult bound) {
      return SmallVector<OpFoldResult>{position.offsets[loop.loop],
                                       position.offsets[across],
                                       position.extents[across], bound};
    };
    if (end) {
      bounds.isMasked = true;
      bounds.upper = affine::makeComposedFoldedAffineMin(
          builder, loc(), limitTo(*end - own), getOperands(bounds.upper));
    }
    if (begin)
      bounds.lower = affine::makeComposedFoldedAffineMax(
          builder, loc(),
          limitTo((*begin - own).floorDiv(loop.tile) * loop.tile),
          getOperands(bounds.lower));
  }
  return bounds;
}

/// Fills the tiles of a contraction that `loop` leaves out before and behind
/// `bounds`: what comes after it reads them, if only to replace them.
TreeBuilder::Carried TreeBuilder::fillAround(const model::LoopNest &nest,
                                             const model::NestLoop &loop,
                                             const TreePosition &position,
                                             const Bounds &bounds,
                                             Carried carried) {
  unsigned op = nest.lastOperator;
  OpFoldResult zero = builder.getIndexAttr(0),
               whole = position.extents[loop.loop];
  AffineExpr bound, extent;
  bindSymbols(builder.getContext(), bound, extent);
  OpFoldResult before = affine::makeComposedFoldedAffineMin(
      builder, loc(),
      AffineMap::get(0, 2, {bound, extent}, builder.getContext()),
      {bounds.lower, whole});
  OpFoldResult behind = affine::makeComposedFoldedAffineMax(
      builder, loc(),
      AffineMap::get(0, 1,
                     {builder.getAffineConstantExpr(0),
                      bound.ceilDiv(loop.tile) * loop.tile},
                     builder.getContext()),
      {bounds.upper});
  for (const Bounds &part : {Bounds{zero, before}, Bounds{behind, whole}})
    if (part.lower != part.upper)
      carried = buildLoop(
          nest, loop, position, part, carried,
          [&](const TreePosition &inner, const Carried &tiles) {
            return Carried{blocks.buildFill(op, problem.operators[op].output, 0,
                                            inner, tiles[0])};
          });
  return carried;
}

/// A sequential loop around `nest` that carries tensors, of which `carried` are
/// the parts inside the enclosing loops.
TreeBuilder::Carried TreeBuilder::buildLoop(const model::LoopNest &nest,
                                            const model::NestLoop &loop,
                                            const TreePosition &position,
                                            const Bounds &bounds,
                                            const Carried &carried, Body body) {
  SmallVector<int64_t> sizes;
  if (blocks.getForms().clips && bounds.isMasked && nest.size() > 1)
    sizes = model::clippedSizes(problem, schedule, nest.lastOperator,
                                position.depth + 1, loop.loop);
  Value lower = getValueOrCreateConstantIndexOp(builder, loc(), bounds.lower);
  Value upper = getValueOrCreateConstantIndexOp(builder, loc(), bounds.upper);
  Value step = arith::ConstantIndexOp::create(builder, loc(), loop.tile);
  SmallVector<Value> starts(carried.begin(), carried.end());
  llvm::append_range(starts, halos.startRolling(nest, loop, position));
  auto forOp = scf::ForOp::create(builder, loc(), lower, upper, step, starts);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(forOp.getBody());
  Value iv = forOp.getInductionVar();
  ValueRange values = forOp.getRegionIterArgs();
  halos.beginRolling(nest, values.drop_front(carried.size()));
  values = values.take_front(carried.size());
  TreePosition inner =
      narrow(nest, loop, position, iv, bounds.first, sizes, upper);
  LoopOffset own = {loop.loop, OpFoldResult(iv)};
  Carried tiles;
  for (auto [index, value] : llvm::enumerate(values)) {
    model::TensorId tensor = getCarriedTensor(nest.lastOperator, index);
    ArrayRef<model::LoopId> dims = blocks.madeDimsOf(tensor);
    bool isIndexed = llvm::is_contained(dims, loop.loop);
    tiles.push_back(isIndexed ? slice(value, dims, own, inner) : value);
  }
  Carried results = body(inner, tiles);
  for (auto [index, value] : llvm::enumerate(values)) {
    model::TensorId tensor = getCarriedTensor(nest.lastOperator, index);
    ArrayRef<model::LoopId> dims = blocks.madeDimsOf(tensor);
    if (!llvm::is_contained(dims, loop.loop))
      continue;
    SmallVector<OpFoldResult> offsets, sizes, strides;
    blocks.describeSlice(dims, own, inner, offsets, sizes, strides);
    results[index] = tensor::InsertSliceOp::create(
        builder, loc(), results[index], value, offsets, sizes, strides);
  }
  llvm::append_range(results, halos.endRolling(nest));
  scf::YieldOp::create(builder, loc(), results);
  return Carried(forOp.getResults().take_front(carried.size()));
}

/// The loops of `nest` from `depth` on and what is inside. What is carried is
/// `initialised` if a loop outside has filled it already.
TreeBuilder::Carried TreeBuilder::buildNest(const model::LoopNest &nest,
                                            unsigned depth,
                                            const TreePosition &outside,
                                            Carried carried, bool initialised) {
  TreePosition position = outside;
  stager.stage(nest, depth, position);
  unsigned last = nest.lastOperator;
  // The parts of a split reduction are no result yet.
  bool isFinal = last == lastOperator() && !split && !isPartial;
  if (depth == nest.loops.size()) {
    if (!nest.parts.empty())
      return buildParts(nest, position, carried, initialised);
    Value place = carried[0];
    carried[0] = blocks.buildContraction(
        last, position, initialised ? place : startSums(last, position, place),
        initialised);
    if (isFinal && !initialised)
      carried[0] = blocks.buildEpilogue(last, position, carried[0], place);
    return carried;
  }
  const model::NestLoop &loop = nest.loops[depth];
  // Accumulators live from outside their outermost reduction loop on.
  bool isOutermostReduction = !initialised && isReductionOf(last, loop.loop);
  Value place = carried[0];
  Bounds bounds = {builder.getIndexAttr(0), position.extents[loop.loop]};
  if (isOutermostReduction && nest.size() == 1 &&
      (blocks.getForms().ahead >> last & 1)) {
    Value zero = arith::ConstantIndexOp::create(builder, loc(), 0);
    TreePosition ahead = narrow(nest, loop, position, zero);
    ahead.possible[loop.loop] = {loop.tile};
    llvm::SaveAndRestore<bool> partial(isPartial, true);
    carried =
        buildNest(nest, depth + 1, ahead, {startSums(last, position, place)},
                  /*initialised=*/false);
    bounds.first = loop.tile;
    bounds.lower = builder.getIndexAttr(bounds.first);
  } else if (isOutermostReduction) {
    carried[0] = blocks.buildFill(last, problem.operators[last].output, 0,
                                  position, startSums(last, position, place));
    if (makesExponentials(nest))
      startStates(position, carried);
  }
  bool nowInitialised = initialised || isOutermostReduction;
  if (isSkipping(nest, depth, nowInitialised)) {
    bounds = getBounds(loop, position);
    if (nest.size() == 1 && !nowInitialised)
      carried = fillAround(nest, loop, position, bounds, carried);
  }
  Carried results = buildLoop(
      nest, loop, position, bounds, carried,
      [&](const TreePosition &inner, const Carried &tiles) {
        return buildNest(nest, depth + 1, inner, tiles, nowInitialised);
      });
  if (!isOutermostReduction)
    return results;
  TreePosition finished = position;
  for (unsigned index = 1; index < results.size(); ++index)
    finished.tensors[getCarriedTensor(last, index)] = results[index];
  if (!split)
    results.truncate(1);
  if (isFinal)
    results[0] = blocks.buildEpilogue(last, finished, results[0], place);
  return results;
}

/// True if the states of the last operator belong to `nest`: it has that
/// operator and the one that makes the exponentials.
bool TreeBuilder::makesExponentials(const model::LoopNest &nest) const {
  if (!nest.has(lastOperator()))
    return false;
  for (unsigned op = nest.firstOperator; op < nest.lastOperator; ++op)
    if (analysis.operators[op].exponential)
      return true;
  return false;
}

/// From here on the last operator's states are carried, too. Where there is
/// place for them already, they start there.
void TreeBuilder::startStates(const TreePosition &position, Carried &carried) {
  if (carried.size() == 1)
    llvm::append_range(carried, softmax.createStates(lastOperator(), position));
  llvm::copy(softmax.clearStates(lastOperator(), position,
                                 ArrayRef(carried).drop_front()),
             carried.begin() + 1);
}

/// Where operator `op` adds up what is to end up in `place`: there, unless it
/// is of a narrower type.
Value TreeBuilder::startSums(unsigned op, const TreePosition &position,
                             Value place) {
  if (getElementTypeOrSelf(place) == blocks.getSumType())
    return place;
  return blocks.buildBuffer(problem.operators[op].output, position);
}

/// What `nest` makes as those see it who read it through windows.
Value TreeBuilder::buildUnderWindows(const model::LoopNest &nest,
                                     const TreePosition &position) {
  unsigned op = nest.lastOperator;
  model::TensorId output = problem.operators[op].output;
  return halos.buildWindows(op, position, [&](Value place) {
    bool isInPlace = getElementTypeOrSelf(place) == blocks.getSumType();
    Value sums = isInPlace ? place : blocks.buildBuffer(output, position);
    sums = buildNest(nest, 0, position, {sums}, /*initialised=*/false)[0];
    return blocks.buildEpilogue(op, position, sums, place);
  });
}

/// The parts of a nest in turn, intermediates between them in buffers the size
/// the loops around leave them.
TreeBuilder::Carried TreeBuilder::buildParts(const model::LoopNest &nest,
                                             const TreePosition &position,
                                             Carried carried,
                                             bool initialised) {
  TreePosition current = position;
  unsigned last = nest.lastOperator;
  for (const model::LoopNest &part : ArrayRef(nest.parts).drop_back()) {
    unsigned op = part.lastOperator;
    model::TensorId output = problem.operators[op].output;
    if (halos.isReadThroughWindows(output)) {
      current.tensors[output] = buildUnderWindows(part, current);
      continue;
    }
    Value result =
        buildNest(part, 0, current, {blocks.buildBuffer(output, position)},
                  /*initialised=*/false)[0];
    if (!analysis.operators[op].exponential) {
      current.tensors[output] =
          blocks.buildEpilogue(op, current, result, /*destination=*/Value());
      continue;
    }
    if (!initialised)
      startStates(position, carried);
    current.tensors[output] =
        softmax.finishScore(op, current, result, initialised, carried);
    for (unsigned index = 1; index < carried.size(); ++index)
      current.tensors[getCarriedTensor(last, index)] = carried[index];
  }
  const model::LoopNest &part = nest.parts.back();
  if (makesExponentials(part))
    return buildNest(part, 0, current, carried, initialised);
  carried[0] = buildNest(part, 0, current, {carried[0]}, initialised)[0];
  if (!initialised && !split)
    carried.truncate(1);
  return carried;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct TilePass : chimera::impl::TilePassBase<TilePass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<ChainOp> chains;
    getOperation()->walk([&](ChainOp chain) { chains.push_back(chain); });
    if (dissolve)
      getOperation()->walk([](PrepareOp op) {
        op.replaceAllUsesWith(op.getSource());
        op.erase();
      });
    for (ChainOp chain : chains) {
      if (dissolve || !chain.getSchedule()) {
        putBack(chain);
        continue;
      }
      FailureOr<ChainAnalysis> analysis = analyzeChain(chain);
      if (failed(analysis))
        return signalPassFailure();
      if (!isLowerable(*analysis)) {
        putBack(chain, *analysis, getText(analysis->obstacle));
        continue;
      }
      FailureOr<model::Schedule> schedule =
          convertSchedule(chain, *chain.getSchedule(), *analysis);
      if (failed(schedule))
        return signalPassFailure();
      // Code is for any extents of loops that are open.
      analysis->problem = analysis->typedProblem;
      // The schedule may be written by hand and never have met a target.
      const model::ChainProblem &problem = analysis->problem;
      llvm::Error error = model::verifyParallel(problem, *schedule);
      if (!error)
        error = model::verifyPacked(problem, *schedule);
      if (!error)
        error = model::verifyPrepacked(problem, *schedule);
      if (!error)
        error = model::verifyHeld(problem, *schedule);
      if (!error)
        error = model::verifyBlocks(problem, *schedule);
      if (!error)
        error = model::verifyOpen(problem, *schedule);
      if (error) {
        chain.emitError("schedule cannot run: ")
            << llvm::toString(std::move(error));
        return signalPassFailure();
      }
      Value result = TreeBuilder(chain, *analysis, *schedule).build();
      // Whoever looks at the whole program sees loops from here on.
      if (PlanAttr plan = chain.getPlanAttr())
        result.getDefiningOp()->setAttr(ChimeraDialect::getPlanAttrName(),
                                        plan);
      chain.getResult(0).replaceAllUsesWith(result);
      chain.erase();
    }
  }
};
} // namespace
