//===- FusionRules.cpp - Which operators may become one -------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Table 1 of Gao et al. with the answers to its questions, and the conditions
// that TVM's fusion sets for each kind.
//
//===----------------------------------------------------------------------===//

#include "Graph/FusionRules.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace chimera::model;

static bool hasWindow(const GraphOperator &op) {
  return any_of(op.inputs, [](const GraphAccess &input) {
    return any_of(input.indices,
                  [](const Index &index) { return index.terms.size() > 1; });
  });
}

static bool isSmaller(const OperatorGraph &graph, const GraphOperator &op,
                      TensorId tensor) {
  return graph.tensors[tensor].elements() <
         graph.tensors[op.outputs.front()].elements();
}

FunctionalKind chimera::model::getKind(const OperatorGraph &graph,
                                       const GraphOperator &op) {
  MappingType type = classify(op);
  switch (type.mapping) {
  case MappingClass::OneToOne:
    return any_of(op.inputs,
                  [&](TensorId input) { return isSmaller(graph, op, input); })
               ? FunctionalKind::Broadcast
               : FunctionalKind::Elementwise;
  case MappingClass::OneToMany:
    return FunctionalKind::Broadcast;
  case MappingClass::Reorganize:
  case MappingClass::Shuffle:
    return FunctionalKind::Injective;
  case MappingClass::ManyToMany:
    return type.isManyToOne && op.body != BodyKind::Product && !hasWindow(op)
               ? FunctionalKind::Reduction
               : FunctionalKind::Anchor;
  case MappingClass::NotFuse:
    return FunctionalKind::Opaque;
  }
  llvm_unreachable("unknown class");
}

RuleBook::RuleBook(const OperatorGraph &graph, FusionRules rules)
    : graph(graph), rules(rules) {
  for (const GraphOperator &op : graph.operators)
    types.push_back({classify(op), getKind(graph, op)});
}

FunctionalKind RuleBook::kindOfEdge(OperatorId producer,
                                    OperatorId reader) const {
  FunctionalKind kind = types[reader].kind;
  if (kind != FunctionalKind::Broadcast)
    return kind;
  const GraphOperator &op = graph.operators[reader];
  bool isFull =
      none_of(graph.operators[producer].outputs, [&](TensorId tensor) {
        return is_contained(op.inputs, tensor) && isSmaller(graph, op, tensor);
      });
  return isFull ? FunctionalKind::Elementwise : kind;
}

/// Supplement 1 is refused to readers that need their input in one piece.
bool RuleBook::mayFuseByTable(MappingType first, OperatorId reader) const {
  MappingType second = types[reader].mapping;
  FusionRule::Verdict verdict = combine(first, second).verdict;
  if (verdict != FusionRule::Verdict::Ask)
    return verdict == FusionRule::Verdict::Fuse;
  if (rules != FusionRules::Supplemented)
    return false;
  if (first.mapping == MappingClass::Reorganize ||
      first.mapping == MappingClass::Shuffle)
    return graph.operators[reader].body != BodyKind::Product;
  return first.isManyToOne && second.mapping == MappingClass::OneToMany;
}

/// What TVM lets follow operators of kind `first`.
static bool mayFuseByKind(FunctionalKind first, FunctionalKind edge) {
  switch (first) {
  case FunctionalKind::Elementwise:
  case FunctionalKind::Broadcast:
    return edge <= FunctionalKind::Reduction;
  case FunctionalKind::Injective:
    return edge <= FunctionalKind::Injective;
  case FunctionalKind::Anchor:
    return edge == FunctionalKind::Elementwise;
  case FunctionalKind::Reduction:
  case FunctionalKind::Opaque:
    return false;
  }
  llvm_unreachable("unknown kind");
}

std::optional<FusedType> RuleBook::join(FusedType first, OperatorId producer,
                                        OperatorId reader) const {
  bool mayFuse = rules == FusionRules::Functional
                     ? mayFuseByKind(first.kind, kindOfEdge(producer, reader))
                     : mayFuseByTable(first.mapping, reader);
  if (!mayFuse)
    return std::nullopt;
  return FusedType{combine(first.mapping, types[reader].mapping).type,
                   std::max(first.kind, types[reader].kind)};
}
