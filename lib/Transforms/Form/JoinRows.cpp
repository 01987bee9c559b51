//===- JoinRows.cpp - Rows of pixels that are one row ---------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With channels first, vectors run along the pixels of a row, and the last one
// of each is cut off: rows of 56 pixels are three and a half vectors of 16.
// Where no window tells rows apart, as in 1x1 convolutions, all pixels of an
// image are one row, which ends once.
//
// The same holds for channels in groups: where no group tells them apart, those
// of a pixel are one row, along which register tiles are wide.
//
// That is decided for a chain as a whole: the two dimensions are followed from
// its result through all operations. Reshapes at its boundary are views, unless
// a neighbour has the tensor as a part of a larger one, with a border or
// between other channels: such tensors keep their rows.
//
//===----------------------------------------------------------------------===//

#include "Form/JoinRows.h"

#include "Chimera/Chain/OpKinds.h"
#include "Chimera/Model/Algorithms.h"
#include "Form/NormalizeChain.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace chimera;

/// As many vectors of a row as the widest register tiles take. Of shorter rows,
/// tiles are narrow.
static constexpr int64_t wideTile = 6;

namespace {

class RowJoiner {
public:
  RowJoiner(ChainOp chain, const model::VectorUnit &unit)
      : chain(chain), unit(unit), rewriter(chain.getContext()) {}

  /// False if something has to keep its rows.
  bool find();
  LogicalResult join();

private:
  bool add(Value value, unsigned dim);
  bool follow(Value value);
  bool follow(linalg::GenericOp op, AffineMap map, unsigned dim);

  ChainOp chain;
  const model::VectorUnit &unit;
  IRRewriter rewriter;
  /// The first of the two dimensions of each tensor that has them, and the two
  /// loops of each operation.
  llvm::MapVector<Value, unsigned> dims;
  llvm::MapVector<Operation *, std::pair<unsigned, unsigned>> loops;
};

} // namespace

/// The first of two dimensions that are to be one, if it is known where a
/// tensor has them.
using FirstDim = std::optional<unsigned>;

/// True if `user` makes what it reads a part of a larger tensor, in one of two
/// dimensions of it.
static bool makesPart(Operation *user, FirstDim dim) {
  auto isOneOfBoth = [&](uint64_t other) {
    return !dim || other == *dim || other == *dim + 1;
  };
  if (auto pad = dyn_cast<tensor::PadOp>(user)) {
    llvm::SmallBitVector padded = pad.getPaddedDims();
    return llvm::any_of(padded.set_bits(), isOneOfBoth);
  }
  if (auto concat = dyn_cast<tensor::ConcatOp>(user))
    return isOneOfBoth(concat.getDim());
  return isa<tensor::InsertSliceOp>(user);
}

/// True if `value`, or a reshape of it, is made or read as a part of a tensor.
static bool isPartOfOther(Value value, FirstDim dim) {
  Operation *maker = value.getDefiningOp();
  if (isa_and_present<tensor::ExtractSliceOp>(maker))
    return true;
  if (maker && isReshape(maker) &&
      isPartOfOther(maker->getOperand(0), /*dim=*/std::nullopt))
    return true;
  return llvm::any_of(value.getUsers(),
                      [&](Operation *user) { return makesPart(user, dim); });
}

/// The same for what is made of `value` by reshapes alone.
static bool becomesPartOfOther(Value value, FirstDim dim) {
  return isPartOfOther(value, dim) ||
         llvm::any_of(value.getUsers(), [](Operation *user) {
           return isReshape(user) && becomesPartOfOther(user->getResult(0),
                                                        /*dim=*/std::nullopt);
         });
}

bool RowJoiner::add(Value value, unsigned dim) {
  return dims.insert({value, dim}).first->second == dim;
}

/// Follows dimension `dim` of an operand with `map`, and the next one, through
/// the other operands of `op`.
bool RowJoiner::follow(linalg::GenericOp op, AffineMap map, unsigned dim) {
  auto first = dyn_cast<AffineDimExpr>(map.getResult(dim)),
       second = dyn_cast<AffineDimExpr>(map.getResult(dim + 1));
  if (!first || !second || op.hasIndexSemantics() || op->getNumResults() != 1)
    return false;
  std::pair<unsigned, unsigned> own = {first.getPosition(),
                                       second.getPosition()};
  auto [known, isNew] = loops.insert({op, own});
  if (!isNew)
    return known->second == own;
  auto types = op.getIteratorTypesArray();
  Value init = op.getDpsInits()[0];
  if (types[own.first] != types[own.second] ||
      !(isZeroFill(init) || init.getDefiningOp<tensor::EmptyOp>()))
    return false;
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap other = op.getMatchingIndexingMap(&operand);
    if (!other.isFunctionOfDim(own.first) && !other.isFunctionOfDim(own.second))
      continue;
    // Windows tell rows apart.
    if (!other.isProjectedPermutation() ||
        !linalg::areDimSequencesPreserved(
            {other}, {ReassociationIndices{own.first, own.second}}))
      return false;
    Value tensor =
        op.isDpsInit(&operand) ? Value(op.getResult(0)) : operand.get();
    if (!add(tensor, *other.getResultPosition(first)))
      return false;
  }
  return true;
}

