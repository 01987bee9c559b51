//===- ChainGroup.cpp - What could become a chain -------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block is read backwards from the last contraction: an operation belongs to
// the group if everything that uses it does. So a group has one result by
// construction, and no intermediate is needed elsewhere.
//
//===----------------------------------------------------------------------===//

#include "Form/ChainGroup.h"

#include "Chimera/Chain/OpKinds.h"
#include "Chimera/Chain/Softmax.h"

#include "Chimera/Chain/ChainAnalysis.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;
using namespace chimera;

//===----------------------------------------------------------------------===//
// Reasons
//===----------------------------------------------------------------------===//

StringRef chimera::getText(MissedReason reason) {
  switch (reason) {
  case MissedReason::None:
    return "";
  case MissedReason::Buffers:
    return "it does not work on tensors";
  case MissedReason::Convolution:
    return "it is a convolution";
  case MissedReason::ElementType:
    return "its element types are not all f32";
  case MissedReason::Shape:
    return "its shape is not static or has no elements";
  case MissedReason::Form:
    return "it is not a product of two tensors, indexed by projected "
           "permutations, with a result that has dimensions";
  case MissedReason::Alone:
    return "no other contraction produces what it reads or reads what it "
           "produces";
  case MissedReason::UsedOutside:
    return "a tensor between it and the next contraction is used elsewhere";
  case MissedReason::UnsupportedBetween:
    return "an operation that is not elementwise, or a contraction that is not "
           "supported, lies between it and the next contraction";
  case MissedReason::NoCommonLoop:
    return "no loop that all could run in is common to it and its neighbours";
  case MissedReason::NoSoftmax:
    return "what is reduced along rows between it and its neighbour is no "
           "softmax, or is needed elsewhere";
  case MissedReason::NotNormalized:
    return "the operations between it and its neighbours do not reduce to one "
           "elementwise operation on the result of each contraction";
  case MissedReason::NotByItself:
    return "it joins no other, and by itself it does not reduce to one product "
           "that the model takes and elementwise operations on its result";
  }
  llvm_unreachable("unknown reason");
}

//===----------------------------------------------------------------------===//
// Kinds of operations
//===----------------------------------------------------------------------===//

static bool isStaticAndNotEmpty(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return !shaped || (shaped.hasStaticShape() && shaped.getNumElements() > 0);
}

MissedReason chimera::getObstacle(linalg::LinalgOp op, bool mayBeNarrow) {
  if (!op.hasPureTensorSemantics())
    return MissedReason::Buffers;
  if (!linalg::isaContractionOpInterface(op) && !isSupportedContraction(op))
    return MissedReason::Convolution;
  if (!llvm::all_of(op->getOperandTypes(), [&](Type type) {
        Type element = getElementTypeOrSelf(type);
        return element.isF32() ||
               (mayBeNarrow && isa<Float16Type, BFloat16Type>(element));
      }))
    return MissedReason::ElementType;
  if (!llvm::all_of(op->getOperandTypes(), isStaticAndNotEmpty))
    return MissedReason::Shape;
  return isSupportedContraction(op) ? MissedReason::None : MissedReason::Form;
}

/// True if `op` may lie between two contractions of a chain that have a softmax
/// between them, and is not elementwise.
static bool isPartOfSoftmax(Operation *op) {
  if (!llvm::all_of(op->getOperandTypes(), isStaticAndNotEmpty))
    return false;
  if (isa<linalg::SoftmaxOp>(op))
    return true;
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return linalgOp && isRowReduction(linalgOp) && hasScalarBody(linalgOp);
}

/// True if `op` may lie between two contractions of a chain.
static bool isBetween(Operation *op) {
  if (op->getNumResults() != 1 ||
      !isa<RankedTensorType>(op->getResult(0).getType()) ||
      !llvm::all_of(op->getOperandTypes(), isStaticAndNotEmpty) ||
      !isStaticAndNotEmpty(op->getResult(0).getType()))
    return false;
  if (isReshape(op))
    return true;
  if (OpTrait::hasElementwiseMappableTraits(op))
    return isMemoryEffectFree(op) && !matchPattern(op, m_Constant());
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return linalgOp && !isa<linalg::FillOp>(op) &&
         linalgOp.hasPureTensorSemantics() && isParallel(linalgOp) &&
         hasScalarBody(linalgOp);
}

