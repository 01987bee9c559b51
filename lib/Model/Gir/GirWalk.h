//===- GirWalk.h - Tasks of a Gir one by one --------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The position of a task among the loops of its stage, and where its slices
// start there.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_MODEL_GIR_GIRWALK_H
#define CHIMERA_LIB_MODEL_GIR_GIRWALK_H

#include "Chimera/Model/Gir.h"

#include "llvm/ADT/STLExtras.h"

namespace chimera::model {

/// The position of `loop` among those of `stage`; their number if it is none of
/// them.
inline unsigned positionOf(const GirStage &stage, LoopId loop) {
  return llvm::find(stage.tasks, loop) - stage.tasks.begin();
}

/// The first element of `slice` in the task at `coordinates`.
inline int64_t baseOf(const Gir &gir, const GirStage &stage,
                      const GirSlice &slice,
                      llvm::ArrayRef<int64_t> coordinates) {
  int64_t base = slice.offset;
  for (const Term &term : slice.terms)
    base += term.factor * coordinates[positionOf(stage, term.loop)];
  return base;
}

inline int64_t sizeOf(const Gir &gir, const GirStage &stage,
                      const GirExtent &extent,
                      llvm::ArrayRef<int64_t> coordinates) {
  if (!extent.loop)
    return extent.size;
  return gir.loops[*extent.loop].sizeAt(
      coordinates[positionOf(stage, *extent.loop)]);
}

/// Moves `coordinates` on to the next task.
inline void advance(const Gir &gir, const GirStage &stage,
                    llvm::MutableArrayRef<int64_t> coordinates) {
  for (size_t dim = coordinates.size(); dim-- > 0;) {
    if (++coordinates[dim] < gir.loops[stage.tasks[dim]].count())
      return;
    coordinates[dim] = 0;
  }
}

/// Room that one unit has at `level`, a level of the machine.
int64_t roomAt(const Gir &gir, const Machine &machine, GirLevel level);

} // namespace chimera::model

#endif // CHIMERA_LIB_MODEL_GIR_GIRWALK_H
