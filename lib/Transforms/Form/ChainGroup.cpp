//===- ChainGroup.cpp - What a chain of given operators holds -------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Form/ChainGroup.h"

#include "Form/MissedReason.h"

#include "Chimera/Chain/OpKinds.h"
#include "Chimera/Model/ChainLimits.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"

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

/// True if `op` may lie between two operators of a chain.
static bool mayLieBetween(Operation *op) {
  if (!llvm::all_of(op->getOperandTypes(), mayBeOperand) ||
      !llvm::all_of(op->getResultTypes(), mayBeOperand) || isStart(op))
    return false;
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return isPointwise(linalgOp) && !isOperatorLike(linalgOp);
  if (isMove(op) || isa<linalg::SoftmaxOp>(op))
    return true;
  return OpTrait::hasElementwiseMappableTraits(op) && isMemoryEffectFree(op) &&
         op->getNumResults() == 1 &&
         isa<RankedTensorType>(op->getResult(0).getType());
}

/// True if `op` may lie between two operators, and works along rows.
static bool isPartOfSoftmax(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return (isa<linalg::SoftmaxOp>(op) ||
          (linalgOp && isRowReduction(linalgOp))) &&
         mayLieBetween(op);
}

/// True if `op` may lie between two operators, and works element by element.
static bool isElementwise(Operation *op) {
  if (op->getNumResults() != 1 || isa<linalg::SoftmaxOp, tensor::PadOp>(op))
    return false;
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return (!linalgOp || isParallel(linalgOp)) && mayLieBetween(op);
}

/// True if `op` reshapes a tensor or moves its elements as they are.
static bool onlyMoves(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return isReshape(op) || (linalgOp && isMovement(linalgOp));
}

/// True if `op` is a factor of an operator, or is moved into one. A constant
/// factor has to stay a tensor: as a number it would end up in the operator's
/// body.
static bool isFactor(Operation *op) {
  return llvm::any_of(op->getUses(), [](OpOperand &use) {
    auto user = dyn_cast<linalg::LinalgOp>(use.getOwner());
    return isMove(use.getOwner()) ||
           (user && !user.isDpsInit(&use) && !isParallel(user));
  });
}

/// True if `op` is a tensor of constants that are not one number repeated.
static bool isTable(Operation *op) {
  DenseElementsAttr elements;
  return matchPattern(op, m_Constant(&elements)) && !elements.isSplat();
}

/// True if `op` computes a tensor from indices and constants alone.
static bool isGenerated(Operation *op) {
  OperationSet makers;
  makers.insert(op);
  for (size_t i = 0; i < makers.size(); ++i) {
    if (i > 0 && isStart(makers[i]) && !isTable(makers[i]))
      continue;
    if (!isElementwise(makers[i]))
      return false;
    auto linalgOp = dyn_cast<linalg::LinalgOp>(makers[i]);
    ValueRange inputs = makers[i]->getOperands();
    if (linalgOp)
      inputs = linalgOp.getDpsInputs();
    for (Value input : inputs) {
      if (!input.getDefiningOp())
        return false;
      makers.insert(input.getDefiningOp());
    }
  }
  return true;
}

