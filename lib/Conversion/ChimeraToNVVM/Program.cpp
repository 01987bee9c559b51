//===- Program.cpp - What one thread block runs, read from tiled IR -------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"

#include "Chimera/IR/ElementBytes.h"
#include "Chimera/IR/NumberTypes.h"
#include "Chimera/IR/ProductBody.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace chimera;

LogicalResult Refusal::set(Operation *where, const Twine &why) {
  if (reason.empty()) {
    reason = why.str();
    op = where;
  }
  return failure();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

std::optional<std::pair<int64_t, int64_t>> chimera::getExtents(BlockOp block,
                                                               unsigned dim) {
  if (std::optional<ArrayAttr> extents = block.getExtents()) {
    if (dim >= extents->size())
      return std::nullopt;
    auto values = dyn_cast<ArrayAttr>((*extents)[dim]);
    if (!values || values.empty())
      return std::nullopt;
    std::pair<int64_t, int64_t> range = {0,
                                         std::numeric_limits<int64_t>::max()};
    for (Attribute value : values) {
      auto extent = dyn_cast<IntegerAttr>(value);
      if (!extent || extent.getInt() <= 0)
        return std::nullopt;
      range.first = std::max(range.first, extent.getInt());
      range.second = std::min(range.second, extent.getInt());
    }
    return range;
  }
  int64_t extent = block.getStructuredOp().getStaticLoopRanges()[dim];
  if (ShapedType::isDynamic(extent))
    return std::nullopt;
  return std::pair(extent, extent);
}

AffineMap chimera::getRowMap(unsigned numDims, MLIRContext *context) {
  return AffineMap::getMultiDimIdentityMap(numDims, context)
      .dropResult(numDims - 1);
}

bool chimera::isEmptyTensor(Operation *op) {
  auto alloc = dyn_cast<bufferization::AllocTensorOp>(op);
  return isa<tensor::EmptyOp>(op) || (alloc && !alloc.getCopy());
}

Value chimera::getOutside(BlockOp block, Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != &block.getBody().front())
    return {};
  return block->getOperand(argument.getArgNumber());
}

bool Program::isInside(Operation *op) const {
  return forall->isProperAncestor(op) ||
         (combination &&
          scf::ForallOp(combination.forall)->isProperAncestor(op));
}

Value Program::findGlobal(Value tensor) const {
  while (true) {
    if (auto argument = dyn_cast<BlockArgument>(tensor)) {
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      if (!loop || !isInside(loop))
        return tensor;
      tensor = loop.getTiedLoopInit(argument)->get();
      continue;
    }
    Operation *def = tensor.getDefiningOp();
    if (isEmptyTensor(def))
      return {};
    if (!isInside(def))
      return tensor;
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(def))
      tensor = slice.getSource();
    else if (auto insert = dyn_cast<tensor::InsertSliceOp>(def))
      tensor = insert.getDest();
    else if (auto loop = dyn_cast<scf::ForOp>(def))
      tensor = loop.getInits()[cast<OpResult>(tensor).getResultNumber()];
    else
      return {};
  }
}

bool Program::isCarried(Value tensor) const {
  // A result takes the place of what it is written over.
  while (Operation *def = tensor.getDefiningOp()) {
    unsigned index = cast<OpResult>(tensor).getResultNumber();
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(def))
      tensor = slice.getSource();
    else if (auto insert = dyn_cast<tensor::InsertSliceOp>(def))
      tensor = insert.getDest();
    else if (auto block = dyn_cast<BlockOp>(def))
      tensor = block.getOutputs()[index];
    else if (auto loop = dyn_cast<scf::ForOp>(def))
      tensor = loop.getInits()[index];
    else
      return false;
  }
  auto argument = dyn_cast<BlockArgument>(tensor);
  return argument && isLocal(tensor) &&
         isa<scf::ForOp>(argument.getOwner()->getParentOp());
}

