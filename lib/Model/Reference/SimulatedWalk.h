//===- SimulatedWalk.h - A plain interpreter of loop trees ------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks a loop tree with the range that every loop has at the moment. What the
// simulation counts on the way is in Simulate.cpp. Nothing here is shared with
// `evaluate` but the loop tree.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_MODEL_REFERENCE_SIMULATEDWALK_H
#define CHIMERA_LIB_MODEL_REFERENCE_SIMULATEDWALK_H

#include "Chimera/Model/Algorithms.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace chimera::model::simulation {

//===----------------------------------------------------------------------===//
// Ranges and boxes
//===----------------------------------------------------------------------===//

/// Consecutive values of a loop or of an index.
struct Range {
  int64_t begin = 0, end = 0;

  bool isEmpty() const { return end <= begin; }
  int64_t size() const { return isEmpty() ? 0 : end - begin; }
  bool operator<(const Range &other) const {
    return std::make_pair(begin, end) < std::make_pair(other.begin, other.end);
  }
};

/// The smallest range that covers both.
inline Range hull(Range a, Range b) {
  if (a.isEmpty())
    return b;
  if (b.isEmpty())
    return a;
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

inline Range intersect(Range a, Range b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

/// A part of a tensor: a range per dimension.
using Box = std::vector<Range>;

inline int64_t elementsOf(const Box &box) {
  int64_t elements = 1;
  for (Range range : box)
    elements *= range.size();
  return elements;
}

/// The smallest box that covers both.
inline Box hull(const Box &a, const Box &b) {
  if (elementsOf(a) == 0)
    return b;
  if (elementsOf(b) == 0)
    return a;
  Box covering;
  for (auto [left, right] : llvm::zip(a, b))
    covering.push_back(hull(left, right));
  return covering;
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

/// A place in the loop tree: inside the first `depth` loops of `nest`.
struct Place {
  const LoopNest *nest = nullptr;
  unsigned depth = 0;

  bool operator==(const Place &other) const {
    return nest == other.nest && depth == other.depth;
  }
  bool holdsLoop() const { return depth < nest->loops.size(); }
  bool holdsParts() const { return !holdsLoop() && !nest->parts.empty(); }
};

/// Goes through the loop tree of one level and keeps the ranges of the loops
/// up to date. What happens on the way is up to the derived class.
class Walk {
public:
  Walk(const ChainProblem &problem, const Schedule &schedule, unsigned level);
  virtual ~Walk() = default;

protected:
  struct Reader {
    unsigned op;
    const Access *access;
  };

  void walk();

  virtual void enter(Place) {}
  virtual void leave(Place) {}
  virtual void beforePart(Place, const LoopNest &) {}
  virtual void afterPart(Place, const LoopNest &) {}
  virtual void runBlock(unsigned) {}

  /// What the current ranges make `access` touch.
  Box boxOf(const Access &access) const;
  /// The innermost body around all users of an intermediate.
  Place bodyAround(TensorId tensor) const;
  /// The body of the innermost loop that affects `access` of operator `op`
  /// among those around `limit`, or the body around everything.
  Place bodyAffecting(unsigned op, const Access &access, Place limit) const;
  /// Where the blocks of an operator are.
  Place blocksOf(unsigned op) const;
  bool isIntermediate(TensorId tensor) const {
    return problem.tensors[tensor].role == Role::Intermediate;
  }

  const ChainProblem &problem;
  const Schedule &schedule;
  const unsigned level;
  /// True if the loop of this body is parallel: nothing is left by the
  /// iteration before.
  bool runsInParallel(const Place &body) const {
    return body.nest == &tree && body.depth <= schedule.numParallel;
  }

  const LoopNest tree;
  std::vector<Range> ranges;
  /// For intermediates.
  std::vector<unsigned> producers;
  std::vector<std::vector<Reader>> readers;

private:
  /// An intermediate whose buffer rolls, and how far it has been made.
  struct Roll {
    TensorId tensor = 0;
    /// Where the loop is along which it rolls.
    Place loop;
    /// Per dimension, the end of what is needed in this iteration, and of what
    /// the iterations before have made (0: nothing).
    std::vector<int64_t> needed, made;
  };

  void walkBody(Place place);
  void walkLoop(Place place);
  void findRolls();
  void updateDemand(const LoopNest &nest);
  Roll *rollOf(TensorId tensor);
  bool isTogether(const LoopNest &nest, TensorId tensor) const;
  bool isDerived(TensorId tensor, unsigned dim) const;
  Range demandOf(TensorId tensor, unsigned dim) const;
  Range rangeOf(const Index &index) const;
  std::set<LoopId> affectedBy(Place loop) const;

  std::vector<Roll> rolls;
};

} // namespace chimera::model::simulation

#endif // CHIMERA_LIB_MODEL_REFERENCE_SIMULATEDWALK_H
