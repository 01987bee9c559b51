//===- Partition.h - The cheapest groups of a whole program -----*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program runs group of operators by group of operators. Which partition
// takes the least time is found exactly: the groups run one after the other,
// and what has run is a set closed under producers, an ideal. The least time
// to reach an ideal I is
//     f(I) = min over S of f(I \ S) + cost(S),
// S a group such that I \ S is an ideal. There are few ideals, since programs
// are long and narrow. (Gao et al. call their search a dynamic program too; it
// is one of random restarts: see PaperPartition.h.)
//
// Four things keep it fast, none of which loses the optimum. An ideal is only
// extended by groups with its first missing operator, or by those that this
// operator's group might have to wait for: any order of groups can be sorted
// so. What can be in no group of several runs as soon as it can. Costs are
// bounds until the best path needs them. And a set that cannot grow into a
// group is not looked at.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_MODEL_PARTITION_H
#define CHIMERA_MODEL_PARTITION_H

#include "Chimera/Model/OperatorGraph.h"

#include <vector>

namespace chimera::model {

/// Operators of a group, in ascending order.
using GroupMembers = llvm::SmallVector<OperatorId, 8>;

/// What a partition asks of groups. The answers depend on the members alone,
/// so that costs add up.
class GroupPricer {
public:
  virtual ~GroupPricer();

  /// False only if neither `members` nor any set that contains them is legal.
  virtual bool mayGrow(llvm::ArrayRef<OperatorId> members) = 0;
  /// True if `members`, which are connected, may run as one group. One operator
  /// always may.
  virtual bool isLegal(llvm::ArrayRef<OperatorId> members) = 0;
  /// Seconds that the group takes at least; found in next to no time. For any
  /// set, legal or not, it is at most the sum of those of its parts.
  virtual double bound(llvm::ArrayRef<OperatorId> members) = 0;
  /// Seconds that the group takes; infinite if it turns out that it cannot run.
  virtual double cost(llvm::ArrayRef<OperatorId> members) = 0;
};

struct PartitionLimits {
  /// Operators without a dependence between them may be a group if they read a
  /// common tensor of so many bytes.
  int64_t sharedBytes = 4096;
  /// Ideals that are looked at; beyond, only `keptIdeals` of each size are:
  /// those that save most.
  size_t mostIdeals = 200000, keptIdeals = 4096;
  /// Sets of operators that an ideal is extended by.
  size_t mostExtensions = 4096;
  /// Operators of all sets that are looked at, and how many more there may be
  /// for each operator of the graph.
  size_t mostWork = 8000000, workPerOperator = 1024;
  /// Steps that are looked at again as costs become known; beyond, they are
  /// looked at once more, and more costs are asked for.
  size_t mostSteps = 20000000;
  /// Operators that are close enough to one to be in a group with it.
  size_t mostNeighbours = 256;
};

struct Partition {
  /// In an order in which the groups can run.
  llvm::SmallVector<GroupMembers, 0> groups;
  /// The sum of the groups' costs.
  double seconds = 0;
  /// No partition takes less time. If not, none takes less than `leastSeconds`.
  bool isProved = false;
  double leastSeconds = 0;
  /// Ideals, extensions and exact costs that were looked at.
  size_t numIdeals = 0, numExtensions = 0, numCosts = 0;
};

/// The cheapest partition of `graph` into legal groups whose dependences have
/// no cycle. Where limits stand in the way, what is found may take longer than
/// necessary, but never longer than partitionGreedily. The order of the
/// operators in the program does not matter.
Partition findPartition(const OperatorGraph &graph, GroupPricer &pricer,
                        const PartitionLimits &limits = {});

/// The `count` cheapest partitions, or all there are, cheapest first. The first
/// is that of findPartition; what the others take is to be compared with times.
/// The search has counted, and proved, for all of them together. Where limits
/// stand in the way, some that are as cheap may be passed over.
std::vector<Partition> findPartitions(const OperatorGraph &graph,
                                      GroupPricer &pricer, size_t count,
                                      const PartitionLimits &limits = {});

/// The cheapest partition by trying all; for up to a dozen operators. If `all`
/// is there, it gets the seconds of each partition whose groups can run.
Partition bruteForcePartition(const OperatorGraph &graph, GroupPricer &pricer,
                              const PartitionLimits &limits = {},
                              std::vector<double> *all = nullptr);

/// Each operator by itself.
Partition separateOperators(const OperatorGraph &graph, GroupPricer &pricer);

/// The baseline of compilers in use: each operator joins the one through which
/// all that it computes passes (its immediate post-dominator), with all
/// operators between, if the rules for their kinds allow it and the group is
/// legal, without a look at costs. This is FuseOps of TVM 0.12; its kinds
/// follow from mapping types:
///   kElemWise         one-to-one, operands as large as the result
///   kBroadcast        one-to-one with a smaller operand, one-to-many
///   kInjective        reorganize, shuffle
///   kCommReduce       many-to-one without a window
///   kOutEWiseFusable  other many-to-many: products, convolutions, pooling
///   kOpaque           not-fuse
/// TVM's tuples are no operators here. (PaperPartition.h has other rules.)
Partition partitionGreedily(const OperatorGraph &graph, GroupPricer &pricer);

} // namespace chimera::model

#endif // CHIMERA_MODEL_PARTITION_H
