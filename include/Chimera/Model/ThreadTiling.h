//===- ThreadTiling.h - How threads of a GPU share rows ---------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A group that waits for memory is one launch of a GPU. Memory is busy if
// enough bytes are on their way; nothing is read twice if a row stays with the
// threads that share it between one pass over it and the next. How many threads
// that are, and what each loads at once, follows from the sizes alone.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_MODEL_THREADTILING_H
#define CHIMERA_MODEL_THREADTILING_H

#include "Chimera/Model/Machine.h"

namespace chimera::model {

/// Where what several passes over a row read stays in between: with the thread,
/// in registers or in shared memory, or nowhere.
enum class RowHome { Registers, Shared, Memory };

/// What each thread loads or stores for its elements of a row, or for the row.
struct ThreadAccess {
  int64_t elementBytes = 4;
  /// True if it differs between the columns of a row.
  bool isOfColumns = true;
  /// True if neighbours of a vector have elements of their own; if not, they
  /// share one.
  bool isAlongVector = true;
  /// Passes over a row that need it.
  int64_t passes = 1;
};

/// A group in figures. What it reduces it reduces along rows; if it reduces
/// nothing, there is one row of all elements, of which blocks take parts.
struct ThreadGroup {
  int64_t rows = 1, columns = 1;
  bool reduces = false;
  /// True if neighbours in memory belong to neighbouring rows, so that vectors
  /// run across rows.
  bool isAcrossRows = false;
  /// True if something is read that is contiguous along another dimension than
  /// the result: it goes through so many square tiles.
  bool isTurned = false;
  int64_t tiles = 0;
  /// The most elements that can be loaded at once.
  int64_t mostVector = 1;
  llvm::SmallVector<ThreadAccess, 4> loads, stores;
  /// Numbers of an element that one pass leaves to another, at most.
  int64_t heldNumbers = 0;
  /// Passes over a row, and results of reductions.
  int64_t passes = 1, reductions = 0;
  /// Instructions of an element, and exponentials and the like among them.
  double instructions = 1, functions = 0;
  /// Bytes of all tensors that are read and written.
  double bytes = 0;
};

/// The decision.
struct ThreadTiling {
  /// Neighbouring elements that a thread loads at once.
  int64_t vector = 1;
  /// Threads that share a row, and rows of a block; with `isAcrossRows` vectors
  /// of rows.
  int64_t team = 1, rows = 1;
  /// Vectors of a row that a thread takes.
  int64_t steps = 1;
  RowHome home = RowHome::Registers;

  int64_t threads() const { return team * rows; }
};

/// Rows and columns of the square tiles by which something is turned.
inline constexpr int64_t turnedTile = 32;

/// Blocks of the launch.
int64_t countBlocks(const ThreadGroup &group, const ThreadTiling &tiling);

/// Vectors that a thread takes at least of a row that is reduced.
int64_t countSteps(const ThreadGroup &group, const ThreadTiling &tiling);

/// Bytes that threads ask for, or store, by `access`.
double countBytes(const ThreadAccess &access, const ThreadGroup &group,
                  const ThreadTiling &tiling);

/// Bytes of shared memory that a block needs: for what several warps combine,
/// for rows that stay there, for tiles that are turned.
int64_t countSharedBytes(const ThreadGroup &group, const ThreadTiling &tiling);

/// True if the threads of a block have the registers and the shared memory that
/// `tiling` takes.
bool fits(const ThreadGroup &group, const ThreadTiling &tiling,
          const Machine &machine);

/// Seconds of the launch.
double predictSeconds(const ThreadGroup &group, const ThreadTiling &tiling,
                      const Machine &machine);

/// The fastest tiling on `machine`, which has `groups`.
ThreadTiling planThreads(const ThreadGroup &group, const Machine &machine);

} // namespace chimera::model

#endif // CHIMERA_MODEL_THREADTILING_H
