//===- PaperPartition.h - The partition as the paper has it --- -*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What Gao et al. (Computer Science 52(5), 2025) print: candidates by fusion
// rules (Algorithm 1), the cost of a partition (equations 6 to 8) and the
// search for a cheap one (Algorithm 2). It is here to be compared with; no plan
// is made of it.
//
// It cannot be followed everywhere. What is repaired:
// - Algorithm 1 skips its recursive call whatever the rule says. Here the rule
//   decides.
// - Algorithm 1 asks the rule about neighbours. In Fig. 4 that would prolong
//   {4, 5, 6, 9} by the operator that {7, 8, 9, 10} ends with. Here the rule is
//   asked about all of the path so far, whose type Table 1 gives.
// - Algorithm 1 ends paths at the last node of the graph. Here each node that
// no
//   path can be prolonged by ends one.
// - Table 1 lacks one-to-one operators behind those of one-to-many and
//   many-to-many type, and Fig. 5 fuses such: rule 1 holds on either side. What
//   the table leaves out otherwise is not fused.
// - Supplement 1 asks whether the reader needs its input in one piece: products
//   do, reductions and broadcasts do not. Supplement 2 asks for a look at the
//   operators and does not say at what: it is granted.
// - Algorithm 2 has paths alone, and nothing keeps two of them from waiting for
//   each other. Here a group is refused if it closes a cycle with the groups
//   there are and the operators that have none yet.
// - Algorithm 2 calls findUnfusedPath, which draws at random, three times and
//   needs the same answer each time. Here it is called once.
// - The second pass is not printed. Here each one-to-one group joins the first
//   group that reads it, else the first that it reads, that the rules allow.
// - Equation 8 leaves its factors open: they are parameters.
// - Paths can be as many as 2^n: a limit is given for each operator they start
//   from. Groups have at most 256 operators, as in TVM.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_MODEL_PAPERPARTITION_H
#define CHIMERA_MODEL_PAPERPARTITION_H

#include "Chimera/Model/Partition.h"

#include <vector>

namespace chimera::model {

/// Which operators may become one.
enum class FusionRules {
  /// Table 1 without its supplements.
  Table1,
  /// Table 1 with both supplements.
  Supplemented,
  /// TVM's rules by kinds of operators: see partitionGreedily.
  Functional,
};

//===----------------------------------------------------------------------===//
// Algorithm 1
//===----------------------------------------------------------------------===//

/// The paths from `start` that `rules` do not let be any longer, at most
/// `mostPaths` of them. Their prefixes are the candidates of `start`.
std::vector<GroupMembers> listLongestPaths(const OperatorGraph &graph,
                                           OperatorId start, FusionRules rules,
                                           size_t mostPaths = 16);

//===----------------------------------------------------------------------===//
// Equations 6 to 8
//===----------------------------------------------------------------------===//

/// Equation 6: bytes on the edges between groups. A tensor counts once for each
/// operator that reads it. `groupOf` is the group of each operator.
double getFusedMemory(const OperatorGraph &graph,
                      llvm::ArrayRef<unsigned> groupOf);

/// Equation 7: the variance of the numbers of operators in groups, which are
/// numbered from zero.
double getFusedImbalance(llvm::ArrayRef<unsigned> groupOf);

//===----------------------------------------------------------------------===//
// Algorithm 2
//===----------------------------------------------------------------------===//

struct PaperOptions {
  FusionRules rules = FusionRules::Supplemented;
  /// The factors of equation 8: of bytes, and of the variance.
  double alpha = 1, beta = 4096;
  /// Two searches with one seed find the same.
  unsigned seed = 1;
  /// Paths from an operator, and partitions that are tried: one for each
  /// operator that can be fused, and no more than this.
  size_t mostPaths = 16, mostTries = 128;
};

struct PaperPartition {
  /// Priced and sorted as other partitions are; never proved.
  Partition partition;
  /// The paper's array: the group of each operator, by first operators.
  std::vector<unsigned> fused;
  /// Equations 6 to 8.
  double memory = 0, imbalance = 0, cost = 0;
  size_t numTries = 0;
};

/// Algorithm 2. `pricer` says which groups are legal, and what the groups of
/// the cheapest partition take.
PaperPartition searchAsPaper(const OperatorGraph &graph, GroupPricer &pricer,
                             const PaperOptions &options = {});

/// The greedy baseline of Fig. 6 with other rules: an operator joins its
/// immediate post-dominator if the rules allow it along all paths.
Partition partitionGreedily(const OperatorGraph &graph, GroupPricer &pricer,
                            FusionRules rules);

//===----------------------------------------------------------------------===//
// Equations 9 to 11
//===----------------------------------------------------------------------===//

/// How many times less there is after fusion than before: of bytes of the
/// program's text (C), of layers (F), of time (S).
inline double getRatio(double before, double after) { return before / after; }

} // namespace chimera::model

#endif // CHIMERA_MODEL_PAPERPARTITION_H