/// True if `op` merges dimensions of which one only repeats the others, as
/// heads that share keys and values are spelled. Inside a chain the dimensions
/// come apart again, and the repetition becomes a matter of indexing.
static bool isRepetition(Operation *op) {
  auto collapse = dyn_cast<tensor::CollapseShapeOp>(op);
  if (!collapse)
    return false;
  auto source = collapse.getSrc().getDefiningOp<linalg::LinalgOp>();
  return source && isMovement(source) &&
         cast<ShapedType>(source.getDpsInputs()[0].getType()).getNumElements() <
             collapse.getSrcType().getNumElements();
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

/// The operations that compute what `op` reads.
static SmallVector<Operation *> getProducers(Operation *op) {
  SmallVector<Operation *> producers;
  for (Value value : getReadValues(op))
    if (Operation *producer = value.getDefiningOp())
      producers.push_back(producer);
  return producers;
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

static bool isAnyOperator(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return linalgOp && isOperatorLike(linalgOp);
}

/// True if `step` leads from `op` to another operator.
static bool leadsToOperator(
    Operation *op,
    llvm::function_ref<SmallVector<Operation *>(Operation *)> step) {
  OperationSet seen;
  seen.insert(op);
  for (size_t i = 0; i < seen.size(); ++i) {
    if (i > 0 && isAnyOperator(seen[i]))
      return true;
    seen.insert_range(step(seen[i]));
  }
  return false;
}

bool chimera::hasDistantNeighbour(linalg::LinalgOp op) {
  return leadsToOperator(op, getUsersBeside) ||
         leadsToOperator(op, getProducers);
}

/// What `readers` depend on, up to the operators. In long programs almost
/// everything depends on almost everything, and a softmax with its mask has
/// fewer operations than are looked at.
static OperationSet findSources(ArrayRef<Operation *> readers) {
  constexpr size_t mostOfSoftmax = 256;
  OperationSet sources;
  for (Operation *reader : readers)
    sources.insert_range(getProducers(reader));
  for (size_t i = 0; i < sources.size() && i < mostOfSoftmax; ++i)
    if (isElementwise(sources[i]) || isPartOfSoftmax(sources[i]))
      sources.insert_range(getProducers(sources[i]));
  return sources;
}

linalg::LinalgOp chimera::findSoftmaxProducer(linalg::LinalgOp op) {
  auto reductions = llvm::filter_to_vector(findSources({op}), isPartOfSoftmax);
  auto producers =
      llvm::filter_to_vector(findSources(reductions), isAnyOperator);
  return producers.size() == 1 ? cast<linalg::LinalgOp>(producers[0])
                               : linalg::LinalgOp();
}

OperationSet chimera::findEarlyReaders(ValueRange values, Operation *end) {
  Operation *first = end;
  for (Value value : values)
    for (Operation *user : value.getUsers())
      if (Operation *beside = end->getBlock()->findAncestorOpInBlock(*user);
          beside && beside->isBeforeInBlock(first))
        first = beside;
  OperationSet readers;
  for (Operation *op = first; op != end; op = op->getNextNode())
    if (llvm::any_of(getReadValues(op), [&](Value value) {
          return llvm::is_contained(values, value) ||
                 readers.contains(value.getDefiningOp());
        }))
      readers.insert(op);
  return readers;
}

//===----------------------------------------------------------------------===//
// What a group may hold
//===----------------------------------------------------------------------===//

bool ChainGroup::mayHold(Operation *op) const {
  if (!isCompiled())
    return mayLieBetween(op);
  auto pad = dyn_cast<tensor::PadOp>(op);
  return isElementwise(op) || (isSoftmax && isPartOfSoftmax(op)) ||
         (pad && isZeroPad(pad));
}

/// True if `op` does not end a chain, since what follows can move as well what
/// the chain has before it.
bool ChainGroup::isLeftBehind(Operation *op) const {
  return isCompiled() ? onlyMoves(op) : isMove(op);
}

/// True if `op` reads `operand`, an image that `pad` makes, through windows
/// along the dimensions that are padded.
static bool readsBorder(linalg::LinalgOp op, OpOperand &operand,
                        tensor::PadOp pad) {
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  AffineMap map = op.getMatchingIndexingMap(&operand);
  return llvm::all_of(
      llvm::zip_equal(map.getResults(), pad.getStaticLow(),
                      pad.getStaticHigh()),
      [&](auto dim) {
        auto [expr, low, high] = dim;
        std::optional<AffineIndex> index = linearize(expr, extents);
        return (low == 0 && high == 0) || (index && index->terms.size() > 1);
      });
}

/// True if `pad` puts a border of zeros around an image that operators of the
/// chain read through windows, and read only so: then taps on the border can be
/// left out, if there is code for that.
bool ChainGroup::isBorder(tensor::PadOp pad) const {
  auto isMember = [&](Operation *user) { return members.contains(user); };
  Value source = pad.getSource();
  if (llvm::is_contained(support.inTiles, pad.getType().getElementType()))
    return false;
  return isZeroPad(pad) && llvm::none_of(source.getUsers(), isMember) &&
         llvm::all_of(pad->getUses(), [&](OpOperand &use) {
           return !isMember(use.getOwner()) ||
                  (operators.contains(use.getOwner()) &&
                   readsBorder(cast<linalg::LinalgOp>(use.getOwner()), use,
                               pad));
         });
}

/// True if a chain should hold `op`, which makes or moves an operand. Tensors
/// of constants stay outside unless they are one number repeated, and combined
/// element by element. Attention also holds what its masks are made from, and
/// factors that scores can be multiplied by instead.
bool ChainGroup::isPreparation(Operation *op) const {
  DenseElementsAttr elements;
  if (matchPattern(op, m_Constant(&elements)))
    return elements.isSplat() && !isFactor(op);
  if (isStart(op))
    return true;
  if (!isCompiled())
    return isMove(op) && mayLieBetween(op);
  if (auto pad = dyn_cast<tensor::PadOp>(op))
    return isBorder(pad);
  if (isElementwise(op) && onlyMoves(op) &&
      (!isReshape(op) || isUnitReshape(op) || isRepetition(op)))
    return true;
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return isSoftmax && (isGenerated(op) || (linalgOp && isScaling(linalgOp)));
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

ChainGroup::ChainGroup(OperatorList operators, ChainForm form,
                       const OperatorSupport &support)
    : support(support), form(form),
      isSoftmax(form == ChainForm::Compiled && operators.size() == 2 &&
                operators[0] == findSoftmaxProducer(operators[1])) {
  this->operators.insert(operators.begin(), operators.end());
  if (isCompiled())
    collectTailInRow();
  collectAfter();
  collectPaths(this->operators);
  if (!isCompiled() && reason.empty())
    collectTail();
}

/// What depends on the operators, as far as it can matter: in long programs
/// almost everything does. Of a chain that is compiled, nothing behind the tail
/// becomes a member or is a member's operand.
void ChainGroup::collectAfter() {
  Operation *end = nullptr;
  if (isCompiled())
    end = tail.empty() ? operators.back() : tail.back();
  auto insertUsers = [&](Operation *op) {
    for (Operation *user : getUsersBeside(op))
      if (!end || !end->isBeforeInBlock(user))
        after.insert(user);
  };
  for (Operation *op : operators)
    insertUsers(op);
  for (size_t i = 0; i < after.size(); ++i)
    insertUsers(after[i]);
}

/// Makes members of the operators, of `ends`, and of what lies between.
void ChainGroup::collectPaths(const OperationSet &ends) {
  OperationSet before = ends;
  for (size_t i = 0; i < before.size(); ++i)
    for (Operation *producer : getProducers(before[i]))
      if (after.contains(producer) || operators.contains(producer))
        before.insert(producer);
  members.clear();
  members.insert_range(sortByPosition(before));

  bool isKnown = llvm::all_of(members, [&](Operation *op) {
    return operators.contains(op) || mayHold(op);
  });
  if (!isCompiled()) {
    reason = isKnown ? "" : missed::unsupportedBetween.str();
    return;
  }
  bool isClosed = llvm::all_of(getExports(members), [&](Value value) {
    return value.getDefiningOp() == members.back();
  });
  llvm::StringLiteral open =
      isSoftmax ? missed::notNormalized : missed::usedOutside;
  reason = isKnown && isClosed ? "" : open.str();
}

/// What may follow the operators: everything that depends on nothing but
/// members and what follows them.
void ChainGroup::collectTail() {
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
    if (members.contains(op) || !mayHold(op))
      continue;
    bool follows = false, isBlocked = false;
    for (Operation *producer : getProducers(op)) {
      follows |= grown.contains(producer);
      isBlocked |= after.contains(producer) && !grown.contains(producer) &&
                   !members.contains(producer);
    }
    if (!follows || isBlocked)
      continue;
    grown.insert(op);
    tail.push_back(op);
  }
}

/// What may follow the last operator: elementwise operations of which each is
/// the only user of the one before.
void ChainGroup::collectTailInRow() {
  auto count = [](Value value) {
    return cast<ShapedType>(value.getType()).getNumElements();
  };
  Value value = operators.back()->getResult(0);
  while (!value.use_empty() && llvm::all_equal(value.getUsers())) {
    Operation *user = *value.user_begin();
    if (user->getBlock() != value.getParentBlock() || !isElementwise(user) ||
        count(user->getResult(0)) != count(value))
      break;
    tail.push_back(user);
    value = user->getResult(0);
  }
}

/// True if something outside `set` needs `value`, be it moved. Operations that
/// move what others need stay behind.
bool ChainGroup::isRead(Value value, const OperationSet &set) const {
  Block *block = value.getParentBlock();
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    Operation *beside = block->findAncestorOpInBlock(*user);
    if (!beside || !set.contains(beside))
      return true;
    return isLeftBehind(beside) && isRead(beside->getResult(0), set);
  });
}

