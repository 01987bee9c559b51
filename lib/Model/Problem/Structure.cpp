//===- Structure.cpp - Who reads what, and which loops hang together ------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Problem/Structure.h"

#include "llvm/ADT/IntEqClasses.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace chimera::model;

SmallVector<unsigned, 4> chimera::model::orderInMemory(const Tensor &tensor) {
  SmallVector<unsigned, 4> order;
  for (unsigned dim = 0; dim < tensor.shape.size(); ++dim)
    if (tensor.shape[dim] > 1)
      order.push_back(dim);
  if (!tensor.strides.empty())
    sort(order, [&](unsigned left, unsigned right) {
      return tensor.strides[left] > tensor.strides[right];
    });
  return order;
}

/// Calls `visit` with every access by which `op` reads.
template <typename Visit>
static void forEachRead(const Operator &op, Visit visit) {
  for (const Access &access : op.inputs)
    visit(access);
  for (const Access &access : op.epilogue)
    visit(access);
}

ChainStructure::ChainStructure(const ChainProblem &problem) : problem(problem) {
  findUses();
  findDerived();
  findAxes();
  findCuttable();
  findEnds();
}

void ChainStructure::findUses() {
  producers.resize(problem.tensors.size());
  readers.resize(problem.tensors.size());
  for (const auto &[index, op] : enumerate(problem.operators)) {
    producers[op.output] = index;
    OperatorSet bit = OperatorSet(1) << index;
    forEachRead(op, [&](const Access &access) { readers[access] |= bit; });
    LoopSet &own = ownLoops.emplace_back(0);
    for (LoopId loop : op.loops)
      own |= bitOf(loop);
  }
}

OperatorSet ChainStructure::usersOf(TensorId tensor) const {
  OperatorSet users = readers[tensor];
  if (producers[tensor])
    users |= OperatorSet(1) << *producers[tensor];
  return users;
}

void ChainStructure::findDerived() {
  owners.resize(problem.loops.size());
  demands.resize(problem.loops.size());
  demanders.resize(problem.loops.size());
  derivedLoops.resize(problem.operators.size());
  for (unsigned index = 0; index < problem.operators.size(); ++index) {
    const Access &output = problem.operators[index].output;
    if (problem.tensors[output].role != Role::Intermediate)
      continue;
    for (unsigned dim = 0; dim < output.indices.size(); ++dim) {
      LoopId loop = output.indices[dim].terms.front().loop;
      SmallVector<Index, 1> indices;
      for (const Operator &reader : problem.operators)
        forEachRead(reader, [&](const Access &access) {
          if (access == output.tensor)
            indices.push_back(access.indices[dim]);
        });
      if (any_of(indices, [&](const Index &read) {
            return read.isLoop() && read.hasLoop(loop);
          }))
        continue;
      if (all_of(indices,
                 [&](const Index &read) { return read == indices.front(); }))
        agreeing |= bitOf(loop);
      owners[loop] = index;
      demands[loop] = indices;
      demanders[loop] = readers[output];
      derivedLoops[index].push_back(loop);
      hasDerived = true;
    }
  }
}

void ChainStructure::findAxes() {
  IntEqClasses classes(problem.loops.size());
  auto joinTerms = [&](const Index &index) {
    for (const Term &term : index.terms)
      classes.join(index.terms.front().loop, term.loop);
  };
  for (const Operator &op : problem.operators) {
    forEachRead(
        op, [&](const Access &access) { for_each(access.indices, joinTerms); });
    for (const Access &access : op.states)
      for_each(access.indices, joinTerms);
  }
  for (LoopId loop = 0; loop < problem.loops.size(); ++loop)
    for (const Index &demand : demands[loop])
      for (const Term &term : demand.terms)
        classes.join(loop, term.loop);
  classes.compress();
  axes.resize(classes.getNumClasses());
  for (LoopId loop = 0; loop < problem.loops.size(); ++loop) {
    axisOfLoop.push_back(classes[loop]);
    axes[classes[loop]] |= bitOf(loop);
  }
}

void ChainStructure::findCuttable() {
  auto isInWindow = [&](LoopId loop) {
    auto hasWindow = [&](const Access &access) {
      return any_of(access.indices, [&](const Index &index) {
        return index.terms.size() > 1 && index.hasLoop(loop);
      });
    };
    return any_of(problem.operators, [&](const Operator &op) {
      return op.isReduction(loop) && any_of(op.inputs, hasWindow);
    });
  };
  SmallVector<std::optional<LoopId>, 8> longest(axes.size());
  for (LoopId loop = 0; loop < problem.loops.size(); ++loop) {
    if (isDerived(loop) || isInWindow(loop) || problem.loops[loop].isWhole)
      continue;
    std::optional<LoopId> &best = longest[axisOf(loop)];
    if (!best || problem.loops[loop].extent > problem.loops[*best].extent)
      best = loop;
  }
  for (std::optional<LoopId> loop : longest)
    if (loop)
      cuttable |= bitOf(*loop);
}

