//===- GirTemplates.h - Graphs for a set of operators -----------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// There are many graphs for the same operators: tasks of rows, of columns, of
// parts of a reduction, and of all sizes. This expands a set of operators into
// them, prices each, and keeps the best.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_MODEL_GIRTEMPLATES_H
#define CHIMERA_MODEL_GIRTEMPLATES_H

#include "Chimera/Model/Gir.h"
#include "Chimera/Model/GirCost.h"
#include "Chimera/Model/OperatorGraph.h"

namespace chimera::model {

/// Why a set of operators does not run as one graph.
enum class GirRefusal {
  /// It has a contraction, or an operator of which nothing is known.
  NotMemoryIntensive,
  /// A value decides what is read.
  Indirect,
  /// An index adds up loops, as under a window.
  Window,
  /// An operator reads another part, or order, of a tensor than the set writes,
  /// in such a way that no task has all it reads.
  NoCommonUnit,
  /// Reductions and results leave no tasks, or more than two directions for a
  /// slice.
  NoTasks,
  /// Slices are no runs of contiguous elements.
  NoPattern,
  /// Not even the least slices fit the machine.
  NoRoom,
};

llvm::StringRef describe(GirRefusal refusal);

/// How a graph is cut into tasks.
struct GirTemplate {
  /// Iterations of a task, along the two directions of slices; 0 where slices
  /// have no such direction.
  int64_t rows = 0, width = 0;
  /// More than one if the reductions are done in so many parts, which are
  /// combined afterwards.
  int64_t parts = 1;
  /// Results larger than caches are stored around them.
  bool bypasses = false;
};

struct GirChoice {
  Gir graph;
  GirTemplate decision;
  GirCost cost;
  double seconds = 0;
  /// Read and written across the outermost boundary, and the least that any
  /// graph reads and writes there.
  double bytesIntoOutermost = 0, compulsoryBytes = 0;
  /// Graphs that were priced.
  unsigned candidates = 0;
};

/// All graphs that are tried, in a fixed order. Values have no homes yet. Those
/// that are not `merged` run operator by operator: each stores what it makes,
/// and the next loads it behind a sync of all units.
std::vector<std::pair<GirTemplate, Gir>>
expandGir(const OperatorGraph &graph, llvm::ArrayRef<OperatorId> members,
          const Machine &machine, int64_t threads, GirRefusal *why = nullptr,
          bool merged = true);

/// The fastest graph for `members`, operators of `graph` in ascending order, on
/// `threads` threads of `machine`. If there is none, says why.
std::optional<GirChoice> chooseGir(const OperatorGraph &graph,
                                   llvm::ArrayRef<OperatorId> members,
                                   const Machine &machine, int64_t threads,
                                   GirRefusal *why = nullptr);

/// Bytes of the parts of inputs that `members` read and of results that they
/// write. A result is what the graph has for one, or an operator that is no
/// member reads.
double compulsoryBytes(const OperatorGraph &graph,
                       llvm::ArrayRef<OperatorId> members);

} // namespace chimera::model

#endif // CHIMERA_MODEL_GIRTEMPLATES_H
