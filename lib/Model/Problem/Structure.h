//===- Structure.h - Who reads what, and which loops hang together -*- C++
//-*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What every algorithm asks of a problem again and again, found once.
//
// A *derived* loop is one that runs along a dimension of an intermediate which
// nobody reads by that very loop: its range follows from what the readers need.
// Loops whose ranges depend on each other, or that meet in an index, form an
// *axis*. Ranges of different axes have nothing to do with each other, so sums
// over all blocks are products of sums along axes.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_MODEL_PROBLEM_STRUCTURE_H
#define CHIMERA_LIB_MODEL_PROBLEM_STRUCTURE_H

#include "Chimera/Model/Schedule.h"

#include "llvm/ADT/StringMap.h"

#include <array>
#include <memory>

namespace chimera::model {

/// A set of loops, one bit each.
using LoopSet = uint64_t;
inline LoopSet bitOf(unsigned index) { return LoopSet(1) << index; }
inline bool contains(LoopSet set, LoopId loop) { return set >> loop & 1; }

/// The dimensions of a tensor that have a length, outermost in memory first.
llvm::SmallVector<unsigned, 4> orderInMemory(const Tensor &tensor);

/// Neighbouring operators that are still together in a loop tree.
struct Group {
  unsigned first = 0, last = 0;

  OperatorSet set() const {
    return ((OperatorSet(2) << last) - 1) & ~((OperatorSet(1) << first) - 1);
  }
  bool has(unsigned op) const { return first <= op && op <= last; }
  bool covers(OperatorSet operators) const { return !(operators & ~set()); }
  bool operator==(const Group &other) const {
    return first == other.first && last == other.last;
  }
  bool operator!=(const Group &other) const { return !(*this == other); }
};

struct KnownTree;

/// Over all parts that some loops make along an axis: the sum of the products
/// of lengths, and the largest. Without dimensions: the number of parts, and 1.
struct AxisLengths {
  int64_t sum = 0, most = 0;
};

class ChainStructure {
public:
  explicit ChainStructure(const ChainProblem &problem);

  const ChainProblem &getProblem() const { return problem; }

  /// The operator that makes `tensor`, if one does.
  std::optional<unsigned> producerOf(TensorId tensor) const {
    return producers[tensor];
  }
  /// The operators that read `tensor` as a factor or in an epilogue, and these
  /// with the one that makes it.
  OperatorSet readersOf(TensorId tensor) const { return readers[tensor]; }
  OperatorSet usersOf(TensorId tensor) const;

  bool isDerived(LoopId loop) const { return !demands[loop].empty(); }
  /// The operator whose output a derived loop indexes.
  unsigned ownerOf(LoopId loop) const { return owners[loop]; }
  /// Derived loops of `op`.
  llvm::ArrayRef<LoopId> derivedLoopsOf(unsigned op) const {
    return derivedLoops[op];
  }
  /// What the readers access along the dimension of a derived loop.
  llvm::ArrayRef<Index> demandsOn(LoopId loop) const { return demands[loop]; }
  /// True if all of them access the same.
  bool demandsAgree(LoopId loop) const { return contains(agreeing, loop); }
  /// True if the range of derived loop `loop` follows from the readers' as long
  /// as the operators of `group` are together.
  bool follows(LoopId loop, Group group) const {
    return isDerived(loop) && group.covers(demanders[loop]);
  }

  /// The loops on which the range of `loop` depends inside `group`, itself
  /// included.
  LoopSet dependencies(LoopId loop, Group group) const {
    return isDerived(loop) ? factsOf(group).dependencies[loop] : bitOf(loop);
  }
  /// The loops that can change the range of `access` inside `group`.
  LoopSet affecting(const Access &access, Group group) const;
  /// True if `loop` goes around `op` by itself (see Schedule.h).
  bool concerns(LoopId loop, unsigned op, Group group) const {
    return contains(hasDerived ? factsOf(group).concerning[op] : ownLoops[op],
                    loop);
  }

  /// True if `loop` around the operators in `run` must end before the result of
  /// `op` is read there: it is reduced over, or a reader takes another part
  /// than the one at hand.
  bool endsBefore(unsigned op, LoopId loop, OperatorSet run) const;

  /// True if tiles of `loop` are worth considering. Loops inside windows and
  /// derived loops stay whole (docs/model.md says why nothing is lost); of
  /// several others on an axis, only the longest is cut. Kernels may want a
  /// loop whole.
  bool isCuttable(LoopId loop) const { return contains(cuttable, loop); }
  /// True if the two loops belong to the same operators, affect the same
  /// accesses and reduce alike: cutting one does to volumes what cutting the
  /// other does.
  bool areTwins(LoopId left, LoopId right) const;

  /// Axes are numbered from 0.
  unsigned numAxes() const { return axes.size(); }
  unsigned axisOf(LoopId loop) const { return axisOfLoop[loop]; }
  LoopSet loopsOn(unsigned axis) const { return axes[axis]; }
  /// The one loop of an axis that has no other.
  std::optional<LoopId> onlyLoopOf(unsigned axis) const;
  /// What was measured so far, by all it depends on: schedules that differ at
  /// one level have most walks along axes in common (AxisWalk.cpp).
  llvm::StringMap<AxisLengths> &lengthsKnown() const { return lengths; }
  /// The trees of the latest schedules (LoopTree.cpp).
  llvm::MutableArrayRef<std::shared_ptr<const KnownTree>> treesKnown() const {
    return trees;
  }

private:
  /// What is the same for all questions about a group.
  struct GroupFacts {
    /// For each loop, those that its range depends on.
    llvm::SmallVector<LoopSet, 12> dependencies;
    /// For each operator, the loops that go around it by themselves.
    llvm::SmallVector<LoopSet, 4> concerning;
  };
  /// Found when the group is asked for first.
  const GroupFacts &factsOf(Group group) const;
  LoopSet findDependencies(LoopId loop, Group group) const;
  bool findConcern(LoopId loop, unsigned op, Group group) const;

  void findUses();
  void findEnds();
  void findDerived();
  void findAxes();
  void findCuttable();

  const ChainProblem &problem;
  llvm::SmallVector<std::optional<unsigned>, 8> producers;
  llvm::SmallVector<OperatorSet, 8> readers;
  llvm::SmallVector<unsigned, 8> owners;
  llvm::SmallVector<llvm::SmallVector<Index, 1>, 8> demands;
  llvm::SmallVector<OperatorSet, 8> demanders;
  llvm::SmallVector<llvm::SmallVector<LoopId, 2>, 3> derivedLoops;
  LoopSet agreeing = 0;
  /// For each operator, by loop: the readers that wait for the loop's end.
  llvm::SmallVector<llvm::SmallVector<OperatorSet, 16>, 3> waiting;
  /// For each operator, those that read its result in their epilogue.
  llvm::SmallVector<OperatorSet, 3> epilogueReaders;
  llvm::SmallVector<unsigned, 8> axisOfLoop;
  llvm::SmallVector<LoopSet, 8> axes;
  LoopSet cuttable = 0;
  /// The loops of each operator.
  llvm::SmallVector<LoopSet, 3> ownLoops;
  bool hasDerived = false;
  /// By the group's first and last operator.
  mutable std::vector<GroupFacts> facts;
  mutable llvm::StringMap<AxisLengths> lengths;
  mutable std::array<std::shared_ptr<const KnownTree>, 64> trees;
};

} // namespace chimera::model

#endif // CHIMERA_LIB_MODEL_PROBLEM_STRUCTURE_H
