//===- FusionRules.h - Which operators may become one --------- -*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two sets of rules with one face: what has been fused so far has a type, and
// the type says which reader may follow. The paper's types are mapping types;
// TVM's are kinds of operators, by what its code generator can do with them.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_MODEL_GRAPH_FUSIONRULES_H
#define CHIMERA_LIB_MODEL_GRAPH_FUSIONRULES_H

#include "Chimera/Model/MappingType.h"
#include "Chimera/Model/PaperPartition.h"

namespace chimera::model {

/// TVM's kinds in its order, without tuples, which the graph does not have.
enum class FunctionalKind {
  /// One-to-one, all operands of one size.
  Elementwise,
  /// One-to-one with a smaller operand, or one-to-many.
  Broadcast,
  /// Reorganize and shuffle.
  Injective,
  /// Many-to-one without a window.
  Reduction,
  /// Other many-to-many operators (kOutEWiseFusable): products, convolutions,
  /// pooling. Elementwise readers of their output may join.
  Anchor,
  Opaque,
};

FunctionalKind getKind(const OperatorGraph &graph, const GraphOperator &op);

/// Operators of one type or another that have been fused.
struct FusedType {
  MappingType mapping;
  FunctionalKind kind = FunctionalKind::Elementwise;
};

class RuleBook {
public:
  RuleBook(const OperatorGraph &graph, FusionRules rules);

  FusedType typeOf(OperatorId op) const { return types[op]; }
  /// The kind of `reader` as far as what it reads of `producer` goes: a bias is
  /// elementwise to the operand that has the size of the result.
  FunctionalKind kindOfEdge(OperatorId producer, OperatorId reader) const;
  /// The type once `reader` has joined operators of type `first`, `producer`
  /// among them, unless the rules refuse it.
  std::optional<FusedType> join(FusedType first, OperatorId producer,
                                OperatorId reader) const;

private:
  bool mayFuseByTable(MappingType first, OperatorId reader) const;

  const OperatorGraph &graph;
  FusionRules rules;
  std::vector<FusedType> types;
};

} // namespace chimera::model

#endif // CHIMERA_LIB_MODEL_GRAPH_FUSIONRULES_H