SmallVector<Value> ChainGroup::getExports(const OperationSet &set) const {
  SmallVector<Value> exports;
  for (Operation *op : sortByPosition(set))
    for (Value value : op->getResults())
      if (!isLeftBehind(op) && isRead(value, set))
        exports.push_back(value);
  return exports;
}

SmallVector<Value> ChainGroup::getExports() const {
  if (isCompiled())
    return {members.back()->getResult(0)};
  return getExports(members);
}

SmallVector<size_t> ChainGroup::getTailLengths() const {
  SmallVector<size_t> lengths = {0};
  OperationSet set = members;
  size_t most = std::max(getExports(set).size(), numLast);
  for (auto [index, op] : llvm::enumerate(tail)) {
    set.insert(op);
    if (!isLeftBehind(op) && getExports(set).size() <= most)
      lengths.push_back(index + 1);
  }
  std::reverse(lengths.begin(), lengths.end());
  return lengths;
}

void ChainGroup::takeTail(size_t length) {
  OperationSet ends = operators;
  ends.insert(tail.begin(), tail.begin() + length);
  collectPaths(ends);
}

void ChainGroup::addPreparations(Operation *op, OperationSet &group) const {
  for (Operation *producer : getProducers(op)) {
    if (group.contains(producer) || after.contains(producer) ||
        operators.contains(producer) || !isPreparation(producer))
      continue;
    addPreparations(producer, group);
    group.insert(producer);
  }
}

