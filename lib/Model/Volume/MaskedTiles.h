//===- MaskedTiles.h - The tiles that a program goes over -------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where programs move all data by themselves, what moves is what the loops of
// the schedule visit: tiles that are cut off at the edges, and none of those
// that a mask leaves nothing of. What makes the image under a tile's windows
// visits what these cover. This counts them, for every machine with such
// programs.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_MODEL_VOLUME_MASKEDTILES_H
#define CHIMERA_LIB_MODEL_VOLUME_MASKEDTILES_H

#include "Problem/Parts.h"
#include "Schedule/LoopTree.h"
#include "Volume/AxisWalk.h"

#include "Chimera/Model/Algorithms.h"

namespace chimera::model {

class MaskedTiles {
public:
  using PathLoops = llvm::SmallVector<NestLoop, 12>;
  /// The parts that each loop is cut into.
  using Sizes = llvm::SmallVector<PartList, 6>;

  /// Of the blocks that `schedule` has in the innermost level.
  MaskedTiles(const ChainProblem &problem, const Schedule &schedule);

  const LoopNest &getTree() const { return tree; }
  /// The loops around `op`.
  const PathLoops &pathOf(unsigned op) const { return paths[op]; }
  /// Puts a loop around the blocks of `op`, inside all others and inside the
  /// place where sums begin and end.
  void addLoop(unsigned op, LoopId loop, int64_t tile);

  /// True if the range of `loop` follows from those of its readers' loops.
  bool isDerived(LoopId loop) const {
    return structure && structure->isDerived(loop);
  }
  /// Calls `visit` with the ranges of `loop` and of the loops that it hangs
  /// together with, by their ids, in each tile inside the first `depth` loops
  /// around `op`; only if one of them is derived.
  void forEachPart(unsigned op, size_t depth, LoopId loop,
                   llvm::function_ref<void(llvm::ArrayRef<Range>)> visit) const;

  /// What the first `depth` loops around `op` leave of each loop, masks aside;
  /// the largest part first.
  Sizes sizesAfter(unsigned op, size_t depth) const;
  /// Loops around `op`, of the first `most`, up to the innermost one that
  /// affects `tensor`; the parallel loops are around everything.
  size_t depthOf(unsigned op, TensorId tensor, size_t most) const;
  /// Loops around the place where the sums of `op` begin and end: its outermost
  /// reduction inside the parallel loops, or, for an intermediate, where
  /// producer and readers part.
  size_t depthOfSums(unsigned op) const;

  /// The sum over all tiles inside the first `depth` loops around `op` of the
  /// product of `factor`, of a loop and the size that the tile has along it.
  int64_t sumOver(unsigned op, size_t depth,
                  llvm::function_ref<int64_t(LoopId, int64_t)> factor) const;
  /// Elements of all tiles of `access` there, without what is padding.
  int64_t elementsOf(unsigned op, const Access &access, size_t depth) const;

  /// The sizes along `loop`, of a mask, that tiles inside the first `depth`
  /// loops around `op` have if they are clipped; the largest first.
  llvm::SmallVector<int64_t> clippedSizes(unsigned op, size_t depth,
                                          LoopId loop) const;

  /// What tiles of each tensor move: factors and operands of epilogues in,
  /// inside the innermost loop that affects them, results out. Intermediates
  /// stay where they are. What the parts of a split loop come to goes out and
  /// in.
  llvm::SmallVector<Traffic, 6> traffic() const;

private:
  void markSkipping(const LoopNest &nest, size_t depth);
  bool isTakenBefore(unsigned op, TensorId tensor, size_t depth) const;
  bool affects(unsigned op, size_t index, TensorId tensor) const;
  bool isOnDerivedAxis(LoopId loop) const {
    return structure && derivedAxes[structure->axisOf(loop)];
  }

  const ChainProblem &problem;
  const Schedule &schedule;
  LoopNest tree;
  llvm::SmallVector<PathLoops, 3> paths;
  /// Loops around each operator in the tree.
  llvm::SmallVector<size_t, 3> depths;
  /// Only if there are derived loops: who reads what, the axes that have them,
  /// and the loops around each operator as walks along axes take them.
  std::optional<ChainStructure> structure;
  llvm::SmallVector<bool, 8> derivedAxes;
  llvm::SmallVector<Path, 3> walked;
  /// For each operator, which loops around it leave out what masks do.
  llvm::SmallVector<llvm::SmallVector<bool, 12>, 3> isSkipping;
  /// The loops of masks.
  llvm::SmallVector<LoopId, 2> maskedLoops;
};

} // namespace chimera::model

#endif // CHIMERA_LIB_MODEL_VOLUME_MASKEDTILES_H
