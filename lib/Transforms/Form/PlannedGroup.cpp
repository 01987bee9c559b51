//===- PlannedGroup.cpp - What could be planned as a chain ----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Form/PlannedGroup.h"

#include "Chimera/Chain/OpKinds.h"
#include "Chimera/Model/ChainLimits.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace chimera;

//===----------------------------------------------------------------------===//
// Kinds of operations
//===----------------------------------------------------------------------===//

bool chimera::isOperatorLike(linalg::LinalgOp op) {
  if (multipliesTensors(op))
    return true;
  bool multiplies = llvm::any_of(op.getBlock()->getOperations(), [](auto &op) {
    return isa<arith::MulFOp, arith::MulIOp>(op);
  });
  return multiplies && (linalg::isaContractionOpInterface(op) ||
                        linalg::isaConvolutionOpInterface(op));
}

/// True for numbers and static tensors.
static bool mayBeOperand(Type type) {
  return !isa<ShapedType>(type) ||
         (isa<RankedTensorType>(type) && isStaticAndNotEmpty(type));
}

bool chimera::mayLieBetween(Operation *op) {
  if (!llvm::all_of(op->getOperandTypes(), mayBeOperand) ||
      !llvm::all_of(op->getResultTypes(), mayBeOperand) || isStart(op))
    return false;
  if (isMove(op) || isa<linalg::SoftmaxOp>(op))
    return true;
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return isPointwise(linalgOp) && !isOperatorLike(linalgOp);
  return OpTrait::hasElementwiseMappableTraits(op) && isMemoryEffectFree(op) &&
         op->getNumResults() == 1 &&
         isa<RankedTensorType>(op->getResult(0).getType());
}

/// True if `op` is a factor of an operator, or is moved into one. A constant
/// factor has to stay a tensor.
static bool isFactor(Operation *op) {
  return llvm::any_of(op->getUses(), [](OpOperand &use) {
    auto user = dyn_cast<linalg::LinalgOp>(use.getOwner());
    return isMove(use.getOwner()) ||
           (user && !user.isDpsInit(&use) && isOperatorLike(user));
  });
}

/// True if a chain should hold `op`, which makes or moves an operand.
static bool isPreparation(Operation *op) {
  DenseElementsAttr elements;
  if (matchPattern(op, m_Constant(&elements)))
    return elements.isSplat() && !isFactor(op);
  return isStart(op) || (isMove(op) && mayLieBetween(op));
}

//===----------------------------------------------------------------------===//
// Walks through the block
//===----------------------------------------------------------------------===//

/// The operations of `op`'s block that use it or hold an operation that does.
static SmallVector<Operation *> getUsersBeside(Operation *op) {
  SmallVector<Operation *> users;
  for (Operation *user : op->getUsers())
    if (Operation *beside = op->getBlock()->findAncestorOpInBlock(*user))
      users.push_back(beside);
  return users;
}

/// Everything `op` reads, its regions included.
static llvm::SetVector<Value> getReadValues(Operation *op) {
  llvm::SetVector<Value> values(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), values);
  return values;
}