/// Everything to clone, in program order. What lies in blocks around the
/// operators' own comes first.
SmallVector<Operation *> ChainGroup::getOperations() const {
  OperationSet group, inside;
  for (Operation *op : members) {
    addPreparations(op, group);
    group.insert(op);
  }
  SmallVector<Operation *> operations;
  for (Operation *op : group)
    if (op->getBlock() == members.back()->getBlock())
      inside.insert(op);
    else
      operations.push_back(op);
  llvm::append_range(operations, sortByPosition(inside));
  return operations;
}

ChainOp ChainGroup::clone() const {
  SmallVector<Operation *> operations = getOperations();
  SmallVector<Value> exports = getExports();
  Operation *last = operations.back();
  OpBuilder builder(last->getContext());
  builder.setInsertionPointAfter(last);
  llvm::SetVector<Value> inputs;
  llvm::DenseSet<Operation *> held(operations.begin(), operations.end());
  for (Operation *op : operations)
    for (Value value : getReadValues(op))
      if (!held.contains(value.getDefiningOp()))
        inputs.insert(value);

  auto chain =
      ChainOp::create(builder, last->getLoc(), ValueRange(exports).getTypes(),
                      inputs.getArrayRef(), nullptr, nullptr);
  Block &body = chain.getBody().emplaceBlock();
  IRMapping mapping;
  for (Value input : inputs)
    mapping.map(input, body.addArgument(input.getType(), input.getLoc()));
  builder.setInsertionPointToEnd(&body);
  for (Operation *op : operations)
    builder.clone(*op, mapping);
  auto yielded = llvm::map_to_vector(
      exports, [&](Value value) { return mapping.lookup(value); });
  YieldOp::create(builder, last->getLoc(), yielded);
  return chain;
}

void ChainGroup::replaceExports(ValueRange values) {
  SmallVector<Operation *> operations = getOperations();
  Block *block = members.back()->getBlock();
  for (auto [old, value] : llvm::zip_equal(getExports(), values))
    old.replaceUsesWithIf(value, [&](OpOperand &use) {
      Operation *user = block->findAncestorOpInBlock(*use.getOwner());
      return !user || !members.contains(user) || isLeftBehind(user);
    });
  for (Operation *op : llvm::reverse(operations))
    if (isOpTriviallyDead(op))
      op->erase();
}
