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
// That is decided for a chain as a whole: the two dimensions are followed from
// its result through all operations. Reshapes at its boundary are views, unless
// a neighbour has the tensor as a part of a larger one, with a border or
// between other channels: such tensors keep their rows.
//
//===----------------------------------------------------------------------===//

#include "Form/JoinRows.h"

#include "Chimera/Chain/OpKinds.h"
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

namespace {

class RowJoiner {
public:
  RowJoiner(ChainOp chain, int64_t lanes)
      : chain(chain), lanes(lanes), rewriter(chain.getContext()) {}

  /// False if something has to keep its rows.
  bool find();
  LogicalResult join();

private:
  bool add(Value value, unsigned dim);
  bool follow(Value value);
  bool follow(linalg::GenericOp op, AffineMap map, unsigned dim);

  ChainOp chain;
  int64_t lanes;
  IRRewriter rewriter;
  /// The first of the two dimensions of each tensor that has them, and the two
  /// loops of each operation.
  llvm::MapVector<Value, unsigned> dims;
  llvm::MapVector<Operation *, std::pair<unsigned, unsigned>> loops;
};

} // namespace

/// True if `value`, or a reshape of it, is made or read as a part of a tensor.
static bool isPartOfOther(Value value) {
  Operation *maker = value.getDefiningOp();
  if (isa_and_present<tensor::ExtractSliceOp>(maker))
    return true;
  if (maker && isReshape(maker) && isPartOfOther(maker->getOperand(0)))
    return true;
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    return isa<tensor::PadOp, tensor::ConcatOp, tensor::InsertSliceOp>(user);
  });
}

/// The same for what is made of `value` by reshapes alone.
static bool becomesPartOfOther(Value value) {
  return isPartOfOther(value) ||
         llvm::any_of(value.getUsers(), [](Operation *user) {
           return isReshape(user) && becomesPartOfOther(user->getResult(0));
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
    if (!argument ||
        becomesPartOfOther(chain.getInputs()[argument.getArgNumber()]))
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

bool RowJoiner::find() {
  Value result = chain.getBody().front().getTerminator()->getOperand(0);
  while (result.getDefiningOp() && isUnitReshape(result.getDefiningOp()))
    result = result.getDefiningOp()->getOperand(0);
  auto type = cast<RankedTensorType>(result.getType());
  if (type.getRank() < 2 || !isStaticAndNotEmpty(type) ||
      !result.getDefiningOp<linalg::GenericOp>())
    return false;
  auto [rows, columns] = std::make_pair(type.getDimSize(type.getRank() - 2),
                                        type.getDimSize(type.getRank() - 1));
  if (llvm::divideCeilSigned(rows * columns, lanes) ==
      rows * llvm::divideCeilSigned(columns, lanes))
    return false;
  add(result, type.getRank() - 2);
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

LogicalResult chimera::joinRows(ChainOp chain, ArrayRef<Value> results,
                                int64_t lanes) {
  if (lanes <= 1 || llvm::any_of(results, becomesPartOfOther))
    return success();
  RowJoiner joiner(chain, lanes);
  return joiner.find() ? joiner.join() : success();
}
