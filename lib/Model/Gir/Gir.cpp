//===- Gir.cpp - Memory-intensive work as moves of slices -----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Words, tasks, and who exchanges what with whom.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/Gir.h"

#include "Gir/GirWalk.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <limits>

using namespace llvm;
using namespace chimera::model;

StringRef chimera::model::describe(GirScope scope) {
  switch (scope) {
  case GirScope::Lane:
    return "lane";
  case GirScope::Unit:
    return "unit";
  case GirScope::Block:
    return "block";
  case GirScope::Device:
    return "device";
  }
  return "";
}

StringRef chimera::model::describe(GirKind kind) {
  switch (kind) {
  case GirKind::Move:
    return "move";
  case GirKind::Elementwise:
    return "elementwise";
  case GirKind::Reduce:
    return "reduce";
  case GirKind::Broadcast:
    return "broadcast";
  case GirKind::Sync:
    return "sync";
  }
  return "";
}

StringRef chimera::model::describe(GirReduction reduction) {
  return reduction == GirReduction::Add ? "add" : "max";
}

int64_t Gir::tasksOf(const GirStage &stage) const {
  int64_t tasks = 1;
  for (LoopId loop : stage.tasks)
    tasks *= loops[loop].count();
  return tasks;
}

//===----------------------------------------------------------------------===//
// Scopes
//===----------------------------------------------------------------------===//

/// The elements between which all that a unit (or block) moves lies.
struct Hull {
  int64_t first = std::numeric_limits<int64_t>::max(), last = -1;

  bool isEmpty() const { return last < first; }
  void add(int64_t from, int64_t to) {
    first = std::min(first, from);
    last = std::max(last, to);
  }
};

/// What each run of `tasksPerPart` tasks of a stage moves of `slice`.
static SmallVector<Hull, 0> hullsOf(const Gir &gir, GirPlace place,
                                    int64_t tasksPerPart, int64_t parts) {
  SmallVector<Hull, 0> hulls(parts);
  const GirStage &stage = gir.stages[place.stage];
  const GirSlice &slice = gir.slices[place.slice];
  SmallVector<int64_t, 4> coordinates(stage.tasks.size(), 0);
  for (int64_t task : seq(gir.tasksOf(stage))) {
    int64_t start = baseOf(gir, stage, slice, coordinates);
    int64_t num = sizeOf(gir, stage, slice.num, coordinates);
    int64_t width = sizeOf(gir, stage, slice.width, coordinates);
    hulls[task / tasksPerPart].add(start, start + (num - 1) * slice.stride +
                                              width - 1);
    advance(gir, stage, coordinates);
  }
  return hulls;
}

/// True if no part of the readers reaches into what another one has written.
static bool keepsToItself(ArrayRef<Hull> written, ArrayRef<Hull> read) {
  for (auto [part, hull] : enumerate(read))
    for (auto [other, owner] : enumerate(written))
      if (part != other && !hull.isEmpty() && !owner.isEmpty() &&
          hull.first <= owner.last && owner.first <= hull.last)
        return false;
  return true;
}

GirScope chimera::model::findScope(const Gir &gir, GirPlace writer,
                                   GirPlace reader) {
  const GirStage &from = gir.stages[writer.stage];
  const GirStage &to = gir.stages[reader.stage];
  bool hasSameTasks = from.tasks == to.tasks;
  if (hasSameTasks &&
      gir.slices[writer.slice].isSamePart(gir.slices[reader.slice]))
    return GirScope::Lane;
  int64_t most = std::max(gir.tasksOf(from), gir.tasksOf(to));
  // Nobody exchanges so much within a block, and to find out takes long.
  if (most > (1 << 16) || gir.units > (1 << 10))
    return GirScope::Device;
  for (GirScope scope : {GirScope::Unit, GirScope::Block}) {
    int64_t units = scope == GirScope::Unit ? 1 : gir.unitsPerBlock;
    int64_t parts = (gir.units + units - 1) / units;
    if (keepsToItself(
            hullsOf(gir, writer, units * gir.tasksPerUnit(from), parts),
            hullsOf(gir, reader, units * gir.tasksPerUnit(to), parts)))
      return scope;
  }
  return GirScope::Device;
}