bool Program::dependsOn(Value index, scf::ForOp loop) const {
  if (index == loop.getInductionVar())
    return true;
  Operation *def = index.getDefiningOp();
  return def && forall->isAncestor(def) &&
         llvm::any_of(def->getOperands(), [&](Value operand) {
           return !isa<ShapedType>(operand.getType()) &&
                  dependsOn(operand, loop);
         });
}

bool Program::mustUnroll(scf::ForOp loop) const {
  auto isIndexed = [&](Value tensor, OffsetSizeAndStrideOpInterface op) {
    return isLocal(tensor) && llvm::any_of(op.getOffsets(), [&](Value offset) {
             return dependsOn(offset, loop);
           });
  };
  WalkResult result = loop.getBody()->walk([&](Operation *op) {
    bool found = false;
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
      found = isIndexed(slice.getSource(), slice);
    else if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
      found = isIndexed(insert.getDest(), insert);
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

scf::ForOp Program::findHome(Value tensor) const {
  scf::ForOp home;
  for (auto slice = tensor.getDefiningOp<tensor::ExtractSliceOp>();
       slice && forall->isAncestor(slice);
       slice = slice.getSource().getDefiningOp<tensor::ExtractSliceOp>())
    for (auto loop = slice->getParentOfType<scf::ForOp>();
         loop && forall->isAncestor(loop);
         loop = loop->getParentOfType<scf::ForOp>()) {
      bool isChosen =
          llvm::any_of(slice->getOperands().drop_front(),
                       [&](Value index) { return dependsOn(index, loop); });
      if (isChosen && (!home || home->isAncestor(loop)))
        home = loop;
    }
  return home;
}

const Contraction *Program::getContraction(BlockOp block) const {
  auto found = contractions.find(block);
  return found == contractions.end() ? nullptr : &found->second;
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

namespace {

/// Reads one block.
class ContractionReader {
public:
  ContractionReader(BlockOp block, const BlockLimits &limits, Refusal &refusal)
      : block(block), op(block.getStructuredOp()), limits(limits),
        refusal(refusal) {}

  FailureOr<Contraction> read();

private:
  LogicalResult fail(const Twine &why) {
    return refusal.set(op, block.getOperatorName() + ": " + why);
  }
  LogicalResult readTypes();
  LogicalResult readBody();
  MatrixProgramAttr findInstruction(Type factor) const;
  LogicalResult readDims();
  LogicalResult readExtents();
  LogicalResult readFactor(bool isLhs);

  BlockOp block;
  linalg::LinalgOp op;
  const BlockLimits &limits;
  Refusal &refusal;
  Contraction contraction;
  /// Dimensions of the operation: rows, columns and what is added up.
  unsigned row = 0, column = 0, reduced = 0;
};

} // namespace

/// What multiplies numbers of `factor`; null if nothing does.
MatrixProgramAttr ContractionReader::findInstruction(Type factor) const {
  const auto *found =
      llvm::find_if(limits.instructions, [&](MatrixProgramAttr instruction) {
        return instruction.supports(MicroKernelKind::Contraction,
                                    {factor, factor, getSumType(factor)});
      });
  return found == limits.instructions.end() ? MatrixProgramAttr() : *found;
}

LogicalResult ContractionReader::readTypes() {
  Type type = getElementTypeOrSelf(op.getDpsInputOperand(0)->get());
  bool same = llvm::all_of(op.getDpsInputs(), [&](Value input) {
    return getElementTypeOrSelf(input) == type;
  });
  Type rounded = getRoundedType(type);
  contraction.factorType = rounded ? rounded : type;
  contraction.instruction = findInstruction(contraction.factorType);
  if (same && rounded && (!limits.allowsTF32 || !contraction.instruction))
    return fail("tensor cores multiply f32 as tf32 only, which the option tf32 "
                "allows where the target has it");
  if (!same || !contraction.instruction)
    return fail("tensor cores multiply f16, bf16, i8, or f32 as tf32; convert "
                "the operands");
  contraction.elementBytes = bytesOf(type);
  contraction.sumType = getSumType(type);
  if (getElementTypeOrSelf(op->getResult(0)) != contraction.sumType)
    return fail("sums must be f32, or i32 of i8; narrow them after the "
                "reduction");
  return success();
}

LogicalResult ContractionReader::readBody() {
  if (multipliesAndAdds(*op.getBlock()))
    return success();
  std::optional<ProductBody> product = matchProductBody(*op.getBlock());
  if (!product || !product->isInteger())
    return fail("does something else than to multiply and add up in f32 or "
                "i32, which is all that tensor cores do");
  // The first operand is the left factor or the right one.
  AffineMap first = op.getMatchingIndexingMap(op.getDpsInputOperand(0));
  bool isLhsFirst = !first.isFunctionOfDim(column);
  contraction.isLhsUnsigned =
      isLhsFirst ? product->isFactorUnsigned : product->isCodeUnsigned;
  contraction.isRhsUnsigned =
      isLhsFirst ? product->isCodeUnsigned : product->isFactorUnsigned;
  return success();
}

LogicalResult ContractionReader::readDims() {
  AffineMap output = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  unsigned rank = output.getNumResults();
  if (rank < 2 || !output.isProjectedPermutation())
    return fail("the result must have rows and columns");
  row = output.getDimPosition(rank - 2);
  column = output.getDimPosition(rank - 1);
  SmallVector<unsigned> reductions;
  op.getReductionDims(reductions);
  // Taps of windows are added up by loops around.
  unsigned innermost = reductions.back();
  llvm::erase_if(reductions, [&](unsigned dim) {
    auto extents = getExtents(block, dim);
    return extents && extents->first == 1;
  });
  if (reductions.size() > 1)
    return fail("needs one dimension to add up over; cut the loops over taps "
                "to one");
  reduced = reductions.empty() ? innermost : reductions.front();
  return success();
}

LogicalResult ContractionReader::readExtents() {
  for (unsigned dim = 0; dim < op.getNumLoops(); ++dim) {
    auto extents = getExtents(block, dim);
    if (!extents)
      return fail("extents are not known; give tensors static shapes");
    auto [largest, smallest] = *extents;
    if (dim == row) {
      contraction.rows = largest;
    } else if (dim == column) {
      contraction.columns = largest;
    } else if (dim == reduced) {
      contraction.depth = largest;
      contraction.leastDepth = smallest;
    } else if (largest != 1) {
      return fail(
          "a block has several matrices of a batch; cut the loops of the "
          "batch to one");
    }
  }
  return success();
}

/// Which operand is the factor with the rows (respectively columns) of the
/// result, and how it lies in memory. Rows with a right operand of their own,
/// those of a batch, are computed one by one.
LogicalResult ContractionReader::readFactor(bool isLhs) {
  unsigned own = isLhs ? row : column;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    if (!map.isProjectedPermutation() || !map.isFunctionOfDim(own) ||
        map.isFunctionOfDim(column) == isLhs)
      continue;
    if (map.getNumResults() < 2 || !map.isFunctionOfDim(reduced) ||
        (!isLhs && map.isFunctionOfDim(row) && contraction.rows != 1))
      break;
    unsigned last = map.getDimPosition(map.getNumResults() - 1);
    if (last != own && last != reduced)
      return fail("an operand must have its rows or columns last");
    Factor &factor = isLhs ? contraction.lhs : contraction.rhs;
    factor.value = getOutside(block, operand->get());
    factor.isTransposed = (last == own) == isLhs;
    factor.rowDim = *map.getResultPosition(
        getAffineDimExpr(last == own ? reduced : own, op.getContext()));
    return success();
  }
  return fail("is not a product of two matrices");
}

FailureOr<Contraction> ContractionReader::read() {
  contraction.block = block;
  if (op.getNumDpsInputs() != 2 || !linalg::isaContractionOpInterface(op))
    return fail("a reduction that is not a product");
  if (failed(readTypes()))
    return failure();
  if (failed(readDims()) || failed(readBody()) || failed(readExtents()) ||
      failed(readFactor(/*isLhs=*/true)) || failed(readFactor(/*isLhs=*/false)))
    return failure();
  if (!contraction.lhs.value || !contraction.rhs.value)
    return fail("an operand is computed inside the block");
  auto fill = op.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
  if (fill && !matchPattern(fill.getInputs()[0], m_AnyZeroFloat()) &&
      !matchPattern(fill.getInputs()[0], m_Zero()))
    return fail("sums start from something else than zero");
  contraction.startsFromZero = static_cast<bool>(fill);
  return contraction;
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

FailureOr<Program> Program::read(scf::ForallOp forall,
                                 const Combination &combination,
                                 const BlockLimits &limits, Refusal &refusal) {
  Program program(forall, combination, limits);
  if (failed(program.readContractions(refusal)) ||
      failed(program.chooseLayout(refusal)))
    return failure();
  for (auto &[block, contraction] : program.contractions) {
    program.chooseTileLayouts(contraction);
    int64_t side = contraction.side();
    int64_t depth = llvm::alignTo(contraction.depth, side);
    int64_t columns = llvm::alignTo(contraction.columns, side);
    program.share(contraction.lhs, contraction, program.layout.rows(), depth);
    program.share(contraction.rhs, contraction, depth, columns);
  }
  if (failed(program.placeTiles(refusal)))
    return failure();
  return program;
}

LogicalResult Program::readContractions(Refusal &refusal) {
  WalkResult result = forall.walk([&](BlockOp block) {
    linalg::LinalgOp op = block.getStructuredOp();
    // What reduces along rows has numbers of rows among its results.
    bool reducesRows = isa<linalg::GenericOp>(op.getOperation()) &&
                       !linalg::isaContractionOpInterface(op) &&
                       llvm::any_of(block.getResultTypes(), [&](Type type) {
                         return cast<RankedTensorType>(type).getRank() + 1 ==
                                static_cast<int64_t>(op.getNumLoops());
                       });
    if (op.getNumReductionLoops() == 0 || reducesRows)
      return WalkResult::advance();
    FailureOr<Contraction> contraction =
        ContractionReader(block, limits, refusal).read();
    if (failed(contraction))
      return WalkResult::interrupt();
    const Factor &lhs = contraction->lhs;
    if (isLocal(contraction->rhs.value) ||
        (isLocal(lhs.value) && lhs.isTransposed)) {
      return WalkResult(refusal.set(
          op, block.getOperatorName() +
                  ": a value in registers can only be the left operand of a "
                  "product, its columns added up"));
    }
    int64_t own =
        cast<RankedTensorType>(block.getResult(0).getType()).getRank();
    if (rank != 0 && own != rank) {
      return WalkResult(
          refusal.set(op, block.getOperatorName() +
                              ": contractions make tensors of different rank"));
    }
    rank = own;
    contractions[block] = *contraction;
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  if (!contractions.empty())
    return success();
  return refusal.set(forall, "has no contraction");
}

LogicalResult Program::chooseLayout(Refusal &refusal) {
  int64_t rows = contractions.front().second.rows;
  for (auto &[op, contraction] : contractions)
    if (contraction.rows != rows)
      return refusal.set(
          BlockOp(contraction.block).getStructuredOp(),
          BlockOp(contraction.block).getOperatorName() +
              ": tiles have other rows than those of the operator before; cut "
              "them by a loop around all operators");
  auto registers = BlockOp(contractions.front().second.block).getRegisters();
  wantedRowTiles =
      std::min(limits.rowTiles, registers ? registers->getRows() : 1);
  model::RowShares shares =
      model::shareRows(rows, mmaRows, wantedRowTiles, limits.groups);
  layout.rowTiles = shares.rowTiles;
  layout.warps = shares.groups;
  stages = registers && registers->getStages() > 0 ? registers->getStages()
                                                   : limits.buffers;
  int64_t sharers = registers ? registers->getDepth() : 1;
  return sharers > 1 ? shareColumns(sharers, refusal) : success();
}

/// The outermost loop around `op` in `kernel`; null if there is none.
static scf::ForOp findOutermostLoop(Operation *op, scf::ForallOp kernel) {
  scf::ForOp outermost;
  for (auto loop = op->getParentOfType<scf::ForOp>();
       loop && kernel->isAncestor(loop);
       loop = loop->getParentOfType<scf::ForOp>())
    outermost = loop;
  return outermost;
}

/// Gives each of `sharers` warps a part of what the second product adds up
/// over. Their sums come together where tiles were, so behind all loops.
LogicalResult Program::shareColumns(int64_t sharers, Refusal &refusal) {
  auto *first = &contractions.front().second,
       *second = &contractions.back().second;
  bool isShareable = contractions.size() == 2 && layout.warps == 1 &&
                     first->startsFromZero && isLocal(second->lhs.value) &&
                     llvm::alignTo(second->depth, second->side()) %
                             (sharers * second->side()) ==
                         0;
  if (!isShareable)
    return refusal.set(
        forall,
        llvm::formatv("{0} warps cannot share the columns of a softmax "
                      "here: they need {1} or a multiple for each in a "
                      "block of up to {2} rows",
                      sharers, second->side(), layout.rowTiles * mmaRows)
            .str());
  scf::ForOp loop = findOutermostLoop(second->block, forall);
  if (loop &&
      llvm::none_of(loop.getInits(), [&](Value init) { return isLocal(init); }))
    return refusal.set(
        forall, "warps share the columns of a softmax that another loop is "
                "around; make it parallel, or the inner one");
  layout.warps = layout.sharers = sharers;
  first->columnSharers = second->depthSharers = sharers;
  return success();
}

/// Words and bytes are only loaded as matrices where rows run along the
/// reduction: there is no transposing ldmatrix for them. Nor are words where
/// the left operand is made of sums, since these have slots in another order.
void Program::chooseTileLayouts(Contraction &contraction) const {
  Factor &lhs = contraction.lhs, &rhs = contraction.rhs;
  if (contraction.elementBytes == 1) {
    lhs.isTurned = lhs.isTransposed;
    rhs.isTurned = !rhs.isTransposed;
  }
  if (contraction.elementBytes < 4)
    return;
  if (lhs.isTransposed)
    lhs.layout = TileLayout::Words;
  if (isLocal(lhs.value))
    rhs.layout = rhs.isTransposed ? TileLayout::Words : TileLayout::Slots;
  else if (!rhs.isTransposed)
    rhs.layout = TileLayout::Words;
}

/// Makes room in shared memory for an operand that comes from outside.
void Program::share(const Factor &factor, const Contraction &contraction,
                    int64_t rows, int64_t columns) {
  if (isLocal(factor.value))
    return;
  if (factor.isTransposedThere())
    std::swap(rows, columns);
  SharedTile &tile = tiles[keyOf(factor)];
  tile.source = factor.value;
  tile.layout = factor.layout;
  tile.isTurned = factor.isTurned;
  tile.elementBytes = contraction.elementBytes;
  tile.home = findHome(factor.value);
  tile.stages = tile.home ? stages : 1;
  tile.rows = std::max(tile.rows, rows);
  tile.columns = std::max(tile.columns, columns);
  tile.rowDim = factor.rowDim;
}

LogicalResult Program::placeTiles(Refusal &refusal) {
  for (auto &[key, tile] : tiles) {
    tile.byteOffset = sharedBytes;
    sharedBytes += llvm::alignTo(tile.bytes(), model::factorAlignment);
  }
  tileBytes = sharedBytes;
  sharedBytes += model::bytesOfSharers(layout.sharers, layout.rows());
  if (sharedBytes <= limits.sharedBytes)
    return success();
  return refusal.set(
      forall, llvm::formatv(
                  "tiles take {0} bytes of shared memory, of which a thread "
                  "block has {1}; cut the loops of operands into smaller ones",
                  sharedBytes, limits.sharedBytes)
                  .str());
}
