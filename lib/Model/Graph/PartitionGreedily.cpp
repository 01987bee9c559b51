//===- PartitionGreedily.cpp - Fusion into immediate post-dominators ------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operator whose results all pass through one other operator can be computed
// there, along with all operators between: nobody else waits for them. Such
// groups have one operator that others wait for, so they never wait for each
// other. This is what TVM's fusion does (Chen et al., OSDI 2018), with rules by
// kinds of operators; those of Gao et al. fit as well.
//
//===----------------------------------------------------------------------===//

#include "Graph/FusionRules.h"
#include "Graph/Groups.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace chimera::model;

namespace {

/// As in TVM.
constexpr size_t mostMembers = 256;

class DominatorFusion {
public:
  DominatorFusion(const OperatorGraph &graph, GroupPricer &pricer,
                  FusionRules rules)
      : graph(graph), pricer(pricer), uses(graph), groups(uses),
        rules(graph, rules), types(graph.operators.size()) {
    for (OperatorId op = 0; op < types.size(); ++op)
      types[op] = this->rules.typeOf(op);
    findDominators();
  }

  Partition runByKind();
  Partition runByTable();

private:
  void findDominators();
  OperatorId findCommon(OperatorId first, OperatorId second) const;
  GroupMembers getRegion(OperatorId op) const;
  void fuse(const GroupMembers &region);
  bool mayFuseByKind(const GroupMembers &region) const;
  bool mayFuseByTable(const GroupMembers &region) const;
  FunctionalKind kindOfGroup(OperatorId op) const {
    return types[groups.groupOf(op)].kind;
  }

  const OperatorGraph &graph;
  GroupPricer &pricer;
  GraphUses uses;
  Groups groups;
  RuleBook rules;
  /// By group. As in TVM, the kind is that of the last operator, or Anchor if
  /// one has joined.
  std::vector<FusedType> types;
  std::vector<OperatorId> dominator;
  std::vector<unsigned> depth;
};

} // namespace

//===----------------------------------------------------------------------===//
// Post-dominators
//===----------------------------------------------------------------------===//

/// The closest operator that both pass through; `none` if they end apart.
OperatorId DominatorFusion::findCommon(OperatorId first,
                                       OperatorId second) const {
  while (first != second && first != GraphUses::none &&
         second != GraphUses::none) {
    OperatorId &deeper = depth[first] < depth[second] ? second : first;
    deeper = dominator[deeper];
  }
  return first == second ? first : GraphUses::none;
}

void DominatorFusion::findDominators() {
  dominator.assign(types.size(), GraphUses::none);
  depth.assign(types.size(), 0);
  for (OperatorId op = types.size(); op-- > 0;) {
    bool isRead = all_of(graph.operators[op].outputs, [&](TensorId output) {
      return !graph.tensors[output].isResult && !uses.readers[output].empty();
    });
    if (!isRead)
      continue;
    OperatorId common = uses.after[op].front();
    for (OperatorId reader : uses.after[op])
      common = common == GraphUses::none ? common : findCommon(common, reader);
    dominator[op] = common;
    depth[op] = common == GraphUses::none ? 0 : depth[common] + 1;
  }
}

