//===- Evaluator.h - Volume and live set of one level -----------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_MODEL_VOLUME_EVALUATOR_H
#define CHIMERA_LIB_MODEL_VOLUME_EVALUATOR_H

#include "Schedule/LoopTree.h"
#include "Volume/AxisWalk.h"

#include "Chimera/Model/Algorithms.h"

namespace chimera::model {

class Evaluator {
public:
  Evaluator(const ChainStructure &structure, const Schedule &schedule,
            unsigned level, const Transfer &transfer);

  Evaluation run() const;

  /// How far the parts of a tensor extend that are measured: those that the
  /// first `end` loops make, of which the loops from `fresh` on only count if
  /// they affect it.
  struct Extent {
    unsigned end = 0, fresh = 0;
    int64_t elementBytes = 1, unitBytes = 1;
    bool rolls = false;
    /// What readers need, be it made already or not.
    bool isNeed = false;
    /// Whether the parts of the split loop count: like those of other loops,
    /// always, or never.
    enum { LikeOthers, Always, Never } split = LikeOthers;
  };
  struct Parts {
    const Access &access;
    unsigned op;
    Extent extent;
  };

  /// Takes the traffic in terms of parts: how often they are read and written.
  using TrafficSink = llvm::function_ref<void(const Parts &parts, int64_t reads,
                                              int64_t writes)>;
  void countTraffic(TrafficSink sink) const;
  /// Takes the buffers: the operators during which each is open, and whether it
  /// is an intermediate's at home, to be measured in the tree of all levels.
  using LiveSink = llvm::function_ref<void(const Parts &parts,
                                           OperatorSet during, bool isHome)>;
  void countLive(LiveSink sink) const;

  /// The size of a buffer, as `countLive` gives it.
  int64_t bytesOfBuffer(const Parts &parts, bool isHome) const;

  /// The largest of the parts in the tree of all levels.
  int64_t bytesOfLargest(const Parts &parts) const {
    return measure(treeOfAll(), parts).most;
  }

  const KnownTree &treeOfLevel() const { return here; }
  const KnownTree &treeOfAll() const { return *whole; }
  const RollingSteps &rollingStepsOf(unsigned op) const {
    return rollingSteps[rollingSteps.size() > 1 ? op : 0];
  }

  /// An axis of a single loop that indexes one dimension of a tensor at most.
  struct PlainAxis {
    LoopId loop = 0;
    /// Elements along the dimension, if there is one.
    std::optional<int64_t> dim;
    /// The last of the steps that are walked along the axis, and the last of
    /// those whose tile is open.
    std::optional<unsigned> last, open;
  };
  /// Visits what is measured of `parts` along each axis that they depend on:
  /// first as a plain axis, if it is one, and unless that was enough.
  void
  forEachAxis(const KnownTree &tree, const Parts &parts,
              llvm::function_ref<bool(const PlainAxis &, const MeasuredAxis &)>
                  visitPlain,
              llvm::function_ref<void(unsigned axis, const MeasuredAxis &)>
                  visit) const;
  /// The lengths along a plain axis whose tiles are all known; nothing if a
  /// walk has to tell.
  std::optional<AxisLengths> lengthsAlong(const PlainAxis &axis,
                                          const Path &path,
                                          const MeasuredAxis &measured) const;
  /// The factor besides.
  int64_t elementFactor(const Parts &parts) const;

private:
  /// Loops on `path` that affect `access` where they stand.
  LoopSet affectingLoops(const Access &access, const Path &path) const;
  Extent partsAt(unsigned end, int64_t elementBytes) const {
    Extent extent;
    extent.end = extent.fresh = end;
    extent.elementBytes = elementBytes;
    extent.unitBytes = transfer.unitBytes;
    return extent;
  }
  AxisWalk::Lengths measure(const KnownTree &tree, const Parts &parts) const;
  bool isRefilled(const Parts &parts) const;
  int64_t elementBytesOf(TensorId tensor) const {
    return problem.tensors[tensor].elementBytes;
  }

  bool isAtHome(TensorId tensor) const;
  /// Number of the parallel loops of which each iteration starts anew.
  unsigned taskDepth() const {
    return transfer.isPrivate ? parallelDepth() : 0;
  }
  unsigned parallelDepth() const {
    return std::min<unsigned>(schedule.numParallel, here.nest.loops.size());
  }
  unsigned bodyDepthOf(const Access &access, unsigned op) const;
  bool holdsResults() const;
  bool isAccumulated(TensorId tensor) const;
  bool areTogether(unsigned op, unsigned other, unsigned depth) const;
  bool isFilledBefore(const Access &access, unsigned op, unsigned depth) const;
  OperatorSet sharersOf(const Access &access, unsigned op) const;
  unsigned startOf(unsigned op) const;
  unsigned epilogueDepth(unsigned op) const;

  void countInput(const Access &access, unsigned op, TrafficSink sink) const;
  void countProduced(const Access &access, unsigned op, TrafficSink sink) const;
  void countCombined(const Access &access, TrafficSink sink) const;
  void countStored(unsigned op, TrafficSink sink) const;
  void countEpilogue(unsigned op, TrafficSink sink) const;

  bool isOpen(unsigned depth, OperatorSet users, unsigned op) const;
  OperatorSet openDuring(unsigned depth, OperatorSet users) const;
  void addTile(const Access &access, unsigned op, OperatorSet users,
               LiveSink sink) const;
  void addIntermediate(unsigned op, LiveSink sink) const;

  const ChainStructure &structure;
  const ChainProblem &problem;
  const Schedule &schedule;
  unsigned level;
  Transfer transfer;
  /// The tree of the levels down to this one, and that of all.
  std::shared_ptr<const KnownTree> ofLevel, whole;
  const KnownTree &here = *ofLevel;
  /// Of each operator, or of all if nothing rolls.
  std::vector<RollingSteps> rollingSteps;
  /// The place of the split loop among those of this level and outside it.
  std::optional<unsigned> split;
};

/// `countMultiplyAdds` and `findHomes` for many schedules of one problem.
llvm::SmallVector<int64_t, 3> countMultiplyAdds(const ChainStructure &structure,
                                                const Schedule &schedule);
llvm::SmallVector<unsigned, 6> findHomes(const ChainStructure &structure,
                                         const Machine &machine,
                                         const Schedule &schedule,
                                         llvm::ArrayRef<int64_t> capacities,
                                         int64_t threads);

/// What `schedule` moves into level number `level` of `machine`, where
/// `threads` run it, and keeps there: of a level that serves waves, for waves
/// of one task for each thread (Waves.h). Exact for the innermost level under a
/// mask and through windows, too, where a program on registers of threads
/// follows the schedule: that moves nothing for tiles it leaves out.
Evaluation evaluateOn(const ChainStructure &structure, const Machine &machine,
                      const Schedule &schedule, unsigned level,
                      int64_t threads);

/// True if some tiles move nothing into the innermost level of `machine`,
/// because masks leave nothing of them.
bool leavesTilesOut(const ChainProblem &problem, const Machine &machine);

/// True if what moves into the innermost level of `machine` is counted tile by
/// tile: some are left out, or show images through windows, of which only the
/// pixels under a tap are moved.
bool countsTiles(const ChainProblem &problem, const Machine &machine);

} // namespace chimera::model

#endif // CHIMERA_LIB_MODEL_VOLUME_EVALUATOR_H