/// True if `op` is a factor of a contraction, or is moved into one. A constant
/// factor has to stay a tensor: as a number it would end up in the
/// contraction's body.
static bool isFactor(Operation *op) {
  return llvm::any_of(op->getUses(), [](OpOperand &use) {
    auto user = dyn_cast<linalg::LinalgOp>(use.getOwner());
    return user && !user.isDpsInit(&use) &&
           (!isParallel(user) || isMovement(user));
  });
}

/// Whether operations compute a tensor from indices and constants alone, of
/// those that were asked about.
using Generated = llvm::DenseMap<Operation *, bool>;

static bool isGenerated(Operation *op, Generated &known);

static bool computesFromConstants(Operation *op, Generated &known) {
  if (!isBetween(op))
    return false;
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  ValueRange inputs = op->getOperands();
  if (linalgOp)
    inputs = linalgOp.getDpsInputs();
  return llvm::all_of(inputs, [&](Value input) {
    Operation *producer = input.getDefiningOp();
    DenseElementsAttr elements;
    if (!producer)
      return false;
    if (matchPattern(producer, m_Constant(&elements)))
      return elements.isSplat();
    return isa<linalg::FillOp>(producer) ||
           matchPattern(producer, m_Constant()) || isGenerated(producer, known);
  });
}

/// True if `op` computes a tensor from indices and constants alone.
static bool isGenerated(Operation *op, Generated &known) {
  if (auto it = known.find(op); it != known.end())
    return it->second;
  bool result = computesFromConstants(op, known);
  known[op] = result;
  return result;
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

/// True if `op` makes or moves an operand, so that a chain should hold it even
/// though no contraction comes before it. Tensors of constants stay outside
/// unless they are one number repeated, and combined element by element.
static bool isPreparation(Operation *op) {
  if (isa<tensor::EmptyOp, linalg::FillOp>(op))
    return true;
  DenseElementsAttr elements;
  if (matchPattern(op, m_Constant(&elements)))
    return elements.isSplat() && !isFactor(op);
  if (matchPattern(op, m_Constant()))
    return true;
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return isBetween(op) && (isUnitReshape(op) || isRepetition(op) ||
                           (linalgOp && isMovement(linalgOp)));
}

/// True if attention should hold `op`, which prepares an operand: what masks
/// are made from, and factors that scores can be multiplied by instead.
static bool isSoftmaxPreparation(Operation *op, Generated &known) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return isGenerated(op, known) || (linalgOp && isScaling(linalgOp));
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// Longer chains are cut: the planner weighs all ways to split one.
static constexpr size_t mostContractions = 6;

/// The operation of `op`'s block that `user` is or is nested in.
static Operation *getUserBeside(Operation *op, Operation *user) {
  return op->getBlock()->findAncestorOpInBlock(*user);
}

/// Everything before `last` in its block, back to the start, that is used by
/// the group only: contractions that are `allowed`, and what lies between. With
/// `softmaxTail`, the operations after `last`, also the parts of a softmax,
/// which these may read. Latest first.
static llvm::SetVector<Operation *>
getCone(linalg::LinalgOp last, const llvm::SetVector<Operation *> &allowed,
        std::optional<ArrayRef<Operation *>> softmaxTail = {}) {
  llvm::SetVector<Operation *> cone;
  ArrayRef<Operation *> tail = softmaxTail.value_or(ArrayRef<Operation *>());
  Operation *end = tail.empty() ? last.getOperation() : tail.back();
  for (Operation *op = end; op; op = op->getPrevNode()) {
    if (op == last || llvm::is_contained(tail, op)) {
      cone.insert(op);
      continue;
    }
    bool mayJoin = allowed.contains(op) || isBetween(op) ||
                   (softmaxTail && isPartOfSoftmax(op));
    if (op->use_empty() || !mayJoin)
      continue;
    if (llvm::all_of(op->getUsers(), [&](Operation *user) {
          return cone.contains(getUserBeside(op, user));
        }))
      cone.insert(op);
  }
  return cone;
}

ContractionRun
chimera::getContractionsReaching(linalg::LinalgOp last,
                                 const llvm::SetVector<Operation *> &allowed) {
  llvm::SetVector<Operation *> cone = getCone(last, allowed);
  ContractionRun run;
  for (Operation *op : llvm::reverse(cone))
    if (allowed.contains(op))
      run.push_back(cast<linalg::LinalgOp>(op));
  return run;
}

SmallVector<ContractionRun>
chimera::findRuns(ArrayRef<linalg::LinalgOp> candidates) {
  llvm::SetVector<Operation *> remaining(candidates.begin(), candidates.end());
  SmallVector<ContractionRun> runs;
  // The run of a last contraction holds the run of every other it holds, so
  // going backwards finds the longest ones.
  for (linalg::LinalgOp last : llvm::reverse(candidates)) {
    if (!remaining.contains(last))
      continue;
    ContractionRun run = getContractionsReaching(last, remaining);
    if (run.size() > mostContractions) {
      llvm::SetVector<Operation *> nearest;
      for (linalg::LinalgOp op : ArrayRef(run).take_back(mostContractions))
        nearest.insert(op);
      run = getContractionsReaching(last, nearest);
    }
    runs.push_back(run);
    for (linalg::LinalgOp op : runs.back())
      remaining.remove(op);
  }
  std::reverse(runs.begin(), runs.end());
  return runs;
}

/// Adds to `group` the producers of what `op` reads that only prepare operands,
/// each after its own.
static void addPreparations(Operation *op, llvm::SetVector<Operation *> &group,
                            bool hasSoftmax, Generated &known) {
  llvm::SetVector<Value> values(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), values);
  for (Value value : values) {
    Operation *producer = value.getDefiningOp();
    if (!producer || group.contains(producer))
      continue;
    if (!isPreparation(producer) &&
        !(hasSoftmax && isSoftmaxPreparation(producer, known)))
      continue;
    addPreparations(producer, group, hasSoftmax, known);
    group.insert(producer);
  }
}

