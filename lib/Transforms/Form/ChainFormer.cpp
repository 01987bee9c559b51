//===- ChainFormer.cpp - Which operators become chains --------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The fewer multiply-adds there are for each element of an intermediate, the
// more does moving it weigh. So neighbours join in this order, up to the length
// that the planner cuts chains of.
//
//===----------------------------------------------------------------------===//

#include "Form/ChainFormer.h"

#include "Form/MissedReason.h"
#include "NamedRemarks.h"

#include "Chimera/Model/ChainLimits.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Remarks.h"

#include <limits>

using namespace mlir;
using namespace chimera;

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
  bool comesFirst = false;
  /// Multiply-adds of both per element.
  double work = 0;
};

/// Forms the chains of a block.
class ChainFormer {
public:
  ChainFormer(OperatorList candidates, const ChainBuilder &builder,
              MissedOperators &missed);

  void run();

private:
  SmallVector<Edge> findEdges() const;
  void join(const Edge &edge);
  void commit(const Cluster &cluster);
  void note(OperatorList operators, StringRef reason);

  const ChainBuilder &builder;
  MissedOperators &missed;
  OperationSet candidates;
  std::vector<Cluster> clusters;
  llvm::DenseMap<Operation *, unsigned> clusterOf;
};

} // namespace

ChainFormer::ChainFormer(OperatorList candidates, const ChainBuilder &builder,
                         MissedOperators &missed)
    : builder(builder), missed(missed) {
  for (linalg::LinalgOp op : candidates) {
    this->candidates.insert(op);
    clusterOf[op] = clusters.size();
    clusters.push_back({{op}});
    missed[op] = hasDistantNeighbour(op) ? missed::unsupportedBetween.str()
                                         : missed::alone.str();
  }
}

/// The product, which may be more than an integer holds.
static double multiply(ArrayRef<int64_t> extents) {
  double count = 1;
  for (int64_t extent : extents)
    count *= extent;
  return count;
}

static double countMultiplyAdds(linalg::LinalgOp op) {
  return multiply(op.getStaticLoopRanges());
}

SmallVector<Edge> ChainFormer::findEdges() const {
  SmallVector<Edge> edges;
  // Found once for each, since it takes a walk.
  llvm::DenseMap<Operation *, Operation *> partners;
  for (Operation *op : candidates)
    partners[op] = builder.findPartner(cast<linalg::LinalgOp>(op));
  for (Operation *op : candidates) {
    auto producer = cast<linalg::LinalgOp>(op);
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    for (linalg::LinalgOp reader : findReaders(producer, candidates))
      edges.push_back(
          {producer, reader, partners.lookup(reader) == op,
           (countMultiplyAdds(producer) + countMultiplyAdds(reader)) /
               multiply(type.getShape())});
  }
  // Ties go in program order.
  llvm::sort(edges, [](const Edge &a, const Edge &b) {
    if (a.comesFirst != b.comesFirst)
      return a.comesFirst;
    if (a.work != b.work)
      return a.work < b.work;
    Operation *first = a.producer, *second = b.producer;
    if (first == second)
      first = a.reader, second = b.reader;
    return first != second && first->isBeforeInBlock(second);
  });
  return edges;
}

void ChainFormer::note(OperatorList operators, StringRef reason) {
  for (linalg::LinalgOp op : operators)
    missed[op] = reason.str();
}

/// Joins the clusters of both ends of `edge` if that makes a chain.
void ChainFormer::join(const Edge &edge) {
  unsigned first = clusterOf[edge.producer], second = clusterOf[edge.reader];
  Cluster &a = clusters[first], &b = clusters[second];
  if (first == second ||
      a.operators.size() + b.operators.size() > model::mostOperators)
    return;
  // A further reader of an intermediate that is kept anyway costs nothing.
  bool isKept = llvm::any_of(
      findReaders(edge.producer, candidates),
      [&](linalg::LinalgOp reader) { return clusterOf[reader] == first; });
  double least = std::min(a.leastWork, b.leastWork);
  if (!isKept && edge.work > builder.getMostRatio() * least)
    return note({edge.producer, edge.reader}, missed::mattersLess);
  SmallVector<linalg::LinalgOp> joined = a.operators;
  joined.append(b.operators);
  llvm::sort(joined, [](linalg::LinalgOp x, linalg::LinalgOp y) {
    return x->isBeforeInBlock(y);
  });
  if (std::string reason = builder.findReason(joined); !reason.empty())
    return note({edge.producer, edge.reader}, reason);
  for (linalg::LinalgOp op : b.operators)
    clusterOf[op] = first;
  a.operators = std::move(joined);
  a.leastWork = std::min(least, edge.work);
  b.operators.clear();
}

void ChainFormer::commit(const Cluster &cluster) {
  OperatorList operators = cluster.operators;
  Location loc = operators.back()->getLoc();
  if (std::string reason = builder.commit(operators); !reason.empty())
    return note(operators, reason);
  remark::passed(loc, named("chain"))
      << remark::add("formed a chain of {0} operators", operators.size());
  for (linalg::LinalgOp op : operators)
    missed.erase(op);
}

void ChainFormer::run() {
  for (const Edge &edge : findEdges())
    join(edge);
  for (const Cluster &cluster : clusters)
    if (cluster.operators.size() > 1)
      commit(cluster);
}

void chimera::formChains(OperatorList candidates, const ChainBuilder &builder,
                         MissedOperators &missed) {
  ChainFormer(candidates, builder, missed).run();
}
