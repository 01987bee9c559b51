//===- GraphReport.h - How a program was partitioned ------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `chimera-partition` tells whoever wants to know, by a listener attached to
// the dialect, which operators it made groups of, what lies between the groups,
// and why. Reports of plans (PlanReport.h) draw it.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_REPORT_GRAPHREPORT_H
#define CHIMERA_REPORT_GRAPHREPORT_H

#include "Chimera/Model/Partition.h"

#include "mlir/IR/DialectInterface.h"

#include <string>
#include <vector>

namespace chimera {

/// Operators that run together.
struct GroupPlan {
  int64_t id = 0;
  /// `chain`, `memory`, `single` or `opaque`.
  std::string kind;
  model::GroupMembers operators;
  /// Code runs for it: it does not only look at what is there.
  bool isKernel = false;
  /// What the group takes, and its operators one by one.
  double seconds = 0, aloneSeconds = 0;
  /// Bytes between memory and the outermost level; and what the group reads and
  /// writes at least: each tensor once.
  double bytes = 0, compulsoryBytes = 0;
};

/// A tensor that one group makes and an operator of another reads.
struct StoredTensor {
  model::TensorId tensor = 0;
  model::OperatorId readingOperator = 0;
  /// Indices of the groups.
  unsigned writer = 0, reader = 0;
  /// Why they are two, and what the rules for both operators say.
  std::string reason, rule;
};

/// The operators of a block in groups.
struct GraphPlan {
  /// Where the block is in the source; empty and zero if that is not known.
  std::string file;
  unsigned line = 0, column = 0;
  std::string function;
  std::string target;
  int64_t threads = 1;
  model::OperatorGraph graph;
  /// In an order in which they can run.
  std::vector<GroupPlan> groups;
  std::vector<StoredTensor> stored;
  /// What all groups take, and all operators one by one.
  double seconds = 0, separateSeconds = 0;
  /// `optimal`, or what is known instead.
  std::string proof;

  /// Groups for which code runs.
  unsigned countKernels() const;
  /// Bytes that all groups move; and what comes in and goes out, each once.
  double bytes() const;
  double compulsoryBytes() const;
};

/// True if both have the same operators in the same groups.
bool arePartitionedAlike(const GraphPlan &left, const GraphPlan &right);

/// Hears of every block that is partitioned in a context. May be called by
/// several threads at once.
class GraphListener : public mlir::DialectInterface::Base<GraphListener> {
public:
  GraphListener(mlir::Dialect *dialect) : Base(dialect) {}

  virtual void partitioned(GraphPlan plan) = 0;

  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(GraphListener)
};

} // namespace chimera

#endif // CHIMERA_REPORT_GRAPHREPORT_H
