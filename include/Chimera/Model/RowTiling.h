//===- RowTiling.h - How operations outside chains run ----------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A norm reads each row several times: for its sum, for its variance, to scale
// it. Such operations share loops over rows, and what they do to some rows is a
// task. The deeper the loops are, the shorter are rows, and the fewer
// operations may be cut alike. So there is a group of operations for every
// depth, and the model says which one runs, and in which tasks.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_MODEL_ROWTILING_H
#define CHIMERA_MODEL_ROWTILING_H

#include "Chimera/Model/Machine.h"

#include "llvm/ADT/ArrayRef.h"

#include <optional>

namespace chimera::model {

/// A tensor that an operation of a group makes.
struct RowResult {
  /// Of the tensor, or of the whole that it is a part of.
  double bytes = 0;
  /// Elements from one row of that to the next; 0 if it has one row.
  int64_t rowElements = 0;
  bool isReadByMembers = false, isReadOutside = false;
  /// True if other operations of the program read it. Else it is handed out.
  bool isReadLater = false;
  /// The members that add it up, element by element, and so could store it: it
  /// stays close to the core until then.
  llvm::SmallVector<size_t, 2> sums;
};

/// One of the operations of a group.
struct RowMember {
  llvm::SmallVector<RowResult, 1> results;
  /// Bytes of the largest tensor from outside of which each task reads a part
  /// of its own, and whose next part this operation has time to ask for: it
  /// calls functions meanwhile, or comes after the one that waits for memory.
  double ownBytes = 0;
  /// Bytes of the largest tensor from outside that it reduces along columns, of
  /// which neighbours lie next to each other; 0 if it reduces none.
  double columnBytes = 0;
};

/// Operations that can share loops over rows, in figures.
struct RowGroup {
  /// Iterations of the loops over rows, outermost first.
  llvm::SmallVector<int64_t, 4> extents;
  int64_t numOperations = 1;
  /// Elements that all operations compute in all rows: those that take plain
  /// arithmetic, and those that take functions such as exponentials.
  double plainElements = 0, functionElements = 0;
  /// Bytes of all tensors for one step of the innermost loop over rows. What is
  /// the same for all steps does not count.
  double rowBytes = 0;
  /// True if the loops go over all dimensions of the result, so that they cut
  /// what would be rows.
  bool cutsRows = false;
  /// True if vectors run along the innermost loop over rows.
  bool hasVectorsAlongRows = false;
  /// Of copies that turn columns into rows: the loop, not the last one, along
  /// which their input is contiguous, as the result is along the last.
  std::optional<size_t> turned;
  /// Bytes of an element of the result, and of all tensors of the program.
  double elementBytes = 4, programBytes = 0;
  /// In program order. Without them nothing is known of results.
  llvm::SmallVector<RowMember, 4> members;
};

/// The tasks of a group.
struct RowTiling {
  /// Iterations of a task, for each of the loops over rows.
  llvm::SmallVector<int64_t, 4> tiles;
  bool isParallel = false;
  /// The members that store what they make past the caches.
  llvm::SmallVector<int64_t, 4> streamed;
  /// Members whose results are to go past the caches although others read them,
  /// each with the member that stores them while it adds them up.
  llvm::SmallVector<std::pair<int64_t, int64_t>, 2> late;
  /// The members that ask for what they read in the next task.
  llvm::SmallVector<int64_t, 4> ahead;
  /// The members that reduce along columns and read rows from their beginnings
  /// to their ends, each with how many it reads at once.
  llvm::SmallVector<std::pair<int64_t, int64_t>, 2> rowwise;
};

/// Reductions that read the same tensor once.
struct ReductionFigures {
  /// Iterations of the parallel loops, and of the outermost reduced one.
  int64_t steps = 1, extent = 1;
  /// Of the steps, neighbours in memory as in the result; 1 if it goes along
  /// rows.
  int64_t columns = 1;
  /// Elements that all loops go over.
  double elements = 0;
};

/// A group and its tasks.
struct RowPlan {
  /// Index of the group among those to choose from.
  size_t group = 0;
  RowTiling tiling;
};

/// Results that others read and that take more bytes than this are stored past
/// the caches of `machine`, which would not keep them; infinite if it has no
/// caches.
double streamedBytes(const Machine &machine);

/// Steps of the loops over rows that a task of `group` takes, if there are as
/// many for each thread.
double rowsOfTask(const RowGroup &group, const Machine &machine);

/// Of what has room in `level`, the share that one of `threads` threads does
/// not find there, since another made it: it comes from the level that they
/// share.
double shareOfOthers(const MemoryLevel &level, const Machine &machine,
                     int64_t threads);

/// True if `group` is done sooner by `threads` threads of `machine` than by
/// one: they share its work, have to start, and get what others made.
bool isWorthThreads(const RowGroup &group, const Machine &machine,
                    int64_t threads);

/// Tasks that `tiles` cut loops of `extents` into.
int64_t countTasks(llvm::ArrayRef<int64_t> extents,
                   llvm::ArrayRef<int64_t> tiles);

/// How many parts `reduction` is cut into along the outermost reduced loop,
/// each a task of its own: 1 if it has rows or long enough pieces of rows to
/// share, or is done before other threads start. Depends on no machine, so that
/// results do not either.
int64_t countParts(const ReductionFigures &reduction);

/// The best of `groups`, one or more for different loops, on `threads` threads
/// of `machine`, and its tasks. In this order it counts whether there are tasks
/// for all threads (or too little work for more than one), how many operations
/// share the loops, whether loops go along both directions of a copy that turns
/// columns into rows, whether the least task fits the level outside the
/// innermost, whether rows stay whole, and how deep the loops are.
RowPlan planRows(llvm::ArrayRef<RowGroup> groups, const Machine &machine,
                 int64_t threads);

} // namespace chimera::model

#endif // CHIMERA_MODEL_ROWTILING_H
