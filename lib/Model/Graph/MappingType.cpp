//===- MappingType.cpp - How operators map inputs to outputs --------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares each input's indices with those of the output.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/MappingType.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/ErrorHandling.h"

using namespace llvm;
using namespace chimera::model;

StringRef chimera::model::describe(MappingClass mapping) {
  switch (mapping) {
  case MappingClass::OneToOne:
    return "one_to_one";
  case MappingClass::Reorganize:
    return "reorganize";
  case MappingClass::Shuffle:
    return "shuffle";
  case MappingClass::OneToMany:
    return "one_to_many";
  case MappingClass::ManyToMany:
    return "many_to_many";
  case MappingClass::NotFuse:
    return "not_fuse";
  }
  llvm_unreachable("unknown class");
}

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

/// The loops of `access` in the order of its dimensions; loops of one iteration
/// move nothing and are left out.
static SmallVector<LoopId> getLoops(const GraphOperator &op,
                                    const GraphAccess &access) {
  SmallVector<LoopId> loops;
  for (const Index &index : access.indices)
    for (const Term &term : index.terms)
      if (op.extents[term.loop] > 1)
        loops.push_back(term.loop);
  return loops;
}

/// True if each index is at most a loop, so that the elements keep distances.
static bool isPlain(const GraphAccess &access) {
  return all_of(access.indices, [](const Index &index) {
    return index.isLoop() || (index.terms.empty() && index.offset == 0);
  });
}

/// The class of an operator without reductions, as far as one input goes.
static MappingClass classify(const GraphOperator &op, const GraphAccess &input,
                             const GraphAccess &output) {
  if (!input.indirect.empty())
    return MappingClass::Shuffle;
  if (input.isReshaped || output.isReshaped)
    return MappingClass::Reorganize;
  SmallVector<LoopId> read = getLoops(op, input);
  SmallVector<LoopId> written = getLoops(op, output);
  bool isMissing =
      any_of(written, [&](LoopId loop) { return !is_contained(read, loop); });
  if (isMissing)
    return MappingClass::OneToMany;
  if (read != written)
    return MappingClass::Shuffle;
  return isPlain(input) && isPlain(output) ? MappingClass::OneToOne
                                           : MappingClass::Reorganize;
}

MappingType chimera::model::classify(const GraphOperator &op) {
  // What products in a chain read is not spelled out.
  if (op.plannedSeconds)
    return {MappingClass::ManyToMany};
  if (op.body == BodyKind::Opaque)
    return {MappingClass::NotFuse};
  if (op.hasReduction()) {
    auto reduces = [&](const GraphAccess &input) {
      return input.isReshaped ||
             any_of(seq<LoopId>(op.extents.size()), [&](LoopId loop) {
               return op.isReduction(loop) && input.hasLoop(loop);
             });
    };
    return {MappingClass::ManyToMany, count_if(op.inputs, reduces) <= 1};
  }
  MappingClass largest = MappingClass::OneToOne;
  bool hasFull = false, repeats = false;
  for (const GraphAccess &input : op.inputs)
    for (const GraphAccess &output : op.outputs) {
      MappingClass found = ::classify(op, input, output);
      if (found == MappingClass::OneToMany) {
        repeats = true;
        continue;
      }
      hasFull = true;
      largest = std::max(largest, found);
    }
  // What reads nothing but numbers makes a tensor of them.
  bool makesTensor = op.inputs.empty() && op.iterations() > 1;
  if (!hasFull && (repeats || makesTensor))
    largest = MappingClass::OneToMany;
  return {largest};
}

//===----------------------------------------------------------------------===//
// Table 1
//===----------------------------------------------------------------------===//

/// The more complex of two types. Two many-to-one mappings in a row still make
/// an element of many of one input.
static MappingType getLarger(MappingType first, MappingType second) {
  if (first.mapping == second.mapping)
    return {first.mapping, first.isManyToOne && second.isManyToOne};
  return first.mapping < second.mapping ? second : first;
}

static bool moves(MappingType type) {
  return type.mapping == MappingClass::Reorganize ||
         type.mapping == MappingClass::Shuffle;
}

FusionRule chimera::model::combine(MappingType first, MappingType second) {
  using Verdict = FusionRule::Verdict;
  constexpr MappingClass oneToOne = MappingClass::OneToOne;
  FusionRule rule{Verdict::Ask, getLarger(first, second)};
  if (rule.type.mapping == MappingClass::NotFuse) {
    rule.verdict = Verdict::Refuse;
    return rule;
  }
  // Rule 1, on either side.
  if (first.mapping == oneToOne || second.mapping == oneToOne) {
    rule.verdict = Verdict::Fuse;
    return rule;
  }
  bool firstMoves = moves(first), secondMoves = moves(second);
  // Rules 2 and 3.
  if (firstMoves && secondMoves)
    rule.verdict = Verdict::Fuse;
  // Section 3.2.1, cases 3 and 4: repeated or many inputs of a reader of many.
  else if (second.mapping == MappingClass::ManyToMany && !firstMoves)
    rule.verdict = Verdict::Refuse;
  // Supplements 1 and 2, and what the table leaves out, stay a question.
  return rule;
}
