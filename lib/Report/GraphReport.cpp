//===- GraphReport.cpp - How a program was partitioned --------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Figures of a partition as a whole.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Report/GraphReport.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace chimera;

unsigned GraphPlan::countKernels() const {
  return count_if(groups,
                  [](const GroupPlan &group) { return group.isKernel; });
}

double GraphPlan::bytes() const {
  double bytes = 0;
  for (const GroupPlan &group : groups)
    bytes += group.bytes;
  return bytes;
}

double GraphPlan::compulsoryBytes() const {
  double bytes = 0;
  model::GraphUses uses(graph);
  for (auto [tensor, producer, readers] :
       zip_equal(graph.tensors, uses.producer, uses.readers)) {
    bool comesIn = producer == model::GraphUses::none && !readers.empty();
    bool goesOut = producer != model::GraphUses::none && tensor.isResult;
    if (comesIn || goesOut)
      bytes += tensor.bytes();
  }
  return bytes;
}

bool chimera::arePartitionedAlike(const GraphPlan &left,
                                  const GraphPlan &right) {
  auto sorted = [](const GraphPlan &plan) {
    std::vector<model::GroupMembers> groups;
    for (const GroupPlan &group : plan.groups)
      groups.push_back(group.operators);
    llvm::sort(groups);
    return groups;
  };
  return sorted(left) == sorted(right);
}
