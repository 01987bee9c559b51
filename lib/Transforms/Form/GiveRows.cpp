//===- GiveRows.cpp - Rows for products of a vector -----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dimensions of one element are dropped as chains are formed, and a vector has
// none but its columns. Where instructions multiply matrices, and their results
// have rows, a vector gets one: the outermost loop of each product, of one
// trip, and of all that is made of products.
//
//===----------------------------------------------------------------------===//

#include "Form/GiveRows.h"

#include "Chimera/Chain/OpKinds.h"
#include "Form/NormalizeChain.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace mlir;
using namespace chimera;

namespace {

class RowGiver {
public:
  explicit RowGiver(ChainOp chain)
      : chain(chain), rewriter(chain.getContext()) {}

  /// False if not all products are of a vector by a matrix.
  bool find();
  void run();

private:
  bool add(linalg::GenericOp op);
  Value withRow(Value value);
  Value initWithRow(Value init);
  void give(linalg::GenericOp op);

  ChainOp chain;
  IRRewriter rewriter;
  /// What gets a row, in program order: products, and what reads their results.
  SmallVector<linalg::GenericOp> ops;
  llvm::DenseSet<Value> made;
  /// The vectors that products multiply by matrices.
  llvm::DenseMap<Operation *, OpOperand *> vectors;
  IRMapping rows;
};

} // namespace

static RankedTensorType getTypeWithRow(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(tensor.getShape());
  shape.insert(shape.begin(), 1);
  return tensor.clone(shape);
}

/// The dimensions of a tensor with a row that are those of `type`.
static SmallVector<ReassociationIndices> getGroups(Type type) {
  SmallVector<ReassociationIndices> groups;
  for (int64_t dim = 1; dim <= cast<RankedTensorType>(type).getRank(); ++dim)
    groups.push_back({dim});
  groups.front().insert(groups.front().begin(), 0);
  return groups;
}

/// The operand of `op` that all columns of a result without rows are made with,
/// if the others have these columns.
static OpOperand *findVector(linalg::GenericOp op) {
  AffineMap result = op.getIndexingMapsArray().back();
  if (op.getNumDpsInputs() != 2 || op->getNumResults() != 1 ||
      result.getNumResults() != 1 || !isa<AffineDimExpr>(result.getResult(0)))
    return nullptr;
  unsigned column = result.getDimPosition(0);
  OpOperand *vector = nullptr;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    if (op.getMatchingIndexingMap(operand).isFunctionOfDim(column))
      continue;
    if (vector)
      return nullptr;
    vector = operand;
  }
  return vector;
}

bool RowGiver::add(linalg::GenericOp op) {
  bool readsMade = llvm::any_of(
      op.getDpsInputs(), [&](Value input) { return made.contains(input); });
  if (isSupportedOperator(op)) {
    OpOperand *vector = findVector(op);
    if (!vector)
      return false;
    vectors[op] = vector;
    for (OpOperand *operand : op.getDpsInputOperands())
      if (operand != vector && made.contains(operand->get()))
        return false;
  } else if (!readsMade) {
    return true;
  }
  ops.push_back(op);
  for (Value result : op->getResults()) {
    if (!cast<RankedTensorType>(result.getType()).hasStaticShape())
      return false;
    made.insert(result);
  }
  return llvm::all_of(op.getDpsInits(), [](Value init) {
    Operation *start = init.getDefiningOp();
    return start && isStart(start);
  });
}

bool RowGiver::find() {
  for (Operation &op : chain.getBody().front())
    if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
      if (!add(generic))
        return false;
    } else if (llvm::any_of(op.getOperands(), [&](Value operand) {
                 return made.contains(operand) &&
                        cast<RankedTensorType>(operand.getType()).getRank() ==
                            0;
               })) {
      return false;
    }
  return !ops.empty();
}

/// `value`, a vector that nothing here makes, as a row.
Value RowGiver::withRow(Value value) {
  if (Value row = rows.lookupOrNull(value))
    return row;
  Value row = tensor::ExpandShapeOp::create(rewriter, value.getLoc(),
                                            getTypeWithRow(value.getType()),
                                            value, getGroups(value.getType()));
  rows.map(value, row);
  return row;
}

/// What starts a result with a row as `init` starts one without.
Value RowGiver::initWithRow(Value init) {
  Operation *start = rewriter.clone(*init.getDefiningOp());
  for (OpOperand &operand : start->getOpOperands())
    if (auto empty = operand.get().getDefiningOp<tensor::EmptyOp>())
      operand.set(initWithRow(empty));
  start->getResult(0).setType(getTypeWithRow(init.getType()));
  return start->getResult(0);
}

/// Puts `op` with one more loop, around all others, in its own place.
void RowGiver::give(linalg::GenericOp op) {
  MLIRContext *context = rewriter.getContext();
  rewriter.setInsertionPoint(op);
  SmallVector<Value> inputs, inits;
  SmallVector<AffineMap> maps;
  AffineExpr row = rewriter.getAffineDimExpr(0);
  for (OpOperand &operand : op->getOpOperands()) {
    bool isInit = op.isDpsInit(&operand);
    AffineMap map = op.getMatchingIndexingMap(&operand).shiftDims(1);
    if (isInit || made.contains(operand.get()) ||
        vectors.lookup(op) == &operand) {
      SmallVector<AffineExpr> indices = {row};
      llvm::append_range(indices, map.getResults());
      maps.push_back(AffineMap::get(map.getNumDims(), 0, indices, context));
      (isInit ? inits : inputs)
          .push_back(isInit ? initWithRow(operand.get())
                            : withRow(operand.get()));
    } else {
      maps.push_back(map);
      inputs.push_back(operand.get());
    }
  }
  SmallVector<utils::IteratorType> types = op.getIteratorTypesArray();
  types.insert(types.begin(), utils::IteratorType::parallel);
  auto made = linalg::GenericOp::create(rewriter, op.getLoc(),
                                        ValueRange(inits).getTypes(), inputs,
                                        inits, maps, types);
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  made.getRegion().takeBody(op.getRegion());
  made.walk([](linalg::IndexOp index) { index.setDim(index.getDim() + 1); });
  rows.map(op->getResults(), made->getResults());
}

void RowGiver::run() {
  for (linalg::GenericOp op : ops)
    give(op);
  for (linalg::GenericOp op : llvm::reverse(ops)) {
    // Reshapes, and who asked for the chain, see the vector.
    for (Value result : op->getResults())
      if (!result.use_empty()) {
        Value row = rows.lookup(result);
        rewriter.setInsertionPointAfterValue(row);
        rewriter.replaceAllUsesWith(result, tensor::CollapseShapeOp::create(
                                                rewriter, result.getLoc(),
                                                result.getType(), row,
                                                getGroups(result.getType())));
      }
    rewriter.eraseOp(op);
  }
}

void chimera::giveRows(ChainOp chain) {
  RowGiver giver(chain);
  if (giver.find())
    giver.run();
}