void ChainStructure::findEnds() {
  auto ends = [](const Operator &op, LoopId loop) {
    return op.isReduction(loop) || is_contained(op.completes, loop);
  };
  for (const Operator &op : problem.operators) {
    auto takesOther = [&](const Access &access, LoopId loop) {
      return access == op.output.tensor &&
             any_of(zip(op.output.indices, access.indices), [&](auto dims) {
               const auto &[made, read] = dims;
               return made.hasLoop(loop) && !(read == made);
             });
    };
    OperatorSet &inEpilogue = epilogueReaders.emplace_back(0);
    auto &ofLoops = waiting.emplace_back(problem.loops.size(), 0);
    for (const auto &[number, reader] : enumerate(problem.operators)) {
      OperatorSet bit = OperatorSet(1) << number;
      bool readsLate = any_of(reader.epilogue, [&](const Access &access) {
        return access == op.output.tensor;
      });
      if (readsLate)
        inEpilogue |= bit;
      for (LoopId loop = 0; loop < problem.loops.size(); ++loop) {
        auto isOther = [&](const Access &access) {
          return takesOther(access, loop);
        };
        // An epilogue runs where the result is complete.
        if (any_of(reader.inputs, isOther) ||
            any_of(reader.epilogue, isOther) ||
            (readsLate && ends(reader, loop)))
          ofLoops[loop] |= bit;
      }
    }
    for (LoopId loop = 0; loop < problem.loops.size(); ++loop)
      if (ends(op, loop))
        ofLoops[loop] |= readers[op.output];
  }
}

bool ChainStructure::endsBefore(unsigned op, LoopId loop,
                                OperatorSet run) const {
  if (waiting[op][loop] & run)
    return true;
  // An epilogue runs for all readers of its operator.
  for (OperatorSet late = epilogueReaders[op] & run; late; late &= late - 1) {
    const Operator &reader = problem.operators[countr_zero(late)];
    if (readers[reader.output] & ~run)
      return true;
  }
  return false;
}

bool ChainStructure::areTwins(LoopId left, LoopId right) const {
  Group all{0, static_cast<unsigned>(problem.operators.size() - 1)};
  for (const auto &[index, op] : enumerate(problem.operators)) {
    if (op.hasLoop(left) != op.hasLoop(right) ||
        concerns(left, index, all) != concerns(right, index, all) ||
        is_contained(op.completes, left) || is_contained(op.completes, right) ||
        op.rescaledBy == left || op.rescaledBy == right)
      return false;
    auto differ = [&](const Access &access) {
      LoopSet affecting = this->affecting(access, all);
      return contains(affecting, left) != contains(affecting, right);
    };
    if (differ(op.output) || any_of(op.inputs, differ) ||
        any_of(op.epilogue, differ) || any_of(op.states, differ))
      return false;
  }
  return true;
}

std::optional<LoopId> ChainStructure::onlyLoopOf(unsigned axis) const {
  LoopSet loops = axes[axis];
  if (!isPowerOf2_64(loops))
    return std::nullopt;
  return Log2_64(loops);
}

const ChainStructure::GroupFacts &ChainStructure::factsOf(Group group) const {
  size_t size = problem.operators.size();
  if (facts.empty())
    facts.resize(size * size);
  GroupFacts &known = facts[group.first * size + group.last];
  if (!known.concerning.empty())
    return known;
  for (LoopId loop = 0; loop < problem.loops.size(); ++loop)
    known.dependencies.push_back(findDependencies(loop, group));
  for (unsigned op = 0; op < size; ++op) {
    LoopSet &loops = known.concerning.emplace_back(0);
    for (LoopId loop = 0; loop < problem.loops.size(); ++loop)
      if (findConcern(loop, op, group))
        loops |= bitOf(loop);
  }
  return known;
}

LoopSet ChainStructure::findDependencies(LoopId loop, Group group) const {
  LoopSet loops = bitOf(loop);
  if (follows(loop, group))
    for (const Index &demand : demands[loop])
      for (const Term &term : demand.terms)
        loops |= findDependencies(term.loop, group);
  return loops;
}

LoopSet ChainStructure::affecting(const Access &access, Group group) const {
  LoopSet loops = 0;
  for (const Index &index : access.indices)
    for (const Term &term : index.terms)
      loops |= dependencies(term.loop, group);
  return loops;
}

bool ChainStructure::findConcern(LoopId loop, unsigned op, Group group) const {
  if (problem.operators[op].hasLoop(loop))
    return true;
  // A loop inside a window moves the window, but the windows of a tile cover
  // each other anyway.
  auto needs = [&](LoopId derived, auto &&self) -> bool {
    if (!follows(derived, group))
      return false;
    return any_of(demands[derived], [&](const Index &demand) {
      return any_of(demand.terms, [&](const Term &term) {
        bool isInWindow =
            demand.terms.size() > 1 && problem.isReduction(term.loop);
        return (term.loop == loop && !isInWindow) || self(term.loop, self);
      });
    });
  };
  return any_of(problem.operators[op].loops,
                [&](LoopId derived) { return needs(derived, needs); });
}
