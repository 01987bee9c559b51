//===- FormGeneralChains.cpp - Wrap what can be planned -------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which operators belong together is a matter of what it costs to keep them
// apart: the fewer multiply-adds there are for each element of an intermediate,
// the more does moving it weigh. So neighbours join in this order, and a chain
// stops growing where the next intermediate matters much less than those it
// already keeps. That takes no knowledge of a target; whether a chain is fused
// is decided later.
//
//===----------------------------------------------------------------------===//

#include "Form/FormGeneralChains.h"

#include "Chimera/Chain/OpKinds.h"
#include "Form/ChainGroup.h"
#include "Form/DecomposeSoftmax.h"
#include "Form/GeneralGroup.h"

#include "Chimera/Chain/ChainAnalysis.h"

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/MapVector.h"

#include <limits>
#include <set>

using namespace mlir;
using namespace chimera;

/// The most operators of one chain.
static constexpr size_t mostOperators = 6;
/// An intermediate joins others if it takes at most this many times their
/// multiply-adds per element.
static constexpr double mostRatio = 4;

//===----------------------------------------------------------------------===//
// One chain
//===----------------------------------------------------------------------===//

/// Makes `linalg.generic` of elementwise operations on tensors and of softmax.
static LogicalResult normalize(ChainOp chain) {
  if (failed(decomposeSoftmax(chain)))
    return failure();
  RewritePatternSet patterns(chain.getContext());
  linalg::populateElementwiseToLinalgConversionPatterns(patterns);
  return applyPatternsGreedily(chain.getBody(), std::move(patterns));
}

/// True if a loop of more than one iteration concerns all operators: they have
/// it, or what is read of their results depends on it.
static bool concernsAll(const model::ChainProblem &problem,
                        model::LoopId loop) {
  std::set<model::LoopId> affected = {loop};
  for (const model::Operator &op : llvm::reverse(problem.operators)) {
    for (const model::Operator &reader : problem.operators)
      for (const model::Access &input : reader.inputs) {
        if (input != op.output.tensor)
          continue;
        for (auto [read, written] :
             llvm::zip_equal(input.indices, op.output.indices))
          if (llvm::any_of(read.terms, [&](const model::Term &term) {
                return affected.count(term.loop);
              }))
            affected.insert(written.terms[0].loop);
      }
    if (llvm::none_of(op.loops,
                      [&](model::LoopId own) { return affected.count(own); }))
      return false;
  }
  return true;
}

/// True if there is a loop that all operators can run in. Two alone may share
/// what one produces and the other reduces: vector-matrix products have no
/// more.
static bool hasCommonLoop(const model::ChainProblem &problem) {
  for (model::LoopId loop = 0; loop < problem.loops.size(); ++loop)
    if ((!problem.isReduction(loop) || problem.operators.size() == 2) &&
        concernsAll(problem, loop))
      return true;
  return false;
}

/// The operations before `chain` that need one of `values`, directly or through
/// each other, in program order.
static llvm::SetVector<Operation *> findEarlyReaders(ValueRange values,
                                                     ChainOp chain) {
  Operation *first = chain;
  for (Value value : values)
    for (Operation *user : value.getUsers())
      if (Operation *beside = chain->getBlock()->findAncestorOpInBlock(*user);
          beside && beside->isBeforeInBlock(first))
        first = beside;
  llvm::SetVector<Operation *> readers;
  for (Operation *op = first; op != chain; op = op->getNextNode()) {
    llvm::SetVector<Value> read(op->operand_begin(), op->operand_end());
    getUsedValuesDefinedAbove(op->getRegions(), read);
    if (llvm::any_of(read, [&](Value value) {
          return llvm::is_contained(values, value) ||
                 readers.contains(value.getDefiningOp());
        }))
      readers.insert(op);
  }
  return readers;
}

