//===- AxisWalk.h - Sums over the blocks along one axis ---------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranges along different axes have nothing to do with each other: what a tensor
// moves is the product, over all axes, of the sum of its parts' lengths along
// the axis. Most axes are a single loop, where the sum has a closed form;
// along the rows or columns of convolutions it is a walk over a few ranges.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_MODEL_VOLUME_AXISWALK_H
#define CHIMERA_LIB_MODEL_VOLUME_AXISWALK_H

#include "Schedule/LoopTree.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace chimera::model {

/// Number of the first `end` loops of `path` down to the innermost that affects
/// `access`.
unsigned bodyDepth(const ChainStructure &structure, const Path &path,
                   const Access &access, unsigned end);

/// For each derived loop along a rolling intermediate, the step on the path to
/// `op` from one iteration of which to the next the intermediate stays.
/// Parallel loops are none.
using RollingSteps = llvm::SmallVector<std::optional<unsigned>, 16>;
RollingSteps findRollingSteps(const ChainStructure &structure,
                              llvm::ArrayRef<Path> paths, unsigned op,
                              const Schedule &schedule);

struct Range {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

/// One dimension of a tensor on the axis.
struct MeasuredDim {
  const Index *index = nullptr;
  /// Elements along the dimension.
  int64_t extent = 0;
  /// If not 0: measure in bytes, elements of this size in whole units.
  int64_t elementBytes = 0;
  int64_t unitBytes = 1;

  int64_t measure(Range range) const;
};

/// What is measured of a tensor along an axis.
struct MeasuredAxis {
  /// Its dimensions there. Without any, parts are counted.
  llvm::SmallVector<MeasuredDim, 2> dims;
  /// Only the first `end` loops of the path are walked, and of those from
  /// `fresh` on only the loops in `affecting`.
  unsigned end = 0, fresh = 0;
  LoopSet affecting = 0;
  /// The place of the split loop, if it counts whatever else does, or does not
  /// count at all.
  std::optional<unsigned> split;
  bool countsSplit = false;
  /// The part that the previous iteration of this step had is left out.
  std::optional<unsigned> rollsAt;
  /// Measures what readers need of the output of this operator instead of what
  /// it makes.
  std::optional<unsigned> neededOf;

  bool walks(const Path &path, unsigned step) const {
    if (step == split)
      return countsSplit && step < end;
    return step < end &&
           (step < fresh || contains(affecting, path.steps[step].loop));
  }
};

/// `numbers` as a key of a StringMap, which finds them without a copy.
inline llvm::StringRef asKey(llvm::ArrayRef<int64_t> numbers) {
  return {reinterpret_cast<const char *>(numbers.data()),
          numbers.size() * sizeof(int64_t)};
}

class AxisWalk {
public:
  AxisWalk(const ChainStructure &structure, const Path &path,
           const RollingSteps &rollingSteps, unsigned axis)
      : structure(structure), problem(structure.getProblem()), path(path),
        rollingSteps(rollingSteps), axis(axis) {}

  using Lengths = AxisLengths;
  Lengths run(const MeasuredAxis &measured);

  /// All numbers that the lengths depend on.
  llvm::SmallVector<int64_t, 32> keyOf(const MeasuredAxis &measured);

  /// Calls `visit` with the range of `loop` at the end of the path, in each
  /// part that the loops in `affecting` make.
  void forEachRange(LoopId loop, LoopSet affecting,
                    llvm::function_ref<void(Range)> visit);
  /// Calls `visit` with the ranges of the loops on the axis, by their ids, in
  /// each part that the first `end` loops of the path make.
  void forEachPart(unsigned end,
                   llvm::function_ref<void(llvm::ArrayRef<Range>)> visit);

private:
  void findSteps();
  std::optional<Lengths> runClosed() const;
  void start();
  void follow(Group group);
  void walk(llvm::ArrayRef<unsigned> steps);
  void leaf();
  Range rangeOf(const Index &index, int64_t extent) const;

  const ChainStructure &structure;
  const ChainProblem &problem;
  const Path &path;
  const RollingSteps &rollingSteps;
  unsigned axis;
  const MeasuredAxis *measured = nullptr;
  /// The steps that are walked.
  llvm::SmallVector<unsigned, 12> steps;
  llvm::function_ref<void()> visitLeaf;
  /// Of each loop of the axis: its range, for derived ones before anything is
  /// cut off, and where what is made already ends.
  llvm::SmallVector<Range, 16> ranges, needs;
  llvm::SmallVector<int64_t, 16> madeUpTo;
  /// Where the previous iteration of the rolling step ended, per dimension.
  llvm::SmallVector<int64_t, 4> readUpTo;
  Lengths lengths;
};

/// Parts into which `size` falls when it is cut by `tiles`, one inside the
/// other: an outer edge part is smaller and so has fewer inner parts.
int64_t countParts(int64_t size, llvm::ArrayRef<int64_t> tiles);

} // namespace chimera::model

#endif // CHIMERA_LIB_MODEL_VOLUME_AXISWALK_H