/// Follows the dimensions of `value` to who makes it and who reads it.
bool RowJoiner::follow(Value value) {
  unsigned dim = dims.lookup(value);
  Operation *maker = value.getDefiningOp();
  if (auto op = dyn_cast_if_present<linalg::GenericOp>(maker)) {
    if (!follow(op, op.getIndexingMapsArray().back(), dim))
      return false;
  } else {
    Value source = value;
    while (source.getDefiningOp() && isReshape(source.getDefiningOp()))
      source = source.getDefiningOp()->getOperand(0);
    auto argument = dyn_cast<BlockArgument>(source);
    FirstDim known = source == value ? FirstDim(dim) : std::nullopt;
    if (!argument ||
        becomesPartOfOther(chain.getInputs()[argument.getArgNumber()], known))
      return false;
  }
  for (OpOperand &use : value.getUses()) {
    auto op = dyn_cast<linalg::GenericOp>(use.getOwner());
    if (op && !follow(op, op.getMatchingIndexingMap(&use), dim))
      return false;
    // On its way in or out it may have any shape.
    bool isAtBoundary = isa<YieldOp>(use.getOwner()) ||
                        (isReshape(use.getOwner()) &&
                         (value == dims.front().first ||
                          !isa_and_present<linalg::GenericOp>(maker)));
    if (!op && !isAtBoundary)
      return false;
  }
  return true;
}

/// True if vectors along `columns` after `rows` are better filled, or register
/// tiles are wider, if both are one.
static bool areShort(int64_t rows, int64_t columns,
                     const model::VectorUnit &unit) {
  int64_t vectors = llvm::divideCeilSigned(columns, unit.lanes);
  return vectors < wideTile ||
         llvm::divideCeilSigned(rows * columns, unit.lanes) != rows * vectors ||
         model::fillTilesAsOne(unit, rows, columns);
}

bool RowJoiner::find() {
  Value result = chain.getBody().front().getTerminator()->getOperand(0);
  while (result.getDefiningOp() && isUnitReshape(result.getDefiningOp()))
    result = result.getDefiningOp()->getOperand(0);
  auto type = cast<RankedTensorType>(result.getType());
  if (type.getRank() < 2 || !isStaticAndNotEmpty(type) ||
      !result.getDefiningOp<linalg::GenericOp>())
    return false;
  int64_t first = type.getRank() - 2;
  int64_t rows = type.getDimSize(first), columns = type.getDimSize(first + 1);
  if (rows == 1 || !areShort(rows, columns, unit))
    return false;
  add(result, first);
  // The map grows.
  for (size_t index = 0; index < dims.size(); ++index)
    if (!follow((dims.begin() + index)->first))
      return false;
  return true;
}

LogicalResult RowJoiner::join() {
  for (auto [op, own] : loops) {
    auto generic = cast<linalg::GenericOp>(op);
    bool isZero = isZeroFill(generic.getDpsInits()[0]);
    rewriter.setInsertionPoint(op);
    FailureOr<linalg::CollapseResult> joined = linalg::collapseOpIterationDims(
        generic, {ReassociationIndices{own.first, own.second}}, rewriter);
    if (failed(joined))
      return failure();
    linalg::LinalgOp made = joined->collapsedOp;
    auto type = cast<RankedTensorType>(made->getResult(0).getType());
    rewriter.setInsertionPoint(made);
    Value init =
        isZero ? createFilled(rewriter, op->getLoc(), type.getElementType(),
                              type.getShape(), /*number=*/0)
               : tensor::EmptyOp::create(rewriter, op->getLoc(),
                                         type.getShape(), type.getElementType())
                     .getResult();
    made.getDpsInitsMutable()[0].set(init);
    rewriter.replaceOp(op, joined->results);
  }
  RewritePatternSet patterns(chain.getContext());
  tensor::CollapseShapeOp::getCanonicalizationPatterns(patterns,
                                                       chain.getContext());
  return applyPatternsGreedily(chain.getBody(), std::move(patterns));
}

/// The first of the last two dimensions of what a chain makes in `outside`, if
/// these are the last there as well.
static FirstDim findRowsOutside(Value made, Value outside) {
  auto inner = cast<RankedTensorType>(made.getType()),
       outer = cast<RankedTensorType>(outside.getType());
  if (inner.getRank() < 2 || outer.getRank() < 2 ||
      inner.getShape().take_back(2) != outer.getShape().take_back(2))
    return std::nullopt;
  return outer.getRank() - 2;
}

FailureOr<bool> chimera::joinRows(ChainOp chain, ArrayRef<Value> results,
                                  const OperatorSupport &support) {
  ValueRange made = chain.getBody().front().getTerminator()->getOperands();
  if (support.lanes <= 1 || made.size() != results.size())
    return false;
  for (auto [inside, outside] : llvm::zip_equal(made, results))
    if (becomesPartOfOther(outside, findRowsOutside(inside, outside)))
      return false;
  RowJoiner joiner(chain, support.unit);
  if (!joiner.find())
    return false;
  if (failed(joiner.join()))
    return failure();
  return true;
}