namespace {

/// Operators that are to be one chain.
struct Cluster {
  SmallVector<linalg::LinalgOp> operators;
  /// The fewest multiply-adds per element of an intermediate.
  double leastWork = std::numeric_limits<double>::infinity();
};

/// An intermediate: what one operator makes and another reads.
struct Edge {
  linalg::LinalgOp producer, reader;
  /// Multiply-adds of both per element.
  double work = 0;
};

/// Forms the chains of a block.
class ChainFormer {
public:
  explicit ChainFormer(ArrayRef<linalg::LinalgOp> candidates);

  void run();

private:
  SmallVector<Edge> findEdges() const;
  void join(const Edge &edge);
  ChainOp tryChain(const GeneralGroup &group, size_t numOperators,
                   std::string &reason) const;
  std::string tryCluster(ArrayRef<linalg::LinalgOp> operators) const;
  void commit(const Cluster &cluster);
  void note(ArrayRef<linalg::LinalgOp> operators, StringRef reason);

  OperationSet candidates;
  std::vector<Cluster> clusters;
  llvm::DenseMap<Operation *, unsigned> clusterOf;
  /// Why operators are in no chain.
  llvm::MapVector<Operation *, std::string> missed;
};

} // namespace

static remark::RemarkOpts named(StringRef name) {
  return remark::RemarkOpts::name(name).category("chimera");
}

static void reportMissed(Operation *op, StringRef reason) {
  remark::missed(op->getLoc(), named("not-in-chain"))
      << remark::add("not in a chain: {0}", reason.str());
}

ChainFormer::ChainFormer(ArrayRef<linalg::LinalgOp> candidates) {
  for (linalg::LinalgOp op : candidates) {
    this->candidates.insert(op);
    clusterOf[op] = clusters.size();
    clusters.push_back({{op}});
    missed[op] = hasDistantNeighbour(op) ? unsupportedBetween.str()
                                         : getText(MissedReason::Alone).str();
  }
}

static double countMultiplyAdds(linalg::LinalgOp op) {
  double count = 1;
  for (int64_t extent : op.getStaticLoopRanges())
    count *= extent;
  return count;
}

SmallVector<Edge> ChainFormer::findEdges() const {
  SmallVector<Edge> edges;
  for (Operation *op : candidates) {
    auto producer = cast<linalg::LinalgOp>(op);
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    for (linalg::LinalgOp reader : findReaders(producer, candidates))
      edges.push_back(
          {producer, reader,
           (countMultiplyAdds(producer) + countMultiplyAdds(reader)) /
               type.getNumElements()});
  }
  // Ties go in program order.
  llvm::sort(edges, [](const Edge &a, const Edge &b) {
    if (a.work != b.work)
      return a.work < b.work;
    Operation *first = a.producer, *second = b.producer;
    if (first == second)
      first = a.reader, second = b.reader;
    return first != second && first->isBeforeInBlock(second);
  });
  return edges;
}

void ChainFormer::note(ArrayRef<linalg::LinalgOp> operators, StringRef reason) {
  for (linalg::LinalgOp op : operators)
    missed[op] = reason.str();
}

/// The chain of `group` as it stands, or null with the reason.
ChainOp ChainFormer::tryChain(const GeneralGroup &group, size_t numOperators,
                              std::string &reason) const {
  ChainOp chain = cloneIntoChain(group.getOperations(), group.getExports());
  FailureOr<ChainAnalysis> analysis = failure();
  if (succeeded(normalize(chain)))
    analysis = analyzeChain(chain, reason);
  if (succeeded(analysis) && analysis->operators.size() == numOperators) {
    // What reads the chain's results has to come after it.
    bool areMovable = llvm::all_of(findEarlyReaders(group.getExports(), chain),
                                   isMemoryEffectFree);
    if (areMovable && hasCommonLoop(analysis->problem))
      return chain;
    reason = areMovable
                 ? getText(MissedReason::NoCommonLoop).str()
                 : "an operation with side effects needs a result of the chain "
                   "before the chain's last operator";
  }
  chain.erase();
  return nullptr;
}

/// An empty string if `operators` make a chain, else why they do not.
std::string
ChainFormer::tryCluster(ArrayRef<linalg::LinalgOp> operators) const {
  GeneralGroup group(operators);
  if (!group.isValid())
    return group.getReason().str();
  std::string reason;
  if (ChainOp chain = tryChain(group, operators.size(), reason)) {
    chain.erase();
    return "";
  }
  return reason;
}

