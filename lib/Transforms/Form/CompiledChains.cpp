//===- CompiledChains.cpp - Chains that code is generated from ------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the operations that a chain of given contractions holds and tries on a
// clone whether they can be brought into the form that code is generated from.
// What follows the last contraction is taken in as far as that goes well.
//
//===----------------------------------------------------------------------===//

#include "Form/CompiledChains.h"

#include "Form/NormalizeChain.h"
#include "Form/PlannedGroup.h"

#include "Chimera/Chain/ChainAnalysis.h"
#include "Chimera/Chain/OpKinds.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace chimera;

//===----------------------------------------------------------------------===//
// Kinds of operations
//===----------------------------------------------------------------------===//

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

/// The operation of `op`'s block that `user` is or is nested in.
static Operation *getUserBeside(Operation *op, Operation *user) {
  return op->getBlock()->findAncestorOpInBlock(*user);
}

/// Everything from the first of `operators` to the last that is used by the
/// group only: the operators and what lies between. With `softmaxTail`, the
/// operations after the last one, also the parts of a softmax, which these may
/// read. Latest first.
static OperationSet
getCone(OperatorList operators,
        std::optional<ArrayRef<Operation *>> softmaxTail = {}) {
  OperationSet cone;
  linalg::LinalgOp last = operators.back();
  Operation *start = operators.front()->getPrevNode();
  ArrayRef<Operation *> tail = softmaxTail.value_or(ArrayRef<Operation *>());
  Operation *end = tail.empty() ? last.getOperation() : tail.back();
  for (Operation *op = end; op != start; op = op->getPrevNode()) {
    if (op == last || llvm::is_contained(tail, op)) {
      cone.insert(op);
      continue;
    }
    bool mayJoin = llvm::is_contained(operators, op) || isBetween(op) ||
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

/// Adds to `group` the producers of what `op` reads that only prepare operands,
/// each after its own.
static void addPreparations(Operation *op, OperationSet &group, bool hasSoftmax,
                            Generated &known) {
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

/// True if one of `between`, all of which lead to the same operation, is part
/// of a softmax and depends on `op`.
static bool feedsSoftmax(Operation *op, const OperationSet &between) {
  OperationSet readers;
  auto addReaders = [&](Operation *from) {
    for (Operation *user : from->getUsers())
      if (Operation *beside = getUserBeside(op, user);
          beside && between.contains(beside))
        readers.insert(beside);
  };
  addReaders(op);
  for (size_t i = 0; i < readers.size(); ++i)
    addReaders(readers[i]);
  return llvm::any_of(readers, isPartOfSoftmax);
}

/// Operations to look at behind a contraction for a softmax: one with its mask
/// has fewer, and in long programs almost everything depends on almost
/// everything.
static constexpr size_t mostOfSoftmax = 256;

/// The contraction whose rows a softmax works on before `op` reads them, in any
/// spelling. Null if there is none.
static linalg::LinalgOp findSoftmaxProducer(linalg::LinalgOp op) {
  OperationSet seen, between;
  SmallVector<linalg::LinalgOp> contractions;
  auto addProducers = [&](Operation *from) {
    for (Value operand : from->getOperands())
      if (Operation *producer = operand.getDefiningOp())
        seen.insert(producer);
  };
  addProducers(op);
  bool hasReduction = false;
  for (size_t i = 0; i < seen.size() && i < mostOfSoftmax; ++i) {
    auto linalgOp = dyn_cast<linalg::LinalgOp>(seen[i]);
    bool isReduction = isPartOfSoftmax(seen[i]);
    if (linalgOp && isContractionLike(linalgOp)) {
      contractions.push_back(linalgOp);
    } else if (isReduction || isBetween(seen[i])) {
      hasReduction |= isReduction;
      between.insert(seen[i]);
      addProducers(seen[i]);
    }
  }
  if (!hasReduction)
    return {};
  // Of several, the one that reductions read is wanted.
  llvm::erase_if(contractions, [&](linalg::LinalgOp producer) {
    return !feedsSoftmax(producer, between);
  });
  return contractions.size() == 1 ? contractions[0] : linalg::LinalgOp();
}

static bool hasSoftmaxBetween(OperatorList operators) {
  return operators.size() == 2 &&
         operators[0] == findSoftmaxProducer(operators[1]);
}

/// The operators with all that a chain of them clones: what lies between them,
/// the operations of `tail` after them, and what merely moves or makes operands
/// of either. Producers come before consumers; the last one is the one whose
/// result the chain yields.
static SmallVector<Operation *> getGroup(OperatorList operators,
                                         ArrayRef<Operation *> tail) {
  bool hasSoftmax = hasSoftmaxBetween(operators);
  OperationSet cone =
      hasSoftmax ? getCone(operators, tail) : getCone(operators);
  OperationSet path;
  for (Operation *op : llvm::reverse(cone)) {
    bool readsPath = llvm::any_of(op->getOperands(), [&](Value operand) {
      return path.contains(operand.getDefiningOp());
    });
    if (readsPath || llvm::is_contained(operators, op))
      path.insert(op);
  }
  path.insert(tail.begin(), tail.end());
  OperationSet group;
  Generated known;
  for (Operation *op : path) {
    addPreparations(op, group, hasSoftmax, known);
    group.insert(op);
  }
  return group.takeVector();
}

/// The elementwise operations that could follow `op` within its chain: each is
/// the only user of the one before. May include reshapes, but not at the end.
static SmallVector<Operation *> getTail(linalg::LinalgOp op) {
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

/// True if the operators reach the last one and nothing else.
static bool reachLastOnly(OperatorList operators) {
  OperationSet cone = getCone(operators);
  return llvm::all_of(operators, [&](linalg::LinalgOp op) {
    return cone.contains(op.getOperation());
  });
}

//===----------------------------------------------------------------------===//
// Chains
//===----------------------------------------------------------------------===//

/// True if there is a loop that all operators can run in: one that is parallel
/// for all. Vector-matrix products have no more than the loop that one produces
/// and the next reduces.
static bool hasCommonLoop(const model::ChainProblem &problem) {
  bool areVectors =
      llvm::all_of(problem.operators, [](const model::Operator &op) {
        return op.output.indices.size() == 1;
      });
  for (model::LoopId loop = 0; loop < problem.loops.size(); ++loop)
    if (problem.isShared(loop) && (areVectors || !problem.isReduction(loop)))
      return true;
  return false;
}

/// What keeps `chain` from being one of `numOperators`, if anything.
static std::string check(ChainOp chain, size_t numOperators,
                         ArrayRef<Type> factors) {
  FailureOr<ChainAnalysis> analysis = analyzeChain(chain, /*emitErrors=*/false);
  if (failed(analysis) || analysis->operators.size() != numOperators ||
      getObstacle(*analysis, factors) != LoweringObstacle::None)
    return getText(MissedReason::NotNormalized).str();
  bool isAlone = numOperators == 1;
  return isAlone || hasCommonLoop(analysis->problem)
             ? ""
             : getText(MissedReason::NoCommonLoop).str();
}

namespace {

/// Some operators with some of the elementwise operations after them, and the
/// chain that was built for them.
class Attempt {
public:
  Attempt(OperatorList operators, ArrayRef<Operation *> tail,
          ArrayRef<Type> factors)
      : operators(operators), tail(tail), factors(factors) {}

  /// Builds the chain beside the original operations, or says why there is
  /// none.
  std::string build();
  /// Puts the chain in the place of the original operations.
  void commit();
  /// Takes the chain back.
  void drop() { formed.erase(); }

private:
  OperatorList operators;
  ArrayRef<Operation *> tail;
  ArrayRef<Type> factors;
  SmallVector<Operation *> group;
  FormedChain formed;
};

} // namespace

std::string Attempt::build() {
  group = getGroup(operators, tail);
  ChainOp chain = cloneIntoChain(group, group.back()->getResult(0));
  if (failed(normalizeBody(chain))) {
    chain.erase();
    return getText(MissedReason::NotNormalized).str();
  }
  formed = moveBoundaryOut(chain);
  std::string reason = check(formed.chain, operators.size(), factors);
  if (!reason.empty())
    formed.erase();
  return reason;
}

void Attempt::commit() {
  group.back()->getResult(0).replaceAllUsesWith(formed.result);
  // Preparations may have other users; those stay.
  for (Operation *op : llvm::reverse(group))
    if (isOpTriviallyDead(op))
      op->erase();
}

bool CompiledChains::belongTogether(linalg::LinalgOp producer,
                                    linalg::LinalgOp reader) const {
  return findSoftmaxProducer(reader) == producer;
}

/// Builds a chain with as much as possible of `tail` and hands it to `use`.
static std::string build(OperatorList operators, ArrayRef<Operation *> tail,
                         ArrayRef<Type> factors,
                         llvm::function_ref<void(Attempt &)> use) {
  std::string reason;
  for (size_t length = tail.size() + 1; length-- > 0;) {
    Attempt attempt(operators, tail.take_front(length), factors);
    reason = attempt.build();
    if (!reason.empty())
      continue;
    use(attempt);
    break;
  }
  return reason;
}

std::string CompiledChains::findReason(OperatorList operators) const {
  // A softmax may end behind the last operator, with the division by the sum.
  SmallVector<Operation *> tail;
  if (hasSoftmaxBetween(operators))
    tail = getTail(operators.back());
  else if (!reachLastOnly(operators))
    return getText(MissedReason::UsedOutside).str();
  return build(operators, tail, factors,
               [](Attempt &attempt) { attempt.drop(); });
}

std::string CompiledChains::commit(OperatorList operators) const {
  return build(operators, getTail(operators.back()), factors,
               [](Attempt &attempt) { attempt.commit(); });
}