/// `op`, its dominator, and all between; nothing if they are too many.
GroupMembers DominatorFusion::getRegion(OperatorId op) const {
  GroupMembers region{op};
  DenseSet<OperatorId> seen{dominator[op]};
  for (size_t i = 0; i < region.size() && region.size() < mostMembers; ++i)
    for (OperatorId reader : uses.after[region[i]])
      if (seen.insert(reader).second)
        region.push_back(reader);
  if (region.size() >= mostMembers)
    return {};
  region.push_back(dominator[op]);
  llvm::sort(region);
  return region;
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

/// True if TVM would fuse the first operator of `region` into the last.
bool DominatorFusion::mayFuseByKind(const GroupMembers &region) const {
  // The most complex way of reading on the way.
  FunctionalKind edge = FunctionalKind::Elementwise;
  for (OperatorId op : ArrayRef(region).drop_back())
    for (OperatorId reader : uses.after[op])
      edge = std::max(edge, rules.kindOfEdge(op, reader));
  FunctionalKind between = FunctionalKind::Elementwise;
  for (OperatorId op : ArrayRef(region).drop_front().drop_back())
    between = std::max(between, kindOfGroup(op));
  FunctionalKind last = kindOfGroup(region.back());
  switch (types[groups.groupOf(region.front())].kind) {
  case FunctionalKind::Anchor:
    return edge == FunctionalKind::Elementwise &&
           std::max(between, last) <= FunctionalKind::Broadcast;
  case FunctionalKind::Elementwise:
  case FunctionalKind::Broadcast:
    return edge <= FunctionalKind::Reduction &&
           between <= FunctionalKind::Injective &&
           last != FunctionalKind::Opaque;
  case FunctionalKind::Injective:
    return std::max(between, last) <= FunctionalKind::Injective;
  case FunctionalKind::Reduction:
  case FunctionalKind::Opaque:
    return false;
  }
  llvm_unreachable("unknown kind");
}

/// True if the rules let each operator follow what runs before it in `region`.
bool DominatorFusion::mayFuseByTable(const GroupMembers &region) const {
  DenseMap<OperatorId, FusedType> running;
  running[region.front()] = types[groups.groupOf(region.front())];
  for (OperatorId op : ArrayRef(region).drop_front()) {
    FusedType joined = types[groups.groupOf(op)];
    for (OperatorId producer : uses.before[op]) {
      auto before = running.find(producer);
      if (before == running.end())
        continue;
      FusionRule whole = combine(before->second.mapping, joined.mapping);
      if (!rules.join(before->second, producer, op) ||
          whole.verdict == FusionRule::Verdict::Refuse)
        return false;
      joined.mapping = whole.type;
    }
    running[op] = joined;
  }
  return true;
}

/// Makes the operators of `region` and of their groups one group, if it is
/// legal.
void DominatorFusion::fuse(const GroupMembers &region) {
  GroupMembers members = groups.unite(region);
  if (members.size() > mostMembers || !pricer.isLegal(members))
    return;
  FusedType type = types[groups.groupOf(region.back())];
  for (OperatorId op : region) {
    FusedType joined = types[groups.groupOf(op)];
    type.mapping = combine(joined.mapping, type.mapping).type;
    if (joined.kind == FunctionalKind::Anchor)
      type.kind = FunctionalKind::Anchor;
  }
  groups.merge(region);
  types[groups.groupOf(region.front())] = type;
}

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

/// Injective operators wait until products have taken what they can.
Partition DominatorFusion::runByKind() {
  for (bool isInjectiveTurn : {false, true})
    for (OperatorId op = 0; op < types.size(); ++op) {
      FunctionalKind kind = kindOfGroup(op);
      bool isLate = kind == FunctionalKind::Injective;
      bool isAnchor = kind == FunctionalKind::Anchor;
      if (dominator[op] == GraphUses::none ||
          groups.groupOf(op) == groups.groupOf(dominator[op]) ||
          (isInjectiveTurn ? isAnchor : isLate))
        continue;
      GroupMembers region = getRegion(op);
      if (!region.empty() && mayFuseByKind(region))
        fuse(region);
    }
  return groups.price(pricer);
}

Partition DominatorFusion::runByTable() {
  for (OperatorId op = 0; op < types.size(); ++op) {
    if (dominator[op] == GraphUses::none ||
        groups.groupOf(op) == groups.groupOf(dominator[op]))
      continue;
    GroupMembers region = getRegion(op);
    if (!region.empty() && mayFuseByTable(region))
      fuse(region);
  }
  return groups.price(pricer);
}

Partition chimera::model::partitionGreedily(const OperatorGraph &graph,
                                            GroupPricer &pricer,
                                            FusionRules rules) {
  DominatorFusion fusion(graph, pricer, rules);
  return rules == FusionRules::Functional ? fusion.runByKind()
                                          : fusion.runByTable();
}

Partition chimera::model::partitionGreedily(const OperatorGraph &graph,
                                            GroupPricer &pricer) {
  return partitionGreedily(graph, pricer, FusionRules::Functional);
}