/// Joins the clusters of both ends of `edge` if that makes a chain.
void ChainFormer::join(const Edge &edge) {
  unsigned first = clusterOf[edge.producer], second = clusterOf[edge.reader];
  Cluster &a = clusters[first], &b = clusters[second];
  if (first == second ||
      a.operators.size() + b.operators.size() > mostOperators)
    return;
  // A further reader of an intermediate that is kept anyway costs nothing.
  bool isKept = llvm::any_of(
      findReaders(edge.producer, candidates),
      [&](linalg::LinalgOp reader) { return clusterOf[reader] == first; });
  double least = std::min(a.leastWork, b.leastWork);
  if (!isKept && edge.work > mostRatio * least)
    return note({edge.producer, edge.reader},
                "the tensor between it and its neighbour matters much less "
                "than those inside the neighbour's chain");
  SmallVector<linalg::LinalgOp> joined = a.operators;
  joined.append(b.operators);
  llvm::sort(joined, [](linalg::LinalgOp x, linalg::LinalgOp y) {
    return x->isBeforeInBlock(y);
  });
  if (std::string reason = tryCluster(joined); !reason.empty())
    return note({edge.producer, edge.reader}, reason);
  for (linalg::LinalgOp op : b.operators)
    clusterOf[op] = first;
  a.operators = std::move(joined);
  a.leastWork = std::min(least, edge.work);
  b.operators.clear();
}

/// Puts a chain in the place of the operators of `cluster`, with as much as
/// possible of what follows them.
void ChainFormer::commit(const Cluster &cluster) {
  std::string reason;
  ArrayRef<linalg::LinalgOp> operators = cluster.operators;
  for (size_t length : GeneralGroup(operators).getTailLengths()) {
    GeneralGroup group(operators);
    if (!group.isValid()) {
      reason = group.getReason().str();
      break;
    }
    group.takeTail(length);
    ChainOp chain = tryChain(group, operators.size(), reason);
    if (!chain)
      continue;
    remark::passed(operators.back()->getLoc(), named("chain"))
        << remark::add("formed a chain of {0} operators", operators.size());
    for (linalg::LinalgOp op : operators)
      missed.erase(op);
    group.replaceExports(chain.getResults());
    Operation *last = chain;
    for (Operation *reader : findEarlyReaders(chain.getResults(), chain)) {
      reader->moveAfter(last);
      last = reader;
    }
    return;
  }
  note(operators, reason);
}

void ChainFormer::run() {
  for (const Edge &edge : findEdges())
    join(edge);
  for (const Cluster &cluster : clusters)
    if (cluster.operators.size() > 1)
      commit(cluster);
  for (const auto &[op, reason] : missed)
    reportMissed(op, reason);
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

/// Why `op` can be no operator of a chain, if so.
static StringRef getGeneralObstacle(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics())
    return getText(MissedReason::Buffers);
  for (Type type : op->getOperandTypes())
    if (auto shaped = dyn_cast<ShapedType>(type);
        shaped && (!shaped.hasStaticShape() || shaped.getNumElements() == 0))
      return getText(MissedReason::Shape);
  if (!isComputeIntensive(op))
    return "it is not a sum of products of two tensors whose indices are sums "
           "of loops, or it uses every element once";
  return "";
}

void chimera::formGeneralChains(Operation *root) {
  llvm::MapVector<Block *, SmallVector<linalg::LinalgOp>> candidates;
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<ChainOp, BlockOp, MicroKernelOp>(op))
      return WalkResult::skip();
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    if (!linalgOp)
      return WalkResult::advance();
    if (isOperatorLike(linalgOp)) {
      StringRef obstacle = getGeneralObstacle(linalgOp);
      if (obstacle.empty())
        candidates[op->getBlock()].push_back(linalgOp);
      else
        reportMissed(op, obstacle);
    }
    return WalkResult::skip();
  });
  for (auto &[block, operators] : candidates)
    ChainFormer(operators).run();
}