/// What reads `op` on the way to `last`, contractions left out.
static llvm::SetVector<Operation *> getReadersUpTo(Operation *op,
                                                   Operation *last) {
  llvm::SetVector<Operation *> seen;
  auto goTo = [&](Operation *from) {
    for (Operation *user : from->getUsers())
      if (Operation *beside = getUserBeside(op, user);
          beside && beside != last && beside->isBeforeInBlock(last))
        seen.insert(beside);
  };
  goTo(op);
  for (size_t i = 0; i < seen.size(); ++i)
    if (isBetween(seen[i]) || isPartOfSoftmax(seen[i]))
      goTo(seen[i]);
  return seen;
}

linalg::LinalgOp chimera::findSoftmaxProducer(linalg::LinalgOp op) {
  llvm::SetVector<Operation *> seen;
  llvm::SetVector<Operation *> found;
  bool hasReduction = false;
  auto goTo = [&](Operation *from) {
    for (Value operand : from->getOperands())
      if (Operation *producer = operand.getDefiningOp())
        seen.insert(producer);
  };
  goTo(op);
  for (size_t i = 0; i < seen.size(); ++i) {
    auto linalgOp = dyn_cast<linalg::LinalgOp>(seen[i]);
    if (linalgOp && isContractionLike(linalgOp)) {
      found.insert(seen[i]);
    } else if (isPartOfSoftmax(seen[i]) || isBetween(seen[i])) {
      hasReduction |= isPartOfSoftmax(seen[i]);
      goTo(seen[i]);
    }
  }
  if (!hasReduction)
    return {};
  // Of several, the one that reductions read is wanted.
  SmallVector<linalg::LinalgOp> producers;
  for (Operation *producer : found) {
    llvm::SetVector<Operation *> after = getReadersUpTo(producer, op);
    if (llvm::any_of(after, isPartOfSoftmax))
      producers.push_back(cast<linalg::LinalgOp>(producer));
  }
  return producers.size() == 1 ? producers[0] : linalg::LinalgOp();
}

SmallVector<Operation *> chimera::getGroup(const ContractionRun &run,
                                           ArrayRef<Operation *> tail) {
  llvm::SetVector<Operation *> contractions(run.begin(), run.end());
  bool hasSoftmax = run.size() == 2 && run[0] == findSoftmaxProducer(run[1]);
  llvm::SetVector<Operation *> cone =
      hasSoftmax ? getCone(run.back(), contractions, tail)
                 : getCone(run.back(), contractions);
  llvm::SetVector<Operation *> path;
  for (Operation *op : llvm::reverse(cone)) {
    bool readsPath = llvm::any_of(op->getOperands(), [&](Value operand) {
      return path.contains(operand.getDefiningOp());
    });
    if (readsPath || contractions.contains(op))
      path.insert(op);
  }
  path.insert(tail.begin(), tail.end());
  llvm::SetVector<Operation *> group;
  Generated known;
  for (Operation *op : path) {
    addPreparations(op, group, hasSoftmax, known);
    group.insert(op);
  }
  return group.takeVector();
}