static SmallVector<Operation *> sortByPosition(const OperationSet &set) {
  SmallVector<Operation *> sorted = llvm::to_vector(set);
  llvm::sort(sorted,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return sorted;
}

SmallVector<linalg::LinalgOp>
chimera::findReaders(linalg::LinalgOp op, const OperationSet &candidates) {
  OperationSet seen, readers;
  seen.insert(op);
  for (size_t i = 0; i < seen.size() && readers.size() < model::mostReaders;
       ++i) {
    if (i > 0 && candidates.contains(seen[i]))
      readers.insert(seen[i]);
    else if (i == 0 || mayLieBetween(seen[i]))
      seen.insert_range(getUsersBeside(seen[i]));
  }
  SmallVector<linalg::LinalgOp> sorted;
  for (Operation *reader : sortByPosition(readers))
    sorted.push_back(cast<linalg::LinalgOp>(reader));
  return sorted;
}

/// True if `step` leads from `op` to another operator.
static bool leadsToOperator(
    Operation *op,
    llvm::function_ref<SmallVector<Operation *>(Operation *)> step) {
  OperationSet seen;
  seen.insert(op);
  for (size_t i = 0; i < seen.size(); ++i) {
    auto linalgOp = dyn_cast<linalg::LinalgOp>(seen[i]);
    if (i > 0 && linalgOp && isOperatorLike(linalgOp))
      return true;
    seen.insert_range(step(seen[i]));
  }
  return false;
}

bool chimera::hasDistantNeighbour(linalg::LinalgOp op) {
  auto getProducers = [](Operation *from) {
    SmallVector<Operation *> producers;
    for (Value value : getReadValues(from))
      if (Operation *producer = value.getDefiningOp())
        producers.push_back(producer);
    return producers;
  };
  return leadsToOperator(op, getUsersBeside) ||
         leadsToOperator(op, getProducers);
}

ChainOp chimera::cloneIntoChain(ArrayRef<Operation *> group,
                                ValueRange results) {
  Operation *last = group.back();
  OpBuilder builder(last->getContext());
  builder.setInsertionPointAfter(last);
  llvm::SetVector<Value> inputs;
  llvm::DenseSet<Operation *> members(group.begin(), group.end());
  for (Operation *op : group) {
    for (Value value : getReadValues(op))
      if (!members.contains(value.getDefiningOp()))
        inputs.insert(value);
  }

  auto chain = ChainOp::create(builder, last->getLoc(), results.getTypes(),
                               inputs.getArrayRef(), nullptr, nullptr);
  Block &body = chain.getBody().emplaceBlock();
  IRMapping mapping;
  for (Value input : inputs)
    mapping.map(input, body.addArgument(input.getType(), input.getLoc()));
  builder.setInsertionPointToEnd(&body);
  for (Operation *op : group)
    builder.clone(*op, mapping);
  SmallVector<Value> yielded;
  for (Value result : results)
    yielded.push_back(mapping.lookup(result));
  YieldOp::create(builder, last->getLoc(), yielded);
  return chain;
}

//===----------------------------------------------------------------------===//
// PlannedGroup
//===----------------------------------------------------------------------===//

PlannedGroup::PlannedGroup(OperatorList operators) {
  for (linalg::LinalgOp op : operators)
    this->operators.insert(op);
  collectPaths();
  if (isValid())
    collectTail();
}

void PlannedGroup::collectPaths() {
  for (Operation *op : operators)
    after.insert_range(getUsersBeside(op));
  for (size_t i = 0; i < after.size(); ++i)
    after.insert_range(getUsersBeside(after[i]));

  OperationSet before = operators;
  for (size_t i = 0; i < before.size(); ++i)
    for (Value value : getReadValues(before[i]))
      if (Operation *producer = value.getDefiningOp();
          producer &&
          (after.contains(producer) || operators.contains(producer)))
        before.insert(producer);

  for (Operation *op : sortByPosition(before)) {
    members.insert(op);
    if (!operators.contains(op) && !mayLieBetween(op))
      reason = getText(MissedReason::UnsupportedBetween).str();
  }
}

void PlannedGroup::collectTail() {
  OperationSet grown;
  for (Operation *op : operators) {
    bool isLast = llvm::none_of(getUsersBeside(op), [&](Operation *user) {
      return members.contains(user);
    });
    if (isLast)
      grown.insert(op);
  }
  numLast = grown.size();
  for (Operation *op : sortByPosition(after)) {
    if (members.contains(op) || !mayLieBetween(op))
      continue;
    bool follows = false, isBlocked = false;
    for (Value value : getReadValues(op)) {
      Operation *producer = value.getDefiningOp();
      follows |= grown.contains(producer);
      isBlocked |= producer && after.contains(producer) &&
                   !grown.contains(producer) && !members.contains(producer);
    }
    if (!follows || isBlocked)
      continue;
    grown.insert(op);
    tail.push_back(op);
  }
}

/// True if something outside `set` needs `value`, be it moved. Operations that
/// move what others need stay behind.
bool PlannedGroup::isRead(Value value, const OperationSet &set) const {
  Block *block = value.getParentBlock();
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    Operation *beside = block->findAncestorOpInBlock(*user);
    if (!beside || !set.contains(beside))
      return true;
    return isMove(beside) && isRead(beside->getResult(0), set);
  });
}

SmallVector<Value> PlannedGroup::getExports(const OperationSet &set) const {
  SmallVector<Value> exports;
  for (Operation *op : sortByPosition(set))
    for (Value value : op->getResults())
      if (!isMove(op) && isRead(value, set))
        exports.push_back(value);
  return exports;
}

SmallVector<Value> PlannedGroup::getExports() const {
  return getExports(members);
}

SmallVector<size_t> PlannedGroup::getTailLengths() const {
  SmallVector<size_t> lengths = {0};
  OperationSet set = members;
  size_t most = std::max(getExports(set).size(), numLast);
  for (auto [index, op] : llvm::enumerate(tail)) {
    set.insert(op);
    if (!isMove(op) && getExports(set).size() <= most)
      lengths.push_back(index + 1);
  }
  std::reverse(lengths.begin(), lengths.end());
  return lengths;
}

void PlannedGroup::takeTail(size_t length) {
  members.insert(tail.begin(), tail.begin() + length);
}

void PlannedGroup::addPreparations(Operation *op, OperationSet &group) const {
  for (Value value : getReadValues(op)) {
    Operation *producer = value.getDefiningOp();
    if (!producer || group.contains(producer) || after.contains(producer) ||
        operators.contains(producer) || !isPreparation(producer))
      continue;
    addPreparations(producer, group);
    group.insert(producer);
  }
}

SmallVector<Operation *> PlannedGroup::getOperations() const {
  OperationSet group;
  for (Operation *op : sortByPosition(members)) {
    addPreparations(op, group);
    group.insert(op);
  }
  return sortByPosition(group);
}

void PlannedGroup::replaceExports(ValueRange values) {
  SmallVector<Operation *> operations = getOperations();
  Block *block = operations.front()->getBlock();
  for (auto [old, value] : llvm::zip_equal(getExports(), values))
    old.replaceUsesWithIf(value, [&](OpOperand &use) {
      Operation *user = block->findAncestorOpInBlock(*use.getOwner());
      return !user || !members.contains(user) || isMove(user);
    });
  for (Operation *op : llvm::reverse(operations))
    if (isOpTriviallyDead(op))
      op->erase();
}