SmallVector<Operation *> chimera::getTail(linalg::LinalgOp op) {
  SmallVector<Operation *> tail;
  Value value = op->getResult(0);
  auto count = [](Value value) {
    return cast<ShapedType>(value.getType()).getNumElements();
  };
  while (!value.use_empty()) {
    Operation *user = *value.user_begin();
    bool isOnlyUser = llvm::all_of(
        value.getUsers(), [&](Operation *other) { return other == user; });
    if (!isOnlyUser || user->getBlock() != op->getBlock() || !isBetween(user) ||
        count(user->getResult(0)) != count(value))
      break;
    tail.push_back(user);
    value = user->getResult(0);
  }
  auto isMere = [](Operation *op) {
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    return isReshape(op) || (linalgOp && isMovement(linalgOp));
  };
  while (!tail.empty() && isMere(tail.back()))
    tail.pop_back();
  return tail;
}

ChainOp chimera::cloneIntoChain(ArrayRef<Operation *> group,
                                ValueRange results) {
  Operation *last = group.back();
  OpBuilder builder(last->getContext());
  builder.setInsertionPointAfter(last);
  llvm::SetVector<Value> inputs;
  llvm::DenseSet<Operation *> members(group.begin(), group.end());
  for (Operation *op : group) {
    llvm::SetVector<Value> read(op->operand_begin(), op->operand_end());
    getUsedValuesDefinedAbove(op->getRegions(), read);
    for (Value value : read)
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
// Explanations
//===----------------------------------------------------------------------===//

namespace {
using Step = llvm::function_ref<SmallVector<Operation *>(Operation *)>;
using Predicate = llvm::function_ref<bool(Operation *)>;
} // namespace

static SmallVector<Operation *> getConsumers(Operation *op) {
  SmallVector<Operation *> consumers;
  for (Operation *user : op->getUsers())
    if (Operation *beside = getUserBeside(op, user))
      consumers.push_back(beside);
  return consumers;
}

static SmallVector<Operation *> getProducers(Operation *op) {
  SmallVector<Operation *> producers;
  for (Value operand : op->getOperands())
    if (Operation *producer = operand.getDefiningOp();
        producer && producer->getBlock() == op->getBlock())
      producers.push_back(producer);
  return producers;
}

/// Everything `step` leads to from `op`, nearest first, not going beyond
/// operations for which `goesOn` does not hold.
static llvm::SetVector<Operation *> walk(Operation *op, Step step,
                                         Predicate goesOn) {
  llvm::SetVector<Operation *> seen;
  SmallVector<Operation *> found = step(op);
  seen.insert(found.begin(), found.end());
  for (size_t i = 0; i < seen.size(); ++i) {
    if (!goesOn(seen[i]))
      continue;
    found = step(seen[i]);
    seen.insert(found.begin(), found.end());
  }
  return seen;
}

static bool isSupported(Operation *op, bool mayBeNarrow) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return linalgOp && isContractionLike(linalgOp) &&
         getObstacle(linalgOp, mayBeNarrow) == MissedReason::None;
}

static bool isAnyContraction(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return linalgOp && isContractionLike(linalgOp);
}

/// Why `producer` and `consumer`, between which there is a path of elementwise
/// operations, are in no run: an intermediate is also read by an operation off
/// the path, which may (as in a softmax) or may not lead to the consumer.
static MissedReason explainPair(Operation *producer, Operation *consumer) {
  llvm::SetVector<Operation *> before =
      walk(consumer, getProducers, [](Operation *) { return true; });
  llvm::SetVector<Operation *> after = walk(producer, getConsumers, isBetween);
  bool leadsThere = llvm::any_of(after, [&](Operation *op) {
    return !isBetween(op) && op != consumer && before.contains(op);
  });
  return leadsThere ? MissedReason::UnsupportedBetween
                    : MissedReason::UsedOutside;
}

MissedReason chimera::explainNeighbours(linalg::LinalgOp op, bool mayBeNarrow) {
  auto goesAnywhere = [](Operation *op) { return !isAnyContraction(op); };
  for (Operation *other : walk(op, getConsumers, isBetween))
    if (isSupported(other, mayBeNarrow))
      return explainPair(op, other);
  for (Operation *other : walk(op, getProducers, isBetween))
    if (isSupported(other, mayBeNarrow))
      return explainPair(other, op);
  if (llvm::any_of(walk(op, getConsumers, goesAnywhere), isAnyContraction) ||
      llvm::any_of(walk(op, getProducers, goesAnywhere), isAnyContraction))
    return MissedReason::UnsupportedBetween;
  return MissedReason::Alone;
}
